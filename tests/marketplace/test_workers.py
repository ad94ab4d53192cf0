"""The workers' pages: over HTTP, and in a real browser that blocks third-party cookies."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.marketplace.people import (
    OPERATOR,
    PASSWORD,
    USUAL_HTML,
    Person,
    RequestersSite,
    Wanda,
    look_well,
    market,
    people,
    requesters_site,
    rosa,
    visitor,
    wanda,
)
from tests.marketplace.server import Marketplace, Requester, cookie_of, html_question

__all__ = ["market", "people", "requesters_site", "rosa", "visitor", "wanda"]

Visitor = Callable[..., Page]


@pytest.fixture
def will(people: Marketplace) -> Wanda:
    """Another worker."""
    return Wanda(people)


# --- coming in


def test_a_worker_registers_with_an_invitation_and_finds_tasks(
    people: Marketplace, visitor: Visitor, rosa: Requester
) -> None:
    rosa.hit(Title="Read a short text")
    page = visitor(at=people.invite(email="nora@example.org"))
    expect(page.get_by_label("Email address")).to_have_value("nora@example.org")

    page.get_by_label("Password", exact=True).fill("1234")
    page.get_by_label("Country").select_option("NZ")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("too short")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Register").click()

    expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
    expect(page.get_by_role("heading", name="Read a short text").first).to_be_visible()
    page.get_by_role("link", name="Account").click()
    expect(page.get_by_text("nora@example.org")).to_be_visible()
    expect(page.get_by_text("NZ")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.goto("/tasks")
    page.get_by_label("Email address").fill("Nora@Example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile("/tasks$"))


def test_registration_needs_an_invitation_that_fits(people: Marketplace) -> None:
    def sent(path: str, email: str) -> httpx.Response:
        with httpx.Client(base_url=people.url, trust_env=False, verify=False) as client:
            client.get("/login")
            form = {"email": email, "password": PASSWORD, "country": "US"}
            form |= {"invitation": path.partition("=")[2], "csrfmiddlewaretoken": cookie_of(client, "csrf")[1]}
            return client.post("/register", data=form)

    assert "by invitation" in people.http.get("/register").text
    assert "/register" not in people.http.get("/login").text
    assert sent("", "nobody@example.org").status_code == 403
    path = people.invite(email="only@example.org")
    assert sent(path, "other@example.org").status_code == 403
    assert sent(path, "only@example.org").status_code == 303
    assert sent(path, "only2@example.org").status_code == 403
    assert "already been used" in people.http.get(path).text
    open_to_anybody = people.invite()
    assert sent(open_to_anybody, "one@example.org").status_code == 303
    assert sent(open_to_anybody, "another@example.org").status_code == 403
    people.advance(days=0)
    late = people.invite()
    people.advance(days=15)
    assert sent(late, "late@example.org").status_code == 403


def test_open_registration_needs_none(tmp_path: Path, visitor: Visitor) -> None:
    running = Marketplace(tmp_path, workers=1, MARKETPLACE_OPEN_REGISTRATION="1")
    try:
        assert all('href="/register"' in running.http.get(path).text for path in ("/", "/login"))
        running.http.get("/register")
        form = {"email": "open@example.org", "password": PASSWORD, "country": "US"}
        form["csrfmiddlewaretoken"] = cookie_of(running.http, "csrf")[1]
        assert running.http.post("/register", data=form).status_code == 303
        assert running.http.get("/tasks").status_code == 200
        assert 'href="/history"' in running.http.get("/account/password").text
        tries = running.in_one_span(
            lambda: [
                running.http.post(
                    "/login",
                    data={"username": "open@example.org", "password": "wrong"},
                    headers={"X-CSRFToken": cookie_of(running.http, "csrf")[1]},
                ).status_code
                for _ in range(12)
            ]
        )
        assert tries[0] == 200
        assert tries[-1] == 429
    finally:
        running.stop()


@pytest.mark.parametrize(
    "path", ["/tasks", "/history", "/earnings", "/qualifications", "/messages", "/work/X", "/operator/"]
)
def test_nobody_sees_pages_without_logging_in(people: Marketplace, path: str) -> None:
    with httpx.Client(base_url=people.url, trust_env=False, verify=False) as client:
        answer = client.get(path)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/login?next={path}"


def test_the_root_is_a_page_for_people_and_the_api_for_programs(people: Marketplace) -> None:
    with httpx.Client(base_url=people.url, trust_env=False, verify=False) as client:
        assert "Log in" in client.get("/").text
        assert client.post("/", json={}).headers["Content-Type"] == "application/x-amz-json-1.1"


# --- a task, from the list to the money


def test_a_task_of_requesters_html_is_previewed_accepted_and_submitted(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda
) -> None:
    hit = rosa.hit(Title="Say what is up", Question=html_question(USUAL_HTML))
    page = visitor(wanda.person, at="/tasks")
    page.get_by_role("link", name="Preview Say what is up").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("button", name="Submit")).to_be_disabled()
    assert "workerId" not in (page.locator("iframe").get_attribute("src") or "")
    page.get_by_role("button", name="Accept this task").click()

    expect(page.locator("#left")).to_contain_text("9 min")
    expect(frame.locator("#seen")).to_have_text("null, no cookies, no parent")
    frame.get_by_label("Say it").fill("Nothing <much> & so on")
    frame.get_by_role("button", name="Submit").click()

    expect(page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    expect(page.locator(".notice.good")).to_be_focused()
    expect(page.get_by_role("link", name="Return")).to_have_count(0)
    sent = rosa.client.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert [message["WorkerId"] for message in sent] == [wanda.id]
    assert "Nothing &lt;much&gt; &amp; so on" in sent[0]["Answer"]

    rosa.client.approve_assignment(AssignmentId=sent[0]["AssignmentId"], RequesterFeedback="Well done")
    rosa.client.send_bonus(
        WorkerId=wanda.id, BonusAmount="0.25", AssignmentId=sent[0]["AssignmentId"], Reason="Such detail"
    )
    page.reload()
    expect(page.get_by_text("Approved.")).to_be_visible()
    expect(page.get_by_text("Well done")).to_be_visible()
    page.get_by_role("link", name="Earnings").click()
    expect(page.locator(".facts")).to_contain_text("$1.25")
    expect(page.get_by_text("Such detail")).to_be_visible()


def test_a_task_on_the_requesters_own_site_works_with_third_party_cookies_blocked(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    hit = rosa.hit(Title="Compare two passages", Question=requesters_site.question(), MaxAssignments=2)
    requesters_site.asked.clear()
    page = visitor(wanda.person, at=f"/tasks/{hit['HITId']}")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Compare two passages")).to_be_visible()
    assert requesters_site.asked == [
        {"query": "7", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": hit["HITId"], "turkSubmitTo": people.url}
    ]
    frame.get_by_role("button", name="Send in").click()
    expect(frame.get_by_role("heading", name="This was a preview")).to_be_visible()
    page.get_by_role("button", name="Accept this task").click()

    expect(frame.get_by_role("heading", name="Compare two passages")).to_be_visible()
    assignment_id = page.url.rpartition("/")[2]
    assert requesters_site.asked[-1] == {
        "query": "7",
        "assignmentId": assignment_id,
        "hitId": hit["HITId"],
        "workerId": wanda.id,
        "turkSubmitTo": people.url,
    }
    assert page.frames[1].evaluate("document.cookie") == ""
    assert requesters_site.cookies[-1] == ""
    frame.get_by_label("Which one?").fill("right")
    frame.get_by_label("Which one?").press("Enter")
    expect(page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    assert "<FreeText>right</FreeText>" in rosa.assignment(assignment_id)["Answer"]
    page.goto(f"{requesters_site.origin}/elsewhere")  # the cookie was there to be had, outside of the frame
    assert "mine=1" in page.evaluate("document.cookie")


def test_all_of_it_works_without_javascript_and_the_next_task_is_one_press_away(
    visitor: Visitor, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    facts = {"Title": "Quietly", "Question": requesters_site.question(400)}
    hits = [rosa.hit(**facts)["HITId"], rosa.hit(**facts)["HITId"]]
    page = visitor(wanda.person, java_script_enabled=False, at="/tasks?words=Quietly")
    expect(page.locator(".mini").first).to_contain_text("2")
    page.get_by_role("button", name="Accept Quietly").click()
    page.get_by_role("link", name="I have submitted it").click()
    expect(page.get_by_role("heading", name="Not submitted yet")).to_be_visible()
    page.get_by_role("link", name="Back to the task").click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Send in").click()
    expect(frame.get_by_text("Continue with the button above or below")).to_be_visible()
    page.get_by_role("link", name="I have submitted it").click()
    expect(page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    first = page.url
    page.get_by_role("button", name="Accept the next one").click()
    expect(page.locator("#left")).to_be_visible()
    assert page.url != first
    assert rosa.status(hits[0]) == "Reviewable"
    assert rosa.status(hits[1]) == "Unassignable"


def test_a_task_is_returned_after_a_question(visitor: Visitor, rosa: Requester, wanda: Wanda) -> None:
    hit_id = rosa.hit(Title="Too long for me")["HITId"]
    page = visitor(wanda.person, at=f"/tasks/{hit_id}")
    page.get_by_role("button", name="Accept this task").click()
    page.get_by_role("link", name="Return").click()
    page.get_by_role("link", name="Keep it and continue").click()
    assert rosa.status(hit_id) == "Unassignable"
    page.get_by_role("link", name="Return").click()
    page.get_by_role("button", name="Return it").click()
    expect(page.get_by_role("status").first).to_contain_text("does not count against you")
    assert rosa.status(hit_id) == "Assignable"
    page.get_by_role("link", name="My work").click()
    expect(page.get_by_role("row", name="Too long for me")).to_contain_text("Returned")


def test_when_the_time_is_over_the_page_says_so_and_nothing_is_taken(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    hit_id = rosa.hit(Title="Quick", Question=requesters_site.question(), AssignmentDurationInSeconds=600)["HITId"]
    page = visitor(wanda.person, at=f"/tasks/{hit_id}")
    page.get_by_role("button", name="Accept this task").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("button", name="Send in")).to_be_visible()
    people.advance(minutes=11)
    frame.get_by_role("button", name="Send in").click()
    expect(frame.get_by_role("heading", name="Time is up")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("can no longer be submitted")
    page.get_by_role("link", name="Continue", exact=True).click()
    expect(page.get_by_text("Time ran out before the task was submitted")).to_be_visible()
    assert rosa.client.list_assignments_for_hit(HITId=hit_id)["Assignments"] == []
    assert rosa.status(hit_id) == "Assignable"


def test_the_time_left_is_counted_and_told(visitor: Visitor, rosa: Requester, wanda: Wanda) -> None:
    hit_id = rosa.hit(AssignmentDurationInSeconds=302)["HITId"]
    page = visitor(wanda.person, at=f"/tasks/{hit_id}")
    page.get_by_role("button", name="Accept this task").click()
    expect(page.locator("#announcement")).to_have_text("Five minutes left.")
    expect(page.locator("#left")).to_contain_text("4 min")


def test_a_rejection_says_why_and_can_be_disputed_once(visitor: Visitor, rosa: Requester, wanda: Wanda) -> None:
    assignment_id = wanda.do(rosa.hit(Title="Careful work")["HITId"])
    rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Too fast")
    page = visitor(wanda.person, at="/history")
    page.get_by_role("link", name="Careful work").click()
    expect(page.get_by_text("Too fast")).to_be_visible()
    page.get_by_label("Why should it be approved?").fill("I know this topic well.")
    page.get_by_role("button", name="Ask for a review").click()
    expect(page.get_by_text("I know this topic well.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask for a review")).to_have_count(0)


# --- what a frame may do


def preview(person: Person, hit_id: str) -> httpx.Response:
    """A task's page before it is accepted."""
    answer = person.get(f"/tasks/{hit_id}")
    assert answer.status_code == 200
    return answer


def policy(answer: httpx.Response) -> dict[str, str]:
    """The content policy of an answer, by directive."""
    parts = answer.headers["Content-Security-Policy"].split("; ")
    return {name: value for name, _, value in (part.partition(" ") for part in parts)}


def frame_source(answer: httpx.Response) -> str:
    """Where a page's frame points."""
    match = re.search(r'<iframe[^>]* src="([^"]+)"', answer.text)
    assert match
    return match[1].replace("&amp;", "&")


def test_a_page_may_frame_the_origin_of_its_own_question_and_no_other(
    people: Marketplace, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    external = preview(wanda.person, rosa.hit(Question=requesters_site.question())["HITId"])
    assert policy(external)["frame-src"] == f"{requesters_site.origin} 'self' {people.url}"
    assert "allow-same-origin" in external.text
    html = preview(wanda.person, rosa.hit()["HITId"])
    assert policy(html)["frame-src"] == f"'self' {people.url}"
    assert "allow-same-origin" not in html.text
    for answer in (external, html):
        assert "allow-top-navigation" not in answer.text
        assert policy(answer)["script-src"] == "'self'"
        assert policy(answer)["frame-ancestors"] == "'none'"
    for path in ("/tasks", "/earnings", "/login"):
        assert policy(wanda.person.get(path))["frame-src"] == "'none'"


def test_an_address_cannot_widen_the_policy_nor_get_our_own_origin(
    people: Marketplace, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    for host in ("https://x;script-src", "https://a,b", "https://'unsafe-inline'"):
        sly = requesters_site.question().replace(requesters_site.origin, host)
        answer = preview(wanda.person, rosa.hit(Question=sly)["HITId"])
        assert policy(answer)["frame-src"] == f"'none' 'self' {people.url}"
        assert policy(answer)["script-src"] == "'self'"
    ours = requesters_site.question().replace(requesters_site.origin, people.url)
    assert "allow-same-origin" not in preview(wanda.person, rosa.hit(Question=ours)["HITId"]).text


def test_requesters_html_has_no_origin_wherever_it_is_opened_and_is_for_its_worker_only(
    people: Marketplace, rosa: Requester, wanda: Wanda
) -> None:
    hit_id = rosa.hit(Question=html_question(USUAL_HTML))["HITId"]
    accepted = wanda.accept(hit_id)
    source = frame_source(wanda.person.get(f"/work/{accepted}"))
    with httpx.Client(base_url=people.url, trust_env=False, verify=False) as stranger:
        answer = stranger.get(source)
        assert answer.status_code == 200
        assert USUAL_HTML.removeprefix("<!DOCTYPE html>") in answer.text
        assert policy(answer)["frame-ancestors"] == "'self'"
        assert "allow-same-origin" not in policy(answer)["sandbox"]
        assert "X-Frame-Options" not in answer.headers
        forged = source.replace("/question/", "/question/x")
        assert stranger.get(forged).status_code == 404
        assert wanda.submit(accepted).status_code == 200
        assert stranger.get(source).status_code == 409


# --- what the form in a frame sends


def test_a_submission_counts_once_and_by_its_id_alone(people: Marketplace, rosa: Requester, wanda: Wanda) -> None:
    accepted = wanda.accept(rosa.hit()["HITId"])
    assert people.http.post("/mturk/externalSubmit", data={"assignmentId": accepted}).status_code == 400
    first = wanda.submit(accepted, answer="left", more="yes")
    before = rosa.assignment(accepted)
    again = wanda.submit(accepted, answer="right")
    assert rosa.assignment(accepted) == before
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.headers["Cache-Control"].startswith("max-age=0")
    assert policy(first)["frame-ancestors"] == "'self'"
    assert "X-Frame-Options" not in first.headers
    answer = rosa.assignment(accepted)["Answer"]
    assert "<FreeText>left</FreeText>" in answer
    assert "<FreeText>yes</FreeText>" in answer
    assert "right" not in answer
    assert accepted not in answer


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "a": "b"}, 400),
        ({"a": "b"}, 400),
        ({"assignmentId": "3" + "A" * 29, "a": "b"}, 404),
        ({"assignmentId": "\0", "a": "b"}, 404),
    ],
)
def test_a_submission_for_nothing_is_refused_in_words(people: Marketplace, fields: dict[str, str], status: int) -> None:
    answer = people.http.post("/mturk/externalSubmit", data=fields)
    assert answer.status_code == status
    assert "<h1>" in answer.text


def test_a_submission_may_come_as_a_multipart_form_or_in_the_address(
    people: Marketplace, rosa: Requester, wanda: Wanda
) -> None:
    first, second = wanda.accept(rosa.hit()["HITId"]), wanda.accept(rosa.hit(Title="Another")["HITId"])
    files = {"file": ("notes.txt", b"not taken")}
    sent = people.http.post("/mturk/externalSubmit", data={"assignmentId": first, "a": "ö"}, files=files)
    assert sent.status_code == 200
    assert "<FreeText>ö</FreeText>" in rosa.assignment(first)["Answer"]
    assert "not taken" not in rosa.assignment(first)["Answer"]
    got = people.http.get("/mturk/externalSubmit", params={"assignmentId": second, "a": "in the address"})
    assert got.status_code == 200
    assert "in the address" in rosa.assignment(second)["Answer"]


def test_what_was_given_back_cannot_be_sent_in(rosa: Requester, wanda: Wanda) -> None:
    accepted = wanda.accept(rosa.hit()["HITId"])
    wanda.give_back(accepted)
    assert wanda.submit(accepted).status_code == 409


# --- what is somebody else's


def test_a_worker_sees_nothing_of_anothers_work(rosa: Requester, wanda: Wanda, will: Wanda) -> None:
    accepted = wanda.accept(rosa.hit()["HITId"])
    for path in ("", "/state", "/check", "/return"):
        assert will.person.get(f"/work/{accepted}{path}").status_code == 404
    assert will.person.post(f"/work/{accepted}/return").status_code == 404
    assert will.person.post(f"/work/{accepted}/dispute", text="mine").status_code == 404
    assert wanda.person.get(f"/work/{accepted}/state").json()["state"] == "Accepted"
    assert will.person.get("/operator/").status_code == 403
    assert will.person.get("/operator/payouts").status_code == 403


def test_what_changes_something_is_never_a_get_and_needs_the_token_of_the_form(rosa: Requester, wanda: Wanda) -> None:
    hit_id = rosa.hit()["HITId"]
    assert wanda.person.get(f"/tasks/{hit_id}/accept").status_code == 405
    assert wanda.person.http.post(f"/tasks/{hit_id}/accept").status_code == 403
    assert rosa.status(hit_id) == "Assignable"


def test_requirements_are_told_in_words_and_keep_from_accepting(rosa: Requester, wanda: Wanda) -> None:
    requirements = [
        {"QualificationTypeId": "00000000000000000040", "Comparator": "GreaterThan", "IntegerValues": [10000]},
        {"QualificationTypeId": "00000000000000000071", "Comparator": "In", "LocaleValues": [{"Country": "CA"}]},
    ]
    hit_id = rosa.hit(Title="For the experienced", QualificationRequirements=requirements)["HITId"]
    text = preview(wanda.person, hit_id).text
    assert "Tasks approved: more than 10,000." in text
    assert "For workers in: CA." in text
    assert "Accept this task" not in text
    refused = wanda.person.post(f"/tasks/{hit_id}/accept")
    assert refused.status_code == 403
    assert "that this task requires" in refused.text
    assert "For the experienced" in wanda.person.get("/tasks?words=experienced").text
    assert "For the experienced" not in wanda.person.get("/tasks?words=experienced&mine=1").text


def test_a_qualification_is_asked_for_waited_for_and_had(rosa: Requester, wanda: Wanda) -> None:
    type_id = rosa.client.create_qualification_type(
        Name="Reads Latin", Description="Can read Latin.", QualificationTypeStatus="Active"
    )["QualificationType"]["QualificationTypeId"]
    assert "Request" in wanda.person.get("/qualifications").text
    assert wanda.person.post(f"/qualifications/{type_id}/request").status_code == 303
    assert "Waiting for the requester." in wanda.person.get("/qualifications").text
    request = rosa.client.list_qualification_requests(QualificationTypeId=type_id)["QualificationRequests"][0]
    rosa.client.accept_qualification_request(QualificationRequestId=request["QualificationRequestId"], IntegerValue=87)
    text = wanda.person.get("/qualifications").text
    assert "87" in text
    assert "Waiting for the requester." not in text


def test_messages_go_both_ways_without_addresses(visitor: Visitor, rosa: Requester, wanda: Wanda) -> None:
    hit_id = rosa.hit(Title="Unclear")["HITId"]
    wanda.do(hit_id)
    assignment = rosa.client.list_assignments_for_hit(HITId=hit_id)["Assignments"][0]
    rosa.client.approve_assignment(AssignmentId=assignment["AssignmentId"])
    rosa.client.notify_workers(Subject="Thank you", MessageText="More is coming.\nOn Monday.", WorkerIds=[wanda.id])
    page = visitor(wanda.person, at="/tasks")
    page.get_by_role("link", name="Messages 1 unread").click()
    page.get_by_role("link", name="Thank you").click()
    expect(page.get_by_text("On Monday.")).to_be_visible()
    expect(page.get_by_role("link", name="Messages", exact=True)).to_be_visible()
    page.goto(f"/contact/{hit_id}")
    page.get_by_label("Message").fill("What does it mean?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_contain_text("Your message has been sent")
    expect(page.get_by_role("link", name="Unclear")).to_be_visible()


def test_a_message_that_is_about_no_task_can_be_answered_by_its_worker_only(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda, will: Wanda
) -> None:
    rosa.client.approve_assignment(AssignmentId=wanda.do(rosa.hit()["HITId"]))
    rosa.client.notify_workers(Subject="Next week?", MessageText="Will you be there?", WorkerIds=[wanda.id])
    page = visitor(wanda.person, at="/messages")
    page.get_by_role("link", name="Next week?").click()
    page.get_by_role("link", name="Answer").click()
    expect(page.get_by_label("Subject")).to_have_value("Re: Next week?")
    path = page.url.removeprefix(people.url)
    page.get_by_label("Message").fill("From Tuesday.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_contain_text("Your message has been sent")

    expect(page.get_by_role("link", name="Re: Next week?")).to_be_visible()
    assert will.person.get(path).status_code == 404
    assert will.person.post(path, subject="Mine", text="Not mine").status_code == 404
    operator = Person(people, OPERATOR)
    assert "Re: Next week?" in operator.get(f"/operator/requesters/{rosa.account_id}").text


def test_eight_workers_at_once_each_get_a_task_of_the_kind(people: Marketplace, rosa: Requester) -> None:
    crowd = [Wanda(people) for _ in range(8)]
    kind = rosa.hit_type(Title="Wanted by all")
    hits = [
        rosa.client.create_hit_with_hit_type(HITTypeId=kind, LifetimeInSeconds=3600, Question=html_question("<form>"))
        for _ in range(24)
    ]
    group = hits[0]["HIT"]["HITGroupId"]

    def take(worker: Wanda) -> list[str]:
        answers = [worker.person.post(f"/kinds/{group}/accept") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [303] * 3, answers[-1].text
        return [answer.headers["Location"].rpartition("/")[2] for answer in answers]

    with ThreadPoolExecutor(len(crowd)) as pool:
        assignment_ids = [assignment_id for mine in pool.map(take, crowd) for assignment_id in mine]

    assert len(set(assignment_ids)) == 24
    assert {rosa.status(hit["HIT"]["HITId"]) for hit in hits} == {"Unassignable"}
    late = crowd[0].person.post(f"/kinds/{group}/accept")
    assert late.status_code == 409
    assert "no tasks of this kind left" in late.text


def test_who_comes_too_late_for_a_task_gets_another_of_its_kind(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda, will: Wanda
) -> None:
    first, second = (rosa.hit(Title="Two of a kind")["HITId"] for _ in range(2))
    page = visitor(wanda.person, at=f"/tasks/{first}")
    will.accept(first)
    page.get_by_role("button", name="Accept this task").click()
    expect(page.get_by_text("Somebody else took that task.")).to_be_visible()
    assert (rosa.status(first), rosa.status(second)) == ("Unassignable", "Unassignable")

    assert wanda.person.post(f"/tasks/{second}/accept").status_code == 303  # hers already
    third = rosa.hit(Title="Two of a kind")["HITId"]
    fay = visitor(Wanda(people).person, at=f"/tasks/{first}")
    expect(fay.get_by_text("This task is no longer available. There are others of the same kind.")).to_be_visible()
    fay.get_by_role("button", name="Accept another of the same kind").click()
    expect(fay).to_have_url(re.compile("/work/"))
    assert rosa.status(third) == "Unassignable"


# --- everybody can use it


def test_pages_are_accessible_fit_a_phone_and_speak_of_tasks(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    long = "Averyveryverylongwordthatneverends" * 3
    offered = rosa.hit(Title=long, Description=long * 5, Question=requesters_site.question())["HITId"]
    hard = [{"QualificationTypeId": "000000000000000000L0", "Comparator": "GreaterThan", "IntegerValues": [100]}]
    rosa.hit(Title="Out of reach", QualificationRequirements=hard)
    rosa.client.create_qualification_type(
        Name="Reads Greek", Description="Can read Greek.", QualificationTypeStatus="Active"
    )
    at_work = wanda.accept(rosa.hit(Title="At work", Question=requesters_site.question(400))["HITId"])
    done = wanda.do(rosa.hit(Title="Done", Reward="12.50")["HITId"])
    rosa.client.approve_assignment(AssignmentId=done)
    rosa.client.send_bonus(WorkerId=wanda.id, BonusAmount="3.00", AssignmentId=done, Reason="Fine " * 30)
    rejected = wanda.do(rosa.hit(Title="Not done")["HITId"])
    rosa.client.reject_assignment(AssignmentId=rejected, RequesterFeedback="No " * 100)
    waiting = wanda.do(rosa.hit(Title="Waiting")["HITId"])
    returned = wanda.accept(rosa.hit(Title="Given back")["HITId"])
    wanda.give_back(returned)
    rosa.client.notify_workers(Subject="Hello", MessageText="Text " * 100, WorkerIds=[wanda.id])
    page = visitor(wanda.person, at="/messages")
    letter = page.get_by_role("link", name="Hello").get_attribute("href") or ""
    paths = ["/tasks", f"/tasks/{offered}", "/history", "/earnings", "/qualifications", "/messages", letter, "/account"]
    paths += [f"/work/{assignment}" for assignment in (at_work, done, rejected, waiting, returned)]
    paths += [
        f"/work/{at_work}/return",
        f"/work/{at_work}/check",
        f"/contact/{offered}",
        "/account/password",
        f"{letter}/answer",
    ]
    paths += ["/tasks?words=nothinglikethis", "/tasks/UNKNOWN"]
    for path in paths:
        look_well(page, path)
        assert not re.search(r"\b(HITs?|assignments?|qrels?|gold)\b", page.locator("body").inner_text()), path
    look_well(visitor(), "/", "/login", "/register", people.invite(), "/nowhere")
    look_well(visitor(Person(people, Wanda(people).email)), "/tasks", "/history", "/earnings", "/messages")


def test_a_task_can_be_done_with_the_keyboard_alone(
    visitor: Visitor, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    hit_id = rosa.hit(Title="By keyboard", Question=requesters_site.question())["HITId"]
    page = visitor(wanda.person, at=f"/tasks/{hit_id}")

    def reach(words: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            focused = page.evaluate("document.activeElement.textContent + document.activeElement.tagName")
            if words in focused:
                return
        raise AssertionError(words)

    reach("Accept this task")
    page.keyboard.press("Enter")
    expect(page.frame_locator("iframe").get_by_role("button", name="Send in")).to_be_visible()
    reach("IFRAME")
    page.keyboard.type("!")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()


# --- what a task pays


def test_the_whole_pay_is_shown_wherever_a_worker_looks(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda
) -> None:
    long = "Read a question and two passages, and choose the passage that answers it best. " * 4
    facts = {"Title": "With a bonus", "Description": long + "END.", "Reward": "0.10"}
    hit = rosa.hit(
        **facts, Keywords="search, bonus-up-to-1.90, takes-8-minutes, reading", Question=html_question(USUAL_HTML)
    )
    page = visitor(wanda.person, viewport={"width": 360, "height": 740})

    page.goto("/tasks?words=bonus")
    card = page.locator("li.task", has=page.get_by_role("heading", name="With a bonus"))
    expect(card.get_by_text("$0.10 + up to $1.90")).to_be_visible()
    expect(card.get_by_text("8 min, $15.00 an hour")).to_be_visible()
    description = card.locator(".description")
    assert description.evaluate("e => e.scrollHeight <= e.clientHeight + 1")  # nothing is cut off
    assert page.evaluate("document.documentElement.scrollWidth <= 360")

    page.goto(f"/tasks/{hit['HITId']}")
    expect(page.get_by_text("$0.10 + up to $1.90")).to_be_visible()
    page.get_by_role("button", name="Accept this task").click()
    expect(page.get_by_text("$0.10 + up to $1.90")).to_be_visible()

    page.frame_locator("iframe").get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    for path in ("/earnings", "/history"):
        page.goto(path)
        expect(page.get_by_text("$0.10 + up to $1.90")).to_be_visible()

    submitted = rosa.client.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"][0]
    rosa.client.approve_assignment(AssignmentId=submitted["AssignmentId"])
    page.goto("/earnings")
    expect(page.get_by_text("+ up to")).to_have_count(0)


def test_only_an_exact_keyword_says_that_there_is_a_bonus(people: Marketplace, rosa: Requester, wanda: Wanda) -> None:
    for number, keywords in enumerate(("bonus-up-to-lots", "no-bonus-up-to-1.90", "bonus-up-to-1.9", "bonus")):
        rosa.hit(Title=f"Nothing on top {number}", Keywords=keywords, Reward="0.11")
    assert "up to" not in wanda.person.get("/tasks?words=nothing").text


def test_the_keyboard_is_in_the_task_once_it_is_there(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda
) -> None:
    hit = rosa.hit(Title="Keys at once", Question=html_question(USUAL_HTML))
    page = visitor(wanda.person, at=f"/tasks/{hit['HITId']}")
    page.get_by_role("button", name="Accept this task").click()
    page.wait_for_function("() => document.activeElement && document.activeElement.tagName === 'IFRAME'")
    page.keyboard.press("Tab")
    page.keyboard.type("hello")
    expect(page.frame_locator("iframe").get_by_label("Say it")).to_have_value("hello")


def test_what_keeps_workers_out_is_not_offered_to_them(people: Marketplace, rosa: Requester, wanda: Wanda) -> None:
    facts = {"Description": "x", "QualificationTypeStatus": "Active"}
    qualifications = {
        name: rosa.client.create_qualification_type(Name=name, **facts)["QualificationType"]["QualificationTypeId"]
        for name in ("Careful readers only", "No further tasks of ours")
    }
    barred = {"QualificationTypeId": qualifications["No further tasks of ours"], "Comparator": "DoesNotExist"}
    requirement = {"QualificationTypeId": qualifications["Careful readers only"], "Comparator": "Exists"}
    rosa.hit_type(QualificationRequirements=[barred, requirement])
    page = wanda.person.get("/qualifications").text
    assert "Careful readers only" in page
    assert "No further tasks of ours" not in page

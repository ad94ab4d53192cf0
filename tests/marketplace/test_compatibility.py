"""What pages and tools that were written for Mechanical Turk expect of the site, in a real browser where it counts."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from tests.marketplace.people import (
    OPERATOR,
    Person,
    RequestersSite,
    Wanda,
    market,
    people,
    requesters_site,
    rosa,
    visitor,
    wanda,
)
from tests.marketplace.server import Marketplace, Requester, html_question

__all__ = ["market", "people", "requesters_site", "rosa", "visitor", "wanda"]

Visitor = Callable[..., Page]


@pytest.mark.parametrize(
    "address",
    [
        "/mturk/preview?groupId={}",
        "/mturk/previewandaccept?groupId={}",
        "/projects/{}/tasks",
        "/projects/{}/tasks/accept_random",
    ],
)
def test_the_links_that_tools_print_lead_to_a_task_of_the_kind_and_accept_nothing(
    people: Marketplace, rosa: Requester, wanda: Wanda, address: str
) -> None:
    hit = rosa.hit(Title=f"Linked by {address}")
    for kind in ("HITTypeId", "HITGroupId"):
        link = address.format(hit[kind])
        with httpx.Client(base_url=people.url, trust_env=False, verify=False) as stranger:
            answer = stranger.get(link)
        assert answer.status_code == 302
        assert parse_qs(urlsplit(answer.headers["Location"]).query)["next"] == [link]

        answer = wanda.person.get(link)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/tasks/{hit['HITId']}")
    assert rosa.client.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsPending"] == 0

    assignment_id = wanda.accept(hit["HITId"])
    assert wanda.person.get(link).headers["Location"] == f"/work/{assignment_id}"
    wanda.submit(assignment_id)
    assert wanda.person.get(link).status_code == 409
    assert "no tasks of this kind left" in wanda.person.get(link).text


def test_a_link_to_an_unknown_kind_says_so(wanda: Wanda) -> None:
    for link in (
        "/mturk/preview?groupId=3NONE",
        "/mturk/preview?groupId=%00",
        "/mturk/preview",
        "/projects/3NONE/tasks",
    ):
        assert wanda.person.get(link).status_code == 404


HELPERS = """<!DOCTYPE html><html lang="en" class="mine"><head><title>Helped</title></head><body>
<form id="mturk_form" method="post" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" name="assignmentId" id="assignmentId" value="">
<label>Say it <input name="comment"></label> <input type="submit" id="submitButton" value="Submit"></form>
<p id="seen"></p>
<script>
const worker = turkGetParam("workerId", "nobody");
turkSetAssignmentID();
document.getElementById("seen").textContent = [
  worker, turkGetParam("hitId"), turkGetParam("missing", "a default"), turkGetParam("constructor", "none"),
  turkGetSubmitToHost(), document.compatMode, document.documentElement.className,
].join(" ");
</script></body></html>"""


def test_a_pages_own_scripts_find_the_functions_that_mechanical_turk_gave_them(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda
) -> None:
    hit = rosa.hit(Title="Helped", Question=html_question(HELPERS))
    page = visitor(wanda.person, at=f"/tasks/{hit['HITId']}")
    frame = page.frame_locator("iframe")

    def seen(worker: str) -> str:
        return f"{worker} {hit['HITId']} a default none {people.url} CSS1Compat mine"

    expect(frame.locator("#seen")).to_have_text(seen("nobody"))
    expect(frame.locator("#submitButton")).to_be_disabled()
    page.get_by_role("button", name="Accept this task").click()

    expect(frame.locator("#seen")).to_have_text(seen(wanda.id))
    frame.get_by_label("Say it").fill("Hello")
    frame.locator("#submitButton").click()
    expect(page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()


def test_a_requesters_page_may_ask_for_the_microphone_the_camera_and_the_clipboard(
    people: Marketplace, visitor: Visitor, rosa: Requester, wanda: Wanda, requesters_site: RequestersSite
) -> None:
    hit = rosa.hit(Title="Say it aloud", Question=requesters_site.question())
    assert "Permissions-Policy" not in wanda.person.get(f"/tasks/{hit['HITId']}").headers
    page = visitor(wanda.person, permissions=["microphone", "camera", "clipboard-write"], at=f"/tasks/{hit['HITId']}")
    page.get_by_role("button", name="Accept this task").click()
    expect(page.frame_locator("iframe").get_by_role("heading", name="Compare two passages")).to_be_visible()

    allowed = page.frames[1].evaluate("document.featurePolicy.allowedFeatures()")

    assert {"microphone", "camera", "clipboard-write", "autoplay", "fullscreen"} <= set(allowed)
    assert not {"geolocation", "usb", "display-capture", "clipboard-read"} & set(allowed)


def test_a_script_in_a_page_of_another_origin_can_call_the_api(
    people: Marketplace, visitor: Visitor, rosa: Requester, requesters_site: RequestersSite
) -> None:
    page = visitor(at=f"{requesters_site.origin}/console")

    def call(operation: str) -> Any:
        body = b"{}"
        headers = {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": f"MTurkRequesterServiceV20170117.{operation}",
            "X-Amz-User-Agent": "a browser",
        }
        request = AWSRequest("POST", f"{people.url}/", data=body, headers=headers)
        SigV4Auth(Credentials(rosa.key_id, rosa.secret), "mturk-requester", "us-east-1").add_auth(request)
        return page.evaluate(
            """async ([url, headers]) => {
                const answer = await fetch(url, {method: "POST", headers, body: "{}"});
                return [answer.status, await answer.json(), Boolean(answer.headers.get("x-amzn-RequestId"))];
            }""",
            [f"{people.url}/", dict(request.headers)],
        )

    status, body, named = call("GetAccountBalance")
    assert (status, body["AvailableBalance"], named) == (200, "1000.00", True)
    status, body, named = call("NoSuchOperation")
    assert (status, body["__type"], named) == (400, "UnknownOperationException", True)


def test_other_origins_may_read_the_api_and_no_page(people: Marketplace, wanda: Wanda) -> None:
    origin = {"Origin": "https://console.example.org"}
    asking = origin | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with httpx.Client(base_url=people.url, trust_env=False, verify=False) as client:
        may = client.options("/", headers=asking)
        refused = client.post("/", json={}, headers=origin)
        pages = [client.get("/", headers=origin), client.options("/login", headers=asking), client.get("/healthz")]
    pages.append(wanda.person.http.get("/tasks", headers=origin))

    assert may.status_code == 204
    assert may.headers["Access-Control-Allow-Origin"] == "*" == refused.headers["Access-Control-Allow-Origin"]
    assert may.headers["Access-Control-Allow-Methods"] == "POST"
    assert "Access-Control-Allow-Credentials" not in may.headers
    assert not [page for page in pages if "Access-Control-Allow-Origin" in page.headers]


def test_who_is_given_no_reason_reads_that_there_is_none_and_the_operator_counts_it(
    people: Marketplace, rosa: Requester, wanda: Wanda
) -> None:
    ids = [wanda.accept(rosa.hit(Title="No reason")["HITId"]) for _ in range(2)]
    for assignment_id in ids:
        wanda.submit(assignment_id)
    rosa.client.reject_assignment(AssignmentId=ids[0], RequesterFeedback="")
    rosa.client.reject_assignment(AssignmentId=ids[1], RequesterFeedback="Every answer was left")
    rosa.client.send_bonus(AssignmentId=ids[0], WorkerId=wanda.id, BonusAmount="0.10", Reason=" ")

    assert wanda.person.get(f"/work/{ids[0]}").text.count("No reason was given.") == 2
    assert "No reason was given." in wanda.person.get("/earnings").text
    assert "No reason was given." not in wanda.person.get(f"/work/{ids[1]}").text
    operator = Person(people, OPERATOR)
    assert "1 of 2" in operator.get(f"/operator/requesters/{rosa.account_id}").text

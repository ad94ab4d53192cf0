"""The workers' pages over HTTP: what is stored, what is refused, and what a page tells nobody.

Every request comes from a browser that is new to the site: it has no cookie, and a missing CSRF token would be
refused. Whatever works here works inside a marketplace's frame.
"""

import base64
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.messages import constants as message_levels
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.cache import caches
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from core.messages import Messages
from core.models import Lab, User
from core.money import dollars
from judgments import exports, summarizing
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.models import AssignmentSummary, Judgment
from judgments.pages import worker as worker_pages
from platforms.models import Publication
from pools.models import Campaign
from runs.models import Collection, Passage, Query
from tasks import links
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Consent, Hit, Item, Worker
from tests import factories
from tests.rows import fresh
from tests.worlds import lay_out


def ask(path: str, method: str = "get", **headers: Any) -> HttpResponse:
    """Open an address in a browser without cookies."""
    return getattr(Client(enforce_csrf_checks=True), method)(path, **headers)  # type: ignore[no-any-return]


def send(path: str, data: dict[str, Any] | None = None, **headers: Any) -> HttpResponse:
    """Send a form in a browser without cookies."""
    return Client(enforce_csrf_checks=True).post(path, data or {}, **headers)  # type: ignore[return-value]


def save(path: str, body: object, **headers: Any) -> HttpResponse:
    """Save a choice as the page's script does."""
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    return Client(enforce_csrf_checks=True).post(path, text, content_type="application/json", **headers)  # type: ignore[return-value]


def page(response: HttpResponse) -> LexborHTMLParser:
    return LexborHTMLParser(response.content.decode())


def words(response: HttpResponse) -> str:
    """What a person reads on a page."""
    body = page(response).body
    assert body is not None
    return " ".join(body.text(separator=" ").split())


def stored() -> dict[str, int]:
    """How many rows of each kind the workers' pages have made."""
    return {model.__name__: model.objects.count() for model in (Worker, Consent, Assignment, Judgment)}  # type: ignore[attr-defined]


def address(name: str, *arguments: object) -> str:
    """The path of one of the workers' pages."""
    return reverse(f"judging:{name}", args=arguments)


def form_of(path: str) -> tuple[str, dict[str, str]]:
    """Where a page's form goes, and its hidden fields."""
    form = page(ask(path)).css_first("main form")
    assert form is not None
    hidden = {str(field.attributes["name"]): str(field.attributes["value"]) for field in form.css("input[type=hidden]")}
    return str(form.attributes["action"]), hidden


def shown_on(token: str, position: int) -> str:
    """The signed time that an item's page carries."""
    return form_of(address("item", token, position))[1]["shown"]


def choose(token: str, position: int, side: str) -> HttpResponse:
    """Choose without a script."""
    action, hidden = form_of(address("item", token, position))
    return send(action, {**hidden, "preferred": side})


@pytest.fixture
def lab(db: None) -> Lab:
    """A lab of nobody: these pages have no log-ins."""
    lay_out("The lab", lambda: factories.lab("The lab"))
    return Lab.objects.get()


@pytest.fixture
def thirteen(lab: Lab, tmp_path: Path) -> Campaign:
    """An open campaign of one full HIT: ten pairs and three test pairs. Its names are like nothing in a page."""
    lay_out("a campaign of one full HIT", lambda: make_thirteen(lab, tmp_path))
    return Campaign.objects.get(name="nameofcampaign")


def make_thirteen(lab: Lab, tmp_path: Path) -> None:
    """Make the campaign of one full HIT."""
    queries = [f"qidzq{number}" for number in range(10)]
    collection = factories.collection(
        tmp_path,
        in_lab=lab,
        name="nameofcollection",
        qrels={query: [f"pidzq-{query}-old"] for query in queries},
        tops={"nameofrun": {query: [f"pidzq-{query}-new"] for query in queries}},
    )
    for number, passage in enumerate(Passage.objects.filter(collection=collection).order_by("id")):
        Passage.objects.filter(pk=passage.pk).update(text=f"It goes on for a sentence, and ends: {number:02}.")
    for number, query in enumerate(Query.objects.filter(collection=collection).order_by("id")):
        Query.objects.filter(pk=query.pk).update(text=f"what is asked here {number:02}")
    factories.campaign(collection, "nameofcampaign", tests=3)


@pytest.fixture
def work(thirteen: Campaign) -> Assignment:
    """A worker's assignment of thirteen items."""
    return factories.take(factories.worker(thirteen, "nameofworker"), thirteen)


@pytest.fixture
def token(work: Assignment) -> str:
    """The token of that assignment's pages."""
    return links.assignment_token(work)


def addresses_of(work: Assignment) -> Iterator[str]:
    """Every address that a worker gets to while they judge."""
    campaign = work.campaign
    token, place = links.assignment_token(work), links.home_token(work.worker, campaign)
    yield address("preview", campaign.link)
    yield address("join", campaign.link)
    yield address("declined", campaign.link)
    yield address("home", place)
    yield address("consent", place)
    for name in ("instructions", "finish", "leave", "done"):
        yield address(name, token)
    for position in range(1, work.hit.items.count() + 1):
        yield address("item", token, position)


# --- coming in


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_at_the_work_stores_nothing(campaign: Campaign, method: str) -> None:
    before = stored()
    for name in ("preview", "join", "declined"):
        assert ask(address(name, campaign.link), method).status_code == 200
    assert stored() == before


def test_getting_a_page_never_writes(work: Assignment) -> None:
    factories.judge(work, only=range(1, 6))
    with CaptureQueriesContext(connection) as queries:
        answers = [ask(path, HTTP_SEC_PURPOSE="prefetch") for path in addresses_of(work)]
    assert {answer.status_code for answer in answers} == {200, 303}  # 303: there is no receipt yet
    written = [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
    assert written == []
    assert [query["sql"] for query in queries if "FOR UPDATE" in query["sql"]] == []


def test_agreeing_stores_the_version_of_the_text_and_the_time_and_gives_a_task(campaign: Campaign) -> None:
    before = timezone.now()
    action, hidden = form_of(address("join", campaign.link))
    answer = send(action, hidden)
    consent = Consent.objects.get()
    assert consent.text == campaign.consent_texts.get(version=1)
    assert before <= consent.given_at <= timezone.now()
    assignment = Assignment.objects.get(worker=consent.worker)
    assert answer.status_code == 303
    assert links.assignment_of(answer["Location"].split("/")[2]) == assignment


def test_joining_twice_with_one_form_is_one_worker_with_one_assignment(campaign: Campaign) -> None:
    action, hidden = form_of(address("join", campaign.link))
    for _click in range(2):
        assert "/j/" in send(action, hidden)["Location"]
    assert stored() == {"Worker": 1, "Consent": 1, "Assignment": 1, "Judgment": 0}


def test_two_people_who_join_are_two_workers(campaign: Campaign) -> None:
    for _person in range(2):
        send(*form_of(address("join", campaign.link)))
    assert (Worker.objects.count(), Assignment.objects.count()) == (2, 2)


@pytest.mark.parametrize("form", ["", "x", "WyJmb3JnZWQiXQ:1abc:forged", "\x00", "é"])
def test_joining_with_a_forged_form_leads_to_a_fresh_one_and_makes_no_worker(campaign: Campaign, form: str) -> None:
    join = address("join", campaign.link)
    version = {"version": "1"}
    answer = Client().post(join, version, query_params={"form": form})
    assert (answer.status_code, answer["Location"]) == (303, join)
    assert not Worker.objects.exists()


def test_agreeing_to_a_text_that_has_changed_meanwhile_shows_the_new_one_and_stores_nothing(
    campaign: Campaign, alice: Worker
) -> None:
    place = address("consent", links.home_token(alice, campaign))
    for path in (address("join", campaign.link), place):
        action, hidden = form_of(path)
        text = task_services.consent_write(campaign=campaign, text=f"The wording of {path}.")
        answer = send(action, hidden)
        assert (answer.status_code, answer["Location"]) == (303, path)
        assert not text.consents.exists()
    assert stored() == {"Worker": 1, "Consent": 1, "Assignment": 0, "Judgment": 0}


def test_a_changed_consent_text_is_asked_for_again_before_further_work(campaign: Campaign, alice: Worker) -> None:
    home = address("home", links.home_token(alice, campaign))
    assert ask(home).status_code == 200
    text = task_services.consent_write(campaign=campaign, text="You may stop whenever you like.")
    for answer in (ask(home), send(home + "next/")):
        assert (answer.status_code, answer["Location"]) == (303, home + "consent/")
    assert not Assignment.objects.exists()
    assert "You may stop whenever you like." in words(ask(home + "consent/"))
    send(*form_of(home + "consent/"))
    assert text.consents.get().worker == alice
    assert Consent.objects.filter(worker=alice).count() == 2
    assert ask(home).status_code == 200


def test_declining_stores_nothing(campaign: Campaign) -> None:
    link = page(ask(address("join", campaign.link))).css_first("a[href$='/declined/']")
    assert link is not None
    assert "nothing new was stored" in words(ask(str(link.attributes["href"])))
    assert not Worker.objects.exists()


def test_the_cookie_of_a_place_brings_a_worker_back_and_makes_no_second_one(campaign: Campaign) -> None:
    browser = Client(enforce_csrf_checks=True)
    action, hidden = form_of(address("join", campaign.link))
    first = browser.post(action, hidden)
    cookie = first.cookies[f"home-{campaign.lab_id}-{settings.COOKIE_MARK}"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/c/"
    worker = Worker.objects.get()
    for name in ("preview", "join"):
        back = browser.get(address(name, campaign.link))
        assert back.status_code == 303
        assert links.home_of(back["Location"].split("/")[2]) == (worker, campaign)
    again = browser.post(*form_of(address("join", campaign.link)))  # a form from before the cookie came
    assert links.assignment_of(again["Location"].split("/")[2]) == Assignment.objects.get()
    assert stored() == {"Worker": 1, "Consent": 1, "Assignment": 1, "Judgment": 0}


def test_a_forged_cookie_or_one_of_another_campaign_is_passed_over(campaign: Campaign, thirteen: Campaign) -> None:
    elsewhere = links.home_token(factories.worker(thirteen, "nameofworker"), thirteen)
    for value in ("forged", elsewhere):
        browser = Client()
        browser.cookies[f"home-{campaign.lab_id}-{settings.COOKIE_MARK}"] = value
        assert browser.get(address("preview", campaign.link)).status_code == 200


def test_somebody_else_begins_at_the_same_computer_and_the_first_persons_work_stays(campaign: Campaign) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.post(*form_of(address("join", campaign.link)))
    home = browser.get(address("preview", campaign.link))["Location"]
    (form,) = page(browser.get(home)).css("form[action$='/another/']")
    assert "Begin as somebody else" in form.text()
    assert browser.get(str(form.attributes["action"])).status_code == 405

    gone = browser.post(str(form.attributes["action"]))

    assert (gone.status_code, gone["Location"]) == (303, address("preview", campaign.link))
    assert browser.get(gone["Location"]).status_code == 200  # a stranger
    browser.post(*form_of(address("join", campaign.link)))
    assert stored() == {"Worker": 2, "Consent": 2, "Assignment": 2, "Judgment": 0}
    assert "You have a task in progress" in words(browser.get(home))  # the first person's bookmark
    member = factories.worker(campaign, "Nora")
    assert "Begin as somebody else" not in words(ask(f"/w/{links.home_token(member, campaign)}/"))


def test_no_cookie_is_called_as_another_sites_is(campaign: Campaign, rita: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.post(*form_of(address("join", campaign.link)))
    browser.get("/login/")
    browser.post("/language/", {"language": "de"})
    browser.force_login(rita)
    request = RequestFactory().get("/")
    SessionMiddleware(lambda _request: HttpResponse()).process_request(request)
    queue, answer = Messages(request), HttpResponse()
    queue.add(message_levels.INFO, "Saved.")
    queue.update(answer)
    names = {*browser.cookies, *answer.cookies}
    assert len(names) == 5  # the worker's, the language, the log-in, the forms', messages
    assert {name for name in names if not name.endswith(settings.COOKIE_MARK)} == set()


def test_an_address_that_starts_too_fast_is_asked_to_wait(campaign: Campaign, limits: None) -> None:
    join = address("join", campaign.link)
    answers = [send(join, REMOTE_ADDR="203.0.113.7").status_code for _try in range(121)]
    assert answers == [303] * 120 + [429]
    assert ask(join, REMOTE_ADDR="203.0.113.7").status_code == 200


@pytest.mark.parametrize("state", [Campaign.State.PAUSED, Campaign.State.CLOSED])
def test_a_campaign_that_is_not_open_says_so_and_takes_nobody_in(campaign: Campaign, state: str) -> None:
    action, hidden = form_of(address("join", campaign.link))
    task_services.campaign_move(campaign=campaign, to=state)
    assert "nothing to judge right now" in words(ask(address("preview", campaign.link)))
    for answer in (ask(address("join", campaign.link)), send(action, hidden)):
        assert answer["Location"] == address("preview", campaign.link)
    assert not Worker.objects.exists()


@pytest.mark.parametrize(("state", "sentence"), [("paused", "The work is paused"), ("closed", "This work is finished")])
def test_a_worker_of_a_paused_or_closed_campaign_finishes_what_is_out_and_gets_no_more(
    campaign: Campaign, alice: Worker, state: str, sentence: str
) -> None:
    work = factories.take(alice, campaign)
    home = address("home", links.home_token(alice, campaign))
    task_services.campaign_move(campaign=campaign, to=state)
    assert "You have a task in progress" in words(ask(home))
    factories.judge(work)
    send(address("finish", links.assignment_token(work)))
    assert sentence in words(ask(home))
    assert send(home + "next/")["Location"] == home
    assert Assignment.objects.count() == 1


def test_a_draft_is_at_no_address(collection: Collection) -> None:
    draft = factories.campaign(collection, start=False)
    for name in ("preview", "join", "declined"):
        assert ask(address(name, draft.link)).status_code == 404


def test_a_barred_worker_is_told_kindly_and_keeps_their_receipts(campaign: Campaign, alice: Worker) -> None:
    failed = factories.do(alice, campaign, fail_tests=True)
    home = address("home", links.home_token(alice, campaign))
    text = words(ask(home))
    assert "Thank you for your work. There are no more tasks for you" in text
    assert failed.receipt in text
    assert "$2.00" in text
    for unkind in ("barred", "failed", "excluded", "test"):
        assert unkind not in text.lower()
    done = words(ask(address("done", links.assignment_token(failed))))
    assert "In 2 of 2 of them, you chose the other one" in done
    assert send(home + "next/")["Location"] == home
    assert Assignment.objects.count() == 1


def test_a_worker_is_told_when_all_work_is_with_others(campaign: Campaign, alice: Worker) -> None:
    for label in ("Bob", "Carol", "Dan"):
        factories.take(factories.worker(campaign, label), campaign)
    home = address("home", links.home_token(alice, campaign))
    assert "Other people are working on every task" in words(ask(home))
    assert send(home + "next/")["Location"] == home


# --- tokens


def bad_tokens(good: str) -> dict[str, str]:
    """Texts in place of a token, by what is wrong with them."""
    payload, _, rest = good.partition(":")
    other = base64.urlsafe_b64encode(b"[1,1,1]").decode().rstrip("=")
    return {
        "truncated": good[:-1],
        "one letter changed": good[:-1] + ("A" if good[-1] != "A" else "B"),
        "another payload": f"{other}:{rest}",
        "no signature": payload,
        "empty parts": "::",
        "letters of another script": "токен",
        "a NUL": "a%00b",
        "very long": "x" * 5000,
    }


def test_a_forged_or_truncated_token_gets_a_kind_page_and_stores_nothing(work: Assignment, token: str) -> None:
    before = stored()
    place = links.home_token(work.worker, work.campaign)
    stamp = worker_pages.shown_token(work.pk, 1, timezone.now())
    for what, bad in bad_tokens(token).items():
        answers = [ask(f"/j/{bad}/{page}") for page in ("", "1/", "finish/", "leave/", "done/")]
        answers += [
            send(f"/j/{bad}/{page}", {"preferred": "left", "shown": stamp}) for page in ("1/", "finish/", "leave/")
        ]
        assert {answer.status_code for answer in answers} == {404}, what
        assert all("Please open the link that you were given again" in words(answer) for answer in answers), what
        answer = save(f"/j/{bad}/1/save/", {"preferred": "left", "shown": stamp})
        assert (answer.status_code, list(answer.json())) == (404, ["error"]), what  # type: ignore[attr-defined]
    for what, bad in bad_tokens(place).items():
        answers = [ask(f"/w/{bad}/{page}") for page in ("", "consent/")]
        answers += [send(f"/w/{bad}/{page}") for page in ("consent/", "next/")]
        assert {answer.status_code for answer in answers} == {404}, what
    assert stored() == before
    assert fresh(work).state == Assignment.State.ACTIVE


@pytest.mark.parametrize("link", ["nosuchlink", "%00", "a%00b", "'; DROP TABLE pools_campaign; --", "é" * 300])
def test_a_link_that_leads_nowhere_gets_a_kind_page(campaign: Campaign, link: str) -> None:
    for path in (f"/c/{link}/", f"/c/{link}/consent/", f"/c/{link}/declined/"):
        answer = ask(path)
        assert answer.status_code == 404
        assert "check the link" in words(answer)


def test_a_token_of_one_kind_is_no_token_of_another(work: Assignment, token: str) -> None:
    place = links.home_token(work.worker, work.campaign)
    stamp = worker_pages.shown_token(work.pk, 1, timezone.now())
    for path in (f"/j/{place}/", f"/j/{stamp}/", f"/w/{token}/", f"/w/{stamp}/"):
        assert ask(path).status_code == 404


def test_a_token_whose_hit_or_worker_is_not_the_assignments_is_refused(work: Assignment, bob: Worker) -> None:
    other = Assignment(pk=work.pk, worker=bob, hit_id=work.hit_id)
    assert ask(address("instructions", links.assignment_token(other))).status_code == 404
    other = Assignment(pk=work.pk, worker=work.worker, hit_id=work.hit_id + 1)
    assert ask(address("instructions", links.assignment_token(other))).status_code == 404


def test_one_workers_page_cannot_save_to_anothers_assignment(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    mine, theirs = factories.take(alice, campaign), factories.take(bob, campaign)
    stamp = shown_on(links.assignment_token(mine), 1)
    token = links.assignment_token(theirs)
    assert send(address("item", token, 1), {"preferred": "left", "shown": stamp}).status_code == 400
    assert save(address("save", token, 1), {"preferred": "left", "shown": stamp}).status_code == 400
    assert not Judgment.objects.exists()


# --- saving


def test_a_choice_is_stored_with_its_times_and_the_answer_says_how_far_the_worker_is(
    work: Assignment, token: str
) -> None:
    before = timezone.now()
    stamp = shown_on(token, 4)
    between = timezone.now()
    answer = save(address("save", token, 4), {"preferred": "right", "shown": stamp})
    assert answer.status_code == 200
    judgment = Judgment.objects.get()
    assert (judgment.assignment, judgment.item.position, judgment.preferred) == (work, 4, "right")
    assert before <= judgment.shown_at <= between <= judgment.made_at <= timezone.now()

    factories.judge(work, only=range(1, 6))
    answer = save(address("save", token, 6), {"preferred": "left", "shown": shown_on(token, 6)})
    assert answer.json() == {"saved": True, "preferred": "left", "answered": 6, "total": 13, "owed": "$0.92"}  # type: ignore[attr-defined]


def test_saying_the_same_again_adds_nothing_and_a_changed_mind_is_a_new_row(token: str) -> None:
    stamp = shown_on(token, 1)
    for side in ("left", "left", "right", "right", "left"):
        assert save(address("save", token, 1), {"preferred": side, "shown": stamp}).status_code == 200
    assert list(Judgment.objects.order_by("id").values_list("preferred", flat=True)) == ["left", "right", "left"]


def test_without_a_script_choosing_leads_back_to_the_marked_page(token: str) -> None:
    answer = choose(token, 1, "right")
    assert (answer.status_code, answer["Location"]) == (303, address("item", token, 1))
    marked = page(ask(answer["Location"]))
    pressed = {button.attributes["value"]: button.attributes["aria-pressed"] for button in marked.css("button.choice")}
    assert pressed == {"left": "false", "right": "true"}
    onward = marked.css_first("a#continue")
    assert onward is not None
    assert "hidden" not in onward.attributes
    assert onward.attributes["href"] == address("item", token, 2)


def test_a_choice_that_is_neither_left_nor_right_or_has_a_forged_time_is_refused(work: Assignment, token: str) -> None:
    stamp = shown_on(token, 1)
    for preferred in ("", "LEFT", "both", "a", "<script>", "x" * 5000, "\x00"):
        sent = {"preferred": preferred, "shown": stamp}
        assert send(address("item", token, 1), sent).status_code == 400, preferred
        assert save(address("save", token, 1), sent).status_code == 400, preferred
    good = shown_on(token, 1)
    place = links.home_token(work.worker, work.campaign)
    for bad in ("", "x", good[:-1], good[::-1], shown_on(token, 2), token, place, "é", "x" * 5000):
        sent = {"preferred": "left", "shown": bad}
        assert send(address("item", token, 1), sent).status_code == 400
        assert save(address("save", token, 1), sent).status_code == 400
    assert not Judgment.objects.exists()


def test_a_page_that_a_browser_translated_is_noted_with_its_judgment(
    work: Assignment, token: str, tmp_path: Path
) -> None:
    for position, translated in ((1, True), (2, False), (3, "yes")):
        choice = {"preferred": "left", "shown": shown_on(token, position), "translated": translated}
        assert save(address("save", token, position), choice).status_code == 200
    marks = dict(Judgment.objects.values_list("item__position", "is_translated"))
    assert marks == {1: True, 2: False, 3: False}

    summarizing.campaign_summarize(campaign=work.campaign)

    assert AssignmentSummary.objects.get(assignment=work).translated == 1
    rows = judgment_selectors.assignment_rows(
        work.campaign, judgment_selectors.with_fast_below(work.campaign, Assignment.objects.all())
    )
    assert "translated page" in rows[0].flags
    flagged = judgment_selectors.flagged("translated", "summary__")
    assert list(Assignment.objects.filter(flagged)) == [work]
    exported = exports.write_files(exports.Source(work.campaign), tmp_path / "exported")
    (file,) = [path for path in exported if path.name == "judgments.jsonl"]
    assert [json.loads(line)["translated"] for line in file.read_text().splitlines()] == [True, False, False]


def test_the_texts_to_judge_are_not_to_be_translated(token: str) -> None:
    item, instructions = page(ask(address("item", token, 1))), ask(address("instructions", token))
    texts = [*item.css("h1"), *item.css(".passage .text p")]
    assert [text.attributes["translate"] for text in texts] == ["no"] * 3
    assert "Please do not let your browser translate them." in words(instructions)


def test_a_save_that_cannot_be_read_is_refused_with_a_sentence_and_one_in_another_format_too(token: str) -> None:
    for body in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'"left"',
        b'{"preferred": "left"}',
        b'{"shown": "x"}',
        b'{"preferred": ["left"], "shown": {}}',
        b'{"preferred": "\\ud800", "shown": "x"}',
        b"\xff\xfe",
        b"[" * 4000,
        b'{"preferred": 1e999, "shown": NaN}',
    ):
        answer = save(address("save", token, 1), body)
        assert answer.status_code == 400, body
        assert isinstance(answer.json()["error"], str), body  # type: ignore[attr-defined]
    sent = {"preferred": "left", "shown": shown_on(token, 1)}
    assert send(address("save", token, 1), sent).status_code == 415
    assert not Judgment.objects.exists()


def test_oversized_bodies_are_refused(token: str) -> None:
    sent = {"preferred": "left", "shown": shown_on(token, 1), "more": "x" * 3_000_000}
    action, hidden = form_of(address("join", links.assignment_of(token).campaign.link))
    workers = Worker.objects.count()
    encoded = urlencode({**sent, **hidden})
    for path in (address("item", token, 1), action):
        assert Client().post(path, encoded, content_type="application/x-www-form-urlencoded").status_code == 400
    assert save(address("save", token, 1), sent).status_code == 413
    assert save(address("save", token, 1), {**sent, "more": "x" * 5000}).status_code == 400
    assert not Judgment.objects.exists()
    assert Worker.objects.count() == workers


def test_there_is_no_comparison_beyond_the_last(work: Assignment, token: str) -> None:
    for position in (0, 14, 32768, 10**12, 10**40):
        sent = {"preferred": "left", "shown": worker_pages.shown_token(work.pk, position, timezone.now())}
        assert ask(address("item", token, position)).status_code == 404
        assert send(address("item", token, position), sent).status_code == 404
        assert save(address("save", token, position), sent).status_code == 404
    assert not Judgment.objects.exists()


def test_a_page_that_only_takes_one_method_refuses_the_others(work: Assignment, token: str) -> None:
    place = links.home_token(work.worker, work.campaign)
    assert ask(address("take", place)).status_code == 405
    assert ask(address("save", token, 1)).status_code == 405
    readable = [address(name, token) for name in ("instructions", "done")]
    readable += [address(name, work.campaign.link) for name in ("preview", "declined")]
    for path in (*readable, address("home", place)):
        assert Client().post(path).status_code == 405
    for method in ("put", "delete", "patch"):
        assert ask(address("item", token, 1), method).status_code == 405
        assert ask(address("save", token, 1), method).status_code == 405


# --- finishing, leaving, the receipt


def test_sending_with_answers_missing_is_refused_and_names_them(work: Assignment, token: str) -> None:
    factories.judge(work, only=[1, 2, 4])
    final = page(ask(address("finish", token)))
    assert final.css_first("form:not(.languages)") is None
    linked = [str(link.attributes["href"]) for link in final.css(".answers .missing a")]
    assert linked == [f"{address('item', token, position)}?look" for position in (3, *range(5, 14))]
    answer = send(address("finish", token))
    assert answer.status_code == 409
    assert "10 questions have no answer yet" in words(answer)
    assert fresh(work).state == Assignment.State.ACTIVE


def test_a_last_look_leads_to_each_pair_and_back_and_tells_no_test(work: Assignment, token: str) -> None:
    factories.judge(work)
    lines = page(ask(address("finish", token))).css(".answers li")
    items = {item.position: item for item in work.items.select_related("test", "pair__pool__query")}
    assert len(lines) == 13 and sum(item.test is not None for item in items.values()) == 3
    assert len({tuple(line.attributes) for line in lines}) == 1
    for position, line in enumerate(lines, start=1):
        item, chosen = items[position], Judgment.objects.get(item=items[position]).preferred
        question = item.test.question if item.test else item.pair.pool.query.text  # type: ignore[union-attr]
        assert line.text(separator=" ").split() == f"{question} {'A' if chosen == 'left' else 'B'} is better".split()
        link = line.css_first("a")
        assert link is not None and link.attributes["href"] == f"{address('item', token, position)}?look"
    action, hidden = form_of(f"{address('item', token, 4)}?look")
    onward = send(action, {**hidden, "preferred": "right"})["Location"]
    assert onward == f"{address('item', token, 4)}?look"
    link = page(ask(onward)).css_first("#continue")
    assert link is not None and link.attributes["href"] == address("finish", token)


def test_every_page_of_a_task_says_what_all_of_it_pays_and_how_long_it_takes(work: Assignment, token: str) -> None:
    caches["process"].clear()
    pace = task_selectors.expected_pace(work.campaign)
    assert pace is not None
    for path in (address("instructions", token), *(address("item", token, position) for position in (1, 13))):
        assert f"$2.00 · about {pace.minutes} min in all" in words(ask(path))


def test_after_sending_every_page_leads_to_the_receipt(work: Assignment, token: str) -> None:
    factories.judge(work)
    done = address("done", token)
    assert ask(done)["Location"] == address("instructions", token)
    assert send(address("finish", token))["Location"] == done
    work.refresh_from_db()
    text = words(ask(done))
    assert re.fullmatch(r"[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}", work.receipt)
    assert work.receipt in text
    assert "13 of 13" in text
    assert "$2.00" in text
    for name in ("instructions", "finish", "leave"):
        assert ask(address(name, token))["Location"] == done
    for position in (1, 13):
        assert ask(address("item", token, position))["Location"] == done
    for name in ("finish", "leave"):
        assert send(address(name, token))["Location"] == done
    again = Assignment.objects.get(pk=work.pk)
    assert (again.receipt, again.finished_at, again.state) == (work.receipt, work.finished_at, "submitted")


def test_after_sending_no_answer_is_taken(work: Assignment, token: str) -> None:
    stamp = shown_on(token, 1)
    factories.judge(work)
    send(address("finish", token))
    before = stored()
    sent = {"preferred": "right", "shown": stamp}
    for answer in (send(address("item", token, 1), sent), save(address("save", token, 1), sent)):
        assert answer.status_code == 409
        assert "already finished this task" in answer.content.decode()
    assert stored() == before


def test_leaving_after_six_of_thirteen_answers_owes_their_share(work: Assignment, token: str) -> None:
    factories.judge(work, only=range(1, 7))
    assert "You have answered 6 of 13 questions. You are paid $0.92 for them." in words(ask(address("leave", token)))
    assert fresh(work).state == Assignment.State.ACTIVE
    answer = send(address("leave", token))
    assert answer["Location"] == address("done", token)
    text = words(ask(answer["Location"]))
    assert "You have left this task" in text
    assert "owes you $0.92" in text
    work.refresh_from_db()
    assert (work.state, str(work.owed), work.judged) == ("left", "0.92", 6)
    home = words(ask(address("home", links.home_token(work.worker, work.campaign))))
    assert work.receipt in home
    assert "6 of 13" in home


def test_leaving_without_an_answer_owes_nothing_and_says_so(work: Assignment, token: str) -> None:
    assert "there is nothing to pay" in words(ask(address("leave", token)))
    send(address("leave", token))
    assert "$0.00" in words(ask(address("done", token)))


def test_late_work_is_told_apart_and_taken(campaign: Campaign, alice: Worker) -> None:
    work = factories.take(alice, campaign, at=timezone.now() - timedelta(hours=2))
    token = links.assignment_token(work)
    assert "Time is up, but your answers are still saved" in words(ask(address("item", token, 1)))
    assert choose(token, 1, "left").status_code == 303
    factories.judge(work)
    send(address("finish", token))
    text = words(ask(address("done", token)))
    assert "You finished after time ran out. Your answers are saved, and you are paid for them." in text
    assert fresh(work).verdict == Assignment.Verdict.ACCEPTED


def test_home_counts_what_is_owed_altogether(campaign: Campaign, alice: Worker) -> None:
    receipts = [factories.do(alice, campaign).receipt for _hit in range(2)]
    work = factories.take(alice, campaign)
    factories.judge(work, only=[1])
    text = words(ask(address("home", links.home_token(alice, campaign))))
    assert all(receipt in text for receipt in receipts)
    assert "Total $4.00" in text
    assert "1 of 3 answers are saved" in text


# --- what pages show, and what they keep to themselves


def test_no_page_gives_away_where_passages_come_from_or_what_is_a_test(work: Assignment) -> None:
    answers = [ask(path) for path in addresses_of(work)]
    factories.judge(work)
    judgment_services.assignment_finish(assignment=work, at=timezone.now())
    answers += [ask(path) for path in addresses_of(work)]
    assert sum(answer.status_code == 200 for answer in answers) > 25
    for answer in answers:
        html = answer.content.decode()
        for secret in ("pidzq", "qidzq", "nameofrun", "nameofcollection", "nameofcampaign", "nameofworker"):
            assert secret not in html
        text = re.sub(r'"/[jw]/[^"]+"|test question \d', "", html.lower())  # chance may write a word in a signature
        text = re.sub(r"the relevant passage of test \d|something else entirely, number \d", "", text)
        for word in (r"qrels?", r"gold", r"hits?", r"relevant", r"rank(ed|ing)?", r"runs?", r"tests?", r"pair_?id"):
            assert not re.search(rf"\b{word}\b", text), f"{word} in {text}"


def test_tokens_in_pages_say_nothing_of_what_is_compared(work: Assignment, token: str) -> None:
    for position in range(1, 14):
        html = ask(address("item", token, position)).content.decode()
        payloads = []
        for payload in {match.split(":")[0] for match in re.findall(r"[\w-]+:[\w-]{6}:[\w-]{43}", html)}:
            payloads.append(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))
        times = [values for values in payloads if isinstance(values[-1], float)]
        assert [values[:2] for values in times] == [[work.pk, position]]
        rest = sorted(values for values in payloads if values not in times)
        assert rest == sorted([[work.pk, work.worker_id, work.hit_id], [work.worker_id, work.campaign_id]])


def test_a_test_looks_like_any_other_comparison(work: Assignment, token: str) -> None:
    def look(item: Item) -> str:
        """A page and its headers, without texts, tokens and numbers."""
        answer = ask(address("item", token, item.position))
        html = page(answer)
        for text in html.css(".ask h1, .passage .text p, title"):
            text.inner_html = ""
        left_out = ("Content-Length", "Expires", "X-Request-ID")  # the last is random
        headers = [f"{name}: {value}" for name, value in answer.items() if name not in left_out]
        parts = r'data-name="[^"]+"|name="shown" value="[^"]+"|href="/w/[^"]+"|/j/[^"]+|\b\d+ of 13'
        return re.sub(parts, "", "\n".join([*headers, str(html.html)]))

    items = Item.objects.filter(hit=work.hit, position__range=(2, 12))  # the first and the last have other ways on
    tests = set(items.filter(test__isnull=False))
    assert tests
    for answered in (False, True):
        if answered:
            for position in range(1, 14):
                choose(token, position, "left")
        looks = {item: look(item) for item in items}
        assert len({looks[item] for item in tests}) == 1
        assert set(looks.values()) == {looks[item] for item in tests}


def test_a_wrong_answer_to_a_test_is_answered_like_a_right_one(work: Assignment, token: str) -> None:
    answers = set()
    for item in Item.objects.filter(hit=work.hit):
        answer = save(
            address("save", token, item.position), {"preferred": "left", "shown": shown_on(token, item.position)}
        )
        answers.add((answer.status_code, *sorted(answer.json()), answer.json()["preferred"]))  # type: ignore[attr-defined]
    assert answers == {(200, "answered", "owed", "preferred", "saved", "total", "left")}


HOSTILE = '<script>alert("x")</script>\'"><img src=x onerror=alert(1)>{{ 7|add:7 }}&amp;</p></title>\u202e\u0645\u0631'


def test_hostile_texts_are_shown_as_texts(work: Assignment, token: str) -> None:
    campaign = work.campaign
    Campaign.objects.filter(pk=campaign.pk).update(title=HOSTILE[:128], question=HOSTILE, instructions=HOSTILE)
    Passage.objects.filter(collection=campaign.collection).update(text=HOSTILE)
    Query.objects.filter(collection=campaign.collection).update(text=HOSTILE)
    campaign.test_pairs.update(question=HOSTILE, relevant_text=HOSTILE, off_topic_text=HOSTILE)
    Lab.objects.filter(pk=campaign.lab_id).update(name=HOSTILE[:100])
    text = task_services.consent_write(campaign=campaign, text=HOSTILE)
    task_services.consent_give(worker=work.worker, text=text)
    for path in addresses_of(work):
        html = page(ask(path))
        assert html.css("img, script:not([src]), [onerror]") == []
        assert all(str(script.attributes["src"]).startswith("/static/") for script in html.css("script"))
    item = page(ask(address("item", token, 1)))
    assert [part.text() for part in item.css(".passage .text p")] == [HOSTILE, HOSTILE]
    assert [part.text() for part in item.css(".ask h1, .ask .eyebrow")] == [HOSTILE, HOSTILE]
    assert HOSTILE in words(ask(address("consent", links.home_token(work.worker, campaign))))


def test_texts_have_their_own_language_and_direction_and_those_of_mixed_language_claim_none(
    work: Assignment, token: str
) -> None:
    Campaign.objects.filter(pk=work.campaign_id).update(language="he", question="איזה קטע עונה טוב יותר?")
    Collection.objects.filter(pk=work.campaign.collection_id).update(language="ar")
    html = page(ask(address("item", token, 1)))
    heading, query = html.css_first(".ask .eyebrow"), html.css_first(".ask h1")
    assert heading is not None and query is not None
    assert (heading.attributes["dir"], heading.attributes["lang"]) == ("auto", "he")
    assert (query.attributes["dir"], query.attributes["lang"]) == ("auto", "ar")
    passages = [(part.attributes["dir"], part.attributes["lang"]) for part in html.css(".passage .text p")]
    assert passages == [("auto", "ar")] * 2
    sides = html.css_first("div.pair")
    assert sides is not None
    assert sides.attributes["dir"] == "ltr"  # A stays on the left
    root = html.css_first("html")
    assert root is not None
    assert (root.attributes["lang"], root.attributes["dir"]) == ("en", "ltr")

    Collection.objects.filter(pk=work.campaign.collection_id).update(language="")
    html = page(ask(address("item", token, 1)))
    assert all("lang" not in part.attributes for part in html.css(".passage .text p, .ask h1"))


def test_every_page_is_guarded_uncached_sets_no_cookie_and_links_to_no_other_site(work: Assignment, token: str) -> None:
    factories.judge(work, only=[1])
    paths = [*addresses_of(work), "/j/forged/", "/c/forged/"]
    for path in paths:
        answer = ask(path)
        policy = answer["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'"):
            assert part in policy, path
        assert "unsafe" not in policy
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert not answer.cookies, path
        html = answer.content.decode()
        assert not re.search(r"<[^>]+\s(?:style|on\w+)=", html), path  # neither would run
        outside = re.findall(r"""(?:href|src|action)="(https?://[^"]+)""", html)
        assert all("/w/" in url for url in outside), path  # a worker's own address, to be kept
        if answer.status_code != 404:
            assert "no-store" in answer["Cache-Control"], path
        if answer.status_code == 200:
            assert 'name="robots" content="noindex"' in html, path


def test_work_can_begin_and_choices_are_saved_while_redis_is_away(campaign: Campaign, settings: object) -> None:
    away = {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/redis.sock"}  # type: ignore[attr-defined]
    settings.CACHES = {"default": away}  # type: ignore[attr-defined]
    settings.RATELIMIT_ENABLE = True  # type: ignore[attr-defined]
    client = Client()
    page = client.get(f"/c/{campaign.link}/consent/")
    fields = {
        field.attributes["name"]: field.attributes["value"]
        for field in LexborHTMLParser(page.content.decode()).css("main form input[type=hidden]")
    }
    action = LexborHTMLParser(page.content.decode()).css_first("main form").attributes["action"]
    assert client.post(action, fields).status_code == 303
    assert Assignment.objects.count() == 1


def test_a_barred_worker_stays_barred_at_another_link_of_the_lab_in_the_same_browser(campaign: Campaign) -> None:
    other = factories.campaign(campaign.collection, "second link", pairs_per_hit=3, tests_per_hit=2)
    browser = Client(enforce_csrf_checks=True)
    browser.post(*form_of(address("join", campaign.link)))
    assignment = Assignment.objects.get()
    factories.judge(assignment, fail_tests=True)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert browser.get(address("preview", other.link)).status_code == 200
    answer = browser.post(*form_of(address("join", other.link)), follow=True)
    assert "no more tasks for you" in answer.content.decode()
    assert Worker.objects.count() == Assignment.objects.count() == 1


def questions(path: str) -> list[str]:
    """What the database is asked for a page."""
    with CaptureQueriesContext(connection) as capture:
        assert ask(path).status_code == 200
    return [query["sql"] for query in capture.captured_queries]


@pytest.mark.parametrize("framed", [False, True])
def test_showing_an_item_and_saving_a_choice_are_one_statement_each(work: Assignment, token: str, framed: bool) -> None:
    if framed:
        Publication.objects.create(campaign=work.campaign, state="open", title="t", description="d")
        Assignment.objects.filter(pk=work.pk).update(platform_assignment_id="A1")
    stamp = shown_on(token, 1)
    assert len(questions(address("item", token, 1))) == 1
    for side, rows in (("left", 1), ("left", 1), ("right", 2)):
        with CaptureQueriesContext(connection) as capture:
            assert save(address("save", token, 1), {"preferred": side, "shown": stamp}).status_code == 200
        assert len(capture) == 1
        assert Judgment.objects.count() == rows


def test_without_a_script_the_assignment_is_looked_up_once(work: Assignment, token: str) -> None:
    action, hidden = form_of(address("item", token, 1))
    with CaptureQueriesContext(connection) as capture:
        send(action, {**hidden, "preferred": "left"})
    assert len(capture) == 2
    assert Judgment.objects.count() == 1


def test_a_workers_home_asks_as_much_for_many_receipts_as_for_one_and_pages_them(
    campaign: Campaign, alice: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pages, "RECEIPTS", 2)
    home = address("home", links.home_token(alice, campaign))
    factories.do(alice, campaign)
    few = len(questions(home))
    for _hit in range(2):
        last = factories.do(alice, campaign)
    Hit.objects.filter(campaign=campaign).update(needed=1)  # as many wait as before
    assert len(questions(home)) <= few + 2  # how many pages there are, and a second look for a HIT
    html = ask(home).content.decode()
    first = Assignment.objects.order_by("id").first()
    assert first is not None
    assert last.receipt in html and first.receipt not in html
    assert first.receipt in ask(f"{home}?page=2").content.decode()
    assert dollars(3 * campaign.reward) in html, "the sum is of all pages"


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_a_huge_answer_is_refused_as_the_script_expects(campaign: Campaign, alice: Worker, kind: str) -> None:
    token = links.assignment_token(factories.take(alice, campaign))
    client = Client(raise_request_exception=False)
    answer = client.post(f"/j/{token}/1/save/", "x" * (3 << 20), content_type=kind)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]

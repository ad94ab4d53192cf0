"""What somebody typed is there again: after a log-in that has ended, another log-in, a failure, Back and a reload."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from core.models import Lab, User
from leaderboards.boards import board_create
from pools.models import Campaign
from tasks import links
from tasks.models import ConsentText, Worker
from tasks.services import consent_write
from tests import factories
from tests.core.test_editing import form_of
from tests.looking import DESK, looks_right
from ui.typed import sign

pytestmark = pytest.mark.django_db
TEXT = "Line one,\nline “two” <b>."


@pytest.fixture
def page(campaign: Campaign) -> str:
    return reverse("tasks:wording", args=[campaign.pk])


@pytest.fixture
def bert(lab: Lab) -> User:
    return factories.member(lab, "researcher", "bert")


def of(user: User, **how: Any) -> Client:
    client = Client(**how)
    client.force_login(user)
    return client


def current_consent(campaign: Campaign) -> ConsentText:
    return campaign.consent_texts.latest("version")


def typed(client: Client, page: str) -> dict[str, Any]:
    return {**form_of(client.get(page), page, "consent-text"), "consent-text": TEXT}


def test_what_was_sent_after_the_log_in_had_ended_is_kept_and_sent_again_by_the_same_person(
    campaign: Campaign, page: str, rita: User
) -> None:
    client = of(rita)
    sent = typed(client, page)
    client.session.flush()

    answer = client.post(page, {**sent, "why": "Ethics."})

    assert answer.status_code == 403
    assert "Your log-in has ended." in answer.text
    assert current_consent(campaign).text != TEXT
    again = form_of(answer, page, "consent-text")
    assert (again["consent-text"], again["why"]) == (TEXT, "Ethics.")
    assert answer.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    client.force_login(rita)
    assert client.post(page, again).status_code == 303
    assert current_consent(campaign).text == TEXT


def test_nobody_else_sends_what_somebody_wrote(campaign: Campaign, page: str, rita: User, bert: User) -> None:
    client = of(rita)
    sent = typed(client, page)
    client.force_login(bert)

    answer = client.post(page, sent)

    assert answer.status_code == 403
    assert "You are logged in as bert, but somebody else wrote this." in answer.text
    again = form_of(answer, page, "consent-text")
    assert again["consent-text"] == TEXT
    assert client.post(page, again).status_code == 403
    assert client.post(page, {**again, "typed_by": f"{bert.pk}:forged"}).status_code != 200
    client.force_login(rita)
    assert client.post(page, again).status_code == 303


def test_a_refused_token_costs_a_press_and_no_text(campaign: Campaign, page: str, rita: User) -> None:
    client = of(rita, enforce_csrf_checks=True)
    sent = typed(client, page)
    client.cookies[settings.CSRF_COOKIE_NAME] = "x" * 32

    answer = client.post(page, sent)

    assert answer.status_code == 403
    assert "Send it once more." in answer.text
    again = form_of(answer, page, "consent-text")
    assert client.post(page, again).status_code == 303
    assert current_consent(campaign).text == TEXT


def test_another_sites_form_is_not_kept(page: str, rita: User) -> None:
    client = of(rita, enforce_csrf_checks=True)
    sent = typed(client, page)
    for values, headers in ((sent, {"origin": "https://elsewhere.example"}), ({"consent-text": TEXT}, {})):
        refused = client.post(page, values, headers=headers)
        assert refused.status_code == 403
        assert "line “two”" not in refused.text
        assert "Go back and send the form again." in refused.text


def test_secrets_and_files_are_not_kept(lab: Lab, rita: User) -> None:
    file = SimpleUploadedFile("run.txt", b"content of the file")
    secrets = {"password": "hunter2", "old-private": "hunter2", "token": "hunter2", "code": "hunter2"}
    answer = Client().post(
        reverse("runs:run_upload"), {"typed_by": sign(rita), "name": "bm25", "file": file, **secrets}
    )
    assert answer.status_code == 403
    assert 'value="bm25"' in answer.text
    assert "hunter2" not in answer.text and "content of the file" not in answer.text
    assert "Files cannot be kept." in answer.text


def test_the_page_is_told_what_has_been_taken_and_nothing_else(campaign: Campaign, page: str, rita: User) -> None:
    client = of(rita)
    sent = {**typed(client, page), "typed_id": "abc1"}
    refused = client.post(page, {**sent, "consent-text": ""})
    assert refused.status_code == 400
    assert "Location" not in refused.headers and "taken" not in refused.cookies
    answer = client.post(page, sent)
    assert answer.headers["Location"] == f"{page}#taken-abc1"
    assert "taken" not in client.post(page, {**sent, "typed_id": "<script>"}).headers["Location"]
    answer = client.post(reverse("api:tokens"), {"name": "script", "scopes": ["read"], "days": "9", "typed_id": "abc2"})
    assert (answer.status_code, answer.cookies["taken"].value) == (201, "abc2"), answer.content


def test_a_refusal_that_leads_back_has_taken_nothing(campaign: Campaign, rita: User) -> None:
    """Such as a decision on a round of upkeep, whose error is said on the page that it leads to."""
    board = board_create(
        lab=campaign.lab, collection=campaign.collection, slug="b", name="B", measures=["RR@10"], hits=10, by=rita,
        at=campaign.created_at,
    )  # fmt: skip
    round = board.upkeep_rounds.create(number=1, proposed_at=campaign.created_at, dollars=1)
    decide = reverse("upkeep:decide", args=[board.slug, round.number])
    answer = of(rita).post(decide, {"decision": "end", "reason": "", "typed_id": "abc1"})
    assert answer.status_code == 303
    assert "taken" not in answer.headers["Location"]


# --- in a browser


@pytest.fixture
def visitor(live_server: Any, settings: Any, chromium: Browser) -> Iterator[Page]:
    settings.SITE_URL, settings.RATELIMIT_ENABLE = live_server.url, False
    context = chromium.new_context(base_url=live_server.url, viewport=DESK, reduced_motion="reduce")  # type: ignore[arg-type]
    yield context.new_page()


def log_in(page: Page, name: str) -> None:
    page.goto("/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


@pytest.mark.django_db(transaction=True)
def test_in_a_browser_what_was_typed_outlives_a_failure_a_reload_and_a_log_in_that_ended(
    campaign: Campaign, rita: User, bert: User, page: str, visitor: Page
) -> None:
    log_in(visitor, "rita")
    visitor.goto(page)
    consent, back = visitor.get_by_label("Consent text"), visitor.get_by_text("It is back in the form.")
    save = visitor.get_by_role("button", name="Save this consent text")
    text = consent.input_value()
    consent.fill("My words.")
    visitor.reload()
    expect(consent).to_have_value("My words.")
    expect(back).to_be_visible()
    visitor.get_by_role("button", name="Discard").click()
    expect(consent).to_have_value(text)
    expect(consent).to_be_focused()
    visitor.reload()
    expect(consent).to_have_value(text)

    # The proxy answers in the server's place, and the network is away.
    consent.fill("My words.")
    visitor.route(f"**{page}", lambda route: route.fulfill(status=502, body="Bad gateway"))
    save.click()
    expect(visitor.get_by_text("Bad gateway")).to_be_visible()
    visitor.unroute(f"**{page}")
    visitor.go_back()
    expect(consent).to_have_value("My words.")
    expect(back).to_be_visible()

    # The log-in ends: one press after another log-in, in another tab.
    visitor.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    save.click()
    expect(visitor.get_by_role("alert")).to_be_focused()
    looks_right(visitor)
    tab = visitor.context.new_page()
    log_in(tab, "rita")
    tab.close()
    visitor.get_by_role("button", name="Send again").click()
    expect(visitor.get_by_text("The consent text is saved as version")).to_be_visible()
    expect(back).to_have_count(0)
    expect(consent).to_have_value("My words.")

    # Of what was typed, nothing is there for another person.
    consent.fill("Mine alone.")
    visitor.get_by_role("button", name="Log out").click()
    assert visitor.evaluate("Object.keys(sessionStorage).length") == 0
    log_in(visitor, "bert")
    visitor.goto(page)
    expect(consent).to_have_value("My words.")


@pytest.mark.django_db(transaction=True)
def test_in_a_browser_what_comes_back_is_compared_with_what_was_shown_when_it_was_typed(
    campaign: Campaign, rita: User, alice: Worker, page: str, visitor: Page
) -> None:
    log_in(visitor, "rita")
    visitor.goto(page)
    consent, save = visitor.get_by_label("Consent text"), visitor.get_by_role("button", name="Save this consent text")
    consent.fill("My words.")
    consent_write(campaign=campaign, text="Theirs.")
    visitor.reload()
    expect(consent).to_have_value("My words.")
    save.click()
    alert = visitor.get_by_role("alert").filter(has_text="Somebody else has saved this")
    expect(alert).to_be_focused()
    looks_right(visitor)
    save.click()
    expect(visitor.get_by_text("The consent text is saved as version")).to_be_visible()

    # So it is for a worker, who has no account.
    token = links.assignment_token(factories.take(alice, campaign))
    visitor.goto(f"/j/{token}/1/report/")
    note = visitor.get_by_label("What should we know?")
    broken = visitor.get_by_label("The text is broken or cut off")
    note.fill("The text is cut off.")
    broken.check()
    visitor.reload()
    expect(note).to_have_value("The text is cut off.")
    expect(broken).to_be_checked()
    visitor.get_by_role("button", name="Send and go on").click()
    expect(note).to_have_count(0)
    visitor.wait_for_load_state()  # its script takes away what was sent
    visitor.goto(f"/j/{token}/1/report/")
    typed = "Object.keys(sessionStorage).filter((name) => name.startsWith('typed ')).length"
    assert visitor.evaluate(typed) == 0

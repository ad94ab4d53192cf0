"""Parts of pages that refresh by themselves, in a real browser: quietly, and nobody loses their place."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect, sync_playwright

from core.models import Lab, User
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from pools.models import Campaign
from results import refreshing
from tasks import services as task_services
from tasks.models import Worker
from tests import browser, factories
from tests.looking import DESK, looks_right

A_TURN = 21_000  # milliseconds, a little more than between two looks of a page
HIDDEN = "#announcement"
PARTS = ("judgments:progress", "judgments:exports", "results:status", "platforms:progress", "platforms:compared")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(**browser.launch_options())
        yield started
        started.close()


@pytest.fixture
def ritas(chromium: Browser, live_server: Any, rita: User, lab: Lab, settings: Any) -> Iterator[Page]:
    """Rita's page, logged in, with a clock that tests wind. What a script or the content policy complains of fails."""
    settings.ALLOWED_HOSTS = ["*"]
    context = chromium.new_context(base_url=live_server.url, viewport=DESK, reduced_motion="reduce")  # type: ignore[arg-type]
    page = browser.sign_in(context, live_server.url, rita)
    complaints = browser.listen(page)
    page.clock.install()
    yield page
    context.close()
    assert complaints == []


def next_turn(page: Page, part: str) -> None:
    """Wind the clock until the page asks for a part again, and wait for the answer."""
    with page.expect_response(f"**{part}*"):
        page.clock.fast_forward(A_TURN)


def test_progress_goes_on_by_itself_and_says_aloud_only_what_has_changed(
    ritas: Page, campaign: Campaign, alice: Worker
) -> None:
    part = reverse("judgments:progress", args=[campaign.pk])
    ritas.goto(reverse("judgments:campaign", args=[campaign.pk]))
    meter = ritas.locator("progress[aria-labelledby=hits-label]")
    assert meter.get_attribute("value") == "0"

    next_turn(ritas, part)
    expect(ritas.locator(HIDDEN)).to_have_text("")

    factories.do(alice, campaign)
    next_turn(ritas, part)
    expect(meter).to_have_attribute("value", "1")
    expect(ritas.locator(HIDDEN)).to_have_text("33 % of the HITs are done.")
    expect(ritas.locator(HIDDEN)).to_have_attribute("role", "status")
    looks_right(ritas)


def test_what_somebody_is_on_is_not_taken_from_under_their_fingers(
    ritas: Page, campaign: Campaign, alice: Worker
) -> None:
    part = reverse("judgments:progress", args=[campaign.pk])
    ritas.goto(reverse("judgments:campaign", args=[campaign.pk]))
    link = ritas.locator("#progress").get_by_role("link", name="View work")
    link.focus()
    factories.do(alice, campaign)

    next_turn(ritas, part)
    expect(link).to_be_focused()
    expect(ritas.locator("progress[aria-labelledby=hits-label]")).to_have_attribute("value", "0")

    link.evaluate("link => link.blur()")
    next_turn(ritas, part)
    expect(ritas.locator("progress[aria-labelledby=hits-label]")).to_have_attribute("value", "1")


def test_a_campaign_that_is_being_packed_says_when_it_is_open(ritas: Page, campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.PACKING)
    ritas.goto(reverse("judgments:campaign", args=[campaign.pk]))
    expect(ritas.get_by_text("The HITs are being packed.")).to_be_visible()

    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.OPEN)
    next_turn(ritas, reverse("judgments:progress", args=[campaign.pk]))
    expect(ritas.locator(HIDDEN)).to_have_text("The campaign is now open.")
    ritas.get_by_role("link", name="Load the page again").click()
    expect(ritas.get_by_role("button", name="Pause")).to_be_visible()


def test_results_that_were_computed_meanwhile_are_announced(
    ritas: Page, campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    factories.do(alice, campaign)
    ritas.goto(reverse("results:results", args=[campaign.pk]))
    expect(ritas.get_by_text("The results have not been computed yet")).to_be_visible()

    refreshing.result_refresh(campaign=campaign)
    next_turn(ritas, reverse("results:status", args=[campaign.pk]))
    expect(ritas.locator(HIDDEN)).to_have_text("New results have been computed.")
    ritas.get_by_role("link", name="Show them").click()
    expect(ritas.get_by_text("Nothing has changed since.")).to_be_visible()


def test_a_page_that_is_left_open_does_not_keep_anybody_logged_in(ritas: Page, campaign: Campaign) -> None:
    ritas.goto(reverse("judgments:campaign", args=[campaign.pk]))
    Session.objects.all().delete()
    ritas.clock.fast_forward(A_TURN)
    ritas.wait_for_url("**/login/**")
    expect(ritas.get_by_label("Password")).to_be_visible()


def test_asking_again_does_not_renew_a_log_in(client: Client, rita: User, campaign: Campaign) -> None:
    client.force_login(rita)
    part = reverse("judgments:progress", args=[campaign.pk])
    session = client.session
    long_ago = (timezone.now() - timedelta(hours=1)).timestamp()
    session["seen"] = session["began"] = long_ago
    session.save()

    assert client.get(part, headers={"HX-Request": "true"}).status_code == 200
    assert client.session["seen"] == long_ago
    assert client.get(part).status_code == 200
    assert client.session["seen"] > long_ago


def test_what_can_no_longer_change_is_not_asked_for_again(
    client: Client, rita: User, campaign: Campaign, alice: Worker
) -> None:
    client.force_login(rita)
    assignment = factories.take(alice, campaign)
    part, files = reverse("judgments:progress", args=[campaign.pk]), reverse("judgments:exports", args=[campaign.pk])
    task_services.campaign_move(campaign=campaign, to="closed")
    assert "hx-get" in client.get(part).content.decode()  # Alice may still finish

    judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
    assert "hx-get" not in client.get(part).content.decode()
    assert "hx-get" in client.get(files).content.decode()  # the files of this moment are still to be made
    judgment_jobs.make_exports()
    assert "hx-get" not in client.get(files).content.decode()


def test_parts_of_other_labs_are_not_shown(client: Client, campaign: Campaign) -> None:
    client.force_login(factories.user("eve"))
    for name in PARTS:
        assert client.get(reverse(name, args=[campaign.pk])).status_code == 404

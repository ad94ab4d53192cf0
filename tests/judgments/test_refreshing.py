"""Pages that refresh by themselves, in a real browser: as a whole, quietly, and nobody loses their place."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from core.models import Lab, User
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from platforms.models import Operation, Publication, PublishedHit
from pools.models import Campaign
from results import refreshing
from tasks import services as task_services
from tasks.models import Worker
from tests import browser, factories
from tests.looking import DESK, looks_right

A_TURN = 21_000  # milliseconds, a little more than between two looks of a page
HIDDEN = "#announcement"


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


def next_turn(page: Page) -> None:
    """Wind the clock until the page asks for itself again, and wait for the answer."""
    with page.expect_response(page.url):
        page.clock.fast_forward(A_TURN)


SAID = """async anew => {
  const ask = async (address, headers) => await (await fetch(address, { headers })).text();
  const page = anew ? new DOMParser().parseFromString(await ask(location), "text/html") : document;
  for (const late of anew ? page.querySelectorAll("[hx-trigger=load]") : [])
    late.innerHTML = await ask(late.getAttribute("hx-get"), { "HX-Request": "true" });
  return [...page.querySelector("main .content").children]
    .filter(part => part.id !== "announcement" && part.className !== "messages")
    .map(part => part.textContent).join(" ");
}"""


def said_by(page: Page, *, anew: bool = False) -> str:
    """All that a page says, its badge and buttons too, without the times at which it was asked for; or what it says to
    somebody who comes now.
    """
    text = page.evaluate(SAID, anew)
    return re.sub(r"Counted at [\w ,:]+ UTC|\d+\s(second|minute)s?\sago|just now|\s+", " ", str(text))


def agrees(page: Page) -> None:
    """What a page says once it has refreshed is what it says to somebody who comes now."""
    next_turn(page)
    now = said_by(page, anew=True)
    for _try in range(100):
        if said_by(page) == now:
            break
        page.wait_for_timeout(50)
    assert said_by(page) == now


def test_progress_goes_on_by_itself_and_says_aloud_only_what_has_changed(
    ritas: Page, campaign: Campaign, alice: Worker
) -> None:
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    meter = ritas.locator("progress[aria-labelledby=hits-label]")
    assert meter.get_attribute("value") == "0"

    next_turn(ritas)
    expect(ritas.locator(HIDDEN)).to_have_text("")

    factories.do(alice, campaign)
    next_turn(ritas)
    expect(meter).to_have_attribute("value", "1")
    expect(ritas.locator(HIDDEN)).to_have_text("The campaign is open. 33% of the HITs are done.")
    expect(ritas.locator(HIDDEN)).to_have_attribute("role", "status")
    looks_right(ritas)


def test_focus_and_what_is_typed_stay_while_the_page_around_them_changes(
    ritas: Page, campaign: Campaign, alice: Worker, rita: User
) -> None:
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    meter = ritas.locator("progress[aria-labelledby=hits-label]")
    why = ritas.get_by_label("Why").first
    ritas.get_by_text("Add a reason").first.click()
    why.fill("The lab is away")
    link = ritas.get_by_role("link", name="Which problems are mailed to you")
    link.focus()

    factories.do(alice, campaign)
    next_turn(ritas)
    expect(meter).to_have_attribute("value", "1")
    expect(link).to_be_focused()
    expect(why).to_have_value("The lab is away")


def test_a_button_that_is_gone_leaves_no_other_under_the_fingers(ritas: Page, campaign: Campaign) -> None:
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    ritas.get_by_role("button", name="Pause").focus()
    task_services.campaign_move(campaign=campaign, to="paused")
    next_turn(ritas)
    expect(ritas.get_by_role("button", name="Resume")).to_be_visible()
    expect(ritas.locator("main")).to_be_focused()


def test_chosen_text_and_words_typed_for_what_is_gone_keep_the_page_as_it_is(
    ritas: Page, campaign: Campaign, alice: Worker
) -> None:
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    meter = ritas.locator("progress[aria-labelledby=hits-label]")
    ritas.locator("h1").select_text()
    factories.do(alice, campaign)
    next_turn(ritas)
    expect(meter).to_have_attribute("value", "0")
    ritas.evaluate("document.getSelection().removeAllRanges()")
    next_turn(ritas)
    expect(meter).to_have_attribute("value", "1")

    ritas.get_by_text("Add a reason").first.click()
    ritas.get_by_label("Why").first.fill("The lab is away")
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.PACKING)
    next_turn(ritas)
    expect(ritas.get_by_label("Why").first).to_have_value("The lab is away")
    expect(ritas.locator(".head .state")).to_have_text("open")


def test_the_overview_agrees_with_itself_from_packing_to_the_end(
    ritas: Page, campaign: Campaign, alice: Worker, bob: Worker, carol: Worker
) -> None:
    campaigns = Campaign.objects.filter(pk=campaign.pk)
    campaigns.update(state=Campaign.State.PACKING)
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    expect(ritas.get_by_text("The HITs are being packed.")).to_be_visible()
    expect(ritas.locator(".head .state")).to_have_text("being packed")
    expect(ritas.get_by_text("HITs done")).to_have_count(0)

    campaigns.update(state=Campaign.State.OPEN)
    agrees(ritas)
    expect(ritas.locator(".head .state")).to_have_text("open")
    expect(ritas.locator(HIDDEN)).to_have_text("The campaign is open. 0% of the HITs are done.")
    expect(ritas.get_by_role("button", name="Pause")).to_be_visible()
    expect(ritas.get_by_text("being packed")).to_have_count(0)

    work = factories.take(alice, campaign)
    agrees(ritas)
    factories.judge(work)
    judgment_services.assignment_finish(assignment=work, at=timezone.now())
    agrees(ritas)
    judgment_jobs.make_exports()
    agrees(ritas)
    campaign.refresh_from_db()
    task_services.campaign_move(campaign=campaign, to="paused")
    agrees(ritas)
    expect(ritas.get_by_role("button", name="Resume")).to_be_visible()
    campaign.refresh_from_db()
    task_services.campaign_move(campaign=campaign, to="open")
    for worker in (bob, carol):
        factories.do(worker, campaign)
        agrees(ritas)
    expect(ritas.get_by_text("All the judging is done.")).to_be_visible()
    campaign.refresh_from_db()
    task_services.campaign_move(campaign=campaign, to="closed")
    judgment_jobs.make_exports(campaign.pk)  # at once, however long the last ones took
    agrees(ritas)
    assert ritas.locator("main").get_attribute("data-refresh") is None


def test_the_platforms_page_agrees_with_itself_from_publishing_to_the_end(
    ritas: Page, campaign: Campaign, rita: User
) -> None:
    publication = Publication.objects.create(campaign=campaign, state="open", title="t", description="d")
    for hit in campaign.hits.all():
        row = PublishedHit.objects.create(publication=publication, hit=hit, max_assignments=1)
        Operation.objects.create(
            publication=publication, kind="create", published_hit=row, token=f"t{hit.pk}", next_try=timezone.now()
        )
    ritas.goto(reverse("platforms:publication", args=[campaign.pk]))
    expect(ritas.get_by_text("The HITs are being published.")).to_be_visible()

    at = timezone.now()
    for count, row in enumerate(publication.published_hits.all(), 1):
        PublishedHit.objects.filter(pk=row.pk).update(
            platform_hit_id=f"H{row.pk}", posted_at=at, expires_at=at + timedelta(days=1), next_poll_at=at
        )
        row.operations.update(state="done", ended_at=at)
        agrees(ritas)
        expect(ritas.get_by_text(f"{count} of 3 HITs are at our own")).to_be_visible()
        expect(ritas.get_by_text("HITs that need work stay open until, at the latest,")).to_be_visible()
    raised = publication.alarms.create(kind="unseen", text="Nobody has opened a task.", raised_at=at)
    agrees(ritas)
    raised.settled_at = at
    raised.save()
    publication.published_hits.update(expires_at=at)
    agrees(ritas)
    expect(ritas.get_by_text("No HITs are open at the platform now.")).to_be_visible()
    Publication.objects.update(state="paused")
    agrees(ritas)
    expect(ritas.get_by_role("button", name="Resume")).to_be_visible()
    campaign.refresh_from_db()
    Publication.objects.update(finished_revision=campaign.revision)
    agrees(ritas)
    expect(ritas.locator(".head .state")).to_have_text("finished")


def test_results_agree_with_their_status_whenever_they_are_computed_anew(
    ritas: Page, campaign: Campaign, alice: Worker, bob: Worker, carol: Worker
) -> None:
    ritas.goto(reverse("results:results", args=[campaign.pk]))
    expect(ritas.get_by_text("No judgments count yet")).to_be_visible()
    fold = ritas.locator("details.folded").first
    for number, worker in enumerate((alice, bob, carol)):
        if number:
            fold.locator("summary").click()
            is_open = fold.get_attribute("open")
        factories.do(worker, campaign)
        agrees(ritas)
        waits = r"newer judgments? (is|are) not included yet" if number else "The results have not been computed yet"
        expect(ritas.get_by_text(re.compile(waits))).to_be_visible()
        expect(ritas.get_by_role("button", name="Compute now")).to_be_visible()

        refreshing.result_refresh(campaign=campaign)
        agrees(ritas)
        expect(ritas.locator(HIDDEN)).to_contain_text("The results were computed at")
        expect(ritas.get_by_text("Nothing has changed since.")).to_be_visible()
        expect(ritas.get_by_role("button", name="Compute now")).to_have_count(0)
        if number:  # what was folded stays so
            assert fold.get_attribute("open") == is_open


def test_what_was_said_when_the_page_came_goes_once_it_is_no_longer_so(ritas: Page, campaign: Campaign) -> None:
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    ritas.get_by_role("button", name="Pause").click()
    notice = ritas.locator(".messages .notice")
    expect(notice).to_be_visible()
    next_turn(ritas)
    expect(notice).to_be_visible()
    campaign.refresh_from_db()
    task_services.campaign_move(campaign=campaign, to="open")
    next_turn(ritas)
    expect(notice).to_have_count(0)


def test_a_page_that_is_left_open_does_not_keep_anybody_logged_in(ritas: Page, campaign: Campaign) -> None:
    ritas.goto(reverse("campaigns:campaign", args=[campaign.pk]))
    Session.objects.all().delete()
    ritas.clock.fast_forward(A_TURN)
    ritas.wait_for_url("**/login/**")
    expect(ritas.get_by_label("Password")).to_be_visible()


def test_asking_again_does_not_renew_a_log_in(client: Client, rita: User, campaign: Campaign) -> None:
    client.force_login(rita)
    page = reverse("campaigns:campaign", args=[campaign.pk])
    session = client.session
    long_ago = (timezone.now() - timedelta(hours=1)).timestamp()
    session["seen"] = session["began"] = long_ago
    session.save()

    assert client.get(page, headers={"HX-Request": "true"}).status_code == 200
    assert client.session["seen"] == long_ago
    assert client.get(page).status_code == 200
    assert client.session["seen"] > long_ago


def test_what_can_no_longer_change_is_not_asked_for_again(
    client: Client, rita: User, campaign: Campaign, alice: Worker
) -> None:
    client.force_login(rita)
    assignment = factories.take(alice, campaign)
    page = reverse("campaigns:campaign", args=[campaign.pk])
    task_services.campaign_move(campaign=campaign, to="closed")
    assert "data-refresh" in client.get(page).text  # Alice may still finish

    judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
    assert "data-refresh" in client.get(page).text  # the files of this moment are still to be made
    judgment_jobs.make_exports()
    assert "data-refresh" not in client.get(page).text

"""The pages about a campaign at a platform in a real browser: they fit, can be read, and go with the keyboard alone."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page

from core.alarms import alarm_raise
from core.models import User
from platforms import jobs as platform_jobs
from platforms.attention import attention_check
from platforms.models import Operation, PlatformAlarm, Publication
from platforms.reviewing.compensations import compensations_find
from platforms.reviewing.fairness import pay_rate_check
from runs.models import Collection
from tasks import services as task_services
from tests import browser, factories
from tests.looking import DESK, looks_right
from tests.marketplace.server import Worker
from tests.platforms.platforms import Clock, decide, drain, judge, work
from tests.rows import fresh


@pytest.fixture
def ritas(chromium: Browser, live_server: Any, rita: User, settings: Any) -> Iterator[Page]:
    """Rita's page, logged in. What a script or the content policy complains of is a failure."""
    settings.ALLOWED_HOSTS = ["*"]
    context = chromium.new_context(base_url=live_server.url, viewport=DESK, reduced_motion="reduce")  # type: ignore[arg-type]
    page = browser.sign_in(context, live_server.url, rita)
    complaints = browser.listen(page)
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def look(ritas: Page) -> Callable[[str], None]:
    """Opens a page, which must be well: nothing beyond the edge, no small button, nothing that axe finds."""

    def looked(path: str) -> None:
        answer = ritas.goto(path)
        assert answer is not None
        assert answer.ok, path
        looks_right(ritas)

    return looked


def test_the_pages_before_publishing_fit_and_can_be_read(
    look: Callable[[str], None], ritas: Page, publication: Publication
) -> None:
    pk = publication.campaign_id
    look(reverse("platforms:terms", args=[pk]))
    ritas.fill("#id_auto_approval", "2")
    ritas.locator("form.loose").evaluate("one => { one.noValidate = true; one.submit() }")
    ritas.get_by_text("“2” was given. It must be a number of days from 3 to 30.").wait_for()
    looks_right(ritas)
    look(reverse("platforms:publish", args=[pk]))


def test_the_pages_of_a_busy_publication_fit_and_can_be_read(
    look: Callable[[str], None], ritas: Page, published: Publication, wanda: Worker, will: Worker
) -> None:
    clock, now = Clock(), timezone.now()
    work(published, wanda, 1)
    other = judge(published, will, 2)
    will.submit(other.platform_assignment_id, receipt="another")
    judge(published, wanda, 3)
    decide(published, clock)
    compensations_find(publication=published, at=now + timedelta(hours=3))
    drain(published, clock)
    platform_jobs.compare(published.pk)
    refused = published.operations.filter(kind="create").first()
    Operation.objects.filter(pk=refused.pk if refused else 0).update(
        state="refused", error="InvalidParameterValue: " + "a long answer of the platform, " * 8
    )
    alarm_raise(of=published, kind=PlatformAlarm.FUNDS, text="The account is empty.", at=now)

    published.submissions.update(seconds_there=3600)
    pay_rate_check(publication=published, at=now)

    pk = published.campaign_id
    look(reverse("platforms:adjustment", args=[pk]))
    look(reverse("platforms:adjustment", args=[pk]) + "?hourly=20")
    assert ritas.get_by_role("button", name="Pay $").is_visible()
    for name in ("publication", "terms", "submissions", "compensations", "ledger", "stop", "expire"):
        look(reverse(f"platforms:{name}", args=[pk]))
    look(reverse("platforms:submissions", args=[pk]) + "?show=all")
    for submission in published.submissions.all():
        look(reverse("platforms:submission", args=[pk, submission.pk]))


def test_publishing_to_nobody_and_replacing_the_terms_fit_and_can_be_read(
    look: Callable[[str], None], ritas: Page, published: Publication
) -> None:
    campaign = published.campaign
    terms = reverse("platforms:terms", args=[campaign.pk])
    look(terms)
    ritas.get_by_role("button", name="Use the paper's requirements").click()
    assert ritas.input_value("#id_approved") == "10000"
    ritas.fill("#id_approved", "999999")
    ritas.fill("#id_title", "Another title")
    ritas.keyboard.press("Enter")
    ritas.get_by_role("heading", name="Replace the terms?").wait_for()
    looks_right(ritas)
    ritas.get_by_label("Replace the terms although no active worker qualifies").check()
    ritas.get_by_role("button", name="Replace the terms").click()
    ritas.wait_for_url("**/platform/")
    attention_check(publication=published, at=timezone.now() + timedelta(hours=2))
    look(reverse("platforms:publication", args=[campaign.pk]))
    assert ritas.get_by_text("no worker has opened a task since").first.is_visible()
    drain(published)
    look(terms)
    assert ritas.get_by_text("999,999").first.is_visible()
    Publication.objects.update(state="draft")
    look(reverse("platforms:publish", args=[campaign.pk]))
    assert ritas.get_by_label("Publish although no active worker qualifies").is_visible()


def test_publishing_and_stopping_go_with_the_keyboard_alone(ritas: Page, publication: Publication) -> None:
    def press(name: str) -> None:
        for _press in range(60):
            ritas.keyboard.press("Tab")
            focused = ritas.locator(":focus")
            if focused.count() and name in focused.inner_text():
                style = focused.evaluate(
                    "one => [getComputedStyle(one).outlineStyle, getComputedStyle(one).outlineWidth]"
                )
                assert style == ["solid", "3px"]
                with ritas.expect_navigation():
                    ritas.keyboard.press("Enter")
                return
        raise AssertionError(f"no Tab leads to “{name}”")

    ritas.goto(reverse("platforms:terms", args=[publication.campaign_id]))
    press("Save and preview what would be sent")
    press("Publish for up to $9.60")
    ritas.wait_for_url("**/platform/")
    drain(publication)
    assert publication.published_hits.exclude(platform_hit_id="").count() == 3
    press("Stop all spending")
    ritas.wait_for_url("**/platform/stop/")
    press("Stop")
    ritas.wait_for_url("**/platform/")
    assert fresh(publication).state == "stopped"


def test_the_page_of_test_pairs_fits_and_keeps_its_place_while_one_decides(
    look: Callable[[str], None], ritas: Page, collection: Collection
) -> None:
    factories.elsewhere(collection)
    draft = factories.campaign(collection, "draft", tests=2, start=False)
    task_services.test_pairs_suggest(campaign=draft, count=3, seed=1)
    look(reverse("tasks:tests", args=[draft.pk]))
    following = draft.test_pairs.filter(state="suggested").order_by("pk")[1].pk
    ritas.get_by_role("button", name="Confirm:").first.focus()
    ritas.keyboard.press("Enter")
    ritas.wait_for_url(f"**#test-{following}")
    assert ritas.evaluate("document.activeElement.id") == f"test-{following}"

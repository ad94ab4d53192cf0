"""The review bench in a real browser: a page of work is chosen and excluded with the keyboard, and the pages fit."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser

from core.models import User
from judgments import jobs as judgment_jobs
from judgments.models import AssignmentSummary
from review.models import BulkDecision
from runs.models import Collection
from tests import browser, factories
from tests.looking import looks_right


@pytest.mark.django_db(transaction=True)
def test_work_is_chosen_and_excluded_with_the_keyboard_and_the_pages_fit(
    collection: Collection, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    campaign = factories.campaign(collection, "bench", pairs_per_hit=3, tests_per_hit=2)
    for name in ("Alice", "Bob", "Carol"):
        factories.do(factories.worker(campaign, name), campaign, fail_tests=name == "Carol")
    judgment_jobs.summarize()
    AssignmentSummary.objects.filter(assignment__worker__label="Bob").update(median_seconds=1.0, left_share=0.9)
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    work = reverse("review:work", args=[campaign.pk])
    page.goto(work)
    assert not page.locator("dialog").is_visible()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("next row, previous row").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    bench = page.locator("[data-bench]").first
    bench.get_by_text("Chosen: 1").wait_for()
    assert page.locator('input[name="row"]:checked').count() == 1
    looks_right(page)
    left = bench.get_by_role("columnheader", name="Left side")
    assert not left.is_visible()
    page.goto(f"{work}?sort=side")  # by a column that is folded otherwise
    assert left.is_visible()
    page.goto(work)
    page.get_by_role("link", name="More columns").first.click()
    bench.get_by_role("link", name="Left side").click()
    bench.get_by_role("link", name="Assignment").click()
    assert left.is_visible() and page.get_by_role("link", name="Fewer columns").count() == 1
    page.goto(work)
    bench.locator('input[name="row"]').nth(1).check()

    bench.locator("select").select_option("exclude")
    bench.get_by_role("button", name="See what it would do…").click()
    page.get_by_text("1 of 1 chosen would change").wait_for()
    looks_right(page)
    page.get_by_label("Why").fill("Careless.")
    page.get_by_role("button", name="Exclude the data").click()
    page.get_by_role("button", name="Undo").wait_for()
    assert BulkDecision.objects.get().rows.get().state == "done"
    looks_right(page)
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("The decision is undone").wait_for()

    for address in (
        reverse("campaigns:campaign", args=[campaign.pk]),
        reverse("review:worker", args=[campaign.pk, campaign.assignments.order_by("id")[0].worker_id]),
        reverse("core:alarm_choice"),
    ):
        page.goto(address)
        looks_right(page)
    assert errors == []

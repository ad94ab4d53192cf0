"""Pay in a real browser: somebody reads how they are paid, leaves what is needed, asks, and is marked as paid."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, sync_playwright

from core.models import User
from platforms.publishing import publication_write
from pools.models import Collection
from tasks import links
from tasks.models import Assignment
from tasks.paying import pay_words_write
from tests import browser, factories
from tests.looking import DESK, PHONE, looks_right


@pytest.mark.django_db(transaction=True)
def test_a_worker_by_the_link_is_paid_and_the_pages_fit(
    collection: Collection, rita: User, live_server: Any, settings: Any, tmp_path: Path
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    campaign = factories.campaign(collection, "paid", pairs_per_hit=3, tests_per_hit=2)
    pay_words_write(campaign=campaign, how="By PayPal, by 1 December.", asked="Your PayPal address")
    factories.do(factories.worker(campaign, "Bob"), campaign)
    draft = factories.campaign(collection, "draft", start=False)
    poor = publication_write(campaign=draft)
    type(poor).objects.filter(pk=poor.pk).update(balance=Decimal("1.00"), balance_at=timezone.now())

    def look(page: Page, name: str) -> None:
        for width, size in (("360", PHONE), ("1280", DESK)):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            page.screenshot(path=tmp_path / f"{name}-{width}.png", full_page=True)
        looks_right(page)

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(**browser.launch_options())
        worker = chromium.new_context(base_url=live_server.url).new_page()
        worker.goto(reverse("judging:preview", args=[campaign.link]))
        worker.get_by_text("By PayPal, by 1 December.").wait_for()
        look(worker, "preview")
        worker.get_by_role("link", name="Continue").click()
        worker.get_by_label("Your PayPal address").fill("ada@example.org")
        look(worker, "consent")
        worker.get_by_role("button", name="Agree and begin").click()
        worker.wait_for_url("**/j/**")
        begun = Assignment.objects.get(state="active")
        factories.judge(begun)
        token = links.assignment_token(begun)
        worker.goto(reverse("judging:finish", args=[token]))
        worker.get_by_role("button", name="Send my answers").click()
        worker.get_by_label("Was something wrong").fill("When will it come?")
        worker.get_by_label("It is about my pay").check()
        worker.get_by_role("button", name="Send").click()
        worker.get_by_text("You wrote:").wait_for()
        look(worker, "receipt")
        worker.goto(reverse("judging:ask_about_pay", args=[campaign.link]))
        look(worker, "ask")
        worker.goto(reverse("judging:home", args=[links.home_token_of(begun.worker_id, campaign.pk)]))
        look(worker, "home")

        page = chromium.new_context(base_url=live_server.url).new_page()
        page.goto("/login/")
        page.fill("#id_username", "rita")
        page.fill("#id_password", "rita")
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/login/" not in url)
        page.goto(reverse("platforms:pay", args=[campaign.pk]))
        page.get_by_text("ada@example.org").wait_for()
        look(page, "pay")
        page.locator('input[name="row"]').first.check()
        page.get_by_role("button", name="Mark those chosen as paid").click()
        page.get_by_text("1 task was marked as paid: $2.00.").wait_for()
        page.goto(reverse("judgments:reports", args=[campaign.pk]))
        look(page, "notes")
        page.get_by_label("Answer, which the worker reads").fill("Tomorrow.")
        page.get_by_role("button", name="Answer").click()
        page.get_by_text("The answer is on the receipt").wait_for()
        for name, address in (
            ("wording", reverse("tasks:wording", args=[campaign.pk])),
            ("draft", reverse("judgments:campaign", args=[draft.pk])),
            ("overview", reverse("judgments:campaign", args=[campaign.pk])),
        ):
            page.goto(address)
            look(page, name)
        worker.goto(reverse("judging:done", args=[token]))
        worker.get_by_text("Tomorrow.").wait_for()

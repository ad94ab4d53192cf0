"""Pay in a real browser: somebody reads how they are paid, leaves what is needed, asks, and is marked as paid."""

from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.models import User
from platforms.terms import publication_write
from runs.models import Collection
from tasks import links
from tasks.models import Assignment
from tasks.paying import pay_words_write
from tests import browser, factories
from tests.looking import looks_right


@pytest.mark.django_db(transaction=True)
def test_a_worker_by_the_link_is_paid_and_the_pages_fit(
    collection: Collection, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    campaign = factories.campaign(collection, "paid", pairs_per_hit=3, tests_per_hit=2)
    pay_words_write(campaign=campaign, how="By PayPal, by 1 December.", asked="Your PayPal address")
    factories.do(factories.worker(campaign, "Bob"), campaign)
    draft = factories.campaign(collection, "draft", start=False)
    poor = publication_write(campaign=draft)
    type(poor).objects.filter(pk=poor.pk).update(balance=Decimal("1.00"), balance_at=timezone.now())

    worker = chromium.new_context(base_url=live_server.url).new_page()
    worker.goto(reverse("judging:preview", args=[campaign.link]))
    worker.get_by_text("By PayPal, by 1 December.").wait_for()
    looks_right(worker)
    worker.get_by_role("link", name="Continue").click()
    worker.get_by_label("Your PayPal address").fill("ada@example.org")
    looks_right(worker)
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
    looks_right(worker)
    worker.goto(reverse("judging:ask_about_pay", args=[campaign.link]))
    looks_right(worker)
    worker.goto(reverse("judging:home", args=[links.home_token_of(begun.worker_id, campaign.pk)]))
    looks_right(worker)

    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    page.goto(reverse("platforms:pay", args=[campaign.pk]))
    page.get_by_text("ada@example.org").wait_for()
    looks_right(page)
    page.locator('input[name="row"]').first.check()
    page.get_by_role("button", name="Mark those chosen as paid").click()
    page.get_by_text("1 task was marked as paid: $2.00.").wait_for()
    page.goto(reverse("review:reports", args=[campaign.pk]))
    looks_right(page)
    page.get_by_label("Answer, which the worker reads").fill("Tomorrow.")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("The answer is on the receipt").wait_for()
    for address in (
        reverse("tasks:wording", args=[campaign.pk]),
        reverse("campaigns:campaign", args=[draft.pk]),
        reverse("campaigns:campaign", args=[campaign.pk]),
    ):
        page.goto(address)
        looks_right(page)
    worker.goto(reverse("judging:done", args=[token]))
    worker.get_by_text("Tomorrow.").wait_for()

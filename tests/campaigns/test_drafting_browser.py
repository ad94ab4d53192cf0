"""From a new draft to a pilot in a real browser: the numbers follow the form, the draft is edited and tried."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from core.models import User
from judgments.models import Judgment
from pools.models import Campaign
from runs.models import Collection
from tasks.models import Assignment, Worker
from tasks.services import campaign_pack
from tests import browser, factories
from tests.judgments.judged import judge_all
from tests.looking import looks_right


@pytest.mark.django_db(transaction=True)
def test_a_campaign_is_drafted_edited_tried_and_begun_with_a_pilot(
    collection: Collection, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    settings.SITE_URL = live_server.url
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    page.goto(reverse("campaigns:campaign_new") + f"?collection={collection.pk}")
    beside = page.locator("#consequences")
    expect(beside).to_contain_text("Pools and pairs are counted exactly.")
    looks_right(page)
    page.get_by_label("All 3 runs").uncheck()
    expect(beside).to_contain_text("Choose at least one run.")
    browser.unfold(page)
    page.get_by_label("Find runs by name").fill("re")
    page.get_by_role("button", name="Tick all shown", exact=True).click()
    expect(page.locator("#run-count")).to_have_text("2 ticked")  # red and green
    expect(beside).to_contain_text("Pools and pairs are counted exactly.")
    expect(beside.locator("dd").nth(1)).to_have_text("7")
    page.get_by_label("Find runs by name").fill("")
    page.fill("#id_name", "mine")
    page.fill("#id_pairs_per_hit", "1")
    page.fill("#id_reward", "0.01")
    expect(beside).to_contain_text("an hour is less than")
    page.fill("#id_reward", "3")
    expect(beside).not_to_contain_text("an hour is less than")
    looks_right(page)
    page.get_by_role("button", name="Create draft").click()
    page.get_by_role("heading", name="Steps", exact=True).wait_for()
    draft = Campaign.objects.get(name="mine")
    factories.write_tests(draft)

    page.get_by_role("link", name="Settings", exact=True).click()
    page.get_by_role("link", name="Edit the draft").wait_for()
    looks_right(page)
    page.get_by_role("link", name="Edit the draft").click()
    browser.unfold(page)
    expect(beside.locator("dd").nth(1)).to_have_text("7")
    page.fill("#id_overlap", "2")
    page.get_by_role("button", name="Save the draft").click()
    page.get_by_text("The draft has been changed.").wait_for()
    looks_right(page)

    page.get_by_role("link", name="Try it").first.click()
    phone = page.frame_locator("iframe.phone")
    expect(phone.get_by_text("Trial: nothing is stored.")).to_be_visible()
    looks_right(page)
    phone.get_by_role("link", name="Continue").click()
    phone.get_by_role("button", name="Agree and begin").click()
    phone.get_by_role("link", name="Begin").click()
    for number in range(1, 5):
        expect(phone.locator(".progress span")).to_have_text(f"{number} of 4")
        phone.get_by_role("button", name="A is better").click()
        expect(phone.locator("#state")).to_have_text("Saved")
        phone.locator("#continue").click()
    phone.get_by_role("button", name="Send my answers").click()
    expect(phone.get_by_text("TRIAL-ONLY")).to_be_visible()
    assert not (Judgment.objects.exists() or Assignment.objects.exists() or Worker.objects.exists())

    page.goto(reverse("campaigns:campaign", args=[draft.pk]))
    page.get_by_label("Begin with a pilot").fill("2")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("The campaign has started.").wait_for()
    campaign_pack(campaign_id=draft.pk)
    page.goto(reverse("judgments:pilot", args=[draft.pk]))
    expect(page.get_by_text("Held back: 5.")).to_be_visible()
    looks_right(page)
    page.get_by_role("button", name="Launch the remaining 5 HITs").click()
    page.get_by_text("5 more HITs have been launched.").wait_for()
    assert complaints == []


@pytest.mark.django_db(transaction=True)
def test_pairs_that_were_all_judged_can_be_judged_again_before_a_draft_is_made(
    collection: Collection, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.SITE_URL = live_server.url
    judge_all(factories.campaign(collection, "first"), [])
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    page.goto(reverse("campaigns:campaign_new") + f"?collection={collection.pk}")
    beside = page.locator("#consequences")
    expect(beside).to_contain_text("Every pair was judged before")
    looks_right(page)
    beside.get_by_role("button", name="Judge them again").click()
    expect(beside).to_contain_text("Workers judge 1 HIT")
    page.fill("#id_name", "again")
    page.get_by_role("button", name="Create draft").click()
    page.get_by_role("heading", name="Steps", exact=True).wait_for()
    assert Campaign.objects.get(name="again").reuse == Campaign.Reuse.NOTHING

"""Pages on which campaigns are listed, copied, renamed and archived, in a real browser: they fit, and can be read."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.models import User
from pools import services as pool_services
from runs.models import Collection
from tests import browser, factories
from tests.looking import looks_right


@pytest.mark.django_db(transaction=True)
def test_the_pages_that_keep_campaigns_in_order_fit_and_can_be_read(
    collection: Collection, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    factories.campaign(collection, "first", start=False)
    draft = factories.campaign(collection, "draft", tests=0, start=False)
    archived = factories.campaign(collection, "archived", start=False)
    pool_services.campaign_archive(campaign=archived, at=timezone.now())
    pages = [
        reverse("campaigns:campaigns"),
        reverse("campaigns:campaigns") + "?archive=only",
        reverse("campaigns:campaign_rename", args=[draft.pk]),
        reverse("tasks:tests", args=[draft.pk]),
        reverse("campaigns:campaign", args=[archived.pk]),
        reverse("campaigns:campaign_new") + f"?collection={collection.pk}&copy={draft.pk}",
    ]
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    for address in pages:
        page.goto(address)
        looks_right(page)
    page.goto(pages[3])
    page.get_by_role("button", name="Copy its confirmed test pairs").press("Enter")
    page.get_by_text("6 test pairs have been copied").wait_for()
    page.goto(pages[0])
    page.get_by_label("Archive").select_option("only")
    page.get_by_role("button", name="Filter").press("Enter")
    page.get_by_role("link", name="archived", exact=True).wait_for()
    assert page.get_by_role("link", name="first", exact=True).count() == 0
    # What only challengers are asked, and how many runs are ticked where each run counts anyway.
    page.goto(reverse("campaigns:campaign_new") + f"?collection={collection.pk}")
    browser.unfold(page)
    assert not page.get_by_label("Version to challenge").is_visible()
    page.get_by_label("Pairing design").select_option("challengers")
    assert page.get_by_label("Version to challenge").is_visible()
    assert page.locator("#run-count").inner_text() == ""
    page.get_by_label("All 3 runs").uncheck()
    assert page.locator("#run-count").inner_text() == "0 ticked"
    # A reason is asked for where somebody wants to give one.
    page.goto(reverse("campaigns:campaign", args=[draft.pk]))
    why = page.locator("#why-start")
    assert not why.is_visible()
    page.locator("form", has=why).get_by_text("Add a reason").click()
    assert why.is_visible()

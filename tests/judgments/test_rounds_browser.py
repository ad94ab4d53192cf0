"""A campaign in rounds in a browser: made in the form, and its next round asked."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from core.models import User
from judgments import jobs
from pools.models import Campaign
from runs.models import Collection
from tests import browser
from tests.judgments.test_rounds import deep, judge, make  # noqa: F401
from tests.looking import looks_right
from tests.results.test_browser import logged_in


@pytest.mark.django_db(transaction=True)
def test_a_campaign_in_rounds_is_made_in_the_form_and_its_next_round_is_asked(
    chromium: Browser,
    live_server: Any,
    settings: Any,
    deep: Collection,  # noqa: F811
    rita: User,
) -> None:
    with logged_in(chromium, live_server, settings, rita.get_username()) as page:
        page.goto(reverse("campaigns:campaign_new") + f"?collection={deep.pk}")
        page.get_by_label("Name", exact=True).fill("in the browser")
        browser.unfold(page)
        page.get_by_label("Pairing design").select_option(label="rounds")
        page.get_by_label("Depth", exact=True).fill("24")
        page.get_by_label("Partners in a round").fill("3")
        page.get_by_label("Finalists").fill("4")
        page.get_by_label("Look before each round").check()
        page.get_by_role("button", name="Create").last.click()
        page.wait_for_url("**/campaigns/*/")
        draft = Campaign.objects.get(name="in the browser")
        assert (draft.design, draft.partners, draft.finalists, draft.rounds_wait) == ("rounds", 3, 4, True)
        expect(page.locator("#rounds")).to_have_text("In rounds, and by all pairs")

        campaign = make(deep, rounds_wait=True)
        jobs.advance_rounds()
        judge(campaign)
        jobs.advance_rounds()
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            for each in (draft, campaign):
                page.goto(reverse("campaigns:campaign", args=[each.pk]))
                looks_right(page)
        page.get_by_role("button", name="Ask round 2").click()
        expect(page.get_by_text("Round 2 is asked")).to_be_visible()
        assert campaign.rounds.get(number=2).asked_by == rita

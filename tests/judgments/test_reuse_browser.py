"""The pages about reused judgments in a real browser: they fit, and can be read."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.models import User
from judgments import quality
from judgments.jobs import make_exports
from runs.models import Collection
from tests import browser, factories
from tests.judgments.test_reuse import judged, preference_import
from tests.looking import looks_right


@pytest.mark.django_db(transaction=True)
def test_the_pages_about_reused_judgments_fit_and_can_be_read(
    collection: Collection, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    first = judged(collection, runs=["red", "blue"])
    factories.campaign(collection, "other", question="Which is funnier?", reuse="nothing")
    preference_import(collection, ("q3", "p7", "p8", "p7"))
    preference_import(collection, ("q3", "p7", "p8", "p8"), name="newer")
    draft = factories.campaign(collection, "draft", reuse="all", start=False)
    packed = factories.campaign(collection, "packed", reuse="all")
    work = first.assignments.get()
    quality.assignment_exclude(assignment=work, why="careless", by=rita, at=timezone.now())
    make_exports(packed.pk)
    pages = [
        reverse("campaigns:campaign", args=[draft.pk]),
        reverse("campaigns:campaign", args=[packed.pk]),
        reverse("results:query", args=[packed.pk, packed.pools.get(query__qid="q1").pk]),
        reverse("pools:collection", args=[collection.pk]),
        reverse("pools:preferences_import", args=[collection.pk]),
    ]
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    for address in pages:
        page.goto(address)
        looks_right(page)

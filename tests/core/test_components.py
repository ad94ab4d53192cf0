"""The page of components: whatever pages are made of can be read, reached and pressed."""

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser

from tests import browser
from tests.looking import WIDTHS, faults

AXE = "async () => (await axe.run()).violations.flatMap(each => each.nodes.map(node => `${each.id}: ${node.html}`))"


def test_every_component_is_well_at_every_width_in_both_schemes(
    transactional_db: None, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    page = chromium.new_context(reduced_motion="reduce").new_page()
    complaints = browser.listen(page)
    page.goto(live_server.url + reverse("core:components"))
    page.evaluate(AXE_SCRIPT)
    problems = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            problems += [(scheme, width, each) for each in page.evaluate(AXE)]
    assert problems + faults(page) + complaints == []
    assert page.locator(".mark").count() == 3


@pytest.mark.django_db
def test_a_site_that_people_use_has_no_such_page(settings: Any) -> None:
    assert Client().get(reverse("core:components")).status_code == 200
    settings.DEVELOPMENT = False
    assert Client().get(reverse("core:components")).status_code == 404

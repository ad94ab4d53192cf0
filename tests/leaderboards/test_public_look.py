"""Public boards in a browser, without an account: at every width, in light and dark, by keyboard, to axe, on paper."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from playwright.sync_api import Browser, expect

from leaderboards import order_checks
from leaderboards.models import Board, Season, SeasonFile
from runs.models import Collection
from tests.leaderboards.public_boards import NOW, entry, filled
from tests.looking import PHONE, faults_at

PAGES = ("board", "time", "order", "costs", "policy", "files", "embedding", "embed", "compare", "versions")


@pytest.fixture
def board(transactional_db: None, collection: Collection) -> Board:
    """A board with 160 entries, one under embargo, one withdrawn, two seasons and files."""
    board = filled(collection)
    season = board.seasons.get()
    entry(board, "hidden", on=date(2026, 9, 1), dev="0.4", eval="0.4", embargo_until=date(2099, 1, 1), flag="Odd.")
    entry(board, "gone", on=date(2026, 9, 2), dev="0.4", state="withdrawn", withdrawn_at=NOW)
    SeasonFile.objects.create(
        season=season, part="dev_queries", file=ContentFile(b"1\twhy\n", "q"), name="queries-of-dev.tsv", size=6,
        sha256="0123456789abcdef" * 4, counts={"queries": 1, "words": 1}, added_at=NOW,
    )  # fmt: skip
    for name, values in (("good", [1.0, 1.0, 0.5]), ("fair", [1.0, 0.5, 0.5]), ("bad", [0.0, 0.1, 0.2])):
        mean = str(sum(values) / 3)
        entry(board, name, on=date(2026, 9, 3), dev=mean, eval=mean, per_query=values, parts=("dev", "eval"))
    for months in (2, 1):
        order_checks.order_check(season=season, at=NOW - timedelta(days=30 * months))
    later = Season.objects.create(board=board, number=2, name="Second", opens_at=NOW)
    entry(board, "new", on=date(2026, 11, 1), dev="0.1", eval="0.1", season=later)
    return board


@pytest.mark.timeout(300)
def test_every_public_page_is_well(board: Board, live_server: Any, settings: Any, chromium: Browser) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    of_season = ("board", "time", "order", "costs")
    places = [
        reverse(f"boards:{name}", args=[board.slug]) + ("?season=First" if name in of_season else "") for name in PAGES
    ]
    places += [reverse("boards:boards"), places[0] + "&type=reranking&sort=-dev", places[0] + "&q=nothing"]
    places += [
        reverse("boards:entry", args=[board.slug, row.public_id])
        for row in board.submissions.filter(run_id__in=["20260901-hidden", "20260902-gone"])
    ]
    page = chromium.new_context().new_page()
    assert faults_at(page, live_server.url, places) == ""
    page.goto(live_server.url + places[0])
    page.get_by_role("link", name="RR@10 dev").click()
    page.get_by_role("link", name="RR@10 dev").click()
    assert "sort=-dev" in page.url and page.locator("th[aria-sort=descending]").inner_text().startswith("RR@10 dev")
    page.get_by_text("Filter the entries").click()
    page.get_by_label("Type").select_option("reranking")
    page.get_by_role("button", name="Show").click()
    assert "sort=-dev" in page.url and "season=First" in page.url
    assert page.get_by_role("status").inner_text().startswith("54 of 165 entries")


def test_a_point_answers_to_keyboard_and_touch_and_leads_to_its_entry(
    board: Board, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    page = chromium.new_context(has_touch=True, viewport=PHONE, reduced_motion="reduce").new_page()  # type: ignore[arg-type]
    page.goto(live_server.url + reverse("boards:time", args=[board.slug]) + "?season=First")
    figure = page.locator("figure").first
    points, readout = figure.locator(".mark"), figure.locator(".readout")
    figure.locator("[role=region]").focus()
    page.keyboard.press("ArrowRight")
    expect(points.first).to_be_focused()
    expect(readout).to_have_text(points.first.get_attribute("aria-label") or "")
    page.keyboard.press("End")
    expect(points.last).to_be_focused()
    page.keyboard.press("Home")
    figure.locator("[role=region]").evaluate("region => region.scrollLeft = region.scrollWidth")
    middle = points.last.bounding_box()
    assert middle is not None
    page.touchscreen.tap(middle["x"] + middle["width"] + 3, middle["y"] + middle["height"] + 3)  # a finger is not exact
    expect(figure.locator(".current")).to_have_count(1)
    expect(readout.get_by_role("link")).to_have_text(figure.locator(".current").get_attribute("aria-label") or "")
    readout.get_by_role("link").tap()
    page.wait_for_url("**/e/*")

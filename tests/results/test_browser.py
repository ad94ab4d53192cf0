"""The pages of results in a real browser: they fit, can be read, and go with the keyboard alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from core.models import User
from pools.models import Campaign
from results import jobs as result_jobs
from results import refreshing, scoring, versions
from results.models import ShownResults
from results.sections.subjects import Subject
from runs.models import Collection
from tests import browser, factories
from tests.judgments.judged import demo_campaign, judge_all
from tests.looking import DESK, looks_right
from tests.results.judging import judged, new_run
from tests.worlds import lay_out


@pytest.fixture
def demo(transactional_db: None, tmp_path: Path, settings: Any) -> Campaign:
    """The demo's campaign, judged but for the last HIT, with results from before that."""
    settings.VAR = tmp_path

    def make() -> None:
        campaign = demo_campaign()
        judge_all(campaign, hits=12)
        refreshing.result_refresh(campaign=campaign)
        judge_all(campaign)

    lay_out("the demo, judged further than it is computed", make)
    return Campaign.objects.get()


@pytest.fixture
def researchers(chromium: Browser, live_server: Any, demo: Campaign, settings: Any) -> Iterator[Page]:
    """The demo's researcher's page, logged in."""
    with logged_in(chromium, live_server, settings, "researcher") as page:
        yield page


@contextmanager
def logged_in(chromium: Browser, live_server: Any, settings: Any, name: str) -> Iterator[Page]:
    """A page of somebody who has logged in. What a script or the content policy complains of is a failure."""
    settings.ALLOWED_HOSTS = ["*"]
    context = chromium.new_context(base_url=live_server.url, viewport=DESK, reduced_motion="reduce")  # type: ignore[arg-type]
    page = browser.sign_in(context, live_server.url, User.objects.get(username=name))
    complaints = browser.listen(page)
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def look(researchers: Page) -> Callable[[str], None]:
    """Opens a page, which must be well: nothing beyond the edge, no small button, nothing that axe finds."""

    def looked(path: str) -> None:
        answer = researchers.goto(path)
        assert answer is not None
        assert answer.ok, path
        looks_right(researchers)

    return looked


def test_the_pages_of_results_fit_and_can_be_read(look: Callable[[str], None], demo: Campaign) -> None:
    pool = demo.pools.get(query__qid="218836")
    look(reverse("results:results", args=[demo.pk]))
    for subject in list(Subject)[1:]:
        look(reverse("results:subject", args=[demo.pk, subject]))
    look(reverse("results:table", args=[demo.pk, "pairs"]) + "?words=minilm&sort=-wsr")
    look(reverse("results:plan", args=[demo.pk]))
    look(reverse("results:query", args=[demo.pk, pool.pk]))


def test_the_page_to_show_is_made_read_and_ended(
    look: Callable[[str], None], researchers: Page, demo: Campaign
) -> None:
    look(reverse("results:show", args=[demo.pk]))
    researchers.get_by_role("button", name="Make the page").click()
    looks_right(researchers)
    page = reverse("results:shown", args=[ShownResults.objects.get().token])
    for subject in ("", *(f"{subject}/" for subject in list(Subject)[1:])):
        look(f"{page}{subject}")
    researchers.goto(reverse("results:show", args=[demo.pk]))
    researchers.get_by_role("button", name="End the page").click()
    expect(researchers.get_by_text("The page has ended.")).to_be_visible()


def test_the_pages_of_settings_outside_scores_and_costs_fit_and_can_be_read(
    look: Callable[[str], None], researchers: Page, demo: Campaign
) -> None:
    look(reverse("results:settings", args=[demo.pk]))
    researchers.get_by_label("Compare", exact=True).select_option("baseline")
    researchers.get_by_label("Baseline").fill("bm52")
    researchers.get_by_role("button", name="Save").click()
    expect(researchers.get_by_text("there is none called “bm52”.")).to_be_visible()
    researchers.goto(reverse("runs:outside_scores", args=[demo.collection_id]))
    researchers.get_by_label("Source and measure").fill("Elsewhere, MRR@10")
    scores = {"name": "scores.txt", "mimeType": "text/plain", "buffer": b"bm25 0.2 2\nminilm 0.3 1\nlater 0.1\n"}
    researchers.get_by_label("File").set_input_files([scores])  # type: ignore[list-item]
    researchers.get_by_role("button", name="Check and store").click()
    expect(researchers.get_by_role("heading", name="Elsewhere, MRR@10")).to_be_visible()
    look(researchers.url)
    look(reverse("platforms:costs"))


def test_a_version_is_made_and_its_pages_fit_and_can_be_read(
    look: Callable[[str], None], researchers: Page, demo: Campaign
) -> None:
    look(reverse("results:version_new", args=[demo.pk]))
    researchers.get_by_label("Why").fill("The first round of judgments.")
    researchers.get_by_role("button", name="Add version 1").click()
    expect(researchers.get_by_text("Waiting to start.")).to_be_visible()
    looks_right(researchers)
    result_jobs.add_versions()
    researchers.wait_for_url("**/versions/1/")
    scoring.scores_refresh(collection=demo.collection)
    look(researchers.url)
    look(reverse("results:version_scores", args=[demo.collection_id, 1]))
    look(reverse("pools:collection", args=[demo.collection_id]))


def test_the_pages_of_challengers_and_of_a_champion_check_fit_and_can_be_read(
    transactional_db: None, chromium: Browser, live_server: Any, collection: Collection, settings: Any
) -> None:
    judged_first = judged(collection)
    versions.version_add(campaign=judged_first, why="The first round.", by=None, at=timezone.now())
    new_run(collection, "new", {"q1": ["p0", "p1"], "q2": ["p99"], "q3": ["p8"], "q4": ["p9"]})
    challenge = judged(collection, "challenge", runs=["new"], design="challengers")
    check = judged(collection, "check", runs=["red"], design="champion_check", qrel_policy="first")
    draft = factories.campaign(collection, "draft", runs=["new"], design="challengers", start=False)
    for campaign in (challenge, check):
        refreshing.result_refresh(campaign=campaign)
    with logged_in(chromium, live_server, settings, "rita") as page:
        for campaign in (challenge, check):
            for name in ("results:results", "results:plan", "campaigns:campaign"):
                page.goto(reverse(name, args=[campaign.pk]))
                looks_right(page)
        page.goto(reverse("campaigns:campaign", args=[draft.pk]))
        looks_right(page)
        page.goto(f"{reverse('campaigns:campaign_new')}?collection={collection.pk}")
        looks_right(page)


def test_sorting_and_asking_with_the_keyboard_alone(researchers: Page, demo: Campaign) -> None:
    page = researchers
    page.goto(reverse("results:results", args=[demo.pk]))
    expect(page.get_by_text("newer judgments are not included yet")).to_be_visible()
    leaderboard = page.get_by_role("region", name="Table: The leaderboard, before and after")
    leaderboard.get_by_role("link", name="Run", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=run#leaderboard")
    expect(leaderboard.get_by_role("columnheader", name="Run", exact=True)).to_have_attribute("aria-sort", "ascending")
    expect(leaderboard.get_by_role("rowheader").first).to_have_text("bm25")
    page.get_by_role("link", name="Run against run").focus()
    page.keyboard.press("Enter")
    drawing = page.get_by_role("group", name="Figure: Win ratios")
    drawing.focus()
    expect(drawing).to_be_focused()  # so that it scrolls with the arrow keys where there is no room
    page.goto(reverse("results:plan", args=[demo.pk]))
    page.get_by_label("Wrong judgments, in percent").fill("20")
    page.keyboard.press("Enter")
    page.wait_for_url("**error_rate=20")
    expect(page.get_by_role("rowheader")).to_have_count(3)


def test_a_figure_answers_to_pointer_and_keyboard(
    researchers: Page, look: Callable[[str], None], demo: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # these figures are of these data
    refreshing.result_refresh(campaign=demo, anew=True)
    look(reverse("results:results", args=[demo.pk]))
    figure = researchers.locator("#figure-slopes")
    figure.scroll_into_view_if_needed()
    marks, readout = figure.locator(".mark"), figure.locator(".readout")
    expect(marks).to_have_count(len(demo.result.data["leaderboard"]))
    marks.nth(1).hover()
    name = marks.nth(1).get_attribute("aria-label")
    assert name is not None
    expect(readout).to_have_text(name)
    run = demo.collection.runs.get(name=name.partition(":")[0])
    expect(readout.get_by_role("link")).to_have_attribute("href", reverse("pools:run", args=[run.pk]))
    figure.locator(".drawing").focus()
    researchers.keyboard.press("Tab")
    expect(marks.nth(1)).to_be_focused()
    researchers.keyboard.press("ArrowUp")
    expect(marks.nth(0)).to_be_focused()
    expect(readout).to_have_text(marks.nth(0).get_attribute("aria-label") or "")
    researchers.evaluate("document.getElementById('main').dataset.until = 'refreshed'")
    researchers.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(researchers.locator("#main[data-until]")).to_have_count(0)
    expect(marks.nth(0)).to_be_focused()
    expect(readout).to_have_text(marks.nth(0).get_attribute("aria-label") or "")
    looks_right(researchers)
    researchers.keyboard.press("End")
    researchers.keyboard.press("Enter")
    researchers.wait_for_url("**/runs/*/")


def test_a_bar_of_pools_leads_to_their_queries(
    researchers: Page, look: Callable[[str], None], demo: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    refreshing.result_refresh(campaign=demo, anew=True)
    look(reverse("results:subject", args=[demo.pk, "passages"]))
    figure = researchers.locator("#figure-pool-sizes")
    figure.scroll_into_view_if_needed()
    size, count = demo.result.data["pool_sizes"][1]
    figure.get_by_role("link", name=f"{size} passages:").click()
    expect(researchers.locator("tbody tr")).to_have_count(count)
    looks_right(researchers)


def test_a_cell_leads_to_the_numbers_of_its_two_runs(
    researchers: Page, look: Callable[[str], None], demo: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    refreshing.result_refresh(campaign=demo, anew=True)
    look(reverse("results:subject", args=[demo.pk, "runs"]))
    figure = researchers.locator("#figure-win-ratios")
    figure.scroll_into_view_if_needed()
    first, second = [row["name"] for row in demo.result.data["wins"]["row"]][:2]
    figure.get_by_role("link", name=f"{first} preferred to {second}").click()
    rows = researchers.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(first)
    expect(rows).to_contain_text(second)

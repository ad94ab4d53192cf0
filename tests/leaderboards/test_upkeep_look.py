"""The pages of upkeep and of versions in a browser: at every width, in light and dark, by keyboard, on paper."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.models import User
from leaderboards.models import Board, UpkeepRound
from leaderboards.upkeep import jobs
from results import versions
from runs.models import Collection
from tests import browser
from tests.leaderboards import upkept
from tests.looking import faults_at
from tests.results.judging import judged, new_run


@pytest.fixture
def board(transactional_db: None, collection: Collection, rita: User) -> Board:
    """A board with two versions, and a proposed round that has an obstacle."""
    pilot = judged(collection)
    versions.version_add(campaign=pilot, why="The start.", by=None, at=timezone.now())
    new_run(collection, "new", {"q1": ["p0"]})
    new_run(collection, "more", {"q2": ["p00"]})
    board = upkept.board(collection)
    upkept.entry(board, "old", {"q1": ["p1"], "q2": ["p4"], "q3": ["p7"]})
    upkept.entry(board, "new", {"q1": ["p0"], "q2": ["p00"], "q3": ["p7"]})
    challenge = judged(collection, "second", runs=["new"], design="challengers")
    versions.version_add(campaign=challenge, why="New passages.", by=None, at=timezone.now())
    upkept.turn_on(board, pilot, rita)
    jobs.keep_up()
    UpkeepRound.objects.update(obstacle="The account at the platform has $1.00, but the campaign may cost $7.00.")
    return board


@pytest.mark.timeout(300)
def test_the_pages_of_upkeep_and_versions_are_well(
    board: Board, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    slug = board.slug
    places = [
        reverse("upkeep:upkeep", args=[slug]), reverse("boards:versions", args=[slug]),
        reverse("boards:version", args=[slug, 1]), reverse("boards:version", args=[slug, 2]),
    ]  # fmt: skip
    page = browser.sign_in(chromium.new_context(), live_server.url, rita)
    assert faults_at(page, live_server.url, places) == ""
    page.goto(live_server.url + places[0])
    page.get_by_label("Reason").fill("Go on.")
    page.get_by_role("button", name="Approve").click()
    assert page.get_by_text("Round 1 is approved.").is_visible()
    assert board.upkeep_rounds.get().state == UpkeepRound.State.APPROVED

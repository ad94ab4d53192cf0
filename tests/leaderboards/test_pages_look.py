"""Pages of participants and organizers in a browser: at every width, in light and dark, by keyboard, on paper."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.models import User
from leaderboards import boards, order_checks, spot_checks
from leaderboards.models import Board, Submission, Team
from runs.models import Collection
from tests import browser, factories
from tests.leaderboards import taking_part
from tests.looking import faults_at


@pytest.fixture
def places(transactional_db: None, collection: Collection) -> dict[str, list[str]]:
    """A board with runs that are published, one that waits, one that its team is asked about, and spot checks;
    addresses by who looks.
    """
    olga = factories.member(collection.lab, "organizer", "olga")
    paul = factories.user("paul", email="paul@example.org")
    board = taking_part.make(collection, olga, timezone.now() - timedelta(days=50), quota_runs=5)
    team = taking_part.team(board, paul, confirmed_by=olga)
    at = timezone.now() - timedelta(days=40)
    published = taking_part.published(board, team, paul, olga, "one", at)
    taking_part.published(board, team, paul, olga, "three", at + taking_part.DAY, hits=2)
    waiting = taking_part.evaluated(board, team, paul, "two", at + 2 * taking_part.DAY, hits=3)
    order_checks.order_check(season=board.seasons.get(), at=at + 3 * taking_part.DAY)
    check, _other = spot_checks.checks_draw(board=board, at=timezone.now())
    spot_checks.check_do(check=check, note="The paper describes this run.", by=olga, at=timezone.now())
    policy = board.policies.get()
    numbers = {name: getattr(policy, name) for name in boards.NUMBERS} | {"choice_days": 7}
    now = timezone.now()
    boards.policy_add(board=board, text=policy.text, numbers=numbers, begins_at=now, why="Trials", by=olga, at=now)
    choosing = taking_part.evaluated(board, team, paul, "four", now, hits=1)
    return {
        "paul": _of_participants(board, team, published, waiting, choosing),
        "olga": [
            *_of_organizers(board),
            reverse("leaderboards:submission", args=[published.public_id]),
            reverse("leaderboards:submission", args=[waiting.public_id]),
        ],
    }


def _of_participants(board: Board, team: Team, *submissions: Submission) -> list[str]:
    return [
        reverse("leaderboards:boards"),
        *(reverse(f"leaderboards:{name}", args=[board.slug]) for name in ("take_part", "submit", "dev", "team_new")),
        reverse("leaderboards:team", args=[board.slug, team.public_id]),
        *(reverse("leaderboards:submission", args=[submission.public_id]) for submission in submissions),
    ]


def _of_organizers(board: Board) -> list[str]:
    names = ("organize", "order", "board_edit", "policy_new", "season_new", "import")
    return [reverse("leaderboards:board_new"), *(reverse(f"leaderboards:{name}", args=[board.slug]) for name in names)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("who", ["paul", "olga"])
def test_every_page_is_well(
    places: dict[str, list[str]], who: str, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    page = browser.sign_in(chromium.new_context(), live_server.url, User.objects.get(username=who))
    assert faults_at(page, live_server.url, places[who]) == ""

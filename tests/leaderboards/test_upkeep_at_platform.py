"""A round of upkeep at a running marketplace: approved, published, judged by a crowd, a version, new scores."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.template_terms import template_terms_set
from core.models import User
from leaderboards.models import Board, Score, UpkeepRound
from leaderboards.upkeep import jobs, rounds
from platforms.models import Publication
from pools import selectors as pool_selectors
from pools.models import Campaign
from results import versions
from runs.models import Collection
from simulation.demonstration import count_at_platform
from tasks import services as task_services
from tasks.models import Assignment, Platform
from tests.conftest import RunningSite
from tests.leaderboards import upkept
from tests.marketplace.server import Marketplace, Requester
from tests.results.judging import judged as judged_by_small_ids
from tests.results.judging import new_run
from tests.simulation.test_at_platform import both, judged, market, requester  # noqa: F401 - fixtures

State = UpkeepRound.State


@pytest.fixture
def board(both: RunningSite, collection: Collection, rita: User) -> Board:  # noqa: F811
    """A board whose upkeep publishes its campaigns at the marketplace, once somebody approves them."""
    pilot = judged_by_small_ids(collection)
    versions.version_add(campaign=pilot, why="The start.", by=None, at=timezone.now())
    new_run(collection, "texts", {"q1": ["p00"], "q2": ["p99"]})
    board = upkept.board(collection)
    template = upkept.turn_on(board, pilot, rita).template
    assert template is not None
    terms = {"platform": Platform.MARKETPLACE, "requirements": [], "pay": Publication.Pay.BASE_AND_BONUS, "rate": 50.0}
    template_terms_set(template=template, terms=terms, at=timezone.now())
    return board


def step(board: Board) -> UpkeepRound:
    """One run of the upkeep's job, and of the job that packs."""
    upkept.make_due(board)
    jobs.keep_up()
    for campaign in Campaign.objects.filter(state=Campaign.State.PACKING):
        task_services.campaign_pack(campaign_id=campaign.pk)
    return board.upkeep_rounds.latest("number")


def scores(board: Board) -> dict[tuple[int, str], str]:
    """Exact dev scores by version and entry."""
    rows = Score.objects.filter(submission__board=board, part="dev", version__isnull=False)
    return {
        (number, run_id.partition("-")[2]): fraction
        for number, run_id, fraction in rows.values_list("version__number", "submission__run_id", "fraction")
    }


@pytest.mark.timeout(300)
def test_a_round_is_approved_published_judged_by_a_crowd_and_every_entry_scored_anew(
    board: Board,
    both: RunningSite,  # noqa: F811
    market: Marketplace,  # noqa: F811
    requester: Requester,  # noqa: F811
    rita: User,
    client: Client,
) -> None:
    upkept.entry(board, "old", {"q1": ["p1"], "q2": ["p4"], "q3": ["p7"]})
    upkept.entry(board, "new", {"q1": ["p00", "p1"], "q2": ["p99", "p4"], "q3": ["p7"]})
    round = step(board)
    assert (round.state, round.challengers.count()) == (State.PROPOSED, 2)
    assert scores(board) == {(1, "old"): "1/1", (1, "new"): "2/3"}
    assert step(board).campaign is None and requester.client.list_hits()["NumResults"] == 0, "nobody approved it"

    rounds.round_approve(round=round, by=rita, reason="The money is there.", at=timezone.now())
    for _time in range(5):
        round = step(board)
    assert round.campaign is not None and round.state == State.APPROVED
    publication = Publication.objects.get(campaign=round.campaign)
    assert publication.state == Publication.State.DRAFT and "$0.01" in round.obstacle, "a cent does not pay for it"
    market.run("deposit", requester.name, "200.00")
    assert "nobody qualifies" in step(board).obstacle, "nobody has registered there yet"
    client.force_login(rita)
    assert b'value="go_on"' in client.get(reverse("upkeep:upkeep", args=[board.slug])).content
    fields = {"decision": "go_on", "reason": "Workers come tomorrow."}
    assert client.post(reverse("upkeep:decide", args=[board.slug, 1]), fields).status_code == 303
    round = step(board)
    publication.refresh_from_db()
    assert (round.state, round.obstacle) == (State.JUDGING, "") and publication.state == Publication.State.OPEN
    assert round.reason == "The money is there. Workers come tomorrow."
    client.logout()
    market.worker()

    # Everybody prefers the passage of the greater id: p99 to p4, and p1 to p00.
    tally = judged(publication, market, both.url)
    assert tally.counts["handed in"] and tally.counts["pairs without a preference in the file"] == 0
    came = count_at_platform(publication)
    assert came.ledgers.agree, came.ledgers.differences
    # Whoever left holds a place, and so the round, until their time is over: they might still hand in.
    round.campaign.assignments.filter(state=Assignment.State.ACTIVE).update(leased_until=timezone.now())
    round = step(board)
    assert round.state == State.DONE and round.version is not None and round.version.number == 2
    assert dict(board.challengers.values_list("pid", "outcome")) == {"p00": "lost", "p99": "won"}
    answers = pool_selectors.version_answers(round.version)
    assert answers == {"q1": ("p1",), "q2": ("p99",), "q3": ("p7",), "q4": ("p9",)}
    paid = came.ledgers.platform_rewards + came.ledgers.platform_bonuses + came.ledgers.fees
    assert round.spent == paid > Decimal(0)
    assert sum(board.challengers.values_list("dollars", flat=True)) == pytest.approx(paid, abs=Decimal("0.01"))

    step(board)
    assert scores(board) == {
        (1, "old"): "1/1", (1, "new"): "2/3", (2, "old"): "2/3", (2, "new"): "5/6",
    }  # fmt: skip
    page = client.get(reverse("boards:version", args=[board.slug, 2])).text
    assert "System new" in page and "round 1" in page and "0.833" in page
    assert board.upkeep_rounds.count() == 1, "nothing new waits"

"""The organizers' page of upkeep: settings, what waits, approving and ending rounds, and who may."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from leaderboards.models import Board, Upkeep, UpkeepRound
from leaderboards.upkeep import jobs, rounds
from pools.models import Campaign
from results import versions
from runs.models import Collection
from tests import factories
from tests.leaderboards import upkept
from tests.results.judging import judged, new_run
from tests.rows import fresh

PAGE = reverse("upkeep:upkeep", args=["small"])


@pytest.fixture
def pilot(collection: Collection) -> Campaign:
    """A campaign of all pairs, and a version of what it found."""
    campaign = judged(collection)
    versions.version_add(campaign=campaign, why="The start.", by=None, at=timezone.now())
    return campaign


@pytest.fixture
def board(collection: Collection, pilot: Campaign) -> Board:
    """A board with one entry that brings p0 to q1."""
    new_run(collection, "texts", {"q1": ["p0"]})
    board = upkept.board(collection)
    upkept.entry(board, "new", {"q1": ["p0"]})
    return board


@pytest.fixture
def researcher(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


def entered(board: Board, pilot: Campaign, rita: User, **fields: Any) -> dict[str, Any]:
    upkept.turn_on(board, pilot, rita)
    stored = Upkeep.objects.get(board=board)
    values = {
        "is_on": "on", "template": stored.template_id, "tests_from": pilot.pk, "fewest": 1, "every_days": 0,
        "campaign_dollars": "50", "year_dollars": "500",
    }  # fmt: skip
    return values | fields


def test_settings_are_stored_and_bad_ones_refused_with_what_was_entered(
    board: Board, pilot: Campaign, researcher: Client, rita: User
) -> None:
    values = entered(board, pilot, rita)
    answer = researcher.post(PAGE, values | {"runs_itself": "on", "year_dollars": "321.00"})
    assert (answer.status_code, answer.headers["Location"]) == (303, PAGE)
    upkeep = Upkeep.objects.get(board=board)
    assert (upkeep.runs_itself, str(upkeep.year_dollars), upkeep.changed_by) == (True, "321.00", rita)
    refused = researcher.post(PAGE, values | {"template": "", "fewest": "7"})
    assert refused.status_code >= 400
    assert "Choose a template" in refused.content.decode()
    assert 'value="7"' in refused.content.decode()
    for bad in ({"fewest": "0"}, {"every_days": "400"}, {"campaign_dollars": "-1"}, {"year_dollars": "much"}):
        assert researcher.post(PAGE, values | bad).status_code == 400
    upkeep.refresh_from_db()
    assert (upkeep.fewest, str(upkeep.year_dollars)) == (1, "321.00")


def test_a_proposed_round_is_shown_approved_and_ended(
    board: Board, pilot: Campaign, researcher: Client, rita: User
) -> None:
    assert "Upkeep is off." in researcher.get(PAGE).content.decode()
    upkept.turn_on(board, pilot, rita)
    jobs.keep_up()
    page = researcher.get(PAGE).content.decode()
    assert "waiting for approval" in page
    assert "20261101-new" in page
    decide = reverse("upkeep:decide", args=["small", 1])
    assert researcher.get(decide).status_code == 405
    researcher.post(decide, {"decision": "end", "reason": ""})
    assert "Say why the round is ended" in researcher.get(PAGE).content.decode()
    researcher.post(decide, {"decision": "burn"})
    round = UpkeepRound.objects.get()
    assert round.state == UpkeepRound.State.PROPOSED
    researcher.post(decide, {"decision": "approve", "reason": "Go on."})
    round.refresh_from_db()
    assert (round.state, round.decided_by, round.reason) == (UpkeepRound.State.APPROVED, rita, "Go on.")
    researcher.post(decide, {"decision": "end", "reason": "No <b>money</b>."})
    assert fresh(round).state == UpkeepRound.State.DECLINED
    assert "No &lt;b&gt;money&lt;/b&gt;." in researcher.get(PAGE).content.decode()
    assert researcher.post(reverse("upkeep:decide", args=["small", 9]), {"decision": "end"}).status_code == 404


def test_going_on_although_nobody_qualifies_is_offered_only_where_that_is_the_obstacle(
    board: Board, pilot: Campaign, researcher: Client, rita: User
) -> None:
    upkept.turn_on(board, pilot, rita, runs_itself=True)
    jobs.keep_up()
    round, decide = board.upkeep_rounds.get(), reverse("upkeep:decide", args=["small", 1])
    go_on = {"decision": "go_on", "reason": "They come."}
    rounds.obstacle_note(round=round, why="No money.", at=timezone.now())
    assert b'value="go_on"' not in researcher.get(PAGE).content
    researcher.post(decide, go_on)
    assert "does not wait for workers who qualify" in researcher.get(PAGE).content.decode()
    rounds.obstacle_note(round=round, why="Nobody qualifies.", at=timezone.now(), nobody_qualifies=True)
    assert b'value="go_on"' in researcher.get(PAGE).content
    researcher.post(decide, go_on | {"reason": " "})
    assert "Say why the campaign is published" in researcher.get(PAGE).content.decode()
    round.refresh_from_db()
    assert not round.although_nobody_qualifies and round.retry_at is not None
    researcher.post(decide, go_on)
    round.refresh_from_db()
    assert (round.although_nobody_qualifies, round.retry_at, round.decided_by) == (True, None, rita)
    assert round.reason.endswith("They come.")
    assert b'value="go_on"' not in researcher.get(PAGE).content


def test_who_may_look_and_who_may_spend(board: Board, pilot: Campaign, client: Client) -> None:
    viewer = factories.member(board.lab, "viewer", "vera")
    organizer = factories.member(board.lab, "organizer", "otto")
    stranger = factories.user("strange")
    assert client.get(PAGE).status_code == 302
    for user, looks, changes in ((viewer, 200, 403), (organizer, 200, 403), (stranger, 404, 404)):
        client.force_login(user)
        answer = client.get(PAGE)
        assert answer.status_code == looks
        assert b'<form method="post" class="stack">' not in answer.content
        assert client.post(PAGE, {"is_on": "on"}).status_code == changes
    assert not Upkeep.objects.exists()


def test_what_could_not_be_scored_is_said(board: Board, researcher: Client) -> None:
    artifact = board.submissions.get().artifacts.get()
    artifact.top.storage.delete(artifact.top.name)
    jobs.keep_up()
    assert "20261101-new on version 1" in researcher.get(PAGE).content.decode()

"""What the database holds of leaderboards, whatever a service does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, models, transaction
from django.utils import timezone

from core.models import AuditEntry
from leaderboards.models import (
    Board,
    Decision,
    Look,
    Opening,
    PolicyVersion,
    Release,
    Score,
    Season,
    Submission,
    SubmissionEvent,
    SubmissionMessage,
    Team,
)
from runs.models import Collection

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def board(collection: Collection) -> Board:
    """A board with a policy and a season that is open."""
    board = Board.objects.create(
        lab=collection.lab, collection=collection, slug="small", name="Small", measures=["RR@10"], hits=100,
        types=["full ranking", "reranking"], created_at=NOW,
    )  # fmt: skip
    PolicyVersion.objects.create(board=board, number=1, text="Be fair.", begins_at=NOW, made_at=NOW, **numbers())
    Season.objects.create(board=board, number=1, name="First", opens_at=NOW)
    return board


def numbers() -> dict[str, Any]:
    """The paper's policy."""
    return {"quota_runs": 2, "quota_days": 30, "embargo_months": 9, "promised_days": 14, "alike_threshold": "0.95"}


@pytest.fixture
def submission(board: Board) -> Submission:
    """A run that a team sent."""
    team = Team.objects.create(lab=board.lab, organization="Example University", group="IR", created_at=NOW)
    return Submission.objects.create(
        board=board, season=board.seasons.get(), team=team, policy=board.policies.get(), run_id="20261101-red",
        arrived_at=NOW, type="reranking", team_words=str(team), description="A red run",
    )  # fmt: skip


def append_only(submission: Submission) -> list[models.Model]:
    """One row of each table that only grows."""
    board, now = submission.board, timezone.now()
    assert submission.team is not None and submission.policy is not None
    return [
        submission.policy,
        Score.objects.create(
            submission=submission, part="eval", measure="RR@10", fraction="1/2", value=0.5, scored_at=now
        ),
        Release.objects.create(
            submission=submission, is_shown=True, fraction="1/2", rule="plain", why="first", policy=submission.policy,
            at=now,
        ),
        Look.objects.create(
            board=board, season=submission.season, submission=submission, team=submission.team,
            organization="example university", at=now,
        ),
        Opening.objects.create(submission=submission, what="package", job="evaluate", why="to score it", at=now),
        SubmissionEvent.objects.create(submission=submission, state="received", at=now),
        Decision.objects.create(board=board, submission=submission, kind="publish", reason="fine", at=now),
        SubmissionMessage.objects.create(submission=submission, is_organizers=True, text="Hello", at=now),
    ]  # fmt: skip


def test_what_was_said_or_done_is_never_changed_or_deleted(submission: Submission) -> None:
    for row in append_only(submission):
        table = type(row)._base_manager.filter(pk=row.pk)
        field = "text" if hasattr(row, "text") else "at" if hasattr(row, "at") else "scored_at"
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            table.update(**{field: "other" if field == "text" else NOW})
        with pytest.raises(DatabaseError), transaction.atomic():
            table._raw_delete(table.db)  # type: ignore[attr-defined]
        assert table.exists()


@pytest.mark.parametrize(
    ("field", "value"), [("run_id", "20261101-blue"), ("public_id", "other"), ("arrived_at", NOW - timedelta(days=1))]
)
def test_a_submission_keeps_its_ids_and_its_arrival(submission: Submission, field: str, value: object) -> None:
    rows = Submission.objects.filter(pk=submission.pk)
    with pytest.raises(IntegrityError, match="a submission stays"), transaction.atomic():
        rows.update(**{field: value})
    with pytest.raises(IntegrityError, match="a submission stays"), transaction.atomic():
        rows._raw_delete(rows.db)  # type: ignore[attr-defined]
    rows.update(state="withdrawn", withdrawn_at=NOW)
    assert rows.get().run_id == "20261101-red"


def test_an_id_is_taken_for_ever_whatever_its_case(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(state="withdrawn", withdrawn_at=NOW)
    twin = Submission.objects.get(pk=submission.pk)
    twin.pk, twin.public_id, twin.run_id = None, "0123456789abcdef", "20261101-RED"
    with pytest.raises(IntegrityError, match="submission_id_once_for_ever"), transaction.atomic():
        twin.save(force_insert=True)
    twin.run_id = "20261101-blue"
    twin.save(force_insert=True)


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"state": "published"}, "submission_published_at_a_time"),
        ({"state": "withdrawn"}, "submission_withdrawn_at_a_time"),
        ({"team": None}, "submission_has_team_and_policy"),
        ({"policy": None}, "submission_has_team_and_policy"),
    ],
)
def test_no_state_lacks_what_it_means(submission: Submission, fields: dict[str, Any], constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Submission.objects.filter(pk=submission.pk).update(**fields)


def test_a_release_that_shows_nothing_names_the_entry_it_repeats(submission: Submission) -> None:
    with pytest.raises(IntegrityError, match="release_shows_a_score_or_names_a_reference"), transaction.atomic():
        Release.objects.create(
            submission=submission, is_shown=False, rule="ladder", why="no gain", policy=submission.policy, at=NOW
        )


def test_a_policy_acts_forward_only(board: Board) -> None:
    fields = numbers()
    with pytest.raises(IntegrityError, match="policy_acts_forward"), transaction.atomic():
        PolicyVersion.objects.create(
            board=board, number=2, text="Other.", begins_at=NOW - timedelta(days=1), made_at=NOW, **fields
        )
    later = NOW + timedelta(days=10)
    PolicyVersion.objects.create(board=board, number=2, text="Other.", begins_at=later, made_at=NOW, **fields)
    times = (NOW - timedelta(days=9), NOW, later - timedelta(seconds=1), later)
    assert [board.policy_at(at).number for at in times] == [1, 1, 1, 2]


def test_an_embargo_ends_at_midnight_utc_of_its_day(submission: Submission) -> None:
    submission.embargo_until = datetime(2027, 7, 31, tzinfo=UTC).date()
    assert submission.is_hidden(datetime(2027, 7, 30, 23, 59, 59, tzinfo=UTC))
    assert not submission.is_hidden(datetime(2027, 7, 31, tzinfo=UTC))


def test_the_audit_knows_who_changed_a_board_and_never_the_private_key(board: Board) -> None:
    board.keys.create(public_pem="public", private_sealed="most secret", fingerprint="aa:bb", made_at=NOW)
    board.keys.update(retired_at=NOW, private_sealed="more secret")
    entries = AuditEntry.objects.filter(subject__startswith="leaderboards_")
    assert {entry.lab_id for entry in entries} == {board.lab_id}
    changed = entries.get(subject="leaderboards_boardkey", action="update")
    assert changed.thing == "aa:bb" and changed.changes["private_sealed"] is None
    assert "secret" not in str([entry.changes for entry in entries])

"""Processes that are killed (SIGKILL) while they send, evaluate or publish: what they did is done again, and once."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from core.models import User
from leaderboards import evaluating, jobs, publishing, submitting, unnamed_files
from leaderboards.models import Artifact, Board, Decision, Look, Release, Score, Submission, SubmissionEvent, Team
from leaderboards.selectors import quota_of
from runs.models import Collection
from tests.killing import killed_at, started, until
from tests.leaderboards import taking_part

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_a_process")]


@pytest.fixture
def board(collection: Collection, olga: User) -> Board:
    """A board that publishes by itself."""
    now = timezone.now() - timedelta(minutes=1)
    return taking_part.make(collection, olga, at=now, auto_publish=True)


@pytest.fixture
def team(board: Board, paul: User, olga: User) -> Team:
    """Paul's team, confirmed."""
    return taking_part.team(board, paul, confirmed_by=olga)


def evaluate(submission: Submission) -> Callable[[], object]:
    """What a worker does with a submission."""
    return lambda: jobs.evaluate(submission.pk)


def taken_again(submission: Submission) -> None:
    """Nobody takes it while somebody may be at it; afterwards it is evaluated."""
    now = timezone.now()
    submission.refresh_from_db()
    assert submission.state == "evaluating"
    assert not evaluating.submission_evaluate(submission_id=submission.pk, at=now)
    later = now + evaluating.GONE + timedelta(minutes=1)
    until(lambda: evaluating.submission_evaluate(submission_id=submission.pk, at=later), "it is taken again")
    submission.refresh_from_db()


def assert_once(submission: Submission, tries: int) -> None:
    """It is published, and everything about it is there once."""
    submission.refresh_from_db()
    board, team, policy = submission.board, submission.team, submission.policy
    assert team is not None and policy is not None
    assert (submission.state, submission.tries) == ("published", tries)
    for model, count in ((Score, 2), (Artifact, 2), (Release, 1), (Look, 1), (Decision, 1)):
        assert model._default_manager.filter(submission=submission).count() == count, model.__name__
    states = SubmissionEvent.objects.filter(submission=submission).order_by("pk").values_list("state", flat=True)
    assert list(states) == ["received", "evaluating", "checked", "waiting", "published"]
    assert quota_of(team, board, policy, timezone.now()).used == 1
    assert submission.openings.filter(what="package").count() == tries, "each opening is written down"


def test_a_worker_that_is_killed_while_it_stores_scores_leaves_none(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.send(board, team, paul, at=timezone.now())
    with killed_at("leaderboards_score", evaluate(submission)):
        assert not Score.objects.exists() and not Artifact.objects.exists()
    taken_again(submission)
    assert_once(submission, tries=2)


def test_a_worker_that_is_killed_while_it_publishes_publishes_once(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.send(board, team, paul, at=timezone.now())
    with killed_at("leaderboards_look", evaluate(submission)):
        submission.refresh_from_db()
        assert submission.state == "waiting" and not Release.objects.exists()
    until(lambda: evaluating.publish_waiting(at=timezone.now()), "the clock publishes it")
    assert_once(submission, tries=1)


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    pids: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while it is read
            pids += map(int, path.read_text().split())
    return pids


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_the_process_that_evaluates_is_killed_and_another_one_does_it(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.send(board, team, paul, at=timezone.now())
    worker = started(evaluate(submission))
    try:
        until(lambda: children_of(worker.pid), "a process evaluates")
        os.kill(children_of(worker.pid)[0], signal.SIGKILL)
        worker.join(120)
        assert worker.exitcode == 0, "the worker goes on"
    finally:
        worker.kill()
        worker.join()
    submission.refresh_from_db()
    assert (submission.state, submission.tries) == ("received", 1) and submission.retry_at is not None
    assert not Score.objects.exists() and not SubmissionEvent.objects.filter(state="failed").exists()
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=submission.retry_at)
    assert_once(submission, tries=2)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_worker_that_is_killed_while_a_process_evaluates_leaves_no_process(
    board: Board, team: Team, paul: User
) -> None:
    submission = taking_part.send(board, team, paul, at=timezone.now())
    worker = started(evaluate(submission))
    until(lambda: children_of(worker.pid), "a process evaluates")
    child = children_of(worker.pid)[0]
    worker.kill()
    worker.join()
    until(lambda: not Path(f"/proc/{child}").exists(), "what it started ends by itself")
    taken_again(submission)
    assert_once(submission, tries=2)


def test_a_site_that_is_killed_while_a_run_arrives_takes_it_when_it_is_sent_again(
    board: Board, team: Team, paul: User
) -> None:
    now = timezone.now()
    run_id = f"{now:%Y%m%d}-red"
    packed = taking_part.package(board, run_id)

    def send() -> None:
        submitting.submission_send(
            board=board, team=team, run_id=run_id, package=packed, policy_number=1, by=paul, at=timezone.now()
        )

    with killed_at("leaderboards_submissionevent", send):
        assert not Submission.objects.exists()
    [left] = unnamed_files.unnamed_files(at=now + timedelta(days=2)).names
    sent = taking_part.send(board, team, paul, at=timezone.now(), sealed=packed)
    assert evaluating.submission_evaluate(submission_id=sent.pk, at=timezone.now())
    assert_once(sent, tries=1)
    assert jobs.delete_unnamed_files() == "deleted: 0" and default_storage.exists(left), "it may be at work still"
    os.utime(default_storage.path(left), (0, 0))
    for name in ("old.sealed", "new.sealed"):
        default_storage.save(f"boards/packages/{name}", ContentFile(b"x"))
    os.utime(default_storage.path("boards/packages/old.sealed"), (0, 0))
    assert jobs.delete_unnamed_files() == "deleted: 2"
    assert not default_storage.exists(left) and default_storage.exists("boards/packages/new.sealed")
    sent.refresh_from_db()
    assert default_storage.exists(str(sent.package.name)) and all(
        default_storage.exists(str(file.name)) for row in sent.artifacts.all() for file in (row.file, row.top)
    )

    # With another database, nothing goes.
    for number in range(30):
        old = default_storage.save(f"boards/artifacts/{number}/dev.sealed", ContentFile(b"x"))
        os.utime(default_storage.path(old), (0, 0))
    with pytest.raises(RuntimeError, match="is this their database"):
        jobs.delete_unnamed_files()
    assert default_storage.exists(old)


def test_a_site_that_is_killed_while_an_organizer_publishes_publishes_once(
    collection: Collection, paul: User, olga: User
) -> None:
    board = taking_part.make(collection, olga, at=timezone.now() - timedelta(minutes=1))
    team = taking_part.team(board, paul, confirmed_by=olga)
    submission = taking_part.evaluated(board, team, paul, at=timezone.now())

    def publish() -> None:
        publishing.submission_publish(submission=submission, reason="Fine", by=olga, at=timezone.now())

    with killed_at("leaderboards_look", publish):
        assert not Release.objects.exists() and not Decision.objects.filter(submission=submission).exists()
    publish()
    assert_once(submission, tries=1)

"""Evaluating: what a participant learns, what the release rule shows, and that nothing is lost or counted twice."""

import bz2
import json
import subprocess
import sys
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import User
from core.sealing import seal, seal_bytes
from evaluation.boards.evaluating import Message, evaluate
from evaluation.boards.sealing import new_key
from evaluation.boards.sealing import seal as seal_package
from leaderboards import artifacts, evaluating, jobs, metadata, publishing, submitting, teams
from leaderboards.evaluating import Limits
from leaderboards.models import (
    Artifact,
    Board,
    DevScoring,
    FormerMember,
    Look,
    Opening,
    Score,
    Submission,
    SubmissionEvent,
    Team,
    TeamMember,
)
from leaderboards.selectors import looks_of, quota_of, teams_alike
from tests import factories
from tests.leaderboards import taking_part
from tests.leaderboards.taking_part import DAY, NOW
from tests.rows import fresh

pytestmark = pytest.mark.django_db


def states(submission: Submission) -> list[str]:
    """The states that it came into, in order."""
    return list(SubmissionEvent.objects.filter(submission=submission).order_by("pk").values_list("state", flat=True))


@pytest.mark.usefixtures("in_a_process")
def test_an_evaluation_scores_both_runs_and_keeps_their_tops_sealed(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.evaluated(board, team, paul, hits=3)
    assert states(submission) == ["received", "evaluating", "checked", "waiting"]
    assert dict(submission.scores.values_list("part", "fraction")) == {"dev": "3/4", "eval": "3/4"}
    score = submission.scores.get(part="eval")
    values = artifacts.per_query(score)
    assert values is not None and values.tolist() == [1, 1, 1, 0]
    run = artifacts.load(submission, "eval")
    assert run is not None and run.top("rank")["e1"] == ("ep1",)
    for file in (Artifact.objects.get(part="eval").file, score.per_query):
        assert b"ep1" not in default_storage.open(str(file.name)).read()
    assert submission.description == taking_part.METADATA["model_description"]
    [opening] = submission.openings.all()
    assert (opening.what, opening.job, opening.by) == ("package", evaluating.JOB, None)


def test_an_ir_metadata_header_is_kept_for_team_and_organizers_alone(
    board: Board, team: Team, paul: User, olga: User, client: Client
) -> None:
    header = "# ir_metadata.start\n# platform:\n#   hardware:\n#     gpu: A100 <b>\n# ir_metadata.end\n"
    submission = taking_part.published(board, team, paul, olga, hits=3, header=header)
    assert dict(submission.scores.values_list("part", "fraction")) == {"dev": "3/4", "eval": "3/4"}
    page = reverse("leaderboards:submission", args=[submission.public_id])
    for user in (paul, olga):
        client.force_login(user)
        text = client.get(page).text
        assert "Metadata in the dev run" in text and "A100 &lt;b&gt;" in text and "the eval run" not in text
    client.logout()
    entry = client.get(reverse("boards:entry", args=[board.slug, submission.public_id]))
    assert entry.status_code == 200 and "A100" not in entry.text


def test_it_is_evaluated_once_however_many_try(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.evaluated(board, team, paul)
    assert not evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    assert evaluating.submissions_waiting(at=NOW + DAY) == []
    assert submission.scores.count() == 2


def broken_package(board: Board, files: dict[str, bytes]) -> bytes:
    """A package whose content cannot be evaluated."""
    return seal_package(files, to=board.keys.get().public_pem, board=board.slug, run_id="20261101-red")


@pytest.mark.usefixtures("in_a_process")
def test_a_run_with_errors_is_refused_with_its_lines_and_uses_no_quota(board: Board, team: Team, paul: User) -> None:
    files = {"metadata.json": b'{"team": "Red", "model_description": "x", "type": "full ranking"}'}
    files |= {"dev.txt": b"d1\tp\t1\nd1\tp\t2\n", "eval.txt": taking_part.run(taking_part.EVAL, 1).encode()}
    submission = taking_part.evaluated(board, team, paul, sealed=broken_package(board, files))
    assert submission.state == "refused" and not submission.scores.exists() and not Artifact.objects.exists()
    assert any("dev.txt, line 2" in sentence for sentence in submission.diagnostics["sentences"])
    assert "dev.txt, line 2" in submission.events.get(state="refused").note
    assert quota_of(team, board, board.policies.get(), NOW).used == 0


def test_what_the_participant_is_told_says_nothing_of_the_hidden_qrels(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.evaluated(board, team, paul, hits=3)
    text = str(submission.diagnostics) + str(list(submission.events.values()))
    assert "ep1" not in text and "3/4" not in text and "0.75" not in text


@pytest.mark.usefixtures("in_a_process")
def test_too_little_memory_fails_after_three_tries_and_can_be_tried_again(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    submission = taking_part.send(board, team, paul)
    at = NOW
    for attempt in range(1, 4):
        assert evaluating.submissions_waiting(at=at) == [submission.pk]
        evaluating.submission_evaluate(submission_id=submission.pk, at=at, limits=Limits(60, 40))
        submission.refresh_from_db()
        assert submission.state == ("failed" if attempt == 3 else "received")
        assert evaluating.submissions_waiting(at=at) == []
        at += timedelta(hours=1)
    assert "used no quota" in submission.events.get(state="failed").note
    assert submission.openings.count() == 3
    publishing.submission_reevaluate(submission=submission, reason="More memory now", by=olga, at=at)
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=at)
    assert fresh(submission).state == "waiting"


def test_a_job_that_is_killed_while_evaluating_leaves_nothing_and_is_done_again(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = taking_part.send(board, team, paul)

    def die(*_arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(evaluating, "answer_of", die)
        with pytest.raises(KeyboardInterrupt):
            evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    submission.refresh_from_db()
    assert submission.state == "evaluating" and evaluating.submissions_waiting(at=NOW + timedelta(minutes=1)) == []
    later = NOW + evaluating.GONE + timedelta(seconds=1)
    assert evaluating.submissions_waiting(at=later) == [submission.pk]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Score, "save", die)
        evaluating.submission_evaluate(submission_id=submission.pk, at=later)
    assert not Artifact.objects.exists() and not Score.objects.exists()
    _folders, files = default_storage.listdir("boards")
    assert [name for folder in default_storage.listdir("boards/artifacts")[0] for name in
            default_storage.listdir(f"boards/artifacts/{folder}")[1]] == [] and files == []  # fmt: skip
    much_later = later + evaluating.GONE + timedelta(seconds=1)
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=much_later)
    submission.refresh_from_db()
    assert (submission.state, submission.tries, submission.scores.count()) == ("waiting", 3, 2)


@pytest.mark.usefixtures("in_a_process")
def test_a_process_that_is_killed_gives_no_answer_and_the_submission_another_try(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = taking_part.send(board, team, paul)
    run = subprocess.run

    def killed(command: list[str], **named: Any) -> subprocess.CompletedProcess[bytes]:
        shell = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
        return run(shell, **named)

    monkeypatch.setattr(evaluating.subprocess, "run", killed)
    evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    submission.refresh_from_db()
    assert submission.state == "received" and submission.retry_at is not None
    assert timedelta() <= submission.retry_at - NOW - evaluating.PAUSES.first < timedelta(minutes=1), "from its end on"


def test_an_answer_that_comes_too_late_changes_nothing(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = taking_part.send(board, team, paul)
    answer_of, later = evaluating.answer_of, NOW + evaluating.GONE + timedelta(seconds=1)

    def slow(request: Message, limits: Limits) -> Message:
        with monkeypatch.context() as patch:
            patch.setattr(evaluating, "answer_of", answer_of)
            evaluating.submission_evaluate(submission_id=submission.pk, at=later)
        return answer_of(request, limits)

    monkeypatch.setattr(evaluating, "answer_of", slow)
    evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    submission.refresh_from_db()
    assert (submission.state, submission.begun_at, submission.scores.count()) == ("waiting", later, 2)


@pytest.mark.usefixtures("in_a_process")
def test_a_key_that_is_lost_fails_with_the_reason(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.send(board, team, paul)
    board.keys.update(private_sealed=seal(new_key().private_pem))
    evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    submission.refresh_from_db()
    assert submission.state == "refused" and "sealed for the keys" in submission.diagnostics["sentences"][0]


def test_one_that_cannot_be_evaluated_stops_no_other(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (taking_part.send(board, team, paul, name) for name in ("one", "two"))
    default_storage.delete(str(first.package.name))
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    assert jobs.evaluate() == "evaluated: 2"
    first.refresh_from_db(), second.refresh_from_db()
    assert (first.state, second.state) == ("received", "waiting")


# --- publishing, under the release rule


@pytest.mark.parametrize("value", ["NaN", '"\\u0000"', '"\\ud800"'])
@pytest.mark.usefixtures("in_a_process")
def test_what_the_database_refuses_ends_in_words_and_not_in_silence(
    board: Board, team: Team, paul: User, value: str
) -> None:
    extra = json.dumps(taking_part.METADATA)[:-1] + f', "odd": {value}' + "}"
    files = {
        "metadata.json": extra.encode(),
        "dev.txt.bz2": bz2.compress(taking_part.run(taking_part.DEV, 2).encode()),
        "eval.txt.bz2": bz2.compress(taking_part.run(taking_part.EVAL, 2).encode()),
    }
    submission = taking_part.send(board, team, paul, sealed=broken_package(board, files))
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    submission.refresh_from_db()
    assert submission.state == "refused"
    assert "is needed" in " ".join(submission.diagnostics["sentences"])
    assert not submission.scores.exists()


def test_what_nobody_thought_of_fails_after_three_tries_in_words(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = taking_part.send(board, team, paul)

    def break_down(*_arguments: object) -> None:
        raise RuntimeError("of the storage")

    monkeypatch.setattr("leaderboards.evaluating.answer_of", break_down)
    for number in range(evaluating.TRIES):
        assert evaluating.submission_evaluate(submission_id=submission.pk, at=NOW + number * DAY)
    submission.refresh_from_db()
    note = SubmissionEvent.objects.filter(submission=submission).latest("pk").note
    assert submission.state == "failed" and "at this site" in note and "storage" not in note
    assert not evaluating.submission_evaluate(submission_id=submission.pk, at=NOW + 9 * DAY)


def test_nobody_publishes_the_run_of_their_own_team_but_a_baseline(board: Board, olga: User) -> None:
    team = taking_part.team(board, olga, "Organizers", confirmed_by=olga)
    submission = taking_part.evaluated(board, team, olga)
    with pytest.raises(NotNow, match="another organizer decides"):
        publishing.submission_publish(submission=submission, reason="Fine", by=olga, at=NOW)
    submission.refresh_from_db()
    assert submission.state == "waiting" and not Look.objects.exists()
    publishing.submission_mark(submission=submission, is_baseline=True, reason="Ours", by=olga, at=NOW)
    publishing.submission_publish(submission=submission, reason="Fine", by=olga, at=NOW)
    assert fresh(submission).state == "published"


def test_a_damaged_run_of_another_entry_stops_no_evaluation(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = taking_part.evaluated(board, team, paul, "one")
    same = taking_part.evaluated(board, team, paul, "same")
    row = Artifact.objects.get(submission=first, part="eval")
    default_storage.delete(row.file.name)
    assert default_storage.save(row.file.name, ContentFile(seal_bytes(b"no artifact"))) == row.file.name
    second = taking_part.evaluated(board, team, paul, "two", NOW + 40 * DAY)
    assert second.state == "waiting" and [match["keys"] for match in second.alike] == [[str(same.pk)]]

    def away(*_arguments: object) -> bytes:
        raise ValueError("no file")

    monkeypatch.setattr("leaderboards.artifacts.content", away)
    third = taking_part.evaluated(board, team, paul, "three", NOW + 41 * DAY)
    assert (third.state, third.alike) == ("waiting", [])


@pytest.mark.usefixtures("in_a_process")
def test_runs_are_compared_some_at_a_time_in_processes_with_limits(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "ALIKE_AT_ONCE", 2)
    with monkeypatch.context() as patch:
        patch.setattr(evaluating, "answer_of", lambda request, _limits: evaluate(request))
        sent = [taking_part.evaluated(board, team, paul, f"run{number}", NOW + 20 * number * DAY, hits=number % 4)
                for number in range(3)]  # fmt: skip
    requests: list[tuple[str, int]] = []
    answer_of = evaluating.answer_of

    def counted(request: Message, limits: Limits) -> Message:
        requests.append((request.values["kind"], len(request.blobs)))
        return answer_of(request, limits)

    monkeypatch.setattr(evaluating, "answer_of", counted)
    twin = taking_part.evaluated(board, team, paul, "twin", NOW + 60 * DAY, hits=1)
    assert requests[1:] == [("alike", 3), ("alike", 2), ("fusion", 4)], "the run itself, and two others at most"
    assert twin.alike[0] == {"keys": [str(sent[1].pk)], "method": "", "similarity": 1}
    monkeypatch.setattr(evaluating, "ALIKE", Limits(seconds=60, megabytes=20))
    late = taking_part.evaluated(board, team, paul, "late", NOW + 80 * DAY, hits=1)
    assert (late.state, late.alike) == ("waiting", []), "what takes too much is left out, and stops nothing"


def test_a_run_that_waits_while_its_team_is_merged_is_compared_with_the_other_teams_best(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    second = taking_part.team(board, paul, "Blue")  # nobody has confirmed it
    best = taking_part.published(board, team, paul, olga, "one", hits=3)
    waiting = taking_part.evaluated(board, second, paul, "two", NOW + DAY, hits=2)
    teams.teams_merge(team=second, into=team, board=board, reason="One hand", by=olga, at=NOW + DAY)
    waiting.refresh_from_db()
    outcome = publishing.submission_publish(submission=waiting, reason="Fine", by=olga, at=NOW + 2 * DAY)
    assert outcome.reference == best and not outcome.is_shown
    assert Look.objects.get(submission=waiting).team == team


def test_only_a_confirmed_team_is_published(board: Board, paul: User, olga: User) -> None:
    team = taking_part.team(board, paul)
    submission = taking_part.evaluated(board, team, paul)
    with pytest.raises(NotNow, match="Confirm the team"), transaction.atomic():
        publishing.submission_publish(submission=submission, reason="Fine", by=olga, at=NOW)
    assert not Look.objects.exists() and not submission.decisions.exists()


def test_the_first_score_is_shown_and_no_gain_repeats_the_teams_own_best(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    first = taking_part.published(board, team, paul, olga, "one", hits=3)
    assert (first.release.is_shown, first.release.fraction, first.release.reference) == (True, "3/4", None)
    second = taking_part.published(board, team, paul, olga, "two", hits=4)
    assert (second.release.is_shown, second.release.fraction, second.release.reference) == (False, "", first)
    text = " ".join(second.events.values_list("note", flat=True)) + second.release.why
    assert "4/4" not in text and "1/1" not in text and "no gain" in text
    assert looks_of(team, board.seasons.get()) == (2, 2, 2)
    assert [row.what for row in second.openings.order_by("pk")] == ["package", "per_query"]
    other = taking_part.team(board, factories.user("vera"), "Green", confirmed_by=olga)
    assert looks_of(other, board.seasons.get()) == (0, 2, 0), "an organization's teams are counted together"


def test_under_the_plain_rule_every_score_is_shown(board_plain: Board, paul: User, olga: User) -> None:
    team = taking_part.team(board_plain, paul, confirmed_by=olga)
    scores = [taking_part.published(board_plain, team, paul, olga, name, hits=hits).release.fraction
             for name, hits in (("one", 3), ("two", 1))]  # fmt: skip
    assert scores == ["3/4", "1/4"]


@pytest.fixture
def board_plain(collection: Any, olga: User) -> Board:
    """A board that shows every score, and publishes by itself."""
    return taking_part.make(collection, olga, release_rule="plain")


def test_a_board_that_publishes_by_itself_waits_for_the_team_to_be_confirmed(
    collection: Any, paul: User, olga: User
) -> None:
    board = taking_part.make(collection, olga, auto_publish=True)
    team = taking_part.team(board, paul)
    first = taking_part.evaluated(board, team, paul, "one")
    assert first.state == "waiting"
    jobs.evaluate()
    assert fresh(first).state == "waiting"
    teams_confirmed = taking_part.teams.team_confirm(team=team, board=board, reason="Known", by=olga, at=NOW)
    submission = taking_part.evaluated(board, teams_confirmed, paul, "two")
    assert (submission.state, submission.decisions.get().by) == ("published", None)
    jobs.evaluate()
    assert fresh(first).state == "published"
    second = taking_part.team(board, paul, "Blue", confirmed_by=olga)
    another_first = taking_part.evaluated(board, second, paul, "three", hits=3)
    assert (another_first.state, another_first.release.is_shown) == ("published", False), "paul has seen scores"
    third = taking_part.team(board, factories.user("vera"), "Green", confirmed_by=olga)
    of_organization = taking_part.evaluated(board, third, third.members.get().user, "four", hits=3)
    assert of_organization.state == "waiting", "the organization has seen scores: somebody looks first"


def test_a_first_score_is_free_once_for_each_person_and_not_once_for_each_team(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    best = taking_part.published(board, team, paul, olga, "one", hits=3)
    second = taking_part.team(board, paul, "Blue", confirmed_by=olga)
    again = taking_part.published(board, second, paul, olga, "two", hits=4)
    assert (again.release.is_shown, again.release.fraction, again.release.reference) == (False, "", best)
    third_look = taking_part.published(board, second, paul, olga, "four", NOW + 40 * DAY, hits=2)
    assert "look 2" in third_look.release.why, "paul's look with the other team counts"
    vera = factories.user("vera")
    third = taking_part.team(board, vera, "Green", confirmed_by=olga)
    free = taking_part.published(board, third, vera, olga, "three", hits=4)
    assert (free.release.is_shown, free.release.reference) == (True, None), "vera has had no look"


def test_who_leaves_a_team_takes_its_looks_along_into_the_next(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    vera, now = factories.user("vera"), timezone.now()
    TeamMember.objects.create(team=team, user=vera, joined_at=NOW)
    best = taking_part.published(board, team, paul, olga, "one", hits=3)
    teams.team_leave(team=team, user=vera, at=now)
    later = taking_part.published(board, team, paul, olga, "later", now + DAY, hits=2)
    second = taking_part.team(board, vera, "Blue", confirmed_by=olga)
    assert looks_of(second, best.season) == (0, 2, 1), "vera was away when the other run was sent"
    [alike] = teams_alike(board)
    assert {alike.first, alike.second} == {team, second} and "vera" in alike.why

    # A straw man sends the run, and vera leaves before it is published.
    straw = factories.user("straw")
    TeamMember.objects.create(team=second, user=straw, joined_at=NOW)
    sent = taking_part.evaluated(board, second, straw, "two", now + DAY, hits=4)
    teams.team_leave(team=second, user=vera, at=now + 2 * DAY)
    release = publishing.submission_publish(submission=sent, reason="Fine", by=olga, at=now + 2 * DAY)
    assert (release.is_shown, release.reference) == (False, best), "no first score is free for vera's new team"
    assert looks_of(second, best.season, since=best).person == 1

    # Whoever was never with them is not touched by it, and leaving twice changes nothing.
    teams.team_leave(team=second, user=vera, at=now + 3 * DAY)
    assert FormerMember.objects.filter(user=vera).count() == 2
    nina = factories.user("nina")
    third = taking_part.team(board, nina, "Green", confirmed_by=olga)
    free = taking_part.published(board, third, nina, olga, "three", now + DAY, hits=4)
    assert (free.release.is_shown, free.release.reference) == (True, None)
    assert later.release.reference == best


def test_a_look_counts_whatever_its_clock_said(board: Board, team: Team, paul: User, olga: User) -> None:
    first = taking_part.evaluated(board, team, paul, "one", hits=3)
    publishing.submission_publish(submission=first, reason="Fine", by=olga, at=NOW + 2 * DAY)
    second = taking_part.evaluated(board, team, paul, "two", hits=2)
    publishing.submission_publish(submission=second, reason="Fine", by=olga, at=NOW + DAY)  # by a clock that is behind
    first.refresh_from_db()
    assert looks_of(team, first.season, since=first) == (1, 1, 1)


@pytest.mark.usefixtures("in_a_process")
def test_the_end_of_an_evaluation_is_its_end_and_not_its_beginning(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.evaluated(board, team, paul)
    assert submission.begun_at == NOW and submission.evaluated_at == submission.waiting_since
    assert submission.evaluated_at is not None and submission.evaluated_at > NOW + timedelta(milliseconds=100)
    assert submission.events.get(state="waiting").at == submission.waiting_since


def test_publishing_twice_is_refused_and_counts_one_look(board: Board, team: Team, paul: User, olga: User) -> None:
    submission = taking_part.published(board, team, paul, olga)
    with pytest.raises(NotNow), transaction.atomic():
        publishing.submission_publish(submission=submission, reason="Again", by=olga, at=NOW)
    assert Look.objects.count() == 1 and submission.decisions.count() == 1


@pytest.mark.parametrize("act", ["publish", "reject", "flag"])
def test_every_decision_has_a_reason(board: Board, team: Team, paul: User, olga: User, act: str) -> None:
    submission = taking_part.evaluated(board, team, paul)
    if act == "flag":
        publishing.submission_publish(submission=submission, reason="Fine", by=olga, at=NOW)
    named: dict[str, Any] = {"flag": "An ensemble"} if act == "flag" else {}
    service = getattr(publishing, f"submission_{act}")
    with pytest.raises(Refused, match="Say why"), transaction.atomic():
        service(submission=submission, reason=" ", by=olga, at=NOW, **named)
    service(submission=submission, reason="Because", by=olga, at=NOW, **named)
    assert submission.decisions.latest("pk").reason == "Because"


def test_an_embargo_is_extended_before_it_ends_and_never_after(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    submission = taking_part.published(board, team, paul, olga, embargo_until="2027/07/31")
    assert submission.embargo_until == date(2027, 7, 31)
    last = datetime(2027, 7, 30, 23, 59, 59, tzinfo=NOW.tzinfo)
    with pytest.raises(NotNow, match="cannot be hidden again"):
        publishing.embargo_extend(
            submission=submission, until=date(2028, 1, 1), reason="Review", by=olga, at=last + timedelta(seconds=1)
        )
    with pytest.raises(Refused, match="ends later"):
        publishing.embargo_extend(submission=submission, until=date(2027, 7, 31), reason="Review", by=olga, at=last)
    publishing.embargo_extend(submission=submission, until=date(2027, 9, 1), reason="Review", by=olga, at=last)
    assert submission.is_hidden(last + DAY) and submission.decisions.get(kind="extend").details["after"] == "2027-09-01"


def test_metadata_change_by_request_with_history_and_a_teams_name_never_tells_more_afterwards(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    submission = taking_part.published(board, team, paul, olga)

    def ask(kind: str, **after: str) -> Any:
        return metadata.request_add(submission=submission, kind=kind, after=after, why="Please", by=paul, at=NOW)

    def decide(request: Any, accept: bool = True, override: bool = False) -> None:
        metadata.request_decide(request=request, accept=accept, override=override, reason="So", by=olga, at=NOW)

    decide(ask("links", paper="arxiv.org/abs/1"))
    submission.refresh_from_db()
    assert submission.paper == "https://arxiv.org/abs/1"
    with pytest.raises(Refused, match="more than a typo"):
        ask("typo", description="Something else entirely")
    with pytest.raises(Refused, match="Nothing would change"):
        ask("team", team_words=submission.team_words)
    longer = ask("team", team_words="Red of Example University, Famous Lab")
    with pytest.raises(NotNow, match="open still"):
        ask("typo", description="A red ran")
    with pytest.raises(Refused, match="tell more"), transaction.atomic():
        decide(longer)
    decide(longer, override=True)
    decide(ask("team", team_words="Example University"))
    submission.refresh_from_db()
    assert submission.team_words == "Example University"
    requests = submission.metadata_requests.order_by("pk").values_list("state", "before", "after")
    assert [state for state, _before, _after in requests] == ["accepted"] * 3
    assert requests[0][1:] == ({"paper": ""}, {"paper": "https://arxiv.org/abs/1"})


@pytest.mark.usefixtures("in_a_process")
def test_dev_runs_are_scored_at_will_without_an_entry(board: Board, paul: User) -> None:
    season = board.seasons.get()
    for name, hits in (("a", 1), ("b", 4)):
        content = taking_part.run(taking_part.DEV, hits).encode()
        row = submitting.dev_scoring_ask(season=season, name=name, content=content, by=paul, at=NOW)
        assert evaluating.dev_scoring_do(scoring_id=row.pk, at=NOW)
        assert not evaluating.dev_scoring_do(scoring_id=row.pk, at=NOW)
    bad = submitting.dev_scoring_ask(season=season, name="c.txt", content=b"d1 p\n", by=paul, at=NOW)
    evaluating.dev_scoring_do(scoring_id=bad.pk, at=NOW)
    rows = DevScoring.objects.order_by("pk")
    assert [(row.state, row.scores.get("RR@10")) for row in rows] == [
        ("done", "1/4"),
        ("done", "1/1"),
        ("refused", None),
    ]
    assert "c.txt, line 1" in rows[2].diagnostics["sentences"][1]
    assert not any(row.file for row in rows) and not board.submissions.exists()


def test_six_dev_runs_of_one_person_do_not_wait_at_once(board: Board, paul: User) -> None:
    season = board.seasons.get()
    for _number in range(5):
        submitting.dev_scoring_ask(season=season, name="a", content=b"x", by=paul, at=NOW)
    with pytest.raises(NotNow, match="Five of your runs"):
        submitting.dev_scoring_ask(season=season, name="a", content=b"x", by=paul, at=NOW)


def test_what_is_opened_is_written_down_before_it_is(
    board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = taking_part.send(board, team, paul)
    counts: list[int] = []

    def look(*_arguments: Any) -> None:
        counts.append(Opening.objects.filter(submission=submission).count())
        raise evaluating.ProcessFailed("no")

    monkeypatch.setattr(evaluating, "answer_of", look)
    evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    assert counts == [1]

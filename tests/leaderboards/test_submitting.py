"""Sending runs: every line of the policy, with the clock moved."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage

from core.errors import NotNow, NotYours, Refused
from core.models import User
from evaluation.boards.sealing import new_key
from leaderboards import boards as board_services
from leaderboards import evaluating, publishing, submitting, teams
from leaderboards.models import Board, Submission, SubmissionEvent, Team
from leaderboards.selectors import quota_of, submission_for, teams_alike
from leaderboards.submitting import QuotaUsed
from tests import factories
from tests.leaderboards import taking_part
from tests.leaderboards.taking_part import DAY, NOW

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


def states(submission: Submission) -> list[str]:
    """The states that it came into, in order."""
    return list(SubmissionEvent.objects.filter(submission=submission).order_by("pk").values_list("state", flat=True))


def test_a_run_is_sealed_at_rest_and_waits_for_its_evaluation(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.send(board, team, paul)
    assert (submission.state, submission.arrived_at, submission.policy) == ("received", NOW, board.policies.get())
    stored = default_storage.open(str(submission.package.name)).read()
    assert stored.startswith(b"BKSEAL") and b"question" not in stored
    assert states(submission) == ["received"]


def test_two_runs_in_any_thirty_days_and_the_third_when_the_first_is_thirty_days_old(
    board: Board, team: Team, paul: User
) -> None:
    taking_part.send(board, team, paul, "one", NOW)
    taking_part.send(board, team, paul, "two", NOW + 10 * DAY)
    with pytest.raises(QuotaUsed, match=r"2 of 2 runs in 30 days\. The next can be sent from 01 Dec 2026, 12:00 UTC"):
        taking_part.send(board, team, paul, "three", NOW + 30 * DAY - SECOND)
    assert board.submissions.count() == 2
    taking_part.send(board, team, paul, "three", NOW + 30 * DAY)
    with pytest.raises(QuotaUsed, match="11 Dec 2026"):
        taking_part.send(board, team, paul, "four", NOW + 30 * DAY)


def test_the_quota_goes_by_arrival_and_not_by_the_date_in_the_id(board: Board, team: Team, paul: User) -> None:
    for name, at in (("one", NOW), ("two", NOW)):
        run_id = f"{at + DAY:%Y%m%d}-{name}"
        sealed = taking_part.package(board, run_id)
        submitting.submission_send(
            board=board, team=team, run_id=run_id, package=sealed, policy_number=1, by=paul, at=at
        )
    policy = board.policies.get()
    assert quota_of(team, board, policy, NOW + 30 * DAY - SECOND).free == 0
    assert quota_of(team, board, policy, NOW + 30 * DAY).free == 2


@pytest.mark.parametrize("state", ["refused", "failed", "canceled"])
def test_a_failed_or_canceled_evaluation_uses_no_quota(board: Board, team: Team, paul: User, state: str) -> None:
    for name in ("one", "two"):
        submission = taking_part.send(board, team, paul, name)
        Submission.objects.filter(pk=submission.pk).update(state=state)
    taking_part.send(board, team, paul, "three")


def test_canceled_runs_end_somewhere_too(board: Board, team: Team, paul: User) -> None:
    for number in range(submitting.ARRIVALS_A_DAY):
        submission = taking_part.send(board, team, paul, f"run-{number}", NOW + number * timedelta(minutes=1))
        submitting.submission_cancel(submission=submission, by=paul, at=NOW)
    with pytest.raises(QuotaUsed, match=r"10 runs in 24 hours, .* from 02 Nov 2026, 12:00 UTC on"):
        taking_part.send(board, team, paul, "more", NOW + timedelta(hours=1))
    taking_part.send(board, team, paul, "more", NOW + timedelta(days=1, seconds=1))


def test_one_person_founds_five_teams_before_any_is_confirmed(board: Board, paul: User, olga: User) -> None:
    for number in range(teams.UNCONFIRMED_OF_ONE):
        last = taking_part.team(board, paul, f"Group {number}")
    with pytest.raises(Refused, match="have not confirmed yet"):
        taking_part.team(board, paul, "One more")
    teams.team_confirm(team=last, board=board, reason="I know them", by=olga, at=NOW)
    taking_part.team(board, paul, "One more")


@pytest.mark.parametrize("state", ["rejected", "withdrawn", "published"])
def test_nothing_else_gives_a_run_back(board: Board, team: Team, paul: User, state: str) -> None:
    for name in ("one", "two"):
        submission = taking_part.send(board, team, paul, name)
        Submission.objects.filter(pk=submission.pk).update(state=state, published_at=NOW, withdrawn_at=NOW)
    with pytest.raises(QuotaUsed):
        taking_part.send(board, team, paul, "three")


def test_another_team_has_a_quota_of_its_own_until_they_are_merged(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    second = taking_part.team(board, paul, "Blue")
    for name in ("one", "two"):
        taking_part.send(board, team, paul, name)
    taking_part.send(board, second, paul, "three")
    [alike] = teams_alike(board)
    assert {alike.first, alike.second} == {team, second} and "paul" in alike.why
    teams.teams_merge(team=team, into=second, board=board, reason="One hand", by=olga, at=NOW)
    with pytest.raises(QuotaUsed, match="3 of 2"):
        taking_part.send(board, second, paul, "four")
    team.refresh_from_db()
    with pytest.raises(NotNow, match="cannot submit for this team"):
        taking_part.send(board, team, paul, "five")


def test_an_exemption_by_the_organizer_adds_a_run_for_thirty_days(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    for name in ("one", "two"):
        taking_part.send(board, team, paul, name)
    teams.team_exempt(team=team, board=board, runs=1, reason="Their server was down", by=olga, at=NOW)
    taking_part.send(board, team, paul, "three")
    with pytest.raises(QuotaUsed):
        taking_part.send(board, team, paul, "four")


@pytest.mark.parametrize(
    ("run_id", "text"),
    [
        ("20261030-red", "more than one day from today"),
        ("20261103-red", "more than one day from today"),
        ("20261301-red", "which is no date"),
        ("red", "yyyymmdd-name"),
        ("20261101-", "yyyymmdd-name"),
        ("20261101-réd", "yyyymmdd-name"),
        ("20261101-" + "x" * 41, "yyyymmdd-name"),
    ],
)
def test_an_id_is_a_date_within_a_day_and_a_name(board: Board, team: Team, paul: User, run_id: str, text: str) -> None:
    with pytest.raises(Refused, match=text):
        submitting.submission_send(
            board=board, team=team, run_id=run_id, package=taking_part.package(board, run_id), policy_number=1, by=paul,
            at=NOW,
        )  # fmt: skip
    assert not board.submissions.exists()


def test_an_id_stays_taken_whatever_becomes_of_the_run(board: Board, team: Team, paul: User) -> None:
    submission = taking_part.send(board, team, paul)
    submitting.submission_cancel(submission=submission, by=paul, at=NOW)
    with pytest.raises(Refused, match="is taken"):
        taking_part.send(board, team, paul, "RED")


@pytest.mark.parametrize(
    ("sealed", "text"),
    [
        (lambda board: taking_part.package(board, "20261101-blue"), "sealed for “20261101-blue”"),
        (lambda board: taking_part.package(board, "20261101-red")[:30], "cut within its header"),
        (lambda board: taking_part.package(board, "20261101-red")[:-1], "cut or damaged on its way"),
        (lambda board: b"PK\x03\x04 not sealed", "begin with BKSEAL"),
        (lambda board: taking_part.package(board, "20261101-red", key=new_key().public_pem), "sealed for another key"),
    ],
)
def test_a_package_for_something_else_is_refused_before_anything_is_stored(
    board: Board, team: Team, paul: User, sealed: Any, text: str
) -> None:
    with pytest.raises(Refused, match=text):
        taking_part.send(board, team, paul, sealed=sealed(board))
    assert not board.submissions.exists()


def test_a_package_cannot_be_replayed_by_another_team(board: Board, team: Team, paul: User) -> None:
    mallory = factories.user("mallory")
    other = taking_part.team(board, mallory, "Green")
    sealed = taking_part.package(board, "20261101-red")
    taking_part.send(board, team, paul, sealed=sealed)
    with pytest.raises(Refused, match="is taken"):
        taking_part.send(board, other, mallory, sealed=sealed)
    with pytest.raises(Refused, match="sealed for “20261101-red”"):
        taking_part.send(board, other, mallory, "mine", sealed=sealed)


def test_a_retired_key_still_opens_what_was_sealed_for_it(board: Board, team: Team, paul: User, olga: User) -> None:
    old = board.keys.get()
    sealed = taking_part.package(board, "20261101-red")
    board_services.key_make(board=board, by=olga, at=NOW)
    submission = taking_part.evaluated(board, team, paul, sealed=sealed)
    assert (submission.key, submission.state) == (old, "waiting")
    assert taking_part.evaluated(board, team, paul, "blue").key == board.keys.get(retired_at=None)


def test_a_policy_that_changed_since_it_was_read_has_to_be_accepted_anew(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    later = NOW + DAY
    board_services.policy_add(
        board=board, text="Stricter.", numbers=board_services.NUMBERS | {"quota_runs": 1}, begins_at=later,
        why="Too many runs", by=olga, at=NOW,
    )  # fmt: skip
    taking_part.send(board, team, paul, "one")
    run_id = f"{later:%Y%m%d}-two"
    with pytest.raises(NotNow, match="version 2 now"):
        submitting.submission_send(
            board=board, team=team, run_id=run_id, package=taking_part.package(board, run_id), policy_number=1, by=paul,
            at=later,
        )  # fmt: skip
    with pytest.raises(QuotaUsed, match="1 of 1 run in 30 days"):
        taking_part.send(board, team, paul, "two", later)


def test_plain_files_are_sealed_by_the_server_at_once(board: Board, team: Team, paul: User) -> None:
    submission = submitting.submission_seal(
        board=board, team=team, run_id="20261101-red", metadata=taking_part.METADATA,
        dev=taking_part.run(taking_part.DEV, 4).encode(),
        evaluated=taking_part.run(taking_part.EVAL, 1).encode(), policy_number=1, by=paul, at=NOW,
    )  # fmt: skip
    names = [name for name in _all_files() if b"xe1-2" in default_storage.open(name).read()]
    assert names == [], "no run is stored in the clear"
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=NOW)
    scores = dict(submission.scores.values_list("part", "fraction"))
    assert scores == {"dev": "1/1", "eval": "1/4"}


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"type": "other"}, "type"),
        ({"team": "Anonymous"}, "team is"),
        ({"embargo_until": "2027/08/01"}, "2027/07/31 is the latest"),
        ({"paper": "javascript:alert(1)"}, "http"),
    ],
)
def test_metadata_with_errors_are_refused_before_anything_is_stored(
    board: Board, team: Team, paul: User, metadata: dict[str, str], text: str
) -> None:
    with pytest.raises(Refused, match=text):
        submitting.submission_seal(
            board=board, team=team, run_id="20261101-red", metadata=taking_part.METADATA | metadata,
            dev=b"", evaluated=b"",
            policy_number=1, by=paul, at=NOW,
        )  # fmt: skip
    assert not board.submissions.exists() and not [name for name in _all_files() if "packages" in name]


def test_a_run_before_the_first_season_is_refused_and_one_after_the_last_is_taken(
    board: Board, team: Team, paul: User
) -> None:
    with pytest.raises(NotNow, match="No season"):
        taking_part.send(board, team, paul, at=NOW - SECOND)
    season = board_services.season_close(season=board.seasons.get(), closes_at=NOW + DAY, at=NOW)
    late = taking_part.send(board, team, paul, "late", NOW + 2 * DAY)
    assert late.season == season and not season.is_open(late.arrived_at)


def test_nobody_else_sees_a_submission(board: Board, team: Team, paul: User, olga: User) -> None:
    submission = taking_part.send(board, team, paul)
    assert submission_for(paul, submission.public_id) == (submission, False)
    assert submission_for(olga, submission.public_id) == (submission, True)
    for name in ("mallory", "vera"):
        stranger = factories.user(name)
        if name == "vera":
            taking_part.team(board, stranger, "Green")
        with pytest.raises(NotYours):
            submission_for(stranger, submission.public_id)


def test_what_is_being_evaluated_cannot_be_canceled_and_what_waits_can_be_withdrawn(
    board: Board, team: Team, paul: User
) -> None:
    submission = taking_part.evaluated(board, team, paul)
    with pytest.raises(NotNow, match="withdrawn"):
        submitting.submission_cancel(submission=submission, by=paul, at=NOW)
    submitting.submission_withdraw(submission=submission, why="A bug", by=paul, at=NOW)
    assert (submission.state, submission.withdrawn_at) == ("withdrawn", NOW)
    with pytest.raises(NotNow):
        publishing.submission_publish(submission=submission, reason="Fine", by=paul, at=NOW)


def _all_files(folder: str = "") -> list[str]:
    folders, files = default_storage.listdir(folder)
    here = [f"{folder}/{name}".strip("/") for name in files]
    return here + [name for sub in folders for name in _all_files(f"{folder}/{sub}".strip("/"))]

"""Where the policy says so, a team decides on the dev scores of an evaluated run whether it counts."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from core.errors import NotNow
from core.models import Mail, User
from leaderboards import boards, evaluating, jobs, publishing, selectors, submitting
from leaderboards.models import Board, Submission, Team
from runs.models import Collection
from tests.api.conftest import Program
from tests.leaderboards import taking_part
from tests.leaderboards.taking_part import DAY, NOW, evaluated
from tests.leaderboards.test_pages import browser as log_in
from tests.rows import fresh

State = Submission.State


@pytest.fixture
def board(collection: Collection, olga: User) -> Board:
    """A board whose teams have three days to decide, and one run in thirty days."""
    return taking_part.make(collection, olga, choice_days=3, quota_runs=1)


def quota(board: Board, team: Team, at: Any = NOW) -> int:
    return selectors.quota_of(team, board, board.policy_at(at), at).used


def test_an_evaluated_run_waits_for_its_team_and_nobody_else_can_decide_on_it(
    board: Board, team: Team, paul: User, olga: User, settings: Any
) -> None:
    settings.HAS_MAIL = True
    run = evaluated(board, team, paul)
    assert run.state == State.CHOOSING and run.choose_by == run.evaluated_at + 3 * DAY and run.waiting_since is None  # type: ignore[operator]
    assert quota(board, team) == 1
    mails = Mail.objects.filter(subject__contains=f"{run.run_id}: waiting for its team")
    assert [mail.to for mail in mails] == [paul] and "without a word, it does" in mails[0].text
    with pytest.raises(NotNow, match="does not wait for a decision"):
        publishing.submission_publish(submission=run, reason="Fine", by=olga, at=NOW)
    with pytest.raises(NotNow):
        submitting.submission_withdraw(submission=run, why="", by=paul, at=NOW)
    with pytest.raises(submitting.QuotaUsed):
        taking_part.send(board, team, paul, "blue")


def test_a_run_that_counts_goes_on_to_the_organizers(board: Board, team: Team, paul: User, olga: User) -> None:
    run = evaluated(board, team, paul)
    page = log_in(paul).get(reverse("leaderboards:submission", args=[run.public_id])).text
    assert "Does this run count?" in page and "RR@10 (dev)" in page
    for_organizers = log_in(olga).get(reverse("leaderboards:submission", args=[run.public_id])).text
    assert "Does this run count?" not in for_organizers and "(eval, for organizers only)" not in for_organizers
    act = reverse("leaderboards:submission_act", args=[run.public_id])
    assert log_in(olga).post(act, {"do": "enter"}).status_code == 404
    assert log_in(paul).post(act, {"do": "enter"}).status_code == 303
    run.refresh_from_db()
    assert run.state == State.WAITING and run.waiting_since is not None and quota(board, team) == 1
    page = log_in(olga).get(reverse("leaderboards:submission", args=[run.public_id])).text
    assert "(eval, for organizers only)" in page
    assert log_in(paul).post(act, {"do": "leave out"}).status_code == 409
    publishing.submission_publish(submission=run, reason="Fine", by=olga, at=NOW)


def test_a_run_that_is_left_out_uses_no_quota_and_stays_out(board: Board, team: Team, paul: User, olga: User) -> None:
    run = evaluated(board, team, paul)
    submitting.submission_leave_out(submission=run, by=paul, at=NOW)
    page = log_in(olga).get(reverse("leaderboards:submission", args=[run.public_id])).text
    assert "(eval, for organizers only)" not in page and not run.openings.filter(what="scores").exists()
    assert run.state == State.CANCELED and quota(board, team) == 0
    assert not hasattr(run, "look") and not hasattr(run, "release")
    with pytest.raises(NotNow, match="not open"):
        submitting.submission_enter(submission=run, by=paul, at=NOW)
    second = taking_part.send(board, team, paul, "blue")
    assert second.state == State.RECEIVED and quota(board, team) == 1
    assert "decided that it does not count" in run.events.latest("pk").note


def test_without_a_word_it_counts_once_the_days_are_over(board: Board, team: Team, paul: User) -> None:
    run = evaluated(board, team, paul)
    assert run.choose_by is not None
    assert submitting.choices_end(at=run.choose_by - timedelta(seconds=1)) == 0
    assert submitting.choices_end(at=run.choose_by) == 1
    assert submitting.choices_end(at=run.choose_by) == 0
    run.refresh_from_db()
    assert run.state == State.WAITING and "said nothing in time" in run.events.latest("pk").note


def test_the_job_ends_choices_and_publishes_what_the_policy_publishes(
    collection: Collection, olga: User, paul: User
) -> None:
    board = taking_part.make(collection, olga, choice_days=1, auto_publish=True)
    team = taking_part.team(board, paul, confirmed_by=olga)
    run = evaluated(board, team, paul)
    assert run.state == State.CHOOSING
    jobs.evaluate()  # it is evaluated long ago by the clock of the site
    assert fresh(run).state == State.PUBLISHED


def test_only_one_of_two_decisions_at_once_holds(board: Board, team: Team, paul: User) -> None:
    run, same = evaluated(board, team, paul), Submission.objects.get()
    submitting.submission_leave_out(submission=same, by=paul, at=NOW)
    with pytest.raises(NotNow):
        submitting.submission_enter(submission=run, by=None, at=NOW)
    assert Submission.objects.get().state == State.CANCELED


def test_a_policy_without_days_asks_nobody_and_acts_forward(board: Board, team: Team, paul: User, olga: User) -> None:
    numbers = {name: getattr(board.policies.get(), name) for name in boards.NUMBERS} | {"choice_days": 0}
    at = NOW + DAY
    boards.policy_add(board=board, text="Other.", numbers=numbers, begins_at=at, why="Simpler", by=olga, at=at)
    before = taking_part.send(board, team, paul)
    later = taking_part.team(board, olga, "Blue")
    after = evaluated(board, later, olga, "blue", at=at + DAY)
    assert after.state == State.WAITING
    assert evaluating.submission_evaluate(submission_id=before.pk, at=at + DAY)
    assert fresh(before).state == State.CHOOSING  # by the policy that it accepted


def test_the_policy_says_so_before_anything_is_sent_and_programs_choose(
    board: Board, team: Team, paul: User, olga: User, client: Any
) -> None:
    for page in (
        log_in(paul).get(reverse("leaderboards:take_part", args=[board.slug])).text,
        client.get(reverse("boards:policy", args=[board.slug])).text,
    ):
        assert "3 days to say whether it counts" in page
    run = evaluated(board, team, paul)
    place = f"board-submissions/{run.public_id}/"
    assert Program(paul).get(place).json()["choose_by"]
    assert Program(paul).post(f"{place}choose/", {}).status_code == 400
    assert Program(olga).post(f"{place}choose/", {"counts": True}).status_code == 404
    left = Program(paul).post(f"{place}choose/", {"counts": False})
    assert left.status_code == 200 and left.json()["state"] == "canceled" and left.json()["choose_by"] is None
    assert Program(paul).post(f"{place}choose/", {"counts": True}).status_code == 409

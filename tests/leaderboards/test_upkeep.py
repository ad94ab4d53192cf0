"""Upkeep of a board: new top passages challenge, small campaigns judge, versions follow, and all entries are scored."""

import io
import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import User
from evaluation.statistics.rescoring import Rescoring, mean_reciprocal
from leaderboards import artifacts
from leaderboards.models import Artifact, Board, Challenger, Opening, Score, Submission, UpkeepRound, VersionEntry
from leaderboards.upkeep import jobs, rescoring, rounds
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign, QrelsVersion
from results import versions
from runs import services as run_services
from runs.models import Collection
from tasks import services as task_services
from tests.leaderboards import upkept
from tests.leaderboards.upkept import entry, turn_on
from tests.results.judging import judge, judged, new_run
from tests.rows import fresh

State, Outcome = UpkeepRound.State, Challenger.Outcome


@pytest.fixture
def pilot(collection: Collection) -> Campaign:
    """A campaign of all pairs, whose smaller ids won: p1, p4, p7 and p9."""
    return judged(collection)


@pytest.fixture
def board(collection: Collection, pilot: Campaign) -> Board:
    """A board whose collection has a first version, and the texts of p0, p00 and p3."""
    versions.version_add(campaign=pilot, why="The start.", by=None, at=timezone.now())
    new_run(collection, "texts", {"q1": ["p0"], "q2": ["p00"], "q3": ["p000"], "q4": ["p01"]})
    return upkept.board(collection)


def found(board: Board) -> dict[str, str]:
    """By query and passage, what became of the board's challengers."""
    rows = board.challengers.order_by("query__qid", "pid").values_list("query__qid", "pid", "outcome")
    return {f"{qid} {pid}": outcome for qid, pid, outcome in rows}


def answers(board: Board) -> dict[str, str]:
    newest = pool_selectors.newest_version(board.collection)
    return {qid: " ".join(pids) for qid, pids in pool_selectors.version_answers(newest).items()}


def step(board: Board) -> UpkeepRound:
    """One run of the job, and of the job that packs."""
    jobs.keep_up()
    for campaign in Campaign.objects.filter(state=Campaign.State.PACKING):
        task_services.campaign_pack(campaign_id=campaign.pk)
    return board.upkeep_rounds.latest("number")


def launch(board: Board) -> UpkeepRound:
    """A round from its proposal to its campaign."""
    for _time in range(4):
        round = step(board)
    assert round.campaign is not None
    return round


def play(board: Board) -> UpkeepRound:
    """A round from its proposal to its end, with its campaign judged."""
    round = launch(board)
    judge(round.campaign)
    jobs.keep_up()
    return fresh(round)


def scores(board: Board, part: str = "dev") -> dict[tuple[int, str], str]:
    rows = Score.objects.filter(submission__board=board, part=part, version__isnull=False)
    return {
        (number, run_id.partition("-")[2]): fraction
        for number, run_id, fraction in rows.values_list("version__number", "submission__run_id", "fraction")
    }


def test_a_new_top_passage_challenges_is_judged_and_all_entries_are_scored_on_the_version_that_follows(
    board: Board, pilot: Campaign, rita: User
) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "old", {"q1": ["p1"], "q2": ["p6", "p4"], "q3": ["p7"], "q4": ["p9"]})
    entry(board, "new", {"q1": ["p0", "p1"], "q2": ["p4"], "q3": ["p8", "p7"], "q4": ["p01", "p9"]})
    round = step(board)
    # p6 and p8 were in the pools; the eval query is not for workers, unless the settings say so.
    assert found(board) == {"q1 p0": "", "q4 p01": ""}
    assert (round.state, round.campaign, round.challengers.count()) == (State.APPROVED, None, 1)
    assert scores(board) == {(1, "old"): "5/6", (1, "new"): "2/3"}
    assert scores(board, "eval") == {(1, "old"): "1/1", (1, "new"): "1/2"}
    for _time in range(3):
        round = step(board)
    assert (round.state, round.obstacle) == (State.JUDGING, "")
    campaign = round.campaign
    assert campaign is not None
    assert campaign.created_by == rita
    assert list(campaign.runs.values_list("name", flat=True)) == ["upkeep-small-1-1"]
    assert not Opening.objects.exclude(job=rescoring.JOB).exists()
    judge(campaign)
    round = step(board)
    assert (round.state, found(board)) == (State.DONE, {"q1 p0": "won", "q4 p01": ""})
    assert answers(board) == {"q1": "p0", "q2": "p4", "q3": "p7", "q4": "p9"}
    assert round.version is not None
    assert round.version.why == "Upkeep of the leaderboard The small board, round 1."  # no count of eval's outcomes
    jobs.keep_up()
    assert scores(board) == {(1, "old"): "5/6", (1, "new"): "2/3", (2, "old"): "1/2", (2, "new"): "5/6"}
    assert not jobs.rounds.boards_in_upkeep(at=timezone.now()).exclude(challengers__outcome="").exists()


def test_each_step_repeated_or_cut_short_changes_nothing(board: Board, pilot: Campaign, rita: User) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "new", {"q1": ["p0", "p1"], "q2": ["p00"]})
    now = timezone.now()
    round = step(board)
    # Killed after its runs were stored, before its campaign was.
    rounds._runs_of(round)
    assert rounds.round_advance(board=board, at=now)
    round.refresh_from_db()
    assert board.collection.runs.filter(name__startswith="upkeep-").count() == 1
    for _time in range(4):
        step(board)
    assert Campaign.objects.filter(design="challengers").count() == 1
    round.refresh_from_db()
    assert round.campaign is not None
    judge(round.campaign)
    # Killed after the version was made, before the round ended.
    version = versions.version_add(campaign=round.campaign, why="Made before the kill.", by=rita, at=now)
    step(board)
    round.refresh_from_db()
    assert (round.state, round.version) == (State.DONE, version)
    assert QrelsVersion.objects.count() == 2
    shares = [row.dollars for row in board.challengers.all()]
    for _time in range(3):
        jobs.keep_up()
    assert [row.dollars for row in board.challengers.all()] == shares
    assert VersionEntry.objects.count() == 2
    assert board.upkeep_rounds.count() == 1


def test_a_round_waits_for_approval_and_a_declined_one_gives_its_challengers_back(
    board: Board, pilot: Campaign, rita: User
) -> None:
    turn_on(board, pilot, rita)
    entry(board, "new", {"q1": ["p0"]})
    round = step(board)
    assert (step(board), round.state, round.campaign) == (round, State.PROPOSED, None)
    now = timezone.now()
    with pytest.raises(Refused, match="Say why the round is ended"):
        rounds.round_decline(round=round, by=rita, reason=" ", at=now)
    rounds.round_decline(round=round, by=rita, reason="Too dear.", at=now)
    rounds.round_decline(round=round, by=rita, reason="Again.", at=now)
    with pytest.raises(NotNow, match="Round 1 is “ended without a version” by now"):
        rounds.round_approve(round=round, by=rita, reason="", at=now)
    second = step(board)
    assert (second.number, second.state, board.challengers.get().rounds) == (2, State.PROPOSED, 1)
    rounds.round_approve(round=second, by=rita, reason="Good.", at=now)
    assert step(board).campaign is not None
    second.refresh_from_db()
    assert (second.decided_by, second.reason) == (rita, "Good.")


def test_nothing_is_proposed_before_it_is_due_wanted_and_paid_for(board: Board, pilot: Campaign, rita: User) -> None:
    upkeep = turn_on(board, pilot, rita, fewest=2)
    now = timezone.now()
    entry(board, "new", {"q1": ["p0"]})
    jobs.keep_up()
    assert not board.upkeep_rounds.exists()
    assert rounds.idle_reason(upkeep, now) == "1 of 2 challengers wait."
    upkeep = rounds.upkeep_set(board=board, by=rita, at=now, fewest=1, campaign_dollars=Decimal("0.01"))
    assert rounds.idle_reason(upkeep, now) == "What is left of the budget does not pay for a single challenger."
    upkeep = rounds.upkeep_set(board=board, by=rita, at=now, campaign_dollars=Decimal(100), every_days=10)
    round = step(board)
    assert round.dollars > 0
    assert rounds.budget_of(upkeep, now).used == round.dollars
    rounds.round_decline(round=round, by=rita, reason="Later.", at=now)
    assert rounds.budget_of(upkeep, now).used == 0
    assert "The next round is due on" in rounds.idle_reason(upkeep, now)
    assert rounds.round_propose(board=board, at=now) is None
    assert rounds.round_propose(board=board, at=now + timedelta(days=11)) is not None
    for lacking in ({"template": None}, {"tests_from": None}):
        with pytest.raises(Refused, match="Choose a"):
            rounds.upkeep_set(board=board, by=rita, at=now, **lacking)


def test_what_a_step_lacks_is_said_and_it_goes_on_once_it_is_there(
    board: Board, pilot: Campaign, collection: Collection, rita: User
) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "new", {"q1": ["unknown"]})
    for _time in range(3):
        round = step(board)
    assert "text" in round.obstacle
    assert round.retry_at is not None
    assert step(board).tries == round.tries, "it rests"
    file = io.BytesIO(b"unknown\tA text that was not there.\n")
    run_services.collection_import(lab=collection.lab, name=collection.name, passages=file, keep="all")
    upkept.make_due(board)
    round = step(board)
    assert round.obstacle == ""


def test_one_bad_board_stops_no_other(
    board: Board, pilot: Campaign, collection: Collection, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = upkept.board(collection, "other")
    for each in (board, other):
        turn_on(each, pilot, rita, runs_itself=True)
        entry(each, f"new-{each.slug}", {"q1": ["p0"]})
    broken = entry(board, "broken", {"q1": ["p00"]})
    artifact = broken.artifacts.get()
    for file in (artifact.file, artifact.top):
        file.storage.delete(file.name)
    jobs.keep_up()
    assert VersionEntry.objects.get(submission=broken).error
    assert VersionEntry.objects.filter(error="").count() == 2
    real = rounds.round_set_up

    def set_up(*, round: UpkeepRound, at: object) -> bool:
        if round.board == board:
            raise RuntimeError("the disk is full")
        return real(round=round, at=at)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "round_set_up", set_up)
    with pytest.raises(RuntimeError):
        jobs.keep_up()
    assert other.upkeep_rounds.get().campaign is not None
    assert "the disk is full" in board.upkeep_rounds.get().obstacle


def test_a_withdrawn_entry_keeps_its_answers_and_is_asked_about_no_more(
    board: Board, pilot: Campaign, rita: User
) -> None:
    gone = entry(board, "gone", {"q1": ["p0"], "q2": ["p00"]})
    entry(board, "stays", {"q2": ["p00"]})
    jobs.keep_up()
    assert found(board) == {"q1 p0": "", "q2 p00": ""}
    Submission.objects.filter(pk=gone.pk).update(state=Submission.State.WITHDRAWN, withdrawn_at=timezone.now())
    turn_on(board, pilot, rita, runs_itself=True)
    step(board)
    assert found(board) == {"q1 p0": "dropped", "q2 p00": ""}


def test_challengers_that_another_campaign_considered_are_settled_without_a_round(
    board: Board, pilot: Campaign, collection: Collection, rita: User
) -> None:
    entry(board, "new", {"q1": ["p0"]})
    jobs.keep_up()
    assert found(board) == {"q1 p0": ""}
    run = new_run(collection, "same", {"q1": ["p0"]})
    other = judged(collection, "elsewhere", runs=[run.name], design="challengers")
    versions.version_add(campaign=other, why="Elsewhere.", by=None, at=timezone.now())
    turn_on(board, pilot, rita, runs_itself=True)
    jobs.keep_up()
    assert (found(board), board.upkeep_rounds.count()) == ({"q1 p0": "known"}, 0)


def test_two_that_win_meet_in_the_next_round(board: Board, pilot: Campaign, rita: User) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "one", {"q1": ["p0"]})
    entry(board, "two", {"q1": ["p00"]})
    round = play(board)
    assert round.campaign is not None
    assert sorted(round.campaign.runs.values_list("name", flat=True)) == ["upkeep-small-1-1", "upkeep-small-1-2"]
    assert (round.state, round.version, found(board)) == (State.DONE, None, {"q1 p0": "", "q1 p00": ""})
    assert play(board).number == 2
    assert found(board) == {"q1 p0": "won", "q1 p00": "lost"}
    assert answers(board)["q1"] == "p0"
    assert not rounds.boards_in_upkeep(at=timezone.now()).exists()


def test_what_lost_is_not_asked_about_again_whoever_brings_it(board: Board, pilot: Campaign, rita: User) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    new_run(board.collection, "weak", {"q1": ["p5x"]})
    entry(board, "one", {"q1": ["p5x"]})
    play(board)
    assert found(board) == {"q1 p5x": "lost"}
    assert QrelsVersion.objects.count() == 1
    entry(board, "two", {"q1": ["p5x"]})
    jobs.keep_up()
    assert (found(board), board.upkeep_rounds.count()) == ({"q1 p5x": "lost"}, 1)


def test_the_cost_of_a_round_is_shared_by_the_entries_that_brought_its_challengers(
    board: Board, pilot: Campaign, rita: User
) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "one", {"q1": ["p0"], "q2": ["p00"], "q3": ["p000"]})
    entry(board, "two", {"q1": ["p0"], "q2": ["p01"]})
    new_run(board.collection, "more", {"q2": ["p01"]})
    round = play(board)
    assert round.spent
    first, two = rounds.entry_costs(board)
    assert (first.challengers, two.challengers) == (3, 1)
    assert abs(first.dollars - 3 * two.dollars) <= Decimal("0.02")
    assert abs(first.dollars + two.dollars - round.spent) <= Decimal("0.02")


def test_a_deleted_draft_is_made_again_and_a_dear_one_is_not_launched(
    board: Board, pilot: Campaign, rita: User
) -> None:
    turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "new", {"q1": ["p0"]})
    step(board)
    now = timezone.now()
    round = board.upkeep_rounds.get()
    assert rounds._campaign_of(round, now) is not None
    round.refresh_from_db()
    assert round.campaign is not None
    pool_services.campaign_delete(campaign=round.campaign)
    rounds.upkeep_set(board=board, by=rita, at=now, campaign_dollars=Decimal("0.01"))
    round = step(board)
    assert "by the settings of the upkeep" in round.obstacle
    assert round.campaign is not None
    assert round.campaign.state == Campaign.State.DRAFT


def test_a_round_is_not_ended_while_its_campaign_may_cost_something(board: Board, pilot: Campaign, rita: User) -> None:
    upkeep = turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "new", {"q1": ["p0"]})
    round, now = launch(board), timezone.now()
    assert round.state == State.JUDGING
    with pytest.raises(NotNow, match="is going on"):
        rounds.round_decline(round=round, by=rita, reason="Too dear.", at=now)
    round.refresh_from_db()
    promised = round.dollars
    assert (round.state, round.spent) == (State.JUDGING, None) and rounds.budget_of(upkeep, now).used == promised
    assert board.challengers.get().round == round, "no other round asks about it meanwhile"
    judge(round.campaign)
    assert step(board).state == State.DONE


def test_ending_a_round_whose_campaign_is_a_draft_deletes_the_draft(board: Board, pilot: Campaign, rita: User) -> None:
    upkeep = turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "new", {"q1": ["p0"]})
    round, now = step(board), timezone.now()
    draft = rounds._campaign_of(round, now)
    assert draft is not None
    round.refresh_from_db()
    rounds.round_decline(round=round, by=rita, reason="Too dear.", at=now)
    round.refresh_from_db()
    assert (round.state, round.campaign, round.spent) == (State.DECLINED, None, None)
    assert not Campaign.objects.filter(pk=draft.pk).exists() and rounds.budget_of(upkeep, now).used == 0
    assert board.challengers.get().rounds == 0


def test_entries_are_scored_on_versions_by_every_measure_that_their_grades_suit(board: Board) -> None:
    best = answers(board)
    board.measures = ["RR@10", "nDCG@10", "Judged@2", "Success@1", "AP", "P(rel=2)@1", "Compat(p=0.9)"]
    board.save()
    entry(board, "second", {qid: ["nothing", best[qid]] for qid in upkept.DEV if qid in best})
    assert rescoring.entries_examine(board=board, at=timezone.now()) == 1
    rows = Score.objects.filter(part="dev", version__isnull=False)
    judged = sum(qid in best for qid in upkept.DEV)
    assert judged and {row.query_count for row in rows} == {judged}
    assert {row.measure: row.value for row in rows} == {
        "RR@10": 0.5, "nDCG@10": pytest.approx(1 / math.log2(3)), "Judged@2": 0.5, "Success@1": 0, "AP": 0.5,
        "Compat(p=0.9)": pytest.approx(1 + 0.9 / math.log(0.1)),  # the sum of p^(d-1) / d from d = 2 on, of that from 1
    }  # fmt: skip
    assert rows.get(measure="RR@10").fraction == rows.get(measure="AP").fraction == "1/2"


@pytest.mark.parametrize("state", ["stored", "of an older run", "damaged"])
def test_an_entry_scores_by_its_top_as_by_all_that_is_kept(
    board: Board, pilot: Campaign, rita: User, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = entry(board, "first", {"q1": ["p9", "p1", "p2"], "q2": ["p7"], "q4": ["p0"]})
    for row in first.artifacts.all():
        if state == "of an older run":
            row.top.storage.delete(row.top.name)
            Artifact.objects.filter(pk=row.pk).update(top="")
        elif state == "damaged":
            with row.top.open("rb+") as file:
                file.seek(40)
                file.write(b"damaged")
    with monkeypatch.context() as patch:
        if state == "stored":
            patch.setattr(artifacts, "content", lambda row: pytest.fail("the whole run is read"))
        jobs.keep_up()
    if state == "damaged":
        assert VersionEntry.objects.get().error and not first.scores.exclude(version=None).exists()
        return
    assert {row.part for row in first.artifacts.exclude(top="")} == {"dev", "eval"}
    for score in first.scores.exclude(version=None):
        run = artifacts.load(first, score.part)
        assert run is not None and score.version is not None
        answers = {
            qid: pids
            for qid, pids in pool_selectors.version_answers(score.version).items()
            if qid in (upkept.DEV if score.part == "dev" else upkept.EVAL)
        }
        assert Fraction(score.fraction) == mean_reciprocal(Rescoring(answers, 10).places(run, "rank"))
    assert first.scores.exclude(version=None).exists()


def test_what_is_kept_of_a_run_is_as_deep_as_its_measures_look(board: Board) -> None:
    ranked = {"q1": [f"p{number}" for number in range(150)]}
    board.hits = 1000
    board.save()
    for measures, depth in ((["RR@10"], 100), (["RR@10", "nDCG@120"], 120), (["RR@1000"], 150), (["AP"], 150)):
        board.measures = measures
        submission = entry(board, f"of-{measures[-1]}", ranked)
        stored = artifacts.load(submission, "dev")
        assert stored is not None
        assert stored.top("rank", depth) == {"q1": tuple(ranked["q1"][:depth])}
        assert len(stored.passages) == depth


def test_ending_a_round_whose_campaign_was_closed_keeps_what_it_cost(board: Board, pilot: Campaign, rita: User) -> None:
    upkeep = turn_on(board, pilot, rita, runs_itself=True)
    entry(board, "new", {"q1": ["p0"]})
    round, now = launch(board), timezone.now()
    judge(round.campaign)
    Campaign.objects.filter(pk=round.campaign_id).update(state=Campaign.State.CLOSED)
    rounds.round_decline(round=round, by=rita, reason="Enough.", at=now)
    round = fresh(round)
    assert round.state == State.DECLINED and round.spent is not None and round.spent > 0
    assert rounds.budget_of(upkeep, now).used == round.spent

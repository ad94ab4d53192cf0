"""Resampled judgments and queries, agreement of workers, the champion check, and plans."""

import io
import math
import random
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference, read_preferences
from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.judging.batch_tournaments import by_size, winners
from evaluation.judging.planning import plan
from evaluation.judging.pooling import pool_queries
from evaluation.judging.rounds import Settings, replay, replay_all
from evaluation.judging.tournament import Judged, Judgment, Tied, best_known
from evaluation.statistics.agreement import Vote, agreement, error_evidence, error_rate, repeated_agreement, side_bias
from evaluation.statistics.bootstrap import RunOrder
from evaluation.statistics.certainty import certainty
from evaluation.statistics.champion import champion_outcomes
from evaluation.statistics.confidence_sets import confidence_set
from evaluation.statistics.ranks import Board

JUDGMENTS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()).filter(lambda pair: pair[0] != pair[1]), max_size=25
)


def complete(query: str, order: str, times: int = 1) -> list[Preference]:
    """Everybody prefers the earlier letter."""
    return [Preference(query, a, b, a) for a, b in combinations(order, 2) for _ in range(times)]


@given(JUDGMENTS)
def test_many_tournaments_end_as_each_alone(drawn: list[tuple[int, int, bool]]) -> None:
    pool = "abcde"
    judgments: list[Judgment] = [Tied(pool[a], pool[b]) if tie else Judged(pool[a], pool[b]) for a, b, tie in drawn]
    preferences = [Preference("q", pool[a], pool[b], None if tie else pool[a]) for a, b, tie in drawn]
    (group,) = by_size({"q": pool}, preferences)
    halves = 2 * group.counts[..., 0] + group.counts[..., 2]
    won = winners(5, halves.T, 2 * group.counts.sum(axis=2).T)[:, 0]
    assert {passage for passage, best in zip(group.pools["q"], won, strict=True) if best} == best_known(pool, judgments)


def test_a_judgment_outside_its_pool_is_refused() -> None:
    with pytest.raises(UnknownPassage):
        by_size({"q": "ab"}, [Preference("q", "a", "c", "a")])


def test_p_best_adds_up_to_one_and_sets_are_the_smallest() -> None:
    certain = certainty({"q": "abc", "r": "x"}, complete("q", "abc"), error_rate=0.2)
    # Of the six orders, each of three judgments is right with 0.8: a is the first of two of those that fit best.
    logs = {order: math.prod(0.8 if order.index(a) < order.index(b) else 0.2 for a, b in combinations("abc", 2))
            for order in map("".join, permutations("abc"))}  # fmt: skip
    total = sum(logs.values())
    expected = {first: sum(log for order, log in logs.items() if order[0] == first) / total for first in "abc"}
    assert certain.chances["q"] == pytest.approx(expected)
    assert certain.answers == {"q": {"a": certain.chances["q"]["a"]}, "r": {"x": 1.0}} and certain.error_rate == 0.2
    assert list(certain.chances["q"]) == ["a", "b", "c"] and certain.chances["r"] == {"x": 1.0}
    assert confidence_set(certain.chances["q"]) == ["a", "b"]
    assert confidence_set(certain.chances["q"], 0.5) == ["a"]
    assert confidence_set({"b": 0.25, "a": 0.25, "c": 0.5}, 0.75) == ["c", "a"]
    assert confidence_set({"a": 0.5, "b": 0.5}, 0.95) == ["a", "b"]


def test_judgments_of_all_queries_say_how_often_one_is_wrong() -> None:
    pools = {f"q{number}": "ab" for number in range(40)}
    agree = [row for query in pools for row in complete(query, "ab", 2)]
    split = [Preference(query, "a", "b", won) for query in pools for won in "ab"]
    sure, unsure = (certainty({**pools, "r": "ab"}, [*rows, *complete("r", "ab")]) for rows in (agree, split))
    assert sure.chances["r"]["a"] > 0.85 > 0.75 > unsure.chances["r"]["a"]
    assert sure.error_rate < 0.15 < 0.25 < unsure.error_rate
    assert error_evidence(agree, is_given=False) == ("repeated", 40)
    assert error_evidence(agree[:20], is_given=False) == ("assumed", 10)
    assert error_evidence(agree, is_given=True) == ("given", 40)


def test_an_impossible_error_rate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"error rate 0\.6 where 0 to 0\.5"):
        certainty({"q": "ab"}, complete("q", "ab"), error_rate=0.6)


@given(st.floats(0, 0.49))
def test_the_error_rate_comes_back_from_how_often_repeated_judgments_agree(rate: float) -> None:
    assert error_rate((1 - rate) ** 2 + rate**2) == pytest.approx(rate, abs=1e-7)
    assert error_rate(0.4) is None


def test_repeated_judgments_of_a_pair_are_compared_with_each_other() -> None:
    rows = [Preference("q", "a", "b", "a"), Preference("q", "b", "a", "a"), Preference("q", "a", "b", "b")]
    assert repeated_agreement([*rows, Preference("q", "a", "c", "a")])[:3] == (1, 3, 1 / 3)


def test_resamples_depend_on_the_seed_alone() -> None:
    judged = [Preference(query, "a", "b", won) for query in ("q", "r") for won in "aab"]
    pools = {"q": ["a", "b"], "r": ["b", "a"]}
    first = certainty(pools, judged, draws=300, seed=5)
    assert first == certainty(dict(reversed(pools.items())), judged[::-1], draws=300, seed=5)
    assert first != certainty(pools, judged, draws=300, seed=6)
    board = board_of(run="ab")
    assert (
        certainty({"q0": "ab"}, complete("q0", "ab"), board=board, error_rate=0.3).answers
        == certainty({"q0": "ab"}, complete("q0", "ab"), error_rate=0.3).answers
    )


def test_incomplete_pools_are_left_out_unless_allowed() -> None:
    pools, judged = {"q": "abc"}, [Preference("q", "a", "b", "a")]
    assert certainty(pools, judged).answers == {}
    certain = certainty(pools, judged, error_rate=0.2, allow_incomplete=True)
    assert list(certain.answers["q"]) == ["a"]
    # Nobody was asked about c: it may be the best, and b less likely so, having lost to a.
    a, b, c = (certain.chances["q"][passage] for passage in "abc")
    assert a > c > b > 0
    with pytest.raises(ValueError, match="no pool gives qrels"):
        certainty(pools, judged, board=board_of(run="a"))


def board_of(**runs: str) -> Board:
    artifacts = {}
    for name, ranking in runs.items():
        lines = [
            f"q{query} Q0 {passage} 1 {9 - place} t\n" for query in range(20) for place, passage in enumerate(ranking)
        ]
        artifact = check_run(io.BytesIO("".join(lines).encode())).artifact
        assert artifact is not None
        artifacts[name] = artifact
    return Board(artifacts, 10, "score")


def test_the_order_of_runs_is_certain_where_judgments_are_and_open_where_they_are_not() -> None:
    board = board_of(best="abc", second="bac", same="abc")
    pools = {f"q{query}": "abc" for query in range(20)}
    sure = [preference for query in pools for preference in complete(query, "abc", 3)]
    best, second, same = certainty(pools, sure, board=board, draws=200, error_rate=0).runs
    assert (best.mean, best.first_place, best.last_place) == (1.0, 1, 1)
    assert best.interval == pytest.approx((1.0, 1.0)) == (best.corrected, 1.0)
    assert (best.first, same.first, second.first) == (0.5, 0.5, 0.0)
    assert (second.mean, second.first_place, second.last_place) == (0.5, 3, 3)
    open_ = [
        Preference(query, a, b, won)
        for query in pools
        for a, b in combinations("abc", 2)
        for won in ((a, b) if b != "c" else (a, a))
    ]
    orders = certainty(pools, open_, board=board, draws=400, seed=2).runs
    assert orders == certainty(pools, open_, board=board, draws=400, seed=2).runs
    assert 0.2 < orders[1].first < 0.8
    assert sum(row.first for row in orders) == pytest.approx(1)


def test_queries_drawn_again_widen_the_interval_of_a_run_that_is_right_in_half_of_them() -> None:
    board = board_of(run="a")
    pools = {f"q{query}": "ab" for query in range(20)}
    sure = [preference for at, query in enumerate(pools) for preference in complete(query, "ab" if at % 2 else "ba", 3)]
    (order,) = certainty(pools, sure, board=board, draws=2000, error_rate=0.01).runs
    assert order.mean == 0.5 and order.corrected == pytest.approx(0.5)
    # Of 20 queries, binomial(20, 0.5): 95% of it lies from 6 to 14, and somewhat more by Student's t.
    assert order.interval == pytest.approx((0.26, 0.74), abs=0.06)


def test_certainty_on_whole_runs_has_the_means_of_the_qrels_in_its_intervals(data: Path) -> None:
    qrels = read_qrels(data / "sparse-qrels.txt")
    paths = sorted((data / "runs").glob("*.gz"))[:8]
    runs = {path.name: orders for path in paths if (orders := check_run(path).artifact) is not None}
    pools = pool_queries([run.top("score") for run in runs.values()], qrels)
    judged = [
        preference
        for preference in read_preferences(data / "oracle-preferences.txt.gz")
        if {preference.a, preference.b} <= set(pools.get(preference.query, ()))
    ]
    board = Board(runs, 10, "score")
    best: dict[str, dict[str, int]] = {}
    for query, row in certainty(pools, judged, draws=1).answers.items():
        best[query] = dict.fromkeys(row, 1)
    means = board.ranks(Qrels(best)).means()
    orders: list[RunOrder] = certainty(pools, judged, board=board, error_rate=0.05, draws=300).runs
    for row in orders:
        assert row.mean == pytest.approx(means[row.run])
        assert row.interval.low < row.corrected < row.interval.high
        assert 1 <= row.first_place <= row.last_place <= 8
    assert sum(row.first for row in orders) == pytest.approx(1)


def votes(*cast: str) -> list[Vote]:
    """A string a pair: a letter a worker, - where the worker did not judge."""
    return [
        Vote("q", f"a{pair}", f"b{pair}", f"worker{at}", f"{letter}{pair}")
        for pair, votes_of_pair in enumerate(cast)
        for at, letter in enumerate(votes_of_pair)
        if letter != "-"
    ]


def test_agreement_is_counted_over_workers_on_the_same_pair() -> None:
    alpha = agreement(votes("aa", "ab", "bb", "a-"))
    assert alpha[:3] == (3, 3, 2 / 3)
    # Observed disagreement 1/3; expected, of the six votes three a and three b: 2 * 3 * 3 / (6 * 5) = 0.6.
    assert alpha.alpha == pytest.approx(1 - (1 / 3) / 0.6)


def test_agreement_does_not_depend_on_the_order_of_a_pair_and_takes_a_last_vote() -> None:
    turned = [Vote("q", vote.b, vote.a, vote.worker, vote.preferred) for vote in votes("aa", "ab", "bb")]
    assert agreement(turned) == agreement(votes("aa", "ab", "bb"))
    again = [*votes("ab", "bb"), Vote("q", "a0", "b0", "worker1", "a0")]
    assert agreement(again) == agreement(votes("aa", "bb"))


def test_agreement_without_overlap_or_variety_has_no_alpha() -> None:
    assert agreement(votes("a-", "-b")) == (0, 0, None, None)
    assert agreement(votes("aa", "aa")) == (2, 2, 1.0, None)


def test_side_bias_is_tested_exactly() -> None:
    assert side_bias(["left"] * 9 + ["right"]) == (9, 1, 0.9, pytest.approx(22 / 1024))
    assert side_bias([]) == (0, 0, None, 1.0)


def test_the_champion_check_splits_queries_as_the_paper_does() -> None:
    top_two = {"q1": ("a", "b"), "q2": ("a", "b"), "q3": ("x", "y"), "q4": ("x", "y"), "q5": ("x", "y"), "q6": ("x",)}
    qrels = Qrels({"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"z": 1}, "q4": {"z": 1}, "q5": {"z": 1}, "q6": {"z": 1}})
    judged = [
        Preference("q1", "b", "a", "a"),
        Preference("q2", "a", "b", "b"),
        Preference("q3", "x", "z", "x"),
        Preference("q4", "z", "x", "z"),
        Preference("q5", "z", "x", "z"),
        Preference("q5", "z", "x", "x"),
        Preference("q5", "z", "y", "y"),
    ]
    outcomes = champion_outcomes(top_two, qrels, judged)
    assert (outcomes.a, outcomes.b, outcomes.unjudged) == ((1, 1, 0), (1, 1, 1), 1)
    assert outcomes.slices() == (1, 1, 1, 1)
    assert outcomes.crowd_error == 0.5
    assert outcomes.as_dict()["b"]["queries"] == 3


def test_the_papers_figures_come_out_of_its_counts() -> None:
    top_two, relevant, judged = {}, {}, []
    counts = {("top", "top"): 1228, ("top", "second"): 640, ("other", "other"): 2116, ("other", "top"): 2996}
    for (qrel, won), count in counts.items():
        for number in range(count):
            query = f"{qrel}{won}{number}"
            top_two[query], relevant[query] = ("top", "second"), {qrel: 1}
            judged.append(Preference(query, "top", "second" if qrel == "top" else "other", won))
    outcomes = champion_outcomes(top_two, Qrels(relevant), judged)
    assert outcomes.slices() == (2996, 2116, 640, 1228)
    assert outcomes.crowd_error == pytest.approx(0.3426, abs=1e-4)
    assert outcomes.b.other_share == pytest.approx(0.586, abs=1e-3)
    assert outcomes.b.p < 1e-30


def test_a_plan_without_error_gives_the_true_qrels() -> None:
    plans = plan([1, 2, 5, 5], 0, dollars_per_assignment=Decimal("2.40"))
    assert [(row.overlap, row.pairs, row.judgments, row.assignments) for row in plans] == [
        (1, 21, 21, 3),
        (3, 21, 63, 9),
        (5, 21, 105, 15),
    ]
    assert [row.dollars for row in plans] == [Decimal("7.20"), Decimal("21.60"), Decimal("36.00")]
    assert {row.same for row in plans} == {1.0}


def test_plans_of_pools_of_two_are_binomial() -> None:
    single, three = plan([2], 0.2, dollars_per_assignment=Decimal(1), overlaps=(1, 3), draws=20_000)
    assert single.same == pytest.approx(0.8, abs=0.015)
    assert three.same == pytest.approx(0.8**3 + 3 * 0.8**2 * 0.2, abs=0.015)
    mixed = plan([1, 2], 0.2, dollars_per_assignment=Decimal(1), overlaps=(1,), draws=20_000)[0]
    assert mixed.same == pytest.approx(0.9, abs=0.01)


def test_more_judgments_make_larger_pools_surer_at_the_papers_error_rate() -> None:
    sizes = [2] * 50 + [4] * 50 + [8] * 50
    plans = plan(sizes, 0.33, dollars_per_assignment=Decimal("2.40"), seed=1)
    assert plans == plan(sizes, 0.33, dollars_per_assignment=Decimal("2.40"), seed=1)
    assert plans[0].same < plans[1].same < plans[2].same
    assert all(row.same <= row.kept for row in plans)


def test_impossible_plans_are_refused() -> None:
    for sizes, error, overlaps in (([], 0.1, (1,)), ([0], 0.1, (1,)), ([2], 1.5, (1,)), ([2], 0.1, (0,))):
        with pytest.raises(ValueError, match="needed"):
            plan(sizes, error, dollars_per_assignment=Decimal(1), overlaps=overlaps)


def test_winners_keep_the_shape_of_what_they_are_given() -> None:
    assert winners(4, np.zeros((6, 5), np.int64), np.zeros((6, 1), np.int64)).shape == (4, 5)


def test_winners_of_very_many_judgments_are_counted_in_numbers_that_hold_them() -> None:
    for many in (32, 64, 16_384, 40_000):
        assert winners(2, np.array([[2 * many]]), np.array([[2 * many]])).tolist() == [[True], [False]]


def play_rounds(pool: list[str], query: str, judge: Callable[[str, str], str], settings: Settings) -> list[Preference]:
    judged: list[Preference] = []
    while requests := replay(query, pool, judged, settings).requests:
        judged += [Preference(query, a, b, judge(a, b)) for a, b in requests]
    return judged


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_sets_of_rounds_hold_the_best_passage_about_nine_times_in_ten(spread: float) -> None:
    chance, settings = random.Random(3), Settings(seed=1)
    pools, judged, truly = {}, [], {}
    for number in range(100):
        query, pool = f"q{number}", [f"p{at:02}" for at in range(20)]
        strength = {passage: chance.gauss(0, spread) for passage in pool}

        def judge(a: str, b: str, strength: dict[str, float] = strength) -> str:
            return a if chance.random() < 1 / (1 + math.exp(strength[b] - strength[a])) else b

        pools[query], truly[query] = pool, max(strength, key=strength.__getitem__)
        judged += play_rounds(pool, query, judge, settings)
    best = {query: status.winners for query, status in replay_all(pools, judged, settings).items()}
    certain = certainty(pools, judged, best=best)
    assert all(set(certain.answers[query]) == best[query] for query in pools)
    sets = {query: confidence_set(chances) for query, chances in certain.chances.items()}
    share = sum(truly[query] in sets[query] for query in pools) / len(pools)
    assert 0.84 <= share <= 0.99
    assert sum(map(len, sets.values())) / len(pools) < 6, "not by calling everything possible"

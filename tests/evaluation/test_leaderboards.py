"""Leaderboards on original and preference qrels: correlation, intervals, neighbours, pairings, own contributions."""

import io
from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference, read_preferences
from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.judging.pooling import pool_queries
from evaluation.judging.tournament import derive
from evaluation.statistics.contributions import contributions
from evaluation.statistics.correlation import kendall_tau, tau_ap
from evaluation.statistics.leaderboards import common_queries, leaderboard, pairings, perfect_finds, signed_rank_tests
from evaluation.statistics.ranks import Board, Ranks
from evaluation.statistics.resampling import bootstrap_intervals, t_intervals

SCORES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7)


def artifact(text: str) -> RunArtifact:
    run = check_run(io.BytesIO(text.encode())).artifact
    assert run is not None
    return run


@given(SCORES)
def test_kendalls_tau_is_that_of_scipy(scores: list[tuple[int, int]]) -> None:
    a, b = zip(*scores, strict=True)
    ours = kendall_tau(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert ours is None
    else:
        assert ours == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


@given(SCORES.filter(lambda scores: len(scores) < 6))
def test_tau_ap_is_its_definition_taken_over_all_orders_of_the_tied(scores: list[tuple[int, int]]) -> None:
    reference, values = zip(*scores, strict=True)
    n = len(scores)
    correlations = []
    for order in permutations(range(n)):
        if any(values[above] < values[below] for above, below in pairwise(order)):
            continue
        total = 0.0
        for place in range(1, n):
            item = order[place]
            right = sum(
                1.0 if reference[above] > reference[item] else 0.5 if reference[above] == reference[item] else 0.0
                for above in order[:place]
            )
            total += right / place
        correlations.append(2 * total / (n - 1) - 1)
    assert tau_ap(reference, values) == pytest.approx(sum(correlations) / len(correlations), abs=1e-12)


def test_tau_ap_weighs_the_top_more() -> None:
    reference = [5, 4, 3, 2, 1]
    assert tau_ap(reference, reference) == 1
    assert tau_ap(reference, [1, 2, 3, 4, 5]) == -1
    top, bottom = tau_ap(reference, [4, 5, 3, 2, 1]), tau_ap(reference, [5, 4, 3, 1, 2])
    assert top is not None
    assert bottom is not None
    assert top < bottom
    assert kendall_tau(reference, [4, 5, 3, 2, 1]) == kendall_tau(reference, [5, 4, 3, 1, 2])
    assert tau_ap([1], [1]) is None


def ranks_of(k: int = 10, **runs: list[int]) -> Ranks:
    return Ranks.of({run: {str(at): rank for at, rank in enumerate(row)} for run, row in runs.items()}, k)


def test_t_intervals_are_those_of_scipy() -> None:
    ranks = ranks_of(a=[1, 2, 0, 4, 1], b=[3, 3, 3, 3, 0])
    for interval, row in zip(t_intervals(ranks), ranks.reciprocals(), strict=True):
        expected = stats.ttest_1samp(row, 0).confidence_interval(0.95)
        assert interval == pytest.approx((max(0, expected.low), min(1, expected.high))), "never beyond the scale"
    assert t_intervals(ranks_of(a=[1])) == [None]


def test_bootstrap_intervals_are_seeded_and_near_those_of_t() -> None:
    random = np.random.default_rng(3)
    ranks = ranks_of(a=random.integers(0, 11, 500).tolist(), b=[1] * 500)
    first = bootstrap_intervals(ranks, seed=1, draws=2000)
    assert first == bootstrap_intervals(ranks, seed=1, draws=2000)
    assert first != bootstrap_intervals(ranks, seed=2, draws=2000)
    assert first[0] == pytest.approx(t_intervals(ranks)[0], abs=0.004)
    assert first[1] == (1, 1)


def test_neighbours_that_change_places_are_told_with_their_p() -> None:
    original = ranks_of(a=[1] * 30, b=[2] * 30, c=[3] * 30)
    preference = ranks_of(a=[5] * 30, b=[1] * 29 + [9], c=[0] * 30)
    board = leaderboard(original, preference, [True] * 15 + [False] * 15)
    assert (board.perfect, board.perfect_score.place) == (0.5, 2)
    changed, unchanged = board.neighbours
    assert (changed.upper, changed.lower, changed.changed, changed.significant) == ("a", "b", True, True)
    assert (unchanged.upper, unchanged.lower, unchanged.changed) == ("b", "c", False)
    assert board.threshold == 0.025
    differences = [5 - 1] * 29 + [-(9 - 5)]
    values = [round(2520 / 1 - 2520 / 5)] * 29 + [round(2520 / 9 - 2520 / 5)]
    assert len(differences) == len(values)
    expected = stats.wilcoxon(values, correction=False, method="asymptotic").pvalue
    assert changed.preference_p == pytest.approx(expected)
    assert [board.preference[run].place for run in "abc"] == [2, 1, 3]
    assert board.tau == pytest.approx(1 / 3)


def test_runs_of_the_same_score_share_a_place_and_do_not_change_places() -> None:
    board = leaderboard(ranks_of(a=[1, 2], b=[2, 1]), ranks_of(a=[0, 2], b=[1, 1]), [False, False])
    assert [board.original[run].place for run in "ab"] == [1, 1]
    assert not board.neighbours[0].changed
    assert board.tau is None


def test_boards_of_other_queries_are_refused() -> None:
    with pytest.raises(ValueError, match="other runs, queries or k"):
        leaderboard(ranks_of(a=[1]), ranks_of(a=[1, 2]), [False])


def test_the_perfect_ranking_scores_where_its_first_qrel_is_preferred() -> None:
    original = Qrels({"q": {"a": 1, "b": 1}, "r": {"c": 1}, "s": {"d": 0}, "t": {"e": 1}})
    preference = Qrels({"q": {"b": 1}, "r": {"c": 1, "x": 1}, "s": {"d": 1}})
    queries = common_queries(original, preference)
    assert queries == ("q", "r", "s")
    assert perfect_finds(original, preference, queries) == [False, True, False]


def test_pairings_count_each_judgment_of_a_qrel() -> None:
    judged = [
        Preference("q", "a", "b", "a"),
        Preference("q", "c", "a", "c"),
        Preference("q", "a", "d", None),
        Preference("q", "b", "c", "b"),
        Preference("r", "a", "b", "a"),
    ]
    assert pairings({"q": ["a"]}, judged) == (1.5, 3)
    assert pairings({"q": ["a", "b"]}, judged) == (2.5, 5)
    assert pairings({}, judged).share is None


def test_a_run_whose_own_passage_won_loses_it_and_the_others_keep_theirs() -> None:
    runs = {
        "one": artifact("q Q0 own 1 9 t\nq Q0 good 2 8 t\nr Q0 x 1 9 t\ns Q0 shared 1 9 t\n"),
        "two": artifact("q Q0 good 1 9 t\nr Q0 x 1 9 t\ns Q0 shared 1 9 t\n"),
    }
    qrels = Qrels({"q": {"old": 1}, "r": {"x": 1}, "s": {"old": 1}})
    tops = {name: run.top("score") for name, run in runs.items()}
    pools = pool_queries(tops.values(), qrels)
    judged = [Preference("q", "own", "good", "own"), Preference("q", "own", "old", "own")]
    judged += [Preference("q", "good", "old", "good"), Preference("s", "shared", "old", "shared")]
    first, two = contributions(Board(runs, 10, "score"), tops, qrels, pools, judged)
    assert first == ("one", 1, 1, 1.0, 2.5 / 3, 1, 2)
    assert two == ("two", 1, 0, 2 / 3, 2 / 3, 2, 2)


def test_a_run_that_was_only_scored_takes_nothing_away_from_those_that_were_pooled() -> None:
    runs = {
        "one": artifact("q Q0 own 1 9 t\nq Q0 good 2 8 t\n"),
        "two": artifact("q Q0 good 1 9 t\n"),
        "scored": artifact("q Q0 own 1 9 t\n"),
    }
    qrels = Qrels({"q": {"old": 1}})
    tops = {name: run.top("score") for name, run in runs.items()}
    pooled = {name: top for name, top in tops.items() if name != "scored"}
    pools = pool_queries(pooled.values(), qrels)
    judged = [Preference("q", "good", "own", "own"), Preference("q", "old", "own", "own")]
    judged.append(Preference("q", "good", "old", "good"))
    board = Board(runs, 10, "score")
    assert contributions(board, tops, qrels, pools, judged)[0].own == 0
    first, two = contributions(board, pooled, qrels, pools, judged)
    assert (first.run, first.own, first.won, first.place, first.place_without) == ("one", 1, 1, 1, 2)
    assert (two.run, two.own) == ("two", 1)


def test_where_the_pool_took_no_qrels_what_one_run_surfaced_is_its_own_even_if_it_is_a_qrel() -> None:
    runs = {"one": artifact("q Q0 old 1 9 t\nr Q0 x 1 9 t\n"), "two": artifact("q Q0 good 1 9 t\nr Q0 x 1 9 t\n")}
    qrels = Qrels({"q": {"old": 1}, "r": {"x": 1}})
    tops = {name: run.top("score") for name, run in runs.items()}
    pools = {"q": ("good", "old"), "r": ("x",)}
    judged = [Preference("q", "good", "old", "old")]
    for policy, count in (("none", 1), ("first", 0)):
        first, _two = contributions(Board(runs, 10, "score"), tops, qrels, pools, judged, policy=policy)
        assert first.own == count


def test_own_contributions_on_whole_runs_are_what_deriving_by_hand_gives(data: Path) -> None:
    qrels = read_qrels(data / "sparse-qrels.txt")
    paths = sorted((data / "runs").glob("*.gz"))
    runs = {path.name: by_run for path in paths if (by_run := check_run(path).artifact) is not None}
    tops = {name: run.top("score") for name, run in runs.items()}
    pools = pool_queries(tops.values(), qrels)
    judged = [
        preference
        for preference in read_preferences(data / "oracle-preferences.txt.gz")
        if {preference.a, preference.b} <= set(pools.get(preference.query, ()))
    ]
    board = Board(runs, 10, "score")
    by_run = {contribution.run: contribution for contribution in contributions(board, tops, qrels, pools, judged)}
    for name in list(runs)[::5]:
        others = [top for other, top in tops.items() if other != name]
        pooled_queries = pool_queries(others, qrels)
        left = [
            preference for preference in judged if {preference.a, preference.b} <= set(pooled_queries[preference.query])
        ]
        again: dict[str, dict[str, int]] = {}
        for query, passage in derive(pooled_queries, left).qrels:
            again.setdefault(query, {})[passage] = 1
        assert by_run[name].mean_without == pytest.approx(board.ranks(Qrels(again)).means()[name])
        assert by_run[name].own == sum(len(set(pools[query]) - set(pooled_queries[query])) for query in pools)


def test_places_of_more_runs_than_queries() -> None:
    every = {f"{a}{b}": [a, b] for a, b in product(range(3), repeat=2)}
    board = leaderboard(ranks_of(**every), ranks_of(**every), [True, True])
    assert board.tau == pytest.approx(1)
    assert board.original["11"].place == 1
    assert board.original["00"].place == 9


def test_a_test_that_favours_the_run_below_is_not_called_significant_for_the_one_above() -> None:
    """In a few queries one run is far better, in many the other a little: means and signed ranks disagree."""
    queries = [f"q{number}" for number in range(70)]
    above = {query: 1 if number < 10 else 10 for number, query in enumerate(queries)}
    below = {query: 0 if number < 10 else 9 for number, query in enumerate(queries)}
    after = Ranks.of({"above": above, "below": below}, 10)
    board = leaderboard(Ranks.of({"above": below, "below": above}, 10), after, [True] * 70)
    (neighbour,) = board.neighbours
    assert neighbour.preference_p < board.threshold
    assert not neighbour.significant
    (test,) = signed_rank_tests(after, [(0, 1)])
    assert test.better == -1

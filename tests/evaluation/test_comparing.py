"""Comparing runs two by two: the statistics against scipy and exact arithmetic, the verdicts, the edges."""

import io
import json
import math
from fractions import Fraction
from typing import Any

import ir_measures  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.statistics.comparing import (
    Compared,
    Comparison,
    RankBy,
    compare,
    matches_against,
    matches_along,
    matches_between,
)
from evaluation.statistics.ranks import Board, Ranks, ranks_of
from tests.evaluation.conftest import Sample

from .test_real_runs import judged_by_pytrec_eval, scores_of

SCALE = 2520  # lcm(1..10)
TESTS = ("esl_wsr", "esl_t", "rr_wsr", "rr_t")


def pair_of(a: list[int], b: list[int], k: int = 10, alpha: float = 0.05) -> Compared:
    return comparison_of({"a": a, "b": b}, k, alpha).pairs[0]


def comparison_of(runs: dict[str, list[int]], k: int = 10, alpha: float = 0.05) -> Comparison:
    ranks = {name: {str(query): rank for query, rank in enumerate(row)} for name, row in runs.items()}
    return compare(Ranks.of(ranks, k), alpha)


def joint_ranks(k: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    near = st.integers(0, min(k, 3))
    rank = st.one_of(near, st.integers(0, k))
    pair = st.one_of(st.tuples(rank, rank), rank.map(lambda both: (both, both)))
    return st.lists(pair, min_size=1, max_size=80)


def same(ours: float | None, theirs: float) -> None:
    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-300)


def same_t(ours: float | None, theirs: float | None) -> None:
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-300)


def wilcoxon(differences: list[int]) -> float:
    if not any(differences):
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="wilcox", correction=False, method="asymptotic").pvalue)


def paired_t(a: list[int], b: list[int]) -> float | None:
    differences = [y - x for x, y in zip(a, b, strict=True)]
    if not any(differences):
        return 1.0
    if len(differences) == 1:
        return None
    return 0.0 if len(set(differences)) == 1 else float(stats.ttest_rel(a, b).pvalue)


@given(joint_ranks(10))
def test_every_p_value_is_that_of_scipy_on_whole_numbers(ranks: list[tuple[int, int]]) -> None:
    a, b = (list(side) for side in zip(*ranks, strict=True))
    x, y = ([SCALE // rank if rank else 0 for rank in side] for side in (a, b))
    pair = pair_of(a, b)
    same(pair.p.wrs, stats.ranksums(x, y).pvalue)
    plain = len({*x, *y}) > 1
    same(pair.p.wrs_tie_corrected, stats.mannwhitneyu(x, y, use_continuity=False).pvalue if plain else 1.0)
    same(pair.p.wsr, wilcoxon([q - p for p, q in zip(x, y, strict=True)]))
    same_t(pair.p.t, paired_t(x, y))
    one_sided = pair.outcomes.a_only, pair.outcomes.b_only
    same(pair.outcomes.p, stats.binomtest(one_sided[0], sum(one_sided)).pvalue if sum(one_sided) else 1.0)


@given(joint_ranks(10))
def test_where_both_find_it_the_tests_are_those_of_scipy(ranks: list[tuple[int, int]]) -> None:
    pair = pair_of(*(list(side) for side in zip(*ranks, strict=True)))
    both = [(a, b) for a, b in ranks if a and b]
    assert pair.outcomes[:4] == (
        sum(not a and not b for a, b in ranks),
        sum(a > 0 and not b for a, b in ranks),
        sum(b > 0 and not a for a, b in ranks),
        len(both),
    )
    if not both:
        assert {*pair.both[:4], *pair.both.p} == {None}
        return
    a, b = (list(side) for side in zip(*both, strict=True))
    x, y = ([SCALE // rank for rank in side] for side in (a, b))
    assert pair.both[:4] == pytest.approx((np.mean(a), np.mean(b), np.mean(x) / SCALE, np.mean(y) / SCALE), rel=1e-12)
    same(pair.both.p.esl_wsr, wilcoxon([q - p for p, q in both]))
    same(pair.both.p.rr_wsr, wilcoxon([q - p for p, q in zip(x, y, strict=True)]))
    same_t(pair.both.p.esl_t, paired_t(a, b))
    same_t(pair.both.p.rr_t, paired_t(x, y))


@pytest.mark.parametrize("k", [19, 100])
@given(data=st.data())
def test_at_greater_k_ties_are_those_of_fractions(k: int, data: st.DataObject) -> None:
    ranks = data.draw(joint_ranks(k))
    values = [tuple(Fraction(1, rank) if rank else Fraction() for rank in pair) for pair in ranks]
    exact = [b - a for a, b in values]
    sizes = {
        size: place for place, size in enumerate(sorted({abs(difference) for difference in exact if difference}), 1)
    }
    signs = [sizes[abs(difference)] * (1 if difference > 0 else -1) if difference else 0 for difference in exact]
    tested = pair_of(*(list(side) for side in zip(*ranks, strict=True)), k=k)
    same(tested.p.wsr, wilcoxon(signs))
    assert tested.delta == float(sum(exact, Fraction()) / len(exact))
    spread = sum((difference - sum(exact, Fraction()) / len(exact)) ** 2 for difference in exact)
    if len(exact) > 1 and spread:
        square = sum(exact, Fraction()) ** 2 / len(exact) / (spread / (len(exact) - 1))
        expected = 2 * stats.t.sf(math.sqrt(square), len(exact) - 1)
        assert tested.p.t == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_differences_that_are_equal_as_fractions_are_ties_though_their_floats_differ() -> None:
    assert 1 / 2 - 1 / 3 != 1 / 3 - 1 / 6
    # Two differences of 1/6, in opposite directions, and one of 1/2 that decides.
    pair = pair_of([3, 3, 2], [2, 6, 1])
    same(pair.p.wsr, wilcoxon([1, -1, 3]))
    assert pair.p.wsr != pytest.approx(wilcoxon([1, -2, 3]), rel=1e-3)


@given(joint_ranks(10), st.randoms())
def test_the_order_of_the_queries_changes_nothing_and_that_of_the_runs_only_sides(
    ranks: list[tuple[int, int]], random: Any
) -> None:
    shuffled = ranks[:]
    random.shuffle(shuffled)
    pair, other = (pair_of(*(list(side) for side in zip(*rows, strict=True))) for rows in (ranks, shuffled))
    assert pair == other
    turned = pair_of(*(list(side) for side in zip(*[(b, a) for a, b in ranks], strict=True)))
    assert (turned.delta, turned.p.wsr, turned.p.t) == (-pair.delta, pair.p.wsr, pair.p.t)
    assert turned.outcomes[1:3] == pair.outcomes[2:0:-1]
    swap = {"a": "b", "b": "a", None: None}
    assert turned.verdict[:2] == tuple(swap[winner] for winner in pair.verdict[:2])


def test_identical_runs_have_p_1_everywhere() -> None:
    pair = pair_of([1, 2, 0, 7], [1, 2, 0, 7])
    assert pair.identical
    assert (pair.delta, *pair.p, pair.outcomes.p) == (0, 1, 1, 1, 1, 1)
    assert pair.both.p == (1, 1, 1, 1)
    assert (pair.verdict.strict, pair.verdict.do_no_harm) == (None, None)


def test_one_query_has_no_t_where_it_differs() -> None:
    assert pair_of([1], [2]).p.t is None
    assert pair_of([1], [2]).p.wsr == pytest.approx(0.31731050786291415)
    assert pair_of([2], [2]).p.t == 1


def test_nothing_found_has_nothing_to_compare_where_both_find() -> None:
    pair = pair_of([0, 0], [0, 0])
    assert pair.outcomes == (2, 0, 0, 0, 1)
    assert {*pair.both[:4], *pair.both.p} == {None}
    assert (pair.p.wrs, pair.p.wrs_tie_corrected, pair.alignment.correlation) == (1, 1, None)
    assert pair.identical


def test_the_same_difference_everywhere_is_beyond_doubt_for_t() -> None:
    assert pair_of([2, 2, 2], [1, 1, 1]).p.t == 0
    assert pair_of([2, 4, 2], [2, 4, 2]).p.t == 1
    assert pair_of([3] * 5, [7] * 5, k=100).both.p.esl_t == 0


@pytest.mark.parametrize("k", [10, 100])
def test_json_has_no_nan(k: int) -> None:
    for a, b in ([0], [0]), ([1], [2]), ([0, 1], [1, 0]), ([k, k], [k, k]), ([1, 1], [2, 2]):
        text = json.dumps(comparison_of({"a": a, "b": b}, k).as_dict(), allow_nan=False)
        assert json.loads(text)["queries"] == len(a)


def test_a_run_that_finds_more_and_sooner_is_strictly_better() -> None:
    pair = pair_of([5] * 40 + [0] * 20, [1] * 40 + [1] * 20)
    assert (*pair.significant[3:], *pair.verdict[:2]) == ("b", "b", "b", "b")


def test_a_run_that_only_finds_more_does_no_harm() -> None:
    pair = pair_of([2] * 40 + [0] * 20, [2] * 40 + [9] * 20)
    assert (*pair.significant[3:], *pair.verdict[:2]) == ("b", None, None, "b")


def test_a_run_that_is_only_sooner_does_no_harm() -> None:
    pair = pair_of([2] * 40 + [0, 1], [4] * 40 + [1, 0])
    assert (*pair.significant[3:], *pair.verdict[:2]) == (None, "a", None, "a")


def test_a_run_that_finds_more_but_later_does_harm() -> None:
    pair = pair_of([1] * 40 + [0] * 20, [3] * 40 + [9] * 20)
    assert (*pair.significant[3:], *pair.verdict[:2]) == ("b", "a", None, None)
    assert pair.verdict.trade_off
    assert pair.as_dict()["verdict"] == {"strict": None, "do_no_harm": None, "trade_off": True, "better": None}


def test_runs_that_are_alike_are_no_trade_off() -> None:
    pair = pair_of([1, 2, 0, 3] * 10, [2, 1, 3, 0] * 10)
    assert (pair.verdict.trade_off, pair.verdict.do_no_harm, pair.verdict.better) == (False, None, None)


def test_a_run_may_be_better_without_being_significantly_so() -> None:
    pair = pair_of([2, 3, 0], [1, 3, 4])
    assert (pair.verdict.do_no_harm, pair.verdict.better) == (None, "b")
    assert pair_of([2, 3, 0], [3, 3, 4]).verdict.better is None


def test_doing_no_harm_errs_in_at_most_five_percent_of_exchangeable_pairs() -> None:
    random = np.random.default_rng(2021)
    pairs, queries, k = 2000, 1000, 10
    hard = np.repeat(random.beta(1, 1.5, (pairs, 1, queries)), 2, axis=1)
    places = random.geometric(np.clip(hard, 0.02, 1)).reshape(2 * pairs, queries).astype(np.int64)
    places[places > k] = 0
    names = tuple(f"run{number}" for number in range(2 * pairs))
    ranks = Ranks(k, names, tuple(map(str, range(queries))), places)
    # Every pair is judged as if it were the only one.
    comparison = compare(ranks, 0.05 * pairs, matches=list(zip(names[::2], names[1::2], strict=True)))
    assert comparison.threshold == pytest.approx(0.05)
    wrong = sum(pair.verdict.do_no_harm is not None for pair in comparison.pairs) / pairs
    either = (
        sum(pair.significant.outcomes is not None or pair.significant.esl is not None for pair in comparison.pairs)
        / pairs
    )
    assert 0.01 < wrong <= 0.05
    assert either > 0.06  # what it would be without halving


def test_doing_no_harm_takes_half_of_the_threshold_and_strictly_better_does_no_harm() -> None:
    # Seven to none: p = 1/64. By half of 0.025 this is no verdict, though it is significant.
    one_way = pair_of([0] * 7 + [1] * 10, [1] * 17, alpha=0.025)
    assert (one_way.significant.outcomes, one_way.verdict.do_no_harm) == ("b", None)
    assert pair_of([0] * 7 + [1] * 10, [1] * 17, alpha=0.04).verdict.do_no_harm == "b"
    both_ways = pair_of([0] * 7 + [2] * 7, [1] * 14, alpha=0.0157)
    assert (both_ways.verdict.strict, both_ways.verdict.do_no_harm) == ("b", "b")


@pytest.mark.parametrize(
    ("a", "b", "esl", "rr"), [((1, 9), (4, 6), 5.0, (0.5556, 0.2083)), ((1, 5), (4, 2), 3.0, (0.6, 0.375))]
)
def test_the_papers_examples_have_equal_search_lengths_and_unequal_rr(
    a: tuple[int, int], b: tuple[int, int], esl: float, rr: tuple[float, float]
) -> None:
    both = pair_of(list(a), list(b), k=100).both
    assert (both.esl_a, both.esl_b) == (esl, esl)
    assert (both.rr_a, both.rr_b) == (pytest.approx(rr[0], abs=5e-5), pytest.approx(rr[1], abs=5e-5))


def test_search_lengths_and_rr_that_favour_different_runs_are_marked() -> None:
    assert pair_of([1, 20], [4, 6], k=100).disagreement == "means"
    assert pair_of([2, 20], [4, 30], k=100).disagreement is None
    # In the first forty queries, b is later by much in ranks and by little in RR: only ESL tells the two apart.
    only_esl = pair_of([50] * 8 + [1] * 3 + [2] * 2, [90] * 8 + [2] * 3 + [1] * 2, k=100)
    assert only_esl.significant.esl == "a"
    assert only_esl.disagreement in ("significance", "means")


@pytest.mark.parametrize(("rank_by", "ranked"), [("esl-wsr", None), ("esl-t", "b"), ("rr-wsr", "a"), ("rr-t", "a")])
def test_the_ranking_may_be_judged_by_either_measure_and_either_test(rank_by: RankBy, ranked: str | None) -> None:
    # b is one place later in most queries, and far sooner in a third of them.
    a, b = [1] * 60 + [90] * 30, [2] * 60 + [40] * 30
    ranks = Ranks.of({"a": dict(enumerate_(a)), "b": dict(enumerate_(b))}, 100)
    assert compare(ranks, rank_by=rank_by).pairs[0].significant.esl == ranked


def enumerate_(places: list[int]) -> list[tuple[str, int]]:
    return [(str(query), place) for query, place in enumerate(places)]


def test_runs_are_compared_with_a_baseline_along_a_chain_or_between_groups() -> None:
    means = {"a": 0.3, "b": 0.5, "c": 0.4, "d": 0.6}
    assert matches_against(means, "b") == [("b", "a"), ("b", "c"), ("b", "d")]
    assert matches_along(means, {}) == [("a", "b"), ("b", "c"), ("b", "d")]
    assert matches_along(means, {"b": "x", "c": "x"}) == [("a", "b"), ("a", "c"), ("b", "d")]
    assert matches_between([("a", "b"), ("a", "c"), ("b", "c")], {"b": "x", "c": "x"}) == [("a", "b"), ("a", "c")]


def test_the_family_is_the_comparisons_made() -> None:
    runs = {"a": [0] * 7 + [1] * 10, "b": [1] * 17, "c": [1] * 17}
    ranks = Ranks.of({name: dict(enumerate_(row)) for name, row in runs.items()}, 10)
    comparison = compare(ranks, matches=[("a", "b")])
    assert ([(pair.a, pair.b) for pair in comparison.pairs], comparison.threshold) == ([("a", "b")], 0.05)
    assert compare(ranks).threshold == 0.05 / 3


def test_the_order_by_verdicts_puts_no_run_below_one_that_it_beats() -> None:
    # low finds far more than high does, and both share the queries that they find; their means say the opposite.
    high, low = [1] * 60 + [0] * 12, [10] * 60 + [10] * 12
    comparison = comparison_of({"high": high, "low": low, "same": high})
    assert comparison.order_by_means[-1] == "low"
    assert comparison.pairs[0].verdict.trade_off
    assert comparison.order_by_verdicts == ["high", "same", "low"]
    rare, sure = [1] * 3 + [0] * 12, [9] * 3 + [9] * 12
    comparison = comparison_of({"rare": rare, "sure": sure})
    assert (comparison.order_by_means, comparison.order_by_verdicts) == (["rare", "sure"], ["sure", "rare"])


def test_a_lower_mean_against_the_signed_ranks_is_no_better_rank() -> None:
    # b is one place later in most queries, and far sooner in a few: a lower mean, but signed ranks against it.
    pair = pair_of([1] * 60 + [100] * 3, [2] * 60 + [1] * 3, k=100)
    assert pair.both.esl_a is not None
    assert pair.both.esl_b is not None
    assert pair.both.esl_b < pair.both.esl_a
    assert pair.both.p.esl_wsr is not None
    assert pair.both.p.esl_wsr < 0.05
    assert pair.significant.esl is None


def test_a_verdict_takes_alpha_over_the_number_of_pairs() -> None:
    runs = {"a": [0] * 7 + [1] * 10, "b": [1] * 17, "c": [1] * 17}
    alone = comparison_of({name: runs[name] for name in "ab"})
    assert alone.pairs[0].outcomes.p == 2 / 2**7
    assert (alone.threshold, alone.pairs[0].significant.outcomes) == (0.05, "b")
    three = comparison_of(runs)
    assert [(pair.a, pair.b) for pair in three.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert (three.threshold, three.pairs[0].significant.outcomes) == (0.05 / 3, "b")
    assert comparison_of(runs, alpha=0.04).pairs[0].significant.outcomes is None


def test_runs_joined_by_line_look_unrelated() -> None:
    random = np.random.default_rng(1)
    hard = random.integers(1, 11, 400)
    a = [int(rank) % 11 for rank in hard + random.integers(0, 2, 400)]
    b = [int(rank) % 11 for rank in hard + random.integers(0, 2, 400)]
    aligned = pair_of(a, b).alignment
    assert aligned.correlation == pytest.approx(
        np.corrcoef(*([1 / r if r else 0 for r in row] for row in (a, b)))[0, 1]
    )
    assert not aligned.unrelated
    assert aligned.joint_misses is not None
    assert aligned.joint_misses > 2
    apart = pair_of(a, [b[place] for place in random.permutation(400)]).alignment
    assert apart.unrelated
    assert apart.joint_misses == pytest.approx(1, abs=0.6)


def test_other_queries_or_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="other queries"):
        Ranks.of({"a": {"q": 1}, "b": {"r": 1}}, 10)
    with pytest.raises(ValueError, match="0 to 10"):
        Ranks.of({"a": {"q": 11}}, 10)
    with pytest.raises(ValueError, match="1 to 1000"):
        Ranks.of({"a": {"q": 1}}, 1001)
    with pytest.raises(ValueError, match="no queries"):
        compare(Ranks.of({"a": {}, "b": {}}, 10))


def test_ranks_are_joined_by_id_whatever_their_order() -> None:
    ranks = Ranks.of({"a": {"q": 1, "r": 2}, "b": {"r": 3, "q": 4}}, 10)
    assert ranks.places.tolist() == [[1, 2], [4, 3]]
    assert ranks.only(["r"]).places.tolist() == [[2], [3]]


@pytest.mark.parametrize("order", ["score", "rank"])
@pytest.mark.parametrize("kind", ["sparse", "graded"])
def test_a_board_of_real_runs_ranks_as_each_run_alone(sample: Sample, kind: str, order: Any) -> None:
    qrels = read_qrels(getattr(sample, kind))
    runs = {path.name: check_run(path).artifact for path in sample.runs}
    artifacts = {name: run for name, run in runs.items() if run is not None}
    assert len(artifacts) == len(sample.runs)
    for k, min_grade in ((10, 1), (100, 2)):
        ranks = Board(artifacts, k, order).ranks(qrels, min_grade)
        assert ranks_of(artifacts, qrels, k, order, min_grade).places.tolist() == ranks.places.tolist()
        for name, row in zip(ranks.runs, ranks.places, strict=True):
            alone = artifacts[name].ranks(order, qrels.relevant("all", min_grade), k)
            assert dict(zip(ranks.queries, row.tolist(), strict=True)) == alone, name


def test_means_and_deltas_of_real_runs_agree_with_ir_measures_and_pytrec_eval(sample: Sample) -> None:
    qrels = read_qrels(sample.graded)
    paths = sample.runs[:6]
    runs = {path.name: check_run(path).artifact for path in paths}
    artifacts = {name: run for name, run in runs.items() if run is not None}
    comparison = compare(ranks_of(artifacts, qrels, 10, "score"))
    grades = [ir_measures.Qrel(*entry) for entry in qrels.entries()]
    for path in paths:
        # Ties are broken the other way round there, so what ties is told apart by our order first.
        top = artifacts[path.name].top("score", 100)
        scored = [
            ir_measures.ScoredDoc(query, passage, 100.0 - place)
            for query, passages in top.items()
            for place, passage in enumerate(passages)
        ]
        mean = ir_measures.calc_aggregate([ir_measures.RR @ 10], grades, scored)[ir_measures.RR @ 10]
        assert comparison.means[path.name] == pytest.approx(mean, abs=1e-12)
        ordered: dict[str, dict[str, float]] = {}
        for doc in scored:
            ordered.setdefault(doc.query_id, {})[doc.doc_id] = doc.score
        ranks = judged_by_pytrec_eval(qrels, ordered, 10)
        assert comparison.means[path.name] == pytest.approx(
            sum(1 / r for r in ranks.values() if r) / comparison.queries
        )
        assert scores_of(path).keys() == top.keys()
    for pair in comparison.pairs:
        assert pair.delta == pytest.approx(comparison.means[pair.b] - comparison.means[pair.a], abs=1e-15)


PASSAGES = "abcdef"
GENERATED = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4"]),
    st.dictionaries(st.sampled_from(PASSAGES), st.integers(1, 3), min_size=1),
    min_size=1,
)


@given(
    st.lists(GENERATED, min_size=1, max_size=3),
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3", "q5"]),
        st.dictionaries(st.sampled_from(PASSAGES), st.integers(0, 2), min_size=1),
        min_size=1,
    ),
    st.sampled_from([1, 3, 10]),
)
def test_a_board_ranks_as_pytrec_eval_does_with_ties_gaps_and_missing_queries(
    runs: list[dict[str, dict[str, int]]], grades: dict[str, dict[str, int]], k: int
) -> None:
    artifacts, qrels = {}, Qrels(grades)
    for number, run in enumerate(runs):
        lines = [f"{query} Q0 {passage} 1 {score} t" for query, hits in run.items() for passage, score in hits.items()]
        artifact = check_run(io.BytesIO("\n".join(lines).encode())).artifact
        assert artifact is not None
        artifacts[str(number)] = artifact
    ranks = Board(artifacts, k, "score").ranks(qrels)
    assert ranks_of(artifacts, qrels, k, "score").places.tolist() == ranks.places.tolist()
    for run, row in zip(runs, ranks.places, strict=True):
        scores = {query: {passage: float(score) for passage, score in hits.items()} for query, hits in run.items()}
        theirs = dict.fromkeys(grades, 0) | judged_by_pytrec_eval(qrels, scores, k)
        assert dict(zip(ranks.queries, row.tolist(), strict=True)) == theirs


def test_a_query_that_no_run_has_counts_as_a_miss() -> None:
    board = Board({}, 10, "score")
    assert board.ranks(Qrels({"q": {"p": 1}})).places.shape == (0, 1)

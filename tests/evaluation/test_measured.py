"""Scores by any measure: means, intervals over queries, paired tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.files.qrels import Qrels
from evaluation.measures.named import read_measure
from evaluation.statistics.measured import Measured, measured, pair_tests
from evaluation.statistics.ranks import ranks_of
from evaluation.statistics.resampling import t_intervals, t_intervals_of

from .test_named_measures import Grades, Run, artifact, judgments, runs

NDCG = read_measure("nDCG@10")
values = st.lists(
    st.tuples(*2 * [st.sampled_from([0.0, 1.0, 1 / math.log2(3), 0.5, 1 / 3, 1 / 6])]), min_size=2, max_size=60
)


def scores(rows: list[tuple[float, float]]) -> Measured:
    queries = tuple(f"q{number}" for number in range(len(rows)))
    return Measured(NDCG, ("a", "b"), queries, np.array(rows).T)


@given(values)
def test_tests_of_pairs_are_those_of_scipy_without_ties_that_rounding_breaks(rows: list[tuple[float, float]]) -> None:
    (test,) = pair_tests(scores(rows), [("a", "b")])
    differences = np.round([b - a for a, b in rows], 12)
    assert test.delta == pytest.approx(differences.mean(), abs=1e-12)
    assert (test.higher, test.lower) == ((differences > 0).sum(), (differences < 0).sum())
    assert test.higher + test.lower + test.equal == len(rows)
    if not differences.any():
        assert (test.sign, test.wsr, test.t, test.direction) == (1, 1, 1, 0)
        return
    signed = stats.wilcoxon(differences, zero_method="wilcox", correction=False, method="asymptotic")
    assert test.wsr == pytest.approx(signed.pvalue, abs=1e-9)
    assert test.sign == pytest.approx(stats.binomtest(test.higher, test.higher + test.lower).pvalue, abs=1e-9)
    if len({*differences.tolist()}) > 1:
        assert test.t == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=1e-9)


def test_the_other_way_round_is_the_same_test() -> None:
    rows = [(0.5, 1.0), (0.2, 0.9), (0.3, 0.3), (1.0, 0.4), (0, 0.1)]
    first, other = pair_tests(scores(rows), [("a", "b"), ("b", "a")])
    assert (first.delta, first.direction) == (-other.delta, 1) and other.direction == -1
    assert (first.higher, first.lower) == (other.lower, other.higher) == (3, 1)
    assert (first.sign, first.wsr, first.t) == (other.sign, other.wsr, other.t)
    with pytest.raises(KeyError):
        pair_tests(scores(rows), [("a", "c")])


@given(runs, judgments)
def test_by_rr_the_means_and_intervals_are_those_of_the_ranks(run: Run, grades: Grades) -> None:
    artifacts, qrels, rr = {"run": artifact(run)}, Qrels(grades), read_measure("RR@5")
    values = measured(artifacts, qrels, [NDCG, rr], "score")[rr]
    ranks = ranks_of(artifacts, qrels, 5, "score")
    assert values.queries == ranks.queries and values.means() == ranks.means()
    assert t_intervals_of(values.values) == t_intervals(ranks)
    some = ranks.queries[::-1][:2]
    assert values.only(some).means() == ranks.only(some).means() and values.only(some).queries == some

"""How sure the order of a board is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from evaluation.boards.bands import bands, mean_intervals, paired_p, resampled_ranks

RANDOM = np.random.default_rng(5)
NOISE = RANDOM.random(200)
# Two that differ by noise, two that are clearly lower and differ by noise, one that is lower still.
SCORES = np.array([
    NOISE + RANDOM.normal(0, 0.1, 200) + level for level in (0.5, 0.5, 0.4, 0.4, 0.2)
])  # fmt: skip
tables = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(2, 12)), elements=st.sampled_from([0, 0.25, 0.5, 1])
)


def test_bands_part_where_an_entry_is_significantly_below_the_first() -> None:
    assert bands(SCORES) == [1, 1, 2, 2, 3]
    assert bands(SCORES[::-1]) == [3, 2, 2, 1, 1]
    assert bands(SCORES[:1]) == [1]
    assert bands(np.zeros((0, 4))) == []


def test_the_level_is_divided_by_the_comparisons() -> None:
    p = paired_p(SCORES[0], SCORES[2])
    low = np.tile(SCORES[2], (3, 1))
    board = np.vstack([SCORES[0], low])
    assert bands(board, level=3 * p * 1.01) == [1, 2, 2, 2]
    assert bands(board, level=3 * p * 0.99) == [1, 1, 1, 1]


def test_other_corrections_divide_by_fewer_comparisons() -> None:
    p = paired_p(SCORES[0], SCORES[2])
    board = np.vstack([SCORES[0], np.tile(SCORES[2], (3, 1)), SCORES[4]])
    for correction, divided in (("bonferroni", 4), ("holm", 3), ("bh", 1), ("none", 1)):
        below = [bands(board, divided * p * share, correction)[1] for share in (0.99, 1.01)]  # type: ignore[arg-type]
        assert below == [1, 2], correction


@given(tables)
def test_every_band_is_a_stretch_of_the_order_that_begins_with_its_best(scores: np.ndarray) -> None:  # type: ignore[type-arg]
    bands_of_scores = bands(scores)
    order = np.argsort(-scores.mean(axis=1), kind="stable")
    along = [bands_of_scores[entry] for entry in order]
    assert along == sorted(along)
    assert sorted(set(along)) == list(range(1, max(along) + 1))


@given(tables)
def test_p_and_intervals_are_those_of_scipy(scores: np.ndarray) -> None:  # type: ignore[type-arg]
    first, other = scores[0], scores[-1]
    if (first - other).std() > 0:
        assert paired_p(first, other) == pytest.approx(stats.ttest_rel(first, other).pvalue)
    else:
        assert paired_p(first, other) == float(first[0] == other[0])
    count = scores.shape[1]
    for row, interval in zip(scores, mean_intervals(scores), strict=True):
        assert interval is not None
        half = stats.t.ppf(0.975, count - 1) * row.std(ddof=1) / count**0.5
        low, high = max(0, row.mean() - half), min(1, row.mean() + half)
        assert interval == (pytest.approx(low, abs=1e-12), pytest.approx(high)), "never beyond the scale"


def test_one_query_has_no_interval() -> None:
    assert mean_intervals([[0.5], [1.0]]) == [None, None]


def test_ranks_under_resampling_tell_sure_from_unsure() -> None:
    ranks = resampled_ranks(SCORES)
    assert [(entry.low, entry.high) for entry in ranks] == [(1, 2), (1, 2), (3, 4), (3, 4), (5, 5)]
    assert sum(entry.first for entry in ranks) == pytest.approx(1)
    assert all(0.02 < entry.first < 0.98 for entry in ranks[:2])
    assert ranks[4].first == 0
    assert resampled_ranks(SCORES) == ranks != resampled_ranks(SCORES, seed=1)


@given(tables)
def test_equal_entries_share_ranks_and_the_chance_to_be_first(scores: np.ndarray) -> None:  # type: ignore[type-arg]
    twice = np.vstack([scores, scores[:1]])
    ranks = resampled_ranks(twice, draws=50)
    assert ranks[0] == ranks[-1]
    assert sum(entry.first for entry in ranks) == pytest.approx(1)
    assert all(1 <= entry.low <= entry.high <= len(twice) for entry in ranks)


def test_what_is_no_table_of_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="1 dimensions"):
        bands([1.0, 2.0])
    with pytest.raises(ValueError, match="not a finite number"):
        mean_intervals([[float("nan")]])
    with pytest.raises(ValueError, match="no queries"):
        resampled_ranks(np.zeros((2, 0)))

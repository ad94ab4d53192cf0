"""How sure the order of a board is: intervals, bands, and ranks under resampling of the queries.

Scores come as [entries x queries], of the same queries in the same order for all entries, best mean first or in any
order; results are in the order given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.resampling import CONFIDENCE, DRAWS, Interval, query_weights, t_intervals_of
from evaluation.statistics.significance import Correction, significance_threshold

LEVEL = 0.05

Floats = NDArray[np.float64]


class RankRange(NamedTuple):
    """The ranks of an entry over resampled queries: 95% of them lie from `low` to `high`. `first`: the share of samples
    in which it is the best; where several are, it is divided among them.
    """

    low: int
    high: int
    first: float


def mean_intervals(scores: ArrayLike, confidence: float = CONFIDENCE) -> list[Interval | None]:
    """Student's t-interval of each entry's mean over queries; None for less than two queries."""
    return t_intervals_of(_table(scores), confidence)


def paired_p(first: ArrayLike, other: ArrayLike) -> float:
    """The two-sided p of the paired t-test over queries. 1 where all differences are 0, 0 where all are alike."""
    differences = np.asarray(first, np.float64) - np.asarray(other, np.float64)
    count = len(differences)
    if count < 2 or not differences.any():
        return 1.0
    error = float(differences.std(ddof=1)) / count**0.5
    if error <= 1e-12 * abs(float(differences.mean())):
        return 0.0
    from scipy import special

    return float(2 * special.stdtr(count - 1, -abs(float(differences.mean())) / error))


def bands(scores: ArrayLike, level: float = LEVEL, correction: Correction = "bonferroni") -> list[int]:
    """The band of each entry, from 1: entries that are not significantly below the band's first.

    Down the order by mean, each entry is compared with the first of the band by the paired t-test; one that is
    significant, with the correction for as many comparisons as there are entries less one, begins a new band. By Holm,
    and by Benjamini and Hochberg, those of the band's first with all entries below it decide; the others count as
    p = 1. Entries of one band may still differ from each other, and neighbours of two bands may not.
    """
    values = _table(scores)
    entries = len(values)
    result = [1] * entries
    order: list[int] = np.argsort(-values.mean(axis=1), kind="stable").tolist() if entries else []
    p, threshold, band = dict.fromkeys(order, 1.0), 1.0, 0
    for place, entry in enumerate(order):
        if not band or p[entry] < threshold:
            band += 1
            p = {below: paired_p(values[entry], values[below]) for below in order[place + 1 :]}
            threshold = significance_threshold([*p.values(), *[1.0] * (entries - 1 - len(p))], level, correction)
        result[entry] = band
    return result


def resampled_ranks(
    scores: ArrayLike, *, seed: int = 0, draws: int = DRAWS, confidence: float = CONFIDENCE
) -> list[RankRange]:
    """Each entry's ranks when as many queries are drawn, with repetition, as there are. The same seed gives the same.

    A rank is one more than there are entries with a higher mean.
    """
    values = _table(scores)
    entries, queries = values.shape
    if not queries:
        raise ValueError("ranks over no queries")
    ranks = np.zeros((draws, entries), np.int64)
    done = 0
    for weights in query_weights(queries, draws, np.random.default_rng(seed)):
        # Rounded, so that entries with the same scores in another order of summing are not told apart by the last bit.
        means = np.round(weights @ values.T / queries, 12)
        arranged = np.sort(means, axis=1)
        for row, run_means, by_size in zip(ranks[done:], means, arranged, strict=False):
            row[:] = entries - np.searchsorted(by_size, run_means, side="right") + 1
        done += len(weights)
    best = ranks == 1
    first = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    tail = (1 - confidence) / 2
    low = np.quantile(ranks, tail, axis=0, method="lower")
    high = np.quantile(ranks, 1 - tail, axis=0, method="higher")
    return [RankRange(int(a), int(b), float(c)) for a, b, c in zip(low, high, first, strict=True)]


def _table(scores: ArrayLike) -> Floats:
    values = np.asarray(scores, np.float64)
    if values.ndim != 2:
        raise ValueError(f"scores of {values.ndim} dimensions where [entries x queries] is needed")
    if not np.isfinite(values).all():
        raise ValueError("a score that is not a finite number")
    return values

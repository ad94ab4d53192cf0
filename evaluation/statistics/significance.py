"""Significance tests from counts, for many pairs of runs at a time. All are two-sided; all give [pairs].

A p-value is 1 where there is no difference at all ("identical"), and NaN where there is nothing to test: no query, or,
for t, a single query with a difference.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.joint_ranks import Tally

Floats = NDArray[np.float64]
# How a level is shared by a family of tests. bonferroni, holm: the chance of any false finding is at most the level;
# Holm finds no less. bh (Benjamini and Hochberg): the expected share of false findings among all is. none: each test
# has the whole level, so of a family that differs in nothing, so many are found.
Correction = Literal["bonferroni", "holm", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
_CANCELLED = 1e-3
_FEW = 8


def significance_threshold(p: ArrayLike, alpha: float, correction: Correction = "bonferroni") -> float:
    """What a p-value of this family of tests must be below to be significant at the level `alpha`.

    By Holm (1979) and by Benjamini and Hochberg (1995) it depends on the family's p-values: it is the level of the step
    at which the procedure stops. What there is nothing to test of (NaN) counts as p = 1.
    """
    if correction not in CORRECTIONS:
        raise ValueError(f"correction {correction!r} where there are {', '.join(CORRECTIONS)}")
    ordered = np.sort(np.nan_to_num(np.asarray(p, np.float64), nan=1.0))
    size = max(1, len(ordered))
    if correction == "none":
        return alpha
    if correction == "holm":
        rejected = np.flatnonzero(ordered >= alpha / np.arange(len(ordered), 0, -1))
        return alpha / (size - int(rejected[0])) if len(rejected) else alpha
    if correction == "bh":
        rejected = np.flatnonzero(ordered < alpha * np.arange(1, len(ordered) + 1) / size)
        return alpha * (int(rejected[-1]) + 1) / size if len(rejected) else alpha / size
    return alpha / size


class Signed(NamedTuple):
    """`p`, and `direction`: 1 where b's ranks are the greater ones, -1 where a's, 0 where neither."""

    p: Floats
    direction: Floats


def signed_ranks(tally: Tally) -> Signed:
    """Wilcoxon's signed-rank test: zeros left out, ties at their mean rank, normal approximation without correction.

    As `scipy.stats.wilcoxon(zero_method="wilcox", correction=False, method="asymptotic")` does with exact input.
    """
    sizes = tally.above + tally.below
    count = tally.queries - tally.none
    # Ties have the mean of the ranks that they take up: twice that is 2 * (how many up to this size) - size + 1.
    doubled = 2 * np.einsum("ps,ps->p", tally.above, _cumulate(sizes))
    doubled += tally.above.sum(axis=1) - np.einsum("ps,ps->p", tally.above, sizes)
    excess = doubled - count * (count + 1) / 2  # twice what W+ is above its mean
    ties = np.einsum("ps,ps->p", sizes * sizes, sizes) - count
    spread = np.sqrt((count * (count + 1) * (2 * count + 1) - ties / 2) / 24)
    z = np.divide(excess / 2, spread, out=np.zeros_like(spread), where=spread > 0)
    return Signed(np.where(tally.queries > 0, _two_sided(z), np.nan), np.sign(excess))


def paired_t(tally: Tally) -> Floats:
    """Student's t for paired samples. 0 where all differences are the same and not zero: t is infinite."""
    sizes, n = tally.sizes, tally.queries
    total = tally.above @ sizes - tally.below @ sizes
    squares = tally.above @ sizes**2 + tally.below @ sizes**2
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        spread = squares - total * mean
        for pair in np.flatnonzero(spread < _CANCELLED * squares):  # too few digits are left: take the mean off first
            above, below = tally.above[pair], tally.below[pair]
            apart = above @ (sizes - mean[pair]) ** 2 + below @ (sizes + mean[pair]) ** 2
            alike = max(above.max(), below.max()) == n[pair]
            spread[pair] = 0 if alike else apart + tally.none[pair] * mean[pair] ** 2
        from scipy import special  # here, since most commands need none of it and it takes long to load

        p: Floats = 2 * special.stdtr(n - 1, -np.abs(mean / np.sqrt(spread / (n - 1) / n)))
    p[n <= 1] = np.nan
    p[(tally.none == n) & (n > 0)] = 1.0
    return p


class Spread(NamedTuple):
    """The mean difference of b and a with its standard error, over `queries` queries; NaN where there is none."""

    mean: Floats
    error: Floats
    queries: Floats

    def interval(self, confidence: float = 0.95) -> Floats:
        """[2 x pairs]: the ends of Student's t-interval of the mean of differences from -1 to 1."""
        from scipy import special  # here, since most commands need none of it and it takes long to load

        with np.errstate(invalid="ignore"):
            half = special.stdtrit(self.queries - 1, (1 + confidence) / 2) * self.error
        ends: Floats = np.clip([self.mean - half, self.mean + half], -1, 1)
        return ends

    def no_worse(self, sign: Floats, margin: float) -> Floats:
        """The one-sided t-test that the run which `sign` names (1: b, -1: a) is worse by less than the margin."""
        from scipy import special  # here, since most commands need none of it and it takes long to load

        with np.errstate(divide="ignore", invalid="ignore"):
            p: Floats = special.stdtr(self.queries - 1, -(sign * self.mean + margin) / self.error)
        return p


def mean_differences(tally: Tally, scale: float = 1) -> Spread:
    """`scale`: how many units of the tally's sizes a difference of 1 has."""
    sizes, n = tally.sizes / scale, tally.queries
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (tally.above @ sizes - tally.below @ sizes) / n
        above = tally.above * (sizes - mean[:, None]) ** 2
        below = tally.below * (sizes + mean[:, None]) ** 2
        squares = above.sum(axis=1) + below.sum(axis=1) + tally.none * mean**2
        return Spread(mean, np.sqrt(squares / (n - 1) / n), n)


class RankSums(NamedTuple):
    """p-values of the rank-sum test: `plain`, and `tie_corrected`; `direction`: 1 where b's ranks are the greater ones,
    -1 where a's, 0 where neither.
    """

    plain: Floats
    tie_corrected: Floats
    direction: Floats


def rank_sums(a: ArrayLike, b: ArrayLike) -> RankSums:
    """Wilcoxon's rank-sum test of two samples, normal approximation without continuity correction.

    `a`, `b`: counts [pairs x values], values in the order of their size. `plain` is `scipy.stats.ranksums`, which knows
    no ties, `tie_corrected` is `scipy.stats.mannwhitneyu(use_continuity=False)`: exact instead where there are no ties
    and at most eight of a sample.
    """
    counts, others = np.asarray(a, np.float64), np.asarray(b, np.float64)
    sizes = counts + others
    ours, n = counts.sum(axis=1), sizes.sum(axis=1)
    doubled = 2 * _cumulate(sizes) - sizes + 1
    excess = ((counts * doubled).sum(axis=1) - ours * (n + 1)) / 2
    product = ours * (n - ours)
    ties = (sizes * (sizes * sizes - 1)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = excess / np.sqrt(product * (n + 1) / 12)
        corrected = excess / np.sqrt(product * ((n + 1) * n * (n - 1) - ties) / (12 * n * (n - 1)))
    p = np.where((sizes == n[:, None]).any(axis=1), 1.0, _two_sided(corrected))
    for pair in np.flatnonzero((sizes <= 1).all(axis=1) & (np.minimum(ours, n - ours) <= _FEW) & (product > 0)):
        p[pair] = _exact_rank_sum(counts[pair], others[pair])
    nothing = product == 0
    p_plain = np.where(nothing, np.nan, _two_sided(plain))
    return RankSums(p_plain, np.where(nothing, np.nan, p), -np.sign(excess))


def _exact_rank_sum(a: Floats, b: Floats) -> float:
    from scipy import stats  # takes long to load, and is seldom needed

    return float(stats.mannwhitneyu(np.flatnonzero(a), np.flatnonzero(b), method="exact").pvalue)


def sign_test(ours: ArrayLike, theirs: ArrayLike) -> Floats:
    """The exact two-sided binomial test of so many wins against so many; 1 where there are none."""
    first, other = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    fewer = np.minimum(first, other)
    most = first + other - fewer
    from scipy import special  # here, since most commands need none of it and it takes long to load

    tail = special.betainc(np.maximum(most, 1), fewer + 1, 0.5)  # of all n, at most `fewer`
    return np.where(most > fewer, np.minimum(1, 2 * tail), 1.0)


def _cumulate(counts: Floats) -> Floats:
    return np.cumsum(counts.astype(np.int64), axis=1).astype(np.float64)  # seven times as fast as adding up floats


def _two_sided(z: Floats) -> Floats:
    from scipy import special  # here, since most commands need none of it and it takes long to load

    p: Floats = 2 * special.ndtr(-np.abs(z))
    return p

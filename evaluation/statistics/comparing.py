"""Comparing runs, two by two (Lin et al. 2021): tests on RR, a breakdown by outcome, and what they come to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.joint_ranks import Differences, joint_histograms
from evaluation.statistics.ranks import Ranks, reciprocals
from evaluation.statistics.significance import paired_t, rank_sums, sign_test, signed_ranks

Floats = NDArray[np.float64]
Winner = Literal["a", "b"] | None
ALPHA = 0.05
_UNRELATED = 2.0  # standard errors: a correlation below is what runs without anything in common may have
_TELLING = 100  # with fewer queries, related runs may have such a correlation too


class Outcomes(NamedTuple):
    """Queries by who found the relevant passage within k, and the exact binomial test of `a_only` against `b_only`."""

    neither: int
    a_only: int
    b_only: int
    both: int
    p: float


class Both(NamedTuple):
    """Where both found it: mean search lengths (ranks) and RR, and their tests. None where no query is such."""

    esl_a: float | None
    esl_b: float | None
    rr_a: float | None
    rr_b: float | None
    esl_wsr: float | None
    esl_t: float | None
    rr_wsr: float | None
    rr_t: float | None


class Alignment(NamedTuple):
    """Whether the runs look as if they had been joined by query.

    `correlation`: Pearson's, of the two RRs; None where one does not vary. `joint_misses`: queries that both miss, over
    how many these would be if the misses had nothing to do with each other; None where one misses none. `unrelated`:
    there are 100 queries or more, and the correlation is within two standard errors of 0, or below.
    """

    correlation: float | None
    joint_misses: float | None
    unrelated: bool


class Compared(NamedTuple):
    """Run b against run a. `delta`: mean RR@k of b less that of a. p-values are raw; `t` may be None (one query).

    `identical`: the same RR in every query. `found`: who is significantly better in outcomes. `ranked`: who is so in
    ESL, which takes a lower mean, a significant WSR, and that both point the same way. `strict`: who is both.
    `do_no_harm`: who is one of them without the other run being the other. None: neither run.
    """

    a: str
    b: str
    delta: float
    wrs: float
    wrs_tie_corrected: float
    wsr: float
    t: float | None
    outcomes: Outcomes
    both: Both
    alignment: Alignment
    identical: bool
    found: Winner
    ranked: Winner
    strict: Winner
    do_no_harm: Winner

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        both = self.both._asdict()
        tests = ("esl_wsr", "esl_t", "rr_wsr", "rr_t")
        return {
            "a": self.a,
            "b": self.b,
            "delta": self.delta,
            "p": {"wrs": self.wrs, "wrs_tie_corrected": self.wrs_tie_corrected, "wsr": self.wsr, "t": self.t},
            "outcomes": self.outcomes._asdict(),
            "both": {name: value for name, value in both.items() if name not in tests}
            | {"p": {name: both[name] for name in tests}},
            "identical": self.identical,
            "significant": {"outcomes": self.found, "esl": self.ranked},
            "alignment": self.alignment._asdict(),
            "verdict": {"strict": self.strict, "do_no_harm": self.do_no_harm},
        }


@dataclass(frozen=True)
class Comparison:
    """All pairs of runs in the order given: (first, second), (first, third), ...

    A verdict takes p < `threshold` as significant, which is `alpha` over the number of pairs (Bonferroni).
    """

    k: int
    queries: int
    alpha: float
    means: dict[str, float]
    pairs: tuple[Compared, ...]

    @property
    def threshold(self) -> float:
        """The greatest p-value that is significant."""
        return self.alpha / max(1, len(self.pairs))

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "k": self.k,
            "queries": self.queries,
            "alpha": self.alpha,
            "family": len(self.pairs),
            "threshold": self.threshold,
            "means": self.means,
            "pairs": [pair.as_dict() for pair in self.pairs],
        }


def compare(ranks: Ranks, alpha: float = ALPHA) -> Comparison:
    """Every two runs, over all queries of `ranks`. Raises ValueError where there is no query."""
    if not ranks.queries:
        raise ValueError("a comparison over no queries")
    rows = list(combinations(range(len(ranks.runs)), 2))
    threshold = alpha / max(1, len(rows))
    return Comparison(ranks.k, len(ranks.queries), alpha, ranks.means(), tuple(_compare(ranks, rows, threshold)))


def _compare(ranks: Ranks, rows: list[tuple[int, int]], threshold: float) -> Iterator[Compared]:
    totals, scale = ranks.totals()
    kinds = _Kinds(ranks.k)
    found = (row for histograms in joint_histograms(ranks, rows) for row in kinds.statistics(histograms, threshold))
    for (a, b), row in zip(rows, found, strict=True):
        yield Compared(
            a=ranks.runs[a],
            b=ranks.runs[b],
            delta=(totals[b] - totals[a]) / (scale * len(ranks.queries)),
            wrs=row.wrs,
            wrs_tie_corrected=row.wrs_tie_corrected,
            wsr=row.wsr,
            t=_known(row.t),
            outcomes=_outcomes(row),
            both=Both(*map(_known, row.both)),
            alignment=Alignment(_known(row.correlation), _known(row.joint_misses), row.unrelated),
            identical=row.identical,
            found=_WINNERS[row.found],
            ranked=_WINNERS[row.ranked],
            strict=_WINNERS[row.strict],
            do_no_harm=_WINNERS[row.do_no_harm],
        )


class _Row(NamedTuple):
    """A pair's statistics, NaN where there is none: `outcomes` and `both` in the order of their types."""

    wrs: float
    wrs_tie_corrected: float
    wsr: float
    t: float
    outcomes: tuple[float, float, float, float]
    answered: float
    both: tuple[float, ...]
    correlation: float
    joint_misses: float
    unrelated: bool
    identical: bool
    found: float
    ranked: float
    strict: float
    do_no_harm: float


_WINNERS: dict[float, Winner] = {-1.0: "a", 0.0: None, 1.0: "b"}


class _Kinds:
    """What depends on k alone."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.rr = Differences.of_reciprocal_ranks(k)
        self.esl = Differences.of_search_lengths(k)

    def statistics(self, histograms: Floats, threshold: float) -> Iterator[_Row]:
        """Of every pair of the batch."""
        width = self.k + 1
        cube = histograms.reshape(-1, width, width)
        worst_first = [0, *range(self.k, 0, -1)]
        all_a, all_b = cube.sum(axis=2), cube.sum(axis=1)
        wrs = rank_sums(all_a[:, worst_first], all_b[:, worst_first])
        rr = self.rr.tally(histograms)
        neither, a_only = cube[:, 0, 0], cube[:, 1:, 0].sum(axis=1)
        b_only, both = cube[:, 0, 1:].sum(axis=1), all_a[:, 1:].sum(axis=1) - a_only
        answered = sign_test(a_only, b_only)
        esl, rr_both = self.esl.tally(histograms), self.rr.where_both_found(rr, histograms)
        esl_wsr = signed_ranks(esl)
        of_a, of_b = all_a[:, 1:] - cube[:, 1:, 0], all_b[:, 1:] - cube[:, 0, 1:]
        rank, value = np.arange(1, width), reciprocals(self.k)[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [side @ weights / both for weights in (rank, value) for side in (of_a, of_b)]
        better_found = np.where(answered < threshold, np.sign(b_only - a_only), 0)
        shorter = np.sign(of_a @ rank - of_b @ rank)
        better_ranked = np.where((esl_wsr.p < threshold) & (esl_wsr.direction == -shorter), shorter, 0)
        strict = np.where(better_found == better_ranked, better_found, 0)
        harmless = np.sign(better_found + better_ranked)
        tests = [esl_wsr.p, paired_t(esl), signed_ranks(rr_both).p, paired_t(rr_both)]
        columns = [
            *(wrs.plain, wrs.tie_corrected, signed_ranks(rr).p, paired_t(rr)),
            np.stack([neither, a_only, b_only, both], axis=1),
            answered,
            np.stack([*means, *tests], axis=1),
            *_alignment(cube, all_a, all_b),
            *(rr.none == rr.queries, better_found, better_ranked, strict, harmless),
        ]
        return map(_Row._make, zip(*(column.tolist() for column in columns), strict=True))


def _alignment(cube: Floats, of_a: Floats, of_b: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Correlation, joint misses over the expected, and whether the runs look unrelated."""
    value = reciprocals(cube.shape[1] - 1)
    n = of_a.sum(axis=1)
    mean_a, mean_b = of_a @ value / n, of_b @ value / n
    spread_a, spread_b = of_a @ value**2 / n - mean_a**2, of_b @ value**2 / n - mean_b**2
    product = cube @ value @ value
    varies = (of_a.max(axis=1) < n) & (of_b.max(axis=1) < n)
    missed = of_a[:, 0] * of_b[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(varies, (product / n - mean_a * mean_b) / np.sqrt(spread_a * spread_b), np.nan)
        joint_misses = np.where(missed > 0, cube[:, 0, 0] * n / missed, np.nan)
        unrelated = varies & (n >= _TELLING) & (correlation * np.sqrt(n) < _UNRELATED)
    return np.clip(correlation, -1, 1), joint_misses, unrelated


def _outcomes(row: _Row) -> Outcomes:
    neither, a_only, b_only, both = map(int, row.outcomes)
    return Outcomes(neither, a_only, b_only, both, row.answered)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value

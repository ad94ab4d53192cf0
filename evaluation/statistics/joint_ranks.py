"""How two runs' ranks go together, counted: all that the paired tests need.

A joint histogram counts, for each of (k + 1) x (k + 1) cells, the queries that run a has at rank i and run b at rank j;
0 is "not within k". Cell (i, j) is number i * (k + 1) + j. Batches of histograms are arrays [pairs x cells] of float64,
whose counts are exact. Cells are grouped where their differences are equal as fractions, so rounding breaks no tie:
1/2 - 1/3 is 1/3 - 1/6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.ranks import Ranks

Floats = NDArray[np.float64]
_BATCH = 200_000  # cells at a time, so that a batch stays in cache
_EXACT = 1 << 26  # squares of greater numbers are not exact as floats


def joint_histograms(ranks: Ranks, pairs: Sequence[tuple[int, int]]) -> Iterator[Floats]:
    """Batches of joint histograms [pairs x cells], in the order of the pairs, given as rows of `ranks.places`."""
    width = ranks.k + 1
    cells = width * width
    size = max(1, _BATCH // cells)
    shifted = ranks.places * width
    for start in range(0, len(pairs), size):
        batch = pairs[start : start + size]
        histograms = np.empty((len(batch), cells))
        for row, (a, b) in zip(histograms, batch, strict=True):
            row[:] = np.bincount(shifted[a] + ranks.places[b], minlength=cells)
        yield histograms


class Tally(NamedTuple):
    """How often each difference of b less a came up: `above`, `below` [pairs x sizes], `none` [pairs], float64.

    `sizes`: the absolute differences, ascending, without 0. Whole numbers where they fit, else rounded once.
    `queries` [pairs]: how many were compared, that is the sum of all.
    """

    sizes: Floats
    above: Floats
    below: Floats
    none: Floats
    queries: Floats


@dataclass(frozen=True, eq=False)
class Differences:
    """Which cells have the same difference: `labels` [cells] says which column of a tally counts a cell.

    With n sizes these are n columns for b above a, n for b below a, one for no difference, one for what does not count.
    """

    sizes: Floats
    labels: NDArray[np.int64]
    scale: float = 1  # how many units of the sizes a difference of 1 has

    @classmethod
    def of_reciprocal_ranks(cls, k: int) -> Differences:
        """RR of b less RR of a, in units of 1/lcm(1..k) for small k."""
        a, b = _cells(k)
        # One division of two whole numbers rounds once, so that equal fractions become equal floats.
        upper = np.where((a > 0) & (b > 0), a - b, np.sign(b) - np.sign(a))
        differences = upper / (np.maximum(a, 1) * np.maximum(b, 1))
        levels = cls._of(differences, np.ones_like(a, np.bool_))
        scale = math.lcm(*range(1, k + 1))
        return cls(np.rint(levels.sizes * scale), levels.labels, scale) if scale <= _EXACT else levels

    @classmethod
    def of_search_lengths(cls, k: int) -> Differences:
        """ESL of b less ESL of a, that is the rank, where both found it."""
        a, b = _cells(k)
        return cls._of((b - a).astype(np.float64), (a > 0) & (b > 0))

    @classmethod
    def _of(cls, differences: Floats, is_counted: NDArray[np.bool_]) -> Differences:
        sizes = np.unique(np.abs(differences[is_counted & (differences != 0)]))
        labels = np.searchsorted(sizes, np.abs(differences)) + len(sizes) * (differences < 0)
        labels[differences == 0] = 2 * len(sizes)
        labels[~is_counted] = 2 * len(sizes) + 1
        return cls(sizes, labels)

    def tally(self, histograms: Floats) -> Tally:
        n = len(self.sizes)
        counts = np.empty((len(histograms), 2 * n + 2))
        for row, histogram in zip(counts, histograms, strict=True):
            row[:] = np.bincount(self.labels, histogram, len(row))
        queries = counts[:, : 2 * n + 1].sum(axis=1)
        return Tally(self.sizes, counts[:, :n], counts[:, n : 2 * n], counts[:, 2 * n], queries)

    def where_both_found(self, tally: Tally, histograms: Floats) -> Tally:
        """A tally of reciprocal ranks without the queries that a run misses."""
        width = math.isqrt(len(self.labels))
        cube = histograms.reshape(-1, width, width)
        only_a, only_b = cube[:, 1:, 0], cube[:, 0, 1:]
        sizes = self.labels[1:width]  # of the cells (0, 1), (0, 2), ..., where only b found it
        above, below = tally.above.copy(), tally.below.copy()
        above[:, sizes] -= only_b
        below[:, sizes] -= only_a
        missed = only_a.sum(axis=1) + only_b.sum(axis=1) + cube[:, 0, 0]
        return Tally(tally.sizes, above, below, tally.none - cube[:, 0, 0], tally.queries - missed)


def _cells(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    a, b = np.indices((k + 1, k + 1)).reshape(2, -1)
    return a, b

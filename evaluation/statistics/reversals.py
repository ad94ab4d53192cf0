"""Which conclusions would survive if some of the judgments were reversed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import Bools, SizedPools, by_size, winners
from evaluation.statistics.ranks import Board, reciprocals
from evaluation.statistics.resampling import DRAWS

Floats = NDArray[np.float64]
_SEVERAL = 4096  # deadlocks at a time
SHARE = 0.05  # of the judgments
SURVIVES = 0.95  # a conclusion survives that holds in so many of the draws


class Reversals(NamedTuple):
    """What becomes of answers and runs where judgments are reversed.

    `answers`: by query, the share of draws in which its best known answers stay exactly the same. `means`: the runs'
    mean RR in each draw, [runs x draws], in the board's order; None without queries to score them on.
    """

    answers: dict[str, float]
    means: NDArray[np.float64] | None

    def above(self, upper: int, lower: int) -> float:
        """The share of draws in which one run, by its number, has a greater mean than another. Needs means."""
        assert self.means is not None
        return float((self.means[upper] > self.means[lower]).mean())

    def first(self, run: int) -> float:
        """The share of draws in which no run has a greater mean. Needs means."""
        assert self.means is not None
        return float((self.means[run] == self.means.max(axis=0)).mean())


def reverse_judgments(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    board: Board,
    queries: Sequence[str],
    share: float = SHARE,
    draws: int = DRAWS,
    seed: int = 0,
    again: bool = True,
) -> Reversals:
    """Reverse each judgment with a chance of `share`, independently of the others, and play every tournament again.

    `again`: whether passages that tie for first play again (`best_known`), or all win (`most_wins`). Ties stay as they
    are. The pools are those that give qrels, and runs are scored on those of the `queries`. The same
    seed gives the same, whatever the order of the input. Raises ValueError where the share is not 0 to 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share {share} where 0 to 1 is needed")
    random = np.random.default_rng(seed)
    answers: dict[str, float] = {}
    scored = {*queries}
    counts = np.array([query in scored for query in sorted(pools)], np.int64)
    standing = _Standing(board, sorted(pools), np.tile(counts, (draws, 1))) if counts.any() else None
    for group in by_size(pools, preferences, again=again):
        names = list(group.pools)
        halves = (2 * group.counts[..., 0] + group.counts[..., 2]).T
        before = winners(group.size, halves, 2 * group.counts.sum(axis=2).T, again)
        if standing is not None:
            standing.enter(group)
        for part, won in group.reversed(share, draws, random):
            same = (won == before[:, part, None]).all(axis=0).mean(axis=1)
            answers |= dict(zip(names[part], same.tolist(), strict=True))
            if standing is not None:
                standing.add(part, won)
    means = None if standing is None else standing.means()
    return Reversals({query: answers[query] for query in sorted(answers)}, means)


class _Standing:
    """Sums of the runs' scores over resamples, group after group of pools of one size.

    `weights` [draws x queries]: how often each query counts in each resample. Scores are RR@k
    of the board.
    """

    def __init__(self, board: Board, queries: list[str], weights: NDArray[Any]) -> None:
        self._board = board
        self._weights = weights
        self._column = {query: at for at, query in enumerate(queries)}
        self._sums = np.zeros((len(weights), len(board.runs)))

    def enter(self, group: SizedPools) -> None:
        """Take up the pools of one size: what each of their passages is worth to each run."""
        self._columns = np.array([self._column[query] for query in group.pools])
        places = self._board.places(group.pools).transpose(1, 2, 0)
        self._values = np.ascontiguousarray(reciprocals(self._board.k)[places])

    def add(self, part: slice, won: Bools) -> None:
        """Add these pools, [size x pools x draws], to the sums."""
        from scipy import sparse  # here, since most commands need none of it and it takes long to load

        values, weights = self._values[part], self._weights[:, self._columns[part]]
        size, pools, draws = won.shape
        # A winner's place in the list of all passages; several winners have a place of their own at its end.
        places = won.argmax(axis=0) + size * np.arange(pools)[:, None]
        counts = won.sum(axis=0)
        row, draw = np.nonzero(counts > 1)
        best = self._several(values, won, row, draw)
        places[row, draw] = size * pools + np.arange(len(row))
        chosen = sparse.csr_array(
            (weights.ravel(), places.T.ravel(), np.arange(0, draws * pools + 1, pools)),
            shape=(draws, size * pools + len(row)),
        )
        self._sums += chosen @ np.concatenate([values.reshape(size * pools, -1), best])

    def means(self) -> Floats:
        """The runs' means in each resample, [runs x draws]."""
        # Equal sums may differ in their last digits, by the order that they were added in.
        means: Floats = (self._sums / self._weights.sum(axis=1)[:, None]).T.round(12)
        return means

    def _several(self, values: Floats, won: Bools, row: NDArray[np.int64], draw: NDArray[np.int64]) -> Floats:
        """[several x runs]: what several winners of a pool in a draw are worth; part by part, to bound memory."""
        best = np.zeros((len(row), values.shape[2]))
        for start in range(0, len(row), _SEVERAL):
            part = slice(start, start + _SEVERAL)
            of_them = values[row[part]].transpose(1, 0, 2) * won[:, row[part], draw[part]][..., None]
            best[part] = of_them.max(axis=0)
        return best

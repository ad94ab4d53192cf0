"""Which conclusions would survive if some of the judgments were reversed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import by_size, winners
from evaluation.statistics.certainty import Standing
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import DRAWS

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
    standing = Standing(board, sorted(pools), np.tile(counts, (draws, 1))) if counts.any() else None
    for group in by_size(pools, preferences, again=again):
        names = list(group.pools)
        halves = (2 * group.counts[..., 0] + group.counts[..., 2]).T
        before = winners(group.size, halves, 2 * group.counts.sum(axis=2).T, again)
        if standing is not None:
            best = {
                query: {passage for passage, won in zip(group.pools[query], own, strict=True) if won}
                for query, own in zip(names, before.T, strict=True)
            }
            standing.enter(group, best)
        for part, won in group.reversed(share, draws, random):
            same = (won == before[:, part, None]).all(axis=0).mean(axis=1)
            answers |= dict(zip(names[part], same.tolist(), strict=True))
            if standing is not None:
                standing.add(part, won)
    means = None if standing is None else standing.means()
    return Reversals({query: answers[query] for query in sorted(answers)}, means)

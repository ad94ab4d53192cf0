"""How many judgments of a pool have to be reversed before other passages are the best known answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import SizedPools, by_size, winners
from evaluation.judging.rounds import Status

Integers = NDArray[np.int64]
_MOST = 500_000  # ways of reversing that are tried for one pool
_MOST_CELLS = 50_000_000  # of them, times the pairs of the pool: large pools try fewer ways
_BATCH_CELLS = 2_000_000  # at once in memory


class Fragility(NamedTuple):
    """The fewest judgments whose reversal changes the winners of `best_known`, or of `most_wins` where those that tie
    for first do not play again; None where no reversal does.

    `exact`: False where not all ways were tried, so that fewer might do. Ties are not reversed.
    """

    judgments: int | None
    exact: bool


def fragilities(pools: SizedPools) -> dict[str, Fragility]:
    """By query, in the order of the pools."""
    return {
        query: _Pool(pools.size, counts, pools.again).fragility()
        for query, counts in zip(pools.pools, pools.counts, strict=True)
    }


def final_fragilities(rounds: Mapping[str, Status], preferences: Iterable[Preference]) -> dict[str, Fragility]:
    """Of rounds that are over, by query: by the judgments of the passages in the final. Those of earlier rounds decided
    who reached it, so fewer of these might do.
    """
    finals = {query: status.playing for query, status in rounds.items()}
    inside = (row for row in preferences if {row.a, row.b}.issubset(finals.get(row.query, ())))
    by_query = {}
    for group in by_size(finals, inside, again=False):
        for query, (judgments, exact) in fragilities(group).items():
            is_whole = len(rounds[query].sizes) < 2
            by_query[query] = Fragility(judgments, exact and (is_whole or judgments == 1))
    return by_query


class _Pool:
    """One pool's judgments, in half wins: a win is two for the passage that was preferred, a tie one for both.

    Reversing a judgment takes two from its winner and gives them to its loser.
    """

    def __init__(self, size: int, counts: Integers, again: bool) -> None:
        self._size, self._again = size, again
        self._most = min(_MOST, _MOST_CELLS // max(1, len(counts)))
        self._batch = max(1, _BATCH_CELLS // max(1, len(counts)))
        pairs = list(combinations(range(size), 2))
        self._moves = [  # (number of the pair, halves that its first passage gains by a reversal, winner, loser)
            move for at, (a, b) in enumerate(pairs) for move in ((at, -2, a, b), (at, 2, b, a))
        ]
        self._left = counts[:, :2].ravel().tolist()  # how often each move can be made
        self._halves = 2 * counts[:, 0] + counts[:, 2]
        self._totals = 2 * counts.sum(axis=1)
        self._wins = np.zeros((size, size), np.int64)
        for (_, _, winner, loser), count in zip(self._moves, self._left, strict=True):
            self._wins[winner, loser] = count
        self._scores = np.zeros(size, np.int64)
        for (a, b), halves, total in zip(pairs, self._halves.tolist(), self._totals.tolist(), strict=True):
            self._scores[a] += halves
            self._scores[b] += total - halves

    def fragility(self) -> Fragility:
        if not any(self._left):
            return Fragility(None, True)
        self._best = winners(self._size, self._halves[:, None], self._totals[:, None], self._again)[:, 0]
        leaders = np.flatnonzero(self._scores == self._scores.max())
        if len(leaders) == 1:
            return self._of_one(int(leaders[0]))
        # One win less, and a winner is behind the other leaders.
        return Fragility(1, True) if self._wins[self._best].any() else self._first_that_changes(1)

    def _of_one(self, first: int) -> Fragility:
        """Where one passage has the most wins. It stays the winner until another is level with it, and is none once
        another is ahead. Between the two there is one reversal at most.
        """
        others = [passage for passage in range(self._size) if passage != first]
        if not self._again:  # then it is no longer alone once another is level with it
            least = min(self._needed(first, other, 0) for other in others)
            return Fragility(None if least == math.inf else int(least), True)
        ahead = min(self._needed(first, other, 1) for other in others)
        level = {other: self._needed(first, other, 0) for other in others}
        if ahead == math.inf:
            return (
                self._first_that_changes(int(least))
                if (least := min(level.values())) < math.inf
                else Fragility(None, True)
            )
        fewer = int(ahead) - 1
        exact = True
        for other in others:
            if level[other] <= fewer:
                changes = self._some_change(self._ways_to_draw_level(first, other, fewer))
                if changes:
                    return Fragility(fewer, True)
                exact = exact and changes is not None
        return Fragility(int(ahead), exact)

    def _needed(self, first: int, other: int, margin: int) -> float:
        """The fewest reversals after which the other has at least so many halves more than the first."""
        gap = int(self._scores[first] - self._scores[other]) + margin
        between = int(self._wins[first, other])  # each closes the gap by four
        elsewhere = int(self._wins[first].sum() + self._wins[:, other].sum()) - 2 * between  # by two
        double = min(between, -(-gap // 4))
        single = max(0, -(-(gap - 4 * double) // 2))
        return double + single if single <= elsewhere else math.inf

    def _ways_to_draw_level(self, first: int, other: int, count: int) -> Iterator[list[int]]:
        """Each way to make so many reversals after which the two are level. One fewer would not do, so that each is one
        of the first's wins or the other's losses.
        """
        double, odd = divmod(int(self._scores[first] - self._scores[other]) - 2 * count, 2)
        between = next(at for at, move in enumerate(self._moves) if move[2:] == (first, other))
        if odd or not 0 <= double <= min(count, self._left[between]):
            return
        useful = [at for at, (_, _, winner, loser) in enumerate(self._moves) if (winner == first) != (loser == other)]
        for way in _ways([self._left[at] for at in useful], count - double):
            yield [between] * double + [useful[at] for at in way]

    def _first_that_changes(self, least: int) -> Fragility:
        tried = 0
        for count in range(least, sum(self._left) + 1):
            changes = self._some_change(_ways(self._left, count))
            if changes:
                return Fragility(count, True)
            tried += math.comb(sum(self._left), count)
            if changes is None or tried > self._most:
                return Fragility(None, False)
        return Fragility(None, True)

    def _some_change(self, ways: Iterator[list[int]]) -> bool | None:
        """Whether one of these ways to make reversals changes the winners; None if there are too many to try."""
        tried = 0
        while batch := [way for _, way in zip(range(self._batch), ways, strict=False)]:
            halves = np.repeat(self._halves[:, None], len(batch), axis=1)
            for column, way in enumerate(batch):
                for move in way:
                    at, gain, _, _ = self._moves[move]
                    halves[at, column] += gain
            won = winners(self._size, halves, self._totals[:, None], self._again)
            if (won != self._best[:, None]).any():
                return True
            tried += len(batch)
            if tried >= self._most:
                return None
        return False


def _ways(left: Sequence[int], count: int, start: int = 0) -> Iterator[list[int]]:
    """Each choice of so many moves, by number and sorted, where move i can be chosen left[i] times."""
    if not count:
        yield []
        return
    for at in range(start, len(left)):
        for times in range(1, min(left[at], count) + 1):
            for rest in _ways(left, count - times, at + 1):
                yield [at] * times + rest

"""Tournaments of `best_known` by the thousand, as arrays, and what they are played by.

Wins are counted in halves, as in `tournament`: a pair with n judgments has 2n half wins, of which `halves` are those of
its first passage. Pairs of a pool are those of `combinations(range(size), 2)`, in that order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference

Integers = NDArray[Any]
Bools = NDArray[np.bool_]
_BATCH = 1 << 20  # numbers at a time, so that a batch stays in cache
_CHANCES = 1 << 32  # what a draw is one of


def winners(size: int, halves: Integers, totals: Integers, again: bool = True) -> Bools:
    """Which passages `best_known` returns [passages x tournaments], from half wins and their totals; or `most_wins`,
    where those that tie for first do not play again.

    `halves` is [pairs x tournaments], of as many dimensions as wanted, and `totals` broadcasts to it.
    """
    shape = halves.shape[1:]
    if size == 1:
        return np.ones((1, *shape), np.bool_)
    pairs = list(combinations(range(size), 2))
    first, second = zip(*pairs, strict=True)
    of_second = np.zeros((size, *totals.shape[1:]), np.int64)
    np.add.at(of_second, np.array(second), totals)
    most = of_second.copy()
    np.add.at(most, np.array(first), totals)
    # The smallest numbers that hold a score are added up the fastest.
    small = np.min_scalar_type(-1 - int(most.max(initial=1)))
    won = halves.astype(small, copy=False)
    scores = np.empty((size, *shape), small)
    scores[:] = of_second  # as if the second of each pair had won them all
    for (a, b), of_a in zip(pairs, won, strict=True):
        scores[a] += of_a
        scores[b] -= of_a
    leaders: Bools = scores == scores.max(axis=0)
    if not again:
        return leaders
    leading = _count(leaders)
    open_: tuple[Any, ...] = (slice(None), *np.nonzero((leading > 1) & (leading < size)))
    playing, won = leaders[open_], won[open_]
    lost = np.broadcast_to(totals, halves.shape)[open_].astype(small) - won
    while playing.size:
        scores = np.where(playing, 0, -1).astype(small)
        for (a, b), of_a, of_b in zip(pairs, won, lost, strict=True):
            both = playing[a] & playing[b]
            scores[a] += of_a * both
            scores[b] += of_b * both
        left = scores == scores.max(axis=0)
        leaders[open_] = left
        leading = _count(left)
        stays = (leading > 1) & (leading < _count(playing))
        open_ = (slice(None), *(at[stays] for at in open_[1:]))
        playing, won, lost = left[:, stays], won[:, stays], lost[:, stays]
    return leaders


def _count(passages: Bools) -> Integers:
    """How many passages of each tournament, in numbers that are added up fast."""
    return np.asarray(passages.sum(axis=0, dtype=np.min_scalar_type(len(passages))))


@dataclass(frozen=True, eq=False)
class SizedPools:
    """Pools of one size, with all their judgments counted.

    `pools`: passages, sorted, by query. `counts` [pools x pairs x 3]: judgments for the first of a pair, for the
    second, and ties. `again`: whether those that tie for first play again, as in `winners`.
    """

    size: int
    pools: dict[str, tuple[str, ...]]
    counts: NDArray[np.int64]
    again: bool = True

    def reversed(self, share: float, draws: int, random: np.random.Generator) -> Iterator[tuple[slice, Bools]]:
        """Who wins when each judgment is reversed with a chance of `share`, independently of the others; ties stay.
        [size x pools x draws], for slice after slice of the pools.
        """
        step = max(1, _BATCH // (draws * max(1, self.counts.shape[1])))
        for start in range(0, len(self.pools), step):
            part = slice(start, min(start + step, len(self.pools)))
            counts = self.counts[part].swapaxes(0, 1)
            halves = _draw(counts, share, draws, random)
            totals = 2 * counts.sum(axis=2)[..., None]
            yield part, winners(self.size, halves, totals, self.again)


def by_size(
    pools: Mapping[str, Collection[str]], preferences: Iterable[Preference], *, again: bool = True
) -> list[SizedPools]:
    """Pools by size, ascending, queries sorted. Raises UnknownPassage as `derive` does."""
    sorted_pools = {query: tuple(sorted(set(pools[query]))) for query in sorted(pools)}
    sizes: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for query, pool in sorted_pools.items():
        if pool:
            sizes[len(pool)][query] = pool
    at: dict[str, tuple[int, int]] = {}
    counts = {}
    for size, pools_of_size in sorted(sizes.items()):
        counts[size] = np.zeros((len(pools_of_size), size * (size - 1) // 2, 3), np.int64)
        at |= {query: (size, row) for row, query in enumerate(pools_of_size)}
    pairs = {size: {pair: number for number, pair in enumerate(combinations(range(size), 2))} for size in sizes}
    places = {query: {passage: number for number, passage in enumerate(pool)} for query, pool in sorted_pools.items()}
    for query, a, b, preferred in preferences:
        place = places.get(query, {})
        for passage in (a, b):
            if passage not in place:
                raise UnknownPassage(passage)
        size, row = at[query]
        first, other = sorted((place[a], place[b]))
        kind = 2 if preferred is None else int(place[preferred] == other)
        counts[size][row, pairs[size][first, other], kind] += 1
    return [SizedPools(size, pools_of_size, counts[size], again) for size, pools_of_size in sorted(sizes.items())]


def _draw(counts: Integers, share: float, draws: int, random: np.random.Generator) -> Integers:
    """Half wins of the first of each pair, [pairs x pools x draws], from counts [pairs x pools x 3].

    One number is drawn for each pair; which half wins it stands for is read off their distribution.
    """
    flat = counts.reshape(-1, 3)
    base = int(flat.max(initial=0)) + 1
    _, one_each, which = np.unique(flat @ (base**2, base, 1), return_index=True, return_inverse=True)
    laws = [_reversed_law(kind, share) for kind in flat[one_each].tolist()]
    most = max((len(law) for law in laws), default=1)
    # No more half wins than the judgments of a pair have; less than none keeps the type signed.
    values = np.zeros((len(laws), most), np.min_scalar_type(-1 - 2 * int(flat.sum(axis=1).max(initial=1))))
    bounds = np.full((len(laws), most), _CHANCES, np.int64)
    for law, value, bound in zip(laws, values, bounds, strict=True):
        value[: len(law)], value[len(law) :] = list(law), max(law)
        bound[: len(law)] = np.rint(np.cumsum(list(law.values())) * _CHANCES)
    drawn = random.integers(_CHANCES, size=(len(flat), draws), dtype=np.uint32)
    steps = np.diff(values, axis=1)
    halves = np.repeat(values[which, 0][:, None], draws, axis=1)
    for step in range(most - 1):
        # A bound beyond the last number is never reached.
        reached = np.flatnonzero(bounds[which, step] < _CHANCES)
        if not reached.size:
            continue
        rows: Any = slice(None) if len(reached) == len(flat) else reached
        least = bounds[which[rows], step, None].astype(np.uint32)
        halves[rows] += (drawn[rows] >= least) * steps[which[rows], step, None]
    return halves.reshape(*counts.shape[:2], draws)


def _reversed_law(kind: list[int], share: float) -> dict[int, float]:
    """The chances of each number of half wins of a pair's first passage, where each judgment that is no tie is reversed
    by a chance: `kind` is its counts.
    """
    first, second, ties = kind
    as_is, turned = (share, 0.0, 1 - share), (1 - share, 0.0, share)
    chances = np.ones(1)
    for step in [as_is] * first + [turned] * second + [(0.0, 1.0, 0.0)] * ties:
        chances = np.convolve(chances, step)
    return {half: chance for half, chance in enumerate(chances.tolist()) if chance > 0}

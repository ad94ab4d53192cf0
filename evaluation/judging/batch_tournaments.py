"""Tournaments of `best_known` by the thousand, as arrays, and what they are drawn from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference

# What judgments are drawn again from: those of the same pair, so that each keeps its number, or those of the pool.
Within = Literal["pair", "pool"]

WITHINS: tuple[Within, ...] = get_args(Within)

Wins = NDArray[np.int64]
Bools = NDArray[np.bool_]
_BATCH = 1 << 21  # numbers at a time


def winners(halves: Wins) -> Bools:
    """Which passages `best_known` returns: [..., passages], from half wins [..., of this passage, over that one]."""
    playing = np.ones(halves.shape[:-1], np.bool_)
    while True:
        scores = np.where(playing, (halves * playing[..., None, :]).sum(axis=-1), -1)
        leaders: Bools = scores == scores.max(axis=-1, keepdims=True)
        if np.array_equal(leaders, playing):
            return leaders
        playing = leaders


@dataclass(frozen=True, eq=False)
class SizedPools:
    """Pools of one size, with all their judgments counted.

    `pools`: passages, sorted, by query. `counts` [pools x pairs x 3]: judgments for the first of a pair, for the
    second, and ties; pairs are those of `combinations(range(size), 2)`.
    """

    size: int
    pools: dict[str, tuple[str, ...]]
    counts: NDArray[np.int64]

    def halves(self, counts: NDArray[np.int64]) -> Wins:
        """Half wins [..., size x size] from counts [..., pairs x 3]."""
        first, second = (np.array(side, np.int64) for side in zip(*combinations(range(self.size), 2), strict=True))
        found = np.zeros((*counts.shape[:-2], self.size, self.size), np.int64)
        found[..., first, second] = 2 * counts[..., 0] + counts[..., 2]
        found[..., second, first] = 2 * counts[..., 1] + counts[..., 2]
        return found

    def resampled(self, within: Within, draws: int, random: np.random.Generator) -> Iterator[tuple[list[str], Bools]]:
        """Batches of queries, and who wins their tournaments when judgments are drawn again: [queries, draws, size]."""
        queries = list(self.pools)
        if self.size == 1:
            yield queries, np.ones((len(queries), draws, 1), np.bool_)
            return
        step = max(1, _BATCH // (draws * self.size * self.size))
        for start in range(0, len(queries), step):
            drawn = _draw(self.counts[start : start + step], within, draws, random)
            yield queries[start : start + step], winners(self.halves(drawn)).swapaxes(0, 1)


def by_size(pools: Mapping[str, Collection[str]], preferences: Iterable[Preference]) -> list[SizedPools]:
    """Pools by size, ascending, queries sorted. Raises UnknownPassage as `derive` does."""
    sorted_pools = {query: tuple(sorted(set(pools[query]))) for query in sorted(pools)}
    sizes: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for query, pool in sorted_pools.items():
        if pool:
            sizes[len(pool)][query] = pool
    at: dict[str, tuple[int, int]] = {}
    counts = {}
    for size, own in sorted(sizes.items()):
        counts[size] = np.zeros((len(own), size * (size - 1) // 2, 3), np.int64)
        at |= {query: (size, row) for row, query in enumerate(own)}
    pairs = {size: {pair: number for number, pair in enumerate(combinations(range(size), 2))} for size in sizes}
    for query, a, b, preferred in preferences:
        place = {passage: number for number, passage in enumerate(sorted_pools.get(query, ()))}
        for passage in (a, b):
            if passage not in place:
                raise UnknownPassage(passage)
        size, row = at[query]
        one, other = sorted((place[a], place[b]))
        kind = 2 if preferred is None else int(place[preferred] == other)
        counts[size][row, pairs[size][one, other], kind] += 1
    return [SizedPools(size, own, counts[size]) for size, own in sorted(sizes.items())]


def _draw(counts: NDArray[np.int64], within: Within, draws: int, random: np.random.Generator) -> NDArray[np.int64]:
    """[draws, pools, pairs, 3]: as many judgments as there are, drawn with replacement."""
    if within not in WITHINS:
        raise ValueError(f"within {within!r} where there is {' and '.join(WITHINS)}")
    flat = counts if within == "pair" else counts.reshape(len(counts), -1)
    total = flat.sum(axis=-1)
    chances = np.where(total[..., None] > 0, flat / np.maximum(total, 1)[..., None], 1 / flat.shape[-1])
    drawn: NDArray[np.int64] = random.multinomial(total, chances, size=(draws, *total.shape))
    return drawn.reshape(draws, *counts.shape)

"""Pools of candidate best answers, and the pairs to be judged from them (Arabzadeh et al. 2022, sections 3 and 4)."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

from evaluation.files.preferences import Pair
from evaluation.files.qrels import Policy, Qrels

# A run's top passages by query, best first: what `RunArtifact.top` gives.
Tops = Mapping[str, Sequence[str]]


def canonical(a: str, b: str) -> tuple[str, str]:
    """The pair in canonical order: ids ascending, compared as strings by code point (that is, as UTF-8 bytes)."""
    return (a, b) if a <= b else (b, a)


def pool_queries(
    tops: Iterable[Tops], qrels: Qrels, policy: Policy = "first", *, min_grade: int = 1
) -> dict[str, tuple[str, ...]]:
    """The pool of every query: the distinct top passages of the runs, and the relevant ones that the policy takes.

    The qrels decide which queries there are, whatever the policy, as they do for RR@k: a query that only runs have is
    left out, and so is one without any candidate. Queries in the order of the qrels, passages in canonical order.
    """
    pools = {query: set(passages) for query, passages in qrels.relevant(policy, min_grade).items()}
    for top in tops:
        for query, passages in top.items():
            pool = pools.get(query)
            if pool is not None:
                pool.update(passages)
    return {query: tuple(sorted(pool)) for query, pool in pools.items() if pool}


def all_pairs(query: str, pool: Collection[str]) -> Iterator[Pair]:
    """Every two passages of the pool, each pair and the whole in canonical order."""
    return (Pair(query, a, b) for a, b in combinations(sorted(set(pool)), 2))


# Which qrel of a query the champion check asks about: the first in the file, the one that the run ranks highest (the
# first in the file, where it has none), or each.
ChampionQrel = Literal["first", "highest", "each"]

CHAMPION_QRELS: tuple[ChampionQrel, ...] = get_args(ChampionQrel)


class ChampionPair(NamedTuple):
    """A comparison of the champion check. `category`: "a" where the run's top passage is the qrel, which is compared
    with the second, else "b", where the top is compared with the qrel. `other`: what the qrel is compared with.
    """

    query: str
    category: Literal["a", "b"]
    qrel: str
    other: str

    @property
    def pair(self) -> Pair:
        """The two in canonical order."""
        return Pair(self.query, *canonical(self.qrel, self.other))


def champion_pairs(
    tops: Tops, qrels: Qrels, *, min_grade: int = 1, choice: ChampionQrel = "first"
) -> Iterator[ChampionPair]:
    """What to ask, to see whether the qrel is beaten: the paper's section 3. Queries in the order of the qrels.

    `tops` is a run's top with depth 2 at least; for the highest qrel, as deep as that is to be looked for. Queries
    without a qrel or without a second candidate have no pair. No pair comes twice.
    """
    for query, relevant in qrels.relevant("all", min_grade).items():
        ranked = tops.get(query, ())
        if not relevant or not ranked:
            continue
        chosen = {
            "first": relevant[:1],
            "highest": tuple(passage for passage in ranked if passage in relevant)[:1] or relevant[:1],
            "each": relevant,
        }[choice]
        pairs = set()
        for qrel in chosen:
            category: Literal["a", "b"] = "a" if qrel == ranked[0] else "b"
            others = ranked[1:2] if category == "a" else ranked[:1]
            for other in others:
                chosen = ChampionPair(query, category, qrel, other)
                if chosen.pair not in pairs:
                    pairs.add(chosen.pair)
                    yield chosen


@dataclass(frozen=True)
class PoolSizes:
    """How many pools, how many pairs they make when every two passages are compared, and their sizes.

    `histogram[size]` is the number of pools of that size, sizes ascending. Mean and median are 0 without pools.
    """

    queries: int
    pairs: int
    mean: float
    median: float
    histogram: dict[int, int]

    def as_dict(self) -> dict[str, Any]:
        """`{"queries", "pairs", "sizes": {"mean", "median", "histogram": {"1": ...}}}`, ready for JSON."""
        histogram = {str(size): count for size, count in self.histogram.items()}
        sizes = {"mean": self.mean, "median": self.median, "histogram": histogram}
        return {"queries": self.queries, "pairs": self.pairs, "sizes": sizes}


def pool_sizes(pools: Mapping[str, Collection[str]]) -> PoolSizes:
    """What judging all pairs of these pools amounts to."""
    return sizes_of(Counter(map(len, pools.values())))


def sizes_of(histogram: Mapping[int, int]) -> PoolSizes:
    """The same, from how many pools there are of each size."""
    sizes = [size for size, count in histogram.items() for _pool in range(count)]
    return PoolSizes(
        queries=len(sizes),
        pairs=sum(size * (size - 1) // 2 for size in sizes),
        mean=sum(sizes) / len(sizes) if sizes else 0.0,
        median=statistics.median(sizes) if sizes else 0.0,
        histogram=dict(sorted(histogram.items())),
    )

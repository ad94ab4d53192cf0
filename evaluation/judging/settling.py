"""What to ask next, and what the answers are, where newcomers challenge what was found (Arabzadeh et al. 2022, s. 6).

Who wins the tournament of the passages that were all compared with each other is an answer. Any other passage is
compared with the answers only. One that wins its first comparison is confirmed before it takes the place of an answer,
the most probable of a pool first: the pair is asked again, of other people, until it has so many judgments, or until
all judgments of the pool make it probable enough which of the two is better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from evaluation.files.preferences import Pair, Preference
from evaluation.judging.batch_tournaments import SizedPools, by_size
from evaluation.judging.challengers import compare
from evaluation.judging.pooling import all_pairs, canonical
from evaluation.judging.posterior import Judging, better_chances, learn
from evaluation.judging.tournament import Judged, Judgment, Tied, best_known

MOST, LEVEL = 3, 0.9  # judgments of a pair; and how probable it must be which of its passages is better
_NEW = 0.5  # how open a pair is that nobody judged

# How probable it is that the first passage of a pair is better than the second, of pairs that were judged.
Better = Mapping[Pair, float]


class Settled(NamedTuple):
    """A query's answers, sorted, and the pairs that are worth asking next, each with how open it is: 0 where one of the
    two is surely better, 1 where either may be.

    `replaced`: of each newcomer that took the place of an answer, how probable it is that it is better than that one.
    """

    query: str
    answers: tuple[str, ...]
    pairs: dict[Pair, float]
    replaced: dict[str, float]


def settle(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    judging: Judging | None = None,
    most: int = MOST,
    level: float = LEVEL,
    seed: int = 0,
) -> list[Settled]:
    """By query, sorted. How people judge is learned from all judgments, unless it is given. A pool without judgments is
    asked pair by pair. Raises UnknownPassage as `by_size` does.
    """
    rows = list(preferences)
    groups = by_size(pools, rows)
    judging = learn(groups, seed=seed) if judging is None else judging
    judged: dict[str, list[Preference]] = defaultdict(list)
    for row in rows:
        judged[row.query].append(row)
    queries = [_Query(query, pools[query], judged[query]) for query in sorted(pools)]
    better = _better(groups, {query.name: query.contests for query in queries}, judging, seed)
    return [query.settle(better, most, level) for query in queries]


def worth_asking(settled_queries: Sequence[Settled], budget: int | None = None) -> list[Pair]:
    """The pairs to ask next, sorted; within a budget, those that are most open."""
    open_ = sorted((-worth, pair) for settled in settled_queries for pair, worth in settled.pairs.items())
    return sorted(pair for _, pair in open_[:budget])


def learn_from(preferences: Iterable[Preference], *, seed: int = 0) -> Judging:
    """How people judge, by judgments alone: a query's pool is whatever was judged there."""
    rows = list(preferences)
    pools: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        pools[row.query].update((row.a, row.b))
    return learn(by_size(pools, rows), seed=seed)


def assess_pairs(
    since: Iterable[Preference], before: Iterable[Preference], judging: Judging, *, seed: int = 0
) -> Callable[[Pair], float]:
    """How probable it is that the first of a pair is better, by what was judged before and by the pair's own judgments
    of those `since`: whatever else is judged meanwhile changes nothing.
    """
    earlier: dict[str, list[Preference]] = defaultdict(list)
    of_pair: dict[Pair, list[Preference]] = defaultdict(list)
    for row in before:
        earlier[row.query].append(row)
    for row in since:
        of_pair[Pair(row.query, *canonical(row.a, row.b))].append(row)

    def assess(pairs: Iterable[Pair]) -> dict[Pair, float]:
        names = {" ".join(pair): pair for pair in pairs}  # each in a pool of its own
        rows = [
            row._replace(query=name) for name, pair in names.items() for row in (*earlier[pair.query], *of_pair[pair])
        ]
        pools: dict[str, set[str]] = {name: {pair.a, pair.b} for name, pair in names.items()}
        for row in rows:
            pools[row.query].update((row.a, row.b))
        contests = {name: [(pair.a, pair.b)] for name, pair in names.items()}
        better = _better(by_size(pools, rows), contests, judging, seed)
        return {pair: better[pair._replace(query=name)] for name, pair in names.items()}

    chances = cache(lambda: assess([*of_pair]))  # all at once, if any

    @cache
    def chance(pair: Pair) -> float:
        return chances()[pair] if pair in chances() else assess([pair])[pair]

    return chance


def expected_wrong(
    replaced: Iterable[tuple[str, str, str]],
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    judging: Judging | None = None,
    seed: int = 0,
) -> float:
    """How many replacements are expected to be wrong: `(query, new answer, former answer)`, by all judgments. Where one
    answer took the place of several, it is wrong by its share of them.
    """
    contests: dict[str, list[tuple[str, str]]] = defaultdict(list)
    news: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for query, new, old in replaced:
        contests[query].append((new, old))
        news[query, new].append(Pair(query, new, old))
    rows = [row for row in preferences if judging is None or row.query in contests]
    groups = by_size({row.query: pools[row.query] for row in rows}, rows)
    judging = learn(groups, seed=seed) if judging is None else judging
    better = _better(groups, contests, judging, seed)
    return sum(1 - sum(better[pair] for pair in pairs) / len(pairs) for pairs in news.values())


class _Query:
    """A pool with its judgments."""

    def __init__(self, name: str, pool: Collection[str], rows: Sequence[Preference]) -> None:
        self.name, self._pool = name, sorted(set(pool))
        self._judgments: list[Judgment] = []
        self._lead: dict[tuple[str, str], int] = defaultdict(int)  # of the first of a pair
        self._times: dict[tuple[str, str], int] = defaultdict(int)
        met: dict[str, set[str]] = defaultdict(set)
        for _, a, b, preferred in rows:
            pair = canonical(a, b)
            self._times[pair] += 1
            self._lead[pair] += 0 if preferred is None else 1 if preferred == pair[0] else -1
            self._judgments.append(Tied(a, b) if preferred is None else Judged(preferred, b if preferred == a else a))
            met[a].add(b)
            met[b].add(a)
        self._core: list[str] = []
        for passage in sorted(met, key=lambda passage: (-len(met[passage]), passage)):
            if met[passage].issuperset(self._core):
                self._core.append(passage)

    @property
    def contests(self) -> list[tuple[str, str]]:
        """Judged pairs of which it matters who is better: no passage of the first tournament won it at once."""
        return sorted(
            (a, b)
            for (a, b), lead in self._lead.items()
            if (a in self._core) + (b in self._core) < 2
            and not (lead and self._times[a, b] == 1 and (a if lead > 0 else b) in self._core)
        )

    def settle(self, better: Better, most: int, level: float) -> Settled:
        if len(self._pool) < 2 or not self._core:
            pairs = dict.fromkeys(all_pairs(self.name, self._pool), _NEW)
            return Settled(self.name, tuple(self._pool[: len(self._pool) == 1]), pairs, {})
        answers = best_known(self._core, self._among({*self._core}))
        beaten, replaced = {*answers}, dict[str, float]()

        def wins(newcomer: str, rival: str) -> bool | None:
            return self._wins(newcomer, rival, better, most, level)

        newcomers = [passage for passage in self._pool if passage not in self._core]
        while True:
            newcomers = [passage for passage in newcomers if all(wins(passage, rival) is not False for rival in beaten)]
            winner = next((passage for passage in newcomers if all(wins(passage, rival) for rival in answers)), None)
            if winner is None:
                break
            replaced[winner] = min(self._chance(winner, rival, better) for rival in answers)
            answers = frozenset([winner])
            beaten.add(winner)
            newcomers.remove(winner)
        open_, confirming = dict[Pair, float](), list[tuple[float, Pair]]()
        for newcomer in newcomers:  # whoever loses to its first rival need not meet the others
            rival = next(rival for rival in sorted(answers) if wins(newcomer, rival) is None)
            pair = Pair(self.name, *canonical(newcomer, rival))
            if self._times[pair.a, pair.b]:
                confirming.append((-self._chance(newcomer, rival, better), pair))
            else:
                open_[pair] = _NEW
        for _, pair in sorted(confirming)[:1]:  # if it wins, the others meet it instead
            open_[pair] = 1 - abs(2 * better.get(pair, 0.5) - 1)
        return Settled(self.name, tuple(sorted(answers)), open_, replaced)

    def _wins(self, newcomer: str, rival: str, better: Better, most: int, level: float) -> bool | None:
        """Whether a newcomer takes the place of a rival; None where that is to be asked."""
        pair = canonical(newcomer, rival)
        lead = self._lead[pair] if pair[0] == newcomer else -self._lead[pair]
        came_to = compare(self._times[pair], lead, most, level, lambda: self._chance(newcomer, rival, better))
        return None if came_to is None else came_to > 0

    def _chance(self, first: str, other: str, better: Better) -> float:
        pair = canonical(first, other)
        chance = better.get(Pair(self.name, *pair), 0.5)
        return chance if pair[0] == first else 1 - chance

    def _among(self, passages: Collection[str]) -> list[Judgment]:
        return [judgment for judgment in self._judgments if judgment[0] in passages and judgment[1] in passages]


def _better(
    groups: Sequence[SizedPools], contests: Mapping[str, Sequence[tuple[str, str]]], judging: Judging, seed: int
) -> dict[Pair, float]:
    """How probable it is that the first of each pair is better."""
    probabilities: dict[Pair, float] = {}
    for group in groups:
        for number in range(max((len(contests.get(query, ())) for query in group.pools), default=0)):
            rows = [at for at, query in enumerate(group.pools) if len(contests.get(query, ())) > number]
            names = list(group.pools)
            pools = {names[at]: group.pools[names[at]] for at in rows}
            pairs = {query: contests[query][number] for query in pools}
            rivals = np.array([[pools[query].index(passage) for passage in pairs[query]] for query in pools])
            chances = better_chances(SizedPools(group.size, pools, group.counts[rows]), rivals, judging, seed=seed)
            probabilities |= {
                Pair(query, *pairs[query]): chance for query, chance in zip(pools, chances.tolist(), strict=True)
            }
    return probabilities

"""What more judgments would settle: for open queries, by drawing what people would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import SizedPools, by_size
from evaluation.statistics.certainty import SURE

FUTURES, DRAWS = 5, 200
WANTED = (1, 2, 3)  # sizes of a confidence set that somebody may want
JUDGMENTS = (3, 5, 7)  # of a pair, that somebody may want


class Prospect(NamedTuple):
    """What a query needs, and gains, until each pair of its confidence set has a number of judgments.

    `lacking`: how many pairs lack so many judgments, by that number. `chances`: that its set then has 1, 2 or 3
    passages (`WANTED`) or fewer. In rounds, it is each pair of the set that was in the final.
    """

    lacking: dict[int, int]
    chances: list[float]


def settling_prospects(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    sets: Mapping[str, Collection[str]],
    *,
    error_rate: float,
    judgments: Sequence[int] = JUDGMENTS,
    level: float = SURE,
    seed: int = 0,
    finals: Mapping[str, Collection[str]] | None = None,
) -> dict[str, dict[int, Prospect]]:
    """By query, sorted, and number of judgments of a pair; `sets` are the confidence sets. Queries whose set has one
    passage are left out.

    `finals` are who played in the finals, where rounds found the answers: only their pairs are asked about, as no
    judgment brings back a passage that is out, and those that tie for first are all best, as in `certainty`.

    What people will say is drawn `FUTURES` times: which passage of a pair is better, by its judgments so far, and then
    judgments that are wrong by the error rate, 0 to 0.5. The same seed gives the same, whatever the order of the input.
    """
    random = np.random.default_rng(seed)
    wide = {query: pools[query] for query, likely in sets.items() if len(likely) > 1}
    asked: Mapping[str, Collection[str]] = sets
    if finals is not None:
        asked = {query: {*sets[query]}.intersection(finals[query]) for query in wide}
    found: dict[str, dict[int, Prospect]] = {query: {} for query in sorted(wide)}
    for group in by_size(wide, (row for row in preferences if row.query in wide), again=finals is None):
        inside, first_is_better = _inside(group, asked), _belief(group.counts, error_rate)
        for wanted in judgments:
            lacking = np.where(inside, np.maximum(0, wanted - group.counts.sum(axis=2)), 0)
            drawn = np.tile(lacking, (FUTURES, 1))
            better = random.random(drawn.shape) < np.tile(first_is_better, (FUTURES, 1))
            firsts = random.binomial(drawn, np.where(better, 1 - error_rate, error_rate))
            futures = np.tile(group.counts, (FUTURES, 1, 1))
            futures[..., 0] += firsts
            futures[..., 1] += drawn - firsts
            sizes = _sizes(group, futures, error_rate, level, random).reshape(FUTURES, -1)
            shares = np.array([(sizes <= size).mean(axis=0) for size in WANTED]).T
            for query, own, chances in zip(group.pools, lacking.tolist(), shares.tolist(), strict=True):
                found[query][wanted] = Prospect(dict(sorted(Counter(filter(None, own)).items())), chances)
    return found


def _inside(group: SizedPools, sets: Mapping[str, Collection[str]]) -> NDArray[np.bool_]:
    """Which pairs [pools x pairs] have both passages among these."""
    members = np.array([[passage in sets[query] for passage in pool] for query, pool in group.pools.items()])
    first, second = np.triu_indices(group.size, 1)
    both: NDArray[np.bool_] = members[:, first] & members[:, second]
    return both


def _belief(counts: NDArray[np.int64], error_rate: float) -> NDArray[np.float64]:
    """The chance that the first of a pair is better [pools x pairs], by its judgments, each wrong by the rate."""
    odds = np.log(max(error_rate, 1e-9)) - np.log(1 - error_rate)
    belief: NDArray[np.float64] = 1 / (1 + np.exp(np.clip(odds * (counts[..., 0] - counts[..., 1]), -700, 700)))
    return belief


def _sizes(
    group: SizedPools, counts: NDArray[np.int64], error_rate: float, level: float, random: np.random.Generator
) -> NDArray[np.int64]:
    """The sizes of the confidence sets of pools with other counts."""
    passages = next(iter(group.pools.values()))
    played = SizedPools(group.size, {str(at): passages for at in range(len(counts))}, counts, group.again)
    sizes = np.zeros(len(counts), np.int64)
    for part, won in played.resampled(error_rate, DRAWS, random):
        chances = np.sort((won / won.sum(axis=0)).mean(axis=2), axis=0)[::-1]
        sizes[part] = 1 + (np.cumsum(chances, axis=0)[:-1] < level - 1e-9).sum(axis=0)
    return sizes

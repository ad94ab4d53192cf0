"""Before a campaign: what more judgments per pair would cost, and how much surer the qrels would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from evaluation.judging.batch_tournaments import winners

_BATCH = 1 << 21  # numbers at a time


class Plan(NamedTuple):
    """So many judgments a pair (`overlap`), what they take, and what they give.

    `judgments`: of pairs, without test pairs. `assignments`: HITs times overlap. `same`: the share of queries whose
    derived qrels are those that judgments without error would give. `kept`: whose qrels contain that passage.
    """

    overlap: int
    pairs: int
    judgments: int
    assignments: int
    dollars: Decimal
    same: float
    kept: float


def plan(
    pool_sizes: Iterable[int],
    error_rate: float,
    *,
    dollars_per_assignment: Decimal,
    overlaps: Iterable[int] = (1, 3, 5),
    pairs_per_hit: int = 10,
    draws: int = 200,
    seed: int = 0,
) -> list[Plan]:
    """Simulated campaigns over pools of these sizes, one plan for each overlap.

    Every pool has a true order, and each judgment, by itself, gets its pair wrong with the error rate. Sizes are from 1
    on; a pool of one is always right. Every pool is played `draws` times; the same seed gives the same.
    """
    sizes = Counter(pool_sizes)
    if not sizes or min(sizes) < 1:
        raise ValueError("pool sizes from 1 on are needed, and at least one")
    if not 0 <= error_rate <= 1:
        raise ValueError(f"error rate {error_rate} where 0 to 1 is needed")
    pairs = sum(count * (size * (size - 1) // 2) for size, count in sizes.items())
    hits = -(-pairs // pairs_per_hit)
    random = np.random.default_rng(seed)
    plans = []
    for overlap in overlaps:
        if overlap < 1:
            raise ValueError(f"{overlap} judgments a pair where at least 1 is needed")
        same, same_top = 0.0, 0.0
        for size, count in sorted(sizes.items()):
            alike, among = _play(size, overlap, error_rate, count * draws, random)
            same += alike * count
            same_top += among * count
        total = sum(sizes.values())
        cost = dollars_per_assignment * hits * overlap
        plans.append(Plan(overlap, pairs, pairs * overlap, hits * overlap, cost, same / total, same_top / total))
    return plans


def _play(size: int, overlap: int, error_rate: float, times: int, random: np.random.Generator) -> tuple[float, float]:
    """The shares of tournaments that the best passage wins alone, and that it is among the winners of."""
    if size == 1:
        return 1.0, 1.0
    pairs = size * (size - 1) // 2
    alone, among = 0, 0
    step = max(1, _BATCH // (size * size))
    for start in range(0, times, step):
        right = random.binomial(overlap, 1 - error_rate, (min(step, times - start), pairs))
        won = winners(size, 2 * right.T, np.full((pairs, 1), 2 * overlap))
        among += int(won[0].sum())
        alone += int((won[0] & (won.sum(axis=0) == 1)).sum())
    return alone / times, among / times

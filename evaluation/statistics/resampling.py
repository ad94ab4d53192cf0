"""Confidence intervals of means over queries, by t and by bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.ranks import Ranks

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
DRAWS = 1000
_BATCH = 1 << 20  # weights at a time


class Interval(NamedTuple):
    """From `low` to `high`."""

    low: float
    high: float


def t_intervals(ranks: Ranks, confidence: float = CONFIDENCE) -> list[Interval | None]:
    """Student's t-interval of the mean RR of each run, over queries; None for less than two queries."""
    return t_intervals_of(ranks.reciprocals(), confidence)


def t_intervals_of(values: Floats, confidence: float = CONFIDENCE, *, low: float = 0) -> list[Interval | None]:
    """Student's t-interval of the mean of each row of scores [runs x queries]; None for less than two queries. Scores
    are `low` to 1, so the ends of intervals are too.
    """
    n = values.shape[1]
    if n < 2:
        return [None] * len(values)
    means = values.mean(axis=1)
    from scipy import special  # here, since most commands need none of it and it takes long to load

    halves = special.stdtrit(n - 1, (1 + confidence) / 2) * values.std(axis=1, ddof=1) / n**0.5
    lows, highs = np.maximum(low, means - halves), np.minimum(1.0, means + halves)
    return [Interval(low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


def share_interval(part: int, rest: int, confidence: float = CONFIDENCE) -> Interval | None:
    """The exact interval (Clopper and Pearson) of the share of `part` in both; None without any."""
    if not part + rest:
        return None
    from scipy import special  # here, since most commands need none of it and it takes long to load

    tail = (1 - confidence) / 2
    low = special.betaincinv(part, rest + 1, tail) if part else 0.0
    high = special.betaincinv(part + 1, rest, 1 - tail) if rest else 1.0
    return Interval(float(low), float(high))


def bootstrap_intervals(
    ranks: Ranks, *, seed: int = 0, draws: int = DRAWS, confidence: float = CONFIDENCE
) -> list[Interval]:
    """Percentile intervals of the mean RR of each run over resampled queries. The same seed gives the same."""
    return bootstrap_intervals_of(ranks.reciprocals(), seed=seed, draws=draws, confidence=confidence)


def bootstrap_intervals_of(
    values: Floats, *, seed: int = 0, draws: int = DRAWS, confidence: float = CONFIDENCE
) -> list[Interval]:
    """The same of scores [runs x queries]."""
    n = values.shape[1]
    drawn = query_weights(n, draws, np.random.default_rng(seed))
    means = np.concatenate([weights @ values.T / n for weights in drawn])
    tail = (1 - confidence) / 2
    bounds = np.quantile(means, [tail, 1 - tail], axis=0)
    return [Interval(float(low), float(high)) for low, high in bounds.T]


def query_weights(queries: int, draws: int, random: np.random.Generator) -> Iterator[Floats]:
    """Batches [draws x queries] of how often each query is drawn, when as many are drawn as there are."""
    size = max(1, _BATCH // max(1, queries))
    for start in range(0, draws, size):
        count = min(size, draws - start)
        drawn = random.integers(queries, size=(count, queries))
        yield np.array([np.bincount(sample, minlength=queries) for sample in drawn], np.float64)

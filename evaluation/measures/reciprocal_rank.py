"""Reciprocal rank, exact where that is cheap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels

_EXACT = 1000  # that many different ranks are summed as fractions; more, as floats that are rounded once each


@dataclass(frozen=True)
class Score:
    """A run's RR@k over the queries of the qrels.

    `mean`: over all queries of the qrels. `answered`: queries with a relevant passage within k. `ranks`: by query, in
    the order of the qrels, where its first relevant passage stands, from 1; 0 if not within k.
    """

    mean: float
    answered: int
    ranks: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """`{"mean", "answered"}`."""
        return {"mean": self.mean, "answered": self.answered}


def reciprocal_rank(run: RunArtifact, qrels: Qrels, k: int = 10, order: Order = "score", min_grade: int = 1) -> Score:
    """RR@k. A query that the run lacks scores 0; queries of the run that the qrels lack are ignored."""
    ranks = run.ranks(order, qrels.relevant("all", min_grade), k)
    return Score(mean_reciprocal(ranks), sum(map(bool, ranks.values())), ranks)


def mean_reciprocal(ranks: Mapping[str, int]) -> float:
    """The mean of 1/rank over all queries, 0 where the rank is 0. Raises ValueError if there are no queries.

    The sum is exact and rounded once, so it does not depend on the order of the queries.
    """
    if not ranks:
        raise ValueError("a mean over no queries")
    counts = Counter(rank for rank in ranks.values() if rank)
    if len(counts) <= _EXACT:
        total = sum((Fraction(count, rank) for rank, count in counts.items()), Fraction())
        return float(total / len(ranks))
    return math.fsum(count / rank for rank, count in counts.items()) / len(ranks)

"""How sure the best known answers and the order of runs are: judgments, and queries, drawn again (bootstrap)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import SizedPools, Within, by_size
from evaluation.judging.tournament import derive
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE, DRAWS, Interval, query_weights

Floats = NDArray[np.float64]


def answer_stability(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    within: Within = "pair",
    draws: int = DRAWS,
    seed: int = 0,
    allow_incomplete: bool = False,
) -> dict[str, dict[str, float]]:
    """By query and best known answer, the share of resamples in which it stays one.

    With one judgment a pair, `within="pair"` has nothing to vary and gives 1: draw within the pool then. Pools that
    `derive` refuses are left out. The same seed gives the same, whatever the order of the input.
    """
    judgments = list(preferences)
    sized, best = _playable(pools, judgments, allow_incomplete)
    random = np.random.default_rng(seed)
    found: dict[str, dict[str, float]] = {}
    for group in sized:
        for queries, won in group.resampled(within, draws, random):
            for query, own in zip(queries, won.mean(axis=1), strict=True):
                shares = dict(zip(group.pools[query], own.tolist(), strict=True))
                found[query] = {passage: shares[passage] for passage in best[query]}
    return {query: found[query] for query in sorted(found)}


class RunOrder(NamedTuple):
    """Where a run may truly stand on the preference qrels.

    `mean`: as judged. `interval`: percentiles of its mean RR over resamples. `first_place`, `last_place`: the same of
    its place, from 1; `middle_place`: the median. `first`: the share of resamples in which it is first, shared where
    several are.
    """

    run: str
    mean: float
    interval: Interval
    first_place: int
    middle_place: int
    last_place: int
    first: float


def order_stability(
    board: Board,
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    within: Within = "pair",
    draws: int = DRAWS,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    allow_incomplete: bool = False,
) -> list[RunOrder]:
    """Every run of the board, over resamples of both judgments and queries. Seeded, as `answer_stability`.

    The queries are those whose pool gives qrels. Judgments drawn again are noisier than those that were made, so means
    may shift against `mean`; places are what to read. Raises ValueError where no pool gives qrels.
    """
    judgments = list(preferences)
    sized, best = _playable(pools, judgments, allow_incomplete)
    if not best:
        raise ValueError("no pool gives qrels")
    random = np.random.default_rng(seed)
    weights = np.concatenate(list(query_weights(len(best), draws, random)))
    column = {query: at for at, query in enumerate(sorted(best))}
    means, point = np.zeros((len(board.runs), draws)), np.zeros(len(board.runs))
    for group in sized:
        values = board.reciprocals(group.pools)
        rows = {query: row for row, query in enumerate(group.pools)}
        for queries, won in group.resampled(within, draws, random):
            own = values[:, [rows[query] for query in queries]]
            columns = [column[query] for query in queries]
            for run, scores in enumerate(own):
                reached = (scores[:, None, :] * won).max(axis=2)
                means[run] += np.einsum("qd,dq->d", reached, weights[:, columns])
            kept = np.array([[passage in best[query] for passage in group.pools[query]] for query in queries])
            point += (own * kept).max(axis=2).sum(axis=1)
    return _orders(board.runs, means / len(best), point / len(best), confidence)


def _orders(runs: tuple[str, ...], means: Floats, point: Floats, confidence: float) -> list[RunOrder]:
    places = 1 + (means[None, :, :] > means[:, None, :]).sum(axis=1)
    leads = places == 1
    first = (leads / leads.sum(axis=0)).mean(axis=1)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    bounds = np.quantile(means, tails, axis=1).T
    between = np.quantile(places, [tails[0], 0.5, tails[1]], axis=1, method="inverted_cdf").T
    return [
        RunOrder(run, mean, Interval(*own), int(low), int(middle), int(high), share)
        for run, mean, own, (low, middle, high), share in zip(
            runs, point.tolist(), bounds.tolist(), between, first.tolist(), strict=True
        )
    ]


def _playable(
    pools: Mapping[str, Collection[str]], judgments: list[Preference], allow_incomplete: bool
) -> tuple[list[SizedPools], dict[str, set[str]]]:
    """The pools that give qrels, by size, and their best known answers."""
    best: dict[str, set[str]] = {}
    for query, passage in derive(pools, judgments, allow_incomplete=allow_incomplete).qrels:
        best.setdefault(query, set()).add(passage)
    own = [preference for preference in judgments if preference.query in best]
    return by_size({query: pools[query] for query in best}, own), best

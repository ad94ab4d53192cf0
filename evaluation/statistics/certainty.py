"""How sure the best known answers and the order of runs are: judgments, and queries, drawn again (bootstrap)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import Bools, SizedPools, by_size
from evaluation.judging.tournament import derive
from evaluation.measures.named import Measure
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE, DRAWS, Interval, query_weights

Floats = NDArray[np.float64]
_SEVERAL = 4096  # deadlocks at a time


class RunOrder(NamedTuple):
    """Where a run may truly stand on the preference qrels.

    `mean`: as judged. `interval`: percentiles of its mean over resamples. `first_place`, `last_place`: the same of
    its place, from 1; `middle_place`: the median. `first`: the share of resamples in which it is first, shared where
    several are. `centred`: the interval, moved so that the median of the resamples is the mean as judged; judgments
    drawn again are noisier, which pulls all means one way.
    """

    run: str
    mean: float
    interval: Interval
    first_place: int
    middle_place: int
    last_place: int
    first: float
    centred: Interval


class Certainty(NamedTuple):
    """`answers`: by query and best known answer, the share of resamples in which it stays one. `runs`: their ranks.

    `chances`: by query and passage of the pool, P(best): the share of resamples in which it is the best known answer,
    shared where several are. They add up to 1; the likeliest comes first, equal ones by id.
    """

    answers: dict[str, dict[str, float]]
    runs: list[RunOrder]
    chances: dict[str, dict[str, float]]


SURE = 0.9  # of a confidence set
# Measures of which one best known answer tells what it adds, wherever the others are.
KINDS = ("RR", "Success", "P", "R", "nDCG")


class _Worth:
    """What best known answers, all of one grade, are worth to a run by a measure."""

    def __init__(self, measure: Measure) -> None:
        if measure.kind not in KINDS or measure.cutoff is None or measure.rel != 1:
            raise ValueError(f"measure {measure} where one of {', '.join(KINDS)} is needed, with a cutoff, without rel")
        ranks = np.arange(1, measure.cutoff + 1)
        discounts = 1 / np.log2(ranks + 1)
        at = {
            "RR": 1 / ranks, "Success": np.ones(len(ranks)), "P": np.full(len(ranks), 1 / measure.cutoff),
            "R": np.ones(len(ranks)), "nDCG": discounts,
        }  # fmt: skip
        self.of_rank = np.concatenate([[0.0], at[measure.kind]])  # [k + 1], with 0 for not within k
        self._kind = measure.kind
        self._ideal = np.cumsum(discounts)

    def together(self, values: Floats, counts: NDArray[np.int64]) -> Floats:
        """Of so many answers: values [passages x ... x runs], 0 for what is no answer, and counts [...]."""
        if self._kind in ("RR", "Success"):
            return np.asarray(values.max(axis=0))
        most = {
            "P": np.ones(counts.shape),
            "R": counts.astype(np.float64),
            "nDCG": self._ideal[np.minimum(counts, len(self._ideal)) - 1],
        }
        return np.asarray(values.sum(axis=0) / most[self._kind][..., None])


def confidence_set(chances: Mapping[str, float], level: float = SURE) -> list[str]:
    """The fewest passages whose chances add up to the level, the likeliest first, equal ones by id."""
    likeliest = sorted(chances, key=lambda passage: (-chances[passage], passage))
    sums = np.cumsum([chances[passage] for passage in likeliest])
    return likeliest[: int(np.searchsorted(sums, level - 1e-9)) + 1]


def certainty(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    board: Board | None = None,
    measure: Measure | None = None,
    error_rate: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    allow_incomplete: bool = False,
    counted: Iterable[Preference] | None = None,
    best: Mapping[str, Collection[str]] | None = None,
) -> Certainty:
    """Over resamples of the judgments and, for the runs of a board, of the queries too. Runs are scored by RR@k of the
    board, or by another measure of `KINDS` with its cutoff.

    The answers are those of the judgments, or of `counted`: the same with what was decided on adjudicated pairs; or
    those of `best`, by query, where other rules found them, as rounds do: then other pools are left out, and in the
    resamples, passages that tie for first are all best. What is drawn again is what people judged.

    In pools with pairs that nobody judged, those are drawn by the strengths that the judgments say their passages have
    (`SizedPools.resampled`). So it does not count against a passage that it was asked about less often, as in rounds.

    Without an error rate, each pair's judgments are drawn again from its own. A pair that was judged once would then
    never vary: such judgments need the rate at which people err, by which each is turned round. Two that agree would
    never vary either, so with a rate, the judgments of every pair vary more than they would by themselves. No judgment
    is ever left out of a resample.

    Pools that `derive` refuses are left out. Judgments drawn again are noisier than those that were made, so means may
    shift against `mean`; places are what to read. The same seed gives the same, whatever the order of the input, and
    the same answers with a board and without. Raises ValueError where there is a board and no pool gives qrels, or
    where the error rate is not 0 to 1/2, or where the measure is another or has another cutoff.
    """
    if board is not None and measure is not None and measure.cutoff != board.k:
        raise ValueError(f"measure {measure} where the board has k {board.k}")
    if error_rate is not None and not 0 <= error_rate <= 0.5:
        raise ValueError(f"error rate {error_rate} where 0 to 0.5 is needed")
    judgments = list(preferences)
    if best is None:
        best = _answers(pools, judgments if counted is None else counted, allow_incomplete)
        sized = _sized(pools, judgments, best, again=True)
    else:
        sized = _sized(pools, judgments, best, again=False)
    of_judgments, of_queries = np.random.default_rng(seed).spawn(2)
    standing = None
    if board is not None:
        if not best:
            raise ValueError("no pool gives qrels")
        weights = np.concatenate(list(query_weights(len(best), draws, of_queries)))
        standing = Standing(board, sorted(best), weights, measure)
    answers: dict[str, dict[str, float]] = {}
    chances: dict[str, dict[str, float]] = {}
    for group in sized:
        queries = list(group.pools)
        if standing is not None:
            standing.enter(group, best)
        for part, won in group.resampled(error_rate, draws, of_judgments):
            shares, alone = won.mean(axis=2), (won / won.sum(axis=0)).mean(axis=2)
            for query, own, chance in zip(queries[part], shares.T.tolist(), alone.T.tolist(), strict=True):
                share = dict(zip(group.pools[query], own, strict=True))
                answers[query] = {passage: share[passage] for passage in sorted(best[query])}
                chances[query] = dict(
                    sorted(zip(group.pools[query], chance, strict=True), key=lambda one: (-one[1], one[0]))
                )
            if standing is not None:
                standing.add(part, won)
    return Certainty(
        {query: answers[query] for query in sorted(answers)},
        [] if standing is None else standing.orders(confidence),
        {query: chances[query] for query in sorted(chances)},
    )


class Standing:
    """Sums of the runs' scores over resamples, group after group of pools of one size.

    `weights` [draws x queries]: how often each query counts in each resample. The measure is one of `KINDS` with the
    cutoff of the board, or RR at that.
    """

    def __init__(self, board: Board, queries: list[str], weights: NDArray[Any], measure: Measure | None = None) -> None:
        self._board = board
        self._worth = _Worth(measure or Measure("RR", board.k))
        self._weights = weights
        self._column = {query: at for at, query in enumerate(queries)}
        self._sums = np.zeros((len(weights), len(board.runs)))
        self._point = np.zeros(len(board.runs))

    def enter(self, group: SizedPools, best: Mapping[str, Collection[str]]) -> None:
        """Take up the pools of one size: what each of their passages is worth to each run."""
        self._columns = np.array([self._column[query] for query in group.pools])
        places = self._board.places(group.pools).transpose(1, 2, 0)
        self._values = np.ascontiguousarray(self._worth.of_rank[places])
        kept = np.array([[passage in best[query] for passage in pool] for query, pool in group.pools.items()])
        own = (self._values * kept[..., None]).transpose(1, 0, 2)
        self._point += self._worth.together(own, kept.sum(axis=1)).sum(axis=0)

    def add(self, part: slice, won: Bools) -> None:
        """Add these pools, [size x pools x draws], to the sums."""
        from scipy import sparse  # here, since most commands need none of it and it takes long to load

        values, weights = self._values[part], self._weights[:, self._columns[part]]
        size, pools, draws = won.shape
        # A winner's place in the list of all passages; several winners have a place of their own at its end.
        places = won.argmax(axis=0) + size * np.arange(pools)[:, None]
        counts = won.sum(axis=0)
        row, draw = np.nonzero(counts > 1)
        best = self._several(values, won, row, draw, counts[row, draw])
        places[row, draw] = size * pools + np.arange(len(row))
        chosen = sparse.csr_array(
            (weights.ravel(), places.T.ravel(), np.arange(0, draws * pools + 1, pools)),
            shape=(draws, size * pools + len(row)),
        )
        self._sums += chosen @ np.concatenate([values.reshape(size * pools, -1), best])

    def means(self) -> Floats:
        """The runs' means in each resample, [runs x draws]."""
        # Equal sums may differ in their last digits, by the order that they were added in.
        means: Floats = (self._sums / self._weights.sum(axis=1)[:, None]).T.round(12)
        return means

    def _several(
        self, values: Floats, won: Bools, row: NDArray[np.int64], draw: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> Floats:
        """[several x runs]: what several winners of a pool in a draw are worth; part by part, to bound memory."""
        best = np.zeros((len(row), values.shape[2]))
        for start in range(0, len(row), _SEVERAL):
            own = slice(start, start + _SEVERAL)
            of_them = values[row[own]].transpose(1, 0, 2) * won[:, row[own], draw[own]][..., None]
            best[own] = self._worth.together(of_them, counts[own])
        return best

    def orders(self, confidence: float) -> list[RunOrder]:
        """The runs, in the board's order."""
        means, point = self.means(), self._point / len(self._column)
        places = 1 + (means[None, :, :] > means[:, None, :]).sum(axis=1)
        leads = places == 1
        first = (leads / leads.sum(axis=0)).mean(axis=1)
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        bounds = np.quantile(means, tails, axis=1).T
        centred = np.clip(bounds + (point - np.median(means, axis=1))[:, None], 0, 1)
        between = np.quantile(places, [tails[0], 0.5, tails[1]], axis=1, method="inverted_cdf").T
        return [
            RunOrder(run, mean, Interval(*own), int(low), int(middle), int(high), share, Interval(*moved))
            for run, mean, own, (low, middle, high), share, moved in zip(
                self._board.runs,
                point.tolist(),
                bounds.tolist(),
                between,
                first.tolist(),
                centred.tolist(),
                strict=True,
            )
        ]


def _answers(
    pools: Mapping[str, Collection[str]], counted: Iterable[Preference], allow_incomplete: bool
) -> dict[str, set[str]]:
    """The best known answers of the pools that give qrels."""
    best: dict[str, set[str]] = {}
    for query, passage in derive(pools, counted, allow_incomplete=allow_incomplete).qrels:
        best.setdefault(query, set()).add(passage)
    return best


def _sized(
    pools: Mapping[str, Collection[str]], judgments: list[Preference], queries: Collection[str], again: bool
) -> list[SizedPools]:
    """The pools of these queries with their judgments, by size."""
    own = [preference for preference in judgments if preference.query in queries]
    return by_size({query: pools[query] for query in queries}, own, again=again)

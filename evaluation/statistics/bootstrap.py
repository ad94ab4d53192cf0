"""Where runs may truly stand: what they score on the best known answers, with queries drawn again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.measures.named import Measure
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import Interval, query_weights

Floats = NDArray[np.float64]
_ALIKE = 20  # queries by which pools of a size are corrected
_TINY = 1e-12
_SOME = 0.05  # of what judgments could say, the least by which scores are corrected


class RunOrder(NamedTuple):
    """Where a run may truly stand.

    `mean`: as judged. `corrected`: what it would be without judging errors, which pull all means together. `interval`:
    of that, over queries and judges. `first_place`, `last_place`: the interval of its place, from 1; `middle_place`:
    the median. `first`: how probable it is that the run is first, shared where several are. `centred`: the interval, as
    earlier versions called it.
    """

    run: str
    mean: float
    interval: Interval
    first_place: int
    middle_place: int
    last_place: int
    first: float
    centred: Interval
    corrected: float


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


class Scores:
    """What runs score on queries: on the best known answers, and expected by P(best)."""

    def __init__(self, board: Board, measure: Measure | None) -> None:
        self._board, self._worth = board, _Worth(measure or Measure("RR", board.k))
        self._rows: list[tuple[str, int, float, Floats, Floats, Floats, Floats]] = []

    def add(
        self, pools: Mapping[str, tuple[str, ...]], best: Mapping[str, Collection[str]], chances: Floats, again: Floats
    ) -> None:
        """Take up pools of one size, with P(best) of their passages [pools x size]."""
        size = chances.shape[1]
        values = self._worth.of_rank[self._board.places(pools)]  # [runs x pools x size]
        is_best = np.array([[passage in best[query] for passage in pool] for query, pool in pools.items()])
        judged = self._worth.together((values * is_best).transpose(2, 1, 0), is_best.sum(axis=1))
        expected, after = (np.einsum("rqs,qs->qr", values, values_of_draws) for values_of_draws in (chances, again))
        usual = values.mean(axis=2).T
        divisors = np.ones(len(chances)) if size == 1 else ((chances**2).sum(axis=1) * size - 1) / (size - 1)
        self._rows += zip(pools, [size] * len(pools), divisors.tolist(), judged, expected, after, usual, strict=True)

    def orders(self, draws: int, confidence: float, random: np.random.Generator) -> list[RunOrder]:
        """The runs, in the board's order."""
        _, sizes, divisors, judged, expected, after, usual = zip(
            *sorted(self._rows, key=lambda row: row[0]), strict=True
        )
        plain, shares = np.array(usual), _shares(np.array(sizes), np.array(divisors))[:, None]
        once, twice, most = np.array(expected) - plain, (np.array(after) - plain) / shares, 1 / float(shares.mean())

        def right(weights: Floats) -> Floats:
            """The corrected means [draws x runs] where queries have such weights, which add up to 1."""
            gains, again = weights @ once, weights @ twice
            scale = np.clip((gains * again).sum(axis=1) / np.maximum((gains * gains).sum(axis=1), _TINY), 1, most)
            corrected: Floats = weights @ plain + weights @ (once / shares) / scale[:, None]
            return corrected

        queries = len(plain)
        means = right(np.full((1, queries), 1 / queries))[0]
        # By Student's t, whose quantiles at these numbers of queries are about so much beyond those of draws.
        wider = (queries / max(1, queries - 1)) ** 0.5 * (1 + 1.2 / queries)
        drawn = np.concatenate([right(weights / queries) for weights in query_weights(queries, draws, random)])
        drawn = wider * (drawn - means)
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        bounds = np.clip(means + np.quantile(drawn, tails, axis=0), 0, 1).T
        named = np.argsort(self._board.runs)  # the same whatever the order of the runs
        likely = np.empty_like(drawn.T)
        likely[named] = _shrunken(means[named], drawn[:, named], random).round(9).T
        places = 1 + (likely[None, :, :] > likely[:, None, :]).sum(axis=1)
        leads = places == 1
        first = (leads / leads.sum(axis=0)).mean(axis=1)
        between = np.quantile(places, [tails[0], 0.5, tails[1]], axis=1, method="inverted_cdf").T
        return [
            RunOrder(run, mean, Interval(*scores), int(low), int(middle), int(high), share, Interval(*scores), right)
            for run, mean, scores, (low, middle, high), share, right in zip(
                self._board.runs,
                np.array(judged).mean(axis=0).tolist(),
                bounds.tolist(),
                between,
                first.tolist(),
                np.clip(means, 0, 1).tolist(),
                strict=True,
            )
        ]


def _shares(sizes: NDArray[np.int64], sureness: Floats) -> Floats:
    """How much judgments tell of the best passage [queries], 0 to 1: the mean over the queries with pools of about the
    same size, `_ALIKE` at least where there are so many.
    """
    shares = np.ones(len(sizes))
    for size in np.unique(sizes[sizes > 1]).tolist():
        apart = np.where(sizes > 1, np.abs(np.log(sizes / size)), np.inf)
        near = apart <= np.sort(apart)[min(_ALIKE, int((sizes > 1).sum())) - 1]
        shares[sizes == size] = max(_SOME, float(sureness[near].mean()))
    return shares


def _shrunken(means: Floats, drawn: Floats, random: np.random.Generator) -> Floats:
    """Draws of the runs' true means [draws x runs], from draws of the error of their means.

    True means are normal around a common one, as far apart as the means are beyond their errors; draws of both are
    moved to what is known (Matheron's rule).
    """
    runs = len(means)
    if runs < 2 or len(drawn) < 2:
        return means + drawn
    errors = np.cov(drawn.T)
    noise = float(np.trace(errors)) / runs
    differ = noise - (float(errors.sum()) - noise * runs) / (runs * (runs - 1))  # of the error of a run beside another
    spread = max(float(means.var(ddof=1)) - differ, 0.5 * differ, _TINY)
    truly = random.normal(0, spread**0.5, (len(drawn), runs))
    common = means.mean()
    gain = spread * np.linalg.inv(errors + spread * np.eye(runs))
    moved: Floats = common + truly + (means - common - truly - drawn) @ gain.T
    return moved

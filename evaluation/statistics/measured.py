"""What many runs score by any measure, as arrays joined by query: means, intervals over queries, and paired tests.

RR has statistics of its own, on whole ranks: `evaluation.statistics.ranks`. Here, scores are floats; differences are
the same where they agree in twelve decimals, so that rounding breaks no tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.measures.means import exact_mean
from evaluation.measures.named import Measure, Scorer
from evaluation.statistics.joint_ranks import Tally
from evaluation.statistics.resampling import CONFIDENCE, Interval, t_intervals_of
from evaluation.statistics.significance import paired_t, sign_test, signed_ranks

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_PLACES = 12


@dataclass(frozen=True, eq=False)
class Measured:
    """What runs score by one measure: `values` [runs x queries], 0 to 1.

    `counts`, of the same shape: which queries count for a run; None where all do. By Compat, those with a relevant
    passage that the run has.
    """

    measure: Measure
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    counts: Bools | None = None

    def only(self, queries: Sequence[str]) -> Measured:
        """The same for some of the queries, in the order given."""
        at = {query: column for column, query in enumerate(self.queries)}
        columns = [at[query] for query in queries]
        counts = None if self.counts is None else self.counts[:, columns]
        return Measured(self.measure, self.runs, tuple(queries), self.values[:, columns], counts)

    def means(self) -> dict[str, float]:
        """The mean of each run; 0 where no query counts for it. Raises ValueError if there are no queries at all."""
        if self.counts is None:
            return {run: float(exact_mean(own)) for run, own in zip(self.runs, self.values, strict=True)}
        if not self.queries:
            raise ValueError("a mean over no queries")
        rows = zip(self.runs, self.values, self.counts, strict=True)
        return {run: float(exact_mean(own[counts])) if counts.any() else 0.0 for run, own, counts in rows}

    def counted(self) -> dict[str, int]:
        """How many queries count for each run."""
        if self.counts is None:
            return dict.fromkeys(self.runs, len(self.queries))
        return dict(zip(self.runs, self.counts.sum(axis=1).tolist(), strict=True))

    def t_intervals(self, confidence: float = CONFIDENCE) -> list[Interval | None]:
        """Of the means, by run."""
        return t_intervals_of(self.values, confidence, self.counts)


def measured(
    runs: Mapping[str, RunArtifact], qrels: Qrels, measures: Sequence[Measure], order: Order
) -> dict[Measure, Measured]:
    """Score runs by measures: by measure, over all queries of the qrels. A query that a run lacks scores 0; by Compat,
    it does not count.

    Raises ValueError if an artifact keeps less than a measure looks at.
    """
    scorer = Scorer(qrels)
    values = np.array([scorer.score(run, measures, order) for run in runs.values()], np.float64)
    values = values.reshape(len(runs), len(measures), len(scorer.queries))
    shared = None
    if any(measure.kind == "Compat" for measure in measures):
        shared = np.array([scorer.shared(run) for run in runs.values()], np.bool_).reshape(len(runs), -1)
    return {
        measure: Measured(
            measure, tuple(runs), scorer.queries, values[:, number], shared if measure.kind == "Compat" else None
        )
        for number, measure in enumerate(measures)
    }


class MeasuredBoard:
    """Runs that any qrels can be scored on by one measure."""

    def __init__(self, runs: Mapping[str, RunArtifact], measure: Measure, order: Order) -> None:
        self.runs = tuple(runs)
        self._artifacts = runs
        self._measure, self._order = measure, order

    def scores(self, qrels: Qrels) -> Measured:
        """Over all queries of the qrels. Raises ValueError as `measured` does."""
        return measured(self._artifacts, qrels, [self._measure], self._order)[self._measure]

    def means(self, qrels: Qrels) -> dict[str, float]:
        return self.scores(qrels).means()


class PairTest(NamedTuple):
    """Run b against run a, over the queries that count for both: `delta`, the mean of b less that of a; on how many
    queries b scores higher, lower and the same; the exact sign test of higher against lower; p of Wilcoxon's signed
    ranks and of the paired t-test. A p of 1 may mean no difference at all; None where there is nothing to test.
    `direction`: 1 where the signed ranks are for b, -1 where for a; they may favour the run of the lower mean.
    """

    a: str
    b: str
    delta: float
    higher: int
    lower: int
    equal: int
    sign: float | None
    wsr: float | None
    t: float | None
    direction: float


def pair_tests(scores: Measured, pairs: Iterable[tuple[str, str]]) -> list[PairTest]:
    """Test pairs of runs, in the order given, over the queries that count for both.

    Raises KeyError for an unknown run.
    """
    row = {run: at for at, run in enumerate(scores.runs)}
    tests = []
    for a, b in pairs:
        ours, theirs = scores.values[row[a]], scores.values[row[b]]
        if scores.counts is not None:
            both = scores.counts[row[a]] & scores.counts[row[b]]
            ours, theirs = ours[both], theirs[both]
        tests.append(_pair_test(a, b, ours, theirs))
    return tests


def _pair_test(a: str, b: str, ours: Floats, theirs: Floats) -> PairTest:
    differences = np.round(theirs - ours, _PLACES)
    sizes, at = np.unique(np.abs(differences), return_inverse=True)
    above = np.bincount(at[differences > 0], minlength=len(sizes)).astype(np.float64)
    below = np.bincount(at[differences < 0], minlength=len(sizes)).astype(np.float64)
    apart = sizes > 0
    equal = len(differences) - above.sum() - below.sum()
    tally = Tally(
        sizes[apart], above[None, apart], below[None, apart], np.array([equal]), np.array([float(len(differences))])
    )
    with np.errstate(invalid="ignore"):
        signed = signed_ranks(tally)
        tests = [sign_test([above.sum()], [below.sum()]), signed.p, paired_t(tally)]
    sign, wsr, t = (None if np.isnan(p[0]) else float(p[0]) for p in tests)
    delta = float(exact_mean(theirs) - exact_mean(ours)) if len(ours) else 0.0
    return PairTest(
        a, b, delta, int(above.sum()), int(below.sum()), int(equal), sign, wsr, t, float(signed.direction[0])
    )

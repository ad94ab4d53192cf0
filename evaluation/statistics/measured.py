"""What many runs score by any measure, as arrays joined by query: means, intervals over queries, and paired tests.

RR has statistics of its own, on whole ranks: `evaluation.statistics.ranks`. Here, scores are floats; differences are
the same where they agree in twelve decimals, so that rounding breaks no tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.measures.means import exact_mean
from evaluation.measures.named import Measure, Scorer
from evaluation.statistics.joint_ranks import Tally
from evaluation.statistics.resampling import CONFIDENCE, Interval, t_intervals_of
from evaluation.statistics.significance import Correction, paired_t, sign_test, signed_ranks, significance_threshold

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_PLACES = 12


@dataclass(frozen=True, eq=False)
class Measured:
    """What runs score by one measure: `values` [runs x queries], 0 to 1.

    `shared`, of the same shape, by Compat alone: the queries with a relevant passage that the run has. The others count
    0, as by every measure: means over other queries for each run would not be compared.
    """

    measure: Measure
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    shared: Bools | None = None

    def only(self, queries: Sequence[str]) -> Measured:
        """The same for some of the queries, in the order given."""
        at = {query: column for column, query in enumerate(self.queries)}
        columns = [at[query] for query in queries]
        shared = None if self.shared is None else self.shared[:, columns]
        return Measured(self.measure, self.runs, tuple(queries), self.values[:, columns], shared)

    def means(self) -> dict[str, float]:
        """The mean of each run. Raises ValueError if there are no queries."""
        return {run: float(exact_mean(values)) for run, values in zip(self.runs, self.values, strict=True)}

    def counted(self) -> dict[str, int]:
        """How many queries each run's mean says something of: by Compat, those that are shared, and else all."""
        if self.shared is None:
            return dict.fromkeys(self.runs, len(self.queries))
        return dict(zip(self.runs, self.shared.sum(axis=1).tolist(), strict=True))

    def t_intervals(self, confidence: float = CONFIDENCE) -> list[Interval | None]:
        """Of the means, by run."""
        return t_intervals_of(self.values, confidence)


def measured(
    runs: Mapping[str, RunArtifact], qrels: Qrels, measures: Sequence[Measure], order: Order
) -> dict[Measure, Measured]:
    """Score runs by measures: by measure, over all queries of the qrels. A query that a run lacks scores 0.

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


def measured_on_both(
    runs: Mapping[str, RunArtifact],
    original: Qrels,
    preference: Qrels,
    measures: Sequence[Measure],
    order: Order,
    *,
    queries: Sequence[str],
    min_grade: int,
) -> Iterator[tuple[Measured, Measured]]:
    """By each measure, what runs score on the original and on the preference qrels, over queries that both name.

    All preference qrels are relevant, whatever the grade that a measure wants of the original ones. Raises ValueError
    as `measured` does.
    """
    graded = [measure.with_grade(min_grade) for measure in measures]
    plain = [measure._replace(rel=1) for measure in measures]
    before, after = measured(runs, original, graded, order), measured(runs, preference, plain, order)
    for measure, alone in zip(graded, plain, strict=True):
        yield before[measure].only(queries), after[alone].only(queries)


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
    """Run b against run a: `delta`, the mean of b less that of a, with its 95% t-interval; on how many
    queries b scores higher, lower and the same; the exact sign test of higher against lower; p of Wilcoxon's signed
    ranks and of the paired t-test. A p of 1 may mean no difference at all; None where there is nothing to test.
    `direction`: 1 where the signed ranks are for b, -1 where for a; they may favour the run of the lower mean.
    """

    a: str
    b: str
    delta: float
    delta_interval: Interval | None
    higher: int
    lower: int
    equal: int
    sign: float | None
    wsr: float | None
    t: float | None
    direction: float


def pair_tests(scores: Measured, pairs: Iterable[tuple[str, str]]) -> list[PairTest]:
    """Test pairs of runs, in the order given.

    Raises KeyError for an unknown run.
    """
    row = {run: at for at, run in enumerate(scores.runs)}
    tests = []
    for a, b in pairs:
        tests.append(_pair_test(a, b, scores.values[row[a]], scores.values[row[b]]))
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
    (interval,) = t_intervals_of(differences[None], low=-1)
    counts = int(above.sum()), int(below.sum()), int(equal)
    return PairTest(a, b, delta, interval, *counts, sign, wsr, t, float(signed.direction[0]))


def significant_tests(
    tests: Sequence[PairTest], alpha: float, correction: Correction
) -> tuple[dict[str, float], list[dict[str, Literal["a", "b"] | None]]]:
    """What p is significant by the sign test, by WSR and by t; and who of each pair is significantly better by each:
    the run that the test favours, if it has the higher mean.
    """
    thresholds = {}
    winners: list[dict[str, Literal["a", "b"] | None]] = [{} for _test in tests]
    for name in ("sign", "wsr", "t"):
        p = [1.0 if getattr(test, name) is None else getattr(test, name) for test in tests]
        thresholds[name] = significance_threshold(p, alpha, correction)
        for winner, test, p_value in zip(winners, tests, p, strict=True):
            favours = {"sign": test.higher - test.lower, "wsr": test.direction, "t": test.delta}[name]
            is_clear = p_value < thresholds[name] and favours * test.delta > 0
            winner[name] = None if not is_clear else "b" if favours > 0 else "a"
    return thresholds, winners

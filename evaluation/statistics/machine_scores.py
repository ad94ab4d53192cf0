"""Scores of runs from a machine's answers about many queries and people's judgments of some of them.

Prediction-powered inference (Angelopoulos, Duchi, Zrnic 2023, "PPI++"): the machine says how the queries that people
judged differ from the others, and people by how much the machine is wrong. It is right on average however bad the
machine is, as long as the queries that people judged are a random sample.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.qrels import Qrels
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE, Interval, t_intervals_of

Floats = NDArray[np.float64]


class Corrected(NamedTuple):
    """A mean over all queries of the kind that people's queries are a sample of.

    `people`, `people_interval`: from people alone. `machine`: from the machine alone, over all queries that it
    answered. `mean`, `interval`: from both. `weight`: how far the machine is relied on, 0 (not at all: what people say
    alone) to 1, tuned so that the interval is narrow: never wider than people's. Intervals are None of less than two
    queries by people.
    """

    people: float
    people_interval: Interval | None
    machine: float
    mean: float
    interval: Interval | None
    weight: float


def correct(people: Floats, machine: Floats, further: Floats, confidence: float = CONFIDENCE) -> Corrected:
    """A mean from what people and the machine say of the same queries, and the machine of `further` ones."""
    n, more = len(people), len(further)
    alone, both = t_intervals_of(people[None], confidence, low=-1)[0], np.concatenate([machine, further])
    weight = 0.0
    if n > 2 and more > 1 and (spread := both.var(ddof=1)) > 0:
        slope = np.cov(people, machine)[0, 1] / (spread * (1 + n / more))
        weight = float(np.clip(slope, 0, 1))
    by_people = Corrected(float(people.mean()), alone, float(both.mean()), float(people.mean()), alone, 0.0)
    if not weight:
        return by_people
    assert alone is not None
    from scipy import special  # here, since most commands need none of it and it takes long to load

    rest = people - weight * machine
    mean = rest.mean() + weight * further.mean()
    # As each query moved the weight towards itself, its rest is too small: MacKinnon and White's HC3 undoes that.
    apart = machine - machine.mean()
    leverage = 1 / n + (apart**2 / (apart**2).sum() if apart.any() else 0)
    variance = (((rest - rest.mean()) / (1 - np.minimum(leverage, 0.5))) ** 2).sum() * (n - 1) / n**2
    half = special.stdtrit(n - 2, (1 + confidence) / 2) * np.sqrt(variance / n + weight**2 * further.var(ddof=1) / more)
    if 2 * half > alone.high - alone.low:
        return by_people
    interval = Interval(float(mean - half), float(mean + half))
    return by_people._replace(mean=float(mean), interval=interval, weight=weight)


class Scored(NamedTuple):
    """RR@k of runs on the winners by people and by a machine.

    `people`, `machine` [runs x queries]: on the queries that both have winners of. `further` [runs x queries]: on
    those that only the machine has.
    """

    k: int
    runs: tuple[str, ...]
    people: Floats
    machine: Floats
    further: Floats

    def of(self, run: str) -> Corrected:
        """The run's mean."""
        at = self.runs.index(run)
        return correct(self.people[at], self.machine[at], self.further[at])

    def apart(self, a: str, b: str) -> Corrected:
        """How much higher the mean of a is than that of b, query by query."""
        first, other = self.runs.index(a), self.runs.index(b)
        return correct(*(values[first] - values[other] for values in (self.people, self.machine, self.further)))

    def counts(self) -> dict[str, int]:
        """How many queries both have, and how many only the machine."""
        return {"queries": self.people.shape[1], "further": self.further.shape[1]}

    def as_dict(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Ready for JSON: every run, and the differences of these pairs."""
        return {
            "k": self.k,
            **self.counts(),
            "runs": {run: self.of(run)._asdict() for run in self.runs},
            "differences": [{"a": a, "b": b, **self.apart(a, b)._asdict()} for a, b in pairs],
        }

    def neighbours(self) -> list[tuple[str, str]]:
        """The runs that follow each other, by the means of both together; the better one first."""
        means = {run: self.of(run).mean for run in self.runs}
        order = sorted(self.runs, key=lambda run: (-means[run], run))
        return list(pairwise(order))


def score(board: Board, people: Iterable[tuple[str, str]], machine: Iterable[tuple[str, str]]) -> Scored | None:
    """Runs by winners as (query, passage). None where no query has winners by both."""
    graded: list[dict[str, dict[str, int]]] = [{}, {}]
    for grades, winners in zip(graded, (people, machine), strict=True):
        for query, passage in winners:
            grades.setdefault(query, {})[passage] = 1
    judged, answered = graded
    common = sorted(query for query in judged if query in answered)
    further = sorted(query for query in answered if query not in judged)
    if not common:
        return None
    return Scored(
        board.k, board.runs, _scores(board, judged, common), _scores(board, answered, common),
        _scores(board, answered, further),
    )  # fmt: skip


def _scores(board: Board, winners: dict[str, dict[str, int]], queries: Sequence[str]) -> Floats:
    return board.ranks(Qrels({query: winners[query] for query in queries})).reciprocals()


class Favour(NamedTuple):
    """How much more a machine gives to runs that use its own model than to the others, beyond what people give them.

    `own`, `others`: how many runs each are. `mean`: of RR@k by the machine less RR@k by people, that of the own runs
    less that of the others, over so many `queries`; with its interval, and the two-sided p of Student's t.
    """

    own: int
    others: int
    queries: int
    mean: float
    interval: Interval
    p: float


def favour(scored: Scored, favoured: Collection[str]) -> Favour | None:
    """Whether the machine favours these runs. None where they are all runs or none, or of less than two queries."""
    ours = np.array([run in favoured for run in scored.runs])
    n = scored.people.shape[1]
    if ours.all() or not ours.any() or n < 2:
        return None
    excess = scored.machine - scored.people
    values = excess[ours].mean(axis=0) - excess[~ours].mean(axis=0)
    mean = float(values.mean())
    interval = t_intervals_of(values[None], low=-1)[0]
    assert interval is not None
    error = values.std(ddof=1) / n**0.5
    from scipy import special  # here, since most commands need none of it and it takes long to load

    p = float(2 * special.stdtr(n - 1, -abs(mean / error))) if error > 0 else float(mean == 0)
    return Favour(int(ours.sum()), int((~ours).sum()), n, mean, interval, p)

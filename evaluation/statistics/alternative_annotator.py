"""The alternative annotator test: may a machine stand in for a person (Calderon, Reichart, Dror, ACL 2025)?

Each person in turn is left out, and with the others' judgments of the same pairs compared twice: that person's, and the
machine's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from evaluation.judging.pooling import canonical
from evaluation.statistics.agreement import Vote
from evaluation.statistics.machines import Settled

EPSILON = 0.1  # the authors' for crowd workers; 0.15 for trained people, 0.2 for experts
LEVEL = 0.05  # of the false discovery rate
PAIRS = 30  # that a person must have judged with others, so that t holds
PEOPLE = 3  # whom the authors want at least
PASSES = 0.5  # of the people


class LeftOut(NamedTuple):
    """One person against the machine, over so many `pairs` that others judged too and the machine answered.

    `machine`: the share of the pairs where it agrees with at least as many of the others as the person does. `person`:
    the same turned round. `p`: of the one-sided t-test that `person` is not greater than `machine` by epsilon or more.
    `stands`: whether the machine may stand in for this one.
    """

    worker: str
    pairs: int
    machine: float
    person: float
    p: float
    stands: bool


class StandIn(NamedTuple):
    """The test. `few`: people who were not compared, having too few pairs.

    `winning`: the share of the people for whom the machine may stand in. `advantage`: the mean of their `machine`.
    `passes`: whether it is half of them or more. All three are None with less than three people.
    """

    epsilon: float
    people: tuple[LeftOut, ...]
    few: int
    winning: float | None
    advantage: float | None
    passes: bool | None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, without who the people are."""
        people = [
            {name: value for name, value in person._asdict().items() if name != "worker"} for person in self.people
        ]
        return self._asdict() | {"people": people}


def leave_each_out(votes: Iterable[Vote], machine: Settled, *, epsilon: float = EPSILON, least: int = PAIRS) -> StandIn:
    """Whether the machine may stand in for the people who judged.

    Of a worker who judged a pair more than once, the last vote counts. Two ties agree. The false discovery rate over
    the people is held by Benjamini and Yekutieli's correction.
    """
    cast: dict[tuple[str, str, str], dict[str, str | None]] = defaultdict(dict)
    for query, a, b, worker, preferred in votes:
        cast[query, *canonical(a, b)][worker] = preferred
    compared: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for pair, answers in cast.items():
        tally = Counter(answers.values())
        if len(answers) > 1 and pair in machine:
            for worker, preferred in answers.items():
                person, other = tally[preferred] - 1, tally[machine[pair]] - (machine[pair] == preferred)
                compared[worker].append((other >= person, person >= other))
    enough = sorted((worker, wins) for worker, wins in compared.items() if len(wins) >= least)
    ps = [_p(wins, epsilon) for _, wins in enough]
    people = tuple(
        LeftOut(worker, len(wins), _share(wins, 0), _share(wins, 1), p, stands)
        for (worker, wins), p, stands in zip(enough, ps, _discovered(ps), strict=True)
    )
    few = len(compared) - len(people)
    if len(people) < PEOPLE:
        return StandIn(epsilon, people, few, None, None, None)
    winning = sum(person.stands for person in people) / len(people)
    advantage = sum(person.machine for person in people) / len(people)
    return StandIn(epsilon, people, few, winning, advantage, winning >= PASSES)


def _share(wins: list[tuple[bool, bool]], whose: int) -> float:
    return sum(win[whose] for win in wins) / len(wins)


def _p(wins: list[tuple[bool, bool]], epsilon: float) -> float:
    ahead = np.array([person - machine for machine, person in np.array(wins, np.float64)])
    excess, error = ahead.mean() - epsilon, ahead.std(ddof=1) / len(ahead) ** 0.5
    if not error:
        return float(excess >= 0)
    from scipy import special  # here, since most commands need none of it and it takes long to load

    return float(special.stdtr(len(ahead) - 1, excess / error))


def _discovered(ps: list[float]) -> list[bool]:
    if not ps:
        return []
    from scipy import stats

    return [bool(p <= LEVEL) for p in stats.false_discovery_control(ps, method="by")]

"""A machine's answers beside people's judgments: how far they agree, and what the machine leans to.

A machine has one answer for a pair. Its answers never become judgments: people's results do not depend on them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaluation.files.answers import NO_ANSWER, Answer
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.judging.pooling import canonical
from evaluation.judging.tournament import Method, derive
from evaluation.statistics.agreement import SideBias, side_bias
from evaluation.statistics.correlation import kendall_tau
from evaluation.statistics.leaderboards import places
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE, Interval

FIRST = 10  # runs, by people, whose order is looked at by itself

# By query and the two passages in canonical order: the passage that the machine prefers, or None for a tie.
Settled = Mapping[tuple[str, str, str], str | None]


def settle(answers: Iterable[Answer]) -> dict[tuple[str, str, str], str | None]:
    """The machine's one answer for each pair, whichever way round it was asked: None for a tie.

    Answers that differ are a tie. Where it did not answer once, what it said otherwise holds; a pair without any answer
    is not there.
    """
    sides_by_pair: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for answer in answers:
        if answer.preferred != NO_ANSWER:
            sides_by_pair[answer.query, *canonical(answer.a, answer.b)].add(answer.preferred)
    return {
        pair: next(iter(preferred)) if len(preferred) == 1 and preferred <= {*pair[1:]} else None
        for pair, preferred in sides_by_pair.items()
    }


class Beside(NamedTuple):
    """Counted over people's judgments, each by itself.

    `pairs`: the judgments. `decisive`: those where people preferred one and the machine did, and `agree` of them the
    same. `ties`: the machine's. `missing`: it has no answer.
    """

    pairs: int
    decisive: int
    agree: int
    ties: int
    missing: int

    @property
    def share(self) -> float | None:
        """How often it agrees, of the decisive; None without any."""
        return self.agree / self.decisive if self.decisive else None

    def interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """Wilson's interval of the share."""
        return wilson_interval(self.agree, self.decisive, confidence)


def wilson_interval(successes: int, total: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson's score interval of a share; None of nothing."""
    if not total:
        return None
    from scipy import stats  # here, since most commands need none of it and it takes long to load

    interval = stats.binomtest(successes, total).proportion_ci(confidence, "wilson")
    return Interval(float(interval.low), float(interval.high))


def count_beside(people: Iterable[Preference], machine: Settled) -> Beside:
    """How far the machine agrees with people."""
    pairs = decisive = agree = ties = missing = 0
    for query, a, b, preferred in people:
        pairs += 1
        pair = (query, *canonical(a, b))
        if pair not in machine:
            missing += 1
        elif machine[pair] is None:
            ties += 1
        elif preferred is not None:
            decisive += 1
            agree += machine[pair] == preferred
    return Beside(pairs, decisive, agree, ties, missing)


def first_preferred(answers: Iterable[Answer]) -> SideBias:
    """How often the machine preferred the passage that it was shown first, which is the left one here: over its lines
    that prefer one, each as it was asked.
    """
    return side_bias("left" if answer.preferred == answer.a else "right" for answer in answers if answer.is_decisive)


class Longer(NamedTuple):
    """Over the judgments where both people and the machine preferred one of two passages of different lengths: how
    often each preferred the longer one.
    """

    judgments: int
    machine: int
    people: int

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON. The shares are None without judgments."""
        shares = {
            f"{who}_share": count / self.judgments if self.judgments else None
            for who, count in (("machine", self.machine), ("people", self.people))
        }
        return {**self._asdict(), **shares}


def longer_preferred(people: Iterable[Preference], machine: Settled, lengths: Mapping[str, int]) -> Longer:
    """How often the longer passage was preferred. Passages without a length are left out."""
    judgments = by_machine = by_people = 0
    for query, a, b, preferred in people:
        answer = machine.get((query, *canonical(a, b)))
        if answer is None or preferred is None or a not in lengths or b not in lengths or lengths[a] == lengths[b]:
            continue
        longer = a if lengths[a] > lengths[b] else b
        judgments += 1
        by_machine += answer == longer
        by_people += preferred == longer
    return Longer(judgments, by_machine, by_people)


@dataclass(frozen=True)
class RunOrders:
    """Runs by mean RR@k on the winners by people and by the machine, over the queries in which both have one.

    `people`, `machine`: means by run. `tau`: Kendall's, of the two orders. `first`: the runs of rank 10 or better by
    people, which are more than ten where runs tie there; `tau_first`: of these alone.
    """

    k: int
    queries: int
    people: dict[str, float]
    machine: dict[str, float]
    tau: float | None
    first: tuple[str, ...]
    tau_first: float | None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "k": self.k,
            "queries": self.queries,
            "runs": {run: {"people": mean, "machine": self.machine[run]} for run, mean in self.people.items()},
            "tau": self.tau,
            "first": list(self.first),
            "tau_first": self.tau_first,
        }


def winners_of(
    pools: Mapping[str, Collection[str]], machine: Settled, method: Method = "tournament"
) -> tuple[tuple[str, str], ...]:
    """The qrels (query, passage) that the machine's answers alone would give: what is outside the pools is left out,
    and pools that it answered in part are played. A pool of one has none, since nobody was asked about it.
    """
    pools = {query: pool for query, pool in pools.items() if len(pool) > 1}
    inside = [
        Preference(query, a, b, preferred)
        for (query, a, b), preferred in machine.items()
        if query in pools and a in pools[query] and b in pools[query]
    ]
    return derive(pools, inside, method, allow_incomplete=True).qrels


def compare_orders(
    board: Board, people: Iterable[tuple[str, str]], machine: Iterable[tuple[str, str]]
) -> RunOrders | None:
    """The two orders of the runs, from winners as (query, passage); None where no query has a winner in both."""
    graded: list[dict[str, dict[str, int]]] = []
    for winners in (people, machine):
        graded.append(defaultdict(dict))
        for query, passage in winners:
            graded[-1][query][passage] = 1
    common = [query for query in graded[0] if query in graded[1]]
    if not common:
        return None
    by_people, by_machine = (
        board.ranks(Qrels({query: grades[query] for query in common})).means() for grades in graded
    )
    first = tuple(run for run, place in zip(by_people, places(list(by_people.values())), strict=True) if place <= FIRST)
    return RunOrders(
        k=board.k,
        queries=len(common),
        people=by_people,
        machine=by_machine,
        tau=kendall_tau(list(by_people.values()), list(by_machine.values())),
        first=first,
        tau_first=kendall_tau([by_people[run] for run in first], [by_machine[run] for run in first]),
    )

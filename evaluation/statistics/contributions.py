"""Whether a run's place is owed to passages that it alone brought into the pools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Policy, Qrels
from evaluation.judging.pooling import Tops
from evaluation.judging.tournament import Method, derive
from evaluation.statistics.leaderboards import places


class Contribution(NamedTuple):
    """A run on the preference qrels, with and without what it alone surfaced.

    `own`: passages of the pools that are its top passage and no other run's, and no original qrel. `won`: how many of
    them are preference qrels. `mean` and `place` are on the preference qrels as they are, `mean_without` and
    `place_without` on those derived again from pools without these passages. Places are among all runs, from 1.
    """

    run: str
    own: int
    won: int
    mean: float
    mean_without: float
    place: int
    place_without: int

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return self._asdict()


class Scoring(Protocol):
    """Runs that any qrels can be scored on."""

    @property
    def runs(self) -> tuple[str, ...]:
        """Their names."""

    def means(self, qrels: Qrels) -> dict[str, float]:
        """The mean of each, over all queries of the qrels."""


def contributions(
    board: Scoring,
    tops: Mapping[str, Tops],
    qrels: Qrels,
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    method: Method = "tournament",
    allow_incomplete: bool = False,
    policy: Policy = "all",
    min_grade: int = 1,
) -> tuple[Contribution, ...]:
    """For every run of the board that was pooled. `tops` are the top passages, by run, that the pools were made of,
    beside the qrels that `policy` takes: those of runs that were pooled, and of no other. Places are among all runs.

    Scores are over the queries whose pool gives qrels. Raises ValueError where none does, and UnknownPassage as
    `derive` does.
    """
    judgments: dict[str, list[Preference]] = defaultdict(list)
    for preference in preferences:
        judgments[preference.query].append(preference)
    everything = [preference for judgments_of_query in judgments.values() for preference in judgments_of_query]
    winners = _by_query(derive(pools, everything, method, allow_incomplete).qrels)
    if not winners:
        raise ValueError("no pool gives qrels")
    means = _means(board, winners)
    alone = _alone(tops, qrels.relevant(policy, min_grade), pools)
    contributions_of_runs = []
    for at, run in enumerate(board.runs):
        if run not in alone:
            continue
        passages_alone = {query: passages for query, passages in alone[run].items() if query in winners}
        reduced = {query: set(pools[query]) - passages for query, passages in passages_alone.items()}
        left = [
            preference
            for query, pool in reduced.items()
            for preference in judgments[query]
            if preference.a in pool and preference.b in pool
        ]
        again = _by_query(derive(reduced, left, method, allow_incomplete).qrels)
        # A pool that says nothing without the run's passages keeps its queries, and nobody finds anything there.
        without = _means(board, winners | {query: again.get(query, ()) for query in passages_alone})
        contributions_of_runs.append(
            Contribution(
                run=run,
                own=sum(map(len, passages_alone.values())),
                won=sum(len(passages.intersection(winners[query])) for query, passages in passages_alone.items()),
                mean=means[at],
                mean_without=without[at],
                place=places(means)[at],
                place_without=places(without)[at],
            )
        )
    return tuple(contributions_of_runs)


def _alone(
    tops: Mapping[str, Tops], relevant: Mapping[str, Collection[str]], pools: Mapping[str, Collection[str]]
) -> dict[str, dict[str, set[str]]]:
    """By run and query, the pool's passages that only this run surfaced."""
    alone: dict[str, dict[str, set[str]]] = {run: {} for run in tops}
    for query, pool in pools.items():
        surfaced = Counter(passage for top in tops.values() for passage in set(top.get(query, ())))
        for run, top in tops.items():
            only = {passage for passage in top.get(query, ()) if surfaced[passage] == 1 and passage in pool}
            if only := only.difference(relevant.get(query, ())):
                alone[run][query] = only
    return alone


def _by_query(qrels: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    winners: dict[str, list[str]] = defaultdict(list)
    for query, passage in qrels:
        winners[query].append(passage)
    return dict(winners)


def _means(board: Scoring, winners: Mapping[str, Sequence[str]]) -> list[float]:
    grades = {query: dict.fromkeys(passages, 1) for query, passages in winners.items()}
    return list(board.means(Qrels(grades)).values())

"""All sections together."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from evaluation.files.qrels import Entry, Qrels
from evaluation.judging.equal_texts import answers_by_id
from evaluation.statistics.leaderboards import common_queries
from results.inputs import Inputs
from results.sections import (
    certainty,
    challengers,
    champion,
    compared,
    counts,
    crowd,
    leaderboard,
    measures,
    passages,
    wins,
)
from results.sections.certainty import tables as certainty_tables
from results.sections.challengers import Challengers
from results.sections.champion import Champion
from results.sections.compared import tables as compared_tables
from results.sections.leaderboard import tables as leaderboard_tables
from results.sections.measures import Measures
from results.sections.scored import Scored
from results.sections.stored import SPARSE, Json, from_json, to_json
from results.sections.subjects import Subject
from results.sections.wins import Wins
from results.tables import Table


@dataclass(frozen=True, kw_only=True)
class Results(crowd.Crowd, passages.Passages, certainty.Certainty):
    """The results of a campaign. What its design or settings do not have is None or empty. `apart`: of the lists that
    are cut here, by name, how long they are.
    """

    measures: Measures | None = None
    wins: Wins | None = None
    champion: Champion | None = None
    challengers: Challengers | None = None
    apart: dict[str, int] | None = field(default=None, metadata=SPARSE)


def read(stored: Json) -> Results:
    return from_json(Results, stored)


def compute(inputs: Inputs, left_out: Collection[str] = (), *, is_release: bool = False) -> Results:
    """Everything of the results, as it is stored. The same inputs give the same.

    `left_out` are the queries that are held back: a release is without them, and all else only counts them. What it
    says of judged pairs is of those that leave, without the runs that do not.
    """
    if is_release:
        released = _compute(inputs._replace(waiting=inputs.waiting.union(left_out)), inputs.held_back_runs)
        incomplete = released.incomplete - len(left_out)
        return replace(released, held_back=len(left_out), is_release=True, incomplete=incomplete)
    return replace(_compute(inputs._replace(withheld=frozenset())), held_back=len(left_out))


def _compute(inputs: Inputs, absent: Collection[str] = ()) -> Results:
    people, pairing = inputs.people(), inputs.campaign.pairing
    answers = answers_by_id(people.qrels, inputs.evidence.stands_for, inputs.withheld)
    # As they are exported, so that scores are those of the files.
    preference = Qrels.of(Entry(query, pid, 1) for query, pids in answers.items() for pid in pids)
    totals = counts.compute(inputs, people.qrels, preference)
    data = Results(**vars(crowd.compute(totals, inputs)))
    queries = common_queries(inputs.qrels, preference)
    if not pairing.finds_answers:
        data = replace(data, champion=champion.compute(inputs, people.judgments))
    elif pairing.challenges:
        data = replace(data, challengers=challengers.compute(inputs))
    elif queries:
        scored = Scored(inputs, people, preference, queries, absent)
        board = leaderboard.compute(compared.compute(totals, scored), scored)
        parts = vars(data) | vars(passages.compute(totals, scored)) | vars(certainty.compute(board, scored))
        data = Results(**parts | {"measures": measures.compute(scored), "wins": wins.compute(scored)})
    else:
        data = replace(data, agreement=None)
    return read(to_json(data))


def tables(data: Results, subject: Subject | None = None) -> dict[str, Table]:
    """All tables that these results have by name, or those of one subject, in the order in which they are shown."""
    makers = {name: make for name, (of, make) in _TABLES.items() if subject in (None, of)}
    return {name: each for name, make in makers.items() if (each := make(data)) is not None}


def table(data: Results, name: str) -> Table | None:
    """One of them; None where there is none of this name."""
    return _TABLES[name][1](data) if name in _TABLES else None


def _of(part: str, make: Callable[[Any], Table | None]) -> Callable[[Results], Table | None]:
    """What makes a table of a part; None where results do not have the part."""
    return lambda data: None if (value := getattr(data, part)) is None else make(value)


# By name, whose each is, and how it is made: None where these results do not have it.
_TABLES: dict[str, tuple[Subject, Callable[[Results], Table | None]]] = {
    "leaderboard": (Subject.FINDINGS, leaderboard_tables.runs_table),
    "neighbours": (Subject.RUNS, leaderboard_tables.neighbours_table),
    "measures": (
        Subject.RUNS,
        lambda data: (
            measures.scores_table(data.measures, data.compare.queries) if data.measures and data.compare else None
        ),
    ),
    "measure-tests": (Subject.RUNS, _of("measures", measures.tests_table)),
    "ranks": (Subject.CERTAINTY, certainty_tables.ranks_table),
    "reversed": (Subject.CERTAINTY, certainty_tables.reversed_table),
    "champion-split": (Subject.PASSAGES, _of("champion", champion.split_table)),
    "challenging-runs": (Subject.FINDINGS, _of("challengers", challengers.runs_table)),
    "challengers": (Subject.PASSAGES, _of("challengers", challengers.challengers_table)),
    "champion": (Subject.FINDINGS, _of("champion", champion.outcome_table)),
    "champion-slices": (Subject.PASSAGES, _of("champion", champion.slices_table)),
    "pairs": (Subject.RUNS, compared_tables.pairs_table),
    "outcomes": (Subject.RUNS, compared_tables.outcomes_table),
    "outcomes-original": (Subject.RUNS, compared_tables.outcomes_before_table),
    "verdict-order": (Subject.RUNS, _of("compare", compared_tables.order_table)),
    "wins": (Subject.RUNS, _of("wins", wins.totals_table)),
    "win-matrix": (Subject.RUNS, _of("wins", wins.matrix_table)),
    "wins-apart": (Subject.RUNS, _of("wins", wins.apart_table)),
    "win-pairs": (Subject.RUNS, _of("wins", wins.pairs_table)),
    "order-agreement": (Subject.PASSAGES, passages.order_table),
    "contributions": (Subject.PASSAGES, passages.contributions_table),
    "stability": (Subject.CERTAINTY, certainty_tables.stability_table),
    "positions": (Subject.PEOPLE, crowd.positions_table),
    "pool-sizes": (Subject.PASSAGES, counts.pool_sizes_table),
}

"""`python -m evaluation machines`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    POOLS_HELP,
    add_command,
    add_without_query,
    cutoff,
    margin,
    p_shown,
    print_json,
    print_report,
    read_runs,
    table,
)
from evaluation.files.answers import read_answers
from evaluation.files.artifact import ORDERS
from evaluation.files.judgments import Made, last_judgments, read_judgments
from evaluation.files.preferences import Preference, read_any_pools
from evaluation.files.textfiles import counted
from evaluation.judging.tournament import derive
from evaluation.statistics.agreement import Vote
from evaluation.statistics.alternative_annotator import EPSILON, PAIRS, PEOPLE, StandIn, leave_each_out
from evaluation.statistics.machine_scores import Favour, Scored, favour, score
from evaluation.statistics.machines import Settled, settle, winners_of
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE, Interval


def add_machines(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "machines",
        _machines,
        "score runs by a machine's answers, corrected by people; tell whether it may stand in for them",
        """A machine, such as a language model, answered about many pools, and people judged some of them. Their
judgments never become one: people say by how much the machine is wrong, the machine how other queries differ.

The answers are read as `agreement` reads them. People's judgments are lines `query a b preferred worker`, the
judgments.tsv of a campaign's exports, or what other tools export; without workers there is no test of standing in.

Scores: RR@k of every run from people alone, and from both together by prediction-powered inference, each with a 95%
interval. People's queries are those where they judged every pair of the pool; they must be a random sample. Pools of
one passage are left out. The weight, 0 to 1, is how far the machine is relied on: never so far
that the interval is wider than people's.

Standing in: the alternative annotator test. Each person is left out in turn: does the machine agree with the others at
least as often, but for epsilon? It passes if that holds for half of the people or more.

Favour (with --own): whether the machine's scores exceed people's by more for runs that use its own model.

--json prints {"scores", "stand_in", "favour"}, null where there is nothing to tell. "scores": {"k", "queries",
"further", "runs": {"<run>": SCORE}, "differences": [{"a", "b", SCORE}]}, where SCORE is "people", "people_interval",
"machine", "mean", "interval", "weight". "stand_in": {"epsilon", "people": [{"pairs", "machine", "person", "p",
"stands"}], "few", "winning", "advantage", "passes"}. "favour": {"own", "others", "queries", "mean", "interval",
"p"}.""",
        [
            "python -m evaluation machines --human judgments.tsv --machine answers.txt --pools pairs.tsv runs/*",
            "python -m evaluation machines --human judgments.tsv --machine answers.txt --own runs/rag.txt runs/*",
        ],
    )
    command.add_argument("files", metavar="RUN", nargs="*", help="run files to score")
    command.add_argument("--human", metavar="FILE", required=True, help="people's judgments, best with workers")
    command.add_argument("--machine", metavar="FILE", required=True, help="the machine's answers (query a b preferred)")
    command.add_argument(
        "--pools", metavar="FILE", help=f"{POOLS_HELP}, or where there are none, the machine's answers name"
    )
    command.add_argument(
        "--own", metavar="RUN", action="append", default=[], help="a run that uses the machine's model; repeatable"
    )
    command.add_argument(
        "--epsilon",
        metavar="E",
        type=margin,
        default=EPSILON,
        help=f"what standing in for people is worth: {EPSILON} for crowd workers (the default), 0.15 for trained "
        "people, 0.2 for experts",
    )
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument("--k", metavar="N", type=cutoff, default=10, help="how far down a run is read; default: 10")
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _machines(options: argparse.Namespace) -> int:
    paths = [*options.files, *(path for path in options.own if path not in options.files)]
    judgments = last_judgments(list(read_judgments(options.human, name=options.human).made))
    machine = settle(read_answers(options.machine, name=options.machine))
    pools = read_any_pools(options.pools, name=options.pools) if options.pools else _pools_of(judgments, machine)
    runs = read_runs(paths, options.k, without_query=options.without_query)
    if runs is None:
        return BAD
    scored = _score(Board(runs, options.k, options.order), pools, judgments, machine) if runs else None
    own_runs = read_runs(options.own, 1) if options.own else None
    favoured = favour(scored, own_runs) if scored and own_runs else None
    votes = [Vote(row.query, row.a, row.b, row.worker, row.preferred) for row in judgments if row.worker]
    stand_in = leave_each_out(votes, machine, epsilon=options.epsilon) if votes else None
    if options.json:
        print_json(
            {
                "scores": scored.as_dict(combinations(scored.runs, 2)) if scored else None,
                "stand_in": stand_in and stand_in.as_dict(),
                "favour": favoured and favoured._asdict(),
            }
        )
        return OK
    scores = _scores(scored) if runs else []
    print_report([*scores, *_standing_in(stand_in), *(_favour(favoured) if options.own else [])])
    return OK


def _pools_of(judgments: list[Made], machine: Settled) -> dict[str, set[str]]:
    pools: dict[str, set[str]] = {}
    for row in judgments:
        pools.setdefault(row.query, set()).update((row.a, row.b))
    judged = set(pools)
    for query, a, b in machine:
        if query not in judged:
            pools.setdefault(query, set()).update((a, b))
    return pools


def _score(board: Board, pools: dict[str, set[str]], judgments: list[Made], machine: Settled) -> Scored | None:
    pools = {query: pool for query, pool in pools.items() if len(pool) > 1}
    judged = [
        Preference(row.query, row.a, row.b, row.preferred)
        for row in judgments
        if {row.a, row.b} <= set(pools.get(row.query, ()))
    ]
    return score(board, derive(pools, judged).qrels, winners_of(pools, machine))


def _scores(scored: Scored | None) -> Iterator[str]:
    if scored is None:
        yield "No query has winners by people and by the machine, so no run is scored."
        return
    head = ["people alone", "95%", "machine alone", "both", "95%", "weight"]
    rows = [[f"run (RR@{scored.k})", *head]]
    best_first = [run for run, _ in scored.neighbours()] + [pair[1] for pair in scored.neighbours()[-1:]]
    for run in best_first or scored.runs:
        rows.append([run, *_values(scored, run)])
    yield from table(rows)
    yield ""
    if len(scored.runs) > 1:
        rows = [["difference", *head]]
        rows += [[f"{a} - {b}", *_values(scored, a, b)] for a, b in scored.neighbours()]
        yield from table(rows)
        yield ""
    counts = scored.counts()
    yield (
        f"{counted(counts['queries'], 'query', 'queries')} that people and the machine answered, and "
        f"{counts['further']:,} that only the machine did. Both: prediction-powered inference, right where people's "
        "queries are a random sample of all. From 30 of them on, the intervals are reliable."
    )


def _values(scored: Scored, a: str, b: str | None = None) -> list[str]:
    score = scored.of(a) if b is None else scored.apart(a, b)
    means = [f"{value:.4f}" for value in (score.people, score.machine, score.mean)]
    return [means[0], _interval(score.people_interval), *means[1:], _interval(score.interval), f"{score.weight:.2f}"]


def _interval(interval: Interval | None) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}" if interval else "-"


def _standing_in(test: StandIn | None) -> Iterator[str]:
    if test is None or test.passes is None:
        yield (
            f"Alternative annotator test: not possible. It needs {PEOPLE} people with {PAIRS} pairs each that others "
            f"judged, too, and there are {len(test.people) if test else 0}."
        )
        return
    yield from table(
        [
            ["person", "pairs", "machine as good", "person as good", "p", "may stand in"],
            *(
                [
                    person.worker, f"{person.pairs:,}", f"{person.machine:.1%}", f"{person.person:.1%}",
                    p_shown(person.p), "yes" if person.stands else "no",
                ]
                for person in test.people
            ),
        ]
    )  # fmt: skip
    yield (
        f"Alternative annotator test (epsilon {test.epsilon:g}): {'passed' if test.passes else 'not passed'}. The "
        f"machine may stand in for {test.winning:.0%} of {len(test.people):,} people; its advantage probability is "
        f"{test.advantage:.3f}. {counted(test.few, 'more person', 'more people')} with fewer than {PAIRS} pairs."
    )


def _favour(result: Favour | None) -> Iterator[str]:
    if result is None:
        yield "Favour: not known. It needs runs of both kinds, and two queries by people and the machine."
        return
    yield (
        f"Beyond what people give, the machine gives {result.mean:+.4f} more to {counted(result.own, 'run')} of its "
        f"own model than to {counted(result.others, 'other')} ({CONFIDENCE:.0%}: {_interval(result.interval)}; p = "
        f"{p_shown(result.p)}; {counted(result.queries, 'query', 'queries')})."
    )

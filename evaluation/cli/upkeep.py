"""`python -m evaluation upkeep`: best known answers kept current, submission by submission, and what a year costs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    add_min_grade,
    add_seed,
    add_without_query,
    is_same_file,
    positive,
    print_json,
    print_report,
    read_judged,
    read_runs,
    table,
    warn,
    write_whole,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS
from evaluation.files.preferences import Pair, read_preferences
from evaluation.files.qrels import POLICIES, Qrels
from evaluation.files.textfiles import counted
from evaluation.judging.challengers import OUTCOMES
from evaluation.judging.pooling import Tops, all_pairs, canonical, pool_queries
from evaluation.judging.posterior import given
from evaluation.judging.settling import MOST
from evaluation.judging.tournament import derive
from evaluation.judging.upkeep import Expected, Judge, Prices, Step, Upkeep, Year, err, judge_by, replay, year_of

_ORDERS = 100  # random orders of the runs


def add_upkeep(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "upkeep",
        _upkeep,
        "replay the upkeep of a leaderboard's preference qrels, and simulate what a year of it would cost",
        """The first runs (--first) make pools with the qrels, and a tournament finds the best known answers. Then the
other runs are submitted one by one, in the order of the command line. What a submission ranks first, and nobody has
considered before, challenges the best known answers of its query. --preferences takes the place of the people who
judge: it needs a judgment of every pair that is asked about, and the command says how many it lacks.

After every submission, it prints how many challengers there were, how many pairs were judged for them, how many have
been judged so far, how many a tournament of all passages would take, and on how many queries the best known answers
are those of such a tournament, held from scratch. They are whenever the preferences of a query are transitive, and
nobody errs.

With --error-rate, each judgment says the opposite at that rate. A challenger that wins its first comparison is asked
about again, up to --most judgments, until it is probable enough (0.9) which of the two is better; and after every
submission, the command says how many of its replacements are expected to be wrong. The tournament from scratch is still
that of the preferences as they are.

With --year, it simulates a year: the upkeep is replayed in random orders of the runs, and from how the number of pairs
falls as entries become more, the cost is drawn for so many submissions. --new-qrels writes the last preference qrels.

--json prints one object:

  {"start": {"runs", "queries", "pairs"}, "steps": [{"name", "challengers", "pairs", "rounds", "outcomes": {"won",
   "tied", "lost", "open"}, "changed", "total", "all_pairs", "share", "as_from_scratch", "queries",
   "expected_wrong"}], "year": {"pairs", "assignments", "dollars", "dollars_per_submission", "a", "b"}}

`as_from_scratch` counts the `queries` whose best known answers are those of the tournament held from scratch; `year` is
null without --year, and its numbers are {"mean", "low", "high"} (5% and 95% of the simulated years are below).""",
        [
            "python -m evaluation upkeep --qrels qrels.txt --preferences oracle.txt --first 4 a.txt b.txt c.txt d.txt "
            "e.txt f.txt",
            "python -m evaluation upkeep --qrels qrels.txt --preferences oracle.txt --first 4 --year 24 --queries 6980 "
            "--overlap 3 --dollars 2.40 runs/*.gz",
        ],
    )
    command.add_argument("files", metavar="RUN", nargs="+", help="the run files, in the order of submission")
    command.add_argument("--qrels", metavar="FILE", required=True, help="the original qrels (query 0 passage grade)")
    command.add_argument("--preferences", metavar="FILE", required=True, help="what is preferred (query a b preferred)")
    command.add_argument("--first", metavar="N", type=positive, default=1, help="runs to start from; default: 1")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument(
        "--qrel", choices=POLICIES, default="first", help="which original qrels join the pools; default: first"
    )
    add_min_grade(command)
    command.add_argument("--new-qrels", metavar="OUT.txt", help="write the last preference qrels there")
    year = command.add_argument_group("a simulated year")
    year.add_argument("--year", metavar="SUBMISSIONS", type=positive, help="how many submissions the year has")
    year.add_argument("--queries", metavar="N", type=positive, help="of the leaderboard; default: those of the qrels")
    year.add_argument("--entries", metavar="N", type=positive, help="before the year; default: as many as runs given")
    year.add_argument("--campaigns", metavar="N", type=positive, default=12, help="in the year; default: 12")
    year.add_argument("--overlap", metavar="N", type=positive, default=1, help="judgments of each pair; default: 1")
    year.add_argument("--pairs-per-hit", metavar="N", type=positive, default=10, help="default: 10")
    year.add_argument(
        "--dollars",
        metavar="N.NN",
        type=_dollars,
        default=Decimal("2.40"),
        help="of one assignment, with the platform's fee; default: 2.40",
    )
    year.add_argument(
        "--redone", metavar="SHARE", type=_share, default=0.0, help="of assignments that are done again; default: 0"
    )
    command.add_argument(
        "--error-rate", metavar="RATE", type=_rate, help="how often a judgment is wrong, 0 to 0.5; default: never"
    )
    command.add_argument(
        "--most",
        metavar="N",
        type=positive,
        default=MOST,
        help=f"with --error-rate, judgments of a pair in which a challenger won the first; default: {MOST}",
    )
    add_seed(command)
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _upkeep(options: argparse.Namespace) -> int:
    if options.first >= len(options.files):
        options.command.error(f"--first {options.first} of {counted(len(options.files), 'run')} leaves none to submit")
    _check_target(options)
    qrels = read_judged(options.qrels, options.min_grade)
    preferences = list(read_preferences(options.preferences, name=options.preferences, ties=True))
    runs = read_runs(options.files, 1, without_query=options.without_query)
    if runs is None:
        return BAD
    tops: dict[str, Tops] = {name: run.top(options.order) for name, run in runs.items()}
    knows, lacked = judge_by(preferences), set[Pair]()
    rate = options.error_rate
    most, judging = (1, None) if rate is None else (options.most, given(rate))
    says = knows if rate is None else err(knows, rate, seed=options.seed)

    def judge(pairs: Any) -> Any:
        judgments = says(pairs)
        lacked.update({*pairs} - {Pair(row.query, *canonical(row.a, row.b)) for row in judgments})
        return judgments

    names = list(tops)
    upkeep = Upkeep.start(
        [tops[name] for name in names[: options.first]],
        qrels,
        judge,
        options.qrel,
        min_grade=options.min_grade,
        most=most,
        judging=judging,
    )
    started = {"runs": options.first, "queries": len(upkeep.answers), "pairs": upkeep.total}
    steps = []
    for number, name in enumerate(names[options.first :], options.first + 1):
        step = upkeep.submit(name, tops[name], judge)
        alike = _compare(upkeep, [tops[name] for name in names[:number]], qrels, knows, options)
        wrong = None if rate is None else upkeep.expected_wrong(step)
        steps.append((step, *alike, wrong))
    year = _simulate(list(tops.values()), qrels, knows, options) if options.year else None
    if lacked:
        warn(
            f"{options.preferences} lacks {counted(len(lacked), 'pair')} that would be judged, such as "
            f"{' '.join(min(lacked))}: their challengers stay open."
        )
    if options.new_qrels:
        with write_whole(options.new_qrels) as out:
            out.writelines(
                f"{query} 0 {pid} 1\n" for query, passages in sorted(upkeep.answers.items()) for pid in passages
            )
    if options.json:
        print_json(
            {
                "start": started,
                "steps": [_as_dict(*row) for row in steps],
                "year": year and {name: _plain(value) for name, value in year._asdict().items()},
            }
        )
    else:
        print_report(_report(started, steps, year, options))
    return OK


def _compare(
    upkeep: Upkeep, tops: list[Tops], qrels: Qrels, judge: Judge, options: argparse.Namespace
) -> tuple[int, int]:
    """On how many queries the answers are those of a tournament held from scratch, of how many that can be played."""
    pools = {
        query: pool
        for query, pool in pool_queries(tops, qrels, options.qrel, min_grade=options.min_grade).items()
        if query in upkeep.answers
    }
    scratch: dict[str, list[str]] = {}
    for query, passage in derive(
        pools, judge([pair for q, pool in pools.items() for pair in all_pairs(q, pool)])
    ).qrels:
        scratch.setdefault(query, []).append(passage)
    return sum(upkeep.answers[query] == tuple(passages) for query, passages in scratch.items()), len(scratch)


def _simulate(tops: list[Tops], qrels: Qrels, judge: Judge, options: argparse.Namespace) -> Year:
    submitted = replay(
        tops,
        qrels,
        judge,
        first=options.first,
        orders=_ORDERS,
        seed=options.seed,
        policy=options.qrel,
        min_grade=options.min_grade,
    )
    return year_of(
        submitted,
        Prices(options.overlap, options.pairs_per_hit, options.dollars, options.redone),
        replayed_queries=len(qrels.queries),
        queries=options.queries or len(qrels.queries),
        entries=options.entries or len(tops),
        submissions=options.year,
        campaigns=options.campaigns,
        seed=options.seed,
    )


def _check_target(options: argparse.Namespace) -> None:
    if options.new_qrels and any(
        is_same_file(options.new_qrels, path) for path in (options.qrels, options.preferences, *options.files)
    ):
        raise BadInput(options.new_qrels, None, "is one of the input files, and would be overwritten.")


def _as_dict(step: Step, alike: int, queries: int, wrong: float | None) -> dict[str, Any]:
    return step._asdict() | {
        "changed": len(step.changed),
        "share": step.share,
        "as_from_scratch": alike,
        "queries": queries,
        "expected_wrong": wrong,
    }


def _plain(value: Any) -> Any:
    return value._asdict() if isinstance(value, Expected) else value


def _report(
    started: dict[str, int],
    steps: list[tuple[Step, int, int, float | None]],
    year: Year | None,
    options: argparse.Namespace,
) -> Iterator[str]:
    yield (
        f"The tournament of {counted(started['runs'], 'run')} took {counted(started['pairs'], 'pair')} and found best "
        f"known answers to {counted(started['queries'], 'query', 'queries')}."
    )
    yield ""
    rows = [["submission", "challengers", *OUTCOMES, "pairs", "so far", "of all", "share", "as from scratch"]]
    if options.error_rate is not None:
        rows[0].append("expected wrong")
    for step, alike, queries, wrong in steps:
        counts = step.challengers, *(step.outcomes[outcome] for outcome in OUTCOMES), step.pairs, step.total
        rows.append(
            [
                step.name,
                *(f"{count:,}" for count in (*counts, step.all_pairs)),
                f"{step.share:.1%}",
                f"{alike:,} of {queries:,}",
                *([] if wrong is None else [f"{wrong:.1f}"]),
            ]
        )
    yield from table(rows)
    if year is not None:
        yield ""
        yield (
            f"A year with {counted(options.year, 'submission')}, in {counted(options.campaigns, 'campaign')} "
            "(5% of the simulated years are below the range, and 5% above):"
        )
        yield f"  {_range(year.pairs)} pairs, {_range(year.assignments)} assignments"
        yield f"  {_range(year.dollars, '$')} in all, {_range(year.dollars_per_submission, '$')} a submission"


def _range(expected: Expected, unit: str = "") -> str:
    places = 2 if unit else 0
    mean, low, high = (f"{unit}{value:,.{places}f}" for value in expected)
    return f"{mean} ({low} to {high})"


def _dollars(text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,4})?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where an amount is needed, as in 2.40")
    return Decimal(text)


def _rate(text: str) -> float:
    if (rate := _share(text)) > 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} where a rate from 0 to 0.5 is needed")
    return rate


def _share(text: str) -> float:
    if not re.fullmatch(r"0?\.[0-9]{1,9}|[01](\.0{1,9})?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where a share from 0 to 1 is needed, as in 0.15")
    return float(text)

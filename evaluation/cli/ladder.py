"""`python -m evaluation ladder`: what a release rule shows of a score, and what an attack makes of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from evaluation.boards.attacks import ATTACKS, REPETITIONS, SUBMISSIONS, TRUTH, Outcome, compare_rules
from evaluation.boards.entries import rounded
from evaluation.boards.ladder import DEFAULT_RULE, RULES, release
from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    add_min_grade,
    add_seed,
    add_without_query,
    cutoff,
    positive,
    print_json,
    read_judged,
    read_runs,
    table,
    tell_left_out,
    tell_short_lists,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS
from evaluation.files.runs import run_name
from evaluation.measures.reciprocal_rank import reciprocal_rank

_QUERIES = (50, 100, 200, 500)


def add_ladder(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "ladder",
        _ladder,
        "tell what a release rule shows of a hidden score, or attack it (--simulate)",
        f"""A leaderboard that shows every score on its hidden queries tells a little about them each time. A release
rule shows a score only where it improves on the team's own last published best (--reference):

  plain      every score is shown
  ladder     a gain of more than --step, or else of more than its standard error over queries
  bootstrap  a gain in 95% of 1,000 samples of the queries
  tested     a gain that is not chance, however often was looked before (--looks); the default of a leaderboard

With two runs, RUN and --reference, and --qrels, it prints whether RR@k of RUN would be shown, and why.

--simulate attacks boards whose truth is {TRUTH}, with submissions that know nothing:

  vote       random submissions, and at last the majority of those whose shown score is above {TRUTH}
  climb      each submission is the best shown one with a few answers changed

and prints, for each rule, the mean of the best published score over all repetitions, how many standard errors of a
score that is above the truth, in how many repetitions it is at most one above it, and how many scores were shown. The
same seed gives the same numbers.

--json prints one object: {{"shown", "score", "why"}}, or with --simulate {{"submissions", "repetitions", "seed",
"results": [{{"rule", "attack", "queries", "truth", "best", "standard_error", "excess", "within", "shown", ...}}]}}.""",
        [
            "python -m evaluation ladder --simulate",
            "python -m evaluation ladder --qrels eval-qrels.txt --reference best.txt.gz --looks 3 new.txt.gz",
        ],
    )
    command.add_argument("candidate", metavar="RUN", nargs="?", help="the run whose score is asked for")
    command.add_argument("--simulate", action="store_true", help="attack the rules, instead of reading runs")
    command.add_argument("--reference", metavar="RUN", help="the team's last published best; default: there is none")
    command.add_argument("--qrels", metavar="FILE", help="qrels of the hidden queries (query 0 passage grade)")
    command.add_argument(
        "--order", choices=ORDERS, default="rank", help=ORDER_HELP.replace("Default: score", "Default: rank")
    )
    add_min_grade(command)
    command.add_argument("--k", metavar="K", type=cutoff, default=10, help="of RR@k; default: 10")
    command.add_argument(
        "--looks", metavar="N", type=_looks, default=0, help="how often was compared with this reference before"
    )
    command.add_argument(
        "--rule",
        metavar="RULE,RULE,...",
        type=_among("rule", RULES),
        help=f"{', '.join(RULES)}; default: {DEFAULT_RULE}, with --simulate plain,{DEFAULT_RULE}",
    )
    command.add_argument("--step", metavar="GAIN", type=_step, help="the least gain, such as 0.005; default: none")
    command.add_argument(
        "--attack", metavar="NAME,NAME", type=_among("attack", ATTACKS), default=ATTACKS, help="default: both"
    )
    command.add_argument(
        "--queries",
        metavar="N,N,...",
        type=_sizes,
        default=_QUERIES,
        help=f"hidden queries of the simulated boards; default: {','.join(map(str, _QUERIES))}",
    )
    command.add_argument(
        "--submissions", metavar="N", type=positive, default=SUBMISSIONS, help=f"default: {SUBMISSIONS}"
    )
    command.add_argument(
        "--repetitions", metavar="N", type=positive, default=REPETITIONS, help=f"default: {REPETITIONS}"
    )
    add_seed(command)
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _among(what: str, names: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{what} {name!r} where there are {', '.join(names)}")
        return chosen

    return read


def _looks(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where a whole number from 0 on is needed")
    return int(text)


def _step(text: str) -> float:
    if not re.fullmatch(r"0?\.[0-9]{1,9}|[01]", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where a number from 0 to 1 is needed, as in 0.005")
    return float(text)


def _sizes(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9][0-9]{0,5}(,[1-9][0-9]{0,5})*", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where numbers of queries are needed, as in 50,500")
    return tuple(map(int, text.split(",")))


def _ladder(options: argparse.Namespace) -> int:
    if options.simulate:
        if options.candidate or options.reference or options.qrels:
            options.command.error("--simulate reads no files: leave out RUN, --reference and --qrels")
        return _simulate(options)
    if not options.candidate or not options.qrels:
        options.command.error("RUN and --qrels are needed, or --simulate")
    rules = options.rule or (DEFAULT_RULE,)
    if len(rules) > 1:
        options.command.error("--rule takes several rules only with --simulate")
    return _release(options, rules[0])


def _release(options: argparse.Namespace, rule: Any) -> int:
    qrels = read_judged(options.qrels, options.min_grade)
    paths = [options.candidate, *([options.reference] if options.reference else [])]
    if len({run_name(path) for path in paths}) < len(paths):
        raise BadInput(options.candidate, None, f"has the same name as the reference, {options.reference}.")
    runs = read_runs(paths, options.k, without_query=options.without_query)
    if runs is None:
        return BAD
    tell_left_out(runs, qrels)
    tell_short_lists(runs, options.k)
    scores = []
    for run in runs.values():
        ranks = reciprocal_rank(run, qrels, options.k, options.order, options.min_grade).ranks
        scores.append(np.array([1 / rank if rank else 0.0 for rank in ranks.values()]))
    outcomes = release(
        rule,
        scores[1] if options.reference else None,
        scores[0],
        step=options.step,
        looks=options.looks,
        seed=options.seed,
    )
    printed = None if outcomes.score is None else str(rounded(outcomes.score))
    if options.json:
        print_json({"shown": outcomes.shown, "score": printed, "why": outcomes.why})
    elif outcomes.shown:
        print(f"RR@{options.k} {printed} is shown: {outcomes.why}.")
    else:
        print(f"RR@{options.k} is not shown: {outcomes.why}.")
    return OK


def _simulate(options: argparse.Namespace) -> int:
    outcomes = list(
        compare_rules(
            options.rule or ("plain", DEFAULT_RULE),
            options.queries,
            attacks=options.attack,
            submissions=options.submissions,
            repetitions=options.repetitions,
            step=options.step,
            seed=options.seed,
        )
    )
    if options.json:
        print_json(
            {
                "submissions": options.submissions,
                "repetitions": options.repetitions,
                "seed": options.seed,
                "results": [outcome.as_dict() for outcome in outcomes],
            }
        )
        return OK
    print(
        f"{options.submissions:,} submissions that know nothing, {options.repetitions:,} times; the truth is {TRUTH}.\n"
    )
    head = ["attack", "rule", "queries", "best published", "above truth", "at most 1 above", "scores shown"]
    print("\n".join(table([head, *map(_row, outcomes)], left=2)))
    print("\nAbove truth: in standard errors of a score.")
    return OK


def _row(outcome: Outcome) -> list[str]:
    return [
        outcome.attack,
        outcome.rule,
        f"{outcome.queries:,}",
        f"{outcome.best:.3f}",
        f"{outcome.excess:.2f}",
        f"{outcome.within:.0%}",
        f"{outcome.shown:,.1f}",
    ]

"""`python -m evaluation settle`: what to ask next about newcomers, and who the answers are."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from evaluation.cli.common import OK, add_command, add_seed, add_steps, alpha, check_in_pools, positive, tell
from evaluation.errors import EmptyFile
from evaluation.files.preferences import Preference, numbered_preferences, read_members
from evaluation.files.textfiles import counted
from evaluation.judging.settling import LEVEL, MOST, Settled, settle, worth_asking
from evaluation.statistics.asking import JUDGMENTS, WANTED, choose_again

_TEXT = f"""The passages of a pool that were all compared with each other played a tournament, whose winners are the
answers. Members without judgments are newcomers: they are compared with the answers only. One that wins its first
comparison is confirmed before it takes the place of an answer, the most probable of a pool first: the pair is printed
again, to be asked of other people, until it has {MOST} judgments (--most), of which more must be for the newcomer, or
until it is probable enough (--level) by all judgments of the pool which of the two is better. One that does not lead
and is not the likelier one is out. A pool without judgments is asked pair by pair.

  next    prints the pairs worth asking next, `query a b`, sorted, and nothing when all is settled; with --budget N, the
          N pairs that are most open. With --again J, whatever is left of the budget goes to pairs of whole tournaments
          whose confidence sets have more than one passage (--set): each is printed as often as it lacks one of J
          judgments, those queries first where a judgment settles the most
  result  prints the answers as TREC qrels, `query 0 passage 1`, sorted; where pairs are open, those until now

The judgments are lines `query a b preferred`; append those of each `next` to the file, and ask for the next. Standard
error tells how many newcomers replaced an answer, and how many of these are expected to be worse than it."""


def add_settle(commands: Any) -> None:
    command = add_command(
        commands,
        "settle",
        _next,
        "ask about newcomers, and confirm them before they replace an answer",
        _TEXT,
        [
            "python -m evaluation settle next --pools members.txt --judgments judgments.txt > pairs.txt",
            "python -m evaluation settle result --pools members.txt --judgments judgments.txt > qrels.txt",
        ],
    )
    steps = [
        ("next", _next, "print the pairs worth asking next"),
        ("result", _result, "print the answers as TREC qrels"),
    ]
    for name, step in add_steps(command, _TEXT, steps):
        step.add_argument("--judgments", metavar="FILE", required=True, help="all judgments (query a b preferred)")
        step.add_argument(
            "--most", metavar="N", type=positive, default=MOST, help=f"judgments of a pair; default: {MOST}"
        )
        step.add_argument(
            "--level",
            metavar="P",
            type=alpha,
            default=LEVEL,
            help=f"how probable it must be which passage of a pair is better; default: {LEVEL}",
        )
        step.add_argument("--budget", metavar="N", type=positive, help="print at most so many pairs")
        add_seed(step)
        if name == "next":
            step.add_argument("--again", type=int, choices=JUDGMENTS, help="judgments of a pair of a tournament")
            step.add_argument(
                "--set", type=int, choices=WANTED, default=1, help="passages of a confidence set, at most; default: 1"
            )


def _next(options: argparse.Namespace) -> int:
    verdicts, members, rows = _settled(options)
    pairs = worth_asking(verdicts, options.budget)
    if options.again:
        left = None if options.budget is None else options.budget - len(pairs)
        again = choose_again(members, rows, judgments=options.again, size=options.set, budget=left, seed=options.seed)
        pairs = sorted([*pairs, *again])
    sys.stdout.writelines(" ".join(pair) + "\n" for pair in pairs)
    sys.stdout.flush()
    return OK


def _result(options: argparse.Namespace) -> int:
    verdicts, _members, _rows = _settled(options)
    sys.stdout.writelines(f"{settled.query} 0 {passage} 1\n" for settled in verdicts for passage in settled.answers)
    sys.stdout.flush()
    return OK


def _settled(options: argparse.Namespace) -> tuple[list[Settled], dict[str, frozenset[str]], list[Preference]]:
    pools, path = read_members(options.pools, name=options.pools), options.judgments
    members = {query: frozenset(pool) for query, pool in pools.items()}
    rows = []
    try:
        for line, row in numbered_preferences(path, name=path, ties=True):
            check_in_pools(members, options.pools, row, path, line)
            rows.append(row)
    except EmptyFile:  # before anything is judged
        pass
    verdicts = settle(pools, rows, most=options.most, level=options.level, seed=options.seed)
    open_ = sum(bool(settled.pairs) for settled in verdicts)
    replaced = sum(len(settled.replaced) for settled in verdicts)
    tell(f"{len(verdicts) - open_:,} of {counted(len(verdicts), 'pool')} settled.")
    if replaced:
        wrong = f"{sum(1 - right for verdict in verdicts for right in verdict.replaced.values()):.1f}"
        tell(f"{counted(replaced, 'newcomer')} replaced an answer; {wrong} of them are expected to be worse than it.")
    return verdicts, members, rows

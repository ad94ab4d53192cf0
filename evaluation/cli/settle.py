"""`python -m evaluation settle`: what to ask next about newcomers, and who the answers are."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from evaluation.cli.common import OK, add_command, add_seed, add_steps, alpha, check_in_pools, positive, tell
from evaluation.errors import EmptyFile
from evaluation.files.preferences import numbered_preferences, read_members
from evaluation.files.textfiles import counted
from evaluation.judging.settling import LEVEL, MOST, Settled, settle, worth_asking

_TEXT = f"""The passages of a pool that were all compared with each other played a tournament, whose winners are the
answers. Members without judgments are newcomers: they are compared with the answers only. One that wins its first
comparison is confirmed before it takes the place of an answer: the pair is printed again, to be asked of other people,
until it has {MOST} judgments (--most), of which more must be for the newcomer, or until it is probable enough (--level)
by all judgments of the pool which of the two is better. A pool without judgments is asked pair by pair.

  next    prints the pairs worth asking next, `query a b`, sorted, and nothing when all is settled; with --budget N, the
          N pairs that are most open
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
    for _name, step in add_steps(command, _TEXT, steps):
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


def _next(options: argparse.Namespace) -> int:
    settled_queries = _settled(options)
    sys.stdout.writelines(" ".join(pair) + "\n" for pair in worth_asking(settled_queries, options.budget))
    sys.stdout.flush()
    return OK


def _result(options: argparse.Namespace) -> int:
    settled_queries = _settled(options)
    sys.stdout.writelines(
        f"{settled.query} 0 {passage} 1\n" for settled in settled_queries for passage in settled.answers
    )
    sys.stdout.flush()
    return OK


def _settled(options: argparse.Namespace) -> list[Settled]:
    pools, path = read_members(options.pools, name=options.pools), options.judgments
    members = {query: frozenset(pool) for query, pool in pools.items()}
    rows = []
    try:
        for line, row in numbered_preferences(path, name=path, ties=True):
            check_in_pools(members, options.pools, row, path, line)
            rows.append(row)
    except EmptyFile:  # before anything is judged
        pass
    settled_queries = settle(pools, rows, most=options.most, level=options.level, seed=options.seed)
    open_ = sum(bool(settled.pairs) for settled in settled_queries)
    replaced = sum(len(settled.replaced) for settled in settled_queries)
    tell(f"{len(settled_queries) - open_:,} of {counted(len(settled_queries), 'pool')} settled.")
    if replaced:
        wrong = f"{sum(1 - right for verdict in settled_queries for right in verdict.replaced.values()):.1f}"
        tell(f"{counted(replaced, 'newcomer')} replaced an answer; {wrong} of them are expected to be worse than it.")
    return settled_queries

"""`python -m evaluation rounds`: pools too deep for a tournament, judged round after round."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evaluation.cli.common import OK, add_command, add_seed, add_steps, check_in_pools, positive, tell
from evaluation.errors import EmptyFile
from evaluation.files.preferences import Preference, numbered_preferences, read_members
from evaluation.files.textfiles import counted, quote_value
from evaluation.judging.rounds import Settings, Status, count_full_pairs, estimate_pairs, replay_all

_TEXT = """A tournament of n passages asks n(n-1)/2 pairs. Rounds ask about n times K: each passage is compared
with K partners (--partners), those that win more than half stay, and so on, until at most F are left (--finalists).
These are compared pair by pair, and all that have the most wins are the winners. Pools in which a tournament asks no
more, up to 2K + 1 passages, are compared pair by pair from the start. `--partners 5` asks about a quarter less than 7.

  next    prints the requests of the next round, `query a b`, and nothing when all is judged
  result  prints the winners as TREC qrels, `query 0 passage 1`, sorted; a query with open requests has no line
  bill    prints how many pairs a tournament of each pool asks, and how many its rounds are expected to ask

The judgments are lines `query a b preferred`, the earliest first, of what was asked and of whatever else was judged;
`preferred` may be = for a tie. Append each round's judgments to the file, and ask for the next. A round is closed once
each of its pairs has a judgment. Later judgments of its pairs do not open it again: they count in the rounds that
follow. What has been judged is not asked again. The same files and options give the same requests.

A round in which everybody stays, or nobody, would not end: then all its passages go to the final, which is told."""


def add_rounds(commands: Any) -> None:
    command = add_command(
        commands,
        "rounds",
        _next,
        "judge deep pools round after round, with fewer pairs than a tournament",
        _TEXT,
        [
            "python -m evaluation rounds bill --pools members.txt",
            "python -m evaluation rounds next --pools members.txt > requests.txt",
            "python -m evaluation rounds next --pools members.txt --judgments judgments.txt > requests.txt",
            "python -m evaluation rounds result --pools members.txt --judgments judgments.txt > qrels.txt",
        ],
    )
    steps = [
        ("next", _next, "print the requests of the next round"),
        ("result", _result, "print the winners as TREC qrels"),
        ("bill", _bill, "print what a tournament would ask, and what rounds are expected to"),
    ]
    for name, step in add_steps(command, _TEXT, steps):
        step.add_argument(
            "--partners",
            metavar="K",
            type=positive,
            default=Settings.partners,
            help=f"others that each passage is compared with in a round; default: {Settings.partners}",
        )
        step.add_argument(
            "--finalists",
            metavar="F",
            type=positive,
            default=Settings.finalists,
            help=f"at most so many are compared pair by pair; default: {Settings.finalists}",
        )
        add_seed(step)
        if name == "bill":
            step.add_argument("--json", action="store_true", help="print JSON: pools, full, expected, rounds")
            continue
        step.add_argument("--judgments", metavar="FILE", help="the judgments (query a b preferred); may be empty")
        step.add_argument(
            "--json",
            action="store_true",
            help="on standard error, as JSON: the latest round, how many pools are open and done, how many requests "
            "there are now, and how many pairs the rounds have asked with them",
        )


def _next(options: argparse.Namespace) -> int:
    statuses = _replayed(options)
    sys.stdout.writelines(f"{query} {a} {b}\n" for query, status in statuses.items() for a, b in status.requests)
    sys.stdout.flush()
    _tell_where(statuses, options)
    return OK


def _result(options: argparse.Namespace) -> int:
    statuses = _replayed(options)
    winners = sorted((query, passage) for query, status in statuses.items() for passage in status.winners)
    sys.stdout.writelines(f"{query} 0 {passage} 1\n" for query, passage in winners)
    sys.stdout.flush()
    _tell_where(statuses, options)
    return OK


def _bill(options: argparse.Namespace) -> int:
    settings = Settings(options.partners, options.finalists)
    sizes = [len(pool) for pool in read_members(options.pools, name=options.pools).values()]
    bills = [estimate_pairs(size, settings) for size in sizes]
    full, expected = sum(map(count_full_pairs, sizes)), round(sum(pairs for pairs, _ in bills))
    rounds = max(number for _, number in bills)
    if options.json:
        print(json.dumps({"pools": len(sizes), "full": full, "expected": expected, "rounds": rounds}))
        return OK
    print(f"A tournament of each of {counted(len(sizes), 'pool')}: {counted(full, 'pair')}.")
    print(f"Rounds: about {counted(expected, 'pair')}, in about {counted(rounds, 'round')}.")
    return OK


def _replayed(options: argparse.Namespace) -> dict[str, Status]:
    pools = read_members(options.pools, name=options.pools)
    settings = Settings(options.partners, options.finalists, options.seed)
    return replay_all(pools, list(_judgments(options, pools)), settings)


def _judgments(options: argparse.Namespace, pools: Mapping[str, Collection[str]]) -> Iterator[Preference]:
    path = options.judgments
    if path is None:
        return
    members = {query: frozenset(pool) for query, pool in pools.items()}
    try:
        for line, preference in numbered_preferences(path, name=path, ties=True):
            check_in_pools(members, options.pools, preference, path, line)
            yield preference
    except EmptyFile:  # before the first round
        return


def _tell_where(statuses: Mapping[str, Status], options: argparse.Namespace) -> None:
    is_open = [status for status in statuses.values() if not status.is_done]
    requests = sum(len(status.requests) for status in is_open)
    where = {
        "round": max((status.round for status in is_open or statuses.values()), default=0),
        "open": len(is_open),
        "done": len(statuses) - len(is_open),
        "requests": requests,
        "asked": sum(status.pairs_asked for status in statuses.values()),
    }
    if options.json:
        tell(json.dumps(where))
        return
    line = f"{where['done']:,} of {counted(len(statuses), 'pool')} done, with {counted(where['asked'], 'pair')} asked."
    if is_open:
        line += f" Round {where['round']}: {counted(requests, 'pair')} of {counted(len(is_open), 'pool')} to judge."
    tell(line)
    for query, status in statuses.items():
        if status.unsettled:
            left = counted(len(status.playing), "passage")
            tell(f"Query {quote_value(query)}: a round kept everybody or nobody, so the final is among {left}.")

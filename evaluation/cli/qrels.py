"""`python -m evaluation qrels`: from judgments to preference qrels."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from evaluation.cli.common import (
    OK,
    POOLS_HELP,
    add_command,
    read_pools,
    tell,
    with_names,
)
from evaluation.errors import BadInput, UnknownPassage
from evaluation.files.textfiles import counted
from evaluation.judging.tournament import METHODS, Derived, derive


def _qrels(options: argparse.Namespace) -> int:
    pools, preferences = read_pools(options.pools, options.file)
    try:
        derived = derive(pools, preferences, options.method, options.allow_incomplete)
    except UnknownPassage as error:  # found above already; kept for the day the two disagree
        raise BadInput(options.file, None, f"{error}.") from None
    sys.stdout.writelines(f"{query} 0 {passage} 1\n" for query, passage in derived.qrels)
    sys.stdout.flush()
    _summarize(derived, options)
    return OK


def _summarize(derived: Derived, options: argparse.Namespace) -> None:
    if options.json:
        summary = {
            "method": options.method,
            "single": derived.single,
            "deadlocks": {str(size): count for size, count in derived.deadlocks.items()},
            "incomplete": len(derived.incomplete),
            "incomplete_queries": list(derived.incomplete),
        }
        tell(json.dumps(summary, ensure_ascii=False))
        return
    tell(f"{counted(derived.single, 'query', 'queries')} with a single winner.")
    for size, count in derived.deadlocks.items():
        tell(f"{counted(count, 'deadlock')} of {size}.")
    if not derived.deadlocks:
        tell("0 deadlocks.")
    names = with_names(len(derived.incomplete), list(derived.incomplete[:10]))
    tell(f"Pools refused as incomplete, with pairs that nobody judged: {names}.")


def add_qrels(commands: Any) -> None:
    command = add_command(
        commands,
        "qrels",
        _qrels,
        "turn preference judgments into qrels",
        """Plays each query's judgments (lines `query a b preferred`) as a tournament, and prints the winners as TREC
qrels, `query 0 passage 1`, sorted. A line is a judgment and counts as one win, so repeated judgments each count. A
summary goes to standard error: queries with a single winner, deadlocks by size, pools refused.

Methods:
  tournament     most wins; while several tie for first and are fewer than before, again among those tied. More than
                 one winner is a deadlock, as when a beats b beats c beats a.
  most-wins      all passages with the most wins.
  bradley-terry  the passage of the greatest strength in a Bradley-Terry model (choix, alpha 0.1).

A pool with two passages that nobody compared is refused: it gives no qrels, and the summary says so.""",
        ["python -m evaluation qrels --pools pairs.tsv preferences.txt > preference-qrels.txt"],
    )
    command.add_argument("file", metavar="PREFERENCES", help="the judgments (query a b preferred)")
    command.add_argument("--method", choices=METHODS, default="tournament", help="default: tournament")
    command.add_argument(
        "--pools",
        metavar="PAIRS.tsv",
        help=POOLS_HELP,
    )
    command.add_argument(
        "--allow-incomplete",
        action="store_true",
        help="play pools with pairs that nobody judged, if anything in them was judged",
    )
    command.add_argument("--json", action="store_true", help="the summary on standard error as JSON")

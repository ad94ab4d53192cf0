"""The command line: `bestknown` where the package is installed, and `python -m evaluation`.

File names in, results out; exit code 1 on bad input, with nothing written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from evaluation.cli.agreement import add_agreement
from evaluation.cli.board import add_board
from evaluation.cli.certainty import add_certainty
from evaluation.cli.challenge import add_challenge
from evaluation.cli.champion import add_champion
from evaluation.cli.check import add_check
from evaluation.cli.common import FILES, run_command
from evaluation.cli.compare import add_compare
from evaluation.cli.ladder import add_ladder
from evaluation.cli.leaderboard import add_leaderboard
from evaluation.cli.machines import add_machines
from evaluation.cli.pool import add_pool
from evaluation.cli.qrels import add_qrels
from evaluation.cli.recognize import add_recognize
from evaluation.cli.rounds import add_rounds
from evaluation.cli.score import add_score
from evaluation.cli.seal import add_seal, add_unseal
from evaluation.cli.settle import add_settle
from evaluation.cli.strengths import add_strengths
from evaluation.cli.upkeep import add_upkeep
from evaluation.cli.wins import add_wins
from evaluation.cli.workers import add_workers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code. Usage errors leave through argparse, as SystemExit(2)."""
    return run_command(_parser(), arguments)


@cache  # a program that runs many commands needs one
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bestknown" if Path(sys.argv[0]).stem == "bestknown" else "python -m evaluation",
        description="From run files to preference qrels: check runs, pool their top passages into pairs that people "
        "judge, turn the judgments into qrels, score runs with them, and test how the runs differ.",
        epilog="""A whole round, from runs to scores:

  %(prog)s check bm25.txt.gz --queries queries.tsv
  %(prog)s pool --qrels qrels.txt --pairs pairs.tsv bm25.txt.gz dense.txt.gz
  ... people judge pairs.tsv, which gives preferences.txt: query a b preferred ...
  %(prog)s qrels --pools pairs.tsv preferences.txt > preference-qrels.txt
  %(prog)s score --qrels preference-qrels.txt bm25.txt.gz dense.txt.gz
  %(prog)s compare --qrels preference-qrels.txt --k 10 bm25.txt.gz dense.txt.gz
  %(prog)s wins --qrels qrels.txt --preferences preferences.txt bm25.txt.gz dense.txt.gz
  %(prog)s leaderboard --qrels qrels.txt --preference-qrels preference-qrels.txt bm25.txt.gz dense.txt.gz
  %(prog)s certainty --error-rate 0.1 --preferences preferences.txt bm25.txt.gz dense.txt.gz
  %(prog)s agreement --human preferences.txt --machine answers.txt bm25.txt.gz dense.txt.gz

`%(prog)s COMMAND --help` tells more about each.
"""
        + FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_check(commands)
    add_recognize(commands)
    add_pool(commands)
    add_qrels(commands)
    add_rounds(commands)
    add_score(commands)
    add_compare(commands)
    add_wins(commands)
    add_leaderboard(commands)
    add_certainty(commands)
    add_strengths(commands)
    add_workers(commands)
    add_champion(commands)
    add_challenge(commands)
    add_settle(commands)
    add_upkeep(commands)
    add_agreement(commands)
    add_machines(commands)
    add_board(commands)
    add_ladder(commands)
    add_seal(commands)
    add_unseal(commands)
    return parser

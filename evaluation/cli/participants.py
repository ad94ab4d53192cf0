"""The command `bestknown`: what participants of a leaderboard need, installed without the rest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache

from evaluation.cli.check import add_check
from evaluation.cli.common import FILES, run_command
from evaluation.cli.seal import add_seal, add_unseal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code. Usage errors leave through argparse, as SystemExit(2)."""
    return run_command(_parser(), arguments)


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bestknown",
        description="Check a run, seal a submission for a leaderboard, and open what was sealed for a key of yours.",
        epilog="`bestknown COMMAND --help` tells more about each.\n" + FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_check(commands)
    add_seal(commands)
    add_unseal(commands)
    return parser

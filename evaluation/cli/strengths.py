"""`python -m evaluation strengths`: how strong each passage is, and how sure that is."""

from __future__ import annotations

import argparse
import math
from typing import Any

from evaluation.cli.common import OK, add_command, print_json
from evaluation.errors import BadInput
from evaluation.files.preferences import read_preferences
from evaluation.statistics.strengths import PENALTY, TIE, fit_strengths


def add_strengths(commands: Any) -> None:
    command = add_command(
        commands,
        "strengths",
        _strengths,
        "tell how strong each passage is by its judgments, with intervals",
        """Fits a Bradley-Terry model with ties to the judgments of each query (lines `query a b preferred`, where
`preferred` may be = for a tie), and prints `query passage strength low high`: queries sorted, the strongest passage
first. With strengths i and j, i is preferred with probability e^i / (e^i + e^(j + t)), where t is --tie. The penalty
draws strengths towards 1, so that a passage that won everything has a finite one. The interval holds the strength
in 95% of the cases, also where the model does not fit (a sandwich estimate).

Strengths of one query can be compared, those of different queries cannot. --json prints

  {"tie", "penalty", "queries": [{"query", "passages": [{"passage", "strength", "low", "high"}]}]}""",
        ["python -m evaluation strengths --judgments preferences.txt"],
    )
    command.add_argument("--judgments", metavar="FILE", required=True, help="the judgments (query a b preferred)")
    command.add_argument("--tie", metavar="T", type=_tie, default=TIE, help=f"how near ties are; default: {TIE}")
    command.add_argument(
        "--penalty", metavar="P", type=_penalty, default=PENALTY, help=f"weight of the penalty; default: {PENALTY}"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def _strengths(options: argparse.Namespace) -> int:
    preferences = list(read_preferences(options.judgments, name=options.judgments, ties=True))
    try:
        strengths = fit_strengths(preferences, tie=options.tie, penalty=options.penalty)
    except ValueError as error:
        raise BadInput(options.judgments, None, f"--tie 0 cannot be: {error}.") from None
    if options.json:
        queries = [
            {"query": query, "passages": [strength._asdict() for strength in passages]}
            for query, passages in strengths.items()
        ]
        print_json({"tie": options.tie, "penalty": options.penalty, "queries": queries})
        return OK
    for query, passages in strengths.items():
        for passage, strength, low, high in passages:
            print(f"{query} {passage} {strength:.6f} {low:.6f} {high:.6f}")
    return OK


def _tie(text: str) -> float:
    return _number(text, 0, 10, "from 0 to 10")


def _penalty(text: str) -> float:
    return _number(text, 1e-6, 1e6, "above 0, up to a million,")


def _number(text: str, least: float, most: float, words: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} where a number {words} is needed")
    return value

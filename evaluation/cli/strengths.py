"""`python -m evaluation strengths`: how strong each passage is, and how sure that is."""

from __future__ import annotations

import argparse
import math
from typing import Any

from evaluation.cli.common import OK, add_command, print_json, warn, with_names
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
draws strengths towards 1, so that a passage that won everything has a finite one. The interval is that of the profile
likelihood, each end as if the passage had won, or lost, once more: it holds the distance from the average strength in
95% of the cases or more, also with one judgment of a pair. An end that nothing bounds is - (null in JSON).

Strengths of one query can be compared, those of different queries cannot. Nor can those of passages that were never
compared, not even through others: where a query has several such groups, lines end with the number of the group, and
standard error says so. --json prints

  {"tie", "penalty", "queries": [{"query", "groups", "passages": [{"passage", "strength", "low", "high",
   "group"}]}]}""",
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
    apart = [query for query, passages in strengths.items() if passages[-1].group > 1]
    if apart:
        names = with_names(len(apart), apart[:5])
        warn(f"Queries with groups of passages that were never compared, not even through others: {names}.")
    if options.json:
        rows = [
            {"query": query, "groups": passages[-1].group, "passages": [strength._asdict() for strength in passages]}
            for query, passages in strengths.items()
        ]
        print_json({"tie": options.tie, "penalty": options.penalty, "queries": rows})
        return OK
    for query, passages in strengths.items():
        for passage, *numbers, group in passages:
            cells = ("-" if number is None else f"{number:.6f}" for number in numbers)
            print(query, passage, *cells, *([group] if passages[-1].group > 1 else []))
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

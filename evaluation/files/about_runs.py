"""Files about runs: which of them are compared, which belong together, and how they score elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from evaluation.errors import BadInput
from evaluation.files.rows import read_rows
from evaluation.files.textfiles import Source, counted, quote_value

_NAMED = 20  # runs that a message names


def read_run_pairs(source: Source, runs: Collection[str] | None, *, name: str) -> list[tuple[str, str]]:
    """Pairs of runs to compare, in file order, from lines `a b`. `runs`: those that there are; None for any.

    Raises BadInput where a line has other columns, names none of the runs, compares a run with itself, or repeats a
    pair, and where the file is damaged or empty.
    """
    lines: dict[frozenset[str], int] = {}
    pairs = []
    for line, (a, b) in read_rows(source, ("a", "b"), "pairs of runs have", name=name):
        _check_names(name, line, (a, b), runs)
        if a == b:
            raise BadInput(name, line, f"run {quote_value(a)} against itself.")
        earlier = lines.setdefault(frozenset((a, b)), line)
        if earlier != line:
            both = f"{quote_value(a)} and {quote_value(b)}"
            raise BadInput(name, line, f"{both} a second time (first on line {earlier:,}).")
        pairs.append((a, b))
    return pairs


def read_groups(source: Source, runs: Collection[str] | None, *, name: str) -> dict[str, str]:
    """The group of each run that has one, from lines `run group`. `runs`: those that there are; None for any.

    Raises BadInput where a line has other columns, names none of the runs, or gives a run another group than before,
    and where the file is damaged or empty.
    """
    groups: dict[str, str] = {}
    for line, (run, group) in read_rows(source, ("run", "group"), "groups have", name=name):
        _check_names(name, line, (run,), runs)
        if groups.setdefault(run, group) != group:
            before = quote_value(groups[run])
            raise BadInput(
                name, line, f"run {quote_value(run)} in group {quote_value(group)}, which had {before} before."
            )
    return groups


def _check_names(name: str, line: int, names: Collection[str], runs: Collection[str] | None) -> None:
    for run in names:
        if runs is not None and run not in runs:
            listing = ", ".join(runs) if len(runs) <= _NAMED else f"there are {counted(len(runs), 'run')}"
            raise BadInput(name, line, f"{quote_value(run)} is none of the runs: {listing}.")


class Outside(NamedTuple):
    """What is known of a run from elsewhere: its score and, where it is told, its rank there."""

    score: float
    rank: int | None


def read_outside(source: Source, *, name: str) -> dict[str, Outside]:
    """Scores of runs from elsewhere, by run, from lines `run score` or `run score rank`.

    Raises BadInput where a line has other columns, names a run again, or has a score or rank that is none, and where
    the file is damaged or empty.
    """
    scores: dict[str, Outside] = {}
    for line, split in read_rows(source, ("run", "score", "rank"), "outside scores have", name=name, optional=1):
        run, score, *rank = split
        if run in scores:
            raise BadInput(name, line, f"run {quote_value(run)} a second time.")
        if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?", score, re.ASCII):
            raise BadInput(name, line, f"score {quote_value(score)} is not a number.")
        if rank and not re.fullmatch(r"[1-9][0-9]{0,8}", rank[0], re.ASCII):
            raise BadInput(name, line, f"rank {quote_value(rank[0])} is not a whole number from 1 on.")
        scores[run] = Outside(float(score), int(rank[0]) if rank else None)
    return scores

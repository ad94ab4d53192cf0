"""Entries of a leaderboard: their order, their trophies, and how their scores are printed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from evaluation.statistics.correlation import kendall_tau, pearson

# Of an entry: nothing, an organizers' baseline, or a trophy, because it was the best when it came.
Mark = Literal["", "baseline", "trophy"]

MARKS: tuple[Mark, ...] = get_args(Mark)
PLACES = 3  # of printed scores


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a leaderboard. Entries are kept in the order of their arrival.

    `key`: the id by which it is known. `date`: of its arrival (UTC), or as published where it is imported. `dev`,
    `eval`: printed scores, None without one. `repeats`: the key of the entry that this one showed no gain over; it has
    no `eval` of its own then.
    """

    key: str
    date: date
    mark: Mark = ""
    description: str = ""
    team: str = ""
    paper: str = ""
    code: str = ""
    type: str = ""
    dev: Decimal | None = None
    eval: Decimal | None = None
    link: str = ""
    repeats: str = ""


def rounded(score: Fraction | Decimal | int, places: int = PLACES) -> Decimal:
    """The score as it is printed: half up, with so many places. Exact: no float is on the way."""
    scale = 10**places
    return Decimal(math.floor(Fraction(score) * scale + Fraction(1, 2))).scaleb(-places)


def by_arrival(entries: Iterable[Entry]) -> list[Entry]:
    """By date; those of one date in the order given."""
    return sorted(entries, key=lambda entry: entry.date)


def bests(entries: Iterable[Entry]) -> list[Entry]:
    """The entries whose printed eval score was strictly above all before them, in order of arrival: baselines too."""
    best: list[Entry] = []
    for entry in by_arrival(entries):
        if entry.eval is not None and (not best or entry.eval > (best[-1].eval or 0)):
            best.append(entry)
    return best


def trophies(entries: Iterable[Entry]) -> set[str]:
    """The keys of entries that were the best when they came. Baselines set the mark to beat, and get no trophy."""
    return {entry.key for entry in bests(entries) if entry.mark != "baseline"}


def ordered(entries: Iterable[Entry]) -> list[Entry]:
    """By printed eval score, best first, ties in order of arrival; then those without a score, in order of arrival.

    An entry that repeats another one comes after it, if that one is there.
    """
    arrived = by_arrival(entries)
    scored = {entry.key for entry in arrived if entry.eval is not None}
    repeats: dict[str, list[Entry]] = {}
    top, rest = [], []
    for entry in arrived:
        if entry.eval is not None:
            top.append(entry)
        elif entry.repeats in scored:
            repeats.setdefault(entry.repeats, []).append(entry)
        else:
            rest.append(entry)
    top.sort(key=lambda entry: -(entry.eval or 0))
    return [row for entry in top for row in (entry, *repeats.get(entry.key, ()))] + rest


def ranks(entries: Iterable[Entry]) -> dict[str, int]:
    """The rank of each entry with an eval score, from 1: one more than there are entries with a higher printed one."""
    places: dict[str, int] = {}
    last: Decimal | None = None
    place = 0
    for number, entry in enumerate((entry for entry in ordered(entries) if entry.eval is not None), start=1):
        if entry.eval != last:
            place, last = number, entry.eval
        places[entry.key] = place
    return places


class Disagreement(NamedTuple):
    """An entry whose trophy is not what its score and its arrival say."""

    key: str
    marked: bool
    earned: bool


@dataclass(frozen=True)
class Summary:
    """A board in numbers.

    `trophies`: as earned. `disagreements`: with the marks that the entries have, in order of arrival. `both`: entries
    with both scores; over these, `pearson` and `kendall` (tau-b) between dev and eval, None where not defined, and
    `mean_gap`, of eval less dev, with how many are above 0.
    """

    entries: int
    baselines: int
    trophies: int
    disagreements: tuple[Disagreement, ...]
    both: int
    pearson: float | None
    kendall: float | None
    mean_gap: float | None
    positive_gaps: int

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "disagreements": [disagreement._asdict() for disagreement in self.disagreements]}


def summarize(entries: Collection[Entry]) -> Summary:
    """Count a board, recompute its trophies, and correlate its dev and eval scores."""
    earned = trophies(entries)
    disagreements = tuple(
        Disagreement(entry.key, entry.mark == "trophy", entry.key in earned)
        for entry in by_arrival(entries)
        if (entry.mark == "trophy") != (entry.key in earned)
    )
    pairs = [(entry.dev, entry.eval) for entry in entries if entry.dev is not None and entry.eval is not None]
    dev, eval_ = [float(score) for score, _ in pairs], [float(other) for _, other in pairs]
    gaps = [other - score for score, other in pairs]
    return Summary(
        entries=len(entries),
        baselines=sum(entry.mark == "baseline" for entry in entries),
        trophies=len(earned),
        disagreements=disagreements,
        both=len(pairs),
        pearson=pearson(dev, eval_),
        kendall=kendall_tau(dev, eval_),
        mean_gap=float(sum(gaps, Decimal()) / len(gaps)) if gaps else None,
        positive_gaps=sum(gap > 0 for gap in gaps),
    )

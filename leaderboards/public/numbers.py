"""What the pages of a board say in numbers, beside its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evaluation.boards.entries import Entry, Summary, rounded, summarize
from evaluation.boards.gaps import Trend, gap_trend
from leaderboards.models import SeasonFile
from leaderboards.public.archive import public_files
from leaderboards.public.reading import Published, Shown


class Step(NamedTuple):
    """An entry that was the best when it came, and by how much, in printed places; the first beats nothing."""

    entry: Shown
    gain: str


def steps(entries: Sequence[Shown]) -> list[Step]:
    """The trophies of a season, newest first."""
    best, found = None, []
    for entry in sorted(entries, key=lambda one: one.day):
        score = None if entry.eval is None else rounded(entry.eval)
        if score is None or entry.section or (best is not None and score <= best):
            continue
        found.append(Step(entry, "" if best is None else f"+{score - best}"))
        best = score
    return found[::-1]


class Gaps(NamedTuple):
    """How dev and eval go together, over the printed scores of entries that show both, and how their gap changes."""

    summary: Summary
    trend: Trend | None


def gap_numbers(entries: Sequence[Shown]) -> Gaps:
    """The numbers beside the figures of dev and eval. No trend with less than three entries, or on one day."""
    plain = [
        Entry(
            key=entry.id,
            date=entry.day,
            dev=None if entry.dev is None else rounded(entry.dev),
            eval=None if entry.eval is None else rounded(entry.eval),
        )
        for entry in entries
        if not entry.withdrawn_on
    ]
    return Gaps(summarize(plain), gap_trend(plain))


def collection_facts(board: Published) -> list[dict[str, Any]]:
    """Each set of queries: how many, how long on average, and of public qrels how many judgments for each query."""
    found = []
    for season in board.seasons:
        files = {file.part: file.counts for file in public_files(season)}
        for part in ("dev", "eval"):
            queries = files.get(SeasonFile.Part[f"{part.upper()}_QUERIES"])
            if queries is not None:
                qrels = files.get(SeasonFile.Part[f"{part.upper()}_QRELS"], {})
                found.append({"season": season.name, "part": part, "queries": queries, "qrels": qrels})
    return found

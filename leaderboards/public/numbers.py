"""What the pages of a board say in numbers, beside its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from evaluation.boards.entries import Entry, Summary, rounded, summarize
from evaluation.boards.gaps import Trend, gap_trend
from leaderboards.models import Board, Score, Season, SeasonFile
from leaderboards.public.archive import public_files
from leaderboards.public.embargo import Shown
from leaderboards.public.published import Published, bests, published


class Step(NamedTuple):
    """An entry that was the best when it came, by how much, in printed places, and whether that is significant; the
    first beats nothing.
    """

    entry: Shown
    gain: str

    @property
    def verdict(self) -> str:
        """As of the entry; nothing of the first."""
        return (self.entry.verdict or "not known") if self.gain else ""


def steps(entries: Sequence[Shown]) -> list[Step]:
    """The entries of a season that were the best when they came, newest first."""
    best = bests(entries)
    gains = [f"+{(entry.eval or 0) - (last.eval or 0)}" for last, entry in pairwise(best)]
    return [Step(entry, gain) for entry, gain in zip(best, ["", *gains], strict=False)][::-1]


class Added(NamedTuple):
    """The dev score of an imported entry's run, added later, and how it differs from the published number, if any."""

    score: str
    difference: str


def added_run(board: Published, entry: Shown) -> Added | None:
    """What the dev run of an imported entry scores here, in printed places; None without one."""
    if not entry.is_imported:
        return None
    rows = Score.objects.filter(
        submission__public_id=entry.id, part="dev", measure=board.board.ranking_measure, version=None
    )
    scores = {row.origin: rounded(Fraction(row.fraction)) for row in rows}
    here, published = scores.get(Score.Origin.COMPUTED), scores.get(Score.Origin.PUBLISHED)
    if here is None:
        return None
    return Added(str(here), "" if published is None else f"{here - published:+}")


class Gaps(NamedTuple):
    """How dev and eval go together, over the printed scores of entries that show both, and how their gap changes.

    `is_imported`: of imported entries, whose level says nothing. `trend`: None with less than three entries, or where
    all came on one day.
    """

    is_imported: bool
    summary: Summary
    trend: Trend | None


def gap_numbers(entries: Sequence[Shown]) -> list[Gaps]:
    """The numbers beside the figures of dev and eval: of the entries scored here, then of imported ones.

    They are not mixed: published eval scores may be at another level, and what is said of both together would come of
    that alone. A part without an entry that shows both is left out.
    """
    valid = [entry for entry in entries if not entry.withdrawn_on]
    parts = [(imported, _plain(row for row in valid if row.is_imported == imported)) for imported in (False, True)]
    rows = [Gaps(imported, summarize(plain), gap_trend(plain)) for imported, plain in parts]
    return [gaps for gaps in rows if gaps.summary.both]


def _plain(entries: Iterable[Shown]) -> list[Entry]:
    return [Entry(key=entry.id, date=entry.day, dev=entry.dev, eval=entry.eval) for entry in entries]


def grows(entries: Sequence[Shown]) -> Trend | None:
    """The trend of a season's gap, if it grows by more than chance explains: of the entries scored here, or, where
    these are too few, of imported ones.
    """
    trends = [gaps.trend for gaps in gap_numbers(entries) if gaps.trend is not None]
    return trends[0] if trends and trends[0].alarm else None


class Alarm(NamedTuple):
    """A season in which the gap of dev and eval grows by more than chance explains."""

    season: Season
    trend: Trend


def gap_alarms(board: Board, at: datetime) -> list[Alarm]:
    """The seasons of a board whose gap grows, newest first."""
    public = published(board, at)
    trends = [(season, grows(public.of_season(season.name))) for season in public.seasons]
    return [Alarm(season, trend) for season, trend in trends if trend is not None]


class SetFacts(NamedTuple):
    """A set of queries: how many, and their mean length in words; of public qrels, judgments and relevant passages.

    None for what is not known, or hidden.
    """

    season: str
    part: str
    queries: int
    words: float | None
    judgments: int | None
    judgments_per_query: float | None
    relevant_per_query: float | None


def collection_facts(board: Published) -> list[SetFacts]:
    """Each set of queries of each season, as it was counted when its files came."""
    facts = []
    for season in board.seasons:
        counts = {file.part: file.counts for file in public_files(season)}
        for part, queries, qrels in (
            ("dev", SeasonFile.Part.DEV_QUERIES, SeasonFile.Part.DEV_QRELS),
            ("eval", SeasonFile.Part.EVAL_QUERIES, SeasonFile.Part.EVAL_QRELS),
        ):
            if queries in counts:
                size, judged = counts[queries].get("queries", 0), counts.get(qrels, {})
                facts.append(
                    SetFacts(
                        season=season.name,
                        part=part,
                        queries=size,
                        words=_share(counts[queries].get("words"), size),
                        judgments=judged.get("lines"),
                        judgments_per_query=_share(judged.get("lines"), judged.get("queries")),
                        relevant_per_query=_share(judged.get("relevant"), judged.get("queries")),
                    )
                )
    return facts


def _share(count: int | None, of: int | None) -> float | None:
    return None if count is None or not of else count / of

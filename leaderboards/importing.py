"""Bringing the past of a board in: the CSV files of the MS MARCO leaderboards become entries without runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import BinaryIO

from django.db import transaction
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from core.errors import Refused
from core.models import User
from evaluation.boards.csvfiles import BoardFile, read_board
from evaluation.boards.entries import Entry, Summary, summarize
from evaluation.errors import BadInput
from leaderboards.models import Board, Part, Score, Season, Submission, SubmissionEvent

NAMED = 5  # ids in a refusal
LONGEST_ID, LONGEST_TYPE = 60, 50  # characters: of Submission.run_id and type


class NotImported(Refused):
    """A file of entries that does not fit its board."""


@dataclass(frozen=True)
class BoardImport:
    """What came of a file: its entries in numbers, with each trophy on which it disagrees with its own scores, and what
    was mended in it, by line.
    """

    summary: Summary
    file: BoardFile

    @property
    def disagreements(self) -> list[tuple[int, Entry, bool]]:
        """Line, entry, and whether it has earned a trophy: for each whose mark in the file says otherwise."""
        by_key = {entry.key: entry for entry in self.file.entries}
        return [(self.file.lines[row.key], by_key[row.key], row.earned) for row in self.summary.disagreements]


@transaction.atomic
def board_import(
    *, board: Board, source: BinaryIO, filename: str, by: User | None, at: datetime, season: Season | None = None
) -> BoardImport:
    """Add every line of a CSV file of MS MARCO's to a board as a published entry; all or nothing.

    Order, ties and trophies go by the file's dates, then its rows. Scores are marked as published elsewhere, and
    trophies are computed anew from them. Without a season, the entries are of the board's first.

    Raises BadInput, with the line, if the file cannot be read or an id is too long; NotImported if it has scores by
    another measure, no entries, or an id that the board has had.
    """
    board = Board.objects.select_for_update().get(pk=board.pk)
    file = read_board(source, name=filename)
    season = season or board.seasons.order_by("number").first()
    if season is None:
        raise NotImported(_("%(board)s has no season to add entries to. Add one first.") % {"board": board.name})
    _check(board, file, filename)
    entries = sorted(file.entries, key=lambda entry: entry.date)
    rows = Submission.objects.bulk_create([_submission(board, season, entry, by) for entry in entries])
    Score.objects.bulk_create(
        _score(row, part, board.ranking_measure, score, at)
        for row, entry in zip(rows, entries, strict=True)
        for part, score in ((Part.DEV, entry.dev), (Part.EVAL, entry.eval))
        if score is not None
    )
    note = _("Imported from %(file)s.") % {"file": filename}
    SubmissionEvent.objects.bulk_create(
        SubmissionEvent(submission=row, state=Submission.State.PUBLISHED, by=by, note=note, at=at) for row in rows
    )
    return BoardImport(summarize(file.entries), file)


def _check(board: Board, file: BoardFile, filename: str) -> None:
    measure = file.measure.upper().replace("MRR@", "RR@")
    if measure and measure != board.ranking_measure.upper():
        raise NotImported(
            _("%(file)s has scores by %(theirs)s, and %(board)s ranks by %(ours)s.")
            % {"file": filename, "theirs": file.measure, "board": board.name, "ours": board.ranking_measure}
        )
    if not file.entries:
        raise NotImported(_("%(file)s has no entries.") % {"file": filename})
    for entry in file.entries:
        if len(entry.key) > LONGEST_ID or len(entry.type) > LONGEST_TYPE:
            limits = f"an id has at most {LONGEST_ID} characters and a type {LONGEST_TYPE}."
            raise BadInput(filename, file.lines[entry.key], f"id {entry.key!r}, type {entry.type!r}: {limits}")
    keys = [entry.key.casefold() for entry in file.entries]
    had = (
        board.submissions.annotate(key_lower=Lower("run_id"))
        .filter(key_lower__in=keys)
        .values_list("run_id", flat=True)
    )
    if had:
        named = ", ".join(sorted(had)[:NAMED]) + (", …" if len(had) > NAMED else "")
        raise NotImported(
            _("%(board)s has had %(count)s of these ids: %(ids)s. An id is used once. Nothing was imported.")
            % {"board": board.name, "count": f"{len(had):,}", "ids": named}
        )


def _submission(board: Board, season: Season, entry: Entry, by: User | None) -> Submission:
    arrived = datetime.combine(entry.date, time(), UTC)
    return Submission(
        board=board,
        season=season,
        run_id=entry.key,
        origin=Submission.Origin.IMPORTED,
        state=Submission.State.PUBLISHED,
        arrived_at=arrived,
        published_at=arrived,
        submitted_by=by,
        type=entry.type,
        team_words=entry.team,
        description=entry.description,
        paper=entry.paper,
        code=entry.code,
        link=entry.link,
        is_baseline=entry.mark == "baseline",
    )


def _score(row: Submission, part: Part, measure: str, score: Decimal, at: datetime) -> Score:
    return Score(
        submission=row,
        part=part,
        measure=measure,
        origin=Score.Origin.PUBLISHED,
        fraction=str(score),
        value=float(score),
        scored_at=at,
    )

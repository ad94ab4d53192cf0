"""All opened runs of a leaderboard, for studies of evaluation itself: organizers take them along, teams are told.

Every run that was evaluated and not withdrawn, named by its id, with its metadata, its scores, the score of each query
and the passages that are kept of it. Nothing is written to disk on the way, where all of it lies sealed.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import BinaryIO, cast

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow
from core.models import User
from evaluation.files.artifact import Order
from evaluation.files.qrels import read_qrels
from evaluation.measures.named import read_measure
from leaderboards import artifacts, events, selectors
from leaderboards.models import Artifact, Board, Opening, Part, Score, Season, SeasonFile, Submission

OPENED = (Submission.State.WAITING, Submission.State.PUBLISHED, Submission.State.REJECTED)


@transaction.atomic
def export_begin(*, board: Board, why: str, by: User, at: datetime) -> list[Submission]:
    """Write down that all opened runs of a board are opened for an export, and have their teams told by mail.

    Returns what `export_stream` takes. Raises BadRequest without a reason, and NotNow where somebody takes part in the
    board, or where there is no run.
    """
    why = why.strip()
    if not why:
        raise BadRequest(_("Say why: the teams are told."))
    if selectors.submissions_of(by, board).exists():
        raise NotNow(_("You take part in this leaderboard. Somebody who does not can export its runs."))
    rows = Submission.objects.filter(board=board, state__in=OPENED, artifacts__isnull=False).distinct()
    submissions = list(rows.select_related("season", "team", "board").order_by("arrived_at", "pk"))
    if not submissions:
        raise NotNow(_("No run has been evaluated here yet, so there is nothing to export."))
    for submission in submissions:
        events.opening_add(submission=submission, what=Opening.What.EXPORT, why=why, by=by, at=at)
        to = events.members_of(submission)
        events.mails_add(submission=submission, to=to, what=_("its run is in an export"), text=why, at=at)
    return submissions


def export_stream(submissions: Sequence[Submission]) -> Iterator[bytes]:
    """A zip of these runs of one board, piece by piece; never more than one run is in memory.

    runs.csv and scores.csv, metadata/ID.json, runs/ID-dev.txt and runs/ID-eval.txt (as TREC has them), and
    queries/ID-PART-MEASURE.tsv with the score of each query, and by RR@k the rank of its first relevant passage, 0
    without one.

    Raises core.sealing.SealedOtherwise where the site's key is another by now, and OSError where storage is away.
    """
    out = _Pieces()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in _files(submissions):
            with archive.open(name, "w", force_zip64=True) as member:
                for line in lines:
                    member.write(line)
                    if out.waiting > 1 << 20:
                        yield out.take()
            yield out.take()
    yield out.take()


class _Pieces(io.RawIOBase):
    """A file that is only written: what has been written since the last piece was taken."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()

    @property
    def waiting(self) -> int:
        return len(self._held)

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]
        self._held += content
        return len(content)

    def take(self) -> bytes:
        piece = bytes(self._held)
        self._held.clear()
        return piece


def _files(submissions: Sequence[Submission]) -> Iterator[tuple[str, Iterator[bytes]]]:
    yield (
        "runs.csv",
        _csv(
            ("id", "season", "state", "arrived", "team", "type"),
            (
                (run.run_id, run.season, run.state, run.arrived_at.isoformat(), run.team, run.type)
                for run in submissions
            ),
        ),
    )
    yield "scores.csv", _csv(("id", "part", "measure", "qrels", "queries", "score", "fraction"), _scores(submissions))
    queries: dict[tuple[int, str], tuple[str, ...]] = {}
    for run in submissions:
        yield f"metadata/{run.run_id}.json", iter((json.dumps(run.metadata, ensure_ascii=False, indent=1).encode(),))
        for row in Artifact.objects.filter(submission=run).order_by("part"):
            yield f"runs/{run.run_id}-{row.part}.txt", _run(run, row.part)
        for score in Score.objects.filter(submission=run, version=None).exclude(per_query="").order_by("pk"):
            place = (run.season_id, score.part)
            if place not in queries:
                queries[place] = _queries(run.season, score.part)
            name = f"queries/{run.run_id}-{score.part}-{score.measure}.tsv"
            yield name, _by_query(score, queries[place])


def _scores(submissions: Sequence[Submission]) -> Iterator[tuple[object, ...]]:
    for run in submissions:
        for row in Score.objects.filter(submission=run).select_related("version").order_by("pk"):
            qrels = "original" if row.version is None else f"version {row.version.number}"
            yield run.run_id, row.part, row.measure, qrels, row.query_count, row.value, row.fraction


def _run(submission: Submission, part: str) -> Iterator[bytes]:
    run = artifacts.load(submission, part)
    assert run is not None
    order: Order = "score" if submission.board.order == "score" else "rank"
    for query, passages in run.top(order, max(run.depth, 2)).items():
        lines = (
            f"{query} Q0 {passage} {rank} {len(passages) - rank + 1} {submission.run_id}\n"
            for rank, passage in enumerate(passages, start=1)
        )
        yield "".join(lines).encode()


def _by_query(score: Score, queries: Sequence[str]) -> Iterator[bytes]:
    values = artifacts.per_query(score)
    assert values is not None
    # Of other qrels than the season has by now there is nothing to name the values by.
    names = queries if len(queries) == len(values) else [""] * len(values)
    by_rank = read_measure(score.measure).is_reciprocal
    for query, value in zip(names, values.tolist(), strict=True):
        rank = f"\t{round(1 / value) if value else 0}" if by_rank else ""
        yield f"{query}\t{value!r}{rank}\n".encode()


def _queries(season: Season, part: str) -> tuple[str, ...]:
    kind = SeasonFile.Part.DEV_QRELS if part == Part.DEV else SeasonFile.Part.EVAL_QRELS
    row = season.files.get(part=kind)
    with row.file.open("rb") as file:
        return tuple(read_qrels(cast(BinaryIO, file), name=row.name).queries)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    for row in (head, *rows):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow(["" if value is None else value for value in row])
        yield out.getvalue().encode()

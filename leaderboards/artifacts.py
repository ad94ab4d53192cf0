"""What the evaluation keeps of a submission's runs: files that are sealed for this site.

Whoever loads one for a purpose of its own writes down an Opening.
"""

from __future__ import annotations

import hashlib
import io
from datetime import datetime
from typing import Any, cast

import numpy as np
from django.core.files.base import ContentFile
from numpy.typing import NDArray

from core.sealing import seal_bytes, unseal_bytes
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.tops import RunTop, top_of
from evaluation.measures.named import read_measure
from leaderboards.models import Artifact, Board, Score, Submission

KEPT = 100  # passages of each query, or as many as a measure looks at: every version of the qrels reads all entries


def depth_of(board: Board) -> int:
    """How many passages of each query are kept: as many as the board's measures look at, and a hundred at least."""
    return max([KEPT, *(read_measure(name).cutoff or board.hits for name in board.measures)])


def top_depth_of(board: Board) -> int:
    """How many passages of each query RR looks at on the board; at least the first, which may be a challenger."""
    measures = [read_measure(name) for name in board.measures]
    return max([1, *(measure.cutoff or 1 for measure in measures if measure.is_reciprocal)])


def write(*, submission: Submission, part: str, run: RunArtifact, at: datetime) -> Artifact:
    """Keep the top of a submission's dev or eval run. Doing it again leaves the first one."""
    stored = Artifact.objects.filter(submission=submission, part=part).first()
    if stored is not None:
        return stored
    packed = io.BytesIO()
    run.cut(min(depth_of(submission.board), run.depth)).save(packed)
    content = packed.getvalue()
    sealed = seal_bytes(content)
    row = Artifact(
        submission=submission, part=part, size=len(sealed), sha256=hashlib.sha256(content).hexdigest(), made_at=at
    )
    row.file.save(f"{part}.sealed", ContentFile(sealed), save=False)
    _make_top(row, run)
    row.save()
    return row


def _make_top(row: Artifact, run: RunArtifact) -> RunTop | None:
    board = row.submission.board
    top = top_of(run, cast(Order, board.order), top_depth_of(board))
    if top is not None:
        row.top.save(f"{row.part}.top.sealed", ContentFile(seal_bytes(top.pack())), save=False)
    return top


def load_top(row: Artifact) -> RunTop | None:
    """The few first passages of each query, in the board's order; None where their ids do not fit into one.

    It is made where a run is older than this. Raises as `load` does, and BadInput where it is damaged.
    """
    if row.top:
        with row.top.open("rb") as file:
            return RunTop.unpack(unseal_bytes(file.read()), name=str(row.top.name))
    top = _make_top(row, RunArtifact.load(io.BytesIO(content(row))))
    if top is not None and not Artifact.objects.filter(pk=row.pk, top="").update(top=str(row.top.name)):
        row.top.storage.delete(str(row.top.name))  # another process made it first
    return top


def load(submission: Submission, part: str) -> RunArtifact | None:
    """The top of a submission's dev or eval run; None if it has none, such as an imported entry.

    Raises core.sealing.SealedOtherwise where the site's key is another by now, and OSError where storage is away.
    """
    row = Artifact.objects.filter(submission=submission, part=part).first()
    return None if row is None else RunArtifact.load(io.BytesIO(content(row)))


def content(row: Artifact) -> bytes:
    """The top of a run as RunArtifact.save writes it. Raises as `load` does."""
    with row.file.open("rb") as file:
        return unseal_bytes(file.read())


def per_query_file(values: NDArray[np.float64]) -> ContentFile[bytes]:
    """Scores of each query, as a Score keeps them: float64 in the order of the season's qrels, sealed."""
    packed = io.BytesIO()
    np.save(packed, np.ascontiguousarray(values, dtype=np.float64), allow_pickle=False)
    return ContentFile(seal_bytes(packed.getvalue()), name="scores.sealed")


def per_query(score: Score) -> NDArray[np.float64] | None:
    """Scores of each query, in the order of the season's qrels; None if it has none."""
    if not score.per_query:
        return None
    with score.per_query.open("rb") as file:
        values: Any = np.load(io.BytesIO(unseal_bytes(file.read())), allow_pickle=False)
    return np.asarray(values, dtype=np.float64)

"""What the evaluation keeps of a submission's runs: files that are sealed for this site.

Whoever loads one for a purpose of its own writes down an Opening.
"""

from __future__ import annotations

import hashlib
import io
import re
from datetime import datetime
from typing import Any

import numpy as np
from django.core.files.base import ContentFile
from numpy.typing import NDArray

from core.sealing import seal_bytes, unseal_bytes
from evaluation.files.artifact import RunArtifact
from leaderboards.models import Artifact, Score, Submission

KEPT = 100  # passages of each query, or as many as a measure looks at: every version of the qrels reads all entries


def write(*, submission: Submission, part: str, run: RunArtifact, at: datetime) -> Artifact:
    """Keep the top of a submission's dev or eval run. Doing it again leaves the first one."""
    kept = Artifact.objects.filter(submission=submission, part=part).first()
    if kept is not None:
        return kept
    cutoffs = [int(found[1]) for name in submission.board.measures if (found := re.search(r"@([0-9]{1,6})$", name))]
    packed = io.BytesIO()
    run.cut(min(max([KEPT, *cutoffs]), run.depth)).save(packed)
    content = packed.getvalue()
    sealed = seal_bytes(content)
    row = Artifact(
        submission=submission,
        part=part,
        size=len(sealed),
        sha256=hashlib.sha256(content).hexdigest(),
        made_at=at,
    )
    row.file.save(f"{part}.sealed", ContentFile(sealed), save=False)
    row.save()
    return row


def load(submission: Submission, part: str) -> RunArtifact | None:
    """The top of a submission's dev or eval run; None if it has none, such as an imported entry.

    Raises core.sealing.SealedOtherwise where the site's key is another by now, and OSError where storage is away.
    """
    row = Artifact.objects.filter(submission=submission, part=part).first()
    if row is None:
        return None
    with row.file.open("rb") as file:
        return RunArtifact.load(io.BytesIO(unseal_bytes(file.read())))


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

"""Whether one entry is really better than another: on the dev queries, whose qrels everybody has.

On the eval queries nothing but the printed scores is compared: more would tell of the hidden qrels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.boards.bands import paired_p
from leaderboards import artifacts
from leaderboards.models import Part, Score
from leaderboards.public.reading import Published, Shown, bests

LEVEL = 0.05


class Outcome(NamedTuple):
    """One entry against another, query by query: on how many it scores higher, the same and lower; the difference of
    the means; and the two-sided p of the paired t-test.
    """

    better: int
    equal: int
    worse: int
    difference: float
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether p is below 5%."""
        return self.p < LEVEL


def compare_dev(board: Published, one: Shown, other: Shown) -> Outcome | None:
    """The outcome on the dev queries; None where one of them has no run here, or they are of different seasons."""
    if one.season != other.season:
        return None
    scores, others = _per_query(board, one), _per_query(board, other)
    if scores is None or others is None or len(scores) != len(others) or not len(scores):
        return None
    differences = np.round(scores - others, 12)  # what is equal but for rounding is equal
    return Outcome(
        better=int((differences > 0).sum()),
        equal=int((differences == 0).sum()),
        worse=int((differences < 0).sum()),
        difference=float(differences.mean()),
        p=paired_p(scores, others),
    )


def best_before(board: Published, entry: Shown) -> Shown | None:
    """The entry that had the highest printed eval score when this one came; None for the first, or without a score."""
    if entry.eval is None:
        return None
    before = bests(one for one in board.of_season(entry.season) if one.arrived < entry.arrived)
    return before[-1] if before else None


def _per_query(board: Published, entry: Shown) -> NDArray[np.float64] | None:
    score = Score.objects.filter(
        submission__public_id=entry.id, part=Part.DEV, measure=board.board.ranking_measure, version=None,
        origin=Score.Origin.COMPUTED,
    ).first()  # fmt: skip
    return None if score is None else artifacts.per_query(score)

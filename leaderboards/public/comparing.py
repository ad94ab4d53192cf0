"""Whether one entry is really better than another: on the dev queries, whose qrels everybody has.

On the eval queries, more than the printed scores would tell of the hidden qrels: entries are compared on them only
where the policy shows every score, or once the qrels are public.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from evaluation.boards.bands import paired_p
from leaderboards import artifacts
from leaderboards.events import opening_add
from leaderboards.models import Opening, Part, Score, Season
from leaderboards.order_checks import is_open, scores_to_check
from leaderboards.public.embargo import LEVEL, Shown
from leaderboards.public.published import Published, bests

JOB = "leaderboards.public.comparing"


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


def compare_dev(board: Published, entry: Shown, other: Shown) -> Outcome | None:
    """The outcome on the dev queries; None where one of them has no run here, or they are of different seasons."""
    if entry.season != other.season:
        return None
    return _outcome(_per_query(board, entry), _per_query(board, other))


def _outcome(scores: NDArray[np.float64] | None, others: NDArray[np.float64] | None) -> Outcome | None:
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


def compare_eval(board: Published, entry: Shown, other: Shown) -> Outcome | None:
    """The outcome on the eval queries; None as on dev, and unless everybody may see it.

    That is where every score is shown, now and when either came, or the season's eval qrels are public. That the scores
    of each query were opened for it is written down, once for each entry.
    """
    if entry.season != other.season or entry.gains_nothing or other.gains_nothing:
        return None
    season = Season.objects.get(board=board.board, name=entry.season)
    allowed = scores_to_check(season, Part.EVAL, board.at) if is_open(season, board.at) else []
    by_id = {score.submission.public_id: score for score in allowed}
    if entry.id not in by_id or other.id not in by_id:
        return None
    for score in (by_id[entry.id], by_id[other.id]):
        _write_down(score, board.at)
    return _outcome(artifacts.per_query(by_id[entry.id]), artifacts.per_query(by_id[other.id]))


def _write_down(score: Score, at: datetime) -> None:
    what, why = Opening.What.PER_QUERY, _("To compare it with other entries, as the policy allows everybody.")
    if not Opening.objects.filter(submission=score.submission, what=what, job=JOB).exists():
        opening_add(submission=score.submission, what=what, why=why, job=JOB, at=at)


def best_before(board: Published, entry: Shown) -> Shown | None:
    """The entry that had the highest printed eval score when this one came; None for the first, or without a score."""
    if entry.eval is None:
        return None
    before = bests(earlier for earlier in board.of_season(entry.season) if earlier.arrived < entry.arrived)
    return before[-1] if before else None


def _per_query(board: Published, entry: Shown) -> NDArray[np.float64] | None:
    score = Score.objects.filter(
        submission__public_id=entry.id, part=Part.DEV, measure=board.board.ranking_measure, version=None,
        origin=Score.Origin.COMPUTED,
    ).first()  # fmt: skip
    return None if score is None else artifacts.per_query(score)

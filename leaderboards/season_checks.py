"""What is looked at whenever a season's entries change: whether the gap of dev and eval grows, which organizers are
told, and whether each new best was significantly better than the one before it.
"""

import logging
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from core.errors import FileAway
from evaluation.boards.gaps import Trend
from leaderboards import events
from leaderboards.models import Board, Part, Score, Season, SeasonCheck, Submission, SubmissionEvent
from leaderboards.public.comparing import compare_dev, compare_eval
from leaderboards.public.embargo import Shown
from leaderboards.public.numbers import grows
from leaderboards.public.published import Published, bests, published
from leaderboards.upkeep.rescoring import UNREADABLE

log = logging.getLogger(__name__)

AGAIN = timedelta(minutes=10)  # what was still being published at a check is looked at by those after it


def seasons_due(*, at: datetime) -> QuerySet[Season]:
    """The seasons in which an entry came or went, or was given a run, since they were last looked at."""
    changed = SubmissionEvent.objects.filter(
        submission__season=OuterRef("pk"), state__in=[Submission.State.PUBLISHED, Submission.State.WITHDRAWN]
    )
    scored = Score.objects.filter(submission__season=OuterRef("pk"), version=None)
    last = OuterRef("check_of_entries__checked_at") - AGAIN
    never = Q(check_of_entries=None) & Exists(changed)
    since = Exists(changed.filter(at__gte=last)) | Exists(scored.filter(scored_at__gte=last))
    return Season.objects.filter(never | since, opens_at__lte=at).select_related("board").order_by("pk")


@transaction.atomic
def season_check(*, season: Season, at: datetime) -> bool:
    """Look at the entries of a season. Organizers get a mail when its gap begins to grow, or grows to the other side.

    False where another process does it now, or did so later than `at`.
    """
    SeasonCheck.objects.get_or_create(season=season, defaults={"checked_at": at})
    check = (
        SeasonCheck.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(season=season, checked_at__lte=at)
        .first()
    )
    if check is None:
        return False
    board = season.board
    public = published(board, at, season=season)
    entries = public.of_season(season.name)
    trend = grows(entries)
    side = "" if trend is None else trend.alarm
    if side != check.side:
        check.side, check.since = side, at if side else None
        if trend is not None and side:
            _tell(board, season, trend, at)
    check.bests = {new.id: p for last, new in pairwise(bests(entries)) if (p := _p_values(public, new, last))}
    check.checked_at = at
    check.save(update_fields=["side", "since", "bests", "checked_at"])
    return True


def _tell(board: Board, season: Season, trend: Trend, at: datetime) -> None:
    what = _("eval scores rise faster than dev scores")
    means = _("That is what fitting the hidden queries looks like.")
    if trend.alarm == "dev":
        what = _("dev scores rise faster than eval scores")
        means = _("That is what fitting the dev queries looks like.")
    numbers = _(
        "In the season %(season)s, eval less dev changes by %(slope)s a year (95%% interval %(low)s to %(high)s, "
        "p = %(p)s, %(entries)s entries)."
    ) % {
        "season": season.name, "slope": f"{trend.slope:+.4f}", "low": f"{trend.interval.low:+.4f}",
        "high": f"{trend.interval.high:+.4f}", "p": f"{trend.p:.3f}", "entries": trend.entries,
    }  # fmt: skip
    events.board_mails_add(board=board, what=what, text=f"{numbers} {means}", at=at)


def _p_values(board: Published, entry: Shown, last: Shown) -> dict[str, float]:
    """By part, of one entry against another, where both have runs here. An entry whose file is away has none now."""
    try:
        outcomes = {Part.DEV: compare_dev(board, entry, last), Part.EVAL: compare_eval(board, entry, last)}
    except (*UNREADABLE, FileAway):
        log.exception("The entries %s and %s were not compared", entry.id, last.id)
        return {}
    return {str(part): outcome.p for part, outcome in outcomes.items() if outcome is not None}

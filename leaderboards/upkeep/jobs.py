"""What runs in the background: scoring entries on versions, and the steps of rounds."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.alarms import in_words
from core.background import job
from leaderboards.models import UpkeepRound
from leaderboards.upkeep import rescoring, rounds

log = logging.getLogger(__name__)
SECONDS = 40.0  # for which one job works before other jobs get their turn


@job(_("the job that keeps the answers of leaderboards current"))
def keep_up(board_id: int | None = None) -> str:
    """Score entries on versions of the preference qrels, find challengers, and take rounds of upkeep further, of one
    board or of all. Safe to run many at once, and to be killed.
    """
    at, ends = timezone.now(), time.monotonic() + SECONDS
    scored, steps, failed = 0, 0, None
    to_examine, in_upkeep = rescoring.boards_to_examine(at=at), rounds.boards_in_upkeep(at=at)
    if board_id is not None:
        to_examine, in_upkeep = to_examine.filter(pk=board_id), in_upkeep.filter(pk=board_id)
    for board in to_examine.select_related("collection"):
        try:
            scored += rescoring.entries_examine(board=board, at=at)
        except Exception as error:
            log.exception("The entries of board %s on versions", board.pk)
            failed = error
        if time.monotonic() > ends:
            break
    for board in in_upkeep.select_related("collection", "lab"):
        try:
            steps += rounds.round_advance(board=board, at=at)
            steps += rounds.round_propose(board=board, at=at) is not None
        except Exception as error:
            log.exception("The upkeep of board %s", board.pk)
            failed = error
            for round in UpkeepRound.objects.filter(board=board, ended_at=None):
                rounds.obstacle_note(round=round, why=in_words(error), at=at)
        if time.monotonic() > ends:
            break
    if failed is not None:
        raise failed  # the other boards are done; the checks of health name the job
    return f"entries scored: {scored}; steps of rounds: {steps}"

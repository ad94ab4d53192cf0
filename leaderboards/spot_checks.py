"""Spot checks: each month, entries drawn at random that an organizer looks at closely."""

from datetime import UTC, date, datetime, timedelta
from random import SystemRandom

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, Refused
from core.models import User
from leaderboards import events
from leaderboards.models import Board, SpotCheck, Submission

AGAIN = timedelta(days=365)  # an entry that was drawn is left in peace for so long
LONGEST_NOTE = 2000


def month_of(at: datetime) -> date:
    """The first day of the month, in UTC."""
    return at.astimezone(UTC).date().replace(day=1)


def boards_due(*, at: datetime) -> QuerySet[Board]:
    """The boards of which no entry was drawn this month, though some are to be."""
    return Board.objects.filter(spot_checks__gt=0).exclude(drawn_checks__month=month_of(at)).order_by("pk")


@transaction.atomic
def checks_draw(*, board: Board, at: datetime) -> list[SpotCheck]:
    """Draw the entries of this month: of those that are published, were evaluated here, and were not drawn in the last
    year. Empty where that was done, and where there are none; then the next one that is published is drawn.
    """
    locked = Board.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk)
    if not boards_due(at=at).filter(pk=locked.pk).exists():
        return []
    lately = SpotCheck.objects.filter(board=locked, drawn_at__gt=at - AGAIN).values("submission")
    entries = Submission.objects.filter(
        board=locked, state=Submission.State.PUBLISHED, origin=Submission.Origin.SITE
    ).exclude(pk__in=lately)
    keys = sorted(entries.values_list("pk", flat=True))
    drawn = SystemRandom().sample(keys, min(locked.spot_checks, len(keys)))
    return SpotCheck.objects.bulk_create(
        SpotCheck(board=locked, month=month_of(at), submission_id=key, drawn_at=at) for key in sorted(drawn)
    )


def checks_open(board: Board) -> QuerySet[SpotCheck]:
    """What organizers have still to look at, the longest waiting first. A withdrawn entry needs no look."""
    rows = board.drawn_checks.filter(done_at=None, submission__state=Submission.State.PUBLISHED)
    return rows.select_related("submission__team").order_by("month", "pk")


def checks_done(board: Board) -> QuerySet[SpotCheck]:
    """What organizers have looked at, the last first."""
    rows = board.drawn_checks.filter(done_at__isnull=False)
    return rows.select_related("submission", "done_by").order_by(F("done_at").desc(), "-pk")


@transaction.atomic
def check_do(*, check: SpotCheck, note: str, by: User, at: datetime) -> SpotCheck:
    """Write down what a look at an entry found. Raises BadRequest without a note, Refused to members of its team, and
    NotNow where somebody has looked already.
    """
    note = note.strip()
    if not 0 < len(note) <= LONGEST_NOTE:
        most = f"{LONGEST_NOTE:,}"
        raise BadRequest(_("Write down what you looked at and found, in up to %(most)s characters.") % {"most": most})
    locked = (
        SpotCheck.objects.select_for_update(of=("self",))
        .select_related("submission__team", "submission__board")
        .get(pk=check.pk)
    )
    if locked.done_at is not None:
        raise NotNow(_("Somebody has looked at this entry already. Load the page again."))
    if by in events.members_of(locked.submission):
        raise Refused(_("It is your own team's entry: another organizer has to look at it."))
    locked.note, locked.done_by, locked.done_at = note, by, at
    locked.save(update_fields=["note", "done_by", "done_at"])
    return locked

"""What happened to a submission, and who is told about it by mail."""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from core import mail
from core.models import Membership, User
from core.roles import ROLES, Right
from leaderboards.models import Board, Opening, Submission, SubmissionEvent, SubmissionMessage, TeamMember
from leaderboards.selectors import family, root

State = Submission.State


def event_add(*, submission: Submission, state: str, at: datetime, by: User | None = None, note: str = "") -> None:
    """Write down that a submission came into a state, and that its team is to be told; of arrivals and of what waits
    for them, the organizers too.
    """
    SubmissionEvent.objects.create(submission=submission, state=state, by=by, note=note, at=at)
    label = str(State(state).label)
    recipients = {user.pk: user for user in members_of(submission)}
    if state in (State.RECEIVED, State.WAITING):
        recipients |= {user.pk: user for user in organizers_of(submission.board)}
    mails_add(submission=submission, to=list(recipients.values()), what=label, text=note, at=at)


def mails_add(*, submission: Submission, to: list[User], what: str, text: str, at: datetime) -> None:
    """Have a mail about a submission sent to people. It names the run's id, and no score."""
    names = {"board": submission.board.name, "run": submission.run_id, "what": what}
    address = settings.SITE_URL.rstrip("/") + reverse("leaderboards:submission", args=[submission.public_id])
    sentence = _("Your submission %(run)s to “%(board)s”: %(what)s.") % names
    body = "\n\n".join(filter(None, [sentence, text, address])) + "\n"
    mail.mails_add(to=to, subject=_("%(board)s: %(run)s: %(what)s") % names, text=body, at=at)


def board_mails_add(*, board: Board, what: str, text: str, at: datetime) -> None:
    """Have a mail about a board sent to its organizers."""
    address = settings.SITE_URL.rstrip("/") + reverse("leaderboards:organize", args=[board.slug])
    subject = _("%(board)s: %(what)s") % {"board": board.name, "what": what}
    mail.mails_add(to=organizers_of(board), subject=subject, text=f"{text}\n\n{address}\n", at=at)


def members_of(submission: Submission) -> list[User]:
    """The people of the team that sent it."""
    if submission.team is None:
        return []
    members = TeamMember.objects.filter(team__in=family(root(submission.team)), user__is_active=True)
    return [row.user for row in members.select_related("user").order_by("pk")]


def organizers_of(board: Board) -> list[User]:
    """Who may decide about a board's submissions."""
    roles = [role for role, rights in ROLES.items() if Right.MAINTAIN in rights]
    rows = Membership.objects.filter(lab=board.lab_id, role__in=roles, user__is_active=True).select_related("user")
    return [row.user for row in rows.order_by("pk")]


def opening_add(
    *, submission: Submission, what: str, why: str, at: datetime, by: User | None = None, job: str = ""
) -> Opening:
    """Write down that something sealed is opened: before it is."""
    return Opening.objects.create(submission=submission, what=what, why=why, by=by, job=job, at=at)


def scores_seen(*, submission: Submission, by: User, at: datetime) -> None:
    """Write down that an organizer sees eval scores that nobody has been shown: once for each organizer."""
    if not submission.openings.filter(what=Opening.What.SCORES, by=by).exists():
        opening_add(submission=submission, what=Opening.What.SCORES, why=_("To decide about it."), by=by, at=at)


@transaction.atomic
def message_add(*, submission: Submission, text: str, by: User, is_organizers: bool, at: datetime) -> SubmissionMessage:
    """Write to the other side: to the team, or to the organizers."""
    row = SubmissionMessage.objects.create(submission=submission, text=text, by=by, is_organizers=is_organizers, at=at)
    to = members_of(submission) if is_organizers else organizers_of(submission.board)
    mails_add(submission=submission, to=to, what=_("a message"), text=text, at=at)
    return row

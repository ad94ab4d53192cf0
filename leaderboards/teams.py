"""Teams: founding and joining them, confirming and merging them."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.comparing import compared
from core.errors import NotNow, Refused
from core.mail import mail_send
from core.models import User
from core.people import invitation_gone, invitation_link, invitation_read, user_add
from evaluation.boards.checking import is_anonymous
from leaderboards.models import Board, Decision, FormerMember, Team, TeamInvitation, TeamMember
from leaderboards.selectors import root

INVITATION_DAYS = 14
UNCONFIRMED_OF_ONE = 5  # teams that one person has founded
FORGOTTEN_AFTER = timedelta(days=30)
_INVITED = "invited to a leaderboard"


@transaction.atomic
def team_found(*, board: Board, organization: str, group: str, contributors: str, by: User, at: datetime) -> Team:
    """A team of one, which may invite others. The organizers confirm it before its first entry is published.

    Raises Refused for names that say nothing, or that another team of the lab has.
    """
    organization, group = " ".join(organization.split()), " ".join(group.split())
    for field, text in (("organization", organization), ("group", group)):
        if is_anonymous(text):
            message = _("“%(text)s” says nothing: teams are identifiable. An entry can be anonymous under an embargo.")
            raise Refused(message % {"text": text}, field=field)
    same = Team.objects.filter(lab=board.lab_id, organization_key=compared(organization), group_key=compared(group))
    if same.exists():
        raise Refused(_("There is a team of this name. Ask one of its members to invite you."), field="group")
    founded = Team.objects.filter(lab=board.lab_id, created_by=by, confirmed_at=None, merged_into=None).count()
    if founded >= UNCONFIRMED_OF_ONE:
        message = _("You have founded %(most)s teams that the organizers have not confirmed yet. Ask them to, first.")
        raise Refused(message % {"most": UNCONFIRMED_OF_ONE})
    team = Team.objects.create(
        lab=board.lab, organization=organization, group=group, contributors=contributors, created_by=by, created_at=at
    )
    TeamMember.objects.create(team=team, user=by, joined_at=at)
    return team


def team_leave(*, team: Team, user: User, at: datetime) -> None:
    """Leave a team: looks at what it has sent still count for them.

    Raises NotNow for the last member of a team that has submitted something.
    """
    with transaction.atomic():
        Team.objects.select_for_update(of=("self",)).get(pk=team.pk)
        others = team.members.exclude(user=user)
        if not others.exists() and team.submissions.exists():
            raise NotNow(_("You are the last member of a team that has submissions. Invite somebody else first."))
        if team.members.filter(user=user).delete()[0]:
            FormerMember.objects.create(team=team, user=user, left_at=at)


@transaction.atomic
def team_confirm(*, team: Team, board: Board, reason: str, by: User, at: datetime) -> Team:
    """Say that a team is who it says it is. Again changes nothing."""
    if Team.objects.filter(pk=team.pk, confirmed_at=None).update(confirmed_at=at, confirmed_by=by):
        Decision.objects.create(board=board, team=team, kind=Decision.Kind.CONFIRM, reason=reason, by=by, at=at)
    team.refresh_from_db()
    return team


@transaction.atomic
def teams_merge(*, team: Team, into: Team, board: Board, reason: str, by: User, at: datetime) -> Team:
    """Make two teams one: their runs count together, and the members of the first are in the second.

    Raises Refused where one of them was merged already, or both are the same.
    """
    rows = {row.pk: row for row in Team.objects.select_for_update(of=("self",)).filter(pk__in=[team.pk, into.pk])}
    if len(rows) < 2 or any(row.merged_into_id for row in rows.values()) or team.lab_id != into.lab_id:
        raise Refused(_("Choose two different teams of this lab that are not merged yet."))
    Team.objects.filter(pk=team.pk).update(merged_into=into)
    users = set(into.members.values_list("user", flat=True))
    for member in team.members.exclude(user__in=users):
        TeamMember.objects.create(team=into, user=member.user, joined_at=at)
    details = {"merged": str(team), "into": str(into)}
    for row in (team, into):
        Decision.objects.create(
            board=board, team=row, kind=Decision.Kind.MERGE, details=details, reason=reason, by=by, at=at
        )
    team.refresh_from_db()
    return team


@transaction.atomic
def team_exempt(*, team: Team, board: Board, runs: int, reason: str, by: User, at: datetime) -> Decision:
    """Let a team send so many runs more than the policy says, within the days that runs count from now on."""
    if not 1 <= runs <= 10:
        raise Refused(_("Between 1 and 10 runs more."))
    return Decision.objects.create(
        board=board, team=team, kind=Decision.Kind.EXEMPT, details={"runs": runs}, reason=reason, by=by, at=at
    )


# --- invitations


def invitation_add(*, board: Board, team: Team | None, email: str, by: User | None, at: datetime) -> TeamInvitation:
    """Let somebody take part: in a team, or with one that they found. Sends nothing.

    Raises Refused where somebody has invited that address, and the invitation is open; not to who asks for one.
    """
    open_ones = open_invitations(at).filter(board=board, team=team).exclude(invited_by=None)
    if by is not None and email and compared(email) in map(compared, open_ones.values_list("email", flat=True)):
        raise Refused(_("This address is already invited. Revoke that invitation to make another."), field="email")
    until = at + timedelta(days=INVITATION_DAYS)
    return TeamInvitation.objects.create(
        board=board, team=team, email=email, invited_by=by, made_at=at, expires_at=until
    )


def invitation_address(invitation: TeamInvitation, *, by_mail: bool = False) -> str:
    """The link that lets somebody take part."""
    return invitation_link("leaderboards:invited", _INVITED, invitation.pk, by_mail)


def open_invitations(at: datetime) -> QuerySet[TeamInvitation]:
    """What can still be accepted."""
    return TeamInvitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=at)


def invitation_at(token: str, at: datetime) -> tuple[TeamInvitation, bool]:
    """The open invitation of a link, and whether the link was mailed. Raises NotYours."""
    key, by_mail = invitation_read(token, _INVITED)
    invitation = open_invitations(at).select_related("board__lab", "team").filter(pk=key).first()
    if invitation is None:
        raise invitation_gone()
    return invitation, by_mail


def invitation_mail(*, invitation: TeamInvitation, at: datetime) -> None:
    """Send the link to the invitation's address. Raises OSError where the mail server does not take it."""
    names = {
        "board": invitation.board.name,
        "team": str(invitation.team or ""),
        "until": f"{invitation.expires_at:%d %b %Y}",
        "link": invitation_address(invitation, by_mail=True),
    }
    if invitation.team is not None:
        sentence = _("You are invited to the team “%(team)s”, which takes part in the leaderboard “%(board)s”.")
    else:
        sentence = _("You can take part in the leaderboard “%(board)s”.")
    link = _("Open this link to choose your name and password. It works once, until %(until)s:\n\n%(link)s\n")
    subject = _("Taking part in “%(board)s”") % names
    mail_send(to=invitation.email, subject=subject, text=f"{sentence % names}\n\n{link % names}")
    TeamInvitation.objects.filter(pk=invitation.pk).update(mailed_at=at)


def invitation_revoke(*, invitation: TeamInvitation, at: datetime) -> None:
    """Take an invitation back. Again, or once it was accepted, changes nothing."""
    open_one = TeamInvitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    open_one.update(revoked_at=at, email="")


def invitations_forget(*, at: datetime) -> int:
    """Delete what nobody accepted and expired a month ago: each names an address. How many."""
    old = TeamInvitation.objects.filter(accepted_at=None, expires_at__lt=at - FORGOTTEN_AFTER)
    return old.delete()[0]


@transaction.atomic
def invitation_accept(*, invitation: TeamInvitation, user: User, at: datetime) -> Team | None:
    """Take part: as a new user (not saved yet, with an address only if it is proven theirs) or as one who is here.

    The team that it is for, if it is for one. Raises NotYours if somebody was faster.
    """
    if user.pk is None:
        user_add(user)
    count = open_invitations(at).filter(pk=invitation.pk).update(accepted_at=at, accepted_by=user, email="")
    if not count:
        raise invitation_gone()
    team = None if invitation.team is None else root(invitation.team)
    if team is not None:
        TeamMember.objects.get_or_create(team=team, user=user, defaults={"joined_at": at})
    return team

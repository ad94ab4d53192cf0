"""What is read of leaderboards: boards, teams, quotas, looks and submissions, as far as somebody may see them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.errors import NotYours
from core.models import User
from core.roles import Right, labs_of, may, require
from evaluation.boards.entries import rounded
from leaderboards.models import Board, Decision, Look, PolicyVersion, Season, Submission, Team

State = Submission.State
# What uses up no quota: nobody has learned anything from it.
NOT_COUNTED = (State.REFUSED, State.FAILED, State.CANCELED)
ON_THE_WAY = (State.RECEIVED, State.CHECKED, State.EVALUATING)


def printed(fraction: str) -> str:
    """An exact score as it is printed: three places, half up."""
    return str(rounded(Fraction(fraction)))


def boards_of(user: User, right: Right = Right.SEE) -> QuerySet[Board]:
    """The boards of the labs in which somebody has a right."""
    return Board.objects.filter(lab__in=labs_of(user, right))


def boards_seen(user: User) -> QuerySet[Board]:
    """The boards that somebody may know of: public ones, their labs', and where they were invited or sent runs."""
    invited = Q(invitations__accepted_by=user) | Q(invitations__team__members__user=user)
    own = Q(lab__in=labs_of(user)) | invited | Q(submissions__team__members__user=user)
    return Board.objects.filter(Q(is_public=True) | own).distinct()


def board_for(user: User, slug: str, right: Right) -> Board:
    """A board of the user's labs, for what needs a right. Raises NotYours and NotAllowed."""
    board = boards_of(user).select_related("lab", "collection").filter(slug=slug).first()
    if board is None:
        raise NotYours(_("There is no such leaderboard, or it belongs to another lab."))
    require(user, board.lab, right)
    return board


def board_seen(user: User, slug: str) -> Board:
    """A board that somebody may take part in. Raises NotYours."""
    board = boards_seen(user).select_related("lab", "collection").filter(slug=slug).first()
    if board is None:
        raise NotYours(_("There is no such leaderboard, or you are not invited to it."))
    return board


def teams_of(user: User, board: Board) -> QuerySet[Team]:
    """The teams that somebody may submit for."""
    return Team.objects.filter(lab=board.lab_id, members__user=user, merged_into=None).order_by("organization", "group")


def root(team: Team) -> Team:
    """The team that a team was merged into, if it was, and so on: who answers for its runs now."""
    while team.merged_into is not None:
        team = team.merged_into
    return team


def family(team: Team) -> list[int]:
    """The keys of a team and of those that were merged into it."""
    keys = [team.pk]
    for key in keys:
        keys += Team.objects.filter(merged_into=key).values_list("pk", flat=True)
    return keys


def open_seasons(board: Board, at: datetime) -> QuerySet[Season]:
    """The seasons that have begun, newest first; entries to those that have ended are listed apart."""
    return board.seasons.filter(opens_at__lte=at).order_by("-number")


class Quota(NamedTuple):
    """How many runs a team may still send: `used` of `runs` in the `days` before now, and when the next is free."""

    used: int
    runs: int
    days: int
    next_at: datetime | None

    @property
    def free(self) -> int:
        """How many runs are left now."""
        return max(0, self.runs - self.used)


def quota_of(team: Team, board: Board, policy: PolicyVersion, at: datetime) -> Quota:
    """A team's quota, by times of arrival. Exemptions add runs for as many days as runs count."""
    since = at - timedelta(days=policy.quota_days)
    teams = family(team)
    sent = Submission.objects.filter(board=board, team__in=teams, arrived_at__gt=since).exclude(state__in=NOT_COUNTED)
    arrivals = list(sent.order_by("arrived_at").values_list("arrived_at", flat=True))
    exempt = Decision.objects.filter(board=board, team__in=teams, kind=Decision.Kind.EXEMPT, at__gt=since)
    runs = policy.quota_runs + sum(int(row.details.get("runs", 0)) for row in exempt)
    full = len(arrivals) >= runs
    next_at = arrivals[len(arrivals) - runs] + timedelta(days=policy.quota_days) if full and runs else None
    return Quota(len(arrivals), runs, policy.quota_days, next_at)


class Looks(NamedTuple):
    """How many answers of the release rule were shown: to the team, to its organization, and the most to a member."""

    team: int
    organization: int
    person: int

    @property
    def most(self) -> int:
        """What a release rule counts."""
        return max(self)


def looks_of(team: Team, season: Season, since: datetime | None = None) -> Looks:
    """The looks in a season, or those since a time."""
    looks = Look.objects.filter(season=season)
    if since is not None:
        looks = looks.filter(at__gt=since)
    teams = family(team)
    members = Team.objects.filter(pk__in=teams).values_list("members__user", flat=True)
    people = [user for user in members if user is not None]
    counts = [looks.filter(Q(person=user) | Q(team__members__user=user)).distinct().count() for user in people]
    return Looks(
        looks.filter(team__in=teams).count(),
        looks.filter(organization=team.organization.casefold()).count(),
        max(counts, default=0),
    )


def is_member(user: User, submission: Submission) -> bool:
    """Whether somebody is in the team that sent a submission, or in the one that it was merged into."""
    team = submission.team
    while team is not None:
        if team.members.filter(user=user).exists():
            return True
        team = team.merged_into
    return False


def organizes(user: User, board: Board) -> bool:
    """Whether somebody decides about a board's submissions."""
    return may(user, board.lab, Right.MAINTAIN)


def submission_for(user: User, public_id: str) -> tuple[Submission, bool]:
    """A submission that somebody sent with a team or that is sent to their lab, and whether they organize the board.

    Raises NotYours.
    """
    found = Submission.objects.select_related("board__lab", "season", "team", "policy", "submitted_by")
    submission = found.filter(public_id=public_id).first()
    if submission is not None:
        if organizes(user, submission.board):
            return submission, True
        if is_member(user, submission):
            return submission, False
    raise NotYours(_("There is no such submission, or it is another team's."))


def submissions_of(user: User, board: Board) -> QuerySet[Submission]:
    """What somebody's teams sent to a board, newest first."""
    teams = [key for team in teams_of(user, board) for key in family(team)]
    return board.submissions.filter(team__in=teams).order_by("-arrived_at", "-pk")


def to_decide(board: Board) -> QuerySet[Submission]:
    """What waits for the organizers, those that wait longest first."""
    waiting = board.submissions.filter(state=State.WAITING).select_related("team", "season", "policy")
    return waiting.order_by("waiting_since", "pk")


class Alike(NamedTuple):
    """Two teams that may be of one hand, and why."""

    first: Team
    second: Team
    why: str


def teams_alike(board: Board) -> list[Alike]:
    """Teams that share a member, or the host of their members' addresses (public mail hosts are not told apart)."""
    teams = Team.objects.filter(lab=board.lab_id, merged_into=None).prefetch_related("members__user").order_by("pk")
    people = {team: {row.user_id: row.user for row in team.members.all()} for team in teams}
    found = []
    rows = list(people)
    for number, first in enumerate(rows):
        for second in rows[number + 1 :]:
            shared = [str(people[first][key]) for key in people[first].keys() & people[second].keys()]
            hosts = _hosts(people[first].values()) & _hosts(people[second].values())
            if shared:
                found.append(Alike(first, second, _("both have %(who)s") % {"who": ", ".join(sorted(shared))}))
            elif hosts:
                found.append(Alike(first, second, _("addresses at %(host)s") % {"host": ", ".join(sorted(hosts))}))
    return found


def _hosts(users: Iterable[User]) -> set[str]:
    return {user.email.rpartition("@")[2].lower() for user in users if "@" in user.email}

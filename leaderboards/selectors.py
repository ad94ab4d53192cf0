"""What is read of leaderboards: boards, teams, quotas, looks and submissions, as far as somebody may see them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.errors import NotYours
from core.models import User
from core.roles import Right, labs_of, may, require
from evaluation.boards.entries import rounded
from leaderboards.models import Board, Decision, FormerMember, Look, PolicyVersion, Season, Submission, Team, TeamMember

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
    takes_part = Q(lab__in=labs_of(user)) | invited | Q(submissions__team__members__user=user)
    return Board.objects.filter(Q(is_public=True) | takes_part).distinct()


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


def looks_by_person(team: Team, season: Season, by: int | None = None) -> dict[int, QuerySet[Look]]:
    """By member of a team, or of those that were merged into it: the looks in a season that they or a team of theirs
    had. `by`: the key of somebody who counts as a member, such as who sent a run.

    Of a team that somebody left, the looks at what it had sent by then count still; and who left this team counts with
    looks at what was sent by then.
    """
    teams, looks = family(team), dict[int, QuerySet[Look]]()
    of_season = Look.objects.filter(season=season)
    for former in FormerMember.objects.filter(team__in=teams).order_by("left_at", "pk"):
        had = of_season.filter(_had_by(former.user_id), submission__arrived_at__lte=former.left_at)
        looks[former.user_id] = had.distinct()
    members = set(TeamMember.objects.filter(team__in=teams).values_list("user", flat=True))
    for user in members | ({by} if by is not None else set()):
        looks[user] = of_season.filter(_had_by(user)).distinct()
    return looks


def _had_by(user: int) -> Q:
    """Looks that somebody had: at what they sent, or with a team while they were in it."""
    had = Q(person=user) | Q(team__members__user=user)
    for former in FormerMember.objects.filter(user=user).select_related("team"):
        had |= Q(submission__team__in=family(former.team), submission__arrived_at__lte=former.left_at)
    return had


def looks_of(team: Team, season: Season, since: Submission | None = None, by: int | None = None) -> Looks:
    """The looks in a season, or those that were written down after that at a submission; `by` as in
    `looks_by_person`.
    """
    looks = Look.objects.filter(season=season)
    after = since.look.pk if since is not None else 0
    counts = [had.filter(pk__gt=after).count() for had in looks_by_person(team, season, by).values()]
    looks = looks.filter(pk__gt=after)
    return Looks(
        looks.filter(team__in=family(team)).count(),
        looks.filter(organization=team.organization_key).count(),
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
    submissions = Submission.objects.select_related("board__lab", "season", "team", "policy", "submitted_by")
    submission = submissions.filter(public_id=public_id).first()
    if submission is not None:
        if organizes(user, submission.board):
            return submission, True
        if is_member(user, submission):
            return submission, False
    raise NotYours(_("There is no such submission, or it is another team's."))


def submissions_of(user: User, board: Board | None = None) -> QuerySet[Submission]:
    """What somebody's teams sent, to one board or to any, newest first."""
    teams = Team.objects.filter(members__user=user, merged_into=None) if board is None else teams_of(user, board)
    sent = Submission.objects.filter(team__in=[key for team in teams for key in family(team)])
    return (sent if board is None else sent.filter(board=board)).order_by("-arrived_at", "-pk")


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
    """Teams that share somebody who is or was a member, or the host of their members' addresses (public mail hosts are
    not told apart).

    Of many that share the same, each is named beside the first: so the list is no longer than the teams times what they
    share.
    """
    members = TeamMember.objects.filter(team__lab=board.lab_id, team__merged_into=None).select_related("team", "user")
    by_person: dict[User, list[Team]] = defaultdict(list)
    by_host: dict[str, list[Team]] = defaultdict(list)
    for row in members.order_by("team", "pk"):
        by_person[row.user].append(row.team)
        host = row.user.email.rpartition("@")[2].lower()
        if host and row.team not in by_host[host]:
            by_host[host].append(row.team)
    left = FormerMember.objects.filter(team__lab=board.lab_id, team__merged_into=None).select_related("team", "user")
    for former in left.order_by("team", "pk"):
        if former.team not in by_person[former.user]:
            by_person[former.user].append(former.team)
    people, hosts = _pairs(by_person), _pairs(by_host)
    rows = [Alike(*pair, _("both have or had %(who)s") % {"who": ", ".join(who)}) for pair, who in people.items()]
    rows += [
        Alike(*pair, _("addresses at %(host)s") % {"host": ", ".join(at)})
        for pair, at in hosts.items()
        if pair not in people
    ]
    return sorted(rows, key=lambda row: (row.first.pk, row.second.pk))


def _pairs(shared: Mapping[Any, Sequence[Team]]) -> dict[tuple[Team, Team], list[str]]:
    """The first team that has something, with each further one, and the names of what they share."""
    pairs: dict[tuple[Team, Team], list[str]] = defaultdict(list)
    for what, teams in shared.items():
        for other in teams[1:]:
            pairs[teams[0], other].append(str(what))
    return {pair: sorted(names) for pair, names in pairs.items()}

"""Leaderboards, for those who take part: what a board asks for, submitting, and what became of it."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from rest_framework.request import Request

from api import board_shapes as shapes
from api.asking import soon
from api.frame import FILE, Resource, get, operation, post
from api.shapes import Why
from core.errors import NotYours, Refused
from core.models import User
from core.roles import Right, require
from leaderboards import boards, jobs, selectors, submitting, teams
from leaderboards.models import Board, Submission, Team
from leaderboards.public.archive import Archive
from leaderboards.public.published import published
from leaderboards.selectors import Quota
from runs import sending
from runs.sending import MEGABYTE


def _context(user: User) -> dict[str, Any]:
    """What the shape of a board asks for: the time, and the teams of whoever asks."""
    at = timezone.now()

    def teams(board: Board) -> list[tuple[Team, Quota]]:
        policy = board.policy_at(at)
        user_teams = selectors.teams_of(user, board)
        return [(team, selectors.quota_of(team, board, policy, at)) for team in user_teams]

    return {"at": at, "teams": teams}


class OfBoard(Resource):
    """Something of a leaderboard."""

    tags = ["Leaderboards"]
    lookup_url_kwarg = "slug"
    lookup_value_converter = "slug"

    @cached_property
    def board(self) -> Board:
        """A board of the caller's labs, for what needs the operation's right. Raises NotYours and NotAllowed."""
        return selectors.board_for(self.user, self.kwargs["slug"], self.right)

    @cached_property
    def board_seen(self) -> Board:
        """A board that the caller sees. Raises NotYours."""
        return selectors.board_seen(self.user, self.kwargs["slug"])

    @property
    def organizes(self) -> bool:
        """Whether the caller organizes it."""
        return selectors.organizes(self.user, self.board_seen)

    def own_team(self, key: str) -> Team:
        """A team that the caller is in. Raises NotYours."""
        team = selectors.teams_of(self.user, self.board_seen).filter(public_id=key).first()
        if team is None:
            raise NotYours(_("There is no such team, or you are not in it."))
        return team


class OfSubmission(Resource):
    """Something of a submission to a leaderboard."""

    tags = ["Leaderboards"]
    lookup_url_kwarg = "key"
    lookup_value_converter = "slug"

    @property
    def submission(self) -> Submission:
        """A submission of one's teams, or of one's board. Raises NotYours."""
        return selectors.submission_for(self.user, self.kwargs["key"])[0]

    @property
    def own_submission(self) -> Submission:
        """A submission of one's teams. Raises NotYours."""
        submission = self.submission
        if not selectors.is_member(self.user, submission):
            raise NotYours(_("Only the team that sent a submission can do this."))
        return submission

    @property
    def organized(self) -> Submission:
        """A submission to a board that the caller organizes. Raises NotYours and NotAllowed."""
        submission = self.submission
        require(self.user, submission.board.lab, Right.MAINTAIN)
        return submission


class BoardSubmissions(OfSubmission):
    """What was sent to a leaderboard."""

    @operation(shapes.BoardSubmissionDetail, name="submission_to_board")
    def retrieve(self, request: Request, key: str) -> Any:
        """One submission: its states with their times, what the check says, and scores as far as they are shown."""
        return self.submission

    @post("choose", shapes.BoardSubmissionDetail, Right.MAINTAIN, takes=shapes.Choice)
    def submission_choose(self, request: Request, key: str) -> Any:
        """Say whether your evaluated run counts, where the policy lets the team decide on its dev scores."""
        submission = self.own_submission
        choose = submitting.submission_enter if self.sent["counts"] else submitting.submission_leave_out
        return choose(submission=submission, **self.signed)

    @post("cancel", shapes.BoardSubmissionDetail, Right.MAINTAIN)
    def submission_cancel(self, request: Request, key: str) -> Any:
        """Cancel a submission of your team before it is evaluated: it uses no quota."""
        submission = self.own_submission
        submitting.submission_cancel(submission=submission, **self.signed)
        return submission

    @post("withdraw", shapes.BoardSubmissionDetail, Right.MAINTAIN, takes=Why)
    def submission_withdraw(self, request: Request, key: str) -> Any:
        """Withdraw a submission of your team: it leaves a line, with your `why`, and counts for the quota still."""
        submission, why = self.own_submission, self.sent.get("why", "")
        submitting.submission_withdraw(submission=submission, why=why, **self.signed)
        return submission


class Boards(OfBoard):
    """The leaderboards that you may take part in."""

    @operation(shapes.BoardShape(many=True), name="boards")
    def list(self, request: Request) -> Any:
        """The leaderboards that you may take part in: public ones, those of your labs, and those you are invited to."""
        return self.page_of(selectors.boards_seen(self.user).select_related("lab"), **_context(self.user))

    @operation(shapes.BoardOrganized, Right.MAINTAIN, name="board_create", takes=shapes.NewBoard)
    def create(self, request: Request) -> Any:
        """Create a leaderboard over one of your lab's collections. Only the lab sees it; add a season next."""
        values = self.sent
        collection = self.get_collection(values.pop("collection"))
        return boards.board_create(lab=collection.lab, collection=collection, **self.signed, **values)

    @operation(shapes.BoardShape, name="board")
    def retrieve(self, request: Request, slug: str) -> Any:
        """One leaderboard, with the key that runs are sealed for."""
        return self.answer(self.board_seen, **_context(self.user))

    @get("submissions", shapes.BoardSubmissionShape(many=True))
    def submissions_to_board(self, request: Request, slug: str) -> Any:
        """What your teams sent to a leaderboard; for its organizers, what all teams did."""
        board = self.board_seen
        rows = board.submissions.all() if self.organizes else selectors.submissions_of(self.user, board)
        return rows.select_related("board", "team", "policy")

    @post(
        submissions_to_board, shapes.BoardSubmissionDetail, Right.MAINTAIN, takes=shapes.NewBoardSubmission, status=201
    )
    def submission_create(self, request: Request, slug: str) -> Any:
        """Submit a sealed package, which a job evaluates. Whoever is in the team may, whatever their role in a lab."""
        board, sent = self.board_seen, self.sent
        team, package = self.own_team(sent["team"]), sent["package"]
        most = settings.BOARD_UPLOAD_MEGABYTES
        if (package.size or 0) > most * MEGABYTE:
            raise Refused(_("The package has more than %(most)s MB.") % {"most": most})
        about = {"board": board, "team": team, "run_id": sent["run_id"], "policy_number": sent["policy"]} | self.signed
        submitting.send_check(**about)  # before the package is read
        submission = submitting.submission_send(
            package=package.read(), name=str(package.name), received=sending.as_received(package), **about
        )
        soon(jobs.evaluate, submission.pk)
        return submission

    @post("teams/<slug:key>/leave", right=Right.MAINTAIN)
    def team_leave(self, request: Request, slug: str, key: str) -> Any:
        """Leave a team of yours. Its submissions and looks stay. Refused (409) for the last member of a team that has
        submitted something."""
        teams.team_leave(team=self.own_team(key), user=self.user, at=timezone.now())

    @get("board.zip", FILE, media="application/zip")
    def board_archive(self, request: Request, slug: str) -> Any:
        """Download a leaderboard as everybody may see it: entries with their scores and metadata, costs, the policy,
        and what changed, each as JSON or CSV, with the page drawn from them."""
        public = published(self.board_seen, timezone.now())
        return Archive(public).response(public.at, f"{slug}.zip")

"""Leaderboards, for those who take part: what a board asks for, submitting, and what became of it."""

from typing import Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import FileResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from api import board_shapes, organizing_shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import soon
from api.resources.outcomes import FILE
from api.shapes import Why
from core.errors import NotYours, Refused
from core.roles import Right
from leaderboards import boards, jobs, selectors, submitting, teams
from leaderboards.models import Board, Submission, Team
from leaderboards.public.archive import Archive
from leaderboards.public.reading import published
from leaderboards.selectors import Quota
from pools.receiving import MEGABYTE

TAGS = ["Leaderboards"]


def _context(request: Request) -> dict[str, Any]:
    """What the shape of a board asks for: the time, and the teams of whoever asks."""
    at, user = timezone.now(), user_of(request)

    def teams(board: Board) -> list[tuple[Team, Quota]]:
        policy = board.policy_at(at)
        own = selectors.teams_of(user, board)
        return [(team, selectors.quota_of(team, board, policy, at)) for team in own]

    return {"at": at, "teams": teams}


class Boards(Endpoint):
    """The leaderboards that you may take part in."""

    pagination_class = Pages

    @operation("boards", answer=board_shapes.BoardShape(many=True), tags=TAGS)
    def get(self, request: Request) -> Response:
        """The leaderboards that you may take part in: public ones, those of your labs, and those you are invited to."""
        seen = selectors.boards_seen(user_of(request)).select_related("lab")
        return self.page_of(seen, board_shapes.BoardShape, **_context(request))

    @operation(
        "board_create",
        takes=organizing_shapes.NewBoard,
        answer=organizing_shapes.BoardOrganized,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        """Create a leaderboard over one of your lab's collections. Only the lab sees it; add a season next."""
        values = dict(checked(organizing_shapes.NewBoard, request))
        collection = self.collection(values.pop("collection"))
        board = boards.board_create(
            lab=collection.lab, collection=collection, by=user_of(request), at=timezone.now(), **values
        )
        return Response(organizing_shapes.BoardOrganized(board).data, status=201)


class BoardOne(Endpoint):
    """One leaderboard."""

    @operation("board", answer=board_shapes.BoardShape, tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """One leaderboard, with the key that runs are sealed for."""
        board = selectors.board_seen(user_of(request), slug)
        return Response(board_shapes.BoardShape(board, context=_context(request)).data)


class Submissions(Endpoint):
    """What your teams sent to a leaderboard."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages

    @operation("submissions_to_board", answer=board_shapes.BoardSubmissionShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """What your teams sent to a leaderboard; for its organizers, what all teams did."""
        user = user_of(request)
        board = selectors.board_seen(user, slug)
        rows = board.submissions.all() if selectors.organizes(user, board) else selectors.submissions_of(user, board)
        return self.page_of(rows.select_related("board", "team", "policy"), board_shapes.BoardSubmissionShape)

    @operation(
        "submission_create",
        takes={"multipart/form-data": board_shapes.NewBoardSubmission},
        answer=board_shapes.BoardSubmissionDetail,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Submit a sealed package, which a job evaluates. Whoever is in the team may, whatever their role in a lab."""
        user = user_of(request)
        board, sent = selectors.board_seen(user, slug), checked(board_shapes.NewBoardSubmission, request)
        team = selectors.teams_of(user, board).filter(public_id=sent["team"]).first()
        if team is None:
            raise NotYours(_("There is no such team, or you are not in it."))
        package = cast("UploadedFile[Any]", sent["package"])
        most = settings.BOARD_UPLOAD_MEGABYTES
        if (package.size or 0) > most * MEGABYTE:
            raise Refused(_("The package has more than %(most)s MB.") % {"most": most})
        shared: dict[str, Any] = {
            "board": board, "team": team, "run_id": sent["run_id"], "policy_number": sent["policy"], "by": user,
            "at": timezone.now(),
        }  # fmt: skip
        submitting.send_check(**shared)  # before the package is read
        submission = submitting.submission_send(package=package.read(), name=str(package.name), **shared)
        transaction.on_commit(soon(jobs.evaluate, submission.pk))
        return Response(board_shapes.BoardSubmissionDetail(submission).data, status=201)


def submission_of(request: Request, key: str) -> Submission:
    """A submission of one's teams, or of one's board. Raises NotYours."""
    return selectors.submission_for(user_of(request), key)[0]


def own_submission(request: Request, key: str) -> Submission:
    """A submission of one's teams. Raises NotYours."""
    submission = submission_of(request, key)
    if not selectors.is_member(user_of(request), submission):
        raise NotYours(_("Only the team that sent a submission can do this."))
    return submission


class SubmissionOne(Endpoint):
    """One submission."""

    @operation("submission_to_board", answer=board_shapes.BoardSubmissionDetail, tags=TAGS)
    def get(self, request: Request, key: str) -> Response:
        """One submission: its states with their times, what the check says, and scores as far as they are shown."""
        return Response(board_shapes.BoardSubmissionDetail(submission_of(request, key)).data)


class Choose(Endpoint):
    """Saying whether a run counts."""

    @operation(
        "submission_choose",
        takes=board_shapes.Choice,
        answer=board_shapes.BoardSubmissionDetail,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, key: str) -> Response:
        """Say whether your evaluated run counts, where the policy lets the team decide on its dev scores."""
        submission = own_submission(request, key)
        choose = (
            submitting.submission_enter
            if checked(board_shapes.Choice, request)["counts"]
            else submitting.submission_leave_out
        )
        chosen = choose(submission=submission, by=user_of(request), at=timezone.now())
        return Response(board_shapes.BoardSubmissionDetail(chosen).data)


class Cancel(Endpoint):
    """Canceling a submission."""

    @operation("submission_cancel", answer=board_shapes.BoardSubmissionDetail, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, key: str) -> Response:
        """Cancel a submission of your team before it is evaluated: it uses no quota."""
        submission = own_submission(request, key)
        submitting.submission_cancel(submission=submission, by=user_of(request), at=timezone.now())
        return Response(board_shapes.BoardSubmissionDetail(submission).data)


class Withdraw(Endpoint):
    """Withdrawing a submission."""

    @operation("submission_withdraw", answer=board_shapes.BoardSubmissionDetail, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, key: str) -> Response:
        """Withdraw a submission of your team: it leaves a line, with your `why`, and counts for the quota still."""
        submission = own_submission(request, key)
        why = str(checked(Why, request).get("why", ""))
        submitting.submission_withdraw(submission=submission, why=why, by=user_of(request), at=timezone.now())
        return Response(board_shapes.BoardSubmissionDetail(submission).data)


class TeamLeave(Endpoint):
    """Leaving a team."""

    @operation("team_leave", status=204, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Leave a team of yours. Its submissions and looks stay. Refused (409) for the last member of a team that has
        submitted something."""
        user = user_of(request)
        team = selectors.teams_of(user, selectors.board_seen(user, slug)).filter(public_id=key).first()
        if team is None:
            raise NotYours(_("There is no such team, or you are not in it."))
        teams.team_leave(team=team, user=user, at=timezone.now())
        return Response(status=204)


class BoardArchive(Endpoint):
    """All of a board in one file."""

    @operation("board_archive", answer=FILE, media="application/zip", tags=TAGS)
    def get(self, request: Request, slug: str) -> FileResponse:
        """Download a leaderboard as everybody may see it: entries with their scores and metadata, costs, the policy,
        and what changed, each as JSON or CSV, with the page drawn from them."""
        board = selectors.board_seen(user_of(request), slug)
        shown = published(board, timezone.now())
        packed = Archive(shown)
        name = f"{board.slug}.zip"
        content = packed.open(shown.at)
        response = FileResponse(content, as_attachment=True, filename=name, content_type="application/zip")
        response["ETag"] = f'"{packed.digest[:32]}"'
        return response

"""What organizers of leaderboards set and decide, and what teams ask them: the same as on the pages."""

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from api import board_shapes
from api import organizing_shapes as shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import ask_now, soon
from api.resources.leaderboards import own_submission, submission_of
from api.shapes import AskedFor
from core.errors import NotYours, Refused
from core.roles import Right, require
from evaluation.errors import BadInput
from leaderboards import (
    boards,
    events,
    jobs,
    metadata,
    order_checks,
    publishing,
    selectors,
    spot_checks,
    submitting,
    teams,
)
from leaderboards.boards import NUMBERS
from leaderboards.importing import board_import
from leaderboards.models import Board, MetadataRequest, Season, SeasonFile, Submission, Team, TeamInvitation
from pools.receiving import MEGABYTE

TAGS = ["Leaderboards"]


def _board(endpoint: Endpoint, slug: str) -> Board:
    """A board of the caller's labs, for what needs the operation's right. Raises NotYours and NotAllowed."""
    return selectors.board_for(user_of(endpoint.request), slug, endpoint.right)


def _organized(request: Request, key: str) -> Submission:
    """A submission to a board that the caller organizes. Raises NotYours and NotAllowed."""
    submission = submission_of(request, key)
    require(user_of(request), submission.board.lab, Right.MAINTAIN)
    return submission


def _file(sent: "UploadedFile[Any]") -> bytes:
    """What a file holds. Raises Refused where it is too large."""
    most = settings.BOARD_UPLOAD_MEGABYTES
    if (sent.size or 0) > most * MEGABYTE:
        raise Refused(_("%(name)s has more than %(most)s MB.") % {"name": sent.name, "most": most})
    return bytes(sent.read())


# --- boards


class Organized(Endpoint):
    """A leaderboard, for its organizers."""

    @operation("board_organized", answer=shapes.BoardOrganized, tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """What a leaderboard of your lab measures, and who sees it."""
        return Response(shapes.BoardOrganized(_board(self, slug)).data)

    @operation(
        "board_change", takes=shapes.BoardChange, answer=shapes.BoardOrganized, right=Right.MAINTAIN, tags=TAGS
    )  # fmt: skip
    def patch(self, request: Request, slug: str) -> Response:
        """Change a leaderboard's name, what is said about it, and whether everybody can see it."""
        board = _board(self, slug)
        changed = boards.board_change(board=board, **checked(shapes.BoardChange, request))
        return Response(shapes.BoardOrganized(changed).data)


class Policies(Endpoint):
    """The versions of a policy."""

    pagination_class = Pages

    @operation("board_policies", answer=shapes.PolicyShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The versions of a policy that held or hold, newest first; for organizers, also what will hold."""
        user = user_of(request)
        board = selectors.board_seen(user, slug)
        rows = board.policies.all()
        if not selectors.organizes(user, board):
            rows = rows.filter(begins_at__lte=timezone.now())
        return self.page_of(rows, shapes.PolicyShape)

    @operation(
        "policy_create", takes=shapes.NewPolicy, answer=shapes.PolicyShape, status=201, right=Right.MAINTAIN, tags=TAGS
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add the next version of a policy. Runs that were sent before are judged by the version they accepted."""
        board, at = _board(self, slug), timezone.now()
        sent = checked(shapes.NewPolicy, request)
        newest = board.policies.latest("number")
        policy = boards.policy_add(
            board=board, text=sent.get("text", newest.text), why=sent["why"], begins_at=sent.get("begins_at", at),
            numbers={name: sent.get(name, getattr(newest, name)) for name in NUMBERS}, by=user_of(request), at=at,
        )  # fmt: skip
        return Response(shapes.PolicyShape(policy).data, status=201)


class Seasons(Endpoint):
    """A board's seasons."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages

    @operation("seasons", answer=shapes.SeasonShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The seasons of a leaderboard, with the checksums of their files; for organizers, also those to come."""
        user = user_of(request)
        board = selectors.board_seen(user, slug)
        rows = board.seasons.prefetch_related("files")
        if not selectors.organizes(user, board):
            rows = rows.filter(opens_at__lte=timezone.now())
        return self.page_of(rows, shapes.SeasonShape)

    @operation(
        "season_create",
        takes={"multipart/form-data": shapes.NewSeason},
        answer=shapes.SeasonShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a season with its queries and qrels. The eval qrels are hidden."""
        board, at = _board(self, slug), timezone.now()
        sent = checked(shapes.NewSeason, request)
        files = {part: (str(sent[part].name), _file(sent[part])) for part in SeasonFile.Part.values if part in sent}
        try:
            season = boards.season_add(
                board=board, name=sent["name"], opens_at=sent.get("opens_at", at), closes_at=sent.get("closes_at"),
                files=files, at=at,
            )  # fmt: skip
        except BadInput as error:
            raise Refused(str(error)) from error
        return Response(shapes.SeasonShape(season).data, status=201)


class _Season(Endpoint):
    """One season of a board that the caller organizes."""

    def season(self, slug: str, number: int) -> Season:
        """Raises NotYours."""
        season = _board(self, slug).seasons.filter(number=number).first()
        if season is None:
            raise NotYours(_("The leaderboard has no such season."))
        return season


class SeasonClose(_Season):
    """Closing a season."""

    @operation("season_close", answer=shapes.SeasonShape, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Close a season now: what comes after is listed apart."""
        at = timezone.now()
        return Response(
            shapes.SeasonShape(boards.season_close(season=self.season(slug, number), closes_at=at, at=at)).data
        )


class SeasonOrder(_Season):
    """How sure the order of a season is."""

    @operation("season_order", answer=shapes.OrderCheckShape(many=True), right=Right.MAINTAIN, tags=TAGS)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """The last check of the order on eval and on dev. Who takes part sees what everybody sees."""
        found = order_checks.checks_for(user_of(request), self.season(slug, number), timezone.now())
        return Response(shapes.OrderCheckShape([checks[0] for checks in found.values()], many=True).data)

    @operation("season_order_check", answer=AskedFor, status=202, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Have the order checked now. Each month, it is checked anyway."""
        season = self.season(slug, number)
        order_checks.require_enough(season, timezone.now())
        return ask_now(request, jobs.check_orders, season.pk, user_of(request).pk)


class SeasonQrels(_Season):
    """Publishing the eval qrels of a season."""

    @operation("season_publish_qrels", answer=shapes.SeasonShape, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Let everybody have the eval qrels of a season that has closed. It cannot be undone."""
        published = boards.qrels_publish(season=self.season(slug, number), at=timezone.now())
        return Response(shapes.SeasonShape(published).data)


class Keys(Endpoint):
    """The keys that runs are sealed for."""

    pagination_class = Pages

    @operation("board_keys", answer=shapes.BoardKeyShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The public keys of a leaderboard of your lab, the one in use first."""
        return self.page_of(_board(self, slug).keys.all(), shapes.BoardKeyShape)

    @operation("board_key_create", answer=shapes.BoardKeyShape, status=201, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str) -> Response:
        """Make a new key. The one before is retired, and opens what was sealed for it."""
        key = boards.key_make(board=_board(self, slug), by=user_of(request), at=timezone.now())
        return Response(shapes.BoardKeyShape(key).data, status=201)


class SpotChecks(Endpoint):
    """Spot checks."""

    pagination_class = Pages

    @operation("spot_checks", answer=shapes.SpotCheckShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The entries that were drawn at random for a closer look, and what was found: of a leaderboard of your lab."""
        rows = _board(self, slug).drawn_checks.select_related("submission", "done_by")
        return self.page_of(rows, shapes.SpotCheckShape)


class SpotCheckDo(Endpoint):
    """Making a spot check."""

    @operation(
        "spot_check_do", takes=shapes.SpotCheckNote, answer=shapes.SpotCheckShape, right=Right.MAINTAIN, tags=TAGS
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Write down what you looked at and found. Not of an entry of your own team."""
        check = _board(self, slug).drawn_checks.filter(pk=number).first()
        if check is None:
            raise NotYours(_("The leaderboard has no such spot check."))
        note = checked(shapes.SpotCheckNote, request)["note"]
        done = spot_checks.check_do(check=check, note=note, by=user_of(request), at=timezone.now())
        return Response(shapes.SpotCheckShape(done).data)


# --- teams


class Teams(Endpoint):
    """Teams."""

    pagination_class = Pages

    @operation("teams", answer=shapes.TeamShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """Your teams; for organizers, all of the lab."""
        user = user_of(request)
        board = selectors.board_seen(user, slug)
        rows = board.lab.teams.all() if selectors.organizes(user, board) else selectors.teams_of(user, board)
        return self.page_of(rows.select_related("merged_into"), shapes.TeamShape)

    @operation(
        "team_create", takes=shapes.NewTeam, answer=shapes.TeamShape, status=201, right=Right.MAINTAIN, tags=TAGS
    )
    def post(self, request: Request, slug: str) -> Response:
        """Found a team. Whoever can see the board may; the organizers confirm it before its first entry."""
        board = selectors.board_seen(user_of(request), slug)
        team = teams.team_found(
            board=board, by=user_of(request), at=timezone.now(), **checked(shapes.NewTeam, request)
        )  # fmt: skip
        return Response(shapes.TeamShape(team).data, status=201)


class _Invitations(Endpoint):
    """The open invitations to a board, or to a team of it."""

    pagination_class = Pages

    def listed(self, of: Board | Team) -> Response:
        """Those that can still be accepted, newest first."""
        found = teams.open_invitations(timezone.now()).filter(**_of(of)).select_related("team").order_by("-pk")
        return self.page_of(found, shapes.TeamInvitationShape)

    def invited(self, board: Board, team: Team | None) -> Response:
        """One more, whose link the answer has. Nothing is mailed."""
        sent = checked(shapes.NewTeamInvitation, self.request)
        invitation = teams.invitation_add(
            board=board, team=team, email=sent["email"], by=user_of(self.request), at=timezone.now()
        )
        content = shapes.TeamInvitationShape(invitation).data
        response = Response(content, status=201)
        response.kept = content | {"link": None}  # type: ignore[attr-defined]  # what api.answers stores
        return response

    def revoked(self, of: Board | Team, number: int) -> Response:
        """Raises NotYours."""
        invitation = TeamInvitation.objects.filter(pk=number, **_of(of)).first()
        if invitation is None:
            raise NotYours(_("There is no such invitation."))
        teams.invitation_revoke(invitation=invitation, at=timezone.now())
        return Response(status=204)


def _of(of: Board | Team) -> dict[str, Any]:
    return {"team": of} if isinstance(of, Team) else {"board": of, "team": None}


class BoardInvitations(_Invitations):
    """Who is invited to a leaderboard."""

    @operation("board_invitations", answer=shapes.TeamInvitationShape(many=True), right=Right.MAINTAIN, tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The open invitations to take part with a team of one's own."""
        return self.listed(_board(self, slug))

    @operation(
        "board_invite",
        takes=shapes.NewTeamInvitation,
        answer=shapes.TeamInvitationShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Invite somebody to take part. Nothing is mailed: hand over the link of the answer."""
        return self.invited(_board(self, slug), None)


class BoardInvitationOne(_Invitations):
    """One invitation to a leaderboard."""

    @operation("board_invitation_revoke", status=204, right=Right.MAINTAIN, tags=TAGS)
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Take an invitation back. Its link no longer works."""
        return self.revoked(_board(self, slug), number)


class _OwnTeam(_Invitations):
    """A team that the caller is in."""

    def own(self, slug: str, key: str) -> tuple[Board, Team]:
        """Raises NotYours."""
        user = user_of(self.request)
        board = selectors.board_seen(user, slug)
        team = selectors.teams_of(user, board).filter(public_id=key).first()
        if team is None:
            raise NotYours(_("There is no such team, or you are not in it."))
        return board, team


class TeamInvitations(_OwnTeam):
    """Who is invited to a team."""

    @operation("team_invitations", answer=shapes.TeamInvitationShape(many=True), right=Right.MAINTAIN, tags=TAGS)
    def get(self, request: Request, slug: str, key: str) -> Response:
        """The open invitations to a team of yours."""
        return self.listed(self.own(slug, key)[1])

    @operation(
        "team_invite",
        takes=shapes.NewTeamInvitation,
        answer=shapes.TeamInvitationShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Invite somebody to a team of yours. Nothing is mailed: hand over the link of the answer."""
        return self.invited(*self.own(slug, key))


class TeamInvitationOne(_OwnTeam):
    """One invitation to a team."""

    @operation("team_invitation_revoke", status=204, right=Right.MAINTAIN, tags=TAGS)
    def delete(self, request: Request, slug: str, key: str, number: int) -> Response:
        """Take an invitation back. Its link no longer works."""
        return self.revoked(self.own(slug, key)[1], number)


class _Team(Endpoint):
    """A team of the lab of a board that the caller organizes."""

    def team(self, board: Board, key: str) -> Team:
        """Raises NotYours."""
        team = Team.objects.filter(lab=board.lab_id, public_id=key).first()
        if team is None:
            raise NotYours(_("The lab has no such team."))
        return team

    def decided(self, slug: str, key: str, shape: type[Any]) -> tuple[Board, Team, dict[str, Any]]:
        """The board, the team, and what its services take."""
        board = _board(self, slug)
        sent = dict(checked(shape, self.request))
        return board, self.team(board, key), sent | {"by": user_of(self.request), "at": timezone.now()}


class TeamConfirm(_Team):
    """Confirming a team."""

    @operation("team_confirm", takes=shapes.BoardReason, answer=shapes.TeamShape, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Say that a team is who it says, with a reason."""
        board, team, values = self.decided(slug, key, shapes.BoardReason)
        return Response(shapes.TeamShape(teams.team_confirm(team=team, board=board, **values)).data)


class TeamMerge(_Team):
    """Merging teams."""

    @operation("team_merge", takes=shapes.Merging, answer=shapes.TeamShape, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Merge a team into another one, whose quota and looks are then those of both, with a reason."""
        board, team, values = self.decided(slug, key, shapes.Merging)
        into = self.team(board, values.pop("into"))
        return Response(shapes.TeamShape(teams.teams_merge(team=team, into=into, board=board, **values)).data)


class TeamExempt(_Team):
    """Allowing a team more runs."""

    @operation(
        "team_exempt",
        takes=shapes.Exemption,
        answer=shapes.BoardDecisionShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Allow a team more runs than the policy has, with a reason."""
        board, team, values = self.decided(slug, key, shapes.Exemption)
        return Response(shapes.BoardDecisionShape(teams.team_exempt(team=team, board=board, **values)).data, status=201)


# --- submissions


class Decisions(Endpoint):
    """What organizers rule on a submission."""

    pagination_class = Pages

    @operation("board_decisions", answer=shapes.BoardDecisionShape(many=True), tags=TAGS)
    def get(self, request: Request, key: str) -> Response:
        """What was ruled on a submission, by whom and why; its team sees it, too."""
        return self.page_of(
            submission_of(request, key).decisions.select_related("by", "team"), shapes.BoardDecisionShape
        )

    @operation(
        "board_decision_create",
        takes=shapes.NewBoardDecision,
        answer=board_shapes.BoardSubmissionDetail,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, key: str) -> Response:
        """Publish or reject a submission, remark on it, mark it as a baseline or as a variant of another, have it
        evaluated again, or extend its embargo.
        """
        found, sent = _organized(request, key), checked(shapes.NewBoardDecision, request)
        about: dict[str, Any] = {
            "submission": found, "reason": sent["reason"], "by": user_of(request), "at": timezone.now()
        }  # fmt: skip
        acts: dict[str, Callable[[], object]] = {
            "publish": lambda: publishing.submission_publish(**about),
            "reject": lambda: publishing.submission_reject(**about),
            "flag": lambda: publishing.submission_flag(flag=sent["flag"], **about),
            "baseline": lambda: publishing.submission_mark(is_baseline=True, **about),
            "unbaseline": lambda: publishing.submission_mark(is_baseline=False, **about),
            "reevaluate": lambda: publishing.submission_reevaluate(**about),
            "variant": lambda: publishing.submission_mark_variant(variant_of=sent["variant_of"], **about),
            "extend": lambda: publishing.embargo_extend(until=sent["until"], **about),
        }
        acts[sent["kind"]]()
        if sent["kind"] == "reevaluate":
            transaction.on_commit(soon(jobs.evaluate, found.pk))
        fresh = submission_of(request, key)
        return Response(board_shapes.BoardSubmissionDetail(fresh).data, status=201)


class Messages(Endpoint):
    """What a team and the organizers write to each other."""

    pagination_class = Pages

    @operation("board_messages", answer=shapes.BoardMessageShape(many=True), tags=TAGS)
    def get(self, request: Request, key: str) -> Response:
        """The messages about a submission, newest first."""
        return self.page_of(submission_of(request, key).messages.select_related("by"), shapes.BoardMessageShape)

    @operation(
        "board_message_create",
        takes=shapes.NewBoardMessage,
        answer=shapes.BoardMessageShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, key: str) -> Response:
        """Write to the organizers, or, as one of them, to the team."""
        found, user = submission_of(request, key), user_of(request)
        row = events.message_add(
            submission=found, text=checked(shapes.NewBoardMessage, request)["text"], by=user,
            is_organizers=not selectors.is_member(user, found), at=timezone.now(),
        )  # fmt: skip
        return Response(shapes.BoardMessageShape(row).data, status=201)


class Openings(Endpoint):
    """Who opened what of a submission."""

    pagination_class = Pages

    @operation("board_openings", answer=shapes.OpeningShape(many=True), tags=TAGS)
    def get(self, request: Request, key: str) -> Response:
        """Who or what opened something of a submission, when and why; its team sees it, too."""
        return self.page_of(submission_of(request, key).openings.select_related("by"), shapes.OpeningShape)


class MetadataRequests(Endpoint):
    """Requests for other metadata."""

    pagination_class = Pages

    @operation("metadata_requests", answer=shapes.MetadataRequestShape(many=True), tags=TAGS)
    def get(self, request: Request, key: str) -> Response:
        """The requests for other metadata of a submission, with what came of them."""
        return self.page_of(submission_of(request, key).metadata_requests.all(), shapes.MetadataRequestShape)

    @operation(
        "metadata_request_create",
        takes=shapes.NewMetadataRequest,
        answer=shapes.MetadataRequestShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, key: str) -> Response:
        """Ask the organizers for other metadata of a submission of your team."""
        submission = own_submission(request, key)
        sent = checked(shapes.NewMetadataRequest, request)
        row = metadata.request_add(submission=submission, by=user_of(request), at=timezone.now(), **sent)
        return Response(shapes.MetadataRequestShape(row).data, status=201)


def _request_of(submission: Submission, pk: int) -> MetadataRequest:
    row = submission.metadata_requests.filter(pk=pk).first()
    if row is None:
        raise NotYours(_("There is no such request."))
    return row


class MetadataDecide(Endpoint):
    """Deciding on a request for other metadata."""

    @operation(
        "metadata_request_decide",
        takes=shapes.MetadataRuling,
        answer=shapes.MetadataRequestShape,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, key: str, request_pk: int) -> Response:
        """Accept a request, which changes the submission, or refuse it; with a reason either way."""
        row = _request_of(_organized(request, key), request_pk)
        sent = checked(shapes.MetadataRuling, request)
        decided = metadata.request_decide(request=row, by=user_of(request), at=timezone.now(), **sent)
        return Response(shapes.MetadataRequestShape(decided).data)


class MetadataTakeBack(Endpoint):
    """Taking a request back."""

    @operation("metadata_request_take_back", answer=shapes.MetadataRequestShape, right=Right.MAINTAIN, tags=TAGS)
    def post(self, request: Request, key: str, request_pk: int) -> Response:
        """Take back a request of your team that is open."""
        submission = own_submission(request, key)
        row = _request_of(submission, request_pk)
        if row.state == MetadataRequest.State.OPEN:
            metadata.request_take_back(submission=submission, at=timezone.now())
        row.refresh_from_db()
        return Response(shapes.MetadataRequestShape(row).data)


class DevScorings(Endpoint):
    """Having runs on the dev queries scored."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages

    @operation("dev_scorings", answer=shapes.DevScoringShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The runs on the dev queries that you had scored, newest first."""
        user = user_of(request)
        rows = user.dev_scorings.filter(season__board=selectors.board_seen(user, slug)).select_related("season")
        return self.page_of(rows, shapes.DevScoringShape)

    @operation(
        "dev_scoring_create",
        takes={"multipart/form-data": shapes.NewDevScoring},
        answer=shapes.DevScoringShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have a run on the dev queries scored, as often as you like: it is no entry, and uses no quota."""
        user, at = user_of(request), timezone.now()
        board, sent = selectors.board_seen(user, slug), checked(shapes.NewDevScoring, request)
        seasons = selectors.open_seasons(board, at)
        season = seasons.filter(number=sent["season"]).first() if "season" in sent else seasons.first()
        if season is None:
            raise ValidationError({"season": [_("No such season is open.")]})
        file = cast("UploadedFile[Any]", sent["file"])
        row = submitting.dev_scoring_ask(season=season, name=str(file.name), content=_file(file), by=user, at=at)
        transaction.on_commit(soon(jobs.score_dev, row.pk))
        return Response(shapes.DevScoringShape(row).data, status=201)


class BoardImport(Endpoint):
    """Entries of another site's leaderboard."""

    parser_classes = [MultiPartParser]

    @operation(
        "board_import",
        takes={"multipart/form-data": shapes.NewBoardImport},
        answer=shapes.BoardImportShape,
        status=201,
        right=Right.MAINTAIN,
        tags=TAGS,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add the entries of an MS MARCO leaderboard's CSV file to a board, without runs, and with their scores as
        published. Trophies are computed anew. If a line is wrong, nothing is imported."""
        board, sent = _board(self, slug), checked(shapes.NewBoardImport, request)
        season = None
        if "season" in sent:
            season = board.seasons.filter(number=sent["season"]).first()
            if season is None:
                raise ValidationError({"season": [_("The board has no season with this number.")]})
        file, by, at = sent["file"], user_of(request), timezone.now()
        try:
            done = board_import(board=board, source=file, filename=str(file.name), by=by, at=at, season=season)
        except BadInput as error:
            raise ValidationError({"file": [str(error)]}) from error
        content = {
            "entries": len(done.file.entries),
            "summary": done.summary.as_dict(),
            "notes": [note._asdict() for note in done.file.notes],
        }
        return Response(shapes.BoardImportShape(content).data, status=201)

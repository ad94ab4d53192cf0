"""What organizers of leaderboards set and decide, upkeep among it, and what teams ask them."""

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from api import board_shapes as shapes
from api.asking import ask_now, soon
from api.frame import delete, get, operation, patch, post, put, refusals_of
from api.resources.leaderboards import OfBoard, OfSubmission
from api.shapes import AskedFor
from core.errors import NotYours, Refused
from core.roles import Right
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
from leaderboards.models import Board, MetadataRequest, Season, SeasonFile, Team, TeamInvitation, Upkeep, UpkeepRound
from leaderboards.public import versions
from leaderboards.upkeep import rounds
from leaderboards.upkeep.forms import FIELDS
from pools.models import Campaign, CampaignTemplate
from runs.sending import MEGABYTE


def _file(sent: "UploadedFile[Any]") -> bytes:
    """What a file holds. Raises Refused where it is too large."""
    most = settings.BOARD_UPLOAD_MEGABYTES
    if (sent.size or 0) > most * MEGABYTE:
        raise Refused(_("%(name)s has more than %(most)s MB.") % {"name": sent.name, "most": most})
    return bytes(sent.read())


class Seasons(OfBoard):
    """The seasons of a leaderboard."""

    lookup_field = lookup_url_kwarg = "number"
    lookup_value_converter = "int"

    def get_queryset(self) -> QuerySet[Season]:
        return self.board.seasons.all()

    @operation(shapes.SeasonShape(many=True), name="seasons")
    def list(self, request: Request, slug: str) -> Any:
        """The seasons of a leaderboard, with the checksums of their files; for organizers, also those to come."""
        rows = self.board_seen.seasons.prefetch_related("files")
        return rows if self.organizes else rows.filter(opens_at__lte=timezone.now())

    @operation(shapes.SeasonShape, Right.MAINTAIN, name="season_create", takes=shapes.NewSeason)
    def create(self, request: Request, slug: str) -> Any:
        """Add a season with its queries and qrels. The eval qrels are hidden."""
        board, at, sent = self.board, timezone.now(), self.sent
        files = {part: (str(sent[part].name), _file(sent[part])) for part in SeasonFile.Part.values if part in sent}
        opens_at, closes_at = sent.get("opens_at", at), sent.get("closes_at")
        try:
            return boards.season_add(
                board=board, name=sent["name"], opens_at=opens_at, closes_at=closes_at, files=files, at=at
            )
        except BadInput as error:
            raise Refused(str(error)) from error

    @post("close", shapes.SeasonShape, Right.MAINTAIN)
    def season_close(self, request: Request, slug: str, number: int) -> Any:
        """Close a season now: what comes after is listed apart."""
        at = timezone.now()
        return boards.season_close(season=self.get_object(), closes_at=at, at=at)

    @get("order", shapes.OrderCheckShape(many=True), Right.MAINTAIN, pagination_class=None)
    def season_order(self, request: Request, slug: str, number: int) -> Any:
        """The last check of the order on eval and on dev. Who takes part sees what everybody sees."""
        by_part = order_checks.checks_for(self.user, self.get_object(), timezone.now())
        return [checks[0] for checks in by_part.values()]

    @post(season_order, AskedFor, Right.MAINTAIN, status=202)
    def season_order_check(self, request: Request, slug: str, number: int) -> Any:
        """Have the order checked now. Each month, it is checked anyway."""
        season = self.get_object()
        order_checks.require_enough(season, timezone.now())
        return ask_now(request, jobs.check_orders, season.pk, self.user.pk)

    @post("publish-qrels", shapes.SeasonShape, Right.MAINTAIN)
    def season_publish_qrels(self, request: Request, slug: str, number: int) -> Any:
        """Let everybody have the eval qrels of a season that has closed. It cannot be undone."""
        return boards.qrels_publish(season=self.get_object(), at=timezone.now())


class _Invitations(OfBoard):
    """The open invitations to a board, or to a team of it."""

    def open_to(self, team: Team | None) -> QuerySet[TeamInvitation]:
        """Those that can still be accepted, newest first."""
        invitations = teams.open_invitations(timezone.now()).filter(**self._of(team))
        return invitations.select_related("team").order_by("-pk")

    def invite(self, board: Board, team: Team | None) -> Response:
        """One more, whose link the answer has. Nothing is mailed."""
        return self.answer_once(
            teams.invitation_add(board=board, team=team, **self.signed, **self.sent), {"link": None}
        )

    def revoke(self, team: Team | None, number: int) -> None:
        """Raises Http404."""
        invitation = get_object_or_404(TeamInvitation, pk=number, **self._of(team))
        teams.invitation_revoke(invitation=invitation, at=timezone.now())

    def _of(self, team: Team | None) -> dict[str, Any]:
        return {"team": team} if team else {"board": self.board, "team": None}


class BoardInvitations(_Invitations):
    """Who is invited to a leaderboard."""

    lookup_url_kwarg = "number"
    lookup_value_converter = "int"

    @operation(shapes.TeamInvitationShape(many=True), Right.MAINTAIN, name="board_invitations")
    def list(self, request: Request, slug: str) -> Any:
        """The open invitations to take part with a team of one's own."""
        return self.open_to(None)

    @operation(shapes.TeamInvitationShape, Right.MAINTAIN, name="board_invite", takes=shapes.NewTeamInvitation)
    def create(self, request: Request, slug: str) -> Any:
        """Invite somebody to take part. Nothing is mailed: hand over the link of the answer."""
        return self.invite(self.board, None)

    @operation(right=Right.MAINTAIN, name="board_invitation_revoke")
    def destroy(self, request: Request, slug: str, number: int) -> Any:
        """Take an invitation back. Its link no longer works."""
        self.revoke(None, number)


class Teams(_Invitations):
    """The teams of a leaderboard."""

    lookup_url_kwarg = "key"

    def decide(self, service: Callable[..., Any]) -> Any:
        """Decide on a team of the lab of a board that the caller organizes. Raises Http404."""
        board, sent = self.board, self.sent
        team = get_object_or_404(Team, lab=board.lab_id, public_id=self.kwargs["key"])
        return service(team=team, board=board, **self.signed, **sent)

    @operation(shapes.TeamShape(many=True), name="teams")
    def list(self, request: Request, slug: str) -> Any:
        """Your teams; for organizers, all of the lab."""
        board = self.board_seen
        rows = board.lab.teams.all() if self.organizes else selectors.teams_of(self.user, board)
        return rows.select_related("merged_into")

    @operation(shapes.TeamShape, Right.MAINTAIN, name="team_create", takes=shapes.NewTeam)
    def create(self, request: Request, slug: str) -> Any:
        """Found a team. Whoever can see the board may; the organizers confirm it before its first entry."""
        return teams.team_found(board=self.board_seen, **self.signed, **self.sent)

    @post("confirm", shapes.TeamShape, Right.MAINTAIN, takes=shapes.BoardReason)
    def team_confirm(self, request: Request, slug: str, key: str) -> Any:
        """Say that a team is who it says, with a reason."""
        return self.decide(teams.team_confirm)

    @post("exempt", shapes.BoardDecisionShape, Right.MAINTAIN, takes=shapes.Exemption, status=201)
    def team_exempt(self, request: Request, slug: str, key: str) -> Any:
        """Allow a team more runs than the policy has, with a reason."""
        return self.decide(teams.team_exempt)

    @get("invitations", shapes.TeamInvitationShape(many=True), Right.MAINTAIN)
    def team_invitations(self, request: Request, slug: str, key: str) -> Any:
        """The open invitations to a team of yours."""
        return self.open_to(self.own_team(key))

    @post(team_invitations, shapes.TeamInvitationShape, Right.MAINTAIN, takes=shapes.NewTeamInvitation, status=201)
    def team_invite(self, request: Request, slug: str, key: str) -> Any:
        """Invite somebody to a team of yours. Nothing is mailed: hand over the link of the answer."""
        return self.invite(self.board_seen, self.own_team(key))

    @delete("invitations/<int:number>", right=Right.MAINTAIN)
    def team_invitation_revoke(self, request: Request, slug: str, key: str, number: int) -> Any:
        """Take an invitation back. Its link no longer works."""
        self.revoke(self.own_team(key), number)


class Rulings(OfSubmission):
    """What organizers and teams say about a submission."""

    @get("decisions", shapes.BoardDecisionShape(many=True))
    def board_decisions(self, request: Request, key: str) -> Any:
        """What was ruled on a submission, by whom and why; its team sees it, too."""
        return self.submission.decisions.select_related("by", "team")

    @post(board_decisions, shapes.BoardSubmissionDetail, Right.MAINTAIN, takes=shapes.NewBoardDecision, status=201)
    def board_decision_create(self, request: Request, key: str) -> Any:
        """Publish or reject a submission, remark on it, mark it as a baseline or as a variant of another, have it
        evaluated again, or extend its embargo.
        """
        submission, sent = self.organized, self.sent
        about = {"submission": submission, "reason": sent["reason"], **self.signed}
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
            soon(jobs.evaluate, submission.pk)
        return self.submission

    @get("messages", shapes.BoardMessageShape(many=True))
    def board_messages(self, request: Request, key: str) -> Any:
        """The messages about a submission, newest first."""
        return self.submission.messages.select_related("by")

    @post(board_messages, shapes.BoardMessageShape, Right.MAINTAIN, takes=shapes.NewBoardMessage, status=201)
    def board_message_create(self, request: Request, key: str) -> Any:
        """Write to the organizers, or, as one of them, to the team."""
        submission = self.submission
        is_organizers = not selectors.is_member(self.user, submission)
        return events.message_add(submission=submission, is_organizers=is_organizers, **self.signed, **self.sent)

    @get("openings", shapes.OpeningShape(many=True))
    def board_openings(self, request: Request, key: str) -> Any:
        """Who or what opened something of a submission, when and why; its team sees it, too."""
        return self.submission.openings.select_related("by")


class MetadataRequests(OfSubmission):
    """Requests for other metadata of a submission."""

    lookup_url_kwarg = "request_pk"
    lookup_value_converter = "int"

    @operation(shapes.MetadataRequestShape(many=True), name="metadata_requests")
    def list(self, request: Request, key: str) -> Any:
        """The requests for other metadata of a submission, with what came of them."""
        return self.submission.metadata_requests.all()

    @operation(
        shapes.MetadataRequestShape, Right.MAINTAIN, name="metadata_request_create", takes=shapes.NewMetadataRequest
    )
    def create(self, request: Request, key: str) -> Any:
        """Ask the organizers for other metadata of a submission of your team."""
        return metadata.request_add(submission=self.own_submission, **self.signed, **self.sent)

    @post("decide", shapes.MetadataRequestShape, Right.MAINTAIN, takes=shapes.MetadataRuling)
    def metadata_request_decide(self, request: Request, key: str, request_pk: int) -> Any:
        """Accept a request, which changes the submission, or refuse it; with a reason either way."""
        row = get_object_or_404(self.organized.metadata_requests, pk=request_pk)
        return metadata.request_decide(request=row, **self.signed, **self.sent)

    @post("take-back", shapes.MetadataRequestShape, Right.MAINTAIN)
    def metadata_request_take_back(self, request: Request, key: str, request_pk: int) -> Any:
        """Take back a request of your team that is open."""
        submission = self.own_submission
        row = get_object_or_404(submission.metadata_requests, pk=request_pk)
        if row.state == MetadataRequest.State.OPEN:
            metadata.request_take_back(submission=submission, at=timezone.now())
        row.refresh_from_db()
        return row


class Organizing(OfBoard):
    """What organizers set of a leaderboard."""

    @get("settings", shapes.BoardOrganized)
    def board_organized(self, request: Request, slug: str) -> Any:
        """What a leaderboard of your lab measures, and who sees it."""
        return self.board

    @patch(board_organized, shapes.BoardOrganized, Right.MAINTAIN, takes=shapes.BoardChange)
    def board_change(self, request: Request, slug: str) -> Any:
        """Change a leaderboard's name, what is said about it, and whether everybody can see it."""
        return boards.board_change(board=self.board, **self.sent)

    @get("policies", shapes.PolicyShape(many=True))
    def board_policies(self, request: Request, slug: str) -> Any:
        """The versions of a policy that held or hold, newest first; for organizers, also what will hold."""
        rows = self.board_seen.policies.all()
        return rows if self.organizes else rows.filter(begins_at__lte=timezone.now())

    @post(board_policies, shapes.PolicyShape, Right.MAINTAIN, takes=shapes.NewPolicy, status=201)
    def policy_create(self, request: Request, slug: str) -> Any:
        """Add the next version of a policy. Runs that were sent before are judged by the version they accepted."""
        board, at, sent = self.board, timezone.now(), self.sent
        newest = board.policies.latest("number")
        return boards.policy_add(
            board=board, text=sent.get("text", newest.text), why=sent["why"], begins_at=sent.get("begins_at", at),
            numbers={name: sent.get(name, getattr(newest, name)) for name in NUMBERS}, by=self.user, at=at
        )  # fmt: skip

    @get("spot-checks", shapes.SpotCheckShape(many=True))
    def spot_checks(self, request: Request, slug: str) -> Any:
        """The entries that were drawn at random for a closer look, and what was found: of a leaderboard of your lab."""
        return self.board.drawn_checks.select_related("submission", "done_by")

    @post("spot-checks/<int:number>", shapes.SpotCheckShape, Right.MAINTAIN, takes=shapes.SpotCheckNote)
    def spot_check_do(self, request: Request, slug: str, number: int) -> Any:
        """Write down what you looked at and found. Not of an entry of your own team."""
        check = get_object_or_404(self.board.drawn_checks, pk=number)
        return spot_checks.check_do(check=check, **self.signed, **self.sent)

    @get("keys", shapes.BoardKeyShape(many=True))
    def board_keys(self, request: Request, slug: str) -> Any:
        """The public keys of a leaderboard of your lab, the one in use first."""
        return self.board.keys.all()

    @post(board_keys, shapes.BoardKeyShape, Right.MAINTAIN, status=201)
    def board_key_create(self, request: Request, slug: str) -> Any:
        """Make a new key. The one before is retired, and opens what was sealed for it."""
        return boards.key_make(board=self.board, **self.signed)

    @get("dev-scorings", shapes.DevScoringShape(many=True))
    def dev_scorings(self, request: Request, slug: str) -> Any:
        """The runs on the dev queries that you had scored, newest first."""
        return self.user.dev_scorings.filter(season__board=self.board_seen).select_related("season")

    @post(dev_scorings, shapes.DevScoringShape, Right.MAINTAIN, takes=shapes.NewDevScoring, status=201)
    def dev_scoring_create(self, request: Request, slug: str) -> Any:
        """Have a run on the dev queries scored, as often as you like: it is no entry, and uses no quota."""
        seasons, sent = selectors.open_seasons(self.board_seen, timezone.now()), self.sent
        season = seasons.filter(number=sent["season"]).first() if "season" in sent else seasons.first()
        if season is None:
            raise ValidationError({"season": [_("No such season is open.")]})
        file = sent["file"]
        row = submitting.dev_scoring_ask(season=season, name=str(file.name), content=_file(file), **self.signed)
        soon(jobs.score_dev, row.pk)
        return row

    @post("import", shapes.BoardImportShape, Right.MAINTAIN, takes=shapes.NewBoardImport, status=201)
    def board_import(self, request: Request, slug: str) -> Any:
        """Add the entries of an MS MARCO leaderboard's CSV file to a board, without runs, and with their scores as
        published. Trophies are computed anew. If a line is wrong, nothing is imported."""
        board, sent = self.board, self.sent
        season = None
        if "season" in sent:
            season = board.seasons.filter(number=sent["season"]).first()
            if season is None:
                raise ValidationError({"season": [_("The board has no season with this number.")]})
        file = sent["file"]
        with refusals_of("file", BadInput):
            done = board_import(board=board, source=file, filename=str(file.name), season=season, **self.signed)
        return {
            "entries": len(done.file.entries),
            "summary": done.summary.as_dict(),
            "notes": [note._asdict() for note in done.file.notes],
        }

    @get("upkeep", shapes.UpkeepShape)
    def upkeep(self, request: Request, slug: str) -> Any:
        """How a leaderboard's best known answers are kept current."""
        return rounds.upkeep_of(self.board) or Upkeep(board=self.board)

    @put(upkeep, shapes.UpkeepShape, Right.SPEND, takes=shapes.UpkeepShape)
    def upkeep_set(self, request: Request, slug: str) -> Any:
        """Say how they are kept current. Rounds that have begun go on as they are."""
        return rounds.upkeep_set(board=self.board, **self.signed, **_chosen(self.board, self.sent))

    @get("versions", shapes.BoardVersionShape(many=True), pagination_class=None)
    def board_versions(self, request: Request, slug: str) -> Any:
        """The versions of a leaderboard's preference qrels, newest first, counting dev queries alone."""
        return versions.summaries(self.board_seen)


def _chosen(board: Board, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were sent, the others as a new upkeep has them. Raises NotYours for things of other labs."""
    of_lab: dict[str, Any] = {"template": CampaignTemplate.objects, "tests_from": Campaign.objects}
    blank, values = Upkeep(board=board), dict[str, Any]()
    for name in FIELDS:
        if name not in of_lab:
            values[name] = sent.get(name, getattr(blank, name))
            continue
        key = sent.get(f"{name}_id")
        values[name] = None if key is None else of_lab[name].filter(lab=board.lab_id, pk=key).first()
        if key is not None and values[name] is None:
            raise NotYours(_("The lab has no such thing for “%(name)s”.") % {"name": name})
    return values


class UpkeepRounds(OfBoard):
    """The rounds of a leaderboard's upkeep."""

    lookup_field = lookup_url_kwarg = "number"
    lookup_value_converter = "int"

    def get_queryset(self) -> QuerySet[UpkeepRound]:
        return self.board.upkeep_rounds.select_related("decided_by", "version")

    def decide(self, service: Callable[..., UpkeepRound]) -> UpkeepRound:
        """Decide on a round, with a reason. Raises Http404."""
        return service(round=self.get_object(), **self.signed, **self.sent)

    @operation(shapes.UpkeepRoundShape(many=True), name="upkeep_rounds")
    def list(self, request: Request, slug: str) -> Any:
        """The rounds of a leaderboard's upkeep, newest first, with what they may cost and cost."""
        return self.get_queryset()

    @post("approve", shapes.UpkeepRoundShape, Right.SPEND, takes=shapes.BoardReason)
    def upkeep_round_approve(self, request: Request, slug: str, number: int) -> Any:
        """Let a proposed round begin, which spends what its campaign costs. Approving it again changes nothing."""
        return self.decide(rounds.round_approve)

    @post("go-on", shapes.UpkeepRoundShape, Right.SPEND, takes=shapes.BoardReason)
    def upkeep_round_go_on(self, request: Request, slug: str, number: int) -> Any:
        """Publish the campaign of a round although no active worker qualifies, which is what it waits for."""
        return self.decide(rounds.round_go_on)

    @post("end", shapes.UpkeepRoundShape, Right.SPEND, takes=shapes.BoardReason)
    def upkeep_round_end(self, request: Request, slug: str, number: int) -> Any:
        """End a round without a version: its challengers wait for the next one."""
        return self.decide(rounds.round_decline)

"""The upkeep of a leaderboard: its settings, rounds, and the versions of the preference qrels that came of them."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from api import organizing_shapes as shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from core.errors import NotYours
from core.roles import Right
from leaderboards import selectors
from leaderboards.models import Board, Upkeep, UpkeepRound
from leaderboards.public import versions
from leaderboards.upkeep import rounds
from leaderboards.upkeep.forms import FIELDS
from pools.models import Campaign, CampaignTemplate

TAGS = ["Leaderboards"]


def _board(endpoint: Endpoint, slug: str) -> Board:
    """A board of the caller's labs, for what needs the operation's right. Raises NotYours and NotAllowed."""
    return selectors.board_for(user_of(endpoint.request), slug, endpoint.right)


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


class UpkeepOne(Endpoint):
    """How the answers are kept current."""

    @operation("upkeep", answer=shapes.UpkeepShape, tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """How a leaderboard's best known answers are kept current."""
        board = _board(self, slug)
        return Response(shapes.UpkeepShape(rounds.upkeep_of(board) or Upkeep(board=board)).data)

    @operation("upkeep_set", takes=shapes.UpkeepShape, answer=shapes.UpkeepShape, right=Right.SPEND, tags=TAGS)
    def put(self, request: Request, slug: str) -> Response:
        """Say how they are kept current. Rounds that have begun go on as they are."""
        board = _board(self, slug)
        chosen = _chosen(board, checked(shapes.UpkeepShape, request))
        stored = rounds.upkeep_set(board=board, by=user_of(request), at=timezone.now(), **chosen)
        return Response(shapes.UpkeepShape(stored).data)


class Rounds(Endpoint):
    """Rounds of upkeep."""

    pagination_class = Pages

    @operation("upkeep_rounds", answer=shapes.UpkeepRoundShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The rounds of a leaderboard's upkeep, newest first, with what they may cost and cost."""
        rows = _board(self, slug).upkeep_rounds.select_related("decided_by", "version")
        return self.page_of(rows, shapes.UpkeepRoundShape)


class _Round(Endpoint):
    """One round of a board of the caller's labs."""

    def round(self, slug: str, number: int) -> UpkeepRound:
        """Raises NotYours."""
        round = _board(self, slug).upkeep_rounds.filter(number=number).first()
        if round is None:
            raise NotYours(_("The leaderboard has no such round of upkeep."))
        return round


class Approve(_Round):
    """Approving a round."""

    @operation(
        "upkeep_round_approve", takes=shapes.BoardReason, answer=shapes.UpkeepRoundShape, right=Right.SPEND, tags=TAGS
    )  # fmt: skip
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Let a proposed round begin, which spends what its campaign costs. Approving it again changes nothing."""
        round, reason = self.round(slug, number), checked(shapes.BoardReason, request)["reason"]
        approved = rounds.round_approve(round=round, by=user_of(request), reason=reason, at=timezone.now())
        return Response(shapes.UpkeepRoundShape(approved).data)


class GoOn(_Round):
    """Publishing although nobody qualifies."""

    @operation(
        "upkeep_round_go_on", takes=shapes.BoardReason, answer=shapes.UpkeepRoundShape, right=Right.SPEND, tags=TAGS
    )  # fmt: skip
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Publish the campaign of a round although no active worker qualifies, which is what it waits for."""
        round, reason = self.round(slug, number), checked(shapes.BoardReason, request)["reason"]
        going_on = rounds.round_go_on(round=round, by=user_of(request), reason=reason, at=timezone.now())
        return Response(shapes.UpkeepRoundShape(going_on).data)


class End(_Round):
    """Ending a round."""

    @operation(
        "upkeep_round_end", takes=shapes.BoardReason, answer=shapes.UpkeepRoundShape, right=Right.SPEND, tags=TAGS
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """End a round without a version: its challengers wait for the next one."""
        round, reason = self.round(slug, number), checked(shapes.BoardReason, request)["reason"]
        ended = rounds.round_decline(round=round, by=user_of(request), reason=reason, at=timezone.now())
        return Response(shapes.UpkeepRoundShape(ended).data)


class Versions(Endpoint):
    """The versions of the preference qrels."""

    @operation("board_versions", answer=shapes.BoardVersionShape(many=True), tags=TAGS)
    def get(self, request: Request, slug: str) -> Response:
        """The versions of a leaderboard's preference qrels, newest first, counting dev queries alone."""
        board = selectors.board_seen(user_of(request), slug)
        return Response(shapes.BoardVersionShape(versions.summaries(board), many=True).data)

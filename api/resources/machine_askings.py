"""Machines that are asked about a campaign's pairs at the site's endpoint."""

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from api import material_shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from core.errors import NotYours
from core.roles import Right
from judgments import machine_asking

TAGS = ["Machine judges"]


class Askings(Endpoint):
    """The machines that are, or were, asked about a campaign's pairs."""

    pagination_class = Pages

    @operation("machine_askings", answer=material_shapes.AskingShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The machines that are asked about a campaign's pairs, or were, the newest first: how far each is."""
        askings = self.campaign(pk).machine_askings.select_related("asked_by").order_by("-id")
        return self.page_of(askings, material_shapes.AskingShape)

    @operation(
        "machine_ask",
        takes=material_shapes.NewAskedMachine,
        answer=material_shapes.AskingShape,
        status=202,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Have a machine asked about all pairs of a campaign in both orders, at the endpoint that whoever runs the site
        has set up. A job asks, and never the same twice; the answers then are a machine judge of the collection, which
        is compared with people and never counted among them."""
        asking = machine_asking.machine_asking_start(
            campaign=self.campaign(pk),
            **checked(material_shapes.NewAskedMachine, request),
            by=user_of(request),
            at=timezone.now(),
        )
        return Response(material_shapes.AskingShape(asking).data, status=202)


class AskingStop(Endpoint):
    """Stopping one."""

    @operation("machine_ask_stop", answer=material_shapes.AskingShape, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int, asking_pk: int) -> Response:
        """Ask a machine nothing more. What it has answered stays known, and is not asked again."""
        asking = self.campaign(pk).machine_askings.filter(pk=asking_pk).first()
        if asking is None:
            raise NotYours(_("No such machine is asked about this campaign."))
        machine_asking.machine_asking_stop(asking=asking, at=timezone.now())
        asking.refresh_from_db()
        return Response(material_shapes.AskingShape(asking).data)

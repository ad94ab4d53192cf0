"""Labs: those of yours, their names, and new ones."""

from typing import Any

from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import people_shapes, shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from core.errors import Refused
from core.labs import lab_create, lab_rename
from core.models import Lab
from core.roles import Right, labs_of, require, roles_of

TAGS = ["Account"]


def _shown(request: Request, lab: Lab) -> dict[str, Any]:
    return dict(shapes.LabShape(lab, context={"roles": roles_of(user_of(request))}).data)


class Labs(Endpoint):
    """Your labs."""

    pagination_class = Pages

    @operation("labs", answer=shapes.LabShape(many=True), tags=TAGS)
    def get(self, request: Request) -> Response:
        """Your labs, and your role in each."""
        user = user_of(request)
        return self.page_of(labs_of(user), shapes.LabShape, roles=roles_of(user))

    @operation(
        "lab_create", takes=people_shapes.NewLab, answer=people_shapes.MadeLab, status=201, right=Right.SITE, tags=TAGS
    )
    def post(self, request: Request) -> Response:
        """Make a lab. You are its first admin, unless you have somebody invited to be that: nothing is mailed, so hand
        over the link of the answer."""
        user = user_of(request)
        require(user, None, Right.SITE)
        sent = checked(people_shapes.NewLab, request)
        invited = sent["email"] if sent["invite_admin"] else None
        try:
            made = lab_create(name=sent["name"], by=user, invited=invited, at=timezone.now())
        except Refused as error:
            raise ValidationError({"name": [str(error)]}) from error
        content = {"id": made.lab.pk, "name": made.lab.name, "invitation": None}
        if made.invitation is not None:
            content["invitation"] = dict(people_shapes.InvitationShape(made.invitation).data)
        response = Response(content, status=201)
        if made.invitation is not None:
            kept = content | {"invitation": {**people_shapes.InvitationShape(made.invitation).data, "link": None}}
            response.kept = kept  # type: ignore[attr-defined]  # what api.answers stores
        return response


class LabOne(Endpoint):
    """One lab."""

    @operation("lab", answer=shapes.LabShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """One lab, and your role in it."""
        return Response(_shown(request, self.lab(pk)))

    @operation("lab_rename", takes=people_shapes.LabName, answer=shapes.LabShape, right=Right.MANAGE, tags=TAGS)
    def patch(self, request: Request, pk: int) -> Response:
        """Give a lab another name, which no other lab has."""
        lab, sent = self.lab(pk), checked(people_shapes.LabName, request)
        try:
            lab_rename(lab=lab, name=sent["name"])
        except Refused as error:
            raise ValidationError({"name": [str(error)]}) from error
        return Response(_shown(request, lab))

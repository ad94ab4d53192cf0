"""What belongs to a lab: the templates that campaigns begin with, and its pay floor."""

from django.db import transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from api import lab_shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from core.labs import pay_floor_set
from core.roles import Right
from platforms import templating as terms_templating
from pools import templating

TEMPLATES = ["Templates"]


# --- what campaigns begin with


class Templates(Endpoint):
    """A lab's templates."""

    pagination_class = Pages

    @operation("templates", answer=lab_shapes.TemplateShape(many=True), tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """The templates that campaigns of a lab can begin with."""
        return self.page_of(self.lab(pk).templates.all(), lab_shapes.TemplateShape)


class TemplateSave(Endpoint):
    """Saving a template."""

    @operation(
        "template_save",
        takes=lab_shapes.NewTemplate,
        answer=lab_shapes.TemplateShape,
        status=201,
        right=Right.DESIGN,
        tags=TEMPLATES,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Save a campaign's settings, wording and terms as a template of its lab, under a name that is new there."""
        campaign, sent = self.campaign(pk), checked(lab_shapes.NewTemplate, request)
        made = terms_templating.template_save(
            campaign=campaign, name=sent["name"], by=user_of(request), at=timezone.now()
        )
        made.refresh_from_db()  # its settings as JSON keeps them
        return Response(lab_shapes.TemplateShape(made).data, status=201)


class TemplateOne(Endpoint):
    """One template."""

    @operation("template", answer=lab_shapes.TemplateShape, tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """What a template has."""
        return Response(lab_shapes.TemplateShape(templating.template_for(user_of(request), pk, self.right)).data)

    @operation(
        "template_change",
        takes=lab_shapes.TemplateChange,
        answer=lab_shapes.TemplateShape,
        right=Right.DESIGN,
        tags=TEMPLATES,
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Rename a template, or have new campaigns of the lab begin with it, or no longer. Campaigns that began with it
        stay as they are."""
        template = templating.template_for(user_of(request), pk, self.right)
        sent = checked(lab_shapes.TemplateChange, request)
        with transaction.atomic():
            if "name" in sent:
                templating.template_change(template=template, name=sent["name"], at=timezone.now())
            if sent.get("is_default"):
                templating.template_default_set(lab=template.lab, template=template)
            elif "is_default" in sent and template.is_default:
                templating.template_default_set(lab=template.lab, template=None)
        template.refresh_from_db()
        return Response(lab_shapes.TemplateShape(template).data)

    @operation("template_delete", status=204, right=Right.DESIGN, tags=TEMPLATES)
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a template. Campaigns that began with it stay as they are."""
        templating.template_delete(template=templating.template_for(user_of(request), pk, self.right))
        return Response(status=204)


class PayFloor(Endpoint):
    """A lab's pay floor."""

    @operation("pay_floor", answer=lab_shapes.PayFloorShape, tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """The dollars an hour below which none of a lab's campaigns can start."""
        return Response(lab_shapes.PayFloorShape(self.lab(pk)).data)

    @operation(
        "pay_floor_set",
        takes=lab_shapes.PayFloorShape,
        answer=lab_shapes.PayFloorShape,
        right=Right.MANAGE,
        tags=TEMPLATES,
    )
    def put(self, request: Request, pk: int) -> Response:
        """Set a lab's pay floor, or take it away. What has started stays as it is."""
        lab, sent = self.lab(pk), checked(lab_shapes.PayFloorShape, request)
        return Response(lab_shapes.PayFloorShape(pay_floor_set(lab=lab, pay_floor=sent["pay_floor"])).data)

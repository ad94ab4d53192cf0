"""What belongs to a lab: the templates that campaigns begin with, and its pay floor."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import lab_shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import as_percent, by_field
from api.resources.publications import terms_content, terms_form
from core.labs import pay_floor_set
from core.roles import Right
from platforms import templating as terms_templating
from pools import templating
from pools.forms import TemplateForm
from pools.models import Campaign, CampaignTemplate

TEMPLATES = ["Templates"]
TEMPLATE = ("id", "lab", "name", "is_default", "values", "consent", "changed_at")


# --- what campaigns begin with


def template_content(template: CampaignTemplate) -> dict[str, Any]:
    """A template, with its terms as those of campaigns are shown."""
    terms = None if template.terms is None else terms_content(terms_templating.publication_of(template))
    return {name: getattr(template, name) for name in TEMPLATE} | {"terms": terms}


def shown(template: CampaignTemplate, status: int = 200) -> Response:
    """The template as it is stored."""
    template.refresh_from_db()  # its settings as JSON keeps them
    shape = lab_shapes.TemplateShape(template_content(template))  # type: ignore[arg-type]  # with its terms as shown
    return Response(shape.data, status=status)


def settings_changed(template: CampaignTemplate, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What pools.templating.template_change takes for other settings and texts, as the page checks them. Raises
    ValidationError.
    """
    kept = Campaign(lab=template.lab, **templating.template_settings(template))
    data = {name: getattr(kept, name) for name in templating.KEPT} | dict(sent.get("settings", {}))
    as_percent(data)
    data |= {name: sent.get(name, getattr(template, name)) for name in ("name", "consent")}
    form = TemplateForm(data, template=template)
    if not form.is_valid():
        errors = by_field(form.errors)
        own: dict[str, Any] = {name: errors.pop(name) for name in ("name", "consent") if name in errors}
        raise ValidationError(own | ({"settings": errors} if errors else {}))
    return form.changes()


def terms_changed(template: CampaignTemplate, sent: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What platforms.templating.template_terms_set takes for other terms, likewise."""
    if sent is None:
        return None
    try:
        return terms_form(terms_templating.publication_of(template), sent).terms()
    except ValidationError as error:
        raise ValidationError({"terms": error.detail}) from error


class Templates(Endpoint):
    """A lab's templates."""

    pagination_class = Pages

    @operation("templates", answer=lab_shapes.TemplateShape(many=True), tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """The templates that campaigns of a lab can begin with."""
        return self.page_of(
            self.lab(pk).templates.select_related("lab"),
            lab_shapes.TemplateShape,
            lambda page: [template_content(template) for template in page],
        )


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
        return shown(made, 201)


class TemplateOne(Endpoint):
    """One template."""

    @operation("template", answer=lab_shapes.TemplateShape, tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """What a template has."""
        return shown(templating.template_for(user_of(request), pk, self.right))

    @operation(
        "template_change",
        takes=lab_shapes.TemplateChange,
        answer=lab_shapes.TemplateShape,
        right=Right.DESIGN,
        tags=TEMPLATES,
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Change a template's name, settings, wording, consent text or terms, or whether pages begin new campaigns of
        the lab with it: all of it, or nothing. Campaigns that began with it stay as they are."""
        template = templating.template_for(user_of(request), pk, self.right)
        sent = checked(lab_shapes.TemplateChange, request)
        with transaction.atomic():
            if "settings" in sent or "consent" in sent:
                changes = settings_changed(template, sent)
                template = templating.template_change(template=template, at=timezone.now(), **changes)
            elif "name" in sent:
                template = templating.template_change(template=template, name=sent["name"], at=timezone.now())
            if "terms" in sent:
                terms = terms_changed(template, sent["terms"])
                terms_templating.template_terms_set(template=template, terms=terms, at=timezone.now())
            if sent.get("is_default"):
                templating.template_default_set(lab=template.lab, template=template)
            elif "is_default" in sent and template.is_default:
                templating.template_default_set(lab=template.lab, template=None)
        return shown(template)

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

"""What belongs to a lab: the templates that campaigns begin with, and its pay floor."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from api import lab_shapes
from api.frame import Resource, get, operation, post, put
from api.resources.campaigns import as_percent, by_field
from api.resources.publications import terms_content, terms_form
from campaigns import template_terms as terms_templating
from campaigns import templating
from campaigns.forms import TemplateForm
from core.labs import pay_floor_set
from core.roles import Right
from pools.models import Campaign, CampaignTemplate

TEMPLATE = ("id", "lab", "name", "is_default", "values", "consent", "changed_at")


def template_content(template: CampaignTemplate) -> dict[str, Any]:
    """A template as it is stored, with its terms as those of campaigns are shown."""
    template.refresh_from_db()  # its settings as JSON keeps them
    terms = None if template.terms is None else terms_content(terms_templating.publication_of(template))
    return {name: getattr(template, name) for name in TEMPLATE} | {"terms": terms}


def settings_changed(template: CampaignTemplate, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What campaigns.templating.template_change takes for other settings and texts, as the page checks them. Raises
    ValidationError.
    """
    campaign = Campaign(lab=template.lab, **templating.template_settings(template))
    data = {name: getattr(campaign, name) for name in templating.KEPT} | dict(sent.get("settings", {}))
    as_percent(data)
    data |= {name: sent.get(name, getattr(template, name)) for name in ("name", "consent")}
    form = TemplateForm(data, template=template)
    if not form.is_valid():
        errors = by_field(form.errors)
        of_template: dict[str, Any] = {name: errors.pop(name) for name in ("name", "consent") if name in errors}
        raise ValidationError(of_template | ({"settings": errors} if errors else {}))
    return form.changes()


def terms_changed(template: CampaignTemplate, sent: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What campaigns.template_terms.template_terms_set takes for other terms, likewise."""
    if sent is None:
        return None
    try:
        return terms_form(terms_templating.publication_of(template), sent).terms()
    except ValidationError as error:
        raise ValidationError({"terms": error.detail}) from error


class TemplateOfCampaign(Resource):
    """A campaign as a template."""

    tags = ["Templates"]

    @post("template", lab_shapes.TemplateShape, Right.DESIGN, takes=lab_shapes.NewTemplate, status=201)
    def template_save(self, request: Request, pk: int) -> Any:
        """Save a campaign's settings, wording and terms as a template of its lab, under a name that is new there."""
        return template_content(
            terms_templating.template_save(campaign=self.campaign, name=self.sent["name"], **self.signed)
        )


class Templates(Resource):
    """What campaigns can begin with."""

    tags = ["Templates"]

    @operation(lab_shapes.TemplateShape, name="template")
    def retrieve(self, request: Request, pk: int) -> Any:
        """What a template has."""
        return template_content(templating.template_for(self.user, pk, self.right))

    @operation(lab_shapes.TemplateShape, Right.DESIGN, name="template_change", takes=lab_shapes.TemplateChange)
    def partial_update(self, request: Request, pk: int) -> Any:
        """Change a template's name, settings, wording, consent text or terms, or whether pages begin new campaigns of
        the lab with it: all of it, or nothing. Campaigns that began with it stay as they are."""
        template = templating.template_for(self.user, pk, self.right)
        sent = self.sent
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
        return template_content(template)

    @operation(right=Right.DESIGN, name="template_delete")
    def destroy(self, request: Request, pk: int) -> Any:
        """Delete a template. Campaigns that began with it stay as they are."""
        templating.template_delete(template=templating.template_for(self.user, pk, self.right))


class LabSettings(Resource):
    """What belongs to a lab."""

    tags = ["Templates"]

    @get("templates", lab_shapes.TemplateShape(many=True))
    def templates(self, request: Request, pk: int) -> Any:
        """The templates that campaigns of a lab can begin with."""
        return self.page_of(self.lab.templates.select_related("lab"), lambda page: list(map(template_content, page)))

    @get("pay-floor", lab_shapes.PayFloorShape)
    def pay_floor(self, request: Request, pk: int) -> Any:
        """The dollars an hour below which none of a lab's campaigns can start."""
        return self.lab

    @put(pay_floor, lab_shapes.PayFloorShape, Right.MANAGE, takes=lab_shapes.PayFloorShape)
    def pay_floor_set(self, request: Request, pk: int) -> Any:
        """Set a lab's pay floor, or take it away. What has started stays as it is."""
        return pay_floor_set(lab=self.lab, pay_floor=self.sent["pay_floor"])

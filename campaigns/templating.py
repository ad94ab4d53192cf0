"""Templates: what a lab's campaigns can begin with. They are saved from campaigns in campaigns/template_terms.py."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Field
from django.utils.translation import gettext as _

from core.errors import NotYours, Refused
from core.models import Lab, User
from core.roles import Right, labs_of, require
from pools.models import Campaign, CampaignTemplate
from pools.settings import kept_in_templates
from pools.wording import EXAMPLE

KEPT = (*kept_in_templates(Campaign), *EXAMPLE)
# What needs what a template does not keep, and what stands in its place.
INSTEAD = {
    ("selection", Campaign.Selection.LIST): Campaign.Selection.ALL,
    ("comparisons", Campaign.Comparisons.BASELINE): Campaign.Comparisons.ALL,
    ("comparisons", Campaign.Comparisons.PAIRS): Campaign.Comparisons.ALL,
}


def template_for(user: User, key: int, right: Right) -> CampaignTemplate:
    """A template of the user's labs, for what needs a right. Raises NotYours and NotAllowed."""
    template = CampaignTemplate.objects.filter(pk=key, lab__in=labs_of(user)).select_related("lab").first()
    if template is None:
        raise NotYours(_("There is no such template, or it belongs to another lab."))
    require(user, template.lab, right)
    return template


def default_template(lab: Lab) -> CampaignTemplate | None:
    """The template that a lab's new campaigns begin with."""
    return CampaignTemplate.objects.filter(lab=lab, is_default=True).first()


def settings_kept(campaign: Campaign) -> dict[str, Any]:
    """The settings of a campaign that a template keeps."""
    values = {name: getattr(campaign, name) for name in KEPT}
    return {name: INSTEAD.get((name, value), value) for name, value in values.items()}


def template_settings(template: CampaignTemplate) -> dict[str, Any]:
    """A template's settings as columns of Campaign. Whatever is no column any more is left out."""
    return columns_of({name: value for name, value in template.values.items() if name in KEPT})


def columns_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of Campaign, by name, from what JSON keeps of them."""
    columns = {}
    for name, value in values.items():
        field = Campaign._meta.get_field(name)
        assert isinstance(field, Field)
        columns[name] = field.to_python(value)
    return columns


@transaction.atomic
def template_create(
    *,
    lab: Lab,
    name: str,
    values: Mapping[str, Any],
    consent: str,
    terms: Mapping[str, Any] | None,
    by: User | None,
    at: datetime,
) -> CampaignTemplate:
    """Store a template. Raises Refused for a name that the lab's templates have already."""
    template = CampaignTemplate(lab=lab, name=name, values=dict(values), consent=consent, created_by=by, changed_at=at)
    template.terms = None if terms is None else dict(terms)
    return _store(template)


@transaction.atomic
def template_change(*, template: CampaignTemplate, at: datetime, **fields: Any) -> CampaignTemplate:
    """Change a template's name, values, consent text or terms. Campaigns that began with it stay as they are."""
    template = CampaignTemplate.objects.select_for_update().get(pk=template.pk)
    for name, value in fields.items():
        setattr(template, name, value)
    template.changed_at = at
    return _store(template)


def _store(template: CampaignTemplate) -> CampaignTemplate:
    template.name = template.name.strip()
    refusal = Refused(_("The lab already has a template called %(name)s.") % {"name": template.name})
    if CampaignTemplate.objects.filter(lab=template.lab_id, name=template.name).exclude(pk=template.pk).exists():
        raise refusal
    try:
        template.clean_fields()
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    try:
        with transaction.atomic():
            template.save()
    except IntegrityError as error:  # somebody was faster
        raise refusal from error
    return template


@transaction.atomic
def template_default_set(*, lab: Lab, template: CampaignTemplate | None) -> None:
    """Have a lab's new campaigns begin with a template, or with none."""
    Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    CampaignTemplate.objects.filter(lab=lab, is_default=True).update(is_default=False)
    if template is not None:
        CampaignTemplate.objects.filter(lab=lab, pk=template.pk).update(is_default=True)


def template_delete(*, template: CampaignTemplate) -> None:
    """Delete a template. Campaigns that began with it stay as they are."""
    template.delete()

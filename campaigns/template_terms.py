"""Saving a campaign as a template, and beginning one with a template's consent text and terms."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import DurationField, Field
from django.utils.translation import gettext as _

from campaigns import templating
from campaigns.templating import template_settings
from core.errors import Refused
from core.models import Lab, User
from core.progress import Report
from platforms.models import Publication
from platforms.terms import TERMS, publication_unsaved, publication_write, terms_as_json
from pools import services as pool_services
from pools.models import Campaign, CampaignTemplate
from runs.models import Collection, Run
from tasks import selectors as task_selectors
from tasks import services as task_services


def template_save(*, campaign: Campaign, name: str, by: User | None, at: datetime) -> CampaignTemplate:
    """Keep a campaign's settings, wording and terms as a template of its lab, under a name that is new there."""
    consent = task_selectors.current_consent(campaign)
    publication = Publication.objects.filter(campaign=campaign).first()
    return templating.template_create(
        lab=campaign.lab,
        name=name,
        values=templating.settings_kept(campaign),
        consent=consent.text if consent else "",
        terms=None if publication is None else terms_as_json(publication),
        by=by,
        at=at,
    )


def template_terms_set(
    *, template: CampaignTemplate, terms: Mapping[str, Any] | None, at: datetime
) -> CampaignTemplate:
    """Give a template other terms, or none."""
    fields = None
    if terms is not None:
        publication = publication_of(template)
        for name, value in terms.items():
            setattr(publication, name, value)
        fields = terms_as_json(publication)
    return templating.template_change(template=template, terms=fields, at=at)


def publication_of(template: CampaignTemplate) -> Publication:
    """A template's terms as those of a campaign, not stored; the usual ones where it has none."""
    campaign = Campaign(lab=template.lab, name=template.name, **template_settings(template))
    publication = publication_unsaved(campaign)
    for name, value in _terms_of(template).items():
        setattr(publication, name, value)
    return publication


def _terms_of(template: CampaignTemplate) -> dict[str, Any]:
    terms = {}
    for name, value in (template.terms or {}).items():
        if name in TERMS:
            field = Publication._meta.get_field(name)
            assert isinstance(field, Field)
            is_time = isinstance(field, DurationField)
            terms[name] = timedelta(seconds=value) if is_time else field.to_python(value)
    return terms


def template_follow(*, campaign: Campaign, template: CampaignTemplate) -> None:
    """Give a campaign that begins with a template its consent text and terms."""
    if template.consent:
        task_services.consent_write(campaign=campaign, text=template.consent)
    if template.terms is not None:
        try:
            publication_write(campaign=campaign, **_terms_of(template))
        except Refused as error:
            text = _("The terms of the template “%(name)s” cannot be set: %(why)s Change them in the template.")
            raise Refused(text % {"name": template.name, "why": error}) from error


@transaction.atomic
def campaign_create_from(
    *,
    template: CampaignTemplate | None,
    lab: Lab,
    collection: Collection,
    runs: Iterable[Run],
    name: str,
    created_by: User | None = None,
    report: Report | None = None,
    **settings: Any,
) -> Campaign:
    """Create a draft with what a template has: its settings where `settings` has none, worked example, consent text
    and terms. Without a template, the same as pools.services.campaign_create.

    Raises Refused as that does, and where the terms cannot be set.
    """
    if template is not None:
        settings = template_settings(template) | settings
    campaign = pool_services.campaign_create(
        lab=lab, collection=collection, runs=runs, name=name, created_by=created_by, report=report, **settings
    )
    if template is not None:
        template_follow(campaign=campaign, template=template)
    return campaign

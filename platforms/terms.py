"""The terms on which a campaign is published: what it starts from, writing and checking them."""

from collections.abc import Mapping
from copy import copy
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import NotNow, Refused
from platforms.demands import unknown_countries
from platforms.models import LabAccount, Publication
from platforms.registry import adapter_for, adapter_of, phrase, platforms_of
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.consent import default_consent

TERMS = (
    "platform pay base requirements title description keywords lifetime assignment_duration auto_approval "
    "approve_after rate"
).split()


def publication_unsaved(campaign: Campaign) -> Publication:
    """The terms that a campaign starts from, not stored, and without the demands on workers."""
    publication = Publication(
        campaign=campaign,
        title=campaign.title,
        description=_("Read a question and two passages, and choose the passage that answers it best. Repeat."),
        keywords=_("search, reading, comparison, answers"),
        assignment_duration=timedelta(minutes=campaign.minutes_per_hit),
    )
    publication.pay = adapter_of(publication).pay_at_first()
    return publication


def publication_at_first(campaign: Campaign) -> Publication:
    """The terms that the page of a campaign's terms starts from, not stored: at the platform where the lab published
    last, or has an account of its own, or else at our own marketplace. Its campaign is a copy, in the currency there.
    """
    publication = publication_unsaved(copy(campaign))
    open_to = platforms_of(campaign.lab_id)
    used = Publication.objects.filter(campaign__lab=campaign.lab_id, platform__in=open_to).order_by("-pk")
    accounts = LabAccount.objects.filter(lab=campaign.lab_id, platform__in=open_to).order_by("pk")
    platform = used.values_list("platform", flat=True).first() or accounts.values_list("platform", flat=True).first()
    if platform is not None:
        publication.platform = platform
        adapter = adapter_of(publication)
        publication.pay, publication.campaign.currency = adapter.pay_at_first(), adapter.currency
    return publication


def publication_by_link(campaign: Campaign) -> Publication:
    """Terms for people who come by a link or from a panel, not stored: there are no fees but what the campaign sets.
    Its campaign is a copy.
    """
    publication = publication_unsaved(copy(campaign))
    publication.campaign.fee_rate = campaign.fee_rate or Decimal(0)
    return publication


def publication_likely(campaign: Campaign) -> Publication:
    """The campaign's publication. Without one, and not stored: what a draft would start from at our own marketplace;
    from its start on, the terms for people who come by a link.
    """
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is not None:
        publication.campaign = campaign
        return publication
    return publication_unsaved(campaign) if campaign.state == Campaign.State.DRAFT else publication_by_link(campaign)


def publication_to_reach(campaign: Campaign) -> Publication:
    """The same, with the requirements on workers that it would begin with."""
    publication = publication_likely(campaign)
    if publication.pk is None:
        publication.requirements = adapter_of(publication).requirements_at_first()
    return publication


@transaction.atomic
def publication_write(*, campaign: Campaign, **terms: Any) -> Publication:
    """Write, or change, the terms on which a campaign will be published; the demands on workers that are usual there by
    default.

    Raises NotNow once it is published, Refused for terms that the platform or the campaign does not allow.
    """
    publication = Publication.objects.select_for_update().filter(campaign=campaign).first()
    if publication is None:
        publication = publication_unsaved(campaign)
        adapter = adapter_for(terms.get("platform", publication.platform), campaign.lab_id)
        terms = {"requirements": adapter.requirements_at_first(), "pay": adapter.pay_at_first()} | terms
    if publication.state != Publication.State.DRAFT:
        raise NotNow(_("The campaign is published. Its terms can be replaced, after a preview of what that changes."))
    if terms.get("platform", publication.platform) != publication.platform:  # another account
        publication.balance = publication.balance_at = publication.money_asked = publication.money_asked_at = None
    terms_set(publication, terms)
    publication.save()
    currency_set(campaign=publication.campaign, currency=adapter_of(publication).currency)
    return publication


@transaction.atomic
def currency_set(*, campaign: Campaign, currency: str) -> None:
    """Have a campaign's amounts be of a currency. The numbers stay: there are no exchange rates here. A consent text
    that nobody wrote says the pay in it.
    """
    if campaign.currency == currency:
        return
    consent, before = task_selectors.current_consent(campaign), default_consent(campaign)
    campaign.currency = currency
    Campaign.objects.filter(pk=campaign.pk).update(currency=currency)
    if consent is not None and consent.text == before:
        task_services.consent_write(campaign=campaign, text=default_consent(campaign))


def terms_set(publication: Publication, terms: Mapping[str, Any]) -> None:
    """Set terms on a publication, without storing it. Raises Refused for what platform or campaign do not allow."""
    adapter = adapter_for(terms.get("platform", publication.platform), publication.campaign.lab_id)
    adapter.assert_configured()
    for name, value in terms.items():
        setattr(publication, name, value)
    limits = {
        _(
            "The automatic approval must be from 3 to 30 days, so that it never comes before the test "
            "pairs are checked."
        ): (timedelta(days=3) <= publication.auto_approval <= timedelta(days=30)),
        _("Work can wait for at most a day less than the automatic approval."): (
            timedelta(0) <= publication.approve_after <= publication.auto_approval - timedelta(days=1)
        ),
        _("A platform offers a HIT for 30 seconds to 365 days."): (
            timedelta(seconds=30) <= publication.lifetime <= timedelta(days=365)
            and timedelta(seconds=30) <= publication.assignment_duration <= timedelta(days=365)
        ),
        _("There can be at most 9 requirements on workers, besides the exclusion."): len(publication.requirements) <= 9,
        _("Platforms only list rewards of a cent or more, and the campaign's reward is less."): publication.listed > 0,
    }
    broken = [phrase(publication, sentence) for sentence, holds in limits.items() if not holds]
    if strange := unknown_countries(adapter.countries_of(publication.requirements)):
        text = _("“%(codes)s” is not an ISO 3166 country code. The United States are US, and Great Britain is GB.")
        broken.append(text % {"codes": ", ".join(strange)})
    broken += adapter.terms_troubles(publication)
    if broken:
        raise Refused(" ".join(broken))
    try:
        publication.full_clean(validate_unique=False)
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error


def terms_as_json(publication: Publication) -> dict[str, Any]:
    """The terms of a publication by name: lengths of time in seconds, amounts as text."""
    return {name: _plain(getattr(publication, name)) for name in TERMS}


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if isinstance(value, Decimal) else value

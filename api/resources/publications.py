"""A campaign on a platform: terms, publishing, its end, and the ledger."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import ChoiceFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import by_field
from core.errors import NotNow, NotYours
from core.roles import Right
from platforms import publishing
from platforms.account import platform_refusals
from platforms.bills import remaining_bill, rounds_forecast
from platforms.forms import TermsForm
from platforms.ledger import ledger_payments
from platforms.models import Payment, Publication
from platforms.registry import adapter_of
from platforms.replacing_terms import FIXED, publication_replace_terms, terms_replaced
from pools.models import Campaign

TAGS = ["Publication"]
# What the form calls a term, and the unit that it asks for it in.
PERIODS = {
    "lifetime_days": ("lifetime", timedelta(days=1)),
    "assignment_minutes": ("assignment_duration", timedelta(minutes=1)),
    "auto_approval_days": ("auto_approval", timedelta(days=1)),
    "approve_after_hours": ("approve_after", timedelta(hours=1)),
}
WORDS = ("platform", "pay", "base", "title", "description", "keywords")
DRAFT = Publication.State.DRAFT


def publication_of(campaign: Campaign) -> Publication:
    """The campaign's publication. Raises NotYours if there is none yet."""
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None:
        raise NotYours(_("The campaign has no terms at a platform yet. Set them first."))
    publication.campaign = campaign
    return publication


def published_of(campaign: Campaign) -> Publication:
    """The campaign's publication, once it is published. Raises NotYours."""
    publication = publication_of(campaign)
    if publication.state == DRAFT:
        raise NotYours(_("The campaign is not published at a platform yet."))
    return publication


def terms_content(publication: Publication) -> dict[str, Any]:
    """The terms of a publication, which need not be stored, as TermsShape shows them."""
    demands = adapter_of(publication).demands_of(publication.requirements)
    return {
        **{name: getattr(publication, name) for name in WORDS},
        **{name: getattr(publication, field) / unit for name, (field, unit) in PERIODS.items()},
        "countries": list(demands.countries),
        "approved": demands.approved,
        "percent": demands.percent,
        "calls_per_second": publication.rate,
    }


def terms_form(publication: Publication, sent: Mapping[str, Any]) -> TermsForm:
    """The form of the page, valid, with the terms that were sent and those that a publication has. Raises
    ValidationError.
    """
    blank = TermsForm(publication=publication, requirements=publication.requirements)
    data: dict[str, Any] = {name: blank[name].value() for name in blank.fields}
    names = {name: field for name, (field, _unit) in PERIODS.items()} | {"calls_per_second": "rate"}
    for name, value in sent.items():
        data[names.get(name, name)] = " ".join(value) if name == "countries" else value
    form = TermsForm(data, publication=publication, requirements=publication.requirements)
    if not form.is_valid():
        shown_as = {field: name for name, field in names.items()}
        raise ValidationError({shown_as.get(name, name): said for name, said in by_field(form.errors).items()})
    return form


def shown(publication: Publication) -> Response:
    """A publication with its terms, and how far it is."""
    progress, forecast = publishing.publishing_progress(publication), rounds_forecast(publication)
    content = {
        "state": publication.state,
        "published_at": publication.published_at,
        "terms": terms_content(publication),
        "amount": remaining_bill(publication).total,
        "expected_amount": forecast.bill.total if forecast else None,
        "spends_real_money": adapter_of(publication).spends_real_money,
        "posted": progress.posted,
        "on_their_way": progress.on_their_way,
        "refused": progress.refused,
    }
    return Response(shapes.PublicationShape(content).data)


class PublicationOne(Endpoint):
    """A campaign on a platform."""

    @operation("publication", answer=shapes.PublicationShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """A campaign's terms at a platform, what publishing costs, and how far it is."""
        return shown(publication_of(self.campaign(pk)))

    @operation("publication_terms", takes=shapes.NewTerms, answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def patch(self, request: Request, pk: int) -> Response:
        """Set the terms of a campaign that is not published yet. Nothing is sent, and nothing spent."""
        campaign, sent = self.campaign(pk), dict(checked(shapes.NewTerms, request))
        sent.pop("why", None)  # which the audit keeps
        publication = Publication.objects.filter(campaign=campaign).first() or publishing.publication_unsaved(campaign)
        publication.campaign = campaign
        if publication.state != DRAFT:
            raise NotNow(_("The campaign is published. Replace its terms at the address “publication/terms/”."))
        form = terms_form(publication, sent)
        return shown(publishing.publication_write(campaign=campaign, **form.terms()))


class _Terms(Endpoint):
    def replacement(self, publication: Publication, sent: dict[str, Any]) -> dict[str, Any]:
        """The terms of a published campaign with those that were sent. Raises ValidationError."""
        if publication.state == DRAFT:
            raise NotNow(_("The campaign is not published yet, so its terms can simply be changed."))
        for name in FIXED:
            if sent.pop(name, getattr(publication, name)) != getattr(publication, name):
                raise ValidationError({name: [_("It stays as it was published: work in progress is paid on it.")]})
        return terms_form(publication, sent).terms()


class Terms(_Terms):
    """The terms of a published campaign."""

    @operation("terms", answer=shapes.TermsVersionShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The terms of a campaign that are in force, and which version of them that is."""
        publication = publication_of(self.campaign(pk))
        newest = publication.terms.order_by("-version").first()
        content = {
            "version": newest.version if newest else None,
            "at": newest.at if newest else None,
            "terms": terms_content(publication),
        }
        return Response(shapes.TermsVersionShape(content).data)

    @operation("terms_replace", takes=shapes.TermsChange, answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def patch(self, request: Request, pk: int) -> Response:
        """Replace the terms of a published campaign. Its HITs that are open or need work move to the others in the
        background; every version of the terms is kept. The same terms again change nothing."""
        publication, sent = publication_of(self.campaign(pk)), dict(checked(shapes.TermsChange, request))
        sent.pop("why", None)  # which the audit keeps
        nobody = sent.pop("although_nobody_qualifies")
        publication_replace_terms(
            publication=publication,
            terms=self.replacement(publication, sent),
            by=user_of(request),
            at=timezone.now(),
            although_nobody_qualifies=nobody,
        )
        return shown(publication)


class TermsPreviews(_Terms):
    """What other terms would change."""

    @operation("terms_preview", takes=shapes.TermsChange, answer=shapes.TermsPreview, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Show what other terms of a published campaign would change. Nothing is changed."""
        publication, sent = publication_of(self.campaign(pk)), dict(checked(shapes.TermsChange, request))
        sent.pop("why", None)
        sent.pop("although_nobody_qualifies")
        changed = terms_replaced(publication, self.replacement(publication, sent))
        before, after = terms_content(publication), terms_content(changed)
        content = {
            "changes": [
                {"term": name, "before": before[name], "after": after[name]}
                for name in before
                if before[name] != after[name]
            ],
            "moving": publishing.open_or_needed(publication, timezone.now()).count(),
            "amount": remaining_bill(publication).total,
        }
        return Response(shapes.TermsPreview(content).data)


class PublishNow(Endpoint):
    """Publishing."""

    @operation("publish", takes=shapes.Publish, answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Publish a campaign that is open: its HITs go out in the background, and people are paid for them. `amount` is
        what you agree to: that of the publication, as you last read it. Publishing again changes nothing."""
        publication, sent = publication_of(self.campaign(pk)), checked(shapes.Publish, request)
        if publication.state == DRAFT:
            amount = remaining_bill(publication).total
            if sent["amount"] != amount:
                text = _("It costs %(amount)s now, not %(confirmed)s. Read the publication again, then decide.")
                money = publication.campaign.money
                said = text % {"amount": money(amount), "confirmed": money(sent["amount"])}
                raise ValidationError({"amount": [said]})
        with platform_refusals(publication):
            publishing.publication_publish(
                publication=publication,
                at=timezone.now(),
                typed_name=sent.get("typed_name", ""),
                although_nobody_qualifies=sent["although_nobody_qualifies"],
                by=user_of(request),
            )
        return shown(publication)


class _Act(Endpoint):
    def act(self, pk: int, service: Callable[..., Any]) -> Response:
        publication = publication_of(self.campaign(pk))
        if publication.state == DRAFT:
            raise NotNow(_("The campaign is not published at a platform yet."))
        service(publication=publication, at=timezone.now())
        publication.refresh_from_db()
        return shown(publication)


class Pause(_Act):
    """Pausing at the platform."""

    @operation("publication_pause", answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Publish nothing more, and end the HITs that are open at the platform."""
        return self.act(pk, publishing.publication_pause)


class Resume(_Act):
    """Resuming at the platform."""

    @operation("publication_resume", answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Offer the HITs that need work for another lifetime."""
        return self.act(pk, publishing.publication_resume)


class Expire(_Act):
    """Ending HITs at the platform."""

    @operation("publication_expire", answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """End all HITs that are open at the platform."""
        return self.act(pk, publishing.publication_expire)


class Stop(_Act):
    """Stopping a publication."""

    @operation("publication_stop", answer=shapes.PublicationShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Send no call that spends money any more."""
        return self.act(pk, publishing.publication_stop)


class PaymentFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By purpose and state."""

    purpose = ChoiceFilter(choices=Payment.Purpose.choices)
    state = ChoiceFilter(choices=Payment.State.choices)


class Payments(Endpoint):
    """The ledger."""

    pagination_class = Pages
    filterset_class = PaymentFilter

    @operation("payments", answer=shapes.PaymentShape(many=True), right=Right.EXPORT, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The ledger: every amount that is owed or was paid, newest first."""
        return self.page_of(ledger_payments(publication_of(self.campaign(pk))), shapes.PaymentShape)

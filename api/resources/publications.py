"""A campaign on a platform: terms, filters, publishing, its end, submissions, messages, calls in trouble, payments."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters.filterset import filterset_factory
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from api import platform_shapes, review_shapes, shapes
from api.frame import Resource, delete, get, operation, patch, post
from api.resources.campaigns import by_field, valid
from api.resources.review import worker_named
from core.errors import NotNow, NotYours
from core.roles import Right
from platforms import alarms, hooks, outbox, terms
from platforms import status as platform_status
from platforms.demands import FilterKind
from platforms.filters import SHOWN, FilterForm, chosen_filters, filters_of
from platforms.forms import TermsForm
from platforms.messages import conversations
from platforms.models import Message, Operation, Payment, Publication, Submission
from platforms.money.account import platform_refusals
from platforms.money.bills import remaining_bill, rounds_forecast
from platforms.money.ledger import ledger_payments
from platforms.publishing import publications as publishing
from platforms.publishing import testing
from platforms.publishing.replacing_terms import FIXED, publication_replace_terms, terms_replaced
from platforms.registry import adapter_of
from platforms.reviewing import compensations, deciding
from pools.models import Campaign

# What the form calls a term, and the unit that it asks for it in.
PERIODS = {
    "lifetime_days": ("lifetime", timedelta(days=1)),
    "assignment_minutes": ("assignment_duration", timedelta(minutes=1)),
    "auto_approval_days": ("auto_approval", timedelta(days=1)),
    "approve_after_hours": ("approve_after", timedelta(hours=1)),
}
WORDS = ("platform", "pay", "base", "title", "description", "keywords")
DRAFT = Publication.State.DRAFT
LONGEST = timedelta(days=364)  # for which HITs are kept open


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
        raise ValidationError({shown_as.get(name, name): errors for name, errors in by_field(form.errors).items()})
    return form


def shown(publication: Publication) -> dict[str, Any]:
    """A publication with its terms, and how far it is."""
    progress, forecast = publishing.publishing_progress(publication), rounds_forecast(publication)
    return {
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


PaymentFilter = filterset_factory(Payment, fields=["purpose", "state"])


class Publications(Resource):
    """A campaign on a platform."""

    tags = ["Publication"]

    @property
    def compensation(self) -> Payment:
        """The compensation, for what needs this operation's right. Raises Http404."""
        payments = published_of(self.campaign).payments.filter(purpose=Payment.Purpose.COMPENSATION)
        return get_object_or_404(payments, pk=self.kwargs["payment_pk"])

    def replacement(self, publication: Publication, sent: dict[str, Any]) -> dict[str, Any]:
        """The terms of a published campaign with those that were sent. Raises ValidationError."""
        if publication.state == DRAFT:
            raise NotNow(_("The campaign is not published yet, so its terms can simply be changed."))
        for name in FIXED:
            if sent.pop(name, getattr(publication, name)) != getattr(publication, name):
                raise ValidationError({name: [_("It stays as it was published: work in progress is paid on it.")]})
        return terms_form(publication, sent).terms()

    def act(self, service: Callable[..., Any]) -> dict[str, Any]:
        publication = publication_of(self.campaign)
        if publication.state == DRAFT:
            raise NotNow(_("The campaign is not published at a platform yet."))
        service(publication=publication, at=timezone.now())
        publication.refresh_from_db()
        return shown(publication)

    @get("publication", shapes.PublicationShape)
    def publication(self, request: Request, pk: int) -> Any:
        """A campaign's terms at a platform, what publishing costs, and how far it is."""
        return shown(publication_of(self.campaign))

    @patch(publication, shapes.PublicationShape, Right.SPEND, takes=shapes.NewTerms)
    def publication_terms(self, request: Request, pk: int) -> Any:
        """Set the terms of a campaign that is not published yet. Nothing is sent, and nothing spent."""
        campaign, sent = self.campaign, self.sent
        sent.pop("why", None)  # which the audit keeps
        publication = Publication.objects.filter(campaign=campaign).first() or terms.publication_unsaved(campaign)
        publication.campaign = campaign
        if publication.state != DRAFT:
            raise NotNow(_("The campaign is published. Replace its terms at the address “publication/terms/”."))
        form = terms_form(publication, sent)
        return shown(terms.publication_write(campaign=campaign, **form.terms()))

    @get("publication/terms", shapes.TermsVersionShape)
    def terms(self, request: Request, pk: int) -> Any:
        """The terms of a campaign that are in force, and which version of them that is."""
        publication = publication_of(self.campaign)
        return {"newest": publication.terms.order_by("-version").first(), "terms": terms_content(publication)}

    @patch(terms, shapes.PublicationShape, Right.SPEND, takes=shapes.TermsChange)
    def terms_replace(self, request: Request, pk: int) -> Any:
        """Replace the terms of a published campaign. Its HITs that are open or need work move to the others in the
        background; every version of the terms is kept. The same terms again change nothing."""
        publication, sent = publication_of(self.campaign), self.sent
        sent.pop("why", None)  # which the audit keeps
        nobody = sent.pop("although_nobody_qualifies")
        publication_replace_terms(
            publication=publication,
            terms=self.replacement(publication, sent),
            **self.signed,
            although_nobody_qualifies=nobody,
        )
        return shown(publication)

    @post("publication/terms/preview", shapes.TermsPreview, Right.SPEND, takes=shapes.TermsChange)
    def terms_preview(self, request: Request, pk: int) -> Any:
        """Show what other terms of a published campaign would change. Nothing is changed."""
        publication, sent = publication_of(self.campaign), self.sent
        sent = {name: value for name, value in sent.items() if name not in ("why", "although_nobody_qualifies")}
        changed = terms_replaced(publication, self.replacement(publication, sent))
        before, after = terms_content(publication), terms_content(changed)
        return {
            "changes": [
                {"term": name, "before": before[name], "after": after[name]}
                for name in before
                if before[name] != after[name]
            ],
            "moving": publishing.open_or_needed(publication, timezone.now()).count(),
            "amount": remaining_bill(publication).total,
        }

    @post("publication/publish", shapes.PublicationShape, Right.SPEND, takes=shapes.Publish)
    def publish(self, request: Request, pk: int) -> Any:
        """Publish a campaign that is open: its HITs go out in the background, and people are paid for them. `amount` is
        what you agree to: that of the publication, as you last read it. Publishing again changes nothing."""
        publication, sent = publication_of(self.campaign), self.sent
        if publication.state == DRAFT:
            amount = remaining_bill(publication).total
            if sent["amount"] != amount:
                text = _("It costs %(amount)s now, not %(confirmed)s. Read the publication again, then decide.")
                money = publication.campaign.money
                raise ValidationError(
                    {"amount": [text % {"amount": money(amount), "confirmed": money(sent["amount"])}]}
                )
        with platform_refusals(publication):
            publishing.publication_publish(
                publication=publication,
                typed_name=sent.get("typed_name", ""),
                although_nobody_qualifies=sent["although_nobody_qualifies"],
                **self.signed,
            )
        return shown(publication)

    @post("publication/pause", shapes.PublicationShape, Right.SPEND)
    def publication_pause(self, request: Request, pk: int) -> Any:
        """Publish nothing more, and end the HITs that are open at the platform."""
        return self.act(publishing.publication_pause)

    @post("publication/resume", shapes.PublicationShape, Right.SPEND)
    def publication_resume(self, request: Request, pk: int) -> Any:
        """Offer the HITs that need work for another lifetime."""
        return self.act(publishing.publication_resume)

    @post("publication/expire", shapes.PublicationShape, Right.SPEND)
    def publication_expire(self, request: Request, pk: int) -> Any:
        """End all HITs that are open at the platform."""
        return self.act(publishing.publication_expire)

    @post("publication/stop", shapes.PublicationShape, Right.SPEND)
    def publication_stop(self, request: Request, pk: int) -> Any:
        """Send no call that spends money any more."""
        return self.act(publishing.publication_stop)

    @get("publication/payments", shapes.PaymentShape(many=True), Right.EXPORT, filterset_class=PaymentFilter)
    def payments(self, request: Request, pk: int) -> Any:
        """The ledger: every amount that is owed or was paid, newest first."""
        return ledger_payments(publication_of(self.campaign))

    @post("publication/extend", review_shapes.Extended, Right.SPEND, takes=review_shapes.Extend)
    def publication_extend(self, request: Request, pk: int) -> Any:
        """Keep the HITs that need work open until the end of a day."""
        publication, sent = published_of(self.campaign), self.sent
        at, until = timezone.now(), datetime.combine(sent["until"], time(23, 59), UTC)
        if not at.date() < sent["until"] <= (at + LONGEST).date():
            raise ValidationError({"until": [_("It must be a day of the coming year.")]})
        return {"extended": publishing.publication_extend(publication=publication, until=until, at=at)}

    @get("publication/alarms", review_shapes.PlatformAlarmShape(many=True))
    def publication_alarms(self, request: Request, pk: int) -> Any:
        """What is wrong with a campaign at its platform, as long as it is."""
        return published_of(self.campaign).alarms.filter(settled_at=None)

    @post("publication/test-run", review_shapes.TestRunShape, Right.SPEND, takes=review_shapes.TestRun)
    def test_run_begin(self, request: Request, pk: int) -> Any:
        """Make a study that only the workspace's test participants see, before the campaign is published. Nobody is
        paid. Only some workspaces at Prolific have test runs.
        """
        publication, sent = publication_of(self.campaign), self.sent
        begun = testing.test_run_begin(publication=publication, email=sent.get("email", ""))
        return {"study": begun.test_study_id, "address": begun.test_study_address}

    @delete(test_run_begin, right=Right.SPEND)
    def test_run_end(self, request: Request, pk: int) -> Any:
        """End the test run. If there is none, nothing changes."""
        testing.test_run_end(publication=publication_of(self.campaign))

    @post("publication/payments/<int:payment_pk>/offer", shapes.PaymentShape, Right.SPEND)
    def compensation_offer(self, request: Request, pk: int, payment_pk: int) -> Any:
        """Offer to pay work that was done here and never submitted there. Again is the same offer."""
        compensations.compensation_offer(payment=self.compensation, at=timezone.now())
        return self.compensation

    @post("publication/payments/<int:payment_pk>/decline", shapes.PaymentShape, Right.DECIDE, takes=shapes.Reason)
    def compensation_decline(self, request: Request, pk: int, payment_pk: int) -> Any:
        """Decide that a compensation is not owed."""
        compensations.compensation_decline(payment=self.compensation, **self.signed, **self.sent)
        return self.compensation

    @get(
        "messages",
        review_shapes.MessageShape(many=True),
        tags=["Messages"],
        filterset_class=filterset_factory(Message, fields=["state"]),
    )
    def messages(self, request: Request, pk: int) -> Any:
        """What workers of a campaign wrote, and what was written to them, newest first."""
        return conversations.messages_of(published_of(self.campaign))

    @post(
        "workers/<slug:name>/messages",
        review_shapes.MessageShape,
        Right.DECIDE,
        takes=review_shapes.NewMessage,
        status=202,
        tags=["Messages"],
    )
    def message_write(self, request: Request, pk: int, name: str) -> Any:
        """Write to a worker. A job sends it, once."""
        publication, sent = published_of(self.campaign), self.sent
        worker = worker_named(self.campaign, name)
        return conversations.message_write(publication=publication, worker=worker, **self.signed, **sent)

    @post("messages/<int:message_pk>/set-aside", right=Right.DECIDE, tags=["Messages"])
    def message_set_aside(self, request: Request, pk: int, message_pk: int) -> Any:
        """Decide that a message needs no answer."""
        message = get_object_or_404(published_of(self.campaign).messages, pk=message_pk)
        conversations.message_set_aside(message=message)

    @post("publication/alarms/<int:alarm_pk>/dismiss", right=Right.SPEND)
    def publication_alarm_dismiss(self, request: Request, pk: int, alarm_pk: int) -> Any:
        """Dismiss an alarm of a publication that you have dealt with. It is raised again if its cause comes back.
        Refused (409) for those that disappear with their cause only."""
        alarm = get_object_or_404(published_of(self.campaign).alarms, pk=alarm_pk)
        alarms.alarm_dismiss(alarm=alarm, **self.signed)

    @post("publication/listen", right=Right.SPEND)
    def publication_listen(self, request: Request, pk: int) -> Any:
        """Have the marketplace notify this site as soon as work is submitted, so that it asks sooner. Again is no
        error."""
        hooks.notifications_ask(publication=published_of(self.campaign))


def offered_by(publication: Publication) -> dict[str, FilterKind]:
    """The filters that the publication's platform offers. Raises NotYours where it has none of its own."""
    offered = filters_of(publication)
    if not offered:
        raise NotYours(_("This platform has no filters of its own: the requirements are in the terms."))
    return offered


def shown_filters(publication: Publication, offered: Mapping[str, FilterKind], words: str = "") -> dict[str, Any]:
    """The filters that are set, and those that are offered."""
    kinds = [kind for kind in offered.values() if words.casefold() in f"{kind.title} {kind.question}".casefold()]
    return {
        "chosen": chosen_filters(publication, dict(offered)),
        "offered": kinds[:SHOWN],
        "more": max(0, len(kinds) - SHOWN),
    }


class Filters(Resource):
    """The filters of a campaign's terms."""

    tags = ["Publication"]
    lookup_url_kwarg = "key"
    lookup_value_converter = "slug"

    def change(self, key: str, requirement: Mapping[str, object] | None) -> dict[str, Any]:
        publication = publication_of(self.campaign)
        requirements = [each for each in publication.requirements if each.get("filter_id") != key]
        requirements += [requirement] if requirement else []
        changed = terms.publication_write(campaign=publication.campaign, requirements=requirements)
        return shown_filters(changed, offered_by(changed))

    @operation(platform_shapes.FiltersShape, name="filters", asks=platform_shapes.FilterSearch)
    def list(self, request: Request, pk: int) -> Any:
        """The platform's own filters that a campaign's terms have, and those that it offers. Prolific has some."""
        publication = publication_of(self.campaign)
        return shown_filters(publication, offered_by(publication), self.query["q"])

    @operation(platform_shapes.FiltersShape, Right.SPEND, name="filter_set", takes=platform_shapes.FilterWish)
    def update(self, request: Request, pk: int, key: str) -> Any:
        """Set one of the platform's filters in a draft's terms, in place of what was set of it. Nothing is sent."""
        kind = offered_by(publication_of(self.campaign)).get(key)
        if kind is None:
            raise NotYours(_("The platform does not offer this filter."))
        return self.change(key, valid(FilterForm(self.sent, kind=kind)).requirement())

    @operation(platform_shapes.FiltersShape, Right.SPEND, name="filter_remove")
    def destroy(self, request: Request, pk: int, key: str) -> Any:
        """Remove one of the platform's filters from a draft's terms."""
        return self.change(key, None)


class Calls(Resource):
    """Calls to the platform that are in trouble."""

    tags = ["Publication"]
    lookup_url_kwarg = "call_pk"
    filterset_class = filterset_factory(Operation, fields=["kind", "state"])

    def get_queryset(self) -> QuerySet[Operation]:
        return published_of(self.campaign).operations.select_related("publication", "published_hit")

    def shown(self) -> Response:
        """The call as it is now."""
        call = self.get_object()
        response: Response = self.answer(call, decidable=outbox.may_be_decided(call.publication))
        return response

    @operation(platform_shapes.CallShape(many=True), name="calls")
    def list(self, request: Request, pk: int) -> Any:
        """Calls to the platform that were refused, whose outcome is unknown, or that failed and are tried again."""
        publication = published_of(self.campaign)
        rows = platform_status.calls_in_trouble(publication)
        return self.page_of(rows, decidable=outbox.may_be_decided(publication))

    @post("retry", platform_shapes.CallShape, Right.SPEND)
    def call_retry(self, request: Request, pk: int, call_pk: int) -> Any:
        """Try a call that was refused once more, with the same token, so that nothing is done twice. A call that was
        not refused stays as it is."""
        outbox.operation_retry(operation=self.get_object(), at=timezone.now())
        return self.shown()

    @post("decide", platform_shapes.CallShape, Right.SPEND, takes=platform_shapes.CallDecision)
    def call_decide(self, request: Request, pk: int, call_pk: int) -> Any:
        """Say whether a call in doubt was done that is never made again by itself. A call that is not in doubt stays as
        it is. Refused (409) where you say that it was not done while the platform may still do it, as Prolific pays a
        while after it was asked to: the refusal says from when you can."""
        outbox.operation_decide(operation=self.get_object(), **self.signed, **self.sent)
        return self.shown()


class Submissions(Resource):
    """What was submitted at the platform."""

    tags = ["Publication"]
    lookup_url_kwarg = "submission_pk"
    filterset_class = filterset_factory(Submission, fields=["status"])

    def get_queryset(self) -> QuerySet[Submission]:
        return platform_status.submissions_of(published_of(self.campaign)).select_related("publication__campaign")

    def decide(self, service: Callable[..., Submission]) -> Submission:
        """Decide on submitted work, which needs the right to spend besides."""
        submission = self.get_object()
        self.require_spending(self.campaign.lab)
        return service(submission=submission, **self.signed, **self.sent)

    @operation(review_shapes.SubmissionShape(many=True), name="submissions")
    def list(self, request: Request, pk: int) -> Any:
        """What was submitted at the platform, newest first."""
        return self.get_queryset()

    @post("approve", review_shapes.SubmissionShape, Right.DECIDE, takes=shapes.Reason)
    def submission_approve(self, request: Request, pk: int, submission_pk: int) -> Any:
        """Approve submitted work, and pay it. The platform is told in the background."""
        return self.decide(deciding.submission_approve)

    @post("reject", review_shapes.SubmissionShape, Right.DECIDE, takes=shapes.Rejection)
    def submission_reject(self, request: Request, pk: int, submission_pk: int) -> Any:
        """Reject submitted work; the worker reads why. The platform is told in the background."""
        return self.decide(deciding.submission_reject)

    @post("ask-return", review_shapes.SubmissionShape, Right.DECIDE, takes=review_shapes.ReturnAsked)
    def submission_ask_return(self, request: Request, pk: int, submission_pk: int) -> Any:
        """Ask a worker to return submitted work without answers here, where the platform can. They read why, once."""
        deciding.return_ask(submission=self.get_object(), **self.signed, **self.sent)
        return self.get_object()

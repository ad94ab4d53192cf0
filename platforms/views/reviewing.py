"""The pages of submitted work: decisions, compensations, and the pay of an hour."""

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours
from core.http import Request, refusals_in, see_other, status_of
from core.lists import Listing, render_lists
from core.money import counted
from core.roles import Right, needs
from platforms import jobs as platform_jobs
from platforms import lists as platform_lists
from platforms import status as platform_status
from platforms.alarms import raised_about
from platforms.forms import DecideForm, HourlyForm
from platforms.models import Operation, Payment, PayRate, PlatformAlarm, Publication, Submission
from platforms.money.account import balance_kept
from platforms.registry import adapter_of, phrase
from platforms.reviewing import deciding, fairness, payments
from platforms.reviewing.compensations import compensation_decline, compensation_offer
from platforms.views import publication_of
from tasks.selectors import floor_not_held, lab_floor_of


def pay_context(publication: Publication) -> dict[str, Any]:
    adapter = adapter_of(publication)
    return {
        "pay_rate": PayRate.objects.filter(publication=publication).first(),
        "platform_least": adapter.least_hourly,
        "advised_hourly": adapter.advised_hourly,
        "lab_floor": lab_floor_of(publication.campaign),
        "floor_not_held": floor_not_held(publication.campaign),
    }


@needs(Right.SEE)
@require_GET
def submissions(request: Request, pk: int) -> HttpResponseBase:
    """What was submitted at the platform: what waits for a person, all, or what was rejected."""
    publication = publication_of(request, pk)
    campaign = publication.campaign
    submissions = platform_status.submissions_of(publication)
    sorts, narrow = platform_lists.SUBMISSION_SORTS, platform_lists.SubmissionFilter
    context = {
        "campaign": campaign,
        "publication": publication,
        "listing": Listing(request, submissions, sorts=sorts, narrow=narrow, columns=platform_lists.SUBMISSION_COLUMNS),
        "waiting": platform_status.for_a_person(submissions).count(),
    }
    return render_lists(request, "platforms/submissions.html", context)


@needs(Right.SEE, changing=Right.DECIDE)
@require_http_methods(["GET", "POST"])
def submission(request: Request, pk: int, submission_pk: int) -> HttpResponse:
    """One submission beside what is stored here. POST approves or rejects it, with a reason."""
    publication = publication_of(request, pk)
    campaign = publication.campaign
    submission = (
        platform_status.submissions_of(publication).select_related("decided_by").filter(pk=submission_pk).first()
    )
    if submission is None:
        raise NotYours(_("This publication has no such submission."))
    submission.publication = publication
    form = DecideForm(publication=publication)
    if request.method == "POST":
        form = DecideForm(request.POST, publication=publication)
        if form.is_valid():
            with refusals_in(form):
                _decide(request, submission, form)
                return see_other("platforms:submission", pk, submission_pk)
    context = {
        "campaign": campaign,
        "publication": publication,
        "submission": submission,
        "stored": platform_status.stored_work(submission),
        "bonus": payments.bonus_owed(submission),
        "payments": submission.payments.order_by("id"),
        "about_rejecting": adapter_of(publication).about_rejecting(publication),
        "may_ask_return": deciding.may_ask_return(submission),
        "return_asked": submission.operations.filter(kind=Operation.Kind.ASK_RETURN)
        .select_related("submission__return_asked_by")
        .first(),
        "may_decide": submission.decision == Submission.Decision.NONE
        and submission.status == Submission.Status.SUBMITTED,
        "may_book": deciding.may_book(submission),
        "held": raised_about(submission.pk, PlatformAlarm.TWICE),
        "form": form,
    }
    return render(request, "platforms/submission.html", context, status=status_of(form))


def _decide(request: Request, submission: Submission, form: DecideForm) -> None:
    fields: dict[str, Any] = {
        "submission": submission,
        "by": request.user,
        "why": form.cleaned_data["why"],
        "at": timezone.now(),
    }
    if form.cleaned_data["decision"] == "approve":
        booked = submission.status == Submission.Status.APPROVED
        deciding.submission_approve(**fields)
        text = _("Approved. The decision is sent to the platform in the background.")
        if booked:
            text = _("The reward that the platform has paid is in the ledger now.")
    elif form.cleaned_data["decision"] == "return":
        deciding.return_ask(**fields, return_reason=form.cleaned_data.get("return_reason", ""))
        text = _("The worker is asked to return it, and reads your reason.")
    else:
        deciding.submission_reject(**fields, category=form.cleaned_data.get("category", ""))
        text = _("Rejected. The decision is sent to the platform in the background, and the worker reads your reason.")
    messages.success(request, phrase(submission.publication, text))


@needs(Right.SEE)
@require_GET
def compensations(request: Request, pk: int) -> HttpResponseBase:
    """Work that was done here and not submitted at the platform."""
    publication = publication_of(request, pk)
    campaign = publication.campaign
    compensations = platform_status.compensations_of(publication)
    sorts, narrow = platform_lists.COMPENSATION_SORTS, platform_lists.CompensationFilter
    listing = Listing(
        request,
        compensations,
        sorts=sorts,
        narrow=narrow,
        columns=platform_lists.COMPENSATION_COLUMNS,
        lines=lambda payments: platform_status.compensation_rows(list(payments)),
    )
    context = {
        "campaign": campaign,
        "publication": publication,
        "listing": listing,
        "rows": platform_status.compensation_rows(list(listing.page)),
    }
    return render_lists(request, "platforms/compensations.html", context)


@needs(Right.SPEND)
@require_POST
def compensate(request: Request, pk: int, payment_pk: int) -> HttpResponse:
    """Offer one compensation. Again is the same offer."""
    payment = _compensation_of(request, pk, payment_pk)
    compensation_offer(payment=payment, at=timezone.now())
    text = _("The compensation has been offered. Only this worker can take it, within 30 days.")
    messages.success(request, phrase(payment.publication, text))
    return see_other("platforms:compensations", pk)


@needs(Right.DECIDE)
@require_POST
def decline(request: Request, pk: int, payment_pk: int) -> HttpResponse:
    """Decide that a compensation is not owed, with a reason that is kept."""
    payment = _compensation_of(request, pk, payment_pk)
    why = request.POST.get("why", "")[:1000]
    compensation_decline(payment=payment, by=request.user, why=why, at=timezone.now())
    messages.success(request, _("The compensation has been declined. Nothing is paid."))
    return see_other("platforms:compensations", pk)


def _compensation_of(request: Request, pk: int, payment_pk: int) -> Payment:
    publication = publication_of(request, pk)
    payment = publication.payments.filter(pk=payment_pk, purpose=Payment.Purpose.COMPENSATION).first()
    if payment is None:
        raise NotYours(_("This publication has no such compensation."))
    return payment


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def adjustment(request: Request, pk: int) -> HttpResponse:
    """What raising the pay of those who were approved would cost. POST pays it; again pays nobody twice."""
    publication = publication_of(request, pk)
    first = fairness.hourly_at_first(publication)
    data = request.POST or request.GET or ({"hourly": first} if first is not None else None)
    form, raised = HourlyForm(data), None
    if form.is_valid():
        hourly = form.cleaned_data["hourly"]
        with refusals_in(form):
            if request.method == "POST":
                return _adjust(request, publication, hourly)
            raised = fairness.adjustment_of(publication, hourly)
    balance = balance_kept(publication) if raised is not None and raised.people else None
    if balance is not None:
        platform_jobs.balance_soon(publication.pk)
    context = {
        "campaign": publication.campaign,
        "publication": publication,
        "form": form,
        "adjustment": raised,
        "balance": balance,
        **pay_context(publication),
    }
    return render(request, "platforms/adjustment.html", context, status=status_of(form))


def _adjust(request: Request, publication: Publication, hourly: Decimal) -> HttpResponse:
    digest = request.POST.get("seen", "")
    count = fairness.adjustment_pay(
        publication=publication, hourly=hourly, seen=digest, by=request.user, at=timezone.now()
    )
    if count:
        text = ngettext(
            "%(count)s submission gets a bonus, which is paid in the background.",
            "%(count)s submissions get a bonus, which is paid in the background.",
            count,
        )
        messages.success(request, text % {"count": counted(count)})
    else:
        messages.info(request, _("Everyone who can be raised was raised before. Nothing was paid."))
    return see_other("platforms:publication", publication.campaign_id)

"""The review bench: decisions on many assignments or workers at once, and the tables as CSV."""

import logging
from collections.abc import Iterator
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from core.errors import BadRequest, NotYours, Refused
from core.http import Request, refuse_in, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs
from judgments import jobs as judgment_jobs
from judgments import selectors as judgment_selectors
from platforms.registry import adapter_of
from pools.counting import count_of
from pools.http import campaign_of
from pools.models import Campaign
from review import deciding, review_tables
from review import jobs as review_jobs
from review import lists as review_lists
from review.models import BulkDecision
from tasks.models import Assignment, Worker

REFRESH = 3  # seconds between two looks of the page
SECONDS = 2.0  # for which a page itself carries out a decision on a few rows
log = logging.getLogger(__name__)


class BulkForm(forms.Form):
    """What to do, why, and for a bonus how much."""

    action = forms.ChoiceField(choices=BulkDecision.Action.choices, widget=forms.HiddenInput)
    amount = forms.DecimalField(
        label=gettext_lazy("Bonus for each assignment"), min_value=0, max_digits=8, decimal_places=2
    )
    why = forms.CharField(label=gettext_lazy("Why"), max_length=1024, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *arguments: Any, action: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["action"].initial = action
        if action != BulkDecision.Action.BONUS:
            del self.fields["amount"]
        if action in (BulkDecision.Action.BONUS, BulkDecision.Action.REJECT):
            self.fields["why"].label = _("Why (the workers read this)")
        if action == BulkDecision.Action.MESSAGE:
            self.fields["why"].label = _("Message")


def assignments_listed(
    request: Request, campaign: Campaign, assignments: QuerySet[Assignment], count: int | None = None
) -> Listing:
    """The assignments of a campaign, so many, or of one worker in it."""
    sorts, narrow = review_lists.ASSIGNMENT_SORTS, review_lists.AssignmentFilter
    assignments = judgment_selectors.with_fast_below(campaign, assignments)
    return Listing(request, assignments, sorts=sorts, narrow=narrow, count=count)


def workers_listed(request: Request, campaign: Campaign) -> Listing:
    """The workers who took work in a campaign."""
    count = count_of(campaign, "workers")
    sorts, narrow = review_lists.WORKER_SORTS, review_lists.WorkerFilter
    workers = judgment_selectors.workers_with_work(campaign)
    return Listing(request, workers, sorts=sorts, narrow=narrow, key="workers", count=count)


@needs(Right.DECIDE)
@require_POST
def review(request: Request, pk: int) -> HttpResponse:
    """Say what a decision on the chosen rows would do, and then make it. The address has the filter of the list."""
    campaign = campaign_of(request, pk)
    action = request.POST.get("action", "")
    if action not in dict(deciding.actions_of(campaign)):
        raise BadRequest(_("Choose what to do."))
    if action in deciding.OF_MONEY:
        campaign_of(request, pk, Right.SPEND)
    of_workers, everything = request.POST.get("of") == "workers", "everything" in request.POST
    if of_workers and action == BulkDecision.Action.EXCLUDE:
        action = BulkDecision.Action.EXCLUDE_ALL
    rows = [int(row[:18]) for row in request.POST.getlist("row") if row.isdecimal()]
    if not rows and not everything:
        raise BadRequest(_("Choose at least one row of the table, and then what to do."))
    chosen = _chosen(request, campaign, of_workers=of_workers, rows=None if everything else rows)
    makes, status = "why" in request.POST, 200
    form = BulkForm(request.POST if makes or "amount" in request.POST else None, action=action)
    amount = None
    if form.is_bound:
        form.is_valid()
        amount = form.cleaned_data.get("amount")
        if not makes:
            form.errors.pop("why", None)  # nobody could have said why so far
    preview = None
    try:
        if action != BulkDecision.Action.BONUS or amount is not None:
            preview = deciding.bulk_preview(campaign=campaign, action=action, chosen=chosen, amount=amount)
        if makes and form.is_valid() and preview is not None:
            if request.POST.get("expected") == _size_of(preview):
                return _make(request, campaign, action, chosen, form)
            form.add_error(None, _("What this would do has changed. Check it again."))
        if makes:
            status = 400
    except Refused as error:
        status = refuse_in(form, error) if form.is_bound else error.status
        if not form.is_bound:
            raise
    context = {
        "campaign": campaign,
        "action": action,
        "title": dict(deciding.actions_of(campaign))[action],
        "preview": preview,
        "expected": "" if preview is None else _size_of(preview),
        "undoable": action in BulkDecision.UNDOABLE,
        "of_workers": of_workers,
        "rows": [] if everything else rows,
        "everything": everything,
        "worker": request.POST.get("worker", ""),
        "form": form,
        "about": _about(campaign, action),
        "reversing": deciding.about_reversing(campaign) if preview is not None and preview.rejected else "",
    }
    return render(request, "review/review.html", context, status=status)


def _about(campaign: Campaign, action: str) -> str:
    """What the platform does with what is decided."""
    if action == BulkDecision.Action.REJECT:
        return adapter_of(campaign.publication).about_rejecting(campaign.publication)
    return adapter_of(campaign.publication).about_writing() if action == BulkDecision.Action.MESSAGE else ""


def _size_of(preview: deciding.Preview) -> str:
    """What somebody agreed to: as many changes, at that cost."""
    return f"{preview.change} {preview.pays + preview.fees}"


def _chosen(request: Request, campaign: Campaign, *, of_workers: bool, rows: list[int] | None) -> QuerySet[Assignment]:
    """The assignments that were chosen, or those of the chosen workers; without `rows`, all that the filter leaves."""
    assignments = judgment_selectors.assignments_of(campaign)
    if request.POST.get("worker", "").isdecimal():
        assignments = assignments.filter(worker=int(request.POST["worker"][:18]))
    if of_workers:
        workers = Worker.objects.filter(pk__in=rows or [])
        if rows is None:
            workers = Worker.objects.filter(pk__in=_rows_of(workers_listed(request, campaign)).order_by().values("pk"))
        return assignments.filter(worker__in=workers)
    if rows is not None:
        return assignments.filter(pk__in=rows)
    return _rows_of(assignments_listed(request, campaign, assignments))


def _make(
    request: Request, campaign: Campaign, action: str, chosen: QuerySet[Assignment], form: BulkForm
) -> HttpResponse:
    fields = {"why": form.cleaned_data["why"], "amount": form.cleaned_data.get("amount"), "by": request.user}
    bulk = deciding.bulk_create(campaign=campaign, action=action, chosen=chosen, at=timezone.now(), **fields)
    _carry_out(bulk)
    return see_other("review:bulk", campaign.pk, bulk.pk)


def _carry_out(bulk: BulkDecision) -> None:
    """A few rows here and now; many, and what is left of a few, by a job."""
    if bulk.rows.count() <= deciding.AT_ONCE:
        deciding.bulk_run(bulk=bulk, at=timezone.now(), seconds=SECONDS)
    if deciding.bulks_to_run().filter(pk=bulk.pk).exists():
        try:
            review_jobs.decide.delay(bulk.pk)
        except OperationalError as error:
            log.warning("Decision %s waits for the next round: %s", bulk.pk, error)
    elif bulk.action in deciding.OF_DATA:
        recount()


def recount() -> None:
    """Have counted anew at once what changed: the job does it by itself too, but only every minute."""
    try:
        judgment_jobs.make_exports.delay()
    except OperationalError as error:
        log.warning("What changed is counted in the next round: %s", error)


@needs(Right.SEE)
@require_GET
def bulk(request: Request, pk: int, bulk_pk: int) -> HttpResponseBase:
    """A decision on many: how far it is, what failed, and the way to undo it."""
    campaign = campaign_of(request, pk)
    decision = _bulk_of(campaign, bulk_pk)
    rows = decision.rows.select_related("assignment", "worker").order_by("pk")
    narrow, sorts = review_lists.BulkRowFilter, review_lists.BULK_ROW_SORTS
    counts = deciding.row_counts([decision])[decision.pk]
    states = [(str(label), counts[value]) for value, label in deciding.State.choices if value in counts]
    context = {
        "campaign": campaign,
        "bulk": decision,
        "states": states,
        "waiting": counts.get("waiting", 0) + counts.get("undoing", 0),
        "listing": Listing(request, rows, narrow=narrow, sorts=sorts, columns=review_lists.BULK_ROW_COLUMNS),
    }
    context["refresh"] = REFRESH if context["waiting"] else 0
    return render_lists(request, "review/bulk.html", context)


@needs(Right.DECIDE)
@require_POST
def bulk_undo(request: Request, pk: int, bulk_pk: int) -> HttpResponse:
    """Undo a decision on many, as far as it moved no money."""
    campaign = campaign_of(request, pk)
    decision = deciding.bulk_undo(bulk=_bulk_of(campaign, bulk_pk), by=request.user, at=timezone.now())
    _carry_out(decision)
    messages.success(request, _("The decision is undone, row by row. Each is listed among the decisions."))
    return see_other("review:bulk", pk, bulk_pk)


def _bulk_of(campaign: Campaign, bulk_pk: int) -> BulkDecision:
    bulk = campaign.bulk_decisions.select_related("campaign", "by", "undone_by").filter(pk=bulk_pk).first()
    if bulk is None:
        raise NotYours(_("This campaign has no such decision."))
    return bulk


@needs(Right.EXPORT)
@require_GET
def assignments_csv(request: Request, pk: int) -> HttpResponseBase:
    """The assignments that the filter leaves, as CSV."""
    campaign = campaign_of(request, pk)
    listing = assignments_listed(request, campaign, judgment_selectors.assignments_of(campaign))
    return _csv(campaign, "assignments", review_tables.assignment_lines(campaign, _rows_of(listing)))


@needs(Right.EXPORT)
@require_GET
def workers_csv(request: Request, pk: int) -> HttpResponseBase:
    """The workers that the filter leaves, as CSV."""
    campaign = campaign_of(request, pk)
    return _csv(campaign, "workers", review_tables.worker_lines(campaign, _rows_of(workers_listed(request, campaign))))


def _rows_of(listing: Listing) -> QuerySet[Any]:
    return cast("QuerySet[Any]", listing.rows)


def _csv(campaign: Campaign, what: str, lines: Iterator[str]) -> HttpResponseBase:
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slugify(campaign.name) or campaign.pk}-{what}.csv"'
    return response

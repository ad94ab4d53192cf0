"""The pages of work: a campaign's, one assignment's, one worker's."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods

from core.errors import NotYours, Refused
from core.http import Request, refuse_in, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs
from judgments import lists as judgment_lists
from judgments import quality
from judgments import selectors as judgment_selectors
from judgments.decisions import decisions_in, decisions_on
from judgments.models import Decision
from platforms.models import Publication
from platforms.money.pay_desk import sums_of_work
from pools.counting import count_of
from pools.http import campaign_of
from pools.models import Campaign
from review import deciding, detail
from review.views import assignments_listed, recount, workers_listed
from tasks import selectors as task_selectors
from tasks.models import Worker

LATEST = 10  # decisions on many that the page of work shows
DECISIONS = 20  # that a page of a list of them shows


class ReasonForm(forms.Form):
    """Why somebody decides what they decide."""

    why = forms.CharField(label=gettext_lazy("Why"), max_length=2000, widget=forms.Textarea(attrs={"rows": 3}))


@needs(Right.SEE)
@require_GET
def work(request: Request, pk: int) -> HttpResponseBase:
    """Who did what: assignments, and workers."""
    campaign = campaign_of(request, pk)
    count = count_of(campaign, "work")
    listing = assignments_listed(request, campaign, judgment_selectors.assignments_of(campaign), count)
    workers = workers_listed(request, campaign)
    actions = deciding.actions_of(campaign)
    context = {
        "campaign": campaign,
        "summary": judgment_selectors.summary_of(campaign),
        "listing": listing,
        "rows": judgment_selectors.assignment_rows(campaign, list(listing.page)),
        "workers": workers,
        "worker_rows": judgment_selectors.worker_rows(campaign, list(workers.page)),
        "actions": actions,
        "worker_actions": [action for action in actions if action[0] not in ("exclude-all", "bonus")],
        "bulks": campaign.bulk_decisions.select_related("by").order_by("-id")[:LATEST],
        "decisions": _decisions(request, decisions_in(campaign)),
    }
    return render_lists(request, "review/work.html", context)


def _decisions(request: Request, decisions: QuerySet[Decision]) -> Listing:
    """The decisions in a campaign, about a worker, or about an assignment."""
    sorts, narrow = judgment_lists.DECISION_SORTS, judgment_lists.DecisionFilter
    columns = judgment_lists.DECISION_COLUMNS
    return Listing(request, decisions, sorts=sorts, narrow=narrow, key="decisions", size=DECISIONS, columns=columns)


@needs(Right.SEE, changing=Right.DECIDE)
@require_http_methods(["GET", "POST"])
def assignment(request: Request, pk: int, assignment_pk: int) -> HttpResponseBase:
    """One assignment, item by item; POST excludes its data, or uses them again."""
    campaign = campaign_of(request, pk)
    assignment = judgment_selectors.assignments_of(campaign).filter(pk=assignment_pk).first()
    if assignment is None:
        raise NotYours(_("This campaign has no such assignment."))
    form, status = ReasonForm(), 200
    if request.method == "POST":
        form = ReasonForm(request.POST)
        status = 400
        if form.is_valid():
            decision = {"assignment": assignment, "by": request.user, "at": timezone.now(), **form.cleaned_data}
            try:
                if request.POST.get("decision") == "restore":
                    quality.assignment_restore(**decision)
                    messages.success(request, _("The data are used again, for the pairs that still need a judgment."))
                else:
                    quality.assignment_exclude(**decision)
                    waiting = judgment_selectors.waiting_pairs(assignment)
                    text = ngettext(
                        "The data are excluded, and %(count)d pair is waiting for another worker.",
                        "The data are excluded, and %(count)d pairs are waiting for other workers.",
                        waiting,
                    )
                    full = _(
                        "The data are excluded. No new judgments are needed, because others have judged all the pairs."
                    )
                    messages.success(request, text % {"count": waiting} if waiting else full)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                recount()
                return see_other("review:assignment", pk, assignment_pk)
    context = {
        "campaign": campaign,
        "assignment": assignment,
        "items": detail.item_details(assignment),
        "reversing": deciding.about_reversing(campaign) if deciding.is_rejected(assignment) else "",
        "notes": assignment.notes.order_by("id"),
        "pay": sums_of_work(campaign.assignments.filter(pk=assignment.pk)),
        "decisions": _decisions(request, assignment.decisions.select_related("campaign", "by").order_by("-id")),
        "form": form,
        "lang": campaign.collection.language,
    }
    return render_lists(request, "review/assignment.html", context, status=status)


@needs(Right.SEE, changing=Right.DECIDE)
@require_http_methods(["GET", "POST"])
def worker(request: Request, pk: int, worker_pk: int) -> HttpResponseBase:
    """One worker in a campaign; POST bars them from the lab's further HITs, or welcomes them again."""
    campaign = campaign_of(request, pk)
    person = task_selectors.workers_of(campaign).filter(pk=worker_pk).first()
    if person is None:
        raise NotYours(_("This campaign has no such worker."))
    form, status = ReasonForm(), 200
    if request.method == "POST":
        form = ReasonForm(request.POST)
        status = 400
        if form.is_valid():
            _decide_worker(request, campaign, person, form.cleaned_data["why"])
            return see_other("review:worker", pk, worker_pk)
    workers = judgment_selectors.workers_with_work(campaign).filter(pk=person.pk)
    listing = assignments_listed(request, campaign, judgment_selectors.assignments_of(campaign).filter(worker=person))
    context = {
        "campaign": campaign,
        "worker": person,
        "pay": sums_of_work(person.assignments.filter(campaign=campaign)),
        "may_write": person.external_id
        and Publication.objects.filter(campaign=campaign).exclude(state="draft").exists(),
        "row": next(iter(judgment_selectors.worker_rows(campaign, list(workers))), None),
        "listing": listing,
        "rows": judgment_selectors.assignment_rows(campaign, list(listing.page)),
        "actions": deciding.actions_of(campaign),
        "decisions": _decisions(request, decisions_on(person)),
        "form": form,
    }
    return render_lists(request, "review/worker.html", context, status=status)


def _decide_worker(request: Request, campaign: Campaign, person: Worker, why: str) -> None:
    decision: dict[str, Any] = {
        "worker": person,
        "campaign": campaign,
        "why": why,
        "by": request.user,
        "at": timezone.now(),
    }
    if request.POST.get("decision") == "unbar":
        quality.worker_unbar(**decision)
        messages.success(request, _("The worker can take HITs from this lab again."))
    else:
        quality.worker_bar(**decision)
        messages.success(request, _("The worker gets no more HITs from this lab."))

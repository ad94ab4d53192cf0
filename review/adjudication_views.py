"""The researcher's pages for settling disagreements: pairs whose judgments disagree, and one of them side by side."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from core.http import Request
from core.lists import Listing, render_lists
from core.roles import Right, needs
from judgments import selectors as judgment_selectors
from judgments.models import Adjudication
from pools.http import campaign_of
from pools.models import Campaign
from review import adjudicating
from review import lists as review_lists
from tasks import selectors as task_selectors
from tasks.models import Worker


@needs(Right.SEE)
@require_GET
def disagreements(request: Request, pk: int) -> HttpResponseBase:
    """The pairs whose judgments disagree."""
    campaign = campaign_of(request, pk)
    worker = _worker(request, campaign)
    listing = Listing(
        request,
        adjudicating.disagreements(campaign, worker),
        sorts=review_lists.DISAGREEMENT_SORTS,
        narrow=review_lists.DisagreementFilter,
        columns=review_lists.DISAGREEMENT_COLUMNS,
        lines=adjudicating.disagreement_rows,
    )
    context = {
        "campaign": campaign,
        "worker": worker,
        "listing": listing,
        "rows": adjudicating.disagreement_rows(list(listing.page)),
        "first": adjudicating.next_waiting(campaign, worker=worker),
        "kept": _kept(worker),
        "summary": judgment_selectors.summary_of(campaign),
        "lang": campaign.collection.language,
    }
    return render_lists(request, "review/disagreements.html", context)


@needs(Right.SEE, changing=Right.DECIDE)
@require_http_methods(["GET", "POST"])
def disagreement(request: Request, pk: int, pair_pk: int) -> HttpResponse:
    """One pair, side by side, with every judgment on it; POST decides, or takes the decision back."""
    campaign = campaign_of(request, pk)
    pair, worker = adjudicating.pair_of(campaign, pair_pk), _worker(request, campaign)
    if request.method == "POST":
        by, at, sent = request.user, timezone.now(), request.POST.get("seen", "")
        key = int(sent[:18]) if sent.isdecimal() else 0
        if "undo" in request.POST:
            adjudicating.adjudication_undo(campaign=campaign, pair=pair, expected=key, by=by, at=at)
            messages.success(request, _("The decision is taken back: the judgments count again."))
            return _go(campaign, pair.pk, worker)
        choice, note = request.POST.get("choice", ""), request.POST.get("note", "")
        adjudicating.pair_adjudicate(campaign=campaign, pair=pair, choice=choice, note=note, expected=key, by=by, at=at)
        following = adjudicating.next_waiting(campaign, after=pair.pk, worker=worker)
        if following is None:
            of_worker = _("Every disagreement on pairs that this worker judged is settled.")
            messages.success(request, of_worker if worker else _("Every disagreement is settled."))
        return _go(campaign, following, worker, after=pair.pk)
    after = request.GET.get("after", "")
    before = Adjudication.objects.filter(
        campaign=campaign, pair=int(after[:18]) if after.isdecimal() else 0, undone_at=None, by=request.user
    )
    context = {
        "campaign": campaign,
        "case": adjudicating.pair_case(campaign, pair),
        "choices": adjudicating.Choice.choices,
        "following": adjudicating.next_waiting(campaign, after=pair.pk, worker=worker),
        "before": before.first(),
        "kept": _kept(worker),
        "lang": campaign.collection.language,
    }
    return render(request, "review/disagreement.html", context)


def _worker(request: Request, campaign: Campaign) -> Worker | None:
    """The worker whose disagreements alone are asked for."""
    key = request.GET.get("worker", "")
    return task_selectors.workers_of(campaign).filter(pk=int(key[:18])).first() if key.isdecimal() else None


def _kept(worker: Worker | None) -> str:
    """What the addresses of these pages hand on."""
    return "" if worker is None else f"?{urlencode({'worker': worker.pk})}"


def _go(campaign: Campaign, pair: int | None, worker: Worker | None, after: int | None = None) -> HttpResponse:
    """To a pair, or to the list without one."""
    params = {"worker": worker.pk if worker else None, "after": after if pair else None}
    query = urlencode({name: value for name, value in params.items() if value is not None})
    address = (
        reverse("review:disagreements", args=[campaign.pk])
        if pair is None
        else reverse("review:disagreement", args=[campaign.pk, pair])
    )
    return HttpResponseRedirect(f"{address}?{query}" if query else address, status=303)

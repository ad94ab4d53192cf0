"""What workers reported and wrote, for the researcher: pairs with which something is wrong, and notes."""

import logging
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from kombu.exceptions import OperationalError

from core.errors import BadRequest, NotYours
from core.http import Request, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs
from judgments import reported
from judgments.models import PairDecision
from pools.http import campaign_of
from pools.models import Campaign, Pair
from review import jobs as review_jobs
from review import lists as review_lists
from review import reports as report_services

SHOWN = 20  # pairs, with both passages, or notes, on a page
log = logging.getLogger(__name__)


@needs(Right.SEE, changing=Right.DECIDE)
@require_http_methods(["GET", "POST"])
def reports(request: Request, pk: int) -> HttpResponseBase:
    """Reported pairs, test pairs and workers' notes; POST decides about a pair, or marks a note as read."""
    campaign = campaign_of(request, pk)
    if request.method == "POST":
        if "test" in request.POST:
            return _drop(request, campaign)
        return _read(request, campaign) if "note" in request.POST else _decide(request, campaign)
    pairs = Listing(
        request,
        reported.reported_pairs(campaign),
        narrow=review_lists.ReportFilter,
        size=SHOWN,
        columns=review_lists.REPORT_COLUMNS,
        lines=partial(reported.reported_rows, campaign),
    )
    tests = Listing(
        request,
        reported.reported_tests(campaign),
        narrow=review_lists.TestReportFilter,
        key="tests",
        size=SHOWN,
        columns=review_lists.TEST_REPORT_COLUMNS,
        lines=partial(reported.reported_test_rows, campaign),
    )
    notes = reported.notes_of(campaign)
    context = {
        "campaign": campaign,
        "listing": pairs,
        "rows": reported.reported_rows(campaign, list(pairs.page)),
        "tests": tests,
        "test_rows": reported.reported_test_rows(campaign, list(tests.page), most=reported.MOST_REPORTS),
        "notes": Listing(
            request, notes, narrow=review_lists.NoteFilter, key="notes", size=SHOWN, columns=review_lists.NOTE_COLUMNS
        ),
        "lang": campaign.collection.language,
    }
    return render_lists(request, "review/reports.html", context)


def _decide(request: Request, campaign: Campaign) -> HttpResponse:
    pair = Pair.objects.filter(pk=_key(request, "pair"), pool__campaign=campaign).first()
    if pair is None:
        raise NotYours(_("This campaign has no such pair."))
    kind, why = request.POST.get("decision", ""), request.POST.get("why", "")
    report_services.pair_decide(campaign=campaign, pair=pair, kind=kind, why=why, by=request.user, at=timezone.now())
    if kind == PairDecision.Kind.SET_ASIDE:
        messages.success(request, _("The pair is set aside: nobody is asked about it any more."))
    else:
        messages.success(request, _("The reports are dismissed: workers are asked about the pair where it needs it."))
    return see_other("review:reports", campaign.pk)


def _drop(request: Request, campaign: Campaign) -> HttpResponse:
    test = campaign.test_pairs.filter(pk=_key(request, "test")).first()
    if test is None:
        raise NotYours(_("This campaign has no such test pair."))
    why, at = request.POST.get("why", ""), timezone.now()
    bulks = report_services.test_drop(campaign=campaign, test=test, why=why, by=request.user, at=at)
    for bulk in bulks:
        try:
            review_jobs.decide.delay(bulk.pk)
        except OperationalError as error:
            log.warning("Decision %s waits for the next round: %s", bulk.pk, error)
    messages.success(request, _("The test pair is dropped: it says nothing about workers any more."))
    if bulks:
        messages.info(
            request,
            _("What was decided for it alone about work and workers is being taken back. You can undo that here."),
        )
        return see_other("review:bulk", campaign.pk, bulks[0].pk)
    return see_other("review:reports", campaign.pk, fragment="tests")


def _read(request: Request, campaign: Campaign) -> HttpResponse:
    about: dict[str, Any] = {
        "campaign": campaign,
        "note_id": _key(request, "note"),
        "by": request.user,
        "at": timezone.now(),
    }
    if "answer" in request.POST:
        report_services.note_answer(answer=request.POST["answer"], **about)
        messages.success(request, _("The answer is on the receipt, where the worker reads it."))
    else:
        report_services.note_mark_read(**about)
    return see_other("review:reports", campaign.pk, fragment="notes")


def _key(request: Request, name: str) -> int:
    digits = request.POST.get(name, "")
    if not digits.isdecimal():
        raise BadRequest(_("Choose what to decide on."))
    return int(digits[:18])

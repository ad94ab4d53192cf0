"""Where a worker says that something is wrong with a pair, and writes to the research group about finished work.

It works without a script, and never counts against them.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST
from django_ratelimit.decorators import ratelimit

from core.errors import BadRequest, NotYours, Refused
from core.http import see_other
from core.roles import Right, needs
from judgments import selectors as judgment_selectors
from judgments import worker_reports
from judgments.models import PairReport
from judgments.pages import worker as worker_pages
from judgments.pages.framing import in_platforms_frame, platform_of
from platforms.money.pay_desk import BY_HAND
from pools.models import Campaign
from tasks import links
from tasks.models import Assignment


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_platforms_frame
def report(request: HttpRequest, assignment: Assignment, token: str, position: int) -> HttpResponse:
    """What is wrong with one item; POST stores it, and goes on to the next."""
    if assignment.state != Assignment.State.ACTIVE:
        return see_other("judging:done", token)
    total = assignment.items.count()
    if not 1 <= position <= total:
        raise NotYours(worker_pages.no_question(position))
    error = ""
    if request.method == "POST":
        words = {"reason": request.POST.get("reason", ""), "note": request.POST.get("note", "")}
        try:
            worker_reports.pair_report(assignment_id=assignment.pk, position=position, at=timezone.now(), **words)
        except BadRequest as refused:
            error = str(refused)
        else:
            return go_on(token, position, total)
    standing = judgment_selectors.standing_reports(assignment).filter(item__position=position).first()
    values = {"reason": standing.reason, "note": standing.note} if standing else {}
    context = report_context(assignment.campaign, token, position, total, values | request.POST.dict())
    context |= {"error": error, "framed": platform_of(assignment) is not None}
    return render(request, "judgments/pages/report.html", context, status=400 if error else 200)


def go_on(token: str, position: int, total: int) -> HttpResponse:
    """The next comparison, or the end."""
    if position == total:
        return see_other("judging:finish", token)
    return see_other("judging:item", token, position + 1)


def report_context(
    campaign: Campaign, token: str, position: int, total: int, words: Mapping[str, str]
) -> dict[str, Any]:
    """What the page shows, with the reason and the note that it is filled in with."""
    return {
        "task": worker_pages.task_context(campaign),
        "position": position,
        "total": total,
        "reasons": PairReport.Reason.choices,
        "reason": words.get("reason", ""),
        "note": words.get("note", ""),
        "longest_note": worker_reports.LONGEST_NOTE,
        "post_url": reverse("judging:report", args=[token, position]),
        "back_url": reverse("judging:item", args=[token, position]),
    }


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_POST
@in_platforms_frame
def write(request: HttpRequest, assignment: Assignment, token: str) -> HttpResponse:
    """Store a note from the receipt."""
    try:
        worker_reports.note_write(
            assignment_id=assignment.pk,
            text=request.POST.get("text", ""),
            at=timezone.now(),
            about_pay="about_pay" in request.POST,
        )
    except Refused as refused:
        refused.way_out = (reverse("judging:done", args=[token]), _("See your receipt"))
        raise
    return see_other("judging:done", token)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@ratelimit(key="ip", rate="20/m", method="POST", block=False)  # type: ignore[untyped-decorator]
def ask_about_pay(request: HttpRequest, link: str) -> HttpResponse:
    """Whoever has a receipt code can say that they were not paid, or too little, without the link of their receipt."""
    campaign = worker_pages.campaign_at(request, link)
    typed = {"receipt": request.POST.get("receipt", "").strip().upper(), "text": request.POST.get("text", "")}
    problem = ""
    if request.method == "POST":
        if getattr(request, "limited", False):
            raise worker_pages.TooMany(_("Please wait a minute, and try again."))
        work = campaign.assignments.filter(BY_HAND, receipt=typed["receipt"]).exclude(receipt="").first()
        if work is not None:
            try:
                worker_reports.note_write(assignment_id=work.pk, text=typed["text"], at=timezone.now(), about_pay=True)
            except Refused as refused:
                problem = str(refused)
            else:
                return see_other("judging:done", links.assignment_token(work))
        else:
            problem = _("No work here has this receipt code. Please check it.")
    context = {
        "task": worker_pages.task_context(campaign),
        "typed": typed,
        "problem": problem,
        "longest_note": worker_reports.LONGEST_NOTE,
        "post_url": reverse("judging:ask_about_pay", args=[link]),
    }
    return render(request, "judgments/pages/ask_about_pay.html", context, status=400 if problem else 200)

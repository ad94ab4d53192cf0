"""Practice before the first task: pairs with a known answer, and after each what is right and why.

It works without a script. What is answered is stored as it is answered, so it goes on after a reload or on another
device, and none of it is a judgment.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from core.errors import NotYours
from core.http import see_other
from core.roles import Right, needs
from judgments import practising
from judgments import selectors as judgment_selectors
from judgments.pages import worker as worker_pages
from judgments.pages.framing import in_platforms_frame, platform_of
from tasks import links
from tasks.models import Assignment, Practice
from tasks.practice import Standing


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_platforms_frame
def practice(request: HttpRequest, assignment: Assignment, token: str) -> HttpResponse:
    """How practice stands, and the way on; POST skips it, or begins once more."""
    standing = practising.standing_at(assignment)
    if request.method == "POST":
        change = practising.practice_again if standing.is_open else practising.practice_skip
        change(assignment=assignment, at=timezone.now())
        return after_post(token, practising.standing_at(assignment), _next_url(assignment, token))
    if assignment.state != Assignment.State.ACTIVE and not standing.is_refused:
        return see_other("judging:done", token)
    if onward_to := onward(token, standing):
        return onward_to
    framed = platform_of(assignment) is not None
    context = practice_context(token, standing, _next_url(assignment, token)) | {"framed": framed}
    if not framed:
        home_token = links.home_token_of(assignment.worker_id, assignment.campaign_id)
        context["home_url"] = reverse("judging:home", args=[home_token])
    return render(request, "judgments/pages/practice.html", context)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_platforms_frame
def practice_pair(request: HttpRequest, assignment: Assignment, token: str, position: int) -> HttpResponse:
    """One practice pair, and once it is answered, what is right and why."""
    if request.method == "POST":
        shown_at = worker_pages.shown_from(request.POST.get("shown", ""), assignment.pk, -position)
        number = practising.practice_answer(
            assignment=assignment,
            position=position,
            preferred=request.POST.get("preferred", ""),
            shown_at=shown_at,
            at=timezone.now(),
        )
        return see_feedback(token, position, number)
    standing = practising.standing_at(assignment)
    if assignment.state != Assignment.State.ACTIVE and not standing.is_refused:
        return see_other("judging:done", token)
    context = pair_context(request, standing, assignment.pk, token, position)
    context["framed"] = platform_of(assignment) is not None
    return render(request, "judgments/pages/practice_pair.html", context)


def _next_url(assignment: Assignment, token: str) -> str:
    return worker_pages.next_url(token, judgment_selectors.unanswered_positions(assignment))


# --- what the pages show; of real work, and of a trial


def see_feedback(token: str, position: int, number: int) -> HttpResponse:
    """303 to a pair that was answered in a go."""
    address = reverse("judging:practice_pair", args=[token, position])
    return HttpResponseRedirect(f"{address}?go={number}", status=303)


def after_post(token: str, standing: Standing, next_url: str) -> HttpResponse:
    """On to what follows a skip (`next_url`), or a new beginning."""
    if standing.waiting:
        return see_other("judging:practice_pair", token, standing.waiting[0])
    return HttpResponseRedirect(next_url, status=303)


def onward(token: str, standing: Standing) -> HttpResponse | None:
    """Where the page about practice sends who has nothing to read there: to the pair that waits, or the instructions
    of a campaign without practice.
    """
    if not standing.pairs:
        return see_other("judging:instructions", token)
    failed_once = standing.last is not None and standing.go is not standing.last
    if standing.waiting and not failed_once:
        return see_other("judging:practice_pair", token, standing.waiting[0])
    return None


def practice_context(token: str, standing: Standing, next_url: str) -> dict[str, Any]:
    """How a go ended, and what can be done now. `next_url` is that of the first comparison."""
    assert standing.last is not None
    return {
        "task": worker_pages.task_context(standing.campaign),
        "right": standing.last.right,
        "total": len(standing.pairs),
        "needed": standing.needed,
        "is_open": standing.is_open,
        "is_skipped": standing.last.state == Practice.State.SKIPPED,
        "is_refused": standing.is_refused,
        "try_url": reverse("judging:practice_pair", args=[token, 1]),
        "post_url": reverse("judging:practice", args=[token]),
        "next_url": next_url,
        "instructions_url": reverse("judging:instructions", args=[token]),
        "leave_url": reverse("judging:leave", args=[token]),
    }


def pair_context(
    request: HttpRequest, standing: Standing, assignment_id: int, token: str, position: int
) -> dict[str, Any]:
    """One practice pair, in the go under way or in the one that the address names."""
    number = request.GET.get("go", "")
    item = standing.shown(position, int(number) if number.isdecimal() and len(number) < 6 else None)
    if item is None:
        raise NotYours(worker_pages.no_question(position))
    campaign = standing.campaign
    after = reverse("judging:practice_pair", args=[token, standing.waiting[0]]) if standing.waiting else ""
    ended = not standing.go.answers or not after  # the go that this answer was given in
    return {
        "task": worker_pages.offer_context(campaign),
        "item": item,
        "lang": campaign.language,
        "answered": position if item.preferred else position - 1,
        "shown": worker_pages.shown_token(assignment_id, -position, timezone.now()),
        "post_url": reverse("judging:practice_pair", args=[token, position]),
        "next_url": reverse("judging:practice", args=[token]) if ended else after,
        "last": ended,
        "instructions_url": reverse("judging:instructions", args=[token]),
        "leave_url": reverse("judging:leave", args=[token]),
        "may_skip": standing.may_skip,
        "skip_url": reverse("judging:practice", args=[token]),
    }

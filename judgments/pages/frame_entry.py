"""Where a platform's frame begins: a preview without an assignment, consent with one, then the pages that all share."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from django_ratelimit.decorators import ratelimit

from core.addresses import address_digest
from core.errors import NotYours, Refused
from core.http import see_other
from core.languages import speak
from core.roles import Right, needs
from judgments.pages import worker as worker_pages
from judgments.pages.example import worked_example
from judgments.pages.framing import allow_frame, submit_host
from platforms import arriving
from platforms.attention import look_note, turned_away_note
from platforms.models import Publication
from tasks import links
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Hit


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@ratelimit(key="ip", rate="120/m", method="POST", block=False)  # type: ignore[untyped-decorator]
def arrive(request: HttpRequest, link: str, number: int) -> HttpResponse:
    """A HIT in a platform's frame. Nothing is stored until the worker, who has accepted it there, agrees here."""
    publication = Publication.objects.select_related("campaign__collection", "campaign__lab").filter(
        campaign__link=link.replace("\0", "")
    )
    hit = Hit.objects.filter(campaign__link=link.replace("\0", ""), number=number).first()
    publication_ = publication.first()
    if publication_ is None or hit is None:
        raise NotYours(_("There is no task at this address. Please return it; it does not count against you."))
    speak(request, publication_.campaign.language)
    platform = submit_host(publication_)
    if request.method != "HEAD":
        look_note(publication_, timezone.now())
    try:
        return allow_frame(_answer_arrival(request, publication_, hit), platform)
    except Refused as refused:
        refused.framed_by = platform
        if isinstance(refused, task_services.NoWork):
            turned_away_note(publication_, request.GET.get("assignmentId", ""))
        raise


def _answer_arrival(request: HttpRequest, publication: Publication, hit: Hit) -> HttpResponse:
    campaign = publication.campaign
    assignment_id, worker_id = request.GET.get("assignmentId", ""), request.GET.get("workerId", "")
    if not (arriving.may_be_an_id(assignment_id) and arriving.may_be_an_id(worker_id)):
        bonus = campaign.reward - publication.listed
        context = {
            "task": worker_pages.offer_context(campaign, publication),
            "example": worked_example(campaign),
            "framed": True,
            "listed": campaign.local_money(publication.listed),
            "bonus": campaign.local_money(bonus) if bonus > 0 else "",
            "return_it": publication.pay == Publication.Pay.RETURN_AND_COMPENSATE,
        }
        return render(request, "judgments/pages/preview.html", context)
    text = task_selectors.current_consent(campaign)
    if text is None:
        raise Refused(_("The work has not started yet. Please return this task; it does not count against you."))
    here = Assignment.objects.filter(
        hit=hit, platform_assignment_id=assignment_id, worker__external_id=worker_id
    ).select_related("worker")
    mine = here.first()
    if mine is not None and task_selectors.has_consented(mine.worker, campaign):
        return see_other("judging:instructions", links.assignment_token(mine))
    if getattr(request, "limited", False):
        raise worker_pages.TooMany(_("Many people are starting at once. Please wait a minute and try again."))
    if mine is None:
        arriving.must_be_free(publication=publication, hit=hit, at=timezone.now())
    if request.method != "POST" or not worker_pages.was_shown(text, request):
        context = {
            "task": worker_pages.offer_context(campaign, publication),
            "consent": worker_pages.consent_context(campaign),
            "post_url": request.get_full_path(),
            "decline_url": reverse("judging:declined_in_frame", args=[campaign.link]),
            "framed": True,
        }
        return render(request, "judgments/pages/consent.html", context)
    assignment = arriving.assignment_arrive(
        publication=publication,
        hit=hit,
        assignment_id=assignment_id,
        worker_id=worker_id,
        came_from=address_digest(request),
        at=timezone.now(),
    )
    task_services.consent_give(worker=assignment.worker, text=text)
    return see_other("judging:instructions", links.assignment_token(assignment))


@needs(Right.PUBLIC)
@never_cache
def declined_in_frame(request: HttpRequest, link: str) -> HttpResponse:
    """The page for a worker in a platform's frame who did not agree. Nothing was stored; they return the task there."""
    publication = Publication.objects.filter(campaign__link=link.replace("\0", "")).first()
    if publication is None:
        raise NotYours(_("There is no task at this address."))
    speak(request, publication.campaign.language)
    context = {"task": worker_pages.task_context(publication.campaign), "framed": True}
    return allow_frame(render(request, "judgments/pages/declined.html", context), submit_host(publication))

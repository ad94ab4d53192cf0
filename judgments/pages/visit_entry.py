"""Where people come to us from a platform that sends them here, in no frame: consent, then the pages that all share.

The ids in the address can be typed by anybody. They are believed once the platform confirms them, and nothing is stored
before.
"""

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe
from django_ratelimit.decorators import ratelimit

from core.addresses import address_digest
from core.errors import NotYours, Refused
from core.http import see_other
from core.languages import speak
from core.roles import Right, needs
from judgments.pages import worker as worker_pages
from platforms.arriving import may_be_an_id, worker_of
from platforms.attention import look_note
from platforms.jobs import offer_soon
from platforms.models import Publication
from platforms.publishing.protocol import Studies
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Ending
from tasks import links, trials
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tasks.next_hit import next_hit

_CHECKED = "the address of a visit was checked"
_READING = 60 * 60 * 2  # seconds that somebody may take to read the consent


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@ratelimit(key="ip", rate="120/m", method="POST", block=False)  # type: ignore[untyped-decorator]
def arrive(request: HttpRequest, link: str) -> HttpResponse:
    """Somebody comes from the platform. The same visit again goes on where it was."""
    if to_trial := _arrive_to_test(request, link):
        return to_trial
    publication = _publication(request, link)
    campaign, adapter = publication.campaign, adapter_of(publication)
    if not isinstance(adapter, Studies):
        raise NotYours(_("There is no task at this address."))
    if request.method != "HEAD":
        look_note(publication, timezone.now())
    study, person, visit = adapter.visit_of(request.GET)
    has_ids = may_be_an_id(person) and may_be_an_id(visit)
    here = Assignment.objects.filter(campaign=campaign, platform_assignment_id=visit, worker__external_id=person)
    mine = here.select_related("worker").first() if has_ids else None
    goes_on = mine is not None and task_selectors.has_consented(mine.worker, campaign)
    if not _was_checked(request, visit, person):
        adapter.check_visit(publication, request.GET, goes_on=goes_on)
    if mine is not None and goes_on:
        return see_other("judging:instructions", links.assignment_token(mine))
    text = task_selectors.current_consent(campaign)
    if text is None:
        raise Refused(_("The work has not started yet. Please return this task; it does not count against you."))
    if getattr(request, "limited", False):
        raise worker_pages.TooMany(_("Many people are starting at once. Please wait a minute and try again."))
    if request.method != "POST" or not worker_pages.was_shown(text, request):
        _must_find_a_task(publication, person if has_ids else "")
        context = {
            "task": worker_pages.offer_context(campaign, publication),
            "consent": worker_pages.consent_context(campaign),
            "post_url": request.get_full_path(),
            "decline_url": reverse("judging:visit_declined", args=[link]),
            "checked": signing.dumps([visit, person], salt=_CHECKED),
            "framed": True,
        }
        return render(request, "judgments/pages/consent.html", context)
    adapter.confirm_arrival(publication, study=study, worker_id=person, assignment_id=visit)
    worker = worker_of(publication=publication, worker_id=person)
    try:
        assignment = task_services.visit_take(
            worker=worker,
            campaign=campaign,
            visit=visit,
            lease=publication.assignment_duration,
            came_from=address_digest(request),
            at=timezone.now(),
        )
    except task_services.NoWork as nothing:
        _show_the_way_back(nothing, publication)
        raise
    offer_soon(campaign.pk)
    task_services.consent_give(worker=worker, text=text)
    return see_other("judging:instructions", links.assignment_token(assignment))


def _must_find_a_task(publication: Publication, person: str) -> None:
    """Raise NoWork, before they consent, where somebody would get no HIT now. They may come again on the same visit."""
    campaign = publication.campaign
    worker = Worker.objects.filter(lab=campaign.lab_id, platform=publication.platform, external_id=person).first()
    if next_hit(worker or Worker(), campaign, timezone.now()) is None:
        nothing = task_services.NoWork(task_services.nothing_left_reason(campaign))
        _show_the_way_back(nothing, publication)
        raise nothing


def _show_the_way_back(nothing: task_services.NoWork, publication: Publication) -> None:
    """Lead back to the platform, where the submission is returned."""
    if way_back := adapter_of(publication).exit_of(publication, Ending.NOTHING):
        nothing.way_out = (way_back.address, _("Return to %(panel)s") % {"panel": way_back.panel})


def _was_checked(request: HttpRequest, visit: str, person: str) -> bool:
    """Whether the page that was agreed to was opened from an address that was right then: it is so for two minutes, and
    reading the consent takes its time.
    """
    try:
        checked = signing.loads(request.POST.get("checked", ""), salt=_CHECKED, max_age=_READING)
    except signing.BadSignature:
        return False
    return bool(checked == [visit, person])


@needs(Right.PUBLIC)
@never_cache
@require_safe
def declined(request: HttpRequest, link: str) -> HttpResponse:
    """The page for somebody who did not agree. Nothing was stored; the code says so to the platform."""
    publication = _publication(request, link)
    context = {
        "task": worker_pages.task_context(publication.campaign),
        "framed": True,
        "exit": adapter_of(publication).exit_of(publication, Ending.DECLINED),
    }
    return render(request, "judgments/pages/declined.html", context)


def _arrive_to_test(request: HttpRequest, link: str) -> HttpResponse | None:
    """Send a test participant, who comes from the test study of the publication at a link, to the pages of a trial,
    which store nothing. None for anybody else.
    """
    named = Publication.objects.select_related("campaign__lab").filter(campaign__link=link.replace("\0", ""))
    publication = named.exclude(test_study_id="").first()
    adapter = None if publication is None else adapter_of(publication)
    if publication is None or not isinstance(adapter, Studies):
        return None
    study, person, visit = adapter.visit_of(request.GET)
    if study != publication.test_study_id:
        return None
    speak(request, publication.campaign.language)
    adapter.confirm_arrival(publication, study=study, worker_id=person, assignment_id=visit)
    return see_other("judging:preview", trials.trial_sent(publication.campaign).token)


def _publication(request: HttpRequest, link: str) -> Publication:
    """The publication at a link, once it has been published."""
    named = Publication.objects.select_related("campaign__collection", "campaign__lab").filter(
        campaign__link=link.replace("\0", "")
    )
    publication = named.exclude(state=Publication.State.DRAFT).first()
    if publication is None:
        raise NotYours(_("There is no task at this address."))
    speak(request, publication.campaign.language)
    return publication

"""The workers' pages. They need no account, no cookie and no script: the address carries a signed token.

The token in the address is the proof that a form comes from the worker (it cannot be guessed, and no other site can
read it), so these views take no CSRF cookie. GET never writes.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing
from django.db.models import Count, F, Q, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_ratelimit.decorators import ratelimit

from core.errors import BadRequest, NotNow, NotYours, Refused
from core.http import see_other
from core.languages import speak
from core.lists import Listing
from core.models import Lab
from core.money import in_local_words, owed
from core.roles import Right, needs
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.pages.example import worked_example
from judgments.pages.framing import allow_frame, expiring_in_frame, in_platforms_frame, platform_of, submit_host
from judgments.practising import standing_at
from judgments.worker_reports import LONGEST_NOTE
from platforms.jobs import offer_soon
from platforms.models import Publication
from platforms.money.pay_desk import sums_of_work, with_pay
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Ending
from pools.models import Campaign
from pools.practice import practice_pairs_of, right_needed
from pools.wording import default_words
from tasks import links, outside_panels
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.consent import default_consent
from tasks.models import Assignment, ConsentText, OutsidePanel, Platform, Worker
from tasks.next_hit import next_hit
from tasks.outside_panels import Visitor
from tasks.paying import LONGEST_DETAIL, asked_at_open_link, pay_detail_write, pay_details, pay_words_of
from tasks.practice import Standing, practice_minutes

_SHOWN = "bestknown.shown"
_JOIN = "bestknown.join"
_ITEM_COUNT = Count("hit__items", filter=Q(hit__items__layout=F("layout")))  # of an assignment
_AT_THE_PLATFORM = gettext_lazy("Look for your next task where you found this one.")
RECEIPTS = 50  # on a page
LAST_LOOK = "look"  # in the address of a pair, for who comes from the last look at their answers
COOKIE_SECONDS = 60 * 60 * 24 * 90
COOKIE_PATH = "/c/"


# --- coming in


@needs(Right.PUBLIC)
@never_cache
@require_safe
def preview(request: HttpRequest, link: str) -> HttpResponse:
    """What the work is, before anything is agreed or stored. A worker who has been here before is "
    "redirected to their home page."""
    campaign = campaign_at(request, link)
    visitor = outside_panels.visitor_of(campaign, request.GET)
    worker = None if visitor else _worker_in_cookie(request, campaign)
    if visitor is not None and (begun := _begun(visitor)):
        return begun
    if worker is not None and task_selectors.has_consented(worker, campaign):
        return see_other("judging:home", links.home_token(worker, campaign))
    context = {
        "task": offer_context(campaign),
        "paying": paying_context(campaign, visitor),
        "example": worked_example(campaign),
        "ask_url": "" if visitor or not campaign.reward else reverse("judging:ask_about_pay", args=[link]),
        "open": campaign.state == Campaign.State.OPEN
        and (visitor is not None or campaign.hits.filter(needed__gt=0).exists()),  # their panel waits for a code
        "start_url": reverse("judging:join", args=[link]) + _ids(visitor),
    }
    return render(request, "judgments/pages/preview.html", context)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@ratelimit(key="ip", rate="120/m", method="POST", block=False)  # type: ignore[untyped-decorator]
def join(request: HttpRequest, link: str) -> HttpResponse:
    """Consent from an open link: agreeing makes the worker, gives the personal address and the first task.

    A worker who has joined already (and opened the consent page again) stays the same worker.
    """
    campaign = campaign_at(request, link)
    if campaign.state != Campaign.State.OPEN:
        return see_other("judging:preview", link)
    text = task_selectors.current_consent(campaign)
    visitor = outside_panels.visitor_of(campaign, request.GET)
    returning = None if visitor else _worker_in_cookie(request, campaign)
    if request.method != "POST":
        if returning is not None and task_selectors.has_consented(returning, campaign):
            return see_other("judging:home", links.home_token(returning, campaign))
        form = signing.dumps(secrets.token_hex(12), salt=_JOIN)
        context = {
            "task": offer_context(campaign),
            "paying": paying_context(campaign, visitor),
            "consent": consent_context(campaign),
            "post_url": f"{reverse('judging:join', args=[link])}{_ids(visitor, form=form)}",
            "decline_url": reverse("judging:declined", args=[link]) + _ids(visitor),
        }
        return render(request, "judgments/pages/consent.html", context)
    if getattr(request, "limited", False):
        raise TooMany(_("Many people are starting at once. Please wait a minute and try again."))
    try:
        form = signing.loads(request.GET.get("form", ""), salt=_JOIN, max_age=60 * 60 * 24)
    except signing.BadSignature:
        return _see_consent(link, visitor)
    if text is None:
        raise Refused(_("The work has not started yet. Please come back later."))
    if not was_shown(text, request):
        return _see_consent(link, visitor)
    if visitor is not None:
        visit = outside_panels.visit_begin(visitor=visitor, text=text, at=timezone.now())
        _keep_pay_detail(request, visit.worker, campaign)
        offer_soon(campaign.pk)
        if visit.assignment is None:
            return see_other("judging:home", links.home_token(visit.worker, campaign))
        return see_other("judging:instructions", links.assignment_token(visit.assignment))
    worker = returning or task_services.worker_join(campaign=campaign, form=form)
    _keep_pay_detail(request, worker, campaign)
    task_services.consent_give(worker=worker, text=text)
    token = links.home_token(worker, campaign)
    response = _take_task(links.Home(worker, campaign), token)
    response.set_cookie(
        _cookie_name(campaign.lab),
        token,
        max_age=COOKIE_SECONDS,
        path=COOKIE_PATH,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


@needs(Right.PUBLIC)
@never_cache
@require_safe
def declined(request: HttpRequest, link: str) -> HttpResponse:
    """The page for a visitor who did not agree. Nothing was stored."""
    campaign = campaign_at(request, link)
    panel = outside_panels.panel_of(campaign)
    context = {
        "task": task_context(campaign),
        "exit": None if panel is None else outside_panels.exit_without_consent(panel),
    }
    return render(request, "judgments/pages/declined.html", context)


def _begun(visitor: Visitor) -> HttpResponse | None:
    """Where a session goes on that has a HIT."""
    visit = outside_panels.visit_of(visitor)
    if visit is None or visit.assignment is None:
        return None
    return see_other("judging:instructions", links.assignment_token(visit.assignment))


def _ids(visitor: Visitor | None, **more: str) -> str:
    """The query of an address, with the ids that somebody came with."""
    values = dict(more)
    if visitor is not None:
        panel: OutsidePanel = visitor.panel
        values = {panel.person_parameter: visitor.person, panel.session_parameter: visitor.session} | values
    return f"?{urlencode(values)}" if values else ""


def _see_consent(link: str, visitor: Visitor | None) -> HttpResponse:
    return HttpResponseRedirect(reverse("judging:join", args=[link]) + _ids(visitor), status=303)


@needs(Right.PUBLIC)
@never_cache
@require_safe
def home(request: HttpRequest, token: str) -> HttpResponse:
    """A worker's home page: their task in progress, the next task, and receipts."""
    worker, campaign = _home(request, token)
    if not task_selectors.has_consented(worker, campaign):
        return see_other("judging:consent", token)
    assignment = task_selectors.current_assignment(worker, campaign)
    reason = _AT_THE_PLATFORM if worker.external_id else task_services.no_work_reason(worker, campaign)
    if not reason and assignment is None and next_hit(worker, campaign, timezone.now()) is None:
        reason = task_services.nothing_left_reason(campaign)
    finished = task_selectors.finished_assignments(worker, campaign)
    listing = Listing(request, with_pay(finished).annotate(item_count=_ITEM_COUNT), size=RECEIPTS)
    for done in listing.page:
        done.campaign = campaign
    context = {
        "task": offer_context(campaign),
        "paying": _paying_of(worker, campaign),
        "bookmark_url": links.home_address(worker, campaign) or request.build_absolute_uri(),
        "current": None if assignment is None else _current(assignment),
        "take_url": reverse("judging:take", args=[token]),
        "another_url": reverse("judging:another", args=[token]) if worker.joined_with else "",
        "available": not reason,
        "none_reason": reason,
        "exit": None if assignment else outside_panels.exit_of_worker(worker, campaign),
        "listing": listing,
        "receipts": [receipt_context(done, done.item_count, paid=done.paid) for done in listing.page],
        "total_paid": campaign.local_money(sums_of_work(finished).paid),
        "total_owed": campaign.local_money(finished.aggregate(total=Sum("owed", default=Decimal(0)))["total"]),
    }
    return render(request, "judgments/pages/home.html", context)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_POST
def begin_as_another(request: HttpRequest, token: str) -> HttpResponse:
    """Have this browser forget who came by the open link, for the next person at it. Nothing of the first is changed:
    their own address leads back.
    """
    home = _home(request, token)
    response = see_other("judging:preview", home.campaign.link)
    response.delete_cookie(_cookie_name(home.campaign.lab), path=COOKIE_PATH, samesite="Lax")
    return response


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, token: str) -> HttpResponse:
    """Consent at a personal link: of a panel member, or after the text has changed."""
    worker, campaign = _home(request, token)
    text = task_selectors.current_consent(campaign)
    if request.method == "POST" and text is not None:
        if not was_shown(text, request):
            return see_other("judging:consent", token)
        _keep_pay_detail(request, worker, campaign)
        task_services.consent_give(worker=worker, text=text)
        return see_other("judging:home", token)
    if text is None:
        raise Refused(_("The work has not started yet. Please come back later."))
    context = {
        "task": offer_context(campaign),
        "paying": _paying_of(worker, campaign),
        "consent": consent_context(campaign),
        "post_url": reverse("judging:consent", args=[token]),
        "decline_url": reverse("judging:declined", args=[campaign.link]),
    }
    return render(request, "judgments/pages/consent.html", context)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_POST
def leave_pay_detail(request: HttpRequest, token: str) -> HttpResponse:
    """Store what a worker leaves so that they can be paid, or delete it."""
    worker, campaign = _home(request, token)
    text = request.POST.get("pay_detail", "")
    try:
        pay_detail_write(worker=worker, campaign=campaign, text=text, at=timezone.now())
    except Refused as refused:
        refused.way_out = (reverse("judging:home", args=[token]), _("Go to my page"))
        raise
    return see_other("judging:home", token)


def _keep_pay_detail(request: HttpRequest, worker: Worker, campaign: Campaign) -> None:
    """What was typed beside the consent, if anything."""
    if text := request.POST.get("pay_detail", "").strip():
        pay_detail_write(worker=worker, campaign=campaign, text=text, at=timezone.now())


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_POST
def take(request: HttpRequest, token: str) -> HttpResponse:
    """Take the next task, or go on with the current one."""
    home = _home(request, token)
    if home.worker.external_id:
        raise Refused(_AT_THE_PLATFORM)
    if not task_selectors.has_consented(*home):
        return see_other("judging:consent", token)
    return _take_task(home, token)


def _take_task(home: links.Home, token: str) -> HttpResponse:
    try:
        assignment = task_services.assignment_take(worker=home.worker, campaign=home.campaign, at=timezone.now())
    except task_services.NoWork:
        return see_other("judging:home", token)
    offer_soon(home.campaign.pk)
    return see_other("judging:instructions", links.assignment_token(assignment))


# --- judging


@needs(Right.PUBLIC)
@never_cache
@require_safe
@in_platforms_frame
def instructions(request: HttpRequest, assignment: Assignment, token: str) -> HttpResponse:
    """What to do, with a worked example; then on to the first comparison that waits."""
    if assignment.state != Assignment.State.ACTIVE:
        return see_other("judging:done", token)
    waiting = judgment_selectors.unanswered_positions(assignment)
    begun = judgment_selectors.answered_count(assignment) > 0
    context = instructions_context(
        assignment.campaign, token, waiting, begun=begun, publication=platform_of(assignment)
    )
    context |= practice_offer(standing_at(assignment), token)
    return render(request, "judgments/pages/instructions.html", context)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def item(request: HttpRequest, token: str, position: int) -> HttpResponse:
    """One comparison. Without a script, choosing posts here and comes back to the marked page.

    No page is asked for as often, so one statement reads all that it shows.
    """
    if request.method == "POST":
        return _choose(request, token, position)
    with expiring_in_frame():
        keys = links.assignment_keys(token)
    item = judgment_selectors.shown_item(**keys._asdict(), position=position)
    if item is None:
        return _without_item(request, token, position)
    if item.practice_waits:
        return see_other("judging:practice", token)
    speak(request, item.question_language)
    context = item_context(keys, token, position, item, LAST_LOOK in request.GET)
    page = render(request, "judgments/pages/item.html", context)
    return page if item.terms is None else allow_frame(page, submit_host(item.terms))


@in_platforms_frame
def _choose(request: HttpRequest, assignment: Assignment, token: str, position: int) -> HttpResponse:
    shown_at = shown_from(request.POST.get("shown", ""), assignment.pk, position)
    try:
        judgment_services.judgment_save(
            assignment_id=assignment.pk,
            position=position,
            preferred=request.POST.get("preferred", ""),
            shown_at=shown_at,
            at=timezone.now(),
        )
    except NotNow as refused:
        refused.way_out = (reverse("judging:done", args=[token]), _("See your receipt"))
        raise
    return HttpResponseRedirect(request.get_full_path(), status=303)


@in_platforms_frame
def _without_item(request: HttpRequest, assignment: Assignment, token: str, position: int) -> HttpResponse:
    """What is answered where no item can be shown: the receipt, or that there is none at this position."""
    if assignment.state != Assignment.State.ACTIVE:
        return see_other("judging:done", token)
    raise NotYours(no_question(position))


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_platforms_frame
def finish(request: HttpRequest, assignment: Assignment, token: str) -> HttpResponse:
    """A last look at the answers; POST sends them."""
    if request.method == "POST":
        judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
        offer_soon(assignment.campaign_id)
        return see_other("judging:done", token)
    if assignment.state != Assignment.State.ACTIVE:
        return see_other("judging:done", token)
    answers = judgment_selectors.answers_of(assignment)
    context = finish_context(assignment.campaign, token, answers, publication=platform_of(assignment))
    return render(request, "judgments/pages/finish.html", context)


@needs(Right.PUBLIC)
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_platforms_frame
def leave(request: HttpRequest, assignment: Assignment, token: str) -> HttpResponse:
    """The consequences of leaving now; POST leaves."""
    if request.method == "POST":
        judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
        offer_soon(assignment.campaign_id)
        return see_other("judging:done", token)
    if assignment.state != Assignment.State.ACTIVE:
        return see_other("judging:done", token)
    answered, total = judgment_selectors.answered_count(assignment), assignment.items.count()
    context = leave_context(assignment.campaign, token, answered, total, publication=platform_of(assignment))
    return render(request, "judgments/pages/leave.html", context)


@needs(Right.PUBLIC)
@never_cache
@require_safe
@in_platforms_frame
def done(request: HttpRequest, assignment: Assignment, token: str) -> HttpResponse:
    """The receipt of finished work."""
    if assignment.finished_at is None:
        return see_other("judging:instructions", token)
    publication = platform_of(assignment)
    way_out = outside_panels.exit_of(assignment) if publication is None else way_back_from(assignment, publication)
    home_url = _home_of(assignment) if publication is None and way_out is None else ""
    paid = sums_of_work(Assignment.objects.filter(pk=assignment.pk)).paid
    items = assignment.items.count()
    context = done_context(assignment, items, home_url=home_url, publication=publication, paid=paid)
    context |= {
        "not_used": _not_used(assignment),
        "paying": None if publication else _paying_of(assignment.worker, assignment.campaign),
        "pays_within": span(adapter_of(publication).approved_within(publication)) if publication else "",
        "exit": way_out,
        "notes": assignment.notes.order_by("id"),
        "note_url": reverse("judging:note", args=[token]),
        "longest_note": LONGEST_NOTE,
    }
    return render(request, "judgments/pages/done.html", context)


def _paying_of(worker: Worker, campaign: Campaign) -> dict[str, Any] | None:
    """How somebody is paid whom no platform pays."""
    if worker.platform not in (Platform.LINK, Platform.PANEL):
        return None
    panel = outside_panels.panel_of(campaign) if worker.external_id else None
    return paying_context(campaign, panel, worker)


def _not_used(assignment: Assignment) -> list[str]:
    """Why the answers of finished work are not used, in sentences for the worker; nothing if they are.

    How many test pairs failed is said, and never which.
    """
    verdicts = Assignment.Verdict
    if assignment.verdict == verdicts.HELD and not judgment_selectors.exceeds_reports(assignment):
        return [_("It is not decided yet whether your answers in this task are used.")]
    if assignment.verdict == verdicts.HELD:
        return [_("You reported many of its pairs, so a person looks at this task before your answers are used.")]
    if assignment.verdict == verdicts.UNCHECKED:
        return [_("You left before the questions that we check were all answered, so your answers are not used.")]
    if assignment.verdict != verdicts.EXCLUDED:
        return []
    decision = assignment.decisions.order_by("-id").first()
    if decision is not None and decision.by_id is not None:
        return [_("A person in the research group decided not to use your answers in this task.")]
    failed = len(judgment_selectors.failed_tests(assignment))
    if not failed:
        return [_("Your answers here are not used, because of the questions that we check in another task of yours.")]
    tests = assignment.items.filter(test__isnull=False).count()
    return [
        _(
            "A few questions have a known answer: one passage answers the question, and the other is about something "
            "else. In %(failed)d of %(tests)d of them, you chose the other one."
        )
        % {"failed": failed, "tests": tests},
        _("That is why your answers in this task are not used, and why there are no more tasks for you here."),
    ]


# --- what the pages show; of real work, and of a trial, of which nothing is stored


def instructions_context(
    campaign: Campaign, token: str, waiting: Sequence[int], *, begun: bool, publication: Publication | None = None
) -> dict[str, Any]:
    """The page before the first comparison; `waiting` are the positions without an answer."""
    return {
        "task": offer_context(campaign, publication),
        "instructions": campaign.instructions,
        "example": worked_example(campaign),
        "resume": waiting[0] if waiting and begun else None,
        "next_url": next_url(token, waiting),
        "leave_url": reverse("judging:leave", args=[token]),
        "framed": publication is not None,
    }


def next_url(token: str, waiting: Sequence[int]) -> str:
    """The first comparison that waits for an answer, or the end."""
    return reverse("judging:item", args=[token, waiting[0]]) if waiting else reverse("judging:finish", args=[token])


def practice_offer(standing: Standing, token: str) -> dict[str, Any]:
    """What the page before the first comparison says of practice; nothing in a campaign without."""
    if not standing.pairs:
        return {}
    begun = bool(standing.go.answers) and bool(standing.waiting)
    url = reverse("judging:practice", args=[token])
    return {
        "practice": practice_facts(standing.campaign)
        | {
            "waits": not standing.is_open,
            "begun": begun,
            "begin_url": reverse("judging:practice_pair", args=[token, standing.waiting[0]]) if begun else url,
            "may_skip": standing.may_skip,
            "post_url": url,
        }
    }


def practice_facts(campaign: Campaign) -> dict[str, Any]:
    """How much practice there is, how long it takes, and how many answers a check needs."""
    return {
        "count": len(practice_pairs_of(campaign)),
        "minutes": practice_minutes(campaign),
        "needed": right_needed(campaign),
        "optional": campaign.practice == Campaign.Practice.OPTIONAL,
    }


def finish_context(
    campaign: Campaign,
    token: str,
    answers: Sequence[judgment_selectors.Answer],
    *,
    publication: Publication | None = None,
) -> dict[str, Any]:
    """A last look at the answers before they are sent; each leads to its pair, and from there back to all of them."""
    total, answered = len(answers), sum(bool(answer.choice) for answer in answers)
    item_url = [f"{reverse('judging:item', args=[token, answer.position])}?{LAST_LOOK}" for answer in answers]
    return {
        "task": task_context(campaign),
        "answered": answered,
        "total": total,
        "missing": total - answered,
        "answers": [answer._asdict() | {"url": url} for answer, url in zip(answers, item_url, strict=True)],
        "lang": campaign.collection.language,
        "post_url": reverse("judging:finish", args=[token]),
        "back_url": reverse("judging:item", args=[token, total]),
        "leave_url": reverse("judging:leave", args=[token]),
        "owed": campaign.local_money(pay_for(publication, owed(campaign.reward, answered, total), answered)),
        "framed": publication is not None,
    }


def leave_context(
    campaign: Campaign, token: str, answered: int, total: int, *, publication: Publication | None = None
) -> dict[str, Any]:
    """What leaving now would mean."""
    pay = _pay_for_leaving(publication, owed(campaign.reward, answered, total), answered)
    return {
        "task": task_context(campaign),
        "answered": answered,
        "total": total,
        "owed": campaign.local_money(pay) if pay else "",
        "post_url": reverse("judging:leave", args=[token]),
        "back_url": reverse("judging:instructions", args=[token]),
        "framed": publication is not None,
        "return_it": publication is not None and _leaving_returns(publication, answered),
        "submits": publication is not None and bool(submit_host(publication)),
    }


def done_context(
    assignment: Assignment,
    items: int,
    *,
    home_url: str,
    publication: Publication | None = None,
    paid: Decimal = Decimal(0),
) -> dict[str, Any]:
    """The receipt of work that has ended."""
    assert assignment.finished_at is not None
    left = assignment.state == Assignment.State.LEFT
    return_it = publication is not None and left and _leaving_returns(publication, assignment.judged)
    stays = return_it and publication is not None and adapter_of(publication).pays_leavers(publication)
    return {
        "task": task_context(assignment.campaign),
        "receipt": receipt_context(assignment, items, publication, paid),
        "home_url": home_url,
        "framed": publication is not None,
        "late": assignment.finished_at > assignment.leased_until,
        "submit": None if publication is None or return_it else _submission(assignment, publication),
        "return_it": return_it,
        "stays": stays and assignment.judged > 0,
    }


class TooMany(Refused):
    """Requests come faster than the limit."""

    status = 429
    title = "One moment, please"


def shown_token(assignment_id: int, position: int, at: datetime) -> str:
    """The time at which an item was shown, signed, so that it can travel through the worker's page."""
    return signing.dumps([assignment_id, position, at.timestamp()], salt=_SHOWN)


def shown_from(token: str, assignment_id: int, position: int) -> datetime:
    """The time in a token made for this item. Raises BadRequest for any other text."""
    try:
        pk, number, timestamp = signing.loads(token, salt=_SHOWN)
    except (signing.BadSignature, ValueError, TypeError):
        raise BadRequest(_("This page is incomplete. Please reload it.")) from None
    if (pk, number) != (assignment_id, position):
        raise BadRequest(_("This page belongs to another question. Please reload it."))
    return datetime.fromtimestamp(timestamp, tz=timezone.get_default_timezone())


def pay_for(terms: Publication | judgment_selectors.Terms | None, earned: Decimal, answered: int) -> Decimal:
    """What a worker is paid for these earnings and answers: nothing without an answer, and at a platform
    by its terms, once the work is submitted.
    """
    if not answered or terms is None or terms.pay == Publication.Pay.RETURN_AND_COMPENSATE:
        return earned
    return max(earned, terms.listed)


def _pay_for_leaving(publication: Publication | None, earned: Decimal, answered: int) -> Decimal:
    """The same for whoever leaves: a platform may round it up."""
    if publication is None or not _leaving_returns(publication, answered):
        return pay_for(publication, earned, answered)
    return adapter_of(publication).pay_for_leaving(publication, earned)


def saved_context(request: HttpRequest, preferred: str, saved: judgment_services.Saved) -> dict[str, Any]:
    """The answer to the page's script once a choice is saved."""
    speak(request, saved.language)
    earned = owed(saved.reward, saved.answered, saved.total)
    return {
        "saved": True,
        "preferred": preferred,
        "answered": saved.answered,
        "total": saved.total,
        "owed": in_local_words(pay_for(saved.terms, earned, saved.answered), saved.currency),
    }


def item_context(
    keys: links.Keys, token: str, position: int, item: judgment_selectors.ShownItem, is_last_look: bool
) -> dict[str, Any]:
    """One comparison; who came from the last look at their answers goes on to it."""
    now = timezone.now()
    last = is_last_look or position == item.total
    seconds_left = (item.leased_until - now).total_seconds()
    earned = owed(item.reward, item.answered, item.total)
    framed = item.terms is not None
    home_token = links.home_token_of(keys.worker_id, item.campaign_id)
    return {
        "task": {
            "question": default_words(item.question, item.question_language),
            "lang": item.question_language,
            "reward": in_local_words(item.reward, item.currency) if item.reward else "",
            "minutes": task_selectors.expected_minutes(item.campaign_id),
        },
        "item": {
            "position": position,
            "total": item.total,
            "query": item.query,
            "left": item.left,
            "right": item.right,
            "preferred": item.preferred,
            "reported": item.reported,
            "lang": item.language,
        },
        "answered": item.answered,
        "form": {
            "action": reverse("judging:item", args=[token, position]) + (f"?{LAST_LOOK}" if is_last_look else ""),
            "shown": shown_token(keys.assignment_id, position, now),
            "save_url": reverse("judging:save", args=[token, position]),
            "name": f"{keys.assignment_id}/{position}",  # the same in all tabs, whatever token they came with
        },
        "prev_url": reverse("judging:item", args=[token, position - 1]) if position > 1 else None,
        "next_url": reverse("judging:finish", args=[token])
        if last
        else reverse("judging:item", args=[token, position + 1]),
        "last": last,
        "report_url": reverse("judging:report", args=[token, position]),
        "instructions_url": reverse("judging:instructions", args=[token]),
        "leave_url": reverse("judging:leave", args=[token]),
        "home_url": "" if framed else reverse("judging:home", args=[home_token]),
        "receipt_url": reverse("judging:done", args=[token]),
        # A platform counts from when the task was accepted there, and shows that itself.
        "deadline": None
        if framed
        else {
            "iso": item.leased_until.isoformat(),
            "minutes_left": max(0, int(seconds_left // 60)),
            "late": seconds_left < 0,
        },
        "owed_now": in_local_words(pay_for(item.terms, earned, item.answered), item.currency),
        "framed": framed,
    }


def task_context(campaign: Campaign) -> dict[str, Any]:
    """What every page of a task shows of it."""
    return {
        "title": default_words(campaign.title, campaign.language),
        "question": default_words(campaign.question, campaign.language),
        "lang": campaign.language,
        "lab": campaign.lab.name,
        "items": campaign.items_per_hit,
        "reward": campaign.local_money(campaign.reward),
    }


def offer_context(campaign: Campaign, publication: Publication | None = None) -> dict[str, Any]:
    """What a task offers: task_context, with the time that it takes and what that pays."""
    pace = task_selectors.expected_pace(campaign, publication.assignment_duration if publication else None)
    limit = publication.assignment_duration if publication else timedelta(minutes=campaign.minutes_per_hit)
    offer = task_context(campaign) | {"limit": span(limit)}
    if pace is not None:
        offer |= {"minutes": pace.minutes, "hourly": campaign.local_money(pace.hourly)}
    if campaign.practice != Campaign.Practice.NOTHING:
        offer["practice"] = practice_facts(campaign)
        if pace is not None:
            offer["practice"]["hourly"] = campaign.local_money(pace.first_hourly)
    return offer


def paying_context(
    campaign: Campaign, panel: Visitor | OutsidePanel | None = None, worker: Worker | None = None
) -> dict[str, Any] | None:
    """How people are paid whom no platform pays, and what they are asked for so that they can be. Where a `panel` pays
    them, only what the campaign says. For a worker, with what they left, and where they can change it.
    """
    words = pay_words_of(campaign)
    if panel is not None and not words.how and not words.asked:
        return None
    by_open_link = panel is None if worker is None else worker.platform == Platform.LINK
    paying: dict[str, Any] = {
        "unpaid": not campaign.reward,
        "how": words.how,
        "asked": "" if not campaign.reward else asked_at_open_link(words) if by_open_link else words.asked,
        "lang": campaign.language,
        "longest": LONGEST_DETAIL,
        "left": "",
    }
    if worker is not None:
        paying["left"] = pay_details(campaign, [worker.pk]).get(worker.pk, "")
        paying["url"] = reverse("judging:pay_detail", args=[links.home_token_of(worker.pk, campaign.pk)])
    return paying


def no_question(position: int) -> str:
    """That a task has no item at this position."""
    return _("This task has no question %(position)d.") % {"position": position}


def span(length: timedelta) -> str:
    """`45 min`, `3 h`, `2 h 30 min`, `7 days`: hours from two on, days from two on."""
    minutes = int(length.total_seconds() // 60)
    if minutes < 120:
        return _("%(minutes)d min") % {"minutes": minutes}
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        text = _("%(hours)d h") % {"hours": hours}
        return f"{text} {_('%(minutes)d min') % {'minutes': minutes}}" if minutes else text
    days = hours // 24
    return ngettext("%(days)d day", "%(days)d days", days) % {"days": days}


def consent_context(campaign: Campaign) -> dict[str, Any]:
    """The consent text in force, for its page."""
    text = task_selectors.current_consent(campaign)
    if text is None:
        return {"text": default_consent(campaign), "version": 1, "lang": campaign.language}
    return {"text": text.text, "version": text.version, "lang": campaign.language}


def was_shown(text: ConsentText, request: HttpRequest) -> bool:
    """Whether the page that was agreed to showed this version: the text may have changed since."""
    return request.POST.get("version") == str(text.version)


def _current(assignment: Assignment) -> dict[str, Any]:
    return {
        "answered": judgment_selectors.answered_count(assignment),
        "total": assignment.items.count(),
        "url": reverse("judging:instructions", args=[links.assignment_token(assignment)]),
        "until": assignment.leased_until,
    }


def receipt_context(
    assignment: Assignment, items: int, publication: Publication | None = None, paid: Decimal = Decimal(0)
) -> dict[str, Any]:
    left = assignment.state == Assignment.State.LEFT
    pay = (_pay_for_leaving if left else pay_for)(publication, assignment.owed, assignment.judged)
    return {
        "code": assignment.receipt,
        "judged": assignment.judged,
        "total": items,
        "owed": assignment.campaign.local_money(pay),
        "paid": assignment.campaign.local_money(paid) if paid else "",
        "is_paid": 0 < paid == assignment.owed,
        "finished_at": assignment.finished_at,
        "left": left,
    }


def _leaving_returns(publication: Publication, answered: int) -> bool:
    """Whether a worker who leaves after this many answers returns the task, as submitting it would "
    "pay the full reward."""
    return not answered or publication.pay == Publication.Pay.RETURN_AND_COMPENSATE


def _submission(assignment: Assignment, publication: Publication) -> dict[str, str] | None:
    """The form by which a platform learns that the work is done. It may be sent again: the platform takes it once. None
    where a code says so instead.
    """
    if not submit_host(publication):
        return None
    bonus = assignment.owed - publication.listed
    return {
        "action": f"{submit_host(publication)}/mturk/externalSubmit",
        "assignment_id": assignment.platform_assignment_id,
        "receipt": assignment.receipt,
        "judged": str(assignment.judged),
        "reward": assignment.campaign.local_money(publication.listed),
        "bonus": assignment.campaign.local_money(bonus) if bonus > 0 else "",
    }


def way_back_from(assignment: Assignment, publication: Publication) -> outside_panels.Exit | None:
    """Where a worker goes who came to us from a platform, and not in its frame, and the code for how the work ended."""
    ending = Ending.FINISHED
    if assignment.state == Assignment.State.LEFT and _leaving_returns(publication, assignment.judged):
        ending = Ending.LEFT if assignment.judged else Ending.UNANSWERED
    elif assignment.verdict == Assignment.Verdict.EXCLUDED:
        ending = Ending.FAILED
    return adapter_of(publication).exit_of(publication, ending)


def _home_of(assignment: Assignment) -> str:
    return reverse("judging:home", args=[links.home_token_of(assignment.worker_id, assignment.campaign_id)])


def _home(request: HttpRequest, token: str) -> links.Home:
    home = links.home_of(token)
    speak(request, home.campaign.language)
    return home


def campaign_at(request: HttpRequest, link: str) -> Campaign:
    """The campaign of an open link, once it has started; the page then speaks its language."""
    link = link.replace("\0", "?")  # PostgreSQL takes no NUL, and no link has a question mark
    campaign = Campaign.objects.select_related("collection", "lab").filter(link=link).first()
    if campaign is None or campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        raise NotYours(_("There is no work at this address. Please check the link that you were given."))
    speak(request, campaign.language)
    return campaign


def _cookie_name(lab: Lab) -> str:
    return f"home-{lab.pk}-{settings.COOKIE_MARK}"


def _worker_in_cookie(request: HttpRequest, campaign: Campaign) -> Worker | None:
    """The worker who came here before in this browser, to this campaign or to another of the lab's."""
    try:
        home = links.home_of(request.COOKIES.get(_cookie_name(campaign.lab), ""))
    except NotYours:
        return None
    return home.worker if home.worker.lab_id == campaign.lab_id else None

"""The researcher's pages about a campaign at a platform: terms, dry run, state, decisions, compensations, ledger."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.contrib import messages
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_ratelimit.decorators import ratelimit
from kombu.exceptions import OperationalError

from core.errors import BadRequest, NotNow, NotYours, Refused
from core.http import Request, edit_in_turn, refuse_in, see_other
from core.lists import Listing, render_lists
from core.money import counted
from core.roles import Right, labs_of, needs
from core.sealing import SealedOtherwise, unseal
from core.snapshot import one_moment
from platforms import alarms, hooks
from platforms import jobs as platform_jobs
from platforms import lists as platform_lists
from platforms import status as platform_status
from platforms import terms as terms_services
from platforms.demands import PAPER, Demands
from platforms.forms import DecideForm, ExtendForm, HourlyForm, PublishForm, ReplaceForm, TermsForm, in_words_of
from platforms.ledger_comparison import comparison_last, left_to_compare
from platforms.models import AccountHook, Alarm, Operation, Payment, PayRate, Publication, Submission, TermsVersion
from platforms.money.account import balance_kept, money_missing, platform_refusals, publication_ask_for_money
from platforms.money.bills import Bill, campaign_bill, remaining_bill, rounds_forecast
from platforms.money.ledger import ledger_lines, ledger_payments, ledger_rows, totals
from platforms.outbox import may_be_decided, operation_decide, operation_retry
from platforms.publishing import publications as publishing
from platforms.publishing import replacing_terms
from platforms.publishing.costs import campaign_costs, cost_lines, costs_by_platform, started_campaigns
from platforms.publishing.reach import reach_look
from platforms.registry import adapter_named, adapter_of, phrase
from platforms.reviewing import approving, deciding, fairness
from platforms.reviewing.compensations import compensation_decline, compensation_offer
from platforms.status import terms_compared, terms_history
from platforms.syncing import hints_take
from pools import selectors as pool_selectors
from pools.http import campaign_of
from pools.models import Campaign
from tasks.models import Platform
from tasks.selectors import floor_not_held, lab_floor_of, lacking_time

log = logging.getLogger(__name__)
REFRESH = 20  # seconds between two looks of the page
LISTED = 20  # alarms, and calls in trouble, on a page
VERSIONS = 10  # of the terms, on a page
HEARD_RATE = "600/m"  # notifications that are looked at from one address; those beyond it are told again later
MOST_BYTES = 64 * 1024  # of a notification
DEMANDS = {"paper": PAPER, "none": Demands()}  # what one press fills into the demands on workers
State = Publication.State


class NotPublished(NotNow):
    """There is nothing to follow yet."""

    title = "Not published yet"


def _publication_of(campaign: Campaign) -> Publication:
    """The campaign's publication, once it has left the draft. Raises NotPublished."""
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None or publication.state == State.DRAFT:
        refused = NotPublished(_("The campaign is not published at a platform yet."))
        refused.way_out = (reverse("platforms:terms", args=[campaign.pk]), _("Go to the terms"))
        raise refused
    publication.campaign = campaign
    return publication


# --- terms, dry run, publishing


@needs(Right.DESIGN)
@require_POST
def move(request: Request, pk: int) -> HttpResponse:
    """Pause, resume or close a campaign."""
    to = request.POST.get("to", "")
    campaign = publishing.campaign_move(campaign=campaign_of(request, pk), to=to, at=timezone.now())
    messages.success(request, _("The campaign is now %(state)s.") % {"state": campaign.get_state_display()})
    return see_other("campaigns:campaign", pk)


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def terms(request: Request, pk: int) -> HttpResponseBase:
    """The terms of a publication. POST saves them, which sends and spends nothing."""
    campaign, status = campaign_of(request, pk), 200
    form: TermsForm | None = None
    if request.method == "POST":
        with edit_in_turn(request):
            answer, form, status = _save_terms(request, campaign)
        if isinstance(answer, HttpResponse):
            return answer
        if answer is not None:
            return _preview_terms(request, answer, form)
    stored, publication = _terms_of(campaign)
    requirements = publication.requirements
    current = TermsForm(publication=publication, requirements=requirements)
    form, draft = form or current, publication.state == State.DRAFT
    saved = TermsVersion.objects.filter(publication=stored).select_related("by").order_by("-version")
    versions = Listing(request, saved, key="versions", size=VERSIONS, columns=platform_lists.TERMS_COLUMNS)
    balance = balance_kept(publication) if draft and stored is not None else None
    if balance is not None:
        platform_jobs.balance_soon(publication.pk)
    context = {
        "campaign": publication.campaign,
        "publication": publication,
        "stored": stored,
        "versions": versions,
        "history": terms_history(publication, list(versions.page)),
        "draft": draft,
        "bill": remaining_bill(publication) if draft else None,
        "form": form,
        "kept": current,
        "demands": adapter_of(publication).demands_of(requirements),
        "unused": adapter_of(publication).unused_terms,
        "balance": balance,
        "missing": money_missing(publication, balance.amount) if balance else None,
        "can_ask": stored is not None and adapter_of(publication).can_be_asked_for_money,
        "who_adds_money": adapter_of(publication).who_adds_money(),
    }
    return render_lists(request, "platforms/terms.html", context, status=status)


def _terms_of(campaign: Campaign) -> tuple[Publication | None, Publication]:
    """A campaign's publication if there is one, and what its terms begin with otherwise."""
    stored = Publication.objects.filter(campaign=campaign).select_related("campaign__lab").first()
    return stored, stored or terms_services.publication_at_first(campaign)


def _save_terms(request: Request, campaign: Campaign) -> tuple[HttpResponse | Publication | None, TermsForm, int]:
    """Save a draft's terms, or replace those of a publication. What they would be, if they are to be seen first."""
    _stored, publication = _terms_of(campaign)
    form = TermsForm(request.POST, publication=publication, requirements=publication.requirements)
    if request.POST.get("demands") in DEMANDS:
        return None, form.demanding(DEMANDS[request.POST["demands"]]), 200
    if not form.is_valid():
        return None, form, 400
    if publication.state != State.DRAFT:
        return _replace(request, publication, form), form, 400
    try:
        written = terms_services.publication_write(campaign=campaign, **form.terms())
    except Refused as error:
        return None, form, refuse_in(form, error)
    platform_jobs.balance_soon(written.pk)
    messages.success(request, _("The terms have been saved. Nothing has been sent. Check what would be sent."))
    return see_other("platforms:publish", campaign.pk), form, 303


def _replace(request: Request, publication: Publication, form: TermsForm) -> HttpResponse | Publication | None:
    """Replace terms once that was seen, else what the publication would be. None if the form has errors."""
    campaign = publication.campaign
    terms, last_step = form.terms(), ReplaceForm(request.POST, publication=publication)
    last_step.is_valid()
    try:
        changed = replacing_terms.terms_replaced(publication, terms)
        names = replacing_terms.changed_terms(publication, changed)
        if not names:
            messages.info(request, _("These are already the terms. Nothing was changed."))
            return see_other("platforms:terms", campaign.pk)
        digest = _digest(changed, remaining_bill(publication))
        if last_step.cleaned_data.get("seen") == digest:
            replacing_terms.publication_replace_terms(
                publication=publication,
                terms=terms,
                by=request.user,
                at=timezone.now(),
                although_nobody_qualifies=last_step.cleaned_data["although_nobody_qualifies"],
            )
            messages.success(
                request,
                phrase(
                    publication,
                    _("The terms have been replaced. HITs move to them in the background, at the set rate."),
                ),
            )
            return see_other("platforms:publication", campaign.pk)
    except Refused as error:
        refuse_in(form, error)
        return None
    return changed


def _preview_terms(request: Request, changed: Publication, form: TermsForm) -> HttpResponse:
    """What other terms change, before they are replaced."""
    publication = Publication.objects.select_related("campaign__lab").get(pk=changed.pk)
    last_step = ReplaceForm(request.POST, publication=publication)
    reach = reach_look(changed)
    platform_jobs.balance_soon(publication.pk)
    context = {
        "campaign": publication.campaign,
        "publication": publication,
        "form": form,
        "last_step": last_step,
        "changes": terms_compared(publication, changed, replacing_terms.changed_terms(publication, changed)),
        "status": platform_status.count_status(publication, timezone.now()),
        "moving": publishing.open_or_needed(publication, timezone.now()).count(),
        "bill": remaining_bill(publication),
        "sums": totals(publication),
        "balance": balance_kept(publication),
        "reach": reach,
        "seen": _digest(changed, remaining_bill(publication)),
    }
    return render(request, "platforms/replace.html", context)


def _is_packed(campaign: Campaign) -> bool:
    return campaign.state not in (Campaign.State.DRAFT, Campaign.State.PACKING)


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def publish(request: Request, pk: int) -> HttpResponse:
    """The dry run: what would be sent, and the bill. POST publishes; again is not an error."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None:
        return see_other("platforms:terms", pk)
    if publication.state != State.DRAFT:
        return see_other("platforms:publication", pk)
    publication.campaign = campaign
    balance = balance_kept(publication)
    bill = remaining_bill(publication)
    digest = _digest(publication, bill)
    reach = reach_look(publication)
    form = PublishForm(publication=publication, nobody=reach.is_nobody)
    status = 200
    if request.method == "POST":
        form = PublishForm(request.POST, publication=publication, nobody=reach.is_nobody)
        status = 400
        if form.is_valid():
            try:
                _publish(request, publication, form, digest)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                text = _("Publishing has begun. HITs go out in the background, at the set rate.")
                messages.success(request, phrase(publication, text))
                return see_other("platforms:publication", pk)
    platform_jobs.balance_soon(publication.pk)
    requests, obstacles = _requests(publication)
    if not _is_packed(campaign):
        text = _("The campaign is a draft. Start it; you can publish it once its HITs are packed.")
        obstacles.append(phrase(publication, text))
    elif campaign.state != Campaign.State.OPEN:
        obstacles.append(_("The campaign is not open. Open it before you publish it."))
    obstacles += lacking_time(campaign, publication.assignment_duration)
    if balance.trouble:
        obstacles.append(balance.trouble)
    elif balance.amount is not None and balance.amount < bill.total:
        obstacles.append(_too_little(publication, balance.amount, bill.total))
    context = {
        "campaign": campaign,
        "publication": publication,
        "bill": bill,
        "balance": balance,
        "whole": campaign_bill(publication),
        "forecast": rounds_forecast(publication),
        "own_rate": campaign.fee_rate,
        "has_test_runs": adapter_of(publication).has_test_runs,
        "reach": reach,
        "requests": requests,
        "obstacles": obstacles,
        "missing": money_missing(publication, balance.amount),
        "can_ask": adapter_of(publication).can_be_asked_for_money,
        "seen": digest,
        "form": form,
    }
    return render(request, "platforms/publish.html", context, status=status)


@needs(Right.SPEND)
@require_POST
def ask_for_money(request: Request, pk: int) -> HttpResponse:
    """Ask whoever adds money to the account at the platform for what a draft's bill lacks."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign, state=State.DRAFT).first()
    if publication is None:
        return see_other("platforms:terms", pk)
    publication.campaign = campaign
    amount = publication_ask_for_money(publication=publication, at=timezone.now())
    text = _("The marketplace's operator has been asked for %(amount)s. Come back once it has been granted.")
    messages.success(request, text % {"amount": campaign.money(amount)})
    return see_other("platforms:publish", pk)


def _too_little(publication: Publication, balance: Decimal, total: Decimal) -> str:
    """What is missing in the account, and who can add it, and how."""
    money = publication.campaign.money
    amounts = {"balance": money(balance), "total": money(total), "missing": money(total - balance)}
    text = _("The account at the platform has %(balance)s, but the bill is %(total)s: %(missing)s is missing.")
    return f"{phrase(publication, text) % amounts} {adapter_of(publication).who_adds_money()}"


def _publish(request: Request, publication: Publication, form: PublishForm, digest: str) -> None:
    if form.cleaned_data["seen"] != digest:
        raise NotNow(_("The terms or the bill have changed since you opened this page. Check them, then publish."))
    with platform_refusals(publication):
        publishing.publication_publish(
            publication=publication,
            at=timezone.now(),
            typed_name=form.cleaned_data.get("typed_name", ""),
            although_nobody_qualifies=form.cleaned_data.get("although_nobody_qualifies", False),
            by=request.user,
        )


def _digest(publication: Publication, bill: Bill) -> str:
    """A digest of what the page shows, so that only what was seen is published."""
    unseen = {"next_call_at", "balance", "balance_at", "money_asked", "money_asked_at"}
    names = [field.name for field in Publication._meta.concrete_fields if field.name not in unseen]
    facts = [str(getattr(publication, name)) for name in names] + [str(bill)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _requests(publication: Publication) -> tuple[list[tuple[str, str]], list[str]]:
    """The first requests as readable JSON, the first HIT's among them; and why they cannot be made, if so."""
    try:
        first = list(islice(publishing.dry_run(publication), 3))
    except Refused as refused:
        return [], [str(refused)]
    return [(name, json.dumps(body, indent=2, ensure_ascii=False)) for name, body in first], []


# --- the status


class Advice(NamedTuple):
    """What to do about an alarm: in words, and where."""

    text: Promise
    page: str = ""
    label: Promise | str = ""


_DECIDE = gettext_lazy("Review it")
ADVICE = {
    Alarm.Kind.FUNDS: Advice(
        gettext_lazy(
            "At our own marketplace, ask its operator to add money. At Mechanical Turk, you buy prepaid HITs on the "
            "requester site. The calls then continue automatically."
        ),
    ),
    Alarm.Kind.LOW: Advice(
        gettext_lazy(
            "Add money to the account before it is used up: calls that it cannot pay wait until it can. The alarm "
            "disappears within ten minutes."
        )
    ),
    Alarm.Kind.ACCOUNT: Advice(
        gettext_lazy("Set the access key where this site runs. The calls then continue automatically."),
    ),
    Alarm.Kind.REFUSED: Advice(
        gettext_lazy("Under Calls, read what the platform said. Try again once the cause is fixed, or dismiss this."),
    ),
    Alarm.Kind.UNMATCHED: Advice(
        gettext_lazy("Compare what is stored here, then approve or reject it."), "submission", _DECIDE
    ),
    Alarm.Kind.NO_ANSWERS: Advice(
        gettext_lazy("No work was done, so nothing needs to be paid. It is up to you whether to reject it."),
        "submission",
        _DECIDE,
    ),
    Alarm.Kind.FAST: Advice(
        gettext_lazy("Look at the work, then approve or reject it. Nothing is paid for it before that."),
        "submission",
        _DECIDE,
    ),
    Alarm.Kind.LEAVES: Advice(
        gettext_lazy(
            "Check what they did, under Work. They get no more tasks in this campaign; bar them to "
            "keep them out of others."
        ),
    ),
    Alarm.Kind.AUTO_APPROVAL: Advice(gettext_lazy("Decide before the platform does."), "submission", _DECIDE),
    Alarm.Kind.UNRETURNED: Advice(gettext_lazy("Decide on them at the platform, or wait until they are returned.")),
    Alarm.Kind.COMPENSATION: Advice(
        gettext_lazy("Offer the compensation if the worker had really accepted the HIT; otherwise decline it."),
        "compensations",
        gettext_lazy("See the compensations"),
    ),
    Alarm.Kind.TWICE: Advice(
        gettext_lazy("Ask its worker to return it, or approve it if both are to be paid."), "submission", _DECIDE
    ),
    Alarm.Kind.UNSEEN: Advice(
        gettext_lazy(
            "Check whether workers qualify: the terms say what is required of them, and can be "
            "replaced. If they do, look at the title, pay and description as a worker would."
        ),
        "terms",
        gettext_lazy("See the terms"),
    ),
    Alarm.Kind.UNFAIR: Advice(
        gettext_lazy(
            "Raise the pay of those who were approved. This disappears within minutes once the median is no longer "
            "too low. If you dismiss it, it comes back when the median changes and is still too low."
        ),
        "adjustment",
        gettext_lazy("Raise the pay"),
    ),
    Alarm.Kind.EXPIRED: Advice(gettext_lazy("Extend the publication below.")),
    Alarm.Kind.LEDGER: Advice(
        gettext_lazy("Check the differences in the ledger, and compare again once they are resolved."),
        "ledger",
        gettext_lazy("See the ledger"),
    ),
    Alarm.Kind.STOPPED: Advice(
        gettext_lazy("Compare the ledgers. This disappears once the publication is resumed."),
        "ledger",
        gettext_lazy("See the ledger"),
    ),
    Alarm.Kind.JOB: Advice(
        gettext_lazy("This disappears once the job succeeds. If it persists, show it to the person who runs this site.")
    ),
    Alarm.Kind.UNCHECKED: Advice(
        gettext_lazy("This disappears once the work could be checked. Its judgments do not count until then.")
    ),
    Alarm.Kind.DOUBT: Advice(
        gettext_lazy(
            "Nothing is paid twice because of this. If it persists, show it to the person who runs this site."
        ),
    ),
    Alarm.Kind.UNDECIDED: Advice(
        gettext_lazy("Other work continues. If this persists, show it to the person who runs this site."),
        "submission",
        _DECIDE,
    ),
}


# Of tasks that are returned at once, whoever returns them.
_RETURNED = Advice(
    gettext_lazy(
        "Open a task as a worker does, and see whether it can be done. This disappears once an hour has passed in "
        "which fewer are returned."
    )
)


class AlarmRow(NamedTuple):
    """An alarm with what to do about it."""

    alarm: Alarm
    advice: Advice
    address: str

    @property
    def may_be_dismissed(self) -> bool:
        """Whether a person can."""
        return self.alarm.kind in alarms.DISMISSIBLE


def _alarm_rows(publication: Publication, raised: Iterable[Alarm]) -> list[AlarmRow]:
    pk = publication.campaign_id
    rows = []
    for alarm in raised:
        advice = ADVICE[Alarm.Kind(alarm.kind)]
        if alarm.kind == Alarm.Kind.LEAVES and alarm.worker_id is None:
            advice = _RETURNED
        address = ""
        if advice.page == "submission" and alarm.submission_id is not None:
            address = reverse("platforms:submission", args=[pk, alarm.submission_id])
        elif advice.page and advice.page != "submission":
            address = reverse(f"platforms:{advice.page}", args=[pk])
        rows.append(AlarmRow(alarm, advice, address))
    return rows


@needs(Right.SEE)
@require_GET
@one_moment()
def state(request: Request, pk: int) -> HttpResponseBase:
    """A publication: what needs attention, progress and next steps."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None or publication.state == State.DRAFT:
        return see_other("platforms:terms", pk)
    publication.campaign = campaign
    return render_lists(request, "platforms/state.html", _state_context(request, publication, ExtendForm()))


def _progress_context(request: Request, publication: Publication) -> dict[str, Any]:
    at = timezone.now()
    raised = Listing(request, platform_status.open_alarms(publication), key="alarms", size=LISTED)
    return {
        "campaign": publication.campaign,
        "publication": publication,
        "counted_at": at,
        "status": platform_status.count_status(publication, at),
        "alarms": raised,
        "alarm_rows": _alarm_rows(publication, raised.page),
        "sums": totals(publication),
        **_pay_context(publication),
    }


def _pay_context(publication: Publication) -> dict[str, Any]:
    adapter = adapter_of(publication)
    return {
        "pay_rate": PayRate.objects.filter(publication=publication).first(),
        "platform_least": adapter.least_hourly,
        "advised_hourly": adapter.advised_hourly,
        "lab_floor": lab_floor_of(publication.campaign),
        "floor_not_held": floor_not_held(publication.campaign),
    }


def _state_context(request: Request, publication: Publication, form: ExtendForm) -> dict[str, Any]:
    context = _progress_context(request, publication)
    open_now = publishing.open_published_hits(publication, context["counted_at"])
    troubled = Listing(
        request,
        platform_status.calls_in_trouble(publication),
        sorts=platform_lists.CALL_SORTS,
        narrow=platform_lists.CallFilter,
        key="calls",
        size=LISTED,
        columns=platform_lists.CALL_COLUMNS,
    )
    if troubled.filter is not None:
        in_words_of(troubled.filter.form, publication)
    open_until = open_now.aggregate(last=Max("expires_at"))["last"]
    return context | {
        "calls": platform_status.calls(publication),
        "troubled": troubled,
        "decidable": may_be_decided(publication),
        "open_until": open_until,
        "may_open": open_until is not None or publication.campaign.hits.filter(needed__gt=0).exists(),
        "has_lifetimes": "lifetime" not in adapter_of(publication).unused_terms,
        "form": form,
        "refresh": 0 if publication.is_finished else REFRESH,
        "hears": bool(settings.MARKETPLACE_NOTIFICATION_SECRET) and publication.platform == Platform.MARKETPLACE,
    }


# --- pause, resume, extend, expire, stop


class Act(NamedTuple):
    """An action on a publication, and the message once it is done."""

    do: Callable[..., object]
    done: Promise


ACTS = {
    "pause": Act(
        publishing.publication_pause,
        gettext_lazy("Paused. Nothing more is published, and HITs that are open at the platform are ended."),
    ),
    "resume": Act(
        publishing.publication_resume, gettext_lazy("Resumed. HITs that need work are open for another lifetime.")
    ),
    "expire": Act(publishing.publication_expire, gettext_lazy("All open HITs are being ended.")),
    "stop": Act(publishing.publication_stop, gettext_lazy("Stopped. No call that spends money is sent.")),
}  # fmt: skip
CONFIRMED = ("expire", "stop")


@needs(Right.SPEND)
@require_http_methods(["GET", "POST"])
def act(request: Request, pk: int, what: str) -> HttpResponse:
    """Act on a publication; GET asks for confirmation first, if the action needs one. Repeating it changes nothing."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
    if request.method == "GET":
        if what not in CONFIRMED:
            return see_other("platforms:publication", pk)
        at = timezone.now()
        context = {
            "campaign": campaign,
            "publication": publication,
            "what": what,
            "open": publishing.open_published_hits(publication, at).count(),
            "sums": totals(publication),
        }
        return render(request, "platforms/confirm.html", context)
    ACTS[what].do(publication=publication, at=timezone.now())
    log.info("Publication %s: %s by user %s", publication.pk, what, request.user.pk)
    messages.success(request, phrase(publication, str(ACTS[what].done)))
    return see_other("platforms:publication", pk)


@needs(Right.SPEND)
@require_POST
def extend(request: Request, pk: int) -> HttpResponse:
    """Keep HITs that need work open until the end of a day."""
    publication = _publication_of(campaign_of(request, pk))
    form = ExtendForm(request.POST)
    status = 400
    if form.is_valid():
        try:
            count = publishing.publication_extend(
                publication=publication, until=form.cleaned_data["until"], at=timezone.now()
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            text = ngettext("%(count)d HIT stays open longer.", "%(count)d HITs stay open longer.", count)
            messages.success(request, phrase(publication, text) % {"count": count})
            return see_other("platforms:publication", pk)
    return render(request, "platforms/state.html", _state_context(request, publication, form), status=status)


@needs(Right.SPEND)
@require_POST
def retry(request: Request, pk: int, operation_pk: int) -> HttpResponse:
    """Try a refused call again; or say, with a reason, whether one in doubt was done that is never made again."""
    publication = _publication_of(campaign_of(request, pk))
    operation = publication.operations.filter(pk=operation_pk).select_related("publication").first()
    if operation is None:
        raise NotYours(_("This publication has no such call."))
    if request.POST.get("was_done") in ("yes", "no"):
        was_done = request.POST["was_done"] == "yes"
        why = request.POST.get("why", "")
        try:
            decided = operation_decide(
                operation=operation, was_done=was_done, why=why, by=request.user, at=timezone.now()
            )
        except NotNow as too_soon:
            messages.error(request, str(too_soon))
        else:
            if decided:
                done, again = _("Noted as done."), _("Noted as not done. The call will be made once more.")
                messages.success(request, done if was_done else again)
    elif operation_retry(operation=operation, at=timezone.now()):
        messages.success(request, _("The call will be tried again."))
    return see_other("platforms:publication", pk, fragment="calls")


@needs(Right.SPEND)
@require_POST
def set_aside(request: Request, pk: int, alarm_pk: int) -> HttpResponse:
    """Settle an alarm that a person has dealt with; it is raised again if its cause comes back."""
    publication = _publication_of(campaign_of(request, pk))
    alarm = publication.alarms.filter(pk=alarm_pk).first()
    if alarm is None:
        raise NotYours(_("This publication has no such alarm."))
    if alarms.alarm_dismiss(alarm=alarm, by=request.user, at=timezone.now()):
        messages.success(request, _("The alarm has been dismissed."))
    return see_other("platforms:publication", pk)


@needs(Right.SPEND)
@require_POST
def listen(request: Request, pk: int) -> HttpResponse:
    """Have the marketplace tell this site of submitted work."""
    publication = _publication_of(campaign_of(request, pk))
    hooks.notifications_ask(publication=publication)
    messages.success(request, _("From now on, the platform notifies this site of submitted work."))
    return see_other("platforms:publication", pk)


# --- submitted work


@needs(Right.SEE)
@require_GET
def submissions(request: Request, pk: int) -> HttpResponseBase:
    """What was submitted at the platform: what waits for a person, all, or what was rejected."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
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
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
    submission = (
        platform_status.submissions_of(publication).select_related("decided_by").filter(pk=submission_pk).first()
    )
    if submission is None:
        raise NotYours(_("This publication has no such submission."))
    submission.publication = publication
    form, status = DecideForm(publication=publication), 200
    if request.method == "POST":
        form = DecideForm(request.POST, publication=publication)
        status = 400
        if form.is_valid():
            try:
                _decide(request, submission, form)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                return see_other("platforms:submission", pk, submission_pk)
    context = {
        "campaign": campaign,
        "publication": publication,
        "submission": submission,
        "stored": platform_status.stored_work(submission),
        "bonus": approving.bonus_owed(submission),
        "payments": submission.payments.order_by("id"),
        "about_rejecting": adapter_of(publication).about_rejecting(publication),
        "may_ask_return": deciding.may_ask_return(submission),
        "return_asked": submission.operations.filter(kind=Operation.Kind.ASK_RETURN)
        .select_related("submission__return_asked_by")
        .first(),
        "may_decide": submission.decision == Submission.Decision.NONE
        and submission.status == Submission.Status.SUBMITTED,
        "may_book": deciding.may_book(submission),
        "held": submission.alarms.filter(kind=Alarm.Kind.TWICE, settled_at=None),
        "form": form,
    }
    return render(request, "platforms/submission.html", context, status=status)


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


# --- compensations


@needs(Right.SEE)
@require_GET
def compensations(request: Request, pk: int) -> HttpResponseBase:
    """Work that was done here and not submitted at the platform."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
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
    publication = _publication_of(campaign_of(request, pk))
    payment = publication.payments.filter(pk=payment_pk, purpose=Payment.Purpose.COMPENSATION).first()
    if payment is None:
        raise NotYours(_("This publication has no such compensation."))
    return payment


# --- the pay of an hour


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def adjustment(request: Request, pk: int) -> HttpResponse:
    """What raising the pay of those who were approved would cost. POST pays it; again pays nobody twice."""
    publication = _publication_of(campaign_of(request, pk))
    first = fairness.hourly_at_first(publication)
    data = request.POST or request.GET or ({"hourly": first} if first is not None else None)
    form, status, raised = HourlyForm(data), 200, None
    if form.is_valid():
        hourly = form.cleaned_data["hourly"]
        try:
            if request.method == "POST":
                return _adjust(request, publication, hourly)
            raised = fairness.adjustment_of(publication, hourly)
        except Refused as error:
            status = refuse_in(form, error)
    elif data is not None:
        status = 400
    balance = balance_kept(publication) if raised is not None and raised.people else None
    if balance is not None:
        platform_jobs.balance_soon(publication.pk)
    context = {
        "campaign": publication.campaign,
        "publication": publication,
        "form": form,
        "adjustment": raised,
        "balance": balance,
        **_pay_context(publication),
    }
    return render(request, "platforms/adjustment.html", context, status=status)


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


# --- what all campaigns cost


@needs(Right.SIGNED_IN)
@require_GET
def costs(request: Request) -> HttpResponse:
    """What each campaign that has started costs, and all of them together by platform."""
    listing = _costs_listing(request)
    context = {
        "listing": listing,
        "rows": list(campaign_costs(listing.page.object_list)),
        "sums": costs_by_platform(cast("QuerySet[Campaign]", listing.rows)),
        "several_labs": labs_of(request.user)[1:2].exists(),
    }
    return render(request, "platforms/costs.html", context)


@needs(Right.SIGNED_IN)
@require_GET
def costs_csv(request: Request) -> HttpResponseBase:
    """The same as CSV: the campaigns that the filter leaves."""
    lines = cost_lines(cast("QuerySet[Campaign]", _costs_listing(request).rows))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="costs.csv"'
    return response


def _costs_listing(request: Request) -> Listing:
    campaigns = started_campaigns(pool_selectors.campaigns_of(request.user))
    return Listing(request, campaigns, sorts=platform_lists.COST_SORTS, narrow=platform_lists.CostFilter)


# --- the ledger


@needs(Right.SEE)
@require_GET
@one_moment()
def ledger(request: Request, pk: int) -> HttpResponse:
    """Every amount, the sums, and how they compare with the platform's own books."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
    payments = ledger_payments(publication).reverse()
    listing = Listing(request, payments, sorts=platform_lists.PAYMENT_SORTS, narrow=platform_lists.PaymentFilter)
    context = {
        "campaign": campaign,
        "publication": publication,
        "listing": listing,
        "rows": list(ledger_rows(publication, cast("QuerySet[Payment]", listing.page.object_list))),
        "purposes": dict(Payment.Purpose.choices),
        "states": dict(Payment.State.choices),
        "sums": platform_status.ledger_sums(publication),
        "totals": totals(publication),
        "compared": comparison_last(publication),
        "left": left_to_compare(publication),
        "refresh": 0 if publication.is_finished else REFRESH,
    }
    return render(request, "platforms/ledger.html", context)


@needs(Right.EXPORT)
@require_GET
def ledger_csv(request: Request, pk: int) -> HttpResponseBase:
    """The whole ledger as CSV, as it is read."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
    response = StreamingHttpResponse(ledger_lines(publication), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slugify(campaign.name) or campaign.pk}-payments.csv"'
    return response


@needs(Right.SPEND)
@require_POST
def compare(request: Request, pk: int) -> HttpResponse:
    """Have the ledger compared with the platform's, in the background: that takes some calls a HIT."""
    publication = _publication_of(campaign_of(request, pk))
    try:
        platform_jobs.compare.delay(publication.pk)
    except OperationalError as error:
        log.warning("The comparison waits for the next tick: %s", error)
        messages.warning(
            request,
            _("The ledgers cannot be compared on request right now. They are compared automatically every six hours."),
        )
    else:
        messages.success(request, _("The ledgers are being compared. The outcome appears here in a moment."))
    return see_other("platforms:ledger", pk)


# --- notifications


@needs(Right.PUBLIC)
@csrf_exempt
@require_POST
@ratelimit(key="ip", rate=lambda _group, _request: HEARD_RATE, block=False)  # type: ignore[untyped-decorator]
def heard(request: HttpRequest, reference: str) -> HttpResponse:
    """A notification of the marketplace: the HITs that it names are asked about next. Twice does no more than once."""
    secret = settings.MARKETPLACE_NOTIFICATION_SECRET
    if not secret:
        return HttpResponse(status=404)
    if getattr(request, "limited", False):
        return HttpResponse(status=429)
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return HttpResponse(status=413)
    at = timezone.now()
    header = request.headers.get("X-Marketplace-Signature", "")
    marketplace = adapter_named(Platform.MARKETPLACE)
    if not marketplace.is_notification_signed(secret=secret, header=header, body=request.body, at=at):
        return HttpResponse(status=403)
    publication = Publication.objects.filter(reference=reference).exclude(state=State.DRAFT).first()
    if publication is None:
        return HttpResponse(status=404)
    try:
        named = marketplace.hits_notified_of(request.body)
    except BadRequest as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    hints_take(publication=publication, platform_hit_ids=named, at=at)
    return HttpResponse(status=204)


@needs(Right.PUBLIC)
@csrf_exempt
@require_POST
@ratelimit(key="ip", rate=lambda _group, _request: HEARD_RATE, block=False)  # type: ignore[untyped-decorator]
def account_heard(request: HttpRequest, reference: str) -> HttpResponse:
    """A notification for a lab's account at a platform. What it names is asked about next; twice does no more than
    once.
    """
    if getattr(request, "limited", False):
        return HttpResponse(status=429)
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return HttpResponse(status=413)
    hook = AccountHook.objects.select_related("account").filter(reference=reference).exclude(address="").first()
    if hook is None:
        return HttpResponse(status=404)
    at = timezone.now()
    try:
        secret = unseal(hook.sealed)
        adapter = adapter_named(hook.account.platform)
        notice = adapter.notice_of(secret=secret, headers=request.headers, body=request.body, at=at)
    except SealedOtherwise:
        return HttpResponse(status=503)
    except BadRequest as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    if notice is None:
        return HttpResponse(status=403)
    keys = hooks.notice_take(hook=hook, notice=notice, at=at)
    if keys is not None:
        try:
            platform_jobs.hear.delay(*keys)
        except OperationalError as error:
            log.warning("A notification waits until it comes again: %s", error)
            hooks.notice_forget(hook=hook, notice=notice)
            return HttpResponse(status=503)
    return HttpResponse(status=204)

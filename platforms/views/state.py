"""The page of a publication: what needs attention, progress, and the next steps."""

import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.db.models import Max
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.alarms import alarms_raised
from core.errors import NotNow, NotYours
from core.http import Request, refusals_in, see_other, status_of
from core.lists import Listing, render_lists
from core.models import Alarm
from core.roles import Right, needs
from core.snapshot import one_moment
from platforms import alarms, hooks
from platforms import lists as platform_lists
from platforms import status as platform_status
from platforms.forms import ExtendForm, in_words_of
from platforms.models import PlatformAlarm, Publication
from platforms.money.ledger import totals
from platforms.outbox import may_be_decided, operation_decide, operation_retry
from platforms.publishing import publications as publishing
from platforms.publishing.protocol import HitNotifications
from platforms.registry import adapter_of, phrase
from platforms.views import REFRESH, State, publication_of
from platforms.views.reviewing import pay_context
from pools.http import campaign_of

log = logging.getLogger(__name__)


LISTED = 20  # alarms, and calls in trouble, on a page


class Advice(NamedTuple):
    """What to do about an alarm: in words, and where."""

    text: Promise
    page: str = ""
    label: Promise | str = ""


_DECIDE = gettext_lazy("Review it")


ADVICE = {
    PlatformAlarm.FUNDS: Advice(
        gettext_lazy(
            "At our own marketplace, ask its operator to add money. At Mechanical Turk, you buy prepaid HITs on the "
            "requester site. The calls then continue automatically."
        )
    ),
    PlatformAlarm.LOW: Advice(
        gettext_lazy(
            "Add money to the account before it is used up: calls that it cannot pay wait until it can. The alarm "
            "disappears within ten minutes."
        )
    ),
    PlatformAlarm.ACCOUNT: Advice(
        gettext_lazy("Set the access key where this site runs. The calls then continue automatically.")
    ),
    PlatformAlarm.REFUSED: Advice(
        gettext_lazy("Under Calls, read what the platform said. Try again once the cause is fixed, or dismiss this.")
    ),
    PlatformAlarm.UNMATCHED: Advice(
        gettext_lazy("Compare what is stored here, then approve or reject it."), "submission", _DECIDE
    ),
    PlatformAlarm.NO_ANSWERS: Advice(
        gettext_lazy("No work was done, so nothing needs to be paid. It is up to you whether to reject it."),
        "submission",
        _DECIDE,
    ),
    PlatformAlarm.FAST: Advice(
        gettext_lazy("Look at the work, then approve or reject it. Nothing is paid for it before that."),
        "submission",
        _DECIDE,
    ),
    PlatformAlarm.LEAVES: Advice(
        gettext_lazy(
            "Check what they did, under Work. They get no more tasks in this campaign; bar them to "
            "keep them out of others."
        )
    ),
    PlatformAlarm.AUTO_APPROVAL: Advice(gettext_lazy("Decide before the platform does."), "submission", _DECIDE),
    PlatformAlarm.UNRETURNED: Advice(gettext_lazy("Decide on them at the platform, or wait until they are returned.")),
    PlatformAlarm.COMPENSATION: Advice(
        gettext_lazy("Offer the compensation if the worker had really accepted the HIT; otherwise decline it."),
        "compensations",
        gettext_lazy("See the compensations"),
    ),
    PlatformAlarm.TWICE: Advice(
        gettext_lazy("Ask its worker to return it, or approve it if both are to be paid."), "submission", _DECIDE
    ),
    PlatformAlarm.UNSEEN: Advice(
        gettext_lazy(
            "Check whether workers qualify: the terms say what is required of them, and can be "
            "replaced. If they do, look at the title, pay and description as a worker would."
        ),
        "terms",
        gettext_lazy("See the terms"),
    ),
    PlatformAlarm.UNFAIR: Advice(
        gettext_lazy(
            "Raise the pay of those who were approved. This disappears within minutes once the median is no longer "
            "too low. If you dismiss it, it comes back when the median changes and is still too low."
        ),
        "adjustment",
        gettext_lazy("Raise the pay"),
    ),
    PlatformAlarm.EXPIRED: Advice(gettext_lazy("Extend the publication below.")),
    PlatformAlarm.LEDGER: Advice(
        gettext_lazy("Check the differences in the ledger, and compare again once they are resolved."),
        "ledger",
        gettext_lazy("See the ledger"),
    ),
    PlatformAlarm.STOPPED: Advice(
        gettext_lazy("Compare the ledgers. This disappears once the publication is resumed."),
        "ledger",
        gettext_lazy("See the ledger"),
    ),
    PlatformAlarm.JOB: Advice(
        gettext_lazy("This disappears once the job succeeds. If it persists, show it to the person who runs this site.")
    ),
    PlatformAlarm.UNCHECKED: Advice(
        gettext_lazy("This disappears once the work could be checked. Its judgments do not count until then.")
    ),
    PlatformAlarm.DOUBT: Advice(
        gettext_lazy("Nothing is paid twice because of this. If it persists, show it to the person who runs this site.")
    ),
    PlatformAlarm.UNDECIDED: Advice(
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
        return self.alarm.kind in alarms.DISMISSIBLE


def _alarm_rows(publication: Publication, raised: Iterable[Alarm]) -> list[AlarmRow]:
    pk = publication.campaign_id
    rows = []
    for alarm in raised:
        advice = ADVICE[PlatformAlarm(alarm.kind)]
        if alarm.kind == PlatformAlarm.LEAVES and not alarm.about:
            advice = _RETURNED
        address = ""
        if advice.page == "submission" and alarm.about == "submission":
            address = reverse("platforms:submission", args=[pk, alarm.about_id])
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
    raised = Listing(request, alarms_raised(publication), key="alarms", size=LISTED)
    return {
        "campaign": publication.campaign,
        "publication": publication,
        "counted_at": at,
        "status": platform_status.count_status(publication, at),
        "alarms": raised,
        "alarm_rows": _alarm_rows(publication, raised.page),
        "sums": totals(publication),
        **pay_context(publication),
    }


def _state_context(request: Request, publication: Publication, form: ExtendForm) -> dict[str, Any]:
    context, adapter = _progress_context(request, publication), adapter_of(publication)
    open_now = publishing.open_published_hits(publication, context["counted_at"]).filter(next_poll_at__isnull=False)
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
    status = context["status"]
    open_until = open_now.aggregate(last=Max("expires_at"))["last"] if status.ended < status.published else None
    return context | {
        "calls": platform_status.calls(publication),
        "troubled": troubled,
        "decidable": may_be_decided(publication),
        "open_until": open_until,
        "may_open": open_until is not None or publication.campaign.hits.filter(needed__gt=0).exists(),
        "has_lifetimes": "lifetime" not in adapter.unused_terms,
        "form": form,
        "refresh": 0 if publication.is_finished else REFRESH,
        "hears": bool(settings.MARKETPLACE_NOTIFICATION_SECRET) and isinstance(adapter, HitNotifications),
    }


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
    publication = publication_of(request, pk)
    campaign = publication.campaign
    if request.method == "GET":
        if what not in CONFIRMED:
            return see_other("platforms:publication", pk)
        at = timezone.now()
        context = {
            "campaign": campaign,
            "publication": publication,
            "what": what,
            "open": platform_status.open_hits(publication, at).count(),
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
    publication = publication_of(request, pk)
    form = ExtendForm(request.POST)
    if form.is_valid():
        with refusals_in(form):
            until = form.cleaned_data["until"]
            count = publishing.publication_extend(publication=publication, until=until, at=timezone.now())
            text = ngettext("%(count)d HIT stays open longer.", "%(count)d HITs stay open longer.", count)
            messages.success(request, phrase(publication, text) % {"count": count})
            return see_other("platforms:publication", pk)
    context = _state_context(request, publication, form)
    return render(request, "platforms/state.html", context, status=status_of(form))


@needs(Right.SPEND)
@require_POST
def retry(request: Request, pk: int, operation_pk: int) -> HttpResponse:
    """Try a refused call again; or say, with a reason, whether one in doubt was done that is never made again."""
    publication = publication_of(request, pk)
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
    publication = publication_of(request, pk)
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
    publication = publication_of(request, pk)
    hooks.notifications_ask(publication=publication)
    messages.success(request, _("From now on, the platform notifies this site of submitted work."))
    return see_other("platforms:publication", pk)

"""The pages of money: the ledger, what campaigns cost, who is owed what, and a lab's account."""

import logging
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from kombu.exceptions import OperationalError

from core.audit.notes import entry_note
from core.errors import BadRequest, NotYours
from core.http import Request, refusals_in, see_other, status_of
from core.lists import Listing, render_lists
from core.money import CURRENCIES, counted, in_currency
from core.percent import in_percent
from core.roles import Right, labs_of, may, needs, require
from core.snapshot import one_moment
from platforms import jobs as platform_jobs
from platforms import lists as platform_lists
from platforms import status as platform_status
from platforms.hooks import said_of
from platforms.ledger_comparison import comparison_last, left_to_compare
from platforms.models import PUBLISHED_TO, LabAccount, Payment
from platforms.money import pay_desk
from platforms.money.lab_accounts import LONGEST_TOKEN, lab_account_remove, lab_account_store
from platforms.money.ledger import ledger_lines, ledger_payments, ledger_rows, totals
from platforms.publishing.costs import campaign_costs, cost_lines, costs_by_platform, started_campaigns
from platforms.registry import accounts_at
from platforms.views import REFRESH, publication_of
from pools import selectors as pool_selectors
from pools.counting import count_of
from pools.http import campaign_of
from pools.models import Campaign
from tasks.paying import asked_at_open_link, pay_details, pay_words_of

log = logging.getLogger(__name__)


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
    return _csv(lines, "costs")


def _csv(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _costs_listing(request: Request) -> Listing:
    campaigns = started_campaigns(pool_selectors.campaigns_of(request.user))
    return Listing(request, campaigns, sorts=platform_lists.COST_SORTS, narrow=platform_lists.CostFilter)


@needs(Right.SEE)
@require_GET
@one_moment()
def ledger(request: Request, pk: int) -> HttpResponse:
    """Every amount, the sums, and how they compare with the platform's own books."""
    publication = publication_of(request, pk)
    campaign = publication.campaign
    payments = ledger_payments(publication).reverse()
    listing = Listing(
        request,
        payments,
        sorts=platform_lists.PAYMENT_SORTS,
        narrow=platform_lists.PaymentFilter,
        count=count_of(campaign, "payments"),
    )
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
    publication = publication_of(request, pk)
    campaign = publication.campaign
    return _csv(ledger_lines(publication), f"{slugify(campaign.name) or campaign.pk}-payments")


@needs(Right.SPEND)
@require_POST
def compare(request: Request, pk: int) -> HttpResponse:
    """Have the ledger compared with the platform's, in the background: that takes some calls a HIT."""
    publication = publication_of(request, pk)
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


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def pay(request: Request, pk: int) -> HttpResponseBase:
    """Everybody who is owed, whatever they came by: receipt, sum, since when. POST marks some or all of those whom no
    platform pays as paid, or takes that back.
    """
    campaign = campaign_of(request, pk)
    if request.method == "POST":
        return _mark(request, campaign)
    may_pay = may(request.user, campaign.lab, Right.SPEND)
    words = asked_at_open_link(pay_words_of(campaign))

    def with_details(rows: Sequence[Any]) -> list[Any]:
        """Each with what its worker left so that they can be paid."""
        left = pay_details(campaign, [row.worker_id for row in rows])
        for row in rows:
            row.pay_detail = left.get(row.worker_id, "")
        return list(rows)

    listing = Listing(
        request,
        pay_desk.assignments_owed(campaign).select_related("worker", "campaign"),
        sorts=platform_lists.PAY_SORTS,
        narrow=partial(platform_lists.PayFilter, campaign=campaign),
        columns=platform_lists.PAY_COLUMNS if may_pay else None,
        lines=with_details,
    )
    context = {
        "campaign": campaign,
        "listing": listing,
        "rows": with_details(list(listing.page)) if may_pay else listing.page,
        "asked": words if may_pay else "",
        "desk": pay_desk.desk_of(campaign),
        "today": timezone.now().date(),
        "longest_note": pay_desk.LONGEST_NOTE,
    }
    if listing.is_asked_as_file:
        entry_note(
            subject="export",
            action="downloaded",
            key=campaign.pk,
            lab_id=campaign.lab_id,
            thing="pay.csv",
            campaign_id=campaign.pk,
            campaign=campaign.name,
        )
    return render_lists(request, "platforms/pay.html", context)


def _mark(request: Request, campaign: Campaign) -> HttpResponse:
    act = request.POST.get("act", "")
    chosen = [int(row) for row in request.POST.getlist("row") if row.isdecimal() and len(row) < 19]
    if act not in ("pay", "pay-all", "take-back"):
        raise BadRequest(_("Choose what to do."))
    if act != "pay-all" and not chosen:
        raise BadRequest(_("Choose at least one row of the table, and then what to do."))
    note, now = request.POST.get("note", ""), timezone.now()
    if act == "take-back":
        marked = pay_desk.payments_take_back(campaign=campaign, chosen=chosen, by=request.user, at=now, note=note)
        text = ngettext(
            "%(count)s payment was taken back: %(amount)s is to be paid again.",
            "%(count)s payments were taken back: %(amount)s is to be paid again.",
            marked.assignments,
        )
    else:
        try:
            expected = Decimal(request.POST.get("expected", ""))
            paid_on = date.fromisoformat(request.POST.get("paid_on") or now.date().isoformat())
        except (InvalidOperation, ValueError):
            raise BadRequest(_("Load the page again, and then mark them as paid.")) from None
        marked = pay_desk.payments_mark(
            campaign=campaign,
            chosen=None if act == "pay-all" else chosen,
            expected=expected,
            by=request.user,
            at=now,
            paid_on=paid_on,
            note=note,
        )
        text = ngettext(
            "%(count)s task was marked as paid: %(amount)s.",
            "%(count)s tasks were marked as paid: %(amount)s.",
            marked.assignments,
        )
    if marked.assignments:
        facts = {"count": counted(marked.assignments), "amount": campaign.money(marked.amount)}
        messages.success(request, text % facts)
    else:
        messages.info(request, _("Nothing was changed: this had been done before."))
    return see_other("platforms:pay", campaign.pk)


class AccountForm(forms.Form):
    """A token, which is never shown again, and the workspace that pays."""

    token = forms.CharField(
        label=gettext_lazy("API token"),
        max_length=LONGEST_TOKEN,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Prolific makes it under “Settings”, “API tokens”. It is stored encrypted."),
        error_messages={"required": gettext_lazy("Copy the token from the platform.")},
    )
    workspace = forms.CharField(
        label=gettext_lazy("Workspace"),
        max_length=64,
        required=False,
        help_text=gettext_lazy("Its id, if the token opens more than one. It pays for the lab's campaigns."),
    )


@needs(Right.MANAGE)
@sensitive_post_parameters("token")
@require_http_methods(["GET", "POST"])
def lab_account(request: Request, pk: int, platform: str) -> HttpResponse:
    """A lab's account at a platform. POST asks the platform about a token and stores it, or removes the one stored."""
    lab = labs_of(request.user).filter(pk=pk).first()
    if lab is None:
        raise NotYours(_("There is no such lab, or it is not yours."))
    require(request.user, lab, Right.MANAGE)
    accounts_at(platform)
    stored = LabAccount.objects.filter(lab=lab, platform=platform).first()
    form = AccountForm(initial={"workspace": stored.workspace_id if stored else ""})
    if request.method == "POST":
        if request.POST.get("remove") == "yes":
            if lab_account_remove(lab=lab, platform=platform):
                messages.success(request, _("The token has been deleted."))
            return see_other("platforms:lab_account", pk, platform)
        form = AccountForm(request.POST)
        if form.is_valid():
            with refusals_in(form):
                account, balance = lab_account_store(
                    lab=lab,
                    platform=platform,
                    token=form.cleaned_data["token"],
                    workspace_id=form.cleaned_data["workspace"],
                    by=request.user,
                    at=timezone.now(),
                )
                text = _("The token has been stored. The workspace “%(name)s” has %(balance)s.")
                values = {"name": account.workspace, "balance": in_currency(balance, account.currency)}
                messages.success(request, text % values)
                return see_other("platforms:lab_account", pk, platform)
    context = {
        "lab": lab,
        "platform": PUBLISHED_TO[platform],
        "stored": stored,
        "notifications": said_of(getattr(stored, "hook", None)),
        "currency": CURRENCIES[stored.currency] if stored else "",
        "fee": in_percent(stored.fee_share) if stored else "",
        "form": form,
    }
    return render(request, "platforms/lab_account.html", context, status=status_of(form))

"""The page of a campaign that says who is owed what, and where a lab marks whom it has paid itself."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from core.audit.services import entry_note
from core.errors import BadRequest
from core.http import Request, see_other
from core.lists import Listing, render_lists
from core.money import counted
from core.roles import Right, may, needs
from platforms import lists as platform_lists
from platforms.money import pay_desk
from pools.http import campaign_of
from pools.models import Campaign
from tasks.paying import pay_details, pay_words_of


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
    words = pay_words_of(campaign).asked

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
        narrow=platform_lists.PayFilter,
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

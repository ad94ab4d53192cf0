"""Paying workers out: what they are owed, the lists to pay from, and payouts that came back.

What moves money is posted, confirmed, done by a service, and noted in the audit with it.
"""

import csv
import io
import secrets
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marketplace.errors import DoesNotExist
from marketplace.models import Account, AuditEvent, Entry
from marketplace.money import ZERO
from marketplace.operator.forms import BounceForm
from marketplace.operator.pages import for_operator, show_operator_form, show_operator_page
from marketplace.pages import paginate, read_query, see_other
from marketplace.selectors.payouts import Owed, owed_all, payout_by_pk, payout_lists, payout_lists_all, payouts_of
from marketplace.services.accounts import audit_note
from marketplace.services.ledger import payout_bounce, payouts_make
from marketplace.templatetags.people import dollars


@for_operator("GET", "POST")
def payouts(request: HttpRequest, operator: Account) -> HttpResponse:
    """What workers are owed; a list to pay from takes it off the books, and can be downloaded again."""
    owed = owed_all()
    total = sum((row.amount for row in owed), ZERO)
    lists = paginate(request, payout_lists_all(), key="lists")
    context = {"total": total, "page": paginate(request, owed), "lists": lists, "rows": payout_lists(lists)}
    if request.method == "GET":
        return show_operator_page(request, "payouts.html", context)
    if request.POST.get("total") != str(total):
        return _confirm(request, owed, changed="total" in request.POST)
    reference = f"P-{secrets.token_hex(5)}"
    with transaction.atomic():
        paid = payouts_make(reference=reference, workers=[row.worker for row in owed])
        amount = sum((payout.amount for payout in paid), ZERO)
        if changed := bool(paid) and amount != total:  # somebody earned more since the page was compared
            transaction.set_rollback(True)
        elif paid:
            audit_note(
                actor=operator,
                action=AuditEvent.Action.PAY_OUT,
                subject=reference,
                workers=len(paid),
                amount=str(amount),
            )
    if changed:
        return _confirm(request, owed_all(), changed=True)
    if not paid:
        messages.warning(request, _("Nobody is owed anything now, so no list was made."))
        return see_other("operator:payouts")
    text = ngettext(
        "%(count)d payout has been booked as paid.", "%(count)d payouts have been booked as paid.", len(paid)
    )
    messages.success(request, text % {"count": len(paid)})
    return see_other("operator:payout", query={"reference": reference})


def _confirm(request: HttpRequest, owed: Sequence[Owed], *, changed: bool) -> HttpResponse:
    """Ask whether these are to be booked, or say that nobody is owed anything."""
    total, address = sum((row.amount for row in owed), ZERO), reverse("operator:payouts")
    context: dict[str, Any] = {"title": _("Book these as paid?"), "is_alert": changed}
    if changed:
        context["notice"] = _("The amounts have changed in the meantime, so nothing was booked. Check them again.")
    if not owed:
        context |= {"lead": _("Nobody is owed anything now."), "back": (_("Back to payouts"), address, "button")}
        return show_operator_form(request, context)
    text = _(
        "%(total)s in total. The amounts come off the books at once, so that nothing is paid twice. You get a list to "
        "pay from, which you can download again at any time."
    )
    context |= {
        "lead": text % {"total": dollars(total)},
        "part": "marketplace/operator/parts.html#owed",
        "page": paginate(request, owed),
        "total": total,
        "hidden": [("total", str(total))],
        "button": _("Book as paid, and show the list"),
        "back": (_("Cancel"), address),
    }
    return show_operator_form(request, context)


@for_operator("GET")
def payout(request: HttpRequest, _operator: Account) -> HttpResponse:
    reference = read_query(request, "reference")
    rows = payouts_of(reference)
    page = paginate(request, rows)
    total = -(rows.aggregate(total=Sum("earned"))["total"] or ZERO)
    context = {"reference": reference, "page": page, "rows": page.object_list, "total": total}
    return show_operator_page(request, "payout.html", context, status=200 if page.paginator.count else 404)


@for_operator("GET")
def payout_csv(request: HttpRequest, operator: Account) -> HttpResponse:
    """The same as a CSV file, to pay from."""
    reference = read_query(request, "reference")
    rows = list(payouts_of(reference))
    if not rows:
        raise DoesNotExist("Payout", reference)
    audit_note(actor=operator, action=AuditEvent.Action.FETCH_PAYOUTS, subject=reference[:100], workers=len(rows))
    response = HttpResponse(write_csv(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="payouts-{slugify(reference)}.csv"'
    add_never_cache_headers(response)
    return response


def write_csv(rows: list[Entry]) -> str:
    """Write payouts as CSV: one row for each worker, amounts in dollars."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["reference", "worker_id", "email", "country", "amount", "currency", "booked_at", "came_back_at"])
    for row in rows:
        if row.worker is None or row.payout_list is None:
            continue
        values = [row.payout_list.reference, row.worker.worker_id, row.worker.account.email, row.worker.country]
        came_back = row.bounce.at.isoformat() if hasattr(row, "bounce") else ""
        writer.writerow([*map(_disarm, values), f"{-row.earned:.2f}", "USD", row.at.isoformat(), came_back])
    return file.getvalue()


def _disarm(text: str) -> str:
    """Write a text so that no spreadsheet takes it for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


@for_operator("GET", "POST")
def payout_bounced(request: HttpRequest, operator: Account, payout_pk: int) -> HttpResponse:
    """A payout came back: the worker is owed it again. Asked first, with a reason."""
    row = payout_by_pk(payout_pk)
    reference = row.payout_list.reference if row.payout_list else ""
    form = BounceForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with transaction.atomic():
            entry = payout_bounce(payout_pk=row.pk, reason=form.cleaned_data["reason"])
            audit_note(
                actor=operator,
                action=AuditEvent.Action.RETURN_PAYOUT,
                subject=row.worker.worker_id if row.worker else "",
                reference=reference,
                amount=str(entry.earned),
                reason=entry.note,
            )
        messages.success(request, _("Booked. The worker is owed the amount again."))
        return see_other("operator:payout", query={"reference": reference})
    return show_operator_page(
        request, "bounce.html", {"payout": row, "form": form}, status=400 if form.is_bound else 200
    )

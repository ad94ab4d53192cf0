"""The operator's overview, disputes, payouts and audit.

What moves money is posted, confirmed, done by a service, and noted in the audit with it.
"""

import csv
import io
import secrets

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from marketplace.errors import DoesNotExist, Refused
from marketplace.models import Account, Entry, Worker
from marketplace.money import ZERO
from marketplace.operator.edge import page
from marketplace.operator.forms import (
    BounceForm,
    DecisionForm,
)
from marketplace.selectors import site as selectors
from marketplace.services.accounts import (
    audit_note,
)
from marketplace.services.daily import BOOKS
from marketplace.services.ledger import payout_bounce, payouts_make
from marketplace.services.messages import dispute_close
from marketplace.site.edge import asked_for, operator_page, page_of, see_other


@require_GET
@operator_page
def home(request: HttpRequest, _operator: Account) -> HttpResponse:
    """What waits, and how the money stands."""
    rows, owed = selectors.requester_rows(), selectors.owed_all()
    context = {
        "requesters": len(rows),
        "available": sum((row.balance.available for row in rows), ZERO),
        "on_hold": sum((row.balance.on_hold for row in rows), ZERO),
        "open_hits": sum(row.open_hits for row in rows),
        "workers": selectors.workers_found().filter(status=Worker.Status.ACTIVE).count(),
        "owed": sum((row.amount for row in owed), ZERO),
        "owed_workers": len(owed),
        "failures": selectors.due_failures()[:20],
        "failed": selectors.due_failures().count(),
        "books": selectors.daily_run(BOOKS),
        "rows": selectors.audit_rows(selectors.audit_all()[:8]),
    }
    return page(request, "home.html", context)


# --- disputes


@require_GET
@operator_page
def disputes(request: HttpRequest, _operator: Account) -> HttpResponse:
    """All disputes, those to decide first."""
    return page(request, "disputes.html", {"page": page_of(request, selectors.disputes_all())})


@require_http_methods(["GET", "POST"])
@operator_page
def dispute(request: HttpRequest, operator: Account, dispute_pk: int) -> HttpResponse:
    """One dispute: what was said, and the decision, which is asked for twice when it moves money."""
    found = selectors.dispute_by_pk(dispute_pk)
    form = DecisionForm(request.POST or None)
    context = {"dispute": found, "assignment": found.assignment, "form": form}
    if not form.is_bound:
        return page(request, "dispute.html", context)
    if not form.is_valid():
        return page(request, "dispute.html", context, status=400)
    overturn, answer = form.cleaned_data["decision"] == "overturn", form.cleaned_data["answer"]
    if "confirmed" not in request.POST:
        return page(request, "dispute_confirm.html", context | {"overturn": overturn, "answer": answer})
    try:
        with transaction.atomic():
            dispute_close(dispute_pk=dispute_pk, overturn=overturn, answer=answer)
            audit_note(
                actor=operator,
                action="overturn rejection" if overturn else "uphold rejection",
                subject=found.assignment.assignment_id,
                answer=answer,
                amount=str(found.assignment.reward),
            )
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Decided. The worker reads it now."))
    return see_other("operator:dispute", dispute_pk)


# --- payouts


@require_http_methods(["GET", "POST"])
@operator_page
def payouts(request: HttpRequest, operator: Account) -> HttpResponse:
    """What workers are owed; a list to pay from takes it off the books, and can be fetched again."""
    owed = selectors.owed_all()
    total = sum((row.amount for row in owed), ZERO)
    context = {"owed": owed, "total": total, "batches": selectors.payout_batches()}
    if request.method == "GET":
        return page(request, "payouts.html", context)
    if request.POST.get("total") != str(total):
        return page(request, "payouts_confirm.html", context | {"changed": "total" in request.POST})
    reference = f"P-{secrets.token_hex(5)}"
    with transaction.atomic():
        paid = payouts_make(workers=[row.worker for row in owed], note=reference)
        amount = sum((payout.amount for payout in paid), ZERO)
        if changed := bool(paid) and amount != total:  # somebody earned more since the page was compared
            transaction.set_rollback(True)
        elif paid:
            audit_note(actor=operator, action="pay out", subject=reference, workers=len(paid), amount=str(amount))
    if changed:
        owed = selectors.owed_all()
        context |= {"owed": owed, "total": sum((row.amount for row in owed), ZERO), "changed": True}
        return page(request, "payouts_confirm.html", context)
    if not paid:
        messages.warning(request, _("Nobody is owed anything now, so there is no list."))
        return see_other("operator:payouts")
    text = ngettext("%(count)d payout is booked as paid.", "%(count)d payouts are booked as paid.", len(paid))
    messages.success(request, text % {"count": len(paid)})
    return see_other("operator:payout", query={"reference": reference})


@require_GET
@operator_page
def payout(request: HttpRequest, _operator: Account) -> HttpResponse:
    """One list of payouts."""
    reference = asked_for(request, "reference")
    rows = list(selectors.payouts_of(reference))
    context = {"reference": reference, "rows": rows, "total": -sum((row.earned for row in rows), ZERO)}
    return page(request, "payout.html", context, status=200 if rows else 404)


@require_GET
@operator_page
def payout_csv(request: HttpRequest, operator: Account) -> HttpResponse:
    """The same as a CSV file, to pay from."""
    reference = asked_for(request, "reference")
    rows = list(selectors.payouts_of(reference))
    if not rows:
        raise DoesNotExist("Payout", reference)
    audit_note(actor=operator, action="fetch payouts", subject=reference[:100], workers=len(rows))
    response = HttpResponse(payouts_written(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="payouts-{slugify(reference)}.csv"'
    add_never_cache_headers(response)
    return response


def payouts_written(rows: list[Entry]) -> str:
    """Payouts as CSV: one row for each worker, amounts in dollars."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["reference", "worker_id", "email", "country", "amount", "currency", "booked_at", "came_back_at"])
    for row in rows:
        if row.worker is None:
            continue
        values = [row.note, row.worker.worker_id, row.worker.account.email, row.worker.country]
        came_back = row.bounce.at.isoformat() if hasattr(row, "bounce") else ""
        writer.writerow([*map(_harmless, values), f"{-row.earned:.2f}", "USD", row.at.isoformat(), came_back])
    return file.getvalue()


def _harmless(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


@require_http_methods(["GET", "POST"])
@operator_page
def payout_bounced(request: HttpRequest, operator: Account, payout_pk: int) -> HttpResponse:
    """A payout came back: the worker is owed it again. Asked first, with a reason."""
    paid = selectors.payout_by_pk(payout_pk)
    form = BounceForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with transaction.atomic():
            entry = payout_bounce(payout_pk=paid.pk, reason=form.cleaned_data["reason"])
            audit_note(
                actor=operator,
                action="payout came back",
                subject=paid.worker.worker_id if paid.worker else "",
                reference=paid.note,
                amount=str(entry.earned),
                reason=entry.note,
            )
        messages.success(request, _("Booked. The worker is owed it again."))
        return see_other("operator:payout", query={"reference": paid.note})
    return page(request, "bounce.html", {"paid": paid, "form": form}, status=400 if form.is_bound else 200)


# --- books and audit


@require_GET
@operator_page
def books(request: HttpRequest, _operator: Account) -> HttpResponse:
    """What the last check of the books found: differences, sums, and the income from fees."""
    return page(request, "books.html", {"books": selectors.daily_run(BOOKS)})


@require_GET
@operator_page
def audit(request: HttpRequest, _operator: Account) -> HttpResponse:
    """What operators did."""
    words = asked_for(request)
    found = page_of(request, selectors.audit_all(words), 100)
    context = {"page": found, "rows": selectors.audit_rows(found.object_list), "words": words}
    return page(request, "audit.html", context)

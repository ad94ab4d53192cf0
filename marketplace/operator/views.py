"""The operator's pages. What moves money is posted, confirmed, done by a service, and noted in the audit with it."""

import csv
import io
import secrets
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace.errors import AlreadyDone, DoesNotExist, Refused
from marketplace.models import Account, Entry, Worker
from marketplace.money import ZERO
from marketplace.operator.forms import (
    AnswerForm,
    DecisionForm,
    DepositForm,
    InvitationForm,
    KeyForm,
    RequesterForm,
    StatusForm,
)
from marketplace.selectors import qualifying, work
from marketplace.selectors import site as selectors
from marketplace.selectors.lookups import worker_of
from marketplace.selectors.requesters import messages_to
from marketplace.services.accounts import audit_note, invitation_make, requester_create, worker_set_status
from marketplace.services.keys import key_issue, key_revoke
from marketplace.services.ledger import deposit_make, payouts_make
from marketplace.services.messages import dispute_close, message_answer
from marketplace.services.tokens import token_claim
from marketplace.site.edge import asked_for, operator_page, page_of, see_other, show

_ONCE = "marketplace.operator.once"
ONCE_SECONDS = 12 * 3600
"""How long a page that asks for confirmation can be confirmed. Its token is remembered for longer."""


def page(request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """A page of the operator's."""
    shared = {"open_disputes": selectors.disputes_open()}
    return show(request, f"operator/{template}", shared | dict(context), status=status)


# --- requesters


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
        "events": selectors.audit_all()[:8],
    }
    return page(request, "home.html", context)


@require_http_methods(["GET", "POST"])
@operator_page
def requesters(request: HttpRequest, operator: Account) -> HttpResponse:
    """All requesters, and a form for another."""
    form = RequesterForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            with transaction.atomic():
                made = requester_create(**form.cleaned_data)
                audit_note(actor=operator.email, action="create requester", subject=made.account_id, name=made.name)
        except Refused as refused:
            form.add_error("name", str(refused))
        else:
            messages.success(request, _("%(name)s can publish once it has a key and money.") % {"name": made.name})
            return see_other("operator:requester", made.account_id)
    context = {"rows": selectors.requester_rows(), "form": form}
    return page(request, "requesters.html", context, status=400 if form.is_bound else 200)


@require_GET
@operator_page
def requester(request: HttpRequest, _operator: Account, account_id: str) -> HttpResponse:
    """One requester: balance, keys, messages, ledger."""
    found = selectors.requester_of(account_id)
    context = {
        "requester": found,
        "balance": selectors.requester_balance(found),
        "keys": selectors.requester_keys(found),
        "letters": messages_to(found)[:20],
        "page": page_of(request, selectors.requester_entries(found)),
        "deposit": DepositForm(),
        "key_form": KeyForm(),
        "url": settings.MARKETPLACE_URL,
    }
    return page(request, "requester.html", context)


@require_POST
@operator_page
def issue_key(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """A new access key. Its secret is in this answer, and nowhere else."""
    found = selectors.requester_of(account_id)
    form = KeyForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("A label has up to 100 characters."))
        return see_other("operator:requester", account_id)
    label = form.cleaned_data["label"]
    with transaction.atomic():
        issued = key_issue(requester=found, label=label)
        audit_note(
            actor=operator.email, action="issue key", subject=found.account_id, key_id=issued.key_id, label=label
        )
    return page(request, "key.html", {"requester": found, "issued": issued, "url": settings.MARKETPLACE_URL})


@require_http_methods(["GET", "POST"])
@operator_page
def revoke_key(request: HttpRequest, operator: Account, account_id: str, key_id: str) -> HttpResponse:
    """Refuse a key from now on, after a question."""
    found = selectors.requester_of(account_id)
    key = selectors.requester_keys(found).filter(key_id=key_id, revoked_at=None).first()
    if key is None:
        messages.warning(request, _("There is no such key in force."))
        return see_other("operator:requester", account_id)
    if request.method == "GET":
        return page(request, "revoke.html", {"requester": found, "key": key})
    with transaction.atomic():
        if key_revoke(key_id=key.key_id):
            audit_note(actor=operator.email, action="revoke key", subject=found.account_id, key_id=key.key_id)
    messages.success(request, _("The key is revoked."))
    return see_other("operator:requester", account_id)


@require_POST
@operator_page
def deposit(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """Money into a requester's account, or out of it: asked first, then done, and done once."""
    found = selectors.requester_of(account_id)
    form = DepositForm(request.POST)
    context = {"requester": found, "balance": selectors.requester_balance(found), "form": form}
    if not form.is_valid():
        return page(request, "deposit.html", context, status=400)
    amount, note = form.cleaned_data["amount"], form.cleaned_data["note"]
    if "confirmed" not in request.POST:
        asked = signing.dumps([found.account_id, str(amount), note, secrets.token_hex(12)], salt=_ONCE)
        return page(request, "deposit_confirm.html", context | {"asked": asked, "amount": amount, "note": note})
    try:
        asked_for = signing.loads(request.POST["confirmed"], salt=_ONCE, max_age=ONCE_SECONDS)
    except signing.BadSignature:
        asked_for = []
    if asked_for[:3] != [found.account_id, str(amount), note]:
        messages.error(request, _("Nothing was booked: the page was too old, or its form was changed. Enter it again."))
        return see_other("operator:requester", account_id)
    try:
        with transaction.atomic():
            claim = token_claim(requester=found, operation="deposit by operator", token=asked_for[3])
            entry = deposit_make(requester=found, amount=amount, note=note)
            claim.settle(str(entry.number))
            audit_note(actor=operator.email, action="deposit", subject=found.account_id, amount=str(amount), note=note)
    except AlreadyDone:
        messages.warning(request, _("This was booked already, and was not booked again."))
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Booked."))
    return see_other("operator:requester", account_id)


@require_http_methods(["GET", "POST"])
@operator_page
def letter(request: HttpRequest, operator: Account, account_id: str, message_pk: int) -> HttpResponse:
    """What a worker wrote to a requester, and an answer in the requester's name."""
    found = selectors.requester_of(account_id)
    message = selectors.requester_message(found, message_pk)
    form = AnswerForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with transaction.atomic():
            message_answer(message=message, text=form.cleaned_data["text"])
            audit_note(
                actor=operator.email, action="answer message", subject=found.account_id, worker=message.worker.worker_id
            )
        messages.success(request, _("The answer is sent."))
        return see_other("operator:requester", account_id)
    context = {"requester": found, "letter": message, "form": form}
    return page(request, "letter.html", context, status=400 if form.is_bound else 200)


# --- workers


@require_GET
@operator_page
def workers(request: HttpRequest, _operator: Account) -> HttpResponse:
    """All workers, and the invitations."""
    words = asked_for(request)
    context = {
        "page": page_of(request, selectors.workers_found(words)),
        "words": words,
        "invitations": selectors.invitations_all()[:50],
        "form": InvitationForm(),
    }
    return page(request, "workers.html", context)


@require_POST
@operator_page
def invite(request: HttpRequest, operator: Account) -> HttpResponse:
    """An invitation. Its address is in this answer, and nowhere else."""
    form = InvitationForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        with transaction.atomic():
            issued = invitation_make(**given)
            audit_note(
                actor=operator.email, action="invite worker", subject=given["email"] or "anybody", note=given["note"]
            )
        address = f"{settings.MARKETPLACE_URL}{reverse('site:register')}?invitation={issued.token}"
        return page(request, "invitation.html", {"address": address, "invitation": issued.invitation})
    return page(request, "invite.html", {"form": form}, status=400)


@require_http_methods(["GET", "POST"])
@operator_page
def worker(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """One worker: record, money, standing."""
    found = worker_of(worker_id)
    form = StatusForm(request.POST or None, initial={"status": found.status})
    if form.is_bound and form.is_valid():
        status, reason = Worker.Status(form.cleaned_data["status"]), form.cleaned_data["reason"]
        with transaction.atomic():
            before = found.status
            worker_set_status(worker=found, status=status)
            audit_note(
                actor=operator.email, action=f"worker {status}", subject=found.worker_id, before=before, reason=reason
            )
        messages.success(request, _("The worker is %(status)s now.") % {"status": status.label})
        return see_other("operator:worker", worker_id)
    context = {
        "person": found,
        "record": qualifying.record_of(found),
        "earnings": work.earnings_of(found),
        "page": page_of(request, work.entries_of(found)),
        "form": form,
    }
    return page(request, "worker.html", context, status=400 if form.is_bound else 200)


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
                actor=operator.email,
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
        if paid:
            audit_note(actor=operator.email, action="pay out", subject=reference, workers=len(paid), amount=str(amount))
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
    audit_note(actor=operator.email, action="fetch payouts", subject=reference[:100], workers=len(rows))
    response = HttpResponse(payouts_written(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="payouts-{slugify(reference)}.csv"'
    add_never_cache_headers(response)
    return response


def payouts_written(rows: list[Entry]) -> str:
    """Payouts as CSV: one row for each worker, amounts in dollars."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["reference", "worker_id", "email", "country", "amount", "currency", "booked_at"])
    for row in rows:
        if row.worker is None:
            continue
        values = [row.note, row.worker.worker_id, row.worker.account.email, row.worker.country]
        writer.writerow([*map(_harmless, values), f"{-row.earned:.2f}", "USD", row.at.isoformat()])
    return file.getvalue()


def _harmless(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


# --- audit


@require_GET
@operator_page
def audit(request: HttpRequest, _operator: Account) -> HttpResponse:
    """What operators did."""
    words = asked_for(request)
    return page(request, "audit.html", {"page": page_of(request, selectors.audit_all(words), 100), "words": words})

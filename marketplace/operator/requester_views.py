"""The operator's pages about requesters: their keys, money, messages and standing."""

import secrets
from contextlib import suppress

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace.errors import AlreadyDone, Refused, WrongState
from marketplace.models import Account
from marketplace.operator.edge import page
from marketplace.operator.forms import (
    AnswerForm,
    DepositForm,
    KeyForm,
    ReasonForm,
    RequesterForm,
)
from marketplace.selectors import site as selectors
from marketplace.selectors.requesters import messages_to
from marketplace.services.accounts import audit_note, requester_create, requester_deactivate, requester_reactivate
from marketplace.services.assignments import assignment_approve
from marketplace.services.due import catch_up
from marketplace.services.keys import key_issue, key_revoke
from marketplace.services.ledger import deposit_make
from marketplace.services.messages import message_answer
from marketplace.services.tokens import token_claim
from marketplace.site.edge import asked_for, operator_page, page_of, see_other

_ONCE = "marketplace.operator.once"
ONCE_SECONDS = 12 * 3600
"""How long a page that asks for confirmation can be confirmed. Its token is remembered for longer."""


@require_http_methods(["GET", "POST"])
@operator_page
def requesters(request: HttpRequest, operator: Account) -> HttpResponse:
    """All requesters, and a form for another."""
    form = RequesterForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            with transaction.atomic():
                made = requester_create(**form.cleaned_data)
                audit_note(actor=operator, action="create requester", subject=made.account_id, name=made.name)
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
        "rejections": selectors.requester_rejections(found),
        "keys": selectors.requester_keys(found),
        "letters": messages_to(found)[:20],
        "undecided": 0 if found.is_active else selectors.work_undecided(found).count(),
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
        audit_note(actor=operator, action="issue key", subject=found.account_id, key_id=issued.key_id, label=label)
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
            audit_note(actor=operator, action="revoke key", subject=found.account_id, key_id=key.key_id)
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
            token_claim(requester=found, operation="deposit by operator", token=asked_for[3], subject=found.account_id)
            deposit_make(requester=found, amount=amount, note=note)
            audit_note(actor=operator, action="deposit", subject=found.account_id, amount=str(amount), note=note)
    except AlreadyDone:
        messages.warning(request, _("This was booked already, and was not booked again."))
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Booked."))
    return see_other("operator:requester", account_id)


@require_http_methods(["GET", "POST"])
@operator_page
def requester_standing(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """Deactivate a requester, or take it back: asked first, with a reason."""
    found = selectors.requester_of(account_id)
    form = ReasonForm(request.POST or None)
    wanted = request.POST.get("wanted")
    if form.is_bound and form.is_valid() and wanted in ("active", "inactive"):
        given = {"requester": found, "actor": operator, "reason": form.cleaned_data["reason"]}
        if wanted == "active":
            requester_reactivate(**given)
            messages.success(request, _("The requester is active again. Its HITs stay ended until it extends them."))
        else:
            ended = requester_deactivate(**given)
            catch_up()
            text = ngettext(
                "The requester is inactive, and %(count)d HIT is ended.",
                "The requester is inactive, and %(count)d HITs are ended.",
                ended,
            )
            messages.success(request, text % {"count": ended})
        return see_other("operator:requester", account_id)
    context = {"requester": found, "form": form, "balance": selectors.requester_balance(found)}
    return page(request, "standing.html", context, status=400 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
@operator_page
def requester_undecided(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """What was submitted to a deactivated requester, to be approved in its place. Others decide for themselves."""
    found = selectors.requester_of(account_id)
    if found.is_active:
        messages.warning(request, _("This requester is active, and decides by itself."))
        return see_other("operator:requester", account_id)
    form = ReasonForm(request.POST or None)
    chosen = request.POST.getlist("assignment")
    if form.is_bound and form.is_valid() and chosen:
        waiting = selectors.work_undecided(found).filter(assignment_id__in=chosen)
        done = 0
        for assignment_id in list(waiting.values_list("assignment_id", flat=True)):
            # What the clock has approved meanwhile is no failure of the others.
            with suppress(WrongState), transaction.atomic():
                assignment_approve(requester=found, assignment_id=assignment_id)
                audit_note(
                    actor=operator,
                    action="approve for requester",
                    subject=assignment_id,
                    requester=found.account_id,
                    reason=form.cleaned_data["reason"],
                )
                done += 1
        text = ngettext("%(count)d is approved and paid.", "%(count)d are approved and paid.", done)
        messages.success(request, text % {"count": done})
        return see_other("operator:requester", account_id)
    rows = page_of(request, selectors.work_undecided(found))
    context = {"requester": found, "form": form, "page": rows, "none_chosen": form.is_bound and not chosen}
    return page(request, "undecided.html", context, status=400 if form.is_bound else 200)


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
                actor=operator, action="answer message", subject=found.account_id, worker=message.worker.worker_id
            )
        messages.success(request, _("The answer is sent."))
        return see_other("operator:requester", account_id)
    context = {"requester": found, "letter": message, "form": form}
    return page(request, "letter.html", context, status=400 if form.is_bound else 200)


@require_GET
@operator_page
def requester_calls(request: HttpRequest, _operator: Account, account_id: str) -> HttpResponse:
    """What the requester's keys did, newest first."""
    found, words = selectors.requester_of(account_id), asked_for(request)
    rows = page_of(request, selectors.calls_of(found, words=words), 100)
    return page(request, "calls.html", {"requester": found, "page": rows, "words": words})

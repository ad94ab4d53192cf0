"""The operator's pages about requesters: their keys, money, messages and status."""

import secrets
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marketplace.errors import AlreadyDone, Refused, WrongState
from marketplace.models import Account, AuditEvent
from marketplace.operator.forms import AnswerForm, DepositForm, KeyForm, ReasonForm, RequesterForm
from marketplace.operator.pages import as_code, for_operator, show_operator_form, show_operator_page
from marketplace.pages import paginate, read_query, see_other
from marketplace.selectors import requesters as requester_selectors
from marketplace.selectors.ledger import balance
from marketplace.selectors.lookups import requester_of
from marketplace.selectors.messages import messages_to, requester_message
from marketplace.services.accounts import audit_note, requester_create, requester_deactivate, requester_reactivate
from marketplace.services.assignments import assignment_approve
from marketplace.services.due import catch_up
from marketplace.services.keys import key_issue, key_revoke
from marketplace.services.ledger import deposit_make
from marketplace.services.messages import message_answer_by_requester
from marketplace.services.tokens import token_claim
from marketplace.templatetags.people import dollars

_ONCE = "marketplace.operator.once"
# How long a page that asks for confirmation can be confirmed. Its token is remembered for longer.
ONCE_SECONDS = 12 * 3600


@for_operator("GET", "POST")
def requesters(request: HttpRequest, operator: Account) -> HttpResponse:
    """All requesters, and a form for another."""
    form = RequesterForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            with transaction.atomic():
                created = requester_create(**form.cleaned_data)
                audit_note(
                    actor=operator,
                    action=AuditEvent.Action.CREATE_REQUESTER,
                    subject=created.account_id,
                    name=created.name,
                )
        except Refused as refused:
            form.add_error("name", str(refused))
        else:
            messages.success(request, _("%(name)s can publish once it has a key and money.") % {"name": created.name})
            return see_other("operator:requester", created.account_id)
    words = read_query(request)
    page = paginate(request, requester_selectors.requesters_matching(words))
    rows = requester_selectors.requester_rows(page.object_list)
    context = {"page": page, "rows": rows, "words": words, "form": form}
    return show_operator_page(request, "requesters.html", context, status=400 if form.is_bound else 200)


@for_operator("GET")
def requester(request: HttpRequest, _operator: Account, account_id: str) -> HttpResponse:
    """One requester: balance, keys, messages, ledger."""
    owner = requester_of(account_id)
    context = {
        "requester": owner,
        "balance": balance(owner.pk),
        "rejections": requester_selectors.requester_rejections(owner),
        "keys": paginate(request, requester_selectors.requester_keys(owner), 20, "keys"),
        "messages_to": paginate(request, messages_to(owner), 20, "messages"),
        "undecided": 0 if owner.is_active else requester_selectors.work_undecided(owner).count(),
        "page": paginate(request, requester_selectors.requester_entries(owner)),
        "deposit": DepositForm(),
        "key_form": KeyForm(),
        "url": settings.MARKETPLACE_URL,
    }
    return show_operator_page(request, "requester.html", context)


@for_operator("POST")
def issue_key(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """A new access key. Its secret is in this answer, and nowhere else."""
    owner = requester_of(account_id)
    form = KeyForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("A label has up to 100 characters."))
        return see_other("operator:requester", account_id)
    label = form.cleaned_data["label"]
    with transaction.atomic():
        issued = key_issue(requester=owner, label=label)
        audit_note(
            actor=operator,
            action=AuditEvent.Action.ISSUE_KEY,
            subject=owner.account_id,
            key_id=issued.key_id,
            label=label,
        )
    context = {
        "title": _("New access key"),
        "notice": _("The secret is shown only once. Pass it on safely."),
        "facts": [
            (_("Requester"), owner.name),
            (_("Endpoint"), as_code(settings.MARKETPLACE_URL)),
            (_("Access key id"), as_code(issued.key_id, "key-id")),
            (_("Secret access key"), as_code(issued.secret, "secret")),
        ],
        "back": (_("Done"), reverse("operator:requester", args=[owner.account_id])),
    }
    return show_operator_form(request, context, status=201)


@for_operator("GET", "POST")
def revoke_key(request: HttpRequest, operator: Account, account_id: str, key_id: str) -> HttpResponse:
    """Refuse a key from now on, after a question."""
    owner = requester_of(account_id)
    key = requester_selectors.requester_keys(owner).filter(key_id=key_id, revoked_at=None).first()
    if key is None:
        messages.warning(request, _("There is no active key with this id."))
        return see_other("operator:requester", account_id)
    if request.method == "GET":
        context = {
            "title": _("Revoke the key?"),
            "lead": format_html("{} {}", as_code(key.key_id), key.label),
            "about": [
                _("Requests signed with it will be refused. This cannot be undone, but you can issue a new key.")
            ],
            "button": _("Revoke"),
            "back": (_("Keep it"), reverse("operator:requester", args=[owner.account_id])),
        }
        return show_operator_form(request, context)
    with transaction.atomic():
        if key_revoke(key_id=key.key_id):
            audit_note(actor=operator, action=AuditEvent.Action.REVOKE_KEY, subject=owner.account_id, key_id=key.key_id)
    messages.success(request, _("The key has been revoked."))
    return see_other("operator:requester", account_id)


@for_operator("POST")
def deposit(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """Money into a requester's account, or out of it: asked first, then done, and done once."""
    owner = requester_of(account_id)
    form = DepositForm(request.POST)
    context: dict[str, Any] = {"back": (_("Cancel"), reverse("operator:requester", args=[owner.account_id]))}
    if not form.is_valid():
        context |= {"title": _("Book a deposit"), "lead": owner.name, "form": form, "button": _("Continue")}
        return show_operator_form(request, context, status=400)
    amount, note = form.cleaned_data["amount"], form.cleaned_data["note"]
    if "confirmed" not in request.POST:
        once_token = signing.dumps([owner.account_id, str(amount), note, secrets.token_hex(12)], salt=_ONCE)
        context |= {
            "title": _("Book this amount?"),
            "facts": [
                (_("Requester"), owner.name),
                (_("Available now"), dollars(balance(owner.pk).available)),
                (_("Paid back") if amount < 0 else _("Paid in"), format_html("<strong>{}</strong>", dollars(amount))),
                (_("Note"), note or "–"),
            ],
            "hidden": [
                ("amount", str(amount)),
                ("note", note),
                ("confirmed", once_token),
                ("typed_id", request.POST.get("typed_id", "")),
            ],
            "button": _("Book"),
        }
        return show_operator_form(request, context)
    try:
        confirmed = signing.loads(request.POST["confirmed"], salt=_ONCE, max_age=ONCE_SECONDS)
    except signing.BadSignature:
        confirmed = []
    if confirmed[:3] != [owner.account_id, str(amount), note]:
        messages.error(
            request, _("Nothing was booked, because the page was too old or its form had changed. Enter it again.")
        )
        return see_other("operator:requester", account_id)
    try:
        with transaction.atomic():
            token_claim(requester=owner, operation="deposit by operator", token=confirmed[3], subject=owner.account_id)
            deposit_make(requester=owner, amount=amount, note=note)
            audit_note(
                actor=operator,
                action=AuditEvent.Action.DEPOSIT,
                subject=owner.account_id,
                amount=str(amount),
                note=note,
            )
    except AlreadyDone:
        messages.warning(request, _("This had been booked before, and was not booked again."))
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Booked."))
    return see_other("operator:requester", account_id)


@for_operator("GET", "POST")
def requester_status(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """Deactivate a requester, or take it back: asked first, with a reason."""
    owner = requester_of(account_id)
    form = ReasonForm(request.POST or None)
    wanted_status = request.POST.get("wanted")
    if form.is_bound and form.is_valid() and wanted_status in ("active", "inactive"):
        arguments = {"requester": owner, "actor": operator, "reason": form.cleaned_data["reason"]}
        if wanted_status == "active":
            requester_reactivate(**arguments)
            messages.success(request, _("The requester is active again. Its HITs stay expired until it extends them."))
        else:
            ended = requester_deactivate(**arguments)
            catch_up()
            text = ngettext(
                "The requester is inactive, and %(count)d HIT has been expired.",
                "The requester is inactive, and %(count)d HITs have been expired.",
                ended,
            )
            messages.success(request, text % {"count": ended})
        return see_other("operator:requester", account_id)
    money = balance(owner.pk)
    context: dict[str, Any] = {
        "facts": [
            (_("Requester"), owner.name),
            (_("Available"), dollars(money.available)),
            (_("On hold for HITs"), dollars(money.on_hold)),
        ],
        "form": form,
        "hidden": [("wanted", "inactive" if owner.is_active else "active")],
        "back": (_("Cancel"), reverse("operator:requester", args=[account_id])),
    }
    if owner.is_active:
        context |= {"title": _("Deactivate the requester?"), "button": _("Deactivate")}
        context["points"] = [
            _("Requests signed with its keys are refused from now on."),
            _("Its HITs expire, and what is held for free slots goes back to its balance."),
            _(
                "Workers can still submit the tasks they have accepted. You can approve what is submitted; otherwise "
                "it is approved automatically in due course."
            ),
        ]
    else:
        context |= {"title": _("Reactivate the requester?"), "button": _("Reactivate")}
        context["about"] = [
            _("Requests signed with its keys are accepted again. Its HITs stay expired until it extends them.")
        ]
    return show_operator_form(request, context, status=400 if form.is_bound else 200)


@for_operator("GET", "POST")
def requester_undecided(request: HttpRequest, operator: Account, account_id: str) -> HttpResponse:
    """What was submitted to a deactivated requester, to be approved in its place. Others decide for themselves."""
    owner = requester_of(account_id)
    if owner.is_active:
        messages.warning(request, _("This requester is active and decides for itself."))
        return see_other("operator:requester", account_id)
    form = ReasonForm(request.POST or None)
    chosen = request.POST.getlist("assignment")
    if form.is_bound and form.is_valid() and chosen:
        waiting = requester_selectors.work_undecided(owner).filter(assignment_id__in=chosen)
        done = 0
        for assignment_id in list(waiting.values_list("assignment_id", flat=True)):
            # What the clock has approved meanwhile is no failure of the others.
            with suppress(WrongState), transaction.atomic():
                assignment_approve(requester=owner, assignment_id=assignment_id)
                audit_note(
                    actor=operator,
                    action=AuditEvent.Action.APPROVE_FOR_REQUESTER,
                    subject=assignment_id,
                    requester=owner.account_id,
                    reason=form.cleaned_data["reason"],
                )
                done += 1
        text = ngettext(
            "%(count)d assignment has been approved and paid.",
            "%(count)d assignments have been approved and paid.",
            done,
        )
        messages.success(request, text % {"count": done})
        return see_other("operator:requester", account_id)
    rows = paginate(request, requester_selectors.work_undecided(owner))
    context = {"requester": owner, "form": form, "page": rows, "none_chosen": form.is_bound and not chosen}
    return show_operator_page(request, "undecided.html", context, status=400 if form.is_bound else 200)


@for_operator("GET", "POST")
def message(request: HttpRequest, operator: Account, account_id: str, message_pk: int) -> HttpResponse:
    """What a worker wrote to a requester, and an answer in the requester's name."""
    owner = requester_of(account_id)
    row = requester_message(owner, message_pk)
    form = AnswerForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with transaction.atomic():
            message_answer_by_requester(message=row, text=form.cleaned_data["text"])
            audit_note(
                actor=operator,
                action=AuditEvent.Action.ANSWER_MESSAGE,
                subject=owner.account_id,
                worker=row.worker.worker_id,
            )
        messages.success(request, _("The answer has been sent."))
        return see_other("operator:requester", account_id)
    context = {"requester": owner, "message": row, "form": form}
    return show_operator_page(request, "message.html", context, status=400 if form.is_bound else 200)


@for_operator("GET")
def requester_calls(request: HttpRequest, _operator: Account, account_id: str) -> HttpResponse:
    """What the requester's keys did, newest first."""
    owner, words = requester_of(account_id), read_query(request)
    rows = paginate(request, requester_selectors.calls_of(owner, words=words), 100)
    return show_operator_page(request, "calls.html", {"requester": owner, "page": rows, "words": words})

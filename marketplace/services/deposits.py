"""Money that requesters ask for, and that the operator grants or declines, once."""

from decimal import Decimal

from django.db import transaction

from marketplace import clock
from marketplace.errors import InvalidValue, WrongState
from marketplace.models import Account, AuditEvent, DepositRequest, Requester
from marketplace.selectors.lookups import get_or_refuse
from marketplace.services.accounts import audit_note
from marketplace.services.ledger import MOST_REASON, deposit_make

LARGEST_DEPOSIT = Decimal("99999999.99")  # what a row takes


@transaction.atomic
def deposit_request(*, requester: Requester, amount: Decimal, reason: str) -> DepositRequest:
    """Ask the operator for money. Asked again for the same reason, the open request has the new amount.

    Raises InvalidValue without a reason, or where the amount is not one in whole cents.
    """
    reason = reason.strip()
    if not reason or len(reason) > MOST_REASON:
        raise InvalidValue(f"Say what the money is for, in up to {MOST_REASON} characters.")
    if not Decimal("0.01") <= amount <= LARGEST_DEPOSIT or amount != amount.quantize(Decimal("0.01")):
        raise InvalidValue(f"Ask for an amount in whole cents, up to ${LARGEST_DEPOSIT:,}.")
    request, _ = DepositRequest.objects.update_or_create(
        requester=requester, reason=reason, closed_at=None, defaults={"amount": amount, "asked_at": clock.now()}
    )
    return request


@transaction.atomic
def deposit_request_grant(*, request_pk: int, amount: Decimal, actor: Account) -> DepositRequest:
    """Book what was asked for, once, with its note in the audit. `amount` is what the operator was shown.

    Raises DoesNotExist, WrongState if it was granted or declined before, or asks for another amount by now.
    """
    request = _open_request(request_pk)
    if request.amount != amount:
        raise WrongState("DepositRequest", "open", because=f"The requester now asks for ${request.amount:,}.")
    request.entry = deposit_make(requester=request.requester, amount=request.amount, note=request.reason)
    request.closed_at = clock.now()
    request.save(update_fields=["entry", "closed_at"])
    _note(actor, AuditEvent.Action.DEPOSIT, request)
    return request


@transaction.atomic
def deposit_request_decline(*, request_pk: int, actor: Account) -> DepositRequest:
    """Close a request without booking anything, with its note. Raises DoesNotExist, WrongState."""
    request = _open_request(request_pk)
    request.closed_at = clock.now()
    request.save(update_fields=["closed_at"])
    _note(actor, AuditEvent.Action.DECLINE_DEPOSIT, request)
    return request


def _open_request(pk: int) -> DepositRequest:
    requests = DepositRequest.objects.select_for_update(of=("self",), no_key=True).select_related("requester")
    request = get_or_refuse(requests.filter(pk=pk), "DepositRequest", pk)
    if request.closed_at is not None:
        raise WrongState("DepositRequest", "open", because="It was granted or declined before.")
    return request


def _note(actor: Account, action: AuditEvent.Action, request: DepositRequest) -> None:
    audit_note(
        actor=actor,
        action=action,
        subject=request.requester.account_id,
        amount=str(request.amount),
        note=request.reason,
    )

"""Money. Every movement is a row, written under the requester's lock; the newest row is the balance."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.db.models import Sum

from marketplace import clock
from marketplace.errors import InsufficientFunds, InvalidValue, NotAllowed, WrongState
from marketplace.models import Assignment, BonusPayment, Entry, PayoutList, Requester, Worker
from marketplace.money import LARGEST, ZERO, bonus_fee
from marketplace.selectors.ledger import balance, balance_after, entry_newest
from marketplace.selectors.lookups import get_or_refuse

MOST_REASON = 200


@transaction.atomic(savepoint=False)
def entries_write(*, requester_pk: int, entries: Sequence[Entry], at: datetime) -> list[Entry]:
    """Write entries of one requester, which say what moves and for what, in order, all or none.

    Raises InsufficientFunds if what is available does not suffice for the sum of them, and NotAllowed if places are
    offered for a requester that is not active.
    """
    if not entries:
        return []
    # "No key": others may go on writing rows that refer to this requester, and so do not wait for each other.
    requester = Requester.objects.select_for_update(of=("self",), no_key=True).only("is_active").get(pk=requester_pk)
    if not requester.is_active and any(entry.offers_places for entry in entries):
        raise NotAllowed("This requester's account is not active.")  # it was when the request began
    newest = entry_newest(requester_pk)
    number = newest.number or 0 if newest else 0
    available, on_hold = balance_after(newest)
    needed = -sum((entry.available for entry in entries), ZERO)
    if needed > available:
        raise shortage(needed, available)
    deposited = any(entry.kind == Entry.Kind.DEPOSIT for entry in entries)
    if deposited and available + on_hold - needed > LARGEST:  # so that whatever is released later fits a row
        raise InvalidValue(f"An account holds ${LARGEST:,} at most, and ${available + on_hold:,} is there already.")
    # What gives comes before what takes, so that no row in between shows less than nothing.
    ordered = sorted(entries, key=lambda entry: entry.available < 0)
    for entry in ordered:
        number += 1
        available += entry.available
        on_hold += entry.on_hold
        entry.at, entry.requester_id, entry.number = at, requester_pk, number
        entry.available_after, entry.on_hold_after = available, on_hold
    return Entry.objects.bulk_create(ordered)


def shortage(needed: Decimal, available: Decimal) -> InsufficientFunds:
    """What a requester is told who cannot pay."""
    return InsufficientFunds(
        "This requester has insufficient funds in the account to complete this transaction: "
        f"${needed} needed, ${available} available."
    )


def spendable_lock(requester_pk: int) -> Decimal:
    """What a requester can spend on new slots, in dollars: nothing, if it is not active. Locks the requester."""
    requester = Requester.objects.select_for_update(of=("self",), no_key=True).only("is_active").get(pk=requester_pk)
    return balance(requester_pk).available if requester.is_active else ZERO


def deposit_make(*, requester: Requester, amount: Decimal, note: str = "") -> Entry:
    """Put money into a requester's account; a negative amount gives some back. Raises InvalidValue."""
    if amount == 0 or amount != amount.quantize(Decimal("0.01")):
        raise InvalidValue(f"A deposit is an amount in whole cents, and {amount} is not.")
    kind = Entry.Kind.DEPOSIT if amount > 0 else Entry.Kind.WITHDRAWAL
    entry = Entry(kind=kind, available=amount, note=note)
    return entries_write(requester_pk=requester.pk, entries=[entry], at=clock.now())[0]


def reward_entries(assignment: Assignment) -> list[Entry]:
    """What an approval moves out of what is held: the reward to the worker, the fee to the marketplace."""
    about = {"hit": assignment.hit, "assignment": assignment}
    paid = {"on_hold": -assignment.reward, "earned": assignment.reward, "worker_id": assignment.worker_id}
    reward = Entry(kind=Entry.Kind.REWARD, **paid, **about)
    fee = Entry(kind=Entry.Kind.FEE, on_hold=-assignment.fee, **about)
    return [entry for entry in (reward, fee) if entry.on_hold]


def bonus_entries(bonus: BonusPayment) -> list[Entry]:
    """What a bonus moves: the amount to the worker, the fee to the marketplace."""
    about = {"hit": bonus.assignment.hit, "assignment": bonus.assignment, "bonus": bonus}
    paid = {"available": -bonus.amount, "earned": bonus.amount, "worker_id": bonus.assignment.worker_id}
    fee = Entry(kind=Entry.Kind.BONUS_FEE, available=-bonus_fee(bonus.amount), **about)
    return [Entry(kind=Entry.Kind.BONUS, **paid, **about), fee]


class Payout(NamedTuple):
    """What a worker is to be paid, outside of the marketplace."""

    worker: Worker
    amount: Decimal


@transaction.atomic
def payouts_make(
    *, reference: str, workers: Sequence[Worker] | None = None, smallest: Decimal = Decimal("0.01")
) -> list[Payout]:
    """Take what workers have earned off the books, to be paid now: all of theirs, where it is `smallest` or more.

    They are on one list, by its reference; there is none if nobody is owed that much. Of two calls at once, the second
    finds nothing left.
    """
    chosen = Worker.objects.select_for_update(of=("self",), no_key=True).select_related("account").order_by("pk")
    if workers is not None:
        chosen = chosen.filter(pk__in=[worker.pk for worker in workers])
    locked = list(chosen)
    sums = dict(Entry.objects.filter(worker__in=locked).order_by().values_list("worker").annotate(owed=Sum("earned")))
    payouts = [
        Payout(worker, sums[worker.pk])
        for worker in locked
        if sums.get(worker.pk, ZERO) >= max(smallest, Decimal("0.01"))
    ]
    if not payouts:
        return []
    at = clock.now()
    payout_list = PayoutList.objects.create(reference=reference, made_at=at)
    Entry.objects.bulk_create(
        Entry(at=at, kind=Entry.Kind.PAYOUT, worker=payout.worker, earned=-payout.amount, payout_list=payout_list)
        for payout in payouts
    )
    return payouts


@transaction.atomic
def payout_bounce(*, payout_pk: int, reason: str) -> Entry:
    """Book that a payout came back: the worker is owed it again. Once for each payout.

    Raises DoesNotExist, InvalidValue without a reason, WrongState if it came back before.
    """
    reason = reason.strip()
    if not reason or len(reason) > MOST_REASON:
        raise InvalidValue(f"Say why the payout came back, in up to {MOST_REASON} characters.")
    payouts = Entry.objects.select_for_update(no_key=True).filter(pk=payout_pk, kind=Entry.Kind.PAYOUT)
    payout = get_or_refuse(payouts, "Payout", payout_pk)
    if Entry.objects.filter(payout=payout).exists():
        raise WrongState("Payout", "paid", because="It came back before.")
    return Entry.objects.create(
        at=clock.now(),
        kind=Entry.Kind.BOUNCE,
        worker_id=payout.worker_id,
        earned=-payout.earned,
        payout=payout,
        note=reason,
    )

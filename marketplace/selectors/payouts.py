"""What workers are owed, and the lists that they were paid from."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Count, QuerySet, Sum

from marketplace.models import Entry, PayoutList, Worker
from marketplace.selectors.lookups import get_or_refuse


class Owed(NamedTuple):
    """A worker and what is to be paid out to the worker, in dollars."""

    worker: Worker
    amount: Decimal


class ListRow(NamedTuple):
    """A list of payouts, in sums."""

    reference: str
    made_at: datetime
    workers: int
    amount: Decimal
    came_back: Decimal | None  # what of the amount came back, if anything


def owed_all() -> list[Owed]:
    """Who is owed something, most first."""
    sums = Entry.objects.filter(worker__isnull=False).order_by().values_list("worker").annotate(owed=Sum("earned"))
    amounts = {worker: amount for worker, amount in sums.values_list("worker", "owed") if amount and amount > 0}
    workers = Worker.objects.select_related("account").in_bulk(list(amounts))
    return sorted((Owed(workers[pk], amount) for pk, amount in amounts.items()), key=lambda row: -row.amount)


def payout_lists_all() -> QuerySet[PayoutList]:
    """All lists of payouts, newest first."""
    return PayoutList.objects.order_by("-made_at", "-pk")


def payout_lists(lists: Iterable[PayoutList]) -> list[ListRow]:
    """Some lists of payouts in sums, in their order."""
    rows = PayoutList.objects.annotate(
        workers=Count("payouts"), amount=-Sum("payouts__earned"), came_back=Sum("payouts__bounce__earned")
    ).in_bulk([row.pk for row in lists])
    return [
        ListRow(row.reference, row.made_at, row.workers, row.amount, row.came_back)
        for row in (rows[payouts.pk] for payouts in lists)
    ]


def payouts_of(reference: str) -> QuerySet[Entry]:
    """The payouts of one list, by worker, each with the entry of its coming back, if it did."""
    rows = Entry.objects.select_related("worker__account", "bounce", "payout_list")
    return rows.filter(payout_list__reference=reference).order_by("worker")


def payout_by_pk(payout_pk: int) -> Entry:
    """One payout. Raises DoesNotExist."""
    rows = Entry.objects.select_related("worker__account", "bounce", "payout_list")
    return get_or_refuse(rows.filter(kind=Entry.Kind.PAYOUT, pk=payout_pk), "Payout", payout_pk)

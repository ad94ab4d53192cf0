"""What requesters have."""

from decimal import Decimal
from typing import NamedTuple

from marketplace.models import Entry
from marketplace.money import ZERO


class Balance(NamedTuple):
    """What a requester can spend, and what is held for its HITs, in dollars."""

    available: Decimal
    on_hold: Decimal


def balance(requester_pk: int) -> Balance:
    """What a requester has now: its newest entry says it."""
    return balance_after(entry_newest(requester_pk))


def entry_newest(requester_pk: int) -> Entry | None:
    return Entry.objects.filter(requester_id=requester_pk).order_by("-number").first()


def balance_after(entry: Entry | None) -> Balance:
    """What a requester has after an entry; nothing before the first."""
    if entry is None or entry.available_after is None or entry.on_hold_after is None:
        return Balance(ZERO, ZERO)
    return Balance(entry.available_after, entry.on_hold_after)

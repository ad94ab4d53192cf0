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
    newest = Entry.objects.filter(requester_id=requester_pk).order_by("-number").first()
    if newest is None or newest.available_after is None or newest.on_hold_after is None:
        return Balance(ZERO, ZERO)
    return Balance(newest.available_after, newest.on_hold_after)

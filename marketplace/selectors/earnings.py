"""What workers have earned and been paid."""

from decimal import Decimal
from typing import NamedTuple

from django.db.models import Q, QuerySet, Sum

from marketplace.models import Assignment, Entry, Worker
from marketplace.money import ZERO


class Earnings(NamedTuple):
    """A worker's money, in dollars."""

    rewards: Decimal
    bonuses: Decimal
    # Without what came back.
    paid_out: Decimal
    # Submitted and not decided on.
    pending: Decimal
    # What requesters say may come on top of that.
    pending_bonus: Decimal

    @property
    def owed(self) -> Decimal:
        """Earned and not paid out yet."""
        return self.rewards + self.bonuses - self.paid_out


def earnings_of(worker: Worker) -> Earnings:
    """What the worker has earned and been paid."""
    kinds = Entry.Kind
    sums = Entry.objects.filter(worker=worker).aggregate(
        rewards=Sum("earned", filter=Q(kind=kinds.REWARD)),
        bonuses=Sum("earned", filter=Q(kind=kinds.BONUS)),
        paid_out=Sum("earned", filter=Q(kind__in=[kinds.PAYOUT, kinds.BOUNCE])),
    )
    submitted = Assignment.objects.filter(worker=worker, state=Assignment.State.SUBMITTED)
    pending = submitted.aggregate(sum=Sum("reward"))
    bonuses = submitted.filter(bonuses=None).aggregate(sum=Sum("hit__hit_type__bonus_up_to"))
    return Earnings(
        rewards=sums["rewards"] or ZERO,
        bonuses=sums["bonuses"] or ZERO,
        paid_out=-(sums["paid_out"] or ZERO),
        pending=pending["sum"] or ZERO,
        pending_bonus=bonuses["sum"] or ZERO,
    )


def entries_of(worker: Worker) -> QuerySet[Entry]:
    """A worker's earnings and payouts, newest first."""
    rows = Entry.objects.select_related("requester", "hit__hit_type", "assignment", "bonus", "payout_list")
    return rows.filter(worker=worker).exclude(earned=0).order_by("-pk")

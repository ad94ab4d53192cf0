"""What becomes of a payment that was written down."""

from datetime import datetime, timedelta
from typing import Any

from platforms.models import Payment

COMPENSATION_TIME = timedelta(hours=1)  # that a worker has to take a compensation once it is accepted


def payment_settle(*, payment_id: int, evidence: dict[str, Any], at: datetime) -> bool:
    """Mark a payment paid, with the platform's word for it. Returns False where it was paid before."""
    unpaid = Payment.objects.filter(pk=payment_id).exclude(state=Payment.State.PAID)
    return bool(unpaid.update(state=Payment.State.PAID, paid_at=at, evidence=evidence))

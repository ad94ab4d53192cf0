"""What becomes of a payment that was written down."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from core.updating import json_by_key
from platforms.models import Payment

COMPENSATION_TIME = timedelta(hours=1)  # that a worker has to take a compensation once it is accepted


def payment_settle(*, payment_id: int, evidence: dict[str, Any], at: datetime) -> bool:
    """Mark a payment paid, with the platform's word for it. Returns False where it was paid before."""
    unpaid = Payment.objects.filter(pk=payment_id).exclude(state=Payment.State.PAID)
    return bool(unpaid.update(state=Payment.State.PAID, paid_at=at, evidence=evidence))


def payments_settle(*, evidence: Mapping[int, dict[str, Any]], at: datetime) -> int:
    """Mark many payments paid, each with the platform's word for it. How many were not paid before."""
    unpaid = Payment.objects.filter(pk__in=list(evidence)).exclude(state=Payment.State.PAID)
    return unpaid.update(state=Payment.State.PAID, paid_at=at, evidence=json_by_key(evidence))

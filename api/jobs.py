"""What the clock has the API do."""

import time
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from api import answers, delivering, tokens, webhooks

TOKENS_KEPT = timedelta(days=90)  # that are revoked or expired
SECONDS = 40.0  # for which one job calls webhooks before other jobs get their turn


@shared_task
def clear() -> str:
    """Forget answers that nobody asks for again, tokens that have long opened nothing, and old deliveries."""
    at = timezone.now()
    answers.answers_clear(before=at - answers.KEPT)
    tokens.tokens_clear(before=at - TOKENS_KEPT)
    webhooks.deliveries_clear(before=at - webhooks.KEPT)
    return "cleared"


@shared_task
def deliver() -> str:
    """Tell webhooks what waits for them. Safe to run many at once, and to be killed: it may then arrive twice."""
    return f"deliveries taken: {delivering.deliveries_send(until=time.monotonic() + SECONDS)}"


@shared_task
def count_submitted() -> str:
    """Tell webhooks how much work was submitted. Safe to run many at once."""
    return f"campaigns told of: {delivering.submitted_count(at=timezone.now())}"

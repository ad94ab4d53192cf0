"""What the clock has the API do."""

import time
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from api import answers, delivering, tokens, webhooks
from core.background import JOB_SECONDS, job

TOKENS_KEPT = timedelta(days=90)  # that are revoked or expired


@job(_("the job that clears old answers of the API"))
def clear() -> str:
    """Forget answers that nobody asks for again, tokens that have long opened nothing, and old deliveries."""
    at = timezone.now()
    answers.answers_clear(before=at - answers.KEPT)
    tokens.tokens_clear(before=at - TOKENS_KEPT)
    webhooks.deliveries_clear(before=at - webhooks.KEPT)
    return "cleared"


@job(_("the job that calls webhooks"))
def deliver() -> str:
    """Tell webhooks what waits for them. Safe to run many at once, and to be killed: it may then arrive twice."""
    return f"deliveries taken: {delivering.deliveries_send(until=time.monotonic() + JOB_SECONDS)}"


@job(_("the job that counts submitted work for webhooks"))
def count_submitted() -> str:
    """Tell webhooks how much work was submitted. Safe to run many at once."""
    return f"campaigns told of: {delivering.submitted_count(at=timezone.now())}"

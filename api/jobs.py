"""What the clock has the API do."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from api import answers, tokens

TOKENS_KEPT = timedelta(days=90)  # that are revoked or expired


@shared_task
def clear() -> str:
    """Forget answers that nobody asks for again, and tokens that have long opened nothing."""
    at = timezone.now()
    answers.answers_clear(before=at - answers.KEPT)
    tokens.tokens_clear(before=at - TOKENS_KEPT)
    return "cleared"

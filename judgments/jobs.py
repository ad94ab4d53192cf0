"""What runs in the background: checking the test pairs of work that came through a venue."""

from celery import shared_task
from django.utils import timezone

from judgments import services


@shared_task
def check() -> str:
    """Check work that its venue has confirmed since. Safe to run many at once, and to be killed."""
    return f"checked: {services.confirmed_check_all(at=timezone.now())}"

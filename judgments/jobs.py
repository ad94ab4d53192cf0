"""What runs in the background: checking the test pairs of work that came through a platform, and computing results."""

from celery import shared_task
from django.utils import timezone

from judgments import services as judgment_services


@shared_task
def check() -> str:
    """Check work that its platform has confirmed since. Safe to run many at once, and to be killed."""
    return f"checked: {judgment_services.confirmed_check_all(at=timezone.now())}"

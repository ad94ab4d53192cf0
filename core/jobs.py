"""What runs in the background: removing old entries of the audit."""

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core.audit.services import entries_expire


@shared_task
def expire_audit() -> str:
    """Remove entries of the audit that are older than AUDIT_KEEP_DAYS. Safe to run many at once, and to be killed."""
    days = settings.AUDIT_KEEP_DAYS
    return f"entries removed: {entries_expire(at=timezone.now(), days=days) if days else 0}"

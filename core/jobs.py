"""What runs in the background: removing old entries of the audit."""

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.audit.services import entries_expire
from core.background import job


@job(_("the job that removes old entries of the audit"))
def expire_audit() -> str:
    """Remove entries of the audit that are older than AUDIT_KEEP_DAYS. Safe to run many at once, and to be killed."""
    days = settings.AUDIT_KEEP_DAYS
    return f"entries removed: {entries_expire(at=timezone.now(), days=days) if days else 0}"

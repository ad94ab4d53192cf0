"""What runs in the background: sending mails, and removing old entries of the audit."""

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.audit.retention import entries_expire, months_prepare
from core.background import job
from core.mail import mails_send


@job(_("the job that sends mails"))
def send_mails() -> str:
    """Send what people are to be told. Safe to run many at once, and to be killed."""
    return f"sent: {mails_send(at=timezone.now())}"


@job(_("the job that removes old entries of the audit"))
def expire_audit() -> str:
    """Remove entries of the audit that are older than AUDIT_KEEP_DAYS, and make partitions for the months to come. Safe
    to run many at once, and to be killed.
    """
    at, days = timezone.now(), settings.AUDIT_KEEP_DAYS
    months_prepare(at=at)
    return f"entries removed: {entries_expire(at=at, days=days) if days else 0}"

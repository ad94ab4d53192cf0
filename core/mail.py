"""The one way in which the site sends mail: at once, where somebody waits for it, or from the queue."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from core.models import Mail, User
from core.retrying import Pauses

TRIES, PAUSES = 10, Pauses(timedelta(minutes=5), timedelta(days=2))
log = logging.getLogger(__name__)


def mail_send(*, to: str, subject: str, text: str) -> None:
    """Send a mail; its subject is one line of at most 200 characters. Raises OSError where the server refuses it."""
    send_mail(_line(subject), text, None, [to])


def mails_add(*, to: Iterable[User], subject: str, text: str, at: datetime) -> int:
    """Have a mail sent to people, those of them who have an address, where this site sends mail. How many."""
    mails = [
        Mail(to=user, subject=_line(subject), text=text, made_at=at) for user in to if user.email and settings.HAS_MAIL
    ]
    return len(Mail.objects.bulk_create(mails))


def mails_send(*, at: datetime, most: int = 200) -> int:
    """Send what waits. One that the server does not take is tried again, ten times at most. How many were sent."""
    sent = 0
    due = Mail.objects.filter(Mail.due(at), sent_at=None, tries__lt=TRIES)
    for key in list(due.order_by("pk").values_list("pk", flat=True)[:most]):
        with transaction.atomic():
            mail = due.select_for_update(skip_locked=True, of=("self",)).select_related("to").filter(pk=key).first()
            if mail is None:
                continue
            try:
                if mail.to.email:
                    mail_send(to=mail.to.email, subject=mail.subject, text=mail.text)
            except Exception:  # a mail server fails in many ways, and one bad address stops no other mail
                log.exception("The mail %s was not sent", mail.pk)
                mail.rest(PAUSES, at)
            else:
                mail.sent_at = at
                sent += 1
            mail.save(update_fields=["tries", "retry_at", "sent_at"])
    return sent


def _line(subject: str) -> str:
    return " ".join(subject.split())[:200]

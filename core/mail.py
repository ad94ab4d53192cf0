"""The one way in which the site sends mail."""

from django.core.mail import send_mail


def mail_send(*, to: str, subject: str, text: str) -> None:
    """Send a mail; its subject is one line of at most 200 characters. Raises OSError where the server refuses it."""
    send_mail(" ".join(subject.split())[:200], text, None, [to])

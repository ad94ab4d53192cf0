"""Log-ins, tries that failed, and what is done about somebody's sessions, as entries of the audit.

What was typed as a name is not kept.
"""

from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver

from core.audit.notes import entry_note
from core.models import User
from core.people import reset_address


@receiver(user_logged_in)
def _note_log_in(user: User, **_named: Any) -> None:
    entry_note(subject="session", action="logged-in", key=user.pk, actor=user.pk)


@receiver(user_logged_out)
def _note_log_out(user: User | None, **_named: Any) -> None:
    if user is not None:
        entry_note(subject="session", action="logged-out", key=user.pk, actor=user.pk)


@receiver(user_login_failed)
def _note_failure(credentials: dict[str, Any], **_named: Any) -> None:
    """Whose account it was, if there is one: a name that nobody has may be a password typed into the wrong field."""
    person = User.objects.filter(username=credentials.get("username") or "").values_list("pk", flat=True).first()
    entry_note(subject="session", action="failed", key=person or "")


def session_end(*, session: UserSession) -> None:
    """End one of somebody's own sessions: that browser is logged out with its next request."""
    session.end()
    entry_note(subject="session", action="ended", key=session.user_id)


def reset_link(*, user: User) -> str:
    """A link with which somebody chooses a new password, once; that it was made is kept."""
    entry_note(subject="session", action="reset-link", key=user.pk)
    return reset_address(user)

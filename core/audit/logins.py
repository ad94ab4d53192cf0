"""Log-ins, and tries that failed, as entries of the audit. What was typed as a name is not kept."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver

from core.audit.services import entry_note
from core.models import User


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

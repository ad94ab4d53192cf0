"""End an access key."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.models import AuditEvent
from marketplace.services.accounts import audit_note
from marketplace.services.keys import key_revoke


class Command(BaseCommand):
    """Refuse what is signed with a key from now on."""

    help = "Revoke an access key. Requests that are signed with it are refused from now on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("key_id")

    def handle(self, *_args: Any, key_id: str, **_options: Any) -> None:
        if not key_revoke(key_id=key_id):
            raise CommandError(f"There is no access key {key_id} in force.")
        audit_note(actor="revoke_key", action=AuditEvent.Action.REVOKE_KEY, subject=key_id)
        self.stdout.write(f"{key_id} is revoked.")

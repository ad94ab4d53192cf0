"""A new access key."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from marketplace.management.requesters import requester_named
from marketplace.models import AuditEvent
from marketplace.services.accounts import audit_note
from marketplace.services.keys import key_issue


class Command(BaseCommand):
    """Print a new access key for a requester, this once."""

    help = "Issue an access key. Its secret is printed this once, in the form that AWS clients read from a profile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("requester", help="account id or name")
        parser.add_argument("--label", default="", help="to tell keys apart")

    def handle(self, *_args: Any, requester: str, label: str, **_options: Any) -> None:
        owner = requester_named(requester)
        key = key_issue(requester=owner, label=label)
        audit_note(
            actor="issue_key", action=AuditEvent.Action.ISSUE_KEY, subject=key.key_id, requester=owner.account_id
        )
        self.stdout.write(f"aws_access_key_id = {key.key_id}\naws_secret_access_key = {key.secret}")

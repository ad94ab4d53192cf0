"""A new requester."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.errors import Refused
from marketplace.models import AuditEvent
from marketplace.services.accounts import audit_note, requester_create


class Command(BaseCommand):
    help = "Make a requester. It has no money and no key yet: see deposit and issue_key."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--email", default="", help="where workers' messages can be forwarded to")

    def handle(self, *_args: Any, name: str, email: str, **_options: Any) -> None:
        try:
            requester = requester_create(name=name, email=email)
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        audit_note(
            actor="create_requester", action=AuditEvent.Action.CREATE_REQUESTER, subject=requester.account_id, name=name
        )
        self.stdout.write(requester.account_id)

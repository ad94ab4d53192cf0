"""A new operator."""

import getpass
import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.errors import Refused
from marketplace.models import AuditEvent
from marketplace.services.accounts import audit_note, operator_create

VARIABLE = "MARKETPLACE_OPERATOR_PASSWORD"


class Command(BaseCommand):
    """Make an account that may open the operator's pages."""

    help = f"Make an operator's account. The password is asked for, or taken from {VARIABLE}."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")

    def handle(self, *_args: Any, email: str, **_options: Any) -> None:
        try:
            password = os.environ.get(VARIABLE) or getpass.getpass("Password: ")
            account = operator_create(email=email, password=password)
        except EOFError as ended:
            raise CommandError(f"No password was entered. Without a terminal, set {VARIABLE}.") from ended
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        audit_note(actor="create_operator", action=AuditEvent.Action.CREATE_OPERATOR, subject=account)
        self.stdout.write(f"{email} is an operator.")

"""Money into a requester's account."""

from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.errors import Refused
from marketplace.management.requesters import requester_named
from marketplace.models import AuditEvent
from marketplace.services.accounts import audit_note
from marketplace.services.ledger import deposit_make


class Command(BaseCommand):
    """Book a deposit, and print what is available now."""

    help = "Book money that a requester paid in. A negative amount gives some back, as far as it is available."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("requester", help="account id or name")
        parser.add_argument("amount", help="dollars, such as 250.00")
        parser.add_argument("--note", default="", help="where it came from")

    def handle(self, *_args: Any, requester: str, amount: str, note: str, **_options: Any) -> None:
        owner = requester_named(requester)
        try:
            entry = deposit_make(requester=owner, amount=Decimal(amount), note=note[:200])
        except InvalidOperation:
            raise CommandError(f"'{amount}' is not an amount in dollars, such as 250.00.") from None
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        audit_note(
            actor="deposit",
            action=AuditEvent.Action.DEPOSIT,
            subject=owner.account_id,
            amount=str(entry.available),
            note=note,
        )
        self.stdout.write(f"{owner.name} has ${entry.available_after} available and ${entry.on_hold_after} on hold.")

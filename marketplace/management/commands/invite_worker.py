"""A permission for somebody to register as a worker."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from marketplace.errors import Refused
from marketplace.models import AuditEvent
from marketplace.services.accounts import INVITATION_DAYS, audit_note, invitation_make


class Command(BaseCommand):
    help = "Invite a worker. Prints the address to register at, which works once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", default="", help="only this address may use it")
        parser.add_argument("--note", default="")
        parser.add_argument("--days", type=int, default=INVITATION_DAYS, help="how long it works")
        parser.add_argument(
            "--approved", type=int, default=0, help="assignments approved elsewhere, that you vouch for"
        )
        parser.add_argument("--rejected", type=int, default=0, help="assignments rejected elsewhere")

    def handle(
        self, *_args: Any, email: str, note: str, days: int, approved: int, rejected: int, **_options: Any
    ) -> None:
        if days < 1 or approved < 0 or rejected < 0:
            raise CommandError("Give at least one day, and counts of at least 0.")
        try:
            issued = invitation_make(
                email=email, note=note[:200], days=days, vouched_approved=approved, vouched_rejected=rejected
            )
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        subject = f"invitation {issued.invitation.pk}"
        audit_note(actor="invite_worker", action=AuditEvent.Action.INVITE_WORKER, subject=subject, note=note)
        self.stdout.write(f"{settings.MARKETPLACE_URL}/register?invitation={issued.token}")

"""A link to a new password."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from marketplace.errors import Refused
from marketplace.models import Account, AuditEvent, Worker
from marketplace.services.accounts import audit_note, password_link_make


class Command(BaseCommand):
    help = "Make a link to a new password for a worker or an operator. It works once, for a day, until they log in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--reason", required=True, help="why; kept in the audit")

    def handle(self, *_args: Any, email: str, reason: str, **_options: Any) -> None:
        account = Account.objects.filter(email=email.lower()).first()
        if account is None:
            raise CommandError(f"There is no account with the address {email}.")
        try:
            link = password_link_make(account=account)
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        worker = Worker.objects.filter(account=account).first()
        subject = worker.worker_id if worker else account
        audit_note(actor="reset_password", action=AuditEvent.Action.ISSUE_PASSWORD_LINK, subject=subject, reason=reason)
        self.stdout.write(f"{settings.MARKETPLACE_URL}{reverse('workers:password_new', args=link)}")

"""Encryption with another key."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.sealing import SealedOtherwise
from marketplace.services.keys import secrets_rotate


class Command(BaseCommand):
    """Encrypt what is stored encrypted with the first of MARKETPLACE_ENCRYPTION_KEYS."""

    help = (
        "Encrypt the secrets of all access keys, revoked ones too, with the first of MARKETPLACE_ENCRYPTION_KEYS. The "
        "access keys stay as they are. Once it has run, the keys after the first are no longer needed. Exit code 1, "
        "and the ids, if secrets can be read with none of the keys: these are left alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *_args: Any, dry_run: bool, **_options: Any) -> None:
        done = secrets_rotate(dry_run=dry_run)
        verb = "would be" if dry_run else "were"
        self.stdout.write(f"{done.renewed:,} {verb} encrypted with the first key; {done.kept:,} are already.")
        if done.unreadable:
            raise CommandError(str(SealedOtherwise(f"The secret of each of {', '.join(done.unreadable[:20])}")))

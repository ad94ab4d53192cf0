"""manage.py platform_ledger: what was owed and paid, beside what the platform says."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.management.files import refusals_as_errors
from core.money import dollars
from platforms.ledger import ledger_export, totals
from platforms.ledger_comparison import comparison_make
from platforms.management.platforms import platform_errors, publication_of


class Command(BaseCommand):
    """Compare ledgers."""

    help = "Compare a campaign's ledger with its platform's, HIT by HIT, and exit with 1 if they differ by a cent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--csv", type=Path, help="also write every payment to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print both sums, and fail where they differ."""
        with refusals_as_errors(), platform_errors():
            publication = publication_of(options["campaign"], options["lab"])
            both = comparison_make(publication=publication, at=timezone.now())
            if options["csv"]:
                with options["csv"].open("w", encoding="utf-8", newline="") as file:
                    lines = ledger_export(publication, file)
                self.stdout.write(f"{lines:,} payments written to {options['csv']}.")
        self.stdout.write(f"Ours:      rewards {dollars(both.ours_rewards)}, bonuses {dollars(both.ours_bonuses)}.")
        self.stdout.write(
            f"The platform: rewards {dollars(both.platform_rewards)}, bonuses {dollars(both.platform_bonuses)}."
        )
        owed = dollars(totals(publication).owed)
        self.stdout.write(f"Fees {dollars(both.fees)}; {owed} still owed; the account has {dollars(both.balance)}.")
        if not both.agree:
            raise CommandError("\n".join(["The ledgers differ.", *both.differences]))

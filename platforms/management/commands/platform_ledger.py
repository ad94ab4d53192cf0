"""manage.py platform_ledger: what was owed and paid, beside what the platform says."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import reporting_to
from platforms.ledger import ledger_export, totals
from platforms.ledger_comparison import comparison_make
from platforms.management.platforms import platform_errors, publication_of


class Command(SiteCommand):
    help = "Compare a campaign's ledger with its platform's, HIT by HIT, and exit with 1 if they differ by a cent."

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--csv", type=Path, help="also write every payment to this file")

    def work(self, **options: Any) -> dict[str, Any]:
        with platform_errors(), reporting_to(self.stderr) as report:
            publication = publication_of(options["campaign"], options["lab"])
            report("Comparing the ledgers")
            both = comparison_make(publication=publication, at=timezone.now())
        if options["csv"]:
            with options["csv"].open("w", encoding="utf-8", newline="") as file:
                lines = ledger_export(publication, file)
            self.say(f"{lines:,} payments written to {options['csv']}.")
        owed, money = totals(publication).owed, publication.campaign.money
        self.say(f"Ours:      rewards {money(both.ours_rewards)}, bonuses {money(both.ours_bonuses)}.")
        self.say(f"The platform: rewards {money(both.platform_rewards)}, bonuses {money(both.platform_bonuses)}.")
        self.say(f"Fees {money(both.fees)}; {money(owed)} still owed; the account has {money(both.balance)}.")
        if not both.agree:
            self.failure = "\n".join(["The ledgers differ.", *both.differences])
        return {
            "campaign": publication.campaign_id,
            "agree": both.agree,
            "ours": {"rewards": both.ours_rewards, "bonuses": both.ours_bonuses},
            "platform": {"rewards": both.platform_rewards, "bonuses": both.platform_bonuses},
            "fees": both.fees,
            "owed": owed,
            "balance": both.balance,
            "differences": both.differences,
        }

"""manage.py settle_campaign: check, approve and pay what was submitted."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import reporting_to
from judgments.services import confirmed_check_all
from platforms.ledger import totals
from platforms.management.platforms import platform_errors, publication_of
from platforms.models import Operation, Payment
from platforms.outbox import UNFINISHED, operations_run
from platforms.reviewing.compensations import compensation_offer
from platforms.reviewing.settling import publication_settle


class Command(SiteCommand):
    writes_rows = True
    dry_run_help = "decide and print the sums, send nothing, and take it all back"
    help = "Check submitted work, approve it, pay what is owed, and print what is left to do."

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument(
            "--compensate",
            action="store_true",
            help="offer every compensation that is owed and has not been offered yet",
        )

    def work(self, **options: Any) -> dict[str, Any]:
        at = timezone.now()
        with platform_errors(), reporting_to(self.stderr) as report:
            publication = publication_of(options["campaign"], options["lab"])
            report("Checking submitted work")
            checked = confirmed_check_all(at=at, campaign=publication.campaign)
            report("Deciding")
            decided = publication_settle(publication=publication, at=at)
            if options["compensate"]:
                compensation = Payment.Purpose.COMPENSATION
                for payment in publication.payments.filter(purpose=compensation, state=Payment.State.OWED):
                    compensation_offer(payment=payment, at=at)
            waiting = Operation.objects.filter(publication=publication, state__in=UNFINISHED)
            calls, planned = 0, waiting.count()
            while not options["dry_run"] and (made := operations_run(publication=publication)):
                calls += made
                report("Calling the platform", calls, max(calls, planned))
            to_send = waiting.count()
        sums, money = totals(publication), publication.campaign.money
        self.say(
            f"{checked:,} checked, {decided:,} decided. Paid {money(sums.paid)} and fees of {money(sums.fees)}; "
            f"{money(sums.owed)} still owed, {money(sums.refused)} refused by the platform."
        )
        if to_send:
            self.say(f"{to_send:,} calls to the platform wait to be made.")
        return {
            "campaign": publication.campaign_id,
            "checked": checked,
            "decided": decided,
            "calls": calls,
            "calls_waiting": to_send,
            **sums._asdict(),
        }

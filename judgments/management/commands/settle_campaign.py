"""manage.py settle_campaign: check, approve and pay what was submitted."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.management.files import refusals_as_errors
from core.money import dollars
from judgments.services import confirmed_check_all
from platforms.ledger import totals
from platforms.management.platforms import platform_errors, publication_of
from platforms.models import Payment
from platforms.outbox import operations_run
from platforms.reviewing import compensation_offer, publication_settle


class Command(BaseCommand):
    """Settle a campaign."""

    help = "Check submitted work, approve it, pay what is owed, and print what is left to do."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument(
            "--compensate",
            action="store_true",
            help="offer every compensation that is owed and has not been offered yet",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Decide, pay, and print the sums."""
        at = timezone.now()
        with refusals_as_errors(), platform_errors():
            publication = publication_of(options["campaign"], options["lab"])
            checked = confirmed_check_all(at=at, campaign=publication.campaign)
            decided = publication_settle(publication=publication, at=at)
            if options["compensate"]:
                compensation = Payment.Purpose.COMPENSATION
                for payment in publication.payments.filter(purpose=compensation, state=Payment.State.OWED):
                    compensation_offer(payment=payment, at=at)
            while operations_run(publication=publication):
                pass
        sums = totals(publication)
        self.stdout.write(
            f"{checked:,} checked, {decided:,} decided. Paid {dollars(sums.paid)} and fees of {dollars(sums.fees)}; "
            f"{dollars(sums.owed)} still owed, {dollars(sums.refused)} refused by the platform."
        )

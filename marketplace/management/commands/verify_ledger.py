"""Whether the books are right."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.services.daily import books_verify


class Command(BaseCommand):
    """Check the books, and say where they are wrong."""

    help = (
        "Check the books: running sums, gaps, what HITs hold, what was earned, fees, bonuses and payouts. Prints the "
        "sums and the income from fees by month; where something differs, a sentence for each place, and exit code 1. "
        "`tick` does the same once a day."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        result = books_verify()
        sums = result.totals
        requesters = f"{sums.requesters:,} requester{'' if sums.requesters == 1 else 's'}"
        self.stdout.write(
            f"{sums.entries:,} entries of {requesters}. Deposited ${sums.deposited:,}: "
            f"${sums.available:,} available, ${sums.on_hold:,} on hold, ${sums.earned:,} earned by workers "
            f"(${sums.paid_out:,} paid out, ${sums.owed:,} owed), ${sums.fees:,} in fees."
        )
        for fee in result.fees:
            self.stdout.write(
                f"Fees in {fee.month}: ${fee.amount:,} (${fee.rewards:,} of rewards, ${fee.bonuses:,} of bonuses)"
            )
        for difference in result.differences:
            self.stdout.write(difference)
        if result.differences:
            number = len(result.differences)
            raise CommandError(f"The books are wrong in {number:,} place{'' if number == 1 else 's'}. See above.")
        self.stdout.write("The books are right.")

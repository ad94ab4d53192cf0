"""manage.py check_test_pairs: how well a program that reads nothing could find a campaign's test pairs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from core.management.files import refusals_as_errors
from pools.management.lookup import campaign_called
from tasks.selectors import measure_tests


class Command(BaseCommand):
    """Measure test pairs."""

    help = (
        "Print how well a program that reads nothing could tell a campaign's test pairs from its "
        "pairs, for each thing that it could count (0.5 is chance, 1 is always), and in how many "
        "HITs each test pair is shown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, and print."""
        with refusals_as_errors():
            measure = measure_tests(campaign_called(options["campaign"], options["lab"]))
        if not measure.features:
            self.stdout.write(
                "There is nothing to measure yet: the campaign needs test pairs, and pairs whose passages have texts."
            )
            return
        times = f"{measure.least}" if measure.least == measure.most else f"{measure.least} to {measure.most}"
        self.stdout.write(f"{measure.tests} test pairs in {measure.hits} HITs; HITs that show each: {times}.")
        self.stdout.write("told apart   test pairs       pairs   what a program counts")
        for name, feature in measure.rows:
            self.stdout.write(f"{feature.auc:10.2f}{feature.tests:13.2f}{feature.pairs:12.2f}   {name}")

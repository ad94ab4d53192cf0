"""manage.py check_test_pairs: how well a program that reads nothing could find a campaign's test pairs."""

from argparse import ArgumentParser
from typing import Any

from core.management.command import SiteCommand
from pools.management.lookup import campaign_called
from tasks.selectors import measure_tests


class Command(SiteCommand):
    help = (
        "Print how well a program that reads nothing could tell a campaign's test pairs from its "
        "pairs, for each thing that it could count (0.5 is chance, 1 is always), and in how many "
        "HITs each test pair is shown."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def work(self, **options: Any) -> dict[str, Any]:
        measure = measure_tests(campaign_called(options["campaign"], options["lab"]))
        facts: dict[str, Any] = {
            "test_pairs": measure.tests,
            "hits": measure.hits,
            "least": measure.least,
            "most": measure.most,
        }
        facts["told_apart"] = {name: feature._asdict() for name, feature in measure.rows}
        if not measure.features:
            self.say(
                "There is nothing to measure yet: the campaign needs test pairs, and pairs whose passages have texts."
            )
            return facts
        times = f"{measure.least}" if measure.least == measure.most else f"{measure.least} to {measure.most}"
        self.say(f"{measure.tests} test pairs in {measure.hits} HITs; HITs that show each: {times}.")
        self.say("told apart   test pairs       pairs   what a program counts")
        for name, feature in measure.rows:
            self.say(f"{feature.auc:10.2f}{feature.tests:13.2f}{feature.pairs:12.2f}   {name}")
        return facts

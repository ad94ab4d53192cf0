"""manage.py import_test_pairs: test pairs by id from a file."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import input_path
from pools.management.lookup import campaign_called
from tasks.models import TestPair
from tasks.services import test_pair_decide, test_pairs_import


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Add test pairs to a draft campaign from a file of `query relevant off_topic` by id. They "
        "are suggestions to be reviewed on the campaign's page, unless --confirmed says that a "
        "person has read each of them."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("file", type=input_path, help="- is standard input")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--confirmed", action="store_true", help="a person has read each of them")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        new = test_pairs_import(campaign=campaign, path=options["file"])
        if options["confirmed"]:
            for test_pair in new:
                test_pair_decide(test_pair=test_pair, confirm=True, by=None, at=timezone.now())
        confirmed, count = (
            campaign.test_pairs.filter(state=TestPair.State.CONFIRMED).count(),
            campaign.test_pairs.count(),
        )
        self.say(f"{len(new)} test pairs added; {confirmed} of {count} are confirmed.")
        return {"campaign": campaign.pk, "added": len(new), "confirmed": confirmed, "test_pairs": count}

"""manage.py start_campaign: pack a draft campaign's HITs and open it."""

from argparse import ArgumentParser
from typing import Any

from core.management.command import SiteCommand
from core.management.files import reporting_to
from pools.management.lookup import campaign_called
from tasks.links import campaign_address
from tasks.management.pay import pay_lines
from tasks.pilots import held_back
from tasks.services import campaign_launch, campaign_pack


class Command(SiteCommand):
    writes_rows = True
    help = "Pack a draft campaign's pairs and test pairs into HITs, open it, and print the link for its workers."

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument(
            "--pilot", type=int, metavar="HITS", help="begin with so many HITs, and hold the rest back (default: all)"
        )

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        campaign_launch(campaign=campaign, pilot_hits=options["pilot"])
        with reporting_to(self.stderr) as report:
            campaign_pack(campaign_id=campaign.pk, report=report)
        campaign.refresh_from_db()
        facts = {
            "campaign": campaign.pk,
            "state": campaign.state,
            "hits": campaign.hits.count(),
            "held_back": held_back(campaign),
            "pairs": campaign.pair_count,
            "reused": campaign.reused_pair_count,
            "link": campaign_address(campaign),
        }
        self.say(f"{campaign.name} is {campaign.state}: {campaign.hits.count():,} HITs.")
        if held := held_back(campaign):
            self.say(f"{held:,} of them are held back until the pilot has ended: see the campaign's page.")
        if campaign.reused_pair_count:
            self.say(f"{campaign.reused_pair_count:,} of {campaign.pair_count:,} pairs had been judged before.")
        if campaign.reused_pair_count == campaign.pair_count:
            self.say("There is nothing to ask: qrels and results follow from the reused judgments.")
            return facts
        for line in pay_lines(campaign):
            self.say(line)
        self.say(f"Link for workers: {campaign_address(campaign)}")
        return facts

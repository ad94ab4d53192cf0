"""manage.py ask_further: more judgments for the queries that are not certain, within a budget."""

from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from core.management.command import SiteCommand
from evaluation.statistics.asking import JUDGMENTS, WANTED
from pools.management.lookup import campaign_called
from results.asking import USUAL, further_ask, offer_for


class Command(SiteCommand):
    """Say what a budget would settle, and ask for it."""

    writes_rows = True
    help = (
        "Ask for more judgments where the confidence set of a query is larger than wanted, within a budget: the "
        "queries first where a judgment settles the most. Without --ask, it only says what that would cost and settle."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument(
            "--budget", type=Decimal, default=USUAL, help="in the campaign's currency, with fees and work done again"
        )
        parser.add_argument(
            "--judgments",
            type=int,
            choices=JUDGMENTS,
            default=JUDGMENTS[0],
            help="of a pair, at most, each by another worker",
        )
        parser.add_argument(
            "--wanted", type=int, choices=WANTED, default=WANTED[0], help="passages of a confidence set, at most"
        )
        parser.add_argument("--ask", action="store_true", help="ask for them")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        wish = {name: options[name] for name in ("budget", "judgments", "wanted")}
        offer = offer_for(campaign, **wish)
        if options["ask"]:
            offer = further_ask(campaign=campaign, **wish, seen=offer.seen)
        self.say(
            f"{len(offer.queries):,} of {offer.open:,} queries with larger confidence sets: {offer.bill.hits:,} HITs, "
            f"up to {campaign.money(offer.bill.total)}; about {offer.settled:.1f} queries settled."
        )
        if offer.obstacle:
            self.say(offer.obstacle)
        elif not options["ask"]:
            self.say("Nothing was asked. With --ask, it would be.")
        return {
            "campaign": campaign.pk,
            "queries": len(offer.queries),
            "open": offer.open,
            "hits": offer.bill.hits,
            "total": str(offer.bill.total),
            "settled": offer.settled,
            "asked": bool(options["ask"]),
        }

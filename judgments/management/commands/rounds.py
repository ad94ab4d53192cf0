"""manage.py rounds: the rounds of a campaign in rounds; ask the one that waits for a person."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from evaluation.files.textfiles import counted
from judgments import rounds
from pools.management.lookup import campaign_called, user_called


class Command(SiteCommand):
    writes_rows = True
    help = (
        "List the rounds of a campaign in rounds, with how many pools and passages were left in each; or ask the round "
        "that waits for a person. The others are planned and asked by a job."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        """The command's own arguments. Without --ask, nothing is changed."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--ask", type=int, metavar="ROUND", help="ask this round, by its number in the list")
        parser.add_argument("--by", metavar="USER", help="the user name of whoever asks it")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        if options["ask"] is not None:
            if not options["by"]:
                raise CommandError("Say who asks it, with --by.")
            by = user_called(options["by"])
            asked = rounds.round_ask(campaign=campaign, number=options["ask"], by=by, at=timezone.now())
            self.say(f"Round {asked.number} is asked, in {counted(asked.hits, 'HIT')}.")
            return {"campaign": campaign.pk, "round": asked.number, "hits": asked.hits}
        shown = rounds.rounds_shown(campaign)
        if shown is None:
            raise CommandError(f"The campaign {campaign.name} is not judged in rounds.")
        facts = []
        for row in shown.rows:
            state = "waits" if row.asked_at is None else f"asked in {counted(row.hits, 'HIT')}"
            left = f"{counted(row.pools, 'pool')}, {counted(row.passages, 'passage')} left"
            self.say(f"Round {row.number}: {left}, {counted(row.pairs, 'pair')}; {state}.")
            names = ("number", "pools", "passages", "pairs", "unsettled", "hits", "planned_at", "asked_at", "obstacle")
            facts.append({name: getattr(row, name) for name in names})
        if shown.waits is not None and shown.cost is not None:
            self.say(f"{shown.waits.obstacle} All rounds then cost {campaign.money(shown.cost)}.")
        if shown.is_over:
            self.say("All rounds are over.")
        return {"campaign": campaign.pk, "rounds": facts, "is_over": shown.is_over, "cost": shown.cost}

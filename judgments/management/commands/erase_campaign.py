"""manage.py erase_campaign: erase who a campaign's workers are, or the whole campaign; or say what that would do."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.management.files import refusals_as_errors
from core.money import dollars
from judgments.campaign_erasing import whole_erase, whole_plan
from judgments.erasing import campaign_erase, campaign_workers
from pools.management.lookup import campaign_called
from pools.models import Campaign


class Command(BaseCommand):
    """Erase a closed campaign, or who its workers are."""

    help = (
        "Remove who the workers of a closed campaign are; judgments stay under pseudonyms. With --whole, delete the "
        "campaign with its judgments, results and files, where nothing else rests on them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--whole", action="store_true", help="delete everything of the campaign")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, what would stay and why, only")
        parser.add_argument("--why", default="", help="kept in the audit")
        parser.add_argument("--json", action="store_true", help="answer in JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Erase, and say what was done."""
        with refusals_as_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            act = self._whole if options["whole"] else self._workers
            said, lines = act(campaign, options["dry_run"], options["why"])
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"]} | said, indent=1))
        else:
            self.stdout.write("\n".join(lines))

    def _workers(self, campaign: Campaign, dry_run: bool, why: str) -> tuple[dict[str, Any], list[str]]:
        if dry_run:
            count = campaign_workers(campaign).count()
            line = f"{count:,} workers are not erased. Those with unsettled work, or work elsewhere, would be left out."
            closed = campaign.state == Campaign.State.CLOSED
            lines = [line] if closed else [line, "Not yet: the campaign is not closed."]
            return {"campaign": campaign.name, "workers": count, "closed": closed}, lines
        erased, kept = campaign_erase(campaign=campaign, at=timezone.now(), why=why)
        lines = [f"{erased:,} workers are erased.", *(f"Worker {key} stays: {reason}" for key, reason in kept.items())]
        return {"campaign": campaign.name, "erased": erased, "kept": kept}, lines

    def _whole(self, campaign: Campaign, dry_run: bool, why: str) -> tuple[dict[str, Any], list[str]]:
        at = timezone.now()
        plan = whole_plan(campaign, at=at) if dry_run else whole_erase(campaign=campaign, at=at, why=why)
        lines = ["This would go:" if dry_run else "This is gone:"]
        lines += [f"  {count:,} × {what}" for _key, what, count in plan.goes if count]
        if plan.owed:
            lines.append(f"  who is owed {dollars(plan.owed)} that no platform pays")
        lines += ["This stays:", *(f"  {what}. {reason}" for what, reason in plan.stays)]
        lines += [f"Not possible: {obstacle}" for obstacle in plan.obstacles]
        return plan.as_json(), lines

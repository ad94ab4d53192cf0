"""manage.py erase_campaign: erase who a campaign's workers are, or the whole campaign; or say what that would do."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import reporting_to
from judgments.campaign_erasing import whole_erase, whole_plan
from judgments.erasing import campaign_erase, campaign_workers
from pools.management.lookup import campaign_called
from pools.models import Campaign


class Command(SiteCommand):
    """Erase a closed campaign, or the identities of its workers."""

    help = (
        "Remove who the workers of a closed campaign are; judgments stay under pseudonyms. With --whole, delete the "
        "campaign with its judgments, results and files, where nothing else rests on them."
    )

    dry_run_help = "say what would go, what would stay and why, only"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--whole", action="store_true", help="delete everything of the campaign")
        parser.add_argument("--why", default="", help="kept in the audit")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        act = self._whole if options["whole"] else self._workers
        return act(campaign, options["dry_run"], options["why"])

    def _workers(self, campaign: Campaign, dry_run: bool, why: str) -> dict[str, Any]:
        if dry_run:
            count = campaign_workers(campaign).count()
            self.say(
                f"{count:,} workers are not erased. Those with unsettled work, or work elsewhere, would be left out."
            )
            closed = campaign.state == Campaign.State.CLOSED
            if not closed:
                self.say("Not yet: the campaign is not closed.")
            return {"campaign": campaign.name, "workers": count, "closed": closed}
        with reporting_to(self.stderr) as report:
            erased, kept = campaign_erase(campaign=campaign, at=timezone.now(), why=why, report=report)
        self.say(f"{erased:,} workers are erased.")
        for key, reason in kept.items():
            self.say(f"Worker {key} stays: {reason}")
        return {"campaign": campaign.name, "erased": erased, "kept": kept}

    def _whole(self, campaign: Campaign, dry_run: bool, why: str) -> dict[str, Any]:
        at = timezone.now()
        plan = whole_plan(campaign, at=at) if dry_run else whole_erase(campaign=campaign, at=at, why=why)
        self.say("This would go:" if dry_run else "This is gone:")
        for _key, what, count in plan.goes:
            if count:
                self.say(f"  {count:,} × {what}")
        if plan.owed:
            self.say(f"  who is owed {campaign.money(plan.owed)} that no platform pays")
        self.say("This stays:")
        for what, reason in plan.stays:
            self.say(f"  {what}. {reason}")
        for obstacle in plan.obstacles:
            self.say(f"Not possible: {obstacle}")
        return plan.as_json()

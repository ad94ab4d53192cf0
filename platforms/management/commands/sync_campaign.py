"""manage.py sync_campaign: ask the platform what was submitted."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import reporting_to
from platforms.management.platforms import platform_errors, publication_of
from platforms.publishing import publishing_progress
from platforms.syncing import publication_sync, sync_due


class Command(SiteCommand):
    dry_run_help = "say how many HITs would be asked about, and ask nothing"
    help = "Ask a campaign's platform for submitted work, as the background job does, and list what needs a review."

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--all", action="store_true", help="ask about every HIT, not only those that are due")

    def work(self, **options: Any) -> dict[str, Any]:
        publication, at = publication_of(options["campaign"], options["lab"]), timezone.now()
        posted = publishing_progress(publication).posted
        facts = {"campaign": publication.campaign_id, "posted": posted}
        if options["dry_run"]:
            due = sync_due(publication, at, everything=options["all"])
            self.say(f"{due:,} of {posted:,} HITs would be asked about, and those that the platform says changed.")
            return {**facts, "due": due}
        with platform_errors(), reporting_to(self.stderr) as report:
            synced = publication_sync(publication=publication, at=at, everything=options["all"], report=report)
        self.say(f"{synced.polled:,} of {posted:,} HITs asked about, {synced.new:,} new submissions.")
        alarms = list(publication.alarms.filter(settled_at=None).order_by("raised_at"))
        for alarm in alarms:
            self.say(f"! {alarm.text}")
        return {
            **facts,
            "asked_about": synced.polled,
            "new": synced.new,
            "alarms": [{"kind": alarm.kind, "since": alarm.raised_at, "text": alarm.text} for alarm in alarms],
        }

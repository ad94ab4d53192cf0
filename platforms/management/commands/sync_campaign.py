"""manage.py sync_campaign: ask the platform what was submitted."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.management.files import refusals_as_errors
from platforms.management.platforms import platform_errors, publication_of
from platforms.publishing import publishing_progress
from platforms.syncing import publication_sync


class Command(BaseCommand):
    """Sync a campaign."""

    help = "Ask a campaign's platform for submitted work, as the background job does, and list what needs a review."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--all", action="store_true", help="ask about every HIT, not only those that are due")

    def handle(self, *args: Any, **options: Any) -> None:
        """Poll, and print counts and alarms."""
        with refusals_as_errors(), platform_errors():
            publication = publication_of(options["campaign"], options["lab"])
            synced = publication_sync(publication=publication, at=timezone.now(), everything=options["all"])
        posted = publishing_progress(publication).posted
        self.stdout.write(f"{synced.polled:,} of {posted:,} HITs asked about, {synced.new:,} new submissions.")
        for alarm in publication.alarms.filter(settled_at=None).order_by("raised_at"):
            self.stdout.write(f"! {alarm.text}")

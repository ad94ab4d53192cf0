"""manage.py stop_publications: the kill switch of all publications at once."""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from platforms.publishing.publications import publications_stop


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Stop every publication, so that nothing is published, approved or paid until each is "
        "resumed. Nothing is sent to the platforms, so HITs that are open there stay open. Use it "
        "after "
        "restoring a backup. Each publication's alarm says who stopped it, and why."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", required=True, help="the reason, shown to the person who resumes them")
        parser.add_argument("--by", default=_user(), help="who is stopping them (default: your account here)")

    def work(self, **options: Any) -> dict[str, Any]:
        if not options["reason"].strip():
            raise CommandError("Say why, with --reason.")
        stopped = publications_stop(reason=options["reason"].strip().rstrip("."), by=options["by"], at=timezone.now())
        for publication in stopped:
            self.say(f"{publication.campaign.name} is stopped.")
        self.say(f"{len(stopped):,} publications are stopped.")
        return {"stopped": [publication.campaign_id for publication in stopped]}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container under an arbitrary user id
        return "an operator"

"""manage.py add_version: a version of a collection's preference qrels, from what a campaign has settled."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from pools.management.lookup import campaign_called, user_called
from results.scoring import scores_refresh
from results.versions import version_add


class Command(SiteCommand):
    """Make a version, score all runs on it, and say what changed."""

    writes_rows = True
    help = (
        "Make a version of a collection's preference qrels: queries that the campaign has settled take the best known "
        "answers that it found, and all others keep those of the newest version. Every run is scored on it."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--why", required=True, help="a sentence that is shown with the version")
        parser.add_argument("--by", help="the user name of the researcher who makes it")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        by = None if options["by"] is None else user_called(options["by"])
        version = version_add(campaign=campaign, why=options["why"], by=by, at=timezone.now())
        scores_refresh(collection=version.collection)
        self.say(
            f"Version {version.number} of {version.collection.name}: {version.queries:,} queries, {version.added:,} "
            f"added, {version.changed:,} changed, {version.unchanged:,} unchanged. SHA-256 {version.sha256}"
        )
        counts = ("added", "changed", "unchanged", "overtaken", "unsettled", "held_back", "adjudicated")
        names = ("number", "queries", *counts, "sha256")
        return {"collection": version.collection_id, **{name: getattr(version, name) for name in names}}

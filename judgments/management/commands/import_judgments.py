"""manage.py import_judgments: judgments that were made elsewhere, as a campaign of their own."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import STANDARD_INPUT, input_path, open_file, reporting_to
from evaluation.files.runs import run_name
from evaluation.files.textfiles import counted
from judgments.importing import judgments_import
from pools.management.lookup import collection_called


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Make a closed campaign of judgments that were made elsewhere: lines `query a b preferred worker time` (the "
        "last two may be missing; prefj's log is the first four), Mechanical Turk's results (CSV), Label Studio's "
        "pairwise export (JSON or CSV) or Potato's output (plain, gz, bz2 or zst). The format is recognized. If the "
        "file has an error, or a query that the collection does not know, nothing is stored."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument("file", type=input_path, help="the file, or - for standard input")
        parser.add_argument("--lab", help="the collection's lab, if several labs have a collection with this name")
        parser.add_argument("--name", help="the campaign's name (default: the file's name without its extensions)")
        parser.add_argument("--question", default="", help="what the workers were asked")
        parser.add_argument("--note", required=True, help="where the judgments come from")

    def work(self, **options: Any) -> dict[str, Any]:
        path = options["file"]
        if path == STANDARD_INPUT and not options["name"]:
            raise CommandError("Judgments from standard input need a --name.")
        collection = collection_called(options["collection"], options["lab"])
        with open_file(path) as source, reporting_to(self.stderr) as report:
            campaign = judgments_import(
                collection=collection,
                name=options["name"] or run_name(str(path)),
                source=source,
                filename=path.name,
                note=options["note"],
                question=options["question"],
                by=None,
                at=timezone.now(),
                report=report,
            )
        origin = campaign.origin or {}
        self.say(
            f"{campaign.name} ({origin['format']}): {counted(origin['judgments'], 'judgment')} of "
            f"{counted(origin['workers'], 'worker')} on {counted(campaign.pair_count, 'pair')} stored."
        )
        for why, count in origin["left_out"].items():
            self.say(f"Left out, {why}: {count:,}")
        names = ("format", "judgments", "workers", "left_out")
        return {"campaign": campaign.pk, "pairs": campaign.pair_count, **{name: origin[name] for name in names}}

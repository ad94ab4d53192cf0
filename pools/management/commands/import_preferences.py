"""manage.py import_preferences: judgments that were made elsewhere into a collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import STANDARD_INPUT, input_path, open_file, reporting_to
from evaluation.files.runs import run_name
from evaluation.files.textfiles import counted
from pools.management.lookup import collection_called
from pools.services import preferences_import


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Store judgments that were made elsewhere, from a file of lines `query a b preferred`, where `preferred` may "
        "be = for a tie (plain, gz, bz2 or zst). Campaigns over the collection can reuse them. If the file has an "
        "error, or an id that the collection does not know, nothing is stored."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument("file", type=input_path, help="the file, or - for standard input")
        parser.add_argument("--lab", help="the collection's lab, if several labs have a collection with this name")
        parser.add_argument("--name", help="a name for the import (default: the file's name without its extensions)")
        parser.add_argument("--note", required=True, help="where the judgments come from, and what was asked")

    def work(self, **options: Any) -> dict[str, Any]:
        path = options["file"]
        if path == STANDARD_INPUT and not options["name"]:
            raise CommandError("Preferences from standard input need a --name.")
        collection = collection_called(options["collection"], options["lab"])
        with open_file(path) as source, reporting_to(self.stderr) as report:
            imported = preferences_import(
                collection=collection,
                name=options["name"] or run_name(str(path)),
                source=source,
                filename=path.name,
                note=options["note"],
                by=None,
                at=timezone.now(),
                report=report,
            )
        judgments = counted(imported.judgment_count, "judgment")
        self.say(f"{imported.name}: {judgments} on {counted(imported.pair_count, 'pair')} stored.")
        return {"name": imported.name, "judgments": imported.judgment_count, "pairs": imported.pair_count}

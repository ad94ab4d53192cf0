"""manage.py import_run: run files into a collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.management.files import STANDARD_INPUT, input_path, open_file, refusals_as_errors, reporting_to
from evaluation.files.runs import run_name
from pools.management.lookup import collection_called
from pools.services import BadRun, run_import, run_release


class Command(BaseCommand):
    """Check run files and store them."""

    help = (
        "Check run files (TREC or MS MARCO; plain, gz, bz2 or zst) and store those without errors, each with its "
        "census. If a file has errors, none of it is stored, and its first hundred errors are listed by line."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument("files", nargs="+", type=input_path, help="run files, or - for one from standard input")
        parser.add_argument("--lab", help="the collection's lab, if several labs have a collection with this name")
        parser.add_argument("--name", help="the run's name (for one file); otherwise the file's name without endings")
        parser.add_argument("--team", default="")
        parser.add_argument("--notes", default="")
        parser.add_argument(
            "--not-for-release",
            action="store_true",
            help="hold back from every export what only this run brings into a pool",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import each file; report all bad ones, then fail."""
        if options["name"] and len(options["files"]) > 1:
            raise CommandError("--name is for one file.")
        if STANDARD_INPUT in options["files"] and not options["name"]:
            raise CommandError("A run from standard input needs a --name.")
        bad = 0
        with refusals_as_errors():
            collection = collection_called(options["collection"], options["lab"])
            for path in options["files"]:
                name = options["name"] or run_name(str(path))
                try:
                    with open_file(path) as source, reporting_to(self.stderr) as report:
                        run = run_import(
                            collection=collection,
                            name=name,
                            source=source,
                            filename=path.name,
                            team=options["team"],
                            notes=options["notes"],
                            report=report,
                        )
                    if options["not_for_release"]:
                        run_release(run=run, is_released=False)
                except BadRun as error:
                    bad += 1
                    for line in error.check.errors:
                        self.stderr.write(f"{path.name}, line {line.line:,}: {line.message}")
                    if error.check.error_count > len(error.check.errors):
                        self.stderr.write(f"{error.check.error_count - len(error.check.errors):,} more errors.")
                    continue
                self.stdout.write(f"{run.name}: stored.")
        if bad:
            raise CommandError(f"{bad} of {len(options['files'])} files refused; the others are stored.")

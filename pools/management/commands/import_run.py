"""manage.py import_run: run files into a collection."""

import tempfile
from argparse import ArgumentParser
from typing import Any, BinaryIO, cast

from django.core.management.base import BaseCommand, CommandError

from core.management.files import STANDARD_INPUT, input_path, open_file, refusals_as_errors, reporting_to
from evaluation.files.archives import Bounds, is_archive, members
from evaluation.files.recognizing import recognize
from evaluation.files.runs import run_name
from pools.management.lookup import collection_called
from pools.models import Collection
from pools.services import BadRun, run_import, run_release

COPIED = 1 << 20  # bytes of a file in an archive that are in memory


class Command(BaseCommand):
    """Check run files and store them."""

    help = (
        "Check run files (TREC or MS MARCO; plain, gz, bz2 or zst; also in a zip or tar archive) and store those "
        "without errors, each with its census. If a file has errors, none of it is stored, and its first hundred "
        "errors are listed by line."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument(
            "files", nargs="+", type=input_path, help="run files or archives of them, or - for one from standard input"
        )
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
        self._count = self._bad = 0
        with refusals_as_errors():
            collection = collection_called(options["collection"], options["lab"])
            for path in options["files"]:
                with open_file(path) as source:
                    if is_archive(source):
                        if options["name"]:
                            raise CommandError(f"--name is for one run, and {path.name} is an archive.")
                        self._import_archive(collection, source, path.name, options)
                    else:
                        source.seek(0)
                        name = options["name"] or run_name(str(path))
                        self._import(collection, source, path.name, name, options)
        if self._bad:
            raise CommandError(f"{self._bad} of {self._count} files refused; the others are stored.")

    def _import_archive(self, collection: Collection, archive: BinaryIO, name: str, options: dict[str, Any]) -> None:
        """Import the runs of an archive, one after the other; what is no run is left out, and named."""
        for member in members(archive, name, Bounds()):
            with tempfile.TemporaryFile() as copy:
                while chunk := member.file.read(COPIED):
                    copy.write(chunk)
                file = cast(BinaryIO, copy)
                seen = recognize(file, member.name)
                if seen.kind != "run":
                    self.stdout.write(f"{name}, {member.name}: left out ({seen.why}).")
                    continue
                copy.seek(0)
                self._import(collection, file, member.name, run_name(member.name), options)

    def _import(
        self, collection: Collection, source: BinaryIO, filename: str, name: str, options: dict[str, Any]
    ) -> None:
        """Import one file, or list its errors by line."""
        self._count += 1
        try:
            with reporting_to(self.stderr) as report:
                run = run_import(
                    collection=collection,
                    name=name,
                    source=source,
                    filename=filename,
                    team=options["team"],
                    notes=options["notes"],
                    report=report,
                )
            if options["not_for_release"]:
                run_release(run=run, is_released=False)
        except BadRun as error:
            self._bad += 1
            for line in error.check.errors:
                self.stderr.write(f"{filename}, line {line.line:,}: {line.message}")
            if error.check.error_count > len(error.check.errors):
                self.stderr.write(f"{error.check.error_count - len(error.check.errors):,} more errors.")
        else:
            self.stdout.write(f"{run.name}: stored.")

"""manage.py import_run: run files into a collection."""

import tempfile
from argparse import ArgumentParser
from typing import Any, BinaryIO, cast

from django.core.management.base import CommandError

from core.errors import Refused
from core.management.command import SiteCommand
from core.management.files import STANDARD_INPUT, input_path, open_file, reporting_to
from evaluation.errors import BadInput
from evaluation.files.archives import Bounds, is_archive, members
from evaluation.files.recognizing import recognize
from evaluation.files.runs import run_name
from runs.management.lookup import collection_called
from runs.models import Collection, Run
from runs.services import AlreadyStored, BadRun, run_check, run_import, run_release

COPIED = 1 << 20  # bytes of a file in an archive that are in memory


class Command(SiteCommand):
    help = (
        "Check run files (TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst; also in a zip or tar "
        "archive) and store those without errors, each with its census. If a file has errors, none of it is stored, "
        "and its first hundred errors are listed by line. The other files are stored all the same."
    )
    dry_run_help = "check the files, and store none"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument(
            "files", nargs="+", type=input_path, help="run files or archives of them, or - for one from standard input"
        )
        parser.add_argument("--lab", help="the collection's lab, if several labs have a collection with this name")
        parser.add_argument("--name", help="the run's name (for one file); otherwise the file's name without endings")
        parser.add_argument("--team", default="")
        parser.add_argument("--notes", default="")
        parser.add_argument("--models", default="", help="the language models that it uses, separated by commas")
        parser.add_argument(
            "--without-query",
            action="store_true",
            help="leave out hits whose passage has the id of their query, as BEIR does",
        )
        parser.add_argument(
            "--not-for-release",
            action="store_true",
            help="hold back from every export what only this run brings into a pool",
        )

    def work(self, **options: Any) -> dict[str, Any]:
        """Import each file, and say of each what came of it."""
        if options["name"] and len(options["files"]) > 1:
            raise CommandError("--name is for one file.")
        if STANDARD_INPUT in options["files"] and not options["name"]:
            raise CommandError("A run from standard input needs a --name.")
        self._files: list[dict[str, Any]] = []
        self._left_out: list[dict[str, str]] = []
        self._passed: dict[str, Run] = {}  # by the name and by the SHA-256 of what a dry run has checked
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
        refused = sum(not file["passed"] for file in self._files)
        if refused:
            others = "would be stored" if options["dry_run"] else "are stored"
            more = f"; the others {others}." if refused < len(self._files) else "."
            self.failure = f"{refused} of {len(self._files)} files refused{more}"
        return {"collection": collection.pk, "files": self._files, "left_out": self._left_out}

    def _import_archive(self, collection: Collection, archive: BinaryIO, name: str, options: dict[str, Any]) -> None:
        """Import the runs of an archive, one after the other; what is no run is left out, and named."""
        for member in members(archive, name, Bounds()):
            with tempfile.TemporaryFile() as copy:
                while chunk := member.file.read(COPIED):
                    copy.write(chunk)
                file = cast(BinaryIO, copy)
                guess = recognize(file, member.name)
                if guess.kind != "run":
                    self.say(f"{name}, {member.name}: left out ({guess.why}).")
                    self._left_out.append({"file": member.name, "why": guess.why})
                    continue
                copy.seek(0)
                self._import(collection, file, member.name, run_name(member.name), options)

    def _import(
        self, collection: Collection, source: BinaryIO, filename: str, name: str, options: dict[str, Any]
    ) -> None:
        """Import one file, or list its errors by line."""
        facts: dict[str, Any] = {"file": filename, "name": name, "passed": False, "run": None, "errors": []}
        self._files.append(facts)
        about = {key: options[key] for key in ("team", "notes", "without_query")}
        about["models_used"] = options["models"]
        try:
            with reporting_to(self.stderr) as report:
                if options["dry_run"]:
                    run, _top = run_check(
                        collection=collection, name=name, source=source, filename=filename, report=report, **about
                    )
                    self._must_differ(run)
                else:
                    run = run_import(
                        collection=collection, name=name, source=source, filename=filename, report=report, **about
                    )
                    if options["not_for_release"]:
                        run_release(run=run, is_released=False)
        except BadRun as error:
            facts["errors"] = [{"line": line.line, "message": line.message} for line in error.check.errors]
            facts["error_count"] = error.check.error_count
            for line in error.check.errors:
                self.stderr.write(f"{filename}, line {line.line:,}: {line.message}")
            if error.check.error_count > len(error.check.errors):
                self.stderr.write(f"{error.check.error_count - len(error.check.errors):,} more errors.")
        except (BadInput, Refused) as error:
            facts |= {"errors": [{"line": getattr(error, "line", None), "message": str(error)}], "error_count": 1}
            self.stderr.write(str(error) if isinstance(error, BadInput) else f"{filename}: {error}")
        else:
            facts |= {"passed": True, "run": run.pk, "queries": run.census["queries"], "sha256": run.sha256}
            self.say(f"{run.name}: {'would be stored' if options['dry_run'] else 'stored'}.")

    def _must_differ(self, run: Run) -> None:
        """Refuse, in a dry run, what the run before it would have kept from being stored."""
        for key in (run.sha256, run.name):
            if (earlier := self._passed.get(key)) is not None:
                if key == run.sha256:
                    raise AlreadyStored(earlier)
                raise Refused(f"The collection would already have a run called {run.name}.")
        self._passed |= {run.sha256: run, run.name: run}

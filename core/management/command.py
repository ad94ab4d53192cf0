"""What commands share: `--json`, `--dry-run`, sentences for people, refusals in words."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from core.management.files import refusals_as_errors


class SiteCommand(BaseCommand):
    """A command that people and programs use.

    A subclass adds its arguments in `add_options`, and does its work in `work`: that says sentences with `self.say`,
    reports progress to `self.stderr` (`reporting_to`), and returns the facts that `--json` prints. Sentences are on
    standard output, or with `--json` on standard error, so that standard output is JSON and nothing else. One that
    writes nothing but rows sets `writes_rows`, and gets `--dry-run`: all is done in a transaction that is taken back.
    One that writes files or speaks to others sets `dry_run_help`, and looks at `options["dry_run"]` itself. What went
    wrong with some of it is put into `failure`: the facts are printed, and the command fails with that sentence.
    """

    writes_rows = False
    dry_run_help = ""
    failure = ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command's own arguments, and those that all have."""
        self.add_options(parser)
        parser.add_argument(
            "--json", action="store_true", help="print what came of it as JSON; sentences go to standard error"
        )
        if about := self.dry_run_help or (self.writes_rows and "do it, print what came of it, and take it all back"):
            parser.add_argument("--dry-run", action="store_true", help=about)

    def add_options(self, parser: ArgumentParser) -> None:
        """The command's own arguments."""

    def work(self, **options: Any) -> Mapping[str, Any]:
        """Do it. What came of it, by name."""
        raise NotImplementedError

    def say(self, sentence: str) -> None:
        """Tell people."""
        (self.stderr if self._as_json else self.stdout).write(sentence)

    def handle(self, *args: Any, **options: Any) -> None:
        self._as_json = options["json"]
        self.failure = ""
        dry = options.get("dry_run", False)
        with refusals_as_errors():
            if dry and self.writes_rows:
                with transaction.atomic():
                    facts = self.work(**options)
                    transaction.set_rollback(True)
            else:
                facts = self.work(**options)
        if dry:
            self.say("This was a dry run: nothing has been changed.")
        if self._as_json:
            self.stdout.write(
                json.dumps({**facts, "dry_run": dry}, cls=DjangoJSONEncoder, ensure_ascii=False, indent=2)
            )
        if self.failure:
            raise CommandError(self.failure)

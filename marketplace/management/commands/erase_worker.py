"""Removing who a worker is."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.errors import Refused
from marketplace.selectors.lookups import worker_of
from marketplace.services.erasing import erasure_plan, worker_erase


class Command(BaseCommand):
    help = "Close a worker's account and remove who it is, once nothing is owed. The ledger stays, under the worker id."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("worker_id")
        parser.add_argument("--reason", default="", help="why; kept in the audit, so do not write a name")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, what would stay and why, only")
        parser.add_argument("--json", action="store_true", help="answer in JSON")

    def handle(self, *_args: Any, worker_id: str, reason: str, dry_run: bool, **options: Any) -> None:
        try:
            worker = worker_of(worker_id)
            plan = erasure_plan(worker) if dry_run else worker_erase(worker=worker, actor="erase_worker", reason=reason)
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": dry_run} | plan.as_json(), indent=1))
            return
        self.stdout.write("This would go:" if dry_run else "This is gone:")
        for what, count in plan.goes:
            if count:
                self.stdout.write(f"  {count:,} × {what}")
        self.stdout.write("This stays:")
        for what, count, why in plan.stays:
            if count:
                self.stdout.write(f"  {count:,} × {what}. {why}")
        for obstacle in plan.obstacles:
            self.stdout.write(f"Not yet: {obstacle}")

"""manage.py erase_worker: remove who a worker is, or say what that would do."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.audit.origin import because
from core.management.command import SiteCommand
from core.models import Lab
from judgments.erasing import Plan, erasure_plan, worker_erase, workers_called


class Command(SiteCommand):
    help = (
        "Remove the name, platform ids and links of a worker whose money is settled. Judgments stay under pseudonyms, "
        "and exports stay the same."
    )

    dry_run_help = "say what would go, what would stay and why, only"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("worker", help="an id at a platform, a name on the panel, a pseudonym, or a row's number")
        parser.add_argument("--lab", help="the worker's lab, if several labs know such a worker")
        parser.add_argument("--why", default="", help="kept in the audit")
        parser.add_argument("--write-off", action="store_true", help="what the lab still owes the worker is not paid")

    def work(self, **options: Any) -> dict[str, Any]:
        labs = Lab.objects.filter(name=options["lab"]) if options["lab"] else Lab.objects.all()
        workers = list(workers_called(labs, options["worker"])[:2])
        if not workers:
            raise CommandError("There is no such worker.")
        if len(workers) > 1:
            raise CommandError("Several workers are called that: say the lab with --lab, or give a row's number.")
        [worker] = workers
        plan = erasure_plan(worker, at=timezone.now())
        if not options["dry_run"]:
            with because(options["why"]):
                given = {"why": options["why"], "write_off": options["write_off"]}
                plan = worker_erase(worker=worker, at=timezone.now(), **given)
        self._tell(plan, options["dry_run"])
        return plan.as_json()

    def _tell(self, plan: Plan, dry_run: bool) -> None:
        self.say("This would go:" if dry_run else "This is gone:")
        for _key, what, count in plan.goes:
            if count:
                self.say(f"  {count:,} × {what}")
        if plan.is_done:
            self.say("  nothing: nothing here says who it is")
        self.say("This stays:")
        for what, count, why in plan.stays:
            if count:
                self.say(f"  {count:,} × {what}. {why}")
        if plan.owed:
            self.say(f"The lab owes: {plan.debt}. Erasing the worker needs --write-off.")
        for obstacle in plan.obstacles:
            self.say(f"Not yet: {obstacle}")

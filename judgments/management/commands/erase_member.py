"""manage.py erase_member: close the account of somebody who leaves, or say what that would do."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.management.files import refusals_as_errors
from core.models import User
from judgments.closing import Plan, account_close, closing_plan


class Command(BaseCommand):
    """Close an account."""

    help = (
        "Remove the name, address, factors, sessions and tokens of somebody who logs in. What they did stays, under "
        "the number of the account."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("name", help="the name that they log in with")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, what would stay and why, only")
        parser.add_argument("--why", default="", help="kept in the audit")
        parser.add_argument("--json", action="store_true", help="answer in JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Find, close, and say what was done."""
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"Nobody logs in with the name “{options['name']}”.")
        plan = closing_plan(user)
        if not options["dry_run"]:
            with refusals_as_errors():
                plan = account_close(user=user, at=timezone.now(), why=options["why"])
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"]} | plan.as_json(), indent=1))
        else:
            self._tell(plan, options["dry_run"])

    def _tell(self, plan: Plan, dry_run: bool) -> None:
        self.stdout.write("This would go:" if dry_run else "This is gone:")
        for _key, what, count in plan.goes:
            if count:
                self.stdout.write(f"  {count:,} × {what}")
        self.stdout.write("This stays:")
        for what, count, why in plan.stays:
            if count:
                self.stdout.write(f"  {count:,} × {what}. {why}")
        for name in plan.goes_on:
            self.stdout.write(f"The campaign {name} goes on.")
        if plan.obstacle:
            self.stdout.write(f"Not yet: {plan.obstacle}")

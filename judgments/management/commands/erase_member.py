"""manage.py erase_member: close the account of somebody who leaves, or say what that would do."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.comparing import compared
from core.management.command import SiteCommand
from core.models import User
from judgments.closing import Plan, account_close, closing_plan


class Command(SiteCommand):
    help = (
        "Remove the name, address, factors, sessions and tokens of somebody who logs in. What they did stays, under "
        "the number of the account."
    )

    dry_run_help = "say what would go, what would stay and why, only"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name that they log in with")
        parser.add_argument("--why", default="", help="kept in the audit")

    def work(self, **options: Any) -> dict[str, Any]:
        user = User.objects.filter(username_key=compared(options["name"])).first()
        if user is None:
            raise CommandError(f"Nobody logs in with the name “{options['name']}”.")
        plan = closing_plan(user)
        if not options["dry_run"]:
            plan = account_close(user=user, at=timezone.now(), why=options["why"])
        self._tell(plan, options["dry_run"])
        return plan.as_json()

    def _tell(self, plan: Plan, dry_run: bool) -> None:
        self.say("This would go:" if dry_run else "This is gone:")
        for _key, what, count in plan.goes:
            if count:
                self.say(f"  {count:,} × {what}")
        self.say("This stays:")
        for what, count, why in plan.stays:
            if count:
                self.say(f"  {count:,} × {what}. {why}")
        for name in plan.goes_on:
            self.say(f"The campaign {name} goes on.")
        if plan.obstacle:
            self.say(f"Not yet: {plan.obstacle}")

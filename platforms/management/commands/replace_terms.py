"""manage.py replace_terms: put a published campaign under other terms, or print what that would change."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.management.files import refusals_as_errors
from platforms.bills import remaining_bill
from platforms.management.platforms import DEMANDED, platform_errors, publication_of, requirements_read
from platforms.publishing import open_or_needed
from platforms.reach import reach_look
from platforms.replacing_terms import changed_terms, publication_replace_terms, terms_replaced
from platforms.status import terms_compared

TEXTS = ("title", "description", "keywords")
# The unit that each length of time is given in, and what it is.
LENGTHS = {
    "lifetime": (timedelta(days=1), "days that a HIT is offered for"),
    "assignment_duration": (timedelta(minutes=1), "minutes that a worker has for a HIT"),
    "auto_approval": (timedelta(days=1), "days after which the platform approves automatically"),
    "approve_after": (timedelta(hours=1), "hours that checked work waits before it is approved"),
}


class Command(BaseCommand):
    help = (
        "Replace the terms of a published campaign: its HITs stay, and move to a new HIT type in the "
        "background. Without --yes, print what would change and send nothing. The platform and the "
        "pay stay as they were published."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line: one option for each term that can be replaced."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--requirements", help=DEMANDED)
        for name in TEXTS:
            parser.add_argument(f"--{name}", help=f"{name} that workers see")
        for name, (_unit, what) in LENGTHS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=float, help=what)
        parser.add_argument("--rate", type=float, help="calls per second")
        parser.add_argument("--yes", action="store_true", help="replace them")
        parser.add_argument(
            "--although-nobody-qualifies",
            action="store_true",
            help="replace them even if the marketplace says that no active worker meets the requirements",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what changes and what it costs; with --yes, do it."""
        given = {name: options[name] for name in (*TEXTS, "rate") if options[name] is not None}
        given |= {name: unit * options[name] for name, (unit, _what) in LENGTHS.items() if options[name] is not None}
        at = timezone.now()
        with refusals_as_errors(), platform_errors():
            publication = publication_of(options["campaign"], options["lab"])
            if options["requirements"]:
                given["requirements"] = requirements_read(
                    options["requirements"], publication.platform, publication.campaign.lab_id
                )
            changed = terms_replaced(publication, given)
            names = changed_terms(publication, changed)
            for change in terms_compared(publication, changed, names):
                self.stdout.write(f"{change.name}: {change.before} -> {change.after}")
            if not names:
                self.stdout.write("These are already the terms. Nothing was changed.")
                return
            self.stdout.write(reach_look(changed).sentence)
            cost = publication.campaign.money(remaining_bill(publication).total)
            self.stdout.write(
                f"{open_or_needed(publication, at).count():,} HITs move to the new terms. Pay and fees stay: the "
                f"work that is still needed costs {cost} as before."
            )
            if not options["yes"]:
                self.stdout.write("Nothing was sent. Give --yes to replace the terms.")
                return
            publication_replace_terms(
                publication=publication,
                terms=given,
                by=None,
                at=at,
                although_nobody_qualifies=options["although_nobody_qualifies"],
            )
        self.stdout.write("The terms have been replaced. Background jobs move the HITs, at the set rate.")

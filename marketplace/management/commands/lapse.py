"""The end of somebody's time, before it comes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.management.requesters import requester_named
from marketplace.models import AuditEvent
from marketplace.services.accounts import audit_note
from marketplace.services.lapsing import assignments_lapse


class Command(BaseCommand):
    help = (
        "Let the time of accepted assignments be over now, as where somebody is known to be gone: their places are "
        "free again, and what was done cannot be submitted any more."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("assignment_ids", nargs="*", metavar="assignment", help="ids of assignments")
        parser.add_argument("--requester", default="", help="all on HITs of this one: account id or name")

    def handle(self, *_args: Any, assignment_ids: list[str], requester: str, **_options: Any) -> None:
        if bool(assignment_ids) == bool(requester):
            raise CommandError("Name either assignments or a requester.")
        owner = requester_named(requester) if requester else None
        count = assignments_lapse(assignment_ids=assignment_ids, requester=owner)
        if owner is not None:
            subject = owner.account_id
        else:
            subject = assignment_ids[0] if len(assignment_ids) == 1 else f"{len(assignment_ids)} assignments"
        audit_note(actor="lapse", action=AuditEvent.Action.LAPSE, subject=subject, count=count)
        self.stdout.write(f"{count} lapsed.")

"""manage.py set_periods: how long a lab keeps personal data and its audit."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.models import AuditEntry, Lab
from judgments.erasing import retention_due, retention_set
from judgments.models import Retention


class Command(BaseCommand):
    """Set a lab's periods."""

    help = (
        "Set for how many days a lab keeps who its workers are, after their last work, and the entries of its audit. "
        "0 keeps them. A period that is not named stays as it is; a job erases what is older, every hour."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("lab", help="the lab's name")
        parser.add_argument("--worker-days", type=int, help="for who workers are")
        parser.add_argument("--audit-days", type=int, help="for entries of the audit, 30 at least")
        parser.add_argument("--dry-run", action="store_true", help="say what would go first, and change nothing")
        parser.add_argument("--json", action="store_true", help="answer in JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Set them, and say how much is older."""
        lab = Lab.objects.filter(name=options["lab"]).first()
        if lab is None:
            raise CommandError(f"There is no lab “{options['lab']}”.")
        retention = Retention.objects.filter(lab=lab).first() or Retention(lab=lab)
        for field in ("worker_days", "audit_days"):
            if options[field] is not None:
                setattr(retention, field, options[field] or None)
        try:
            retention.full_clean()
        except ValidationError as error:
            wrong = "; ".join(f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
            raise CommandError(f"{wrong} Nothing was changed.") from error
        at, workers, entries = timezone.now(), 0, 0
        if retention.worker_days:
            workers = retention_due(lab=lab, days=retention.worker_days, at=at).count()
        if retention.audit_days:
            before = at - timedelta(days=retention.audit_days)
            entries = AuditEntry.objects.filter(lab_id=lab.pk, at__lt=before).count()
        if not options["dry_run"]:
            retention_set(lab=lab, worker_days=retention.worker_days, audit_days=retention.audit_days)
        periods = {"worker_days": retention.worker_days, "audit_days": retention.audit_days}
        if options["json"]:
            said = {"lab": lab.name, "dry_run": options["dry_run"], "due": {"workers": workers, "entries": entries}}
            self.stdout.write(json.dumps(said | periods, indent=1))
            return
        for what, days in (("Who workers are", retention.worker_days), ("The audit", retention.audit_days)):
            self.stdout.write(f"{what}: {f'{days:,} days' if days else 'kept'}.")
        self.stdout.write(
            f"Due to go: {workers:,} workers (with unsettled or running work, they wait); {entries:,} entries."
        )

"""manage.py set_periods: how long a lab keeps personal data and its audit."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.models import AuditEntry, Lab
from judgments.erasing import retention_due, retention_set
from judgments.models import Retention


class Command(SiteCommand):
    help = (
        "Set how many days a lab keeps its workers' identities after their last work, and the entries of its audit. "
        "0 keeps them for good. A period that is not named stays as it is; a job erases what is older, every hour."
    )

    writes_rows = True

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("lab", help="the lab's name")
        parser.add_argument("--worker-days", type=int, help="days that identities of workers are kept")
        parser.add_argument("--audit-days", type=int, help="days that entries of the audit are kept, at least 30")

    def work(self, **options: Any) -> dict[str, Any]:
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
        retention_set(lab=lab, worker_days=retention.worker_days, audit_days=retention.audit_days)
        for what, days in (("Workers", retention.worker_days), ("The audit", retention.audit_days)):
            self.say(f"{what}: {f'{days:,} days' if days else 'kept'}.")
        self.say(f"Due to go: {workers:,} workers (with unsettled or running work, they wait); {entries:,} entries.")
        return {
            "lab": lab.name,
            "worker_days": retention.worker_days,
            "audit_days": retention.audit_days,
            "due": {"workers": workers, "entries": entries},
        }

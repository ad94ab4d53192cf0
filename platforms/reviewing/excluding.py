"""Workers who get no more: barred ones get the exclusion qualification at the platform."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from platforms.models import Operation, Publication, Submission
from platforms.planning import operation_plan
from tasks.models import Worker

Kind = Operation.Kind


@transaction.atomic
def workers_exclude(*, publication: Publication, at: datetime) -> int:
    """Plan that barred workers get the exclusion qualification, silently, and those welcomed again lose it.

    How many calls were planned now.
    """
    if not publication.exclusion_id:
        return 0
    planned = 0
    platform = publication.platform
    workers = Worker.objects.filter(lab=publication.campaign.lab, platform=platform).exclude(external_id="")
    excluded = Operation.objects.filter(publication=publication, kind=Kind.EXCLUDE)
    # Anybody can type ids into a frame's address: only who has submitted at the platform is known to be that worker.
    matched = Submission.objects.filter(assignment__isnull=False).values("assignment__worker")
    once_each = {"worker": OuterRef("pk"), "barred_at": OuterRef("barred_at")}
    barred = workers.filter(barred_at__isnull=False, pk__in=matched).exclude(Exists(excluded.filter(**once_each)))
    for worker in barred:
        assert worker.barred_at is not None
        operation_plan(publication=publication, kind=Kind.EXCLUDE, worker=worker, barred_at=worker.barred_at, at=at)
        planned += 1
    readmitted = Operation.objects.filter(
        publication=publication, kind=Kind.READMIT, worker=OuterRef("worker"), barred_at=OuterRef("barred_at")
    )
    for operation in excluded.filter(worker__barred_at=None).exclude(Exists(readmitted)).select_related("worker"):
        assert operation.worker is not None and operation.barred_at is not None
        operation_plan(
            publication=publication, kind=Kind.READMIT, worker=operation.worker, barred_at=operation.barred_at, at=at
        )
        planned += 1
    return planned

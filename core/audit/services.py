"""Entries about what changes no recorded row, and the removal of those that have become old."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from core.audit.origin import origin
from core.audit.tables import NOTES
from core.logs import REQUEST_ID
from core.models import AuditEntry

BATCH = 5_000  # entries that one transaction removes


def entry_note(
    *,
    subject: str,
    action: str,
    key: object = "",
    thing: str = "",
    lab_id: int | None = None,
    campaign_id: int | None = None,
    campaign: str = "",
    worker_id: int | None = None,
    actor: int | None = None,
    **facts: Any,
) -> AuditEntry:
    """Note that somebody did something, with facts that are stored as they are. `actor` is another than who acts."""
    assert subject in NOTES, subject
    acting = origin()
    if actor is not None:
        acting = acting._replace(kind=AuditEntry.ActorKind.PERSON, person=actor)
    request_id = REQUEST_ID.get()
    return AuditEntry.objects.create(
        at=timezone.now(),
        subject=subject,
        key=str(key),
        thing=thing[:200],
        action=action,
        changes=facts,
        lab_id=lab_id,
        campaign_id=campaign_id,
        campaign=campaign,
        worker_id=worker_id,
        actor_kind=acting.kind,
        actor_id=acting.person,
        actor_name=acting.name,
        address=acting.address,
        request_id="" if request_id == "-" else request_id,
        why=acting.why,
    )


def entries_expire(*, at: datetime, days: int, lab_id: int | None = None) -> int:
    """Remove the entries (a lab's, or all) that are older than that: of all, months that are over as a whole, and the
    rest a batch at a time. How many.
    """
    removed, batch = 0, BATCH
    if lab_id is None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT core_audit_drop(%s)", [at - timedelta(days=days)])
            removed = int(cursor.fetchone()[0])
    while batch == BATCH:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT core_audit_expire(%s, %s, %s)", [at - timedelta(days=days), BATCH, lab_id])
            batch = int(cursor.fetchone()[0])
        removed += batch
    return removed


def months_prepare(*, at: datetime) -> int:
    """Make the partitions of this month and the next two, where they are not there yet. How many."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT core_audit_prepare(%s)", [at])
        return int(cursor.fetchone()[0])


def worker_forget(*, worker_id: int) -> int:
    """Empty what entries say about a worker; that something was done, when and by whom stays. How many changed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT core_audit_forget(%s)", [worker_id])
        return int(cursor.fetchone()[0])


def person_forget(*, person_id: int) -> None:
    """Empty the networks that somebody acted from, and the names of their tokens; what they did and when stays."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT core_audit_forget_person(%s)", [person_id])

"""The removal of entries that have become old, of what they say about people, and the months that they are kept by."""

from datetime import datetime, timedelta

from django.db import connection, transaction

BATCH = 5_000  # entries that one transaction removes


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

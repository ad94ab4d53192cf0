"""Doing something once at a time, on however many machines."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection


@contextmanager
def alone(what: str) -> Iterator[bool]:
    """Whether the lock was free; it is then held until the block ends, or the process is killed."""
    if settings.DATABASE_POOLER:  # a session's lock would stay with the pooler; two who do the same get the same
        yield True
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [what])
        (got,) = cursor.fetchone()
    try:
        yield got
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [what])

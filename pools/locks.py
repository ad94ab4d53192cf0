"""Doing something once at a time, on however many machines."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def alone(what: str) -> Iterator[bool]:
    """Whether nobody else does this now; until the block ends, nobody else will. Whoever is killed lets go."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [what])
        (got,) = cursor.fetchone()
    try:
        yield got
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [what])

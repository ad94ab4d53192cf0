"""Doing something once at a time, on however many machines."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from core.models import Lease


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


TAKE = """
    INSERT INTO core_lease (what, holder, ends_at)
    VALUES (%(what)s, %(holder)s, now() + %(seconds)s * interval '1 second')
    ON CONFLICT (what) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
    WHERE core_lease.holder = excluded.holder OR core_lease.ends_at < now()
"""


def lease_take(*, what: str, holder: str, seconds: float) -> bool:
    """Take a lease for so long, or renew it. Whether it is this holder's now; another's has to run out first."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"what": what, "holder": holder, "seconds": seconds})
        return bool(cursor.rowcount)


def lease_end(*, what: str, holder: str) -> None:
    """Let others take it at once, if it is this holder's."""
    Lease.objects.filter(what=what, holder=holder).delete()

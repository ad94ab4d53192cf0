"""A copy of the database for long reads, so that they take nothing from the pages and jobs that write.

It is read only once it has what was committed before, so no read is older than one of the primary would be. Pages read
the primary, as do all who write what they have read: waiting for the copy would cost them more than the reading.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

LONGEST_LAG = 5.0  # seconds, after which the primary is read

log = logging.getLogger(__name__)


@contextmanager
def on_replica() -> Iterator[None]:
    """Have all queries of this thread go to DATABASE_REPLICA_URL until the block ends, where that can be done.

    They go to the primary where no replica is set, can be reached, or catches up in time, and in a transaction.
    """
    primary = connections[DEFAULT_DB_ALIAS]
    if not settings.DATABASE_REPLICA or primary.in_atomic_block:
        yield
        return
    replica = primary.copy()
    replica.settings_dict |= settings.DATABASE_REPLICA
    try:
        if _catches_up(replica, primary):
            connections[DEFAULT_DB_ALIAS] = replica
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
        replica.close()


def _catches_up(replica: BaseDatabaseWrapper, primary: BaseDatabaseWrapper) -> bool:
    """Wait until the replica has what the primary has now."""
    with primary.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()")
        (written,) = cursor.fetchone()
    ends = time.monotonic() + LONGEST_LAG
    try:
        with replica.cursor() as cursor:
            while time.monotonic() < ends:
                cursor.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [written])
                (has_it,) = cursor.fetchone()
                if has_it is None:
                    log.warning("DATABASE_REPLICA_URL is no replica: the primary is read.")
                    return False
                if has_it:
                    return True
                time.sleep(0.05)
        log.warning("The replica is more than %.0f seconds behind: the primary is read.", LONGEST_LAG)
    except Error as error:
        log.warning("The replica does not answer, so the primary is read: %s", error)
    return False

"""Two at once: what others do waits for a transaction that is not committed yet."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection, transaction

T = TypeVar("T")
# A transaction is told the same of other connections every time that it asks, unless it forgets what it was told.
WAITING = """
    SELECT pg_stat_clear_snapshot();
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@contextmanager
def beside(*acts: Callable[[], T]) -> Iterator[list[Future[T]]]:
    """Do something in a transaction, and before it is committed let others act, in connections of their own: it is
    committed once all of them wait for a lock, as they must. Their outcomes come in the same order.
    """
    others: list[Future[T]] = []
    with ThreadPoolExecutor(len(acts)) as threads, transaction.atomic(), connection.cursor() as cursor:
        yield others
        others += [threads.submit(_act_elsewhere, act) for act in acts]
        waiting = 0
        while waiting < len(others) and not any(other.done() for other in others):
            cursor.execute(WAITING)
            (waiting,) = cursor.fetchone()
        assert waiting == len(others), "one did not wait"


def _act_elsewhere(act: Callable[[], T]) -> T:
    try:
        return act()
    finally:
        connection.close()

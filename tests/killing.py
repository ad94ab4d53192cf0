"""Processes of the site that are killed (SIGKILL) when they are about to write to a table of a test's database."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

from django.conf import settings
from django.db import connection, connections

from tests.conftest import database_url


def started(act: Callable[[], object]) -> BaseProcess:
    """A process of the site's that does something, on this test's database and files: a copy of this one."""
    process = multiprocessing.get_context("fork").Process(target=_do, args=[act])
    process.start()
    return process


def _do(act: Callable[[], object]) -> None:
    for own in connections.all(initialized_only=True):
        own.connection = None  # which is the test's, and stays open
    os.environ.update(DATABASE_URL=database_url(), DEVELOPMENT="1", MEDIA_ROOT=str(settings.MEDIA_ROOT))
    act()


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that happens in another process."""
    ends = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < ends, what
        time.sleep(0.02)


def is_held_up(table: str) -> bool:
    """Whether somebody waits for a lock on a table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE relation = %s::regclass AND NOT granted", [table])
        return cursor.fetchone() is not None


@contextmanager
def killed_at(table: str, act: Callable[[], object]) -> Iterator[None]:
    """Have another process do something, and kill it when it is about to write to a table."""
    other = connection.copy()
    other.set_autocommit(False)
    worker = None
    try:
        with other.cursor() as cursor:
            cursor.execute(f'LOCK TABLE "{table}" IN SHARE MODE')
        worker = started(act)
        until(lambda: is_held_up(table), f"the process writes to {table}")
        worker.kill()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        yield
    finally:
        other.rollback()
        other.close()
        if worker is not None and worker.is_alive():
            worker.kill()
            worker.join()
    until(lambda: not is_held_up(table), "its connection ends")

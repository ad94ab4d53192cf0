"""Processes of the site that are killed (SIGKILL) when they are about to write to a table of a test's database."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from tests.conftest import REPOSITORY, database_url

SETTINGS = "import django; django.setup(); from django.utils import timezone as clock; "


def started(code: str) -> subprocess.Popen[bytes]:
    """A process of the site's that runs some code, on this test's database and files."""
    here = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DEVELOPMENT": "1",
        "DATABASE_URL": database_url(),
        "MEDIA_ROOT": settings.MEDIA_ROOT,
    }
    return subprocess.Popen([sys.executable, "-c", SETTINGS + code], cwd=REPOSITORY, env=os.environ | here)


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
def killed_at(table: str, code: str) -> Iterator[None]:
    """Run code in another process, and kill that when it is about to write to a table."""
    other = connection.copy()
    other.set_autocommit(False)
    worker = None
    try:
        with other.cursor() as cursor:
            cursor.execute(f'LOCK TABLE "{table}" IN SHARE MODE')
        worker = started(code)
        until(lambda: is_held_up(table), f"the process writes to {table}")
        worker.send_signal(signal.SIGKILL)
        assert worker.wait() == -signal.SIGKILL
        yield
    finally:
        other.rollback()
        other.close()
        if worker is not None and worker.poll() is None:
            worker.kill()
            worker.wait()
    until(lambda: not is_held_up(table), "its connection ends")

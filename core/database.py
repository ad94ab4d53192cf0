"""Connections to PostgreSQL that wait for an answer for a bounded time, whatever has become of the server.

Time limits for statements are kept by the server, and a server that hangs keeps nothing. So a thread watches over what
is being waited for, and cuts the connection of a caller that has waited too long: it gets an OperationalError, as it
would from a server that was killed.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from psycopg2 import extensions

CHECK_SECONDS = 5.0  # for `SELECT 1`, with which Django finds out whether a connection still works
GRACE_SECONDS = 5.0  # for the server to cancel a statement that has reached its limit
LOCK_SHARE, IDLE_FACTOR = 1 / 3, 4


def connection_options(statement_seconds: float, connect_seconds: int) -> dict[str, Any]:
    """Keyword arguments for psycopg2.connect: how long connections, statements and locks are waited for.

    A statement may wait for a lock for a third of its time, and a transaction may rest between two statements for four
    times as long. With 0 seconds for statements, connecting alone is bounded.
    """
    options: dict[str, Any] = {
        "connect_timeout": connect_seconds,
        # A machine that is gone without a word is noticed in half a minute.
        **{"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000},
    }
    if statement_seconds:
        limits = {
            "statement_timeout": statement_seconds,
            "lock_timeout": statement_seconds * LOCK_SHARE,
            "idle_in_transaction_session_timeout": statement_seconds * IDLE_FACTOR,
        }
        options["options"] = " ".join(f"-c {name}={seconds * 1000:.0f}" for name, seconds in limits.items())
        options["connection_factory"] = type(
            "BoundedConnection", (BoundedConnection,), {"seconds": statement_seconds + GRACE_SECONDS}
        )
    return options


class BoundedConnection(extensions.connection):
    """A connection whose every wait for the server ends after `seconds`, if need be with the connection."""

    seconds = 0.0

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        """A cursor whose waits are bounded too."""
        options.setdefault("cursor_factory", BoundedCursor)
        return super().cursor(*arguments, **options)

    def commit(self) -> None:
        with _watch.bounded(self, self.seconds):
            super().commit()

    def rollback(self) -> None:
        """Roll back."""
        with _watch.bounded(self, self.seconds):
            super().rollback()


class BoundedCursor(extensions.cursor):
    connection: BoundedConnection

    def execute(self, query: Any, *arguments: Any, **options: Any) -> None:
        """Send a statement and wait for its result."""
        with self._bounded(CHECK_SECONDS if query == "SELECT 1" else None):
            super().execute(query, *arguments, **options)

    def executemany(self, *arguments: Any, **options: Any) -> None:
        """Send a statement for each of many rows."""
        with self._bounded():
            super().executemany(*arguments, **options)

    def copy_expert(self, *arguments: Any, **options: Any) -> None:
        """Send or receive many rows."""
        with self._bounded():
            super().copy_expert(*arguments, **options)

    def fetchone(self) -> Any:
        """The next row."""
        if not self.name:  # the rows are here already
            return super().fetchone()
        with self._bounded():
            return super().fetchone()

    def fetchmany(self, *arguments: Any, **options: Any) -> Any:
        """The next rows, from the server if the cursor is there."""
        if not self.name:
            return super().fetchmany(*arguments, **options)
        with self._bounded():
            return super().fetchmany(*arguments, **options)

    def fetchall(self) -> Any:
        """All rows that are left."""
        if not self.name:  # the rows are here already
            return super().fetchall()
        with self._bounded():
            return super().fetchall()

    def _bounded(self, seconds: float | None = None) -> contextlib.AbstractContextManager[None]:
        return _watch.bounded(self.connection, min(seconds or self.connection.seconds, self.connection.seconds))


class _Watch:
    """The callers in this process that wait for a server, and until when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waits: dict[int, tuple[float, extensions.connection]] = {}
        self._is_watching = False

    @contextlib.contextmanager
    def bounded(self, connection: extensions.connection, seconds: float) -> Iterator[None]:
        """Cut the connection if the block takes longer."""
        key = id(connection)
        with self._lock:
            if not self._is_watching:
                self._is_watching = True
                threading.Thread(target=self._cut_what_is_late, name="database deadlines", daemon=True).start()
            outer = self._waits.get(key)
            self._waits[key] = (time.monotonic() + seconds, connection)
        try:
            yield
        finally:
            with self._lock:
                self._waits.pop(key, None)
                if outer is not None:
                    self._waits[key] = outer

    def _cut_what_is_late(self) -> None:
        while True:
            time.sleep(0.5)
            now = time.monotonic()
            with self._lock:
                for key, (deadline, connection) in list(self._waits.items()):
                    if now > deadline:
                        del self._waits[key]
                        _cut(connection)


def _cut(connection: extensions.connection) -> None:
    """End both directions of a connection that another thread waits on, which wakes that thread up."""
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


_watch = _Watch()


def _begin_anew() -> None:
    """In a forked process: the lock of the watch may have been held, and its thread is not there."""
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_begin_anew)

"""`migrate`, while people work: a migration that waits for a lock lets go soon, and is tried again.

A table that a migration waits for is closed to everybody who comes after it, and one that holds two tables may wait for
somebody who waits for the other. Each time it waits longer, which a busy table needs. The limit is a transaction's,
since a pooler may give each another connection.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from psycopg2 import errors

LOCK_SECONDS = 0.5  # less than PostgreSQL waits before it looks for a deadlock, and ends somebody's work
MOST_LOCK_SECONDS = 8.0
PAUSE_SECONDS = 2.0
GIVE_UP_SECONDS = 600.0


class Command(migrate.Command):
    """Django's own, patient: one migration after another is applied when nobody holds its tables."""

    def handle(self, *args: Any, **options: Any) -> None:
        ends = time.monotonic() + GIVE_UP_SECONDS
        connection = connections[options["database"]]
        connection.ensure_connection()  # others wrap statements once it is there, and the last wrapper goes first
        patience = LOCK_SECONDS
        while True:
            try:
                with connection.execute_wrapper(partial(wait_briefly, patience)):
                    super().handle(*args, **options)
                return
            except OperationalError as error:
                if not isinstance(error.__cause__, errors.LockNotAvailable | errors.DeadlockDetected):
                    raise
                if time.monotonic() > ends:
                    raise CommandError(
                        f"A migration waited {GIVE_UP_SECONDS / 60:.0f} minutes for a table that is in use ({error}). "
                        "Stop what uses it, and run the command again: it goes on where it stopped."
                    ) from error
                self.stdout.write("A table is in use: trying again.")
                patience = min(MOST_LOCK_SECONDS, 2 * patience)
                time.sleep(PAUSE_SECONDS)


def wait_briefly(
    seconds: float, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Run a statement. One of a transaction waits so many seconds for a lock."""
    connection = context["connection"]
    if connection.in_atomic_block:
        with connection.connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{seconds}s'")
    return execute(sql, params, many, context)

"""PostgreSQL for the simulated people: where it has no answer outside of a transaction, they ask again.

They look up there what stands on a page. What they do, they do over HTTP.
"""

import time
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper

PATIENCE_SECONDS = 120.0


class PatientCursor(CursorWrapper):
    """A cursor that finds itself another connection."""

    def execute(self, query: Any, parameters: Any = None) -> Any:
        """Run a statement, for up to two minutes."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return super().execute(query, parameters)
            except (InterfaceError, OperationalError):
                if self.db.in_atomic_block or time.monotonic() > ends:
                    raise
            self.db.close()
            self.db.ensure_connection()
            self.cursor = self.db.create_cursor()


class DatabaseWrapper(base.DatabaseWrapper):
    def make_cursor(self, cursor: Any) -> PatientCursor:
        return PatientCursor(cursor, self)

    def connect(self) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                super().connect()
                return
            except (InterfaceError, OperationalError):
                if time.monotonic() > ends:
                    raise
            time.sleep(0.2)

"""The clock, which starts the regular jobs. Any number may run, on as many hosts: one of them holds the lease.

Two might send for a moment, if one hangs after it has looked at its lease: a regular job may be sent twice.
"""

import logging
import secrets
import time
from typing import Any

from celery.beat import Scheduler
from django.db import Error, close_old_connections, connection

from core.locks import lease_end, lease_take

LEASE = "clock"
LEASE_SECONDS, RENEW_SECONDS = 30.0, 5.0

log = logging.getLogger(__name__)


class LeasedScheduler(Scheduler):
    """Celery's clock, which waits while another holds the lease. It keeps nothing in a file."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._name = secrets.token_hex(8)
        self._lease_ends = self._renew_at = 0.0  # by time.monotonic(); 0 without a lease
        super().__init__(*arguments, **options)

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send one job that is due, if this clock holds the lease. For how many seconds to sleep."""
        if time.monotonic() >= self._renew_at:
            self._renew()
        if time.monotonic() >= self._lease_ends:
            return RENEW_SECONDS
        return min(float(super().tick(*arguments, **options)), RENEW_SECONDS)

    def close(self) -> None:
        super().close()
        if self._lease_ends:  # another clock may take over at once
            self._lease_ends = 0.0
            try:
                close_old_connections()
                lease_end(what=LEASE, holder=self._name)
            except Error as error:
                log.warning("The clock's lease was not given back, and will run out: %s", error)

    def _renew(self) -> None:
        asked_at = time.monotonic()
        self._renew_at = asked_at + RENEW_SECONDS
        try:
            close_old_connections()
            is_ours = lease_take(what=LEASE, holder=self._name, seconds=LEASE_SECONDS)
        except Error as error:  # the lease is ours until it runs out
            log.warning("The clock's lease could not be renewed: %s", error)
            connection.close()
            return
        if is_ours and not self._lease_ends:
            log.info("This clock starts the regular jobs from now on.")
        elif self._lease_ends and not is_ours:
            log.warning("Another clock starts the regular jobs now.")
        self._lease_ends = asked_at + LEASE_SECONDS if is_ours else 0.0

"""When to try again what failed: later each time."""

from datetime import timedelta
from typing import NamedTuple


class Pauses(NamedTuple):
    """Twice as long after each failure, up to the longest."""

    first: timedelta
    longest: timedelta

    def after(self, failures: int) -> timedelta:
        """How long to wait after so many failures in a row."""
        return min(self.longest, self.first * (1 << min(max(failures - 1, 0), 20)))

"""How far something is that takes a while: told step by step, and shown by whoever looks on.

A job tells it to Redis. Its rows would not do, since it writes them in a transaction that nobody else sees into before
it ends. If Redis is away, nothing is shown, and nothing fails.
"""

import io
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, BinaryIO, Literal

from django.core.cache import cache

from core.errors import Refused

Unit = Literal["", "bytes", "rows"]

EVERY = 0.5  # seconds between two tellings of one step
KEPT = 24 * 3600  # seconds
SILENT = 60.0  # seconds after which whoever tells may be gone


class Cancelled(Refused):
    """Somebody has cancelled what was being done."""


@dataclass(frozen=True)
class Progress:
    """What is being done, how much of it is done, and when that was told, in seconds since 1970.

    `total` is 0 where nobody knows it.
    """

    step: str
    done: int = 0
    total: int = 0
    unit: Unit = ""
    at: float = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether nothing has been told for a minute: a long step, or the end of whoever was at it."""
        return time.time() - self.at > SILENT


class Report:
    """Tells how far something is: each new step, and then now and again how much of it is done."""

    def __init__(self, tell: Callable[[Progress], None], every: float = EVERY) -> None:
        self._tell = tell
        self._every = every
        self._step = ""
        self._last = float("-inf")

    def __call__(self, step: str, done: int = 0, total: int = 0, unit: Unit = "") -> None:
        """`done` of `total` bytes or rows of this step are done."""
        now = time.monotonic()
        if step == self._step and now - self._last < self._every:
            return
        self._step, self._last = step, now
        self._tell(Progress(step, done, total, unit, time.time()))


def silent() -> Report:
    """One that tells nobody."""
    return Report(lambda _progress: None)


def report_on(key: str) -> Report:
    """One that tells everybody who asks for the progress of `key`. Raises Cancelled once somebody has cancelled it."""

    def tell(progress: Progress) -> None:
        cache.set(_cached(key), astuple(progress), timeout=KEPT)
        if why := cache.get(_cancelled(key)):
            raise Cancelled(why)

    return Report(tell)


def cancel(key: str, why: str) -> None:
    """Have whatever `key` names end at its next telling."""
    cache.set(_cancelled(key), why, timeout=KEPT)


def progress_of(key: str) -> Progress | None:
    """What was told last of `key`; None if nothing was, or its end was."""
    values = cache.get(_cached(key))
    return None if values is None else Progress(*values)


def forget(key: str) -> None:
    """What `key` names has ended."""
    cache.delete(_cached(key))
    cache.delete(_cancelled(key))


def _cached(key: str) -> str:
    return f"progress of {key}"


def _cancelled(key: str) -> str:
    return f"{key} is cancelled"


class ReportedFile:
    """A binary file that tells how much of it has been read, in bytes, while it is read."""

    def __init__(self, file: BinaryIO, name: str, step: str, report: Report) -> None:
        self.name = name
        self._file = file
        self._step = step
        self._report = report
        self._done = self._size = 0
        if file.seekable():
            start = file.tell()
            file.seek(0, io.SEEK_END)
            self._size = file.tell()
            file.seek(start)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._done += len(data)
        self._report(self._step, self._done, self._size, "bytes")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._done = self._file.seek(offset, whence)
        return self._done

    def tell(self) -> int:
        return self._file.tell()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

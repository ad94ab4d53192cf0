"""Faults by command: what goes wrong with which requests, and how often."""

import random
import re
import threading
from collections import Counter
from typing import Any

KINDS = {
    "lost before": "the connection closes and nothing was done",
    "lost after": "it is done, and the connection closes without an answer",
    "too many": "429 with Retry-After, and nothing was done",
    "broken before": "a 5xx answer, and nothing was done",
    "broken after": "it is done, and a 5xx answer",
    "slow": "the answer comes late",
    "still active": "400, as if the submission were ACTIVE still",
}


class Fault:
    """One command. Counts down as it strikes."""

    def __init__(
        self, kind: str, *, method: str = "", path: str = "", body: str = "", times: int | None = 1, skip: int = 0,
        probability: float = 1.0, status: int = 503, seconds: float = 1.0, seed: int = 0,
    ) -> None:  # fmt: skip
        if kind not in KINDS:
            raise ValueError(f"There is no fault {kind!r}, only {', '.join(KINDS)}.")
        self.kind, self.method, self.path, self.body = kind, method, re.compile(path), re.compile(body)
        self.times, self.skip, self.probability = times, skip, probability
        self.status, self.seconds = status, seconds
        self.struck = 0
        self._random = random.Random(seed)

    def strikes(self, method: str, path: str, body: str) -> bool:
        """Whether it strikes this request."""
        if self.times is not None and self.struck >= self.times:
            return False
        if (self.method and method != self.method) or not self.path.search(path) or not self.body.search(body):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self._random.random() >= self.probability:
            return False
        self.struck += 1
        return True


class Faults:
    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, **values: Any) -> None:
        with self._lock:
            self._faults.append(Fault(**values))

    def clear(self) -> int:
        """Switch all off; how often they struck."""
        with self._lock:
            struck, self._faults = sum(self.struck().values()), []
        return struck

    def struck(self) -> dict[str, int]:
        """How often those that are on have struck, by kind."""
        counts: Counter[str] = Counter()
        for fault in self._faults:
            counts[fault.kind] += fault.struck
        return dict(counts)

    def of(self, method: str, path: str, body: str) -> Fault | None:
        """The first that strikes a request."""
        with self._lock:
            return next((fault for fault in self._faults if fault.strikes(method, path, body)), None)

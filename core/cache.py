"""Redis as a cache and counter that nobody waits for long: after one caller finds it silent, the others skip it."""

import time
from typing import Any

import redis

PAUSE_SECONDS = 2.0


class PausingRedis(redis.Redis):
    """A client that, after Redis gave no answer, does not ask again for two seconds. It then raises ConnectionError."""

    _silent_until = 0.0  # of all clients of this process

    def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Send a command and give its answer. Raises ConnectionError or TimeoutError."""
        if time.monotonic() < PausingRedis._silent_until:
            raise redis.ConnectionError("Redis gave no answer a moment ago.")
        try:
            return super().execute_command(*arguments, **options)  # type: ignore[no-untyped-call]
        except (redis.ConnectionError, redis.TimeoutError):
            PausingRedis._silent_until = time.monotonic() + PAUSE_SECONDS
            raise

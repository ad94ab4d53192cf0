"""Whether this container does its work: exit code 0 or 1. `web` (the default) asks /healthz; `beat`, if it ticks."""

import http.client
import os
import sys
import time
from pathlib import Path

SCHEDULE = Path(os.environ.get("BEAT_SCHEDULE", "/tmp/schedule"))  # noqa: S108 - the one writable place
BEAT_SECONDS = 600  # the clock saves its schedule every three minutes


def web() -> bool:
    """Whether the web server answers, and reaches its database and Redis."""
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=8)
    connection.request("GET", "/healthz", headers={"Host": host, "X-Forwarded-Proto": "https"})
    return connection.getresponse().status == http.client.OK


def beat() -> bool:
    """Whether the clock still ticks."""
    return time.time() - max(path.stat().st_mtime for path in SCHEDULE.parent.glob("schedule*")) < BEAT_SECONDS


if __name__ == "__main__":
    try:
        healthy = {"web": web, "beat": beat}[sys.argv[1] if len(sys.argv) > 1 else "web"]()
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(error)
        healthy = False
    sys.exit(0 if healthy else 1)

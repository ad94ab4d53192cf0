"""Whether this container does its work: exit code 0 or 1. `beat` looks if it ticks.

`web` (the default) and `marketplace` ask /healthz.
"""

import http.client
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

SCHEDULE = Path(os.environ.get("BEAT_SCHEDULE", "/tmp/schedule"))  # noqa: S108 - the one writable place
BEAT_SECONDS = 600  # the clock saves its schedule every three minutes


def web() -> bool:
    """Whether the web server answers, and reaches its database and Redis."""
    return _healthy(os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip("."))


def marketplace() -> bool:
    """Whether the marketplace's web server answers, and reaches its database."""
    return _healthy(urlsplit(os.environ.get("MARKETPLACE_URL", "")).hostname or "localhost")


def _healthy(host: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=8)
    connection.request("GET", "/healthz", headers={"Host": host, "X-Forwarded-Proto": "https"})
    return connection.getresponse().status == http.client.OK


def beat() -> bool:
    """Whether the clock still ticks."""
    return time.time() - max(path.stat().st_mtime for path in SCHEDULE.parent.glob("schedule*")) < BEAT_SECONDS


if __name__ == "__main__":
    try:
        healthy = {"web": web, "beat": beat, "marketplace": marketplace}[sys.argv[1] if len(sys.argv) > 1 else "web"]()
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(error)
        healthy = False
    sys.exit(0 if healthy else 1)

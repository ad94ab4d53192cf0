"""Whether this container does its work: exit code 0, or 1 with a sentence that says what is wrong.

`web` (the default) and `marketplace` ask /healthz. `beat` and `worker` read what the clock and this worker have written
into Redis, and `jobs` everything about jobs, whichever container it runs in. `heartbeat` looks at the file that a
program touches after each round of its work. None of them loads the application.

A second word asks for less: `liveness` only for what starting the container again can mend, `readiness` only for what
keeps a web server from serving pages, which it does without Redis.
"""

import http.client
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HEARTBEAT = Path("/tmp/heartbeat")  # noqa: S108 - the one writable place
HEARTBEAT_SECONDS = 120.0
PATIENCE = 3.0  # seconds; /healthz itself answers within two
PURPOSES = ("", "liveness", "readiness")
purpose = ""


def web() -> list[str]:
    """What keeps the web server from answering, or from reaching its database and Redis."""
    return _ask(os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip("."))


def marketplace() -> list[str]:
    """What keeps the marketplace's web server from answering, or from reaching its database."""
    return _ask(urlsplit(os.environ.get("MARKETPLACE_URL", "")).hostname or "localhost")


def beat() -> list[str]:
    """What is wrong with the clock."""
    return _job_problems(lambda status: status.beat_problems(time.time()))


def worker() -> list[str]:
    """What is wrong with the worker in this container."""
    return _job_problems(lambda status: status.worker_problems(time.time(), socket.gethostname()))


def jobs() -> list[str]:
    """What keeps jobs from being done."""
    return _job_problems(lambda status: status.problems(time.time()))


def heartbeat() -> list[str]:
    """How long ago the program in this container ended a round of its work, if that is too long."""
    if not HEARTBEAT.exists():
        return ["No round of work has ended well yet."]
    silent = time.time() - HEARTBEAT.stat().st_mtime
    return (
        [f"The last round of work that ended well was {silent:.0f} seconds ago."] if silent > HEARTBEAT_SECONDS else []
    )


def _ask(host: str) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=PATIENCE)
    connection.request("GET", "/healthz", headers={"Host": host, "X-Forwarded-Proto": "https"})
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")[:500]
    enough = (
        answer.status == http.client.OK
        or purpose == "liveness"
        or (purpose == "readiness" and '"down": ["redis"]' in text)
    )
    return [] if enough else [f"/healthz answers {answer.status}: {text}"]


def _job_problems(problems: Callable[[Any], list[str]]) -> list[str]:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from redis import RedisError  # imported only where it is needed: the marketplace has no Redis

    from core.job_status import read_status, redis_at

    try:
        return problems(read_status(redis_at(os.environ["REDIS_URL"])))
    except RedisError:
        if purpose == "liveness":  # nothing is known, and a new worker would reach it no sooner
            return []
        raise


CHECKS = {check.__name__: check for check in (web, marketplace, beat, worker, jobs, heartbeat)}

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "web"
    purpose = sys.argv[2] if len(sys.argv) > 2 else ""
    if name not in CHECKS or purpose not in PURPOSES:
        sys.exit(f"There is no such check. There are: {', '.join(CHECKS)}; each with {' or '.join(PURPOSES[1:])}.")
    try:
        wrong = CHECKS[name]()
    except Exception as error:  # whatever it is, this container cannot be called healthy
        wrong = [f"{type(error).__name__}: {error}"]
    print("\n".join(wrong) or "healthy")
    sys.exit(1 if wrong else 0)

"""Loaded before anything of Django (`-p tests.services`): real PostgreSQL and Redis of the tests' own.

Clients of AWS's libraries read the description of a service once in a process. Otherwise each test with an access key
of its own, hence a session of its own, would spend a tenth of a second on that. What is loaded once stays for good, so
the garbage collector passes it by, and comes less often: that saves a tenth of the time.
"""

import atexit
import gc
import os
import shutil
import tempfile
from contextlib import closing
from functools import cache

import botocore.session  # type: ignore[import-untyped]
import psycopg2

from local import embedded

botocore.session.create_loader = cache(botocore.session.create_loader)


def spare_the_disk() -> None:
    """Let PostgreSQL leave writing to the operating system: killed processes lose nothing by it, only a power cut does,
    after which these data are not wanted. Let it look at no table by itself: in the midst of a test, it would count
    none of the rows that nobody else sees, and then read thousands like one. And let the tests' role empty tables past
    their triggers.
    """
    address = os.environ["DATABASE_URL"].replace("bestknown@", "postgres@", 1)
    with closing(psycopg2.connect(address)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            for setting in ("fsync", "full_page_writes", "autovacuum"):
                cursor.execute(f"ALTER SYSTEM SET {setting} = off")
            cursor.execute("SELECT pg_reload_conf()")
            cursor.execute("GRANT SET ON PARAMETER session_replication_role TO bestknown")


def pytest_collection_finish() -> None:
    """Everything that the tests need is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


if "BESTKNOWN_TESTS_VAR" not in os.environ:
    folder = tempfile.mkdtemp(prefix="bestknown-tests-")
    os.environ["BESTKNOWN_TESTS_VAR"] = os.environ["BESTKNOWN_VAR"] = folder
    os.environ.setdefault("DEVELOPMENT", "1")
    os.environ.setdefault("REDIS_SECONDS", "15")  # a busy machine is no outage: without Redis, pages forget a little
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in the thread of the tests
    embedded.ensure()
    spare_the_disk()

    def clear_away(mine: int = os.getpid()) -> None:
        """Stop the servers and remove their data; forked children leave both alone."""
        if os.getpid() == mine:
            embedded.leave()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(clear_away)

worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if worker and "db=" not in os.environ["REDIS_URL"]:  # processes share the servers, and nothing in them
    os.environ["REDIS_URL"] += (
        "&" if "?" in os.environ["REDIS_URL"] else "?"
    ) + f"db={1 + int(worker.removeprefix('gw'))}"

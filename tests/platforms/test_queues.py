"""Computing never delays paying: the job workers that Compose starts, while what computes is as slow as can be."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg2
import pytest
import yaml
from django.conf import settings
from django.db import connection

from config.celery import app
from core.job_status import QUEUES, redis_at
from platforms import jobs as platform_jobs
from platforms.models import Payment, Publication
from results import jobs as result_jobs
from tests.conftest import REPOSITORY, database_url
from tests.marketplace.server import Worker
from tests.platforms.platforms import Clock, decide, work
from tests.tied import tied

COMPOSE = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
PATIENCE = 400.0  # seconds: a slow machine, with two workers that start


def wait_until(what: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < ends, "it took too long"
        time.sleep(0.1)


@contextmanager
def job_workers(log: Path) -> Iterator[None]:
    """The workers as Compose starts them, one process each."""
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "DEVELOPMENT": "1",
        "MARKETPLACE_URL": settings.MARKETPLACE_URL,
        "SITE_URL": settings.SITE_URL,
        "MEDIA_ROOT": str(settings.MEDIA_ROOT),
    }
    running = []
    with log.open("wb") as file:
        for name in ("worker", "compute"):
            _celery, *command = COMPOSE["services"][name]["command"]
            command[command.index("--concurrency") + 1] = "1"
            start = tied([sys.executable, "-m", "celery", *command, "--hostname", f"{name}@%h"])
            running.append(subprocess.Popen(start, cwd=REPOSITORY, env=environment, stdout=file, stderr=file))
        try:
            yield
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(PATIENCE)


@pytest.mark.timeout(400)
@pytest.mark.django_db(transaction=True)
def test_payments_go_out_while_the_compute_queue_is_busy_and_full(
    published: Publication, wanda: Worker, tmp_path: Path
) -> None:
    work(published, wanda)
    decide(published, Clock())
    owed = published.payments.exclude(state=Payment.State.PAID)
    assert owed.count() == 2
    redis = redis_at(settings.REDIS_URL)
    redis.delete(*QUEUES)

    with closing(psycopg2.connect(database_url().replace("postgres://", "postgresql://", 1))) as other:
        other.cursor().execute("LOCK TABLE results_result IN ACCESS EXCLUSIVE MODE")  # until the end of this block
        for _job in range(20):
            app.send_task(result_jobs.compute_results.name)

        def computes() -> bool:
            """A job that computes is at it, for as long as the lock is held; others wait for it."""
            with connection.cursor() as cursor:  # not the other's: within a transaction it sees the same each time
                cursor.execute(BLOCKED)
                (blocked,) = cursor.fetchone()
            return bool(blocked) and int(redis.llen("compute")) > 10  # type: ignore[arg-type]

        with job_workers(tmp_path / "jobs.log"):
            wait_until(computes)
            app.send_task(platform_jobs.publish.name)
            wait_until(lambda: not owed.exists())
            assert computes()
            other.rollback()
            redis.delete(*QUEUES)

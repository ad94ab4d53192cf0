"""Of several clocks one starts the regular jobs; when it dies, hangs or loses the database, another does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from config.celery import app
from config.clock import LEASE_SECONDS, LeasedScheduler
from core.locks import lease_end, lease_take
from core.models import Lease
from tests.conftest import REPOSITORY, database_url
from tests.killing import until
from tests.tied import tied


class Clock(LeasedScheduler):
    """A clock that counts what it would send."""

    sent = 0

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        self.sent += 1


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the clocks take for the time, `at`, while one job is always due."""
    at = SimpleNamespace(at=1000.0)
    monkeypatch.setattr("config.clock.close_old_connections", lambda: None)  # the test's own, in a transaction
    monkeypatch.setattr("config.clock.time", SimpleNamespace(monotonic=lambda: at.at))
    monkeypatch.setitem(app.conf, "beat_schedule", {"always": {"task": "core.jobs.send_mails", "schedule": 0.0}})
    return at


def let_time_pass() -> None:
    """No lease that somebody took is running any more."""
    Lease.objects.update(ends_at=timezone.now() - timedelta(seconds=1))


def test_a_lease_is_one_holders_until_it_ends_or_is_given_back(db: None) -> None:
    assert lease_take(what="clock", holder="anna", seconds=60)
    assert not lease_take(what="clock", holder="bert", seconds=60)
    assert lease_take(what="clock", holder="anna", seconds=60), "renewed"
    assert lease_take(what="another", holder="bert", seconds=60)
    let_time_pass()
    assert lease_take(what="clock", holder="bert", seconds=60)
    lease_end(what="clock", holder="anna")
    assert not lease_take(what="clock", holder="anna", seconds=60), "it was not hers to end"
    lease_end(what="clock", holder="bert")
    assert lease_take(what="clock", holder="anna", seconds=60)


def test_the_second_clock_sends_nothing_until_the_first_is_gone(db: None, seconds: SimpleNamespace) -> None:
    first, second = Clock(app), Clock(app)
    for clock in (first, second, first, second):
        clock.tick()
    assert (first.sent, second.sent) == (2, 0)

    let_time_pass()
    seconds.at += LEASE_SECONDS
    second.tick()
    first.tick()
    assert (first.sent, second.sent) == (2, 1), "the first has hung, and wakes up"

    second.close()
    seconds.at += LEASE_SECONDS
    first.tick()
    assert (first.sent, second.sent) == (3, 1)


def test_a_clock_without_the_database_stops_before_another_can_begin(
    db: None, seconds: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(app)
    clock.tick()

    def fail(**_named: object) -> bool:
        raise OperationalError("the server is gone")

    monkeypatch.setattr("config.clock.lease_take", fail)
    monkeypatch.setattr("config.clock.connection", SimpleNamespace(close=lambda: None))
    seconds.at += LEASE_SECONDS - 1
    clock.tick()
    assert clock.sent == 2, "its lease is still running"
    seconds.at += 1
    clock.tick()
    assert clock.sent == 2


@contextmanager
def running_clock(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "celery", "-A", "config.celery", "beat", "--pidfile=", "--loglevel", "INFO"]
    environment = os.environ | {"DATABASE_URL": database_url(), "REDIS_URL": settings.REDIS_URL}
    with log.open("wb") as file:
        process = subprocess.Popen(tied(command), cwd=REPOSITORY, env=environment, stderr=file)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


def test_when_one_hangs_another_takes_over_until_that_ends(transactional_db: None, tmp_path: Path) -> None:
    def holder() -> str:
        return str(Lease.objects.values_list("holder", flat=True).first() or "")

    with running_clock(tmp_path / "first") as first:
        until(holder, "the first clock runs")
        begun = holder()
        with running_clock(tmp_path / "second") as second:
            first.send_signal(signal.SIGSTOP)
            let_time_pass()
            until(lambda: holder() not in ("", begun), "the second takes over")
            first.send_signal(signal.SIGCONT)
            until(lambda: "Another clock" in (tmp_path / "first").read_text(), "the first notices")

            second.terminate()
            until(lambda: holder() == begun, "the first goes on, as the second has ended well")

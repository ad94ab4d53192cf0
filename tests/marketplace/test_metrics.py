"""What Prometheus is told by a marketplace, and that nobody outside is told anything."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.config.test_metrics import Numbers, alerts, labels_of, numbers_in, reads_what_is_measured
from tests.marketplace.server import REPOSITORY, Marketplace

TOKEN = "a token for tests, long enough"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace of two processes that measures."""
    counts = tmp_path_factory.mktemp("counts")
    environment = {"MARKETPLACE_METRICS_TOKEN": TOKEN, "PROMETHEUS_MULTIPROC_DIR": str(counts)}
    running = Marketplace(tmp_path_factory.mktemp("measured"), workers=2, **environment)
    yield running
    running.stop()


def ask(marketplace: Marketplace, **headers: str) -> Any:
    return marketplace.visitor().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"} | headers)


def numbers(marketplace: Marketplace) -> Numbers:
    answer = ask(marketplace, Host="10.0.0.7:8000")
    assert answer.status_code == 200
    return numbers_in(answer.text)


def test_without_a_token_in_the_settings_there_is_no_such_address(marketplace: Marketplace) -> None:
    assert ask(marketplace).status_code == 404


def test_whoever_lacks_the_token_or_comes_through_a_proxy_reads_nothing(measured: Marketplace) -> None:
    assert ask(measured, Authorization="").status_code == ask(measured, Authorization=f"Bearer {TOKEN}x").status_code
    assert ask(measured, Authorization="").status_code == 401
    outside = ask(measured, **{"X-Forwarded-For": "203.0.113.9"})
    assert outside.status_code == 404 and "marketplace_" not in outside.text


def test_requests_and_what_is_late_are_counted_and_alerts_read_only_that(measured: Marketplace) -> None:
    login = 'marketplace_request_seconds_count{status="200",view="workers:login"}'
    before = numbers(measured).get(login, 0)
    for _again in range(20):
        assert measured.visitor().get("/login").status_code == 200
    requester = measured.requester()
    requester.hit(LifetimeInSeconds=60)
    measured.sql("UPDATE marketplace_hit SET expires_at = expires_at - interval '2 hours'")
    counted = numbers(measured)
    assert counted[login] - before == 20 and counted["marketplace_up"] == 1
    assert 6000 < counted['marketplace_late_seconds{work="expirations"}'] < 8000
    assert counted['marketplace_late_seconds{work="notifications"}'] == 0
    labels = labels_of(counted)
    assert set().union(*labels.values()) <= {"view", "status", "le", "work"}
    for text in alerts("marketplace"):
        reads_what_is_measured(text, labels)


def test_a_database_that_is_away_is_said(measured: Marketplace, tmp_path: Path) -> None:
    program = (
        "import django; django.setup(); from django.test import Client; "
        f"print(Client().get('/metrics', headers={{'Authorization': 'Bearer {TOKEN}'}}).text)"
    )
    away = measured.environment | {"MARKETPLACE_DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing"}
    away.pop("PROMETHEUS_MULTIPROC_DIR")
    answer = subprocess.run([sys.executable, "-c", program], env=away, cwd=REPOSITORY, capture_output=True, check=True)
    assert numbers_in(answer.stdout.decode()) == {"marketplace_up": 0}


def test_a_short_token_is_refused_at_the_start(measured: Marketplace) -> None:
    short = os.environ | measured.environment | {"MARKETPLACE_METRICS_TOKEN": "short"}
    program = [sys.executable, "-c", "import django; django.setup()"]
    answer = subprocess.run(program, env=short, cwd=REPOSITORY, capture_output=True, check=False)
    assert answer.returncode and b"less than 16 characters" in answer.stderr

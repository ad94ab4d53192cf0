"""No log holds what lets somebody act as a worker: the real logs of a running site, after everything that can fail."""

import http.client
import io
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from celery.utils.log import ColorFormatter
from django.conf import settings
from django.core import signing
from django.db import connection
from django.test import Client

from config.celery import app
from core.logs import REQUEST_ID, JsonLines, TokenFreeRecord, hide_tokens
from pools.models import Campaign
from tasks import links
from tasks.models import Worker
from tests import factories
from tests.conftest import REPOSITORY, RunningSite


@pytest.fixture
def tokens(campaign: Campaign, alice: Worker) -> dict[str, str]:
    """The secrets in a worker's addresses."""
    assignment = factories.take(alice, campaign)
    return {
        "assignment": links.assignment_token(assignment),
        "place": links.home_token(alice, campaign),
        "campaign": campaign.link,
    }


def ask(url: str, method: str, path: str, **headers: str) -> int:
    """One request, as it stands."""
    client = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    client.request(method, path, headers=headers)
    return client.getresponse().status


def send(url: str, line: str) -> None:
    """Something that is hardly HTTP."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=20) as wire:
        wire.sendall(f"{line}\r\nHost: localhost\r\n\r\n".encode())
        wire.recv(1000)


@pytest.mark.django_db(transaction=True)
def test_the_log_of_a_running_site_holds_no_token(site: RunningSite, tokens: dict[str, str]) -> None:
    addresses = [
        f"/j/{tokens['assignment']}/",
        f"/j/{quote(tokens['assignment'], safe='')}/1/",
        f"/w/{tokens['place']}/",
        f"/c/{tokens['campaign']}/",
    ]
    entry = f"/m/{tokens['campaign']}/1/?assignmentId=3SECRETASSIGNMENT&workerId=A1SECRETWORKER"
    statuses = set()
    for address in addresses:
        statuses.add(ask(site.url, "POST", address))  # no CSRF cookie
        statuses.add(ask(site.url, "GET", address, Host="evil.example.com"))  # DisallowedHost
        statuses.add(ask(site.url, "GET", f"/nowhere{address}"))  # 404
        statuses.add(ask(site.url, "GET", f"{address}no/such/page/"))
        send(site.url, f"GET {address} HTTP/9.9")  # gunicorn's own complaint
        send(site.url, f"GET {address} and more HTTP/1.1")
        statuses.add(ask(site.url, "GET", address, **{"Content-Length": "many"}))
    with connection.cursor() as cursor:
        for table in ("tasks_worker", "tasks_hit", "pools_campaign"):
            cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
    try:
        for address in [*addresses, entry]:
            statuses.add(ask(site.url, "GET", address))  # 500, with a traceback
    finally:
        with connection.cursor() as cursor:
            for table in ("tasks_worker", "tasks_hit", "pools_campaign"):
                cursor.execute(f"ALTER TABLE {table}_away RENAME TO {table}")

    assert {400, 403, 404, 500} <= statuses
    log = (site.process.log_folder / "web.log").read_text()
    assert "Internal Server Error: /j/…/" in log
    assert "Traceback" in log
    for secret in [*tokens.values(), "3SECRETASSIGNMENT", "A1SECRETWORKER"]:
        for part in (secret, quote(secret, safe=""), secret.rpartition(":")[2]):
            assert part not in log


@pytest.mark.parametrize("formatter", [logging.Formatter, ColorFormatter])
def test_whoever_formats_a_record_finds_no_token(
    formatter: Callable[..., logging.Formatter], tokens: dict[str, str]
) -> None:
    assert logging.getLogRecordFactory() is TokenFreeRecord
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("celery.app.trace")
    logger.addHandler(handler)
    try:
        try:
            raise RuntimeError(f"Reverse for 'item' with arguments ('{tokens['assignment']}', 7) not found")
        except RuntimeError:
            logger.exception("Task failed for %s", f"/j/{tokens['assignment']}/", stack_info=True)
    finally:
        logger.removeHandler(handler)
    assert "Traceback" in written.getvalue()
    for token in tokens.values():
        assert token not in written.getvalue()


@pytest.mark.parametrize("place", ["invited", "account/email/confirm", "shown"])
def test_links_for_people_are_not_logged_however_short_their_keys(place: str) -> None:
    token = signing.dumps(1)
    assert hide_tokens(f"Bad Request: /{place}/{token}/") == f"Bad Request: /{place}/…/"


@pytest.mark.parametrize(
    "harmless",
    [
        "Publication 3: The account is empty.",
        "2026-11-21 10:00:00,123 INFO celery.beat: Scheduler: Sending due task compute results",
        "redis://localhost:6379/0",
        "Task tasks.jobs.publish[4f6f2c1e-7d3d-4a50-9b6e-0e1cbb1a5f27] succeeded in 0.02s: 'calls made: 0'",
        "Not Found: /campaigns/7/results/",
    ],
)
def test_other_lines_stay_as_they_are(harmless: str) -> None:
    assert hide_tokens(harmless) == harmless


@pytest.mark.parametrize("worker", ["A1SECRETWORKER", "A2B3C4D5E6F7G8", "A3TESTWORKER9X"])
def test_no_line_tells_who_a_worker_is(worker: str) -> None:
    assert worker not in hide_tokens(f"An error occurred: worker {worker} has the qualification already ('{worker}').")


@contextmanager
def json_lines(name: str) -> Iterator[io.StringIO]:
    """What a logger writes meanwhile."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    logging.getLogger(name).addHandler(handler)
    try:
        yield written
    finally:
        logging.getLogger(name).removeHandler(handler)


@pytest.mark.django_db
def test_a_line_of_json_says_which_request_it_is_about(client: Client) -> None:
    foreign = {"Host": "evil.example.com", "X-Request-ID": "not-yours"}
    with json_lines("django.security.DisallowedHost") as written:
        request_ids = [client.get("/login/", headers=foreign).headers["X-Request-ID"] for _again in range(3)]
    records = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["request_id"] for line in records] == request_ids and len(set(request_ids)) == 3
    assert {line["level"] for line in records} == {"ERROR"}
    assert {line["logger"] for line in records} == {"django.security.DisallowedHost"}
    assert set(records[0]) == {"at", "level", "logger", "request_id", "message", "traceback"}


def test_a_traceback_stays_in_its_line_of_json(tokens: dict[str, str]) -> None:
    with json_lines("tests.json") as written:
        try:
            raise RuntimeError(f"no page '/j/{tokens['assignment']}/'")
        except RuntimeError:
            logging.getLogger("tests.json").exception('Said "/w/%s/"', tokens["place"])
    (line,) = written.getvalue().splitlines()
    assert json.loads(line)["message"] == 'Said "/w/…/"'
    assert json.loads(line)["traceback"].endswith("RuntimeError: no page '/j/…/'")


def failures_in(log: Path) -> list[dict[str, str]]:
    """The whole lines of a log that tell of a job called with wrong arguments."""
    lines = log.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if "TypeError" in line and line.endswith("\n")]


def test_a_job_is_logged_with_the_id_of_the_request_that_asked_for_it(tmp_path: Path) -> None:
    program = "from config.celery import app; app.worker_main(['worker', '--concurrency', '1', '--queues', 'compute'])"
    environment = {**os.environ, "REDIS_URL": settings.REDIS_URL, "LOG_FORMAT": "json"}
    log = tmp_path / "jobs.log"
    app.control.purge()  # what other tests have asked for
    with log.open("wb") as file:
        jobs = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=REPOSITORY, stderr=file)
        try:
            before = REQUEST_ID.set("asked-by-a-page")
            try:
                app.send_task("tasks.jobs.pack_waiting_campaigns", ["one argument too many"])
                REQUEST_ID.set("-")  # as in the clock, which answers no request
                by_clock = app.send_task("tasks.jobs.pack_waiting_campaigns", ["one argument too many"])
            finally:
                REQUEST_ID.reset(before)
            ends = time.monotonic() + 100
            while len(failures := failures_in(log)) < 2 and time.monotonic() < ends:
                time.sleep(0.2)
        finally:
            jobs.terminate()
            jobs.wait(timeout=60)
    assert [line["request_id"] for line in failures] == ["asked-by-a-page", by_clock.id]
    assert all(line["level"] == "ERROR" and "Traceback" in line["traceback"] for line in failures)

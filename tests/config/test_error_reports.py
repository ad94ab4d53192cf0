"""What leaves for a Sentry: places in the code, and no token, worker or passage."""

import gzip
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test import Client

from pools.models import Campaign
from tasks import links
from tasks.models import Worker
from tests import factories
from tests.conftest import REPOSITORY, running_site


class Sink:
    """A server that takes reports as Sentry does."""

    def __init__(self) -> None:
        self.received: list[str] = []
        sink = self

        class Take(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                sink.received.append(f"{self.path} {self.headers}\n{body.decode()}")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Take)
        self.dsn = f"http://public@127.0.0.1:{self.server.server_port}/1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reports(self) -> list[dict[str, Any]]:
        lines = [line for text in self.received for line in text.splitlines() if line.startswith('{"')]
        return [report for line in lines if "exception" in (report := json.loads(line))]


@pytest.fixture
def sink() -> Iterator[Sink]:
    sink = Sink()
    yield sink
    sink.server.shutdown()
    sink.server.server_close()


@pytest.mark.django_db(transaction=True)
def test_a_page_that_fails_is_reported_by_its_route_and_names_nobody(
    campaign: Campaign, alice: Worker, sink: Sink, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = links.assignment_token(factories.take(alice, campaign))
    monkeypatch.setenv("SENTRY_DSN", sink.dsn)
    with running_site(str(tmp_path)) as site:

        def ask(path: str, **headers: str) -> http.client.HTTPResponse:
            client = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=20)
            client.request("GET", path, headers=headers)
            return client.getresponse()

        policy = ask("/login/").headers["Content-Security-Policy"]
        ask("/login/", Host="evil.example.com")
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE tasks_assignment RENAME TO tasks_assignment_away")
        try:
            answer = ask(f"/j/{token}/1/?workerId=A1SECRETWORKER", Cookie="home-1=a-secret-cookie")
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE tasks_assignment_away RENAME TO tasks_assignment")
        assert answer.status == 500
        ends = time.monotonic() + 60
        while not sink.reports() and time.monotonic() < ends:
            time.sleep(0.1)
    (report,) = sink.reports()
    assert report["transaction"] == "/j/<str:token>/<int:position>/"
    assert report["tags"]["request_id"] == answer.headers["X-Request-ID"]
    assert report["logentry"]["message"] == "%s: %s"
    assert "ProgrammingError" in {error["type"] for error in report["exception"]["values"]}
    everything = "\n".join(sink.received)
    for secret in (token, token.rpartition(":")[2], "SECRET", "secret-cookie", campaign.link, "evil.example"):
        assert secret not in everything
    assert sorted(policy.split("; ")) == sorted(Client().get("/login/").headers["Content-Security-Policy"].split("; "))


PROGRAM = """
import logging, django
django.setup()
log = logging.getLogger("platforms.jobs")
passage, worker = "The SECRET passage", "A1SECRETWORKER"
def fail(passage):
    local = {"passage": passage}
    try:
        raise KeyError(passage)
    except KeyError as error:
        raise ValueError(f"{worker} read {local}") from error
try:
    fail(passage)
except ValueError:
    log.exception("Submission %s", worker, extra={"passage": passage})
    log.error(f"No placeholder for {passage}")
log.warning("Not an error: %s", passage)
try:
    raise django.db.OperationalError("the database is away")
except django.db.OperationalError:
    log.exception("Asked for nothing")
"""


def test_messages_variables_and_extras_stay_here(sink: Sink) -> None:
    environment = {**os.environ, "SENTRY_DSN": sink.dsn, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert "The SECRET passage" in done.stderr, "the log has it"
    failed, written = sink.reports()
    assert [error["type"] for error in failed["exception"]["values"]] == ["KeyError", "ValueError"]
    assert failed["logentry"] == {"message": "Submission %s"}
    assert failed["exception"]["values"][1]["stacktrace"]["frames"][-1]["function"] == "fail"
    assert written["logger"] == "platforms.jobs" and "logentry" not in written
    assert "SECRET" not in "\n".join(sink.received)


def test_without_an_address_nothing_of_sentry_is_loaded() -> None:
    program = "import sys, django; django.setup(); print({'sentry_sdk', 'prometheus_client'} & sys.modules.keys())"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

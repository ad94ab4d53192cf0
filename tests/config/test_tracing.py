"""What leaves as traces: a request and the job that it starts as one, and no token, worker or passage."""

import gzip
import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from config.celery import app
from core.models import User
from pools.models import Campaign
from tasks import links
from tasks.models import Worker
from tests import factories
from tests.conftest import REPOSITORY, database_url, running_site

SECRETS = "A1SECRETWORKER a-secret-cookie evil.example"


class Collector:
    """A server that takes spans as a collector does."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        collector = self

        class Take(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                collector.received.append(
                    gzip.decompress(content) if self.headers.get("Content-Encoding") == "gzip" else content
                )
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Take)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self) -> dict[str, Span]:
        """The newest span of each name."""
        requests = [ExportTraceServiceRequest.FromString(content) for content in list(self.received)]
        scopes = [
            scope for request in requests for resource in request.resource_spans for scope in resource.scope_spans
        ]
        return {span.name: span for scope in scopes for span in scope.spans}

    def wait_for(self, *names: str) -> dict[str, Span]:
        """All spans once these are among them."""
        ends = time.monotonic() + 120
        while not set(names) <= self.spans().keys():
            assert time.monotonic() < ends, sorted(self.spans())
            time.sleep(0.1)
        return self.spans()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


@pytest.mark.django_db(transaction=True)
def test_a_request_and_the_job_that_it_starts_are_one_trace_and_name_nobody(
    campaign: Campaign, rita: User, alice: Worker, collector: Collector, tmp_path: Path
) -> None:
    token = links.assignment_token(factories.take(alice, campaign))
    client = Client()
    client.force_login(rita)
    client.get(reverse("judgments:files", args=[campaign.pk]))
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    app.control.purge()  # what other tests have asked for
    program = "from config.celery import app; app.worker_main(['worker', '--concurrency', '1', '--queues', 'compute'])"
    environment = {
        **os.environ,
        "REDIS_URL": settings.REDIS_URL,
        "DATABASE_URL": database_url(),
        "MEDIA_ROOT": str(tmp_path),
    }
    jobs = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=REPOSITORY, stderr=subprocess.DEVNULL)
    try:
        with running_site(str(tmp_path)) as site:

            def ask(method: str, path: str, **headers: str) -> http.client.HTTPResponse:
                connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=20)
                connection.request(method, path, headers=headers)
                return connection.getresponse()

            posted = ask(
                "POST",
                reverse("judgments:make_exports", args=[campaign.pk]),
                Cookie="; ".join(f"{name}={value}" for name, value in cookies.items()) + "; home-1=a-secret-cookie",
                **{"X-CSRFToken": cookies[settings.CSRF_COOKIE_NAME], "baggage": "worker=A1SECRETWORKER"},
            )
            assert posted.status == 303
            page, job = "POST campaigns/<int:pk>/exports/", "judgments.jobs.make_exports"
            spans = collector.wait_for(page, "INSERT judgments_export", f"apply_async/{job}", f"run/{job}")
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE tasks_assignment RENAME TO tasks_assignment_away")
            try:
                assert ask("GET", f"/j/{token}/1/?workerId=A1SECRETWORKER").status == 500
            finally:
                with connection.cursor() as cursor:
                    cursor.execute("ALTER TABLE tasks_assignment_away RENAME TO tasks_assignment")
            ask("GET", "/login/", Host="evil.example.com")
            collector.wait_for("GET j/<str:token>/<int:position>/")
    finally:
        jobs.terminate()
        jobs.wait(timeout=60)
    request, publish, run = spans[page], spans[f"apply_async/{job}"], spans[f"run/{job}"]
    assert publish.trace_id == run.trace_id == request.trace_id
    assert (publish.parent_span_id, run.parent_span_id) == (request.span_id, publish.span_id)
    assert {attribute.key for attribute in request.attributes} == {
        "request_id",
        "http.method",
        "http.route",
        "http.status_code",
    }
    assert spans["INSERT judgments_export"].trace_id == request.trace_id
    everything = b"\n".join(collector.received).decode(errors="replace")
    for secret in (token, token.rpartition(":")[2], *SECRETS.split(), campaign.link, *cookies.values()):
        assert secret not in everything


def test_without_an_address_nothing_of_it_is_loaded() -> None:
    """Redis' client looks by itself whether there are metrics of OpenTelemetry; what traces is another part."""
    program = "import sys, django; django.setup(); print(*sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "config.apps" in loaded
    assert not loaded & {"config.tracing", "opentelemetry.exporter", "opentelemetry.instrumentation"}

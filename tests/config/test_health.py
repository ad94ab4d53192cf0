"""What load balancers, container checks and people are told of the installation's health."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import LazySettings, settings
from django.core.files.storage.handler import StorageHandler
from django.db import connections
from django.db.utils import ConnectionHandler
from django.test import Client

from config import health
from config.celery import app
from core import job_status
from core.models import User
from local.supervisor import Site
from tests.conftest import database_url
from tests.ports import free_port

REPOSITORY = Path(__file__).parents[2]
WRITTEN = (job_status.JOBS, job_status.WORKERS, job_status.SERVED, job_status.TOTALS, *job_status.QUEUES)
SCHEDULE = {"platforms.jobs.publish": ("publish HITs", 15.0), "platforms.jobs.reconcile": ("compare ledgers", 21_600.0)}


@pytest.fixture(autouse=True)
def clean_slate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known of any job, none waits that another test sent, and every question is asked anew."""
    monkeypatch.setattr(health, "FRESH", 0.0)
    redis = job_status.redis_at(settings.REDIS_URL)
    redis.delete(*WRITTEN)
    yield
    redis.delete(*WRITTEN)


def wrote(name: str, seconds_ago: float, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    """The clock, a worker or a job wrote something down a while ago."""
    now = time.time()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now - seconds_ago)
        getattr(job_status, f"write_{name}")(job_status.redis_at(settings.REDIS_URL), *arguments)


def problems() -> list[str]:
    return job_status.read_status(job_status.redis_at(settings.REDIS_URL)).problems(time.time())


def test_a_clock_has_time_after_a_long_stop_to_wait_for_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("beat", 86400, monkeypatch)
    wrote("beat_started", 86401, monkeypatch, SCHEDULE)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    assert any(problem.startswith("The clock (Celery Beat) last sent a job") for problem in problems())

    wrote("beat_started", 5, monkeypatch, SCHEDULE)
    assert problems() == []


def test_a_site_whose_jobs_are_done_is_healthy(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("beat_started", 3600, monkeypatch, SCHEDULE)
    wrote("beat", 5, monkeypatch)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    wrote("job", 10, monkeypatch, "platforms.jobs.publish")
    answer = Client().get("/healthz/all")
    assert answer.status_code == 200
    assert answer.json() == {
        "ok": True,
        "down": [],
        "parts": {
            "web": "answers",
            "database": "answers",
            "redis": "answers",
            "jobs": "are done; workers alive: 1, jobs waiting: 0",
            "storage": "answers",
        },
    }


def test_jobs_that_nobody_does_are_said_and_take_no_web_server_out_of_service(db: None) -> None:
    web, everything = Client().get("/healthz"), Client().get("/healthz/all")
    assert (web.status_code, web.json()["ok"], web.json()["down"]) == (200, True, [])
    assert (everything.status_code, everything.json()["ok"], everything.json()["down"]) == (503, False, ["jobs"])
    complaint = "The clock (Celery Beat) has not sent a job yet. No worker has reported yet."
    assert web.json()["parts"]["jobs"] == everything.json()["parts"]["jobs"] == complaint


def test_a_clock_that_stopped_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("beat_started", 7200, monkeypatch, SCHEDULE)
    wrote("beat", 3600, monkeypatch)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    wrote("job", 3590, monkeypatch, "platforms.jobs.publish")
    assert problems() == [
        "The clock (Celery Beat) last sent a job 1 hour ago.",
        "“publish HITs” last ended well 59 minutes ago; it is due every 15 seconds.",
    ]


def test_the_workplace_says_that_jobs_have_stopped(rita: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    assert "Background jobs are not running" not in client.get("/login/").content.decode()
    client.force_login(rita)
    assert "Background jobs are not running" not in client.get("/campaigns/", follow=True).content.decode(), (
        "they never ran here"
    )
    wrote("beat_started", 7200, monkeypatch, SCHEDULE)
    wrote("beat", 3600, monkeypatch)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    page = client.get("/campaigns/", follow=True).content.decode()
    assert "Background jobs are not running" in page and "The clock (Celery Beat) last sent a job 1 hour ago." in page


def test_a_worker_that_died_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("beat_started", 3600, monkeypatch, SCHEDULE)
    wrote("beat", 5, monkeypatch)
    wrote("worker", 300, monkeypatch, job_status.QUEUES)
    wrote("job", 300, monkeypatch, "platforms.jobs.publish")
    assert problems() == ["No worker is alive: the last one reported 5 minutes ago."]


def test_a_queue_from_which_no_worker_takes_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("beat_started", 3600, monkeypatch, SCHEDULE)
    wrote("beat", 5, monkeypatch)
    wrote("worker", 300, monkeypatch, ["compute"])
    wrote("worker", 5, monkeypatch, ["money", "default"])
    wrote("job", 5, monkeypatch, "platforms.jobs.publish")
    assert problems() == ["No worker takes jobs from the queue “compute”."]


def test_what_pays_shares_no_queue_with_what_computes() -> None:
    app.loader.import_default_modules()
    route = app.amqp.router.route
    queues = {name: route({}, name)["queue"].name for name in app.tasks if not name.startswith("celery.")}
    assert {name.rpartition(".")[2] for name, queue in queues.items() if queue == "money"} == {
        "publish", "sync", "check", "settle", "requeue", "offer",
    }  # fmt: skip
    assert queues["results.jobs.compute_results"] == queues["tasks.jobs.pack_waiting_campaigns"] == "compute"
    assert queues["platforms.jobs.reconcile"] == "default"
    assert (
        app.conf.task_soft_time_limit
        < app.conf.task_time_limit
        < app.conf.broker_transport_options["visibility_timeout"]
    )


def test_a_kind_of_job_that_always_fails_is_said_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("beat_started", 7200, monkeypatch, SCHEDULE)
    wrote("beat", 5, monkeypatch)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    wrote("job", 3600, monkeypatch, "platforms.jobs.publish")
    wrote("job", 10, monkeypatch, "platforms.jobs.publish", "ValueError: no such thing")
    assert problems() == [
        "“publish HITs” last ended well 1 hour ago; it is due every 15 seconds. "
        "It failed 10 seconds ago: ValueError: no such thing"
    ]


def test_a_job_that_is_due_seldom_is_not_missed_after_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote("job", 86_400, monkeypatch, "platforms.jobs.reconcile")
    wrote("beat_started", 60, monkeypatch, SCHEDULE)
    wrote("beat", 5, monkeypatch)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    assert problems() == []


def test_what_cannot_be_reached_is_named(db: None, settings: object) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"  # type: ignore[attr-defined]
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()["down"]) == (503, ["redis"])
    assert answer.json()["parts"]["redis"] == "cannot be reached (ConnectionError)"
    assert "nowhere" not in answer.content.decode(), "anybody may ask"


def test_storage_that_does_not_work_is_said_and_takes_no_web_server_out_of_service(
    db: None, settings: object, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("Not a folder.")
    settings.MEDIA_ROOT = str(tmp_path / "file" / "files")  # type: ignore[attr-defined]
    web, everything = Client().get("/healthz"), Client().get("/healthz/all")
    assert (web.status_code, web.json()["down"]) == (200, [])
    assert (everything.status_code, everything.json()["down"]) == (503, ["storage", "jobs"])
    assert everything.json()["parts"]["storage"] == "cannot be reached (NotADirectoryError: Not a directory)"
    assert str(tmp_path) not in everything.content.decode(), "anybody may ask"


@contextmanager
def silent_server() -> Iterator[int]:
    """A server that takes every connection and never says a word, as one that hangs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield int(listener.getsockname()[1])


@pytest.mark.parametrize("hung", ["database", "redis", "storage"])
def test_a_server_that_hangs_is_alone_in_being_down(
    db: None, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, hung: str
) -> None:
    parts = {"_DATABASE": "database", "REDIS": "redis", "_STORAGE": "storage"}
    for name, part in parts.items():
        fresh = health.Part(getattr(health, f"_ask_{part}"))
        monkeypatch.setattr(health, name, fresh)
        if part != hung:
            assert fresh.answer(fresh.ask(), 60)
    monkeypatch.setattr(health, "FRESH", 60.0)
    monkeypatch.setattr(health, "PATIENCE", 0.1)
    with silent_server() as silent:
        if hung == "database":
            address = connections.settings["default"] | {"HOST": "127.0.0.1", "PORT": silent, "TEST": {}}
            monkeypatch.setattr(health, "connection", ConnectionHandler({"default": address})["default"])
        elif hung == "redis":
            settings.REDIS_URL = f"redis://127.0.0.1:{silent}/0"
        else:
            key = {"access_key": "nobody", "secret_key": "nothing", "endpoint_url": f"http://127.0.0.1:{silent}"}
            bucket = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": key | {"bucket_name": "files"}}
            monkeypatch.setattr(health, "storages", StorageHandler({"default": bucket}))
        content = Client().get("/healthz/all").json()
    assert set(content["down"]) - {"jobs"} == {hung}
    answers = [part for part, words in content["parts"].items() if words == "answers"]
    assert sorted(answers) == sorted({"web", *parts.values()} - {hung})
    assert re.fullmatch(r"has not answered for \d seconds", content["parts"][hung])


def test_health_answers_within_two_seconds_while_every_server_hangs(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_server() as silent:
        monkeypatch.delenv("REDIS_SECONDS")
        for name, value in {
            "DATABASE_URL": f"postgres://nobody@127.0.0.1:{silent}/nothing",
            "REDIS_URL": f"redis://127.0.0.1:{silent}/0",
            "FILES_BUCKET": "files",
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{silent}",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
        }.items():
            monkeypatch.setenv(name, value)
        site = Site(free_port(), workers=1, with_jobs=False).start()
        try:
            for path, down in (("/healthz", {"database", "redis"}), ("/healthz/all", {"database", "redis", "storage"})):
                status, body = ask_within_two_seconds(site, path)
                content = json.loads(body)
                assert (status, set(content["down"]) - {"jobs"}) == (503, down)
                words = [content["parts"][name] for name in down]
                assert all("answered" in text or "be reached" in text for text in words)
        finally:
            site.stop()


def ask_within_two_seconds(site: Site, path: str) -> tuple[int, bytes]:
    """What a site answers once it is loaded: soon, at one of six times that it is asked."""
    ends, times = time.monotonic() + 60, list[float]()
    while True:
        begun = time.monotonic()
        try:
            answer = site._ask(site.port, path)
        except OSError:  # until the program is loaded, nobody answers
            assert begun < ends
            time.sleep(0.1)
            continue
        times.append(time.monotonic() - begun)
        if times[-1] < 2:
            return answer
        assert len(times) < 6, times
        time.sleep(health.FRESH + 0.1)  # again: the machine may do much else


def check(
    *words: str, script: Path = REPOSITORY / "docker" / "healthcheck.py", **variables: str
) -> subprocess.CompletedProcess[str]:
    """What a container's check says."""
    environment = {**os.environ, "REDIS_URL": settings.REDIS_URL, **variables}
    environment.pop("DATABASE_URL", None)  # it needs none
    command = [sys.executable, str(script), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")


def test_the_clock_the_worker_and_the_jobs_write_down_what_they_did(db: None) -> None:
    for name in ("beat", "worker", "jobs"):
        assert check(name).returncode == 1, "nothing runs yet"
    program = (
        "from config.celery import app; app.conf.beat_schedule = "
        "{'pack campaigns': {'task': 'tasks.jobs.pack_waiting_campaigns', 'schedule': 1.0}}; "
        "app.worker_main(['worker', '--beat', '--concurrency', '1'])"
    )
    environment = {**os.environ, "REDIS_URL": settings.REDIS_URL, "DATABASE_URL": database_url()}
    jobs = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=REPOSITORY, stderr=subprocess.PIPE)
    try:
        ends = time.monotonic() + 60
        ended = None
        while ended is None and time.monotonic() < ends:
            time.sleep(0.2)
            status = job_status.read_status(job_status.redis_at(settings.REDIS_URL))
            ended = next((kind.ended_at for kind in status.kinds), None)
        assert ended is not None and time.time() - ended < 60
        for name in ("beat", "worker", "jobs"):
            assert check(name).stdout == "healthy\n"
    finally:
        jobs.terminate()
        jobs.communicate(timeout=60)
    assert [kind.what for kind in status.kinds] == ["pack campaigns"]
    (total,) = status.totals
    assert (total.job, total.outcome) == ("tasks.jobs.pack_waiting_campaigns", "succeeded")
    assert total.ended >= 1 and 0 < total.seconds < 60


@pytest.mark.parametrize("name", ["beat", "worker"])
def test_starting_a_worker_or_the_clock_again_mends_no_redis(name: str) -> None:
    assert check(name, "liveness").returncode == 1, "it has reported nothing"
    away = f"redis://127.0.0.1:{free_port()}/0"
    assert check(name, "liveness", REDIS_URL=away).returncode == 0
    assert check(name, REDIS_URL=away).returncode == 1


class Answer(BaseHTTPRequestHandler):
    """A web server that gives the same answer to everything."""

    status, content = 200, b""

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.mark.parametrize(
    ("away", "status", "well"),
    [
        ("nothing", 200, {"", "readiness", "liveness"}),
        ("redis", 503, {"readiness", "liveness"}),
        ("database", 503, {"liveness"}),
    ],
)
def test_a_web_server_without_redis_is_ready_and_without_its_database_alive(
    db: None,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    away: str,
    status: int,
    well: set[str],
) -> None:
    if away == "redis":
        settings.REDIS_URL = "unix:///nowhere/redis.sock"
    elif away == "database":
        address = connections.settings["default"] | {"HOST": "127.0.0.1", "PORT": free_port(), "TEST": {}}
        monkeypatch.setattr(health, "connection", ConnectionHandler({"default": address})["default"])
    answer = Client().get("/healthz")
    assert answer.status_code == status
    handler = type("SameAnswer", (Answer,), {"status": answer.status_code, "content": answer.content})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        script = tmp_path / "healthcheck.py"
        script.write_text(
            (REPOSITORY / "docker" / "healthcheck.py").read_text().replace("8000", str(server.server_port))
        )
        purposes = {
            purpose for purpose in ("", "readiness", "liveness") if check("web", purpose, script=script).returncode == 0
        }
        server.shutdown()
    assert purposes == well
    assert check("web", "liveness", script=script).returncode == 1, "nobody answers"


def test_a_check_that_does_not_exist_is_refused() -> None:
    for words in (["moon"], ["web", "moon"]):
        refused = check(*words)
        assert refused.returncode == 1
        assert "There are: web, marketplace, beat, worker, jobs" in refused.stderr

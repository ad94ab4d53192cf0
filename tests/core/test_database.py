"""Nothing waits for ever: connections to a real PostgreSQL and Redis that are slow, locked, stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, TEMPLATE
from tests.databases import database_create

SETUP = """
import json, os, sys, time
from local import embedded
embedded.ensure()
import django
django.setup()
from django.db import Error, connection

def ask(statement):
    began = time.monotonic()
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            answer = cursor.fetchone()[0]
    except Error as error:
        answer = type(error).__name__ + ": " + str(error)
        connection.close()
    print(json.dumps([answer, time.monotonic() - began]), flush=True)
"""


def run(code: str, **environment: str) -> str:
    """What a program with the site's settings prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=os.environ | {"DEVELOPMENT": "1", "DJANGO_SETTINGS_MODULE": "config.settings"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LIMITS = """
from django.db import connection
with connection.cursor() as cursor:
    names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
    limits = []
    for name in names:
        cursor.execute(f"SHOW {name}")
        limits.append(cursor.fetchone()[0])
print(*limits)
"""


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("import config.wsgi", "1min 20s 4min"),
        ("import config.celery; config.celery.app.loader.import_default_modules()", "30min 10min 2h"),
        (f"import django; django.setup()\n{LIMITS}\nconnection.close()\nimport config.celery", "0 0 0\n0 0 0"),
    ],
)
def test_web_servers_wait_less_long_than_jobs_and_commands_as_long_as_they_need(entry: str, expected: str) -> None:
    assert run(f"{entry}\n{LIMITS}").strip() == expected


def test_the_marketplaces_web_servers_are_bounded_too() -> None:
    marketplace = {"DJANGO_SETTINGS_MODULE": "marketplace.settings"}
    marketplace["MARKETPLACE_DATABASE_URL"] = os.environ["DATABASE_URL"]
    assert run(f"import marketplace.wsgi\n{LIMITS}", **marketplace).strip() == "1min 20s 4min"
    assert run(f"import django; django.setup()\n{LIMITS}", **marketplace).strip() == "0 0 0"


def test_options_in_the_address_come_last_and_win() -> None:
    url = os.environ["DATABASE_URL"] + "&options=-c%20statement_timeout%3D7s"
    assert run(f"import config.wsgi\n{LIMITS}", DATABASE_URL=url).strip() == "7s 20s 4min"


def test_an_empty_name_of_the_folder_is_none_given() -> None:
    code = "from django.conf import settings; print(settings.VAR)"
    assert run(code, BESTKNOWN_VAR="", SECRET_KEY="x").strip() == str(REPOSITORY / "var")
    assert run(code, BESTKNOWN_VAR="elsewhere", SECRET_KEY="x").strip() == str(REPOSITORY / "elsewhere")


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts programs on servers of their own; lets those servers go on and ends the programs."""
    started: list[subprocess.Popen[str]] = []
    tmp_path.chmod(0o755)

    def _start(code: str, **environment: str) -> "subprocess.Popen[str]":
        inherited = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        variables = {"BESTKNOWN_VAR": str(tmp_path / "var"), "DEVELOPMENT": "1", "DATABASE_STATEMENT_SECONDS": "1"}
        variables["DJANGO_SETTINGS_MODULE"] = "config.settings"
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", code],
                cwd=REPOSITORY,
                env=inherited | variables | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield _start
    for pid in servers(tmp_path / "var"):
        os.kill(pid, signal.SIGCONT)
    for program in started:
        program.kill()
        program.communicate(timeout=30)


def servers(var: Path) -> list[int]:
    """The processes of PostgreSQL and Redis in this folder, PostgreSQL's children included."""
    pids = []
    for name in ("postgres", "redis"):
        with_number = var / "run" / name
        if with_number.exists() and with_number.read_text().strip():
            pid = int(with_number.read_text())
            listed = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
            pids += [pid, *(int(child) for children in listed for child in children)]
    return pids


def test_a_stopped_postgresql_is_given_up_in_bounded_time_and_used_again_when_it_goes_on(
    asking: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    program = asking(SETUP + "\nfor line in sys.stdin: ask(line)")
    assert program.stdin and program.stdout

    def ask(statement: str) -> tuple[str, float]:
        print(statement, file=program.stdin, flush=True)
        answer, seconds = json.loads(program.stdout.readline())  # type: ignore[union-attr]
        return str(answer), seconds

    assert ask("SELECT 2")[0] == "2"
    answer, seconds = ask("SELECT pg_sleep(30)")
    assert "statement timeout" in answer and seconds < 20

    assert ask("SELECT 3")[0] == "3"
    for pid in servers(tmp_path / "var"):
        os.kill(pid, signal.SIGSTOP)
    answer, seconds = ask("SELECT 4")  # on a connection that is open: the server keeps no time any more
    assert answer.startswith("OperationalError") and seconds < 25
    answer, seconds = ask("SELECT 5")  # a new connection
    assert answer.startswith("OperationalError") and seconds < 25

    for pid in servers(tmp_path / "var"):
        os.kill(pid, signal.SIGCONT)
    time.sleep(0.2)
    assert ask("SELECT 6")[0] == "6"


def test_a_stopped_redis_holds_up_a_log_in_for_a_moment_and_lets_it_pass(
    asking: Callable[..., "subprocess.Popen[str]"], tmp_path: Path, django_db_modify_db_settings: None
) -> None:
    code = """
from django.test import Client
from core.cache import PausingRedis
from django.core.cache import cache
cache.set("warm", 1)
print("ready", flush=True)
for _line in sys.stdin:
    began, silent = time.monotonic(), PausingRedis._silent_until
    answer = Client().post("/login/", {"username": "nobody", "password": "wrong"}, HTTP_HOST="localhost")
    gave_up = PausingRedis._silent_until != silent
    print(json.dumps([answer.status_code, time.monotonic() - began, gave_up]), flush=True)
"""
    migrated = database_create(f"asked_for_a_log_in_{os.getpid()}", TEMPLATE)
    limits = {"DATABASE_STATEMENT_SECONDS": "", "REDIS_SECONDS": "", "RATE_LIMITS": "1"}  # counting tries asks Redis
    program = asking(SETUP + code, DATABASE_URL=migrated, **limits)
    assert program.stdin and program.stdout
    assert program.stdout.readline() == "ready\n"

    def log_in() -> tuple[int, float, bool]:
        print(file=program.stdin, flush=True)
        status, seconds, gave_up = json.loads(program.stdout.readline())  # type: ignore[union-attr]
        return status, seconds, gave_up

    usual = max(log_in()[1] for _time in range(3))
    redis = int((tmp_path / "var" / "run" / "redis").read_text())
    os.kill(redis, signal.SIGSTOP)
    answers, ends = [log_in()], time.monotonic() + 60
    while not answers[-1][2]:  # who was slow to answer before is left alone for a while: then it is asked once
        assert time.monotonic() < ends, answers
        time.sleep(0.2)
        answers.append(log_in())
    answers += [log_in() for _time in range(2)]
    assert {status for status, _seconds, _gave_up in answers} == {200}
    took = [seconds for _status, seconds, _gave_up in answers]
    assert min(took) < usual + 2.5, "and not again for the same page"  # the machine may do much else
    os.kill(redis, signal.SIGCONT)

"""What befalls a running site on one machine: killed servers and keepers, its own death.

One site meets one fault after another, and must be whole again after each.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.ports import free_port


def hear_hang_ups() -> None:
    """Be as a terminal starts programs: these tests may run under nohup, whose programs are deaf to SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Running:
    """A program with its own folder and servers, and what it has said so far."""

    def __init__(self, var: Path, *command: str) -> None:
        self.var, self.port = var, free_port()
        ours = {
            "DATABASE_URL",
            "REDIS_URL",
            "HOST",
            "SITE_URL",
            "MARKETPLACE_PORT",
            "MARKETPLACE_URL",
            "PROLIFIC_API_URL",
        }
        inherited = {name: value for name, value in os.environ.items() if name not in ours}
        environment = {"DEVELOPMENT": "1", "BESTKNOWN_VAR": str(var), "PORT": str(self.port), "WORKERS": "1"}
        self.environment = (
            inherited | environment | {"MARKETPLACE_PORT": str(free_port()), "PROLIFIC_PORT": str(free_port())}
        )
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=REPOSITORY,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=hear_hang_ups,
        )
        self.said: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.append(line)

    def has_said(self, text: str) -> bool:
        return any(text in line for line in list(self.said))

    def programs(self) -> dict[str, int]:
        """The main processes of the parts, by the word in their command that tells them apart."""
        programs = {}
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
                    names = [name for name in ("gunicorn", "worker", "beat") if name in words]
                    if names and words[0] != "setpriv":
                        programs[names[0]] = child
        return programs

    def server(self, name: str) -> int:
        """The process number of PostgreSQL or Redis; 0 while it is being started."""
        return int((self.var / "run" / name).read_text().strip() or 0)

    def answer(self, path: str = "/healthz") -> tuple[int, str]:
        """Status and text of a page; 0 if there is no answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def is_well(self) -> bool:
        return self.answer()[0] == 200 and len(self.programs()) == 3

    def left(self) -> list[str]:
        """The living processes that have inherited this folder's name, or work in it."""
        processes = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
                environment = (process / "environ").read_bytes().split(b"\0")
                is_inside = (
                    (process / "cwd").readlink().is_relative_to(self.var)
                )  # PostgreSQL overwrites its environment
                if state not in "ZX" and (is_inside or f"BESTKNOWN_VAR={self.var}".encode() in environment):
                    processes.append(f"{process.name} {(process / 'cmdline').read_bytes().decode()[:80]}")
        return processes


def comes_true(condition: Callable[[], object], seconds: float = 240) -> bool:
    """Whether it becomes true. The time is for a machine that does much else; alone it takes a few seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that the servers' own account may enter."""
    folder = Path(tempfile.mkdtemp(prefix="bestknown-test-")).resolve()
    folder.chmod(0o755)
    yield folder / "var"
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running(var: Path, *command: str) -> Iterator[Running]:
    """A program that is ended with all that belongs to it, whatever the test has done."""
    program = Running(var, *command)
    try:
        yield program
    finally:
        program.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.process.wait(60)
        program.process.kill()
        for left in program.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(left.split()[0]), signal.SIGKILL)


pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def _site() -> Iterator[Running]:
    with folder() as var, contextlib.ExitStack() as stack:
        yield stack.enter_context(running(var, "-m", "local.supervisor"))


@pytest.fixture
def site(_site: Running) -> Iterator[Running]:
    """The site, whole before and after."""
    assert comes_true(_site.is_well), "".join(_site.said)
    _site.said.clear()
    yield _site
    assert comes_true(_site.is_well), "".join(_site.said)


@pytest.mark.parametrize(("server", "title"), [("postgres", "PostgreSQL"), ("redis", "Redis")])
def test_a_server_that_is_waited_for_is_named(site: Running, server: str, title: str) -> None:  # before any is killed
    before = site.server(server)
    os.kill(before, signal.SIGSTOP)
    assert comes_true(lambda: site.has_said(f"{title} does not answer. Waiting for it."))
    os.kill(before, signal.SIGCONT)
    assert comes_true(lambda: site.has_said(f"{title} answers again"))
    assert site.server(server) == before


@pytest.mark.parametrize("server", ["postgres", "redis"])
def test_a_killed_server_is_started_again(site: Running, server: str) -> None:
    before, programs = site.server(server), site.programs()
    os.kill(before, signal.SIGKILL)
    assert comes_true(lambda: site.server(server) not in (before, 0))
    assert comes_true(site.is_well)
    assert site.programs() == programs, "nothing else was disturbed"


def test_a_server_that_has_lost_its_keeper_gets_another(site: Running) -> None:
    before = site.server("redis")
    keeper = subprocess.run(
        ["pgrep", "-f", f"embedded.py {site.var} redis"], capture_output=True, text=True, check=True
    )
    os.kill(int(keeper.stdout), signal.SIGKILL)
    os.kill(before, signal.SIGKILL)
    assert comes_true(lambda: site.server("redis") not in (before, 0))


def test_a_terminal_that_is_closed_ends_all_of_it(_site: Running) -> None:
    assert comes_true(_site.is_well)
    _site.process.send_signal(signal.SIGHUP)
    assert comes_true(lambda: not _site.left()), _site.left()

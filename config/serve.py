"""The site as one thing to start, watch and stop: the web server, the worker that runs the jobs, and a marketplace.

For development, trials and tests on one machine. In production, each part is a container (docker-compose.yml).
"""

import atexit
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Self

from config import embedded
from config.market import Market

FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0  # seconds before a part that died is started again
HEALTHY_SECONDS = 10.0  # a part that lived this long is started again without delay
STOP_SECONDS = 30.0


class SiteError(Exception):
    """The site cannot be started. The message says why, and what can be done."""


class Site:
    """The web server on a port and, if wanted, the job worker with its clock. Parts that die are started again.

    With a marketplace, which must be prepared, that has a web server on its own port, and a clock of its own. The site
    itself holds the listening sockets, so that while a web server is replaced, browsers wait instead of being refused.
    All parts log to files in `var/log`; `tell` is told, on another thread, of each that died.
    """

    def __init__(
        self,
        port: int,
        *,
        host: str = "",
        workers: int = 2,
        with_jobs: bool = True,
        market: Market | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.port = port
        self.host = host or os.environ.get("HOST") or "127.0.0.1"
        self.log_folder = embedded.var_folder() / "log"
        self._workers = workers
        self._with_jobs = with_jobs
        self._market = market
        self._tell = tell
        self._listeners: list[socket.socket] = []
        self._parts: list[_Part] = []
        self._ending = threading.Event()

    def start(self) -> Self:
        """Start all parts and a thread that watches them. Returns at once. Raises SiteError if a port is taken."""
        embedded.ensure()
        try:
            web = self._listen(self.port, "PORT")
            market = None if self._market is None else self._listen(self._market.port, "MARKETPLACE_PORT")
        except SiteError:
            self._close()
            raise
        self.log_folder.mkdir(parents=True, exist_ok=True)
        self._parts = []
        ours = os.environ | {"PORT": str(self.port)}
        # No access log: the addresses of judging pages carry tokens.
        self._add("web", _gunicorn("config.wsgi:application", web, self._workers), ours, files=[web])
        if self._with_jobs:
            self._add("jobs", self._jobs(), ours)
        if self._market is not None and market is not None:
            theirs = self._market.environment
            self._add("marketplace", _gunicorn("marketplace.wsgi:application", market, 1), theirs, files=[market])
            self._add("marketplace-tick", self._market.clock(), theirs)
            self._add("marketplace-deliver", self._market.sender(), theirs)
        self._ending.clear()
        threading.Thread(target=self._watch, name="site", daemon=True).start()
        atexit.register(self.stop)
        return self

    def wait_until_ready(self, path: str = "/healthz", seconds: float = 120) -> None:
        """Return once the site answers `path` well, and so does its marketplace. Raises SiteError if one does not."""
        ports = [self.port] if self._market is None else [self.port, self._market.port]
        deadline = time.monotonic() + seconds
        answer = "none"
        while time.monotonic() < deadline:
            for part in self._parts:
                if part.deaths >= 3:
                    raise SiteError(f"The site does not start: its {part.name} part ends at once.\n{part.end_of_log()}")
            try:
                status, body = self._ask(ports[0], path)
            except (OSError, http.client.HTTPException) as error:
                answer = str(error) or type(error).__name__
            else:
                if status < http.client.BAD_REQUEST:
                    ports.pop(0)
                    if not ports:
                        return
                    continue
                answer = f"status {status}, {body[:200]!r}"
            time.sleep(0.1)
        raise SiteError(
            f"The site did not get ready within {seconds:.0f} seconds. The last answer to {path} was: {answer}.\n"
            + "\n".join(part.end_of_log() for part in self._parts)
        )

    def wait(self) -> None:
        """Keep the site running until it is told to end (Ctrl-C, or SIGTERM), then stop it. A second Ctrl-C hurries.

        Call it from the main thread.
        """

        def end(_number: int, _frame: FrameType | None) -> None:
            if self._ending.is_set():
                for part in self._parts:
                    part.tell(signal.SIGKILL)
            self._ending.set()

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not self._ending.wait(1):
                pass
            self.stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        """End all parts: gently, and after 30 seconds by force. What is not running is left alone."""
        self._ending.set()
        for part in self._parts:
            part.tell(signal.SIGTERM)
        for part in self._parts:
            part.finish()
        self._close()
        atexit.unregister(self.stop)

    def pids(self) -> dict[str, int]:
        """The process numbers of the parts that run now, by name: `web`, `jobs`, `marketplace`, …"""
        return {part.name: part.process.pid for part in self._parts if part.process and part.process.poll() is None}

    def _watch(self) -> None:
        while not self._ending.is_set():
            for part in self._parts:
                part.keep_running(self._ending, self._tell)
            self._ending.wait(0.1)

    def _add(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], files: Sequence[int] = ()
    ) -> None:
        self._parts.append(_Part(name, command, self.log_folder, environment, files))

    def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    def _listen(self, port: int, variable: str) -> int:
        listener = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET, socket.SOCK_STREAM)
        self._listeners.append(listener)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, port))
            listener.listen(1024)
        except OSError as error:
            raise SiteError(
                f"Port {port} on {self.host} cannot be used: {error.strerror}. Perhaps the site runs already, or "
                f"another program has that port. To use another, set {variable}, for example "
                f"{variable}={port % 60000 + 1}."
            ) from error
        return listener.fileno()

    def _jobs(self) -> list[str]:
        schedule = embedded.var_folder() / "schedule"
        options = "worker --beat --concurrency 1 --loglevel INFO --without-gossip --without-mingle"
        return [
            *(sys.executable, "-m", "celery", "-A", "config.celery"),
            *options.split(),
            f"--schedule={schedule}",
        ]

    def _ask(self, port: int, path: str) -> tuple[int, bytes]:
        """Ask for a page as a proxy on this machine would."""
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        allowed = [name for name in os.environ.get("ALLOWED_HOSTS", "").split(",") if name and "*" not in name]
        name = (allowed or ["localhost"])[0].lstrip(".") if port == self.port else "localhost"
        connection = http.client.HTTPConnection(here, port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Host": name, "X-Forwarded-Proto": "https"})
            response = connection.getresponse()
            return response.status, response.read()


class _Part:
    """One program of the site: its process, and when to start it again."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_folder: Path,
        environment: Mapping[str, str],
        files: Sequence[int],
    ) -> None:
        self.name = name
        self.log = log_folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0  # in a row, soon after the start
        self._command = command
        self._environment = environment
        self._files = files
        self._started = 0.0
        self._next_start = 0.0
        self._lock = threading.Lock()

    def keep_running(self, ending: threading.Event, tell: Callable[[str], None]) -> None:
        """Start it if it does not run and its time has come. Tells of its death, with the end of its log."""
        with self._lock:
            now = time.monotonic()
            if self.process is not None:
                code = self.process.poll()
                if code is None:
                    return
                self._signal_group(self.process.pid, signal.SIGTERM)  # its own children, if they outlive it
                self.process = None
                self.deaths = 0 if now - self._started > HEALTHY_SECONDS else self.deaths + 1
                wait = min(FIRST_WAIT * 2 ** max(0, self.deaths - 1), LONGEST_WAIT)
                self._next_start = now + wait
                said = f"{self.name} ended with code {code}; starting it again in {wait:.1f} seconds"
                self._note(said)
                if not ending.is_set():
                    tell(f"{said}\n{self.end_of_log()}")
            if now >= self._next_start and not ending.is_set():
                self._start()

    def _start(self) -> None:
        # Where the system can, it tells the process to end when we are killed. Its own session keeps Ctrl-C from it.
        mourn = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        with embedded.open_log(self.log) as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own programs
                [*mourn, *self._command],
                cwd=Path(__file__).parent.parent,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=self._files,
                start_new_session=True,
            )
        self._started = time.monotonic()

    def finish(self) -> None:
        """Wait until it has ended, as it was told to. After a time, kill it and all that it started."""
        with self._lock:
            if self.process is None:
                return
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._note(f"{self.name} did not end within {STOP_SECONDS:.0f} seconds; killing it")
            self._signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to its main process, if it runs."""
        process = self.process
        if process is not None and process.poll() is None:
            process.send_signal(number)

    def end_of_log(self) -> str:
        """The last lines that it wrote, for messages."""
        lines = self.log.read_text(errors="replace").splitlines()[-15:] if self.log.exists() else []
        return "\n".join([f"The log of its {self.name} part is {self.log}", *(f"  {line}" for line in lines)])

    def _note(self, text: str) -> None:
        with embedded.open_log(self.log) as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n".encode())

    def _signal_group(self, group: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _gunicorn(application: str, listener: int, workers: int) -> list[str]:
    options = f"--bind fd://{listener} --workers {workers} --worker-class gthread --threads 8"
    limits = "--timeout 120 --graceful-timeout 20 --no-control-socket"
    return [sys.executable, "-m", "gunicorn", application, *options.split(), *limits.split()]


def serve(port: int, workers: int, with_jobs: bool) -> Site:
    """Start the site and wait until it answers. Raises SiteError if it does not."""
    site = Site(port, workers=workers, with_jobs=with_jobs).start()
    try:
        site.wait_until_ready()
    except BaseException:
        site.stop()
        raise
    return site


def _main() -> int:
    try:
        site = serve(int(os.environ.get("PORT") or 8000), int(os.environ.get("WORKERS") or 2), with_jobs=True)
    except (SiteError, embedded.EmbeddedServerError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is at http://{site.host}:{site.port}/ and logs to {site.log_folder}. Ctrl-C stops it.", flush=True)
    site.wait()
    return 0


if __name__ == "__main__":
    sys.exit(_main())

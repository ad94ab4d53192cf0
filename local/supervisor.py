"""The site as one thing to start, watch and stop: the web server, the worker that runs the jobs, and where people are.

For development, trials and tests on one machine. In production, each part is a container (docker-compose.yml).
"""

import atexit
import contextlib
import http.client
import json
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

from local import embedded
from local.marketplace import LocalMarketplace
from local.prolific import LocalProlific

FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0  # seconds before a part that died is started again
HEALTHY_SECONDS = 10.0  # a part that lived this long is started again without delay
STOP_SECONDS = 30.0


class SiteError(Exception):
    """The site cannot be started. The message says why, and what can be done."""


class Site:
    """The web server on a port and, if wanted, the job worker and the clock that starts the regular jobs.

    With a marketplace, which must be prepared, that has a web server on its own port, and a clock of its own; with a
    double of Prolific, that. The site itself holds the listening sockets, so that while a web server is replaced,
    browsers wait instead of being refused. Parts that die are started again. When this process is killed, Linux ends
    its parts; elsewhere they have to be killed, too.

    All parts log to files in `var/log`; `tell` is called, on another thread, with what happens to them.
    """

    def __init__(
        self,
        port: int,
        *,
        host: str = "",
        workers: int = 2,
        with_jobs: bool = True,
        marketplace: LocalMarketplace | None = None,
        prolific: LocalProlific | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.port = port
        self.host = host or os.environ.get("HOST") or "127.0.0.1"
        self.log_folder = embedded.var_folder() / "log"
        self._workers = workers
        self._with_jobs = with_jobs
        self._marketplace = marketplace
        self._prolific = prolific
        self._tell_somebody = tell
        self._listeners: list[socket.socket] = []
        self._parts: list[_Part] = []
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self) -> Self:
        """Start all parts and the thread that watches them. Returns at once. Raises SiteError if a port is taken."""
        embedded.ensure()
        try:
            web = self._listen(self.port, "PORT")
            if self._marketplace is not None:
                marketplace = self._listen(self._marketplace.port, "MARKETPLACE_PORT")
            if self._prolific is not None:
                prolific = self._listen(self._prolific.port, "PROLIFIC_PORT")
        except SiteError:
            self._close()
            raise
        self.log_folder.mkdir(parents=True, exist_ok=True)
        self._parts = []
        ours = os.environ | {"PORT": str(self.port)}
        if ours.get("METRICS_TOKEN"):  # its processes count together in files here, from nothing
            counts = embedded.var_folder() / "metrics"
            shutil.rmtree(counts, ignore_errors=True)
            counts.mkdir(parents=True)
            ours["PROMETHEUS_MULTIPROC_DIR"] = str(counts)
        # No access log: the addresses of judging pages carry tokens.
        self._add("web", _gunicorn("config.wsgi:application", web.fileno(), self._workers), ours, web)
        if self._with_jobs:
            for name, queues in (("jobs", "money,default"), ("compute", "compute")):
                options = f"--queues {queues} --hostname {name}@%h --concurrency 1 --without-gossip --without-mingle"
                self._add(name, _celery(f"worker {options}"), ours)
            self._add("beat", _celery("beat --pidfile="), ours)
        if self._marketplace is not None:
            theirs = self._marketplace.environment
            gunicorn = _gunicorn("marketplace.wsgi:application", marketplace.fileno(), 1)
            self._add("marketplace", gunicorn, theirs, marketplace)
            self._add("marketplace-tick", self._marketplace.clock(), theirs)
            self._add("marketplace-deliver", self._marketplace.sender(), theirs)
        if self._prolific is not None:
            program = self._prolific.program(prolific.fileno())
            self._add("prolific", program, self._prolific.environment, prolific)
        self._ending.clear()
        self._watcher = threading.Thread(target=self._watch, name="site", daemon=True)
        self._watcher.start()
        threading.Thread(target=self._watch_servers, name="servers", daemon=True).start()
        atexit.register(self.stop)
        return self

    def wait_until_ready(self, path: str = "/healthz", seconds: float = 120) -> None:
        """Return once the site answers `path` well, and so do its marketplace and double. Raises SiteError if not."""
        waited = [(self.port, path)]
        if self._marketplace is not None:
            waited.append((self._marketplace.port, path))
        if self._prolific is not None:
            waited.append((self._prolific.port, "/login"))
        deadline = time.monotonic() + seconds
        answer = "none"
        while time.monotonic() < deadline:
            for part in self._parts:
                if part.deaths >= 3:
                    raise SiteError(f"The site does not start: its {part.name} part ends at once.\n{part.end_of_log()}")
            try:
                status, body = self._ask(*waited[0])
            except (OSError, http.client.HTTPException) as error:
                answer = str(error) or type(error).__name__
            else:
                if status < http.client.BAD_REQUEST:
                    waited.pop(0)
                    if not waited:
                        return
                    continue
                answer = f"status {status}, {body[:200]!r}"
            time.sleep(0.1)
        raise SiteError(
            f"The site did not get ready within {seconds:.0f} seconds. The last answer to {path} was: {answer}.\n"
            + "\n".join(part.end_of_log() for part in self._parts)
        )

    def wait(self) -> None:
        """Keep the site running until Ctrl-C, SIGTERM or SIGHUP, then stop it. A second one hurries.

        Call it from the main thread.
        """

        def end(_number: int, _frame: FrameType | None) -> None:
            if self._ending.is_set():
                for part in self._parts:
                    part.send(signal.SIGKILL)
            self._ending.set()

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, *_ends())}
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
        if self._watcher is not None:
            self._watcher.join()
        for part in self._parts:
            part.send(signal.SIGTERM)
        for part in self._parts:
            part.finish()
        self._close()
        atexit.unregister(self.stop)

    def pids(self) -> dict[str, int]:
        """The process numbers of the parts that run now, by name: `web`, `jobs`, `marketplace`, …"""
        return {part.name: part.process.pid for part in self._parts if part.process and part.process.poll() is None}

    def _tell(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal is gone, and the site is to run on
            self._tell_somebody(text)

    def _watch(self) -> None:
        """Start what is to run. Linux asks parts to end when the thread that has started them ends: this one."""
        while not self._ending.is_set():
            for part in self._parts:
                part.keep_running(self._tell)
            self._ending.wait(0.1)

    def _watch_servers(self) -> None:
        """Tell of embedded servers that do not answer. Their keepers start them again, and are started again here."""
        waited_for: list[str] = []
        while not self._ending.wait(2):
            silent = embedded.silent_servers()
            for title in set(silent) - set(waited_for):
                self._tell(f"{title} does not answer. Waiting for it.")
            for title in set(waited_for) - set(silent):
                self._tell(f"{title} answers again.")
            waited_for = silent
            with contextlib.suppress(embedded.EmbeddedServerError):  # told above
                if silent:
                    embedded.ensure()

    def _add(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], listener: socket.socket | None = None
    ) -> None:
        self._parts.append(_Part(name, command, self.log_folder, environment, listener))

    def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    def _listen(self, port: int, variable: str) -> socket.socket:
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
        return listener

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
        listener: socket.socket | None,
    ) -> None:
        self.name = name
        self.log = log_folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0  # in a row, soon after the start
        self._listener = listener
        self._command = command
        self._environment = environment
        self._started = 0.0
        self._next_start = 0.0

    def keep_running(self, tell: Callable[[str], None]) -> None:
        """Start it if it does not run and its time has come. Tells of its death, with the end of its log."""
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                if now - self._started > HEALTHY_SECONDS:
                    self.deaths = 0
                return
            self._signal_group(self.process.pid, signal.SIGTERM)  # its own children, if they outlive it
            self.process = None
            self._wait(now, f"ended with code {code}", tell)
        if now >= self._next_start:
            try:
                self._start()
            except OSError as error:
                self._wait(now, f"cannot be started ({error})", tell)

    def _wait(self, now: float, what: str, tell: Callable[[str], None]) -> None:
        self.deaths = 0 if now - self._started > HEALTHY_SECONDS else self.deaths + 1
        wait = min(FIRST_WAIT * 2 ** max(0, self.deaths - 1), LONGEST_WAIT)
        self._next_start = now + wait
        # A part that dies again and again for one reason is reported less and less often.
        if self.deaths & (self.deaths - 1) == 0:
            tell(f"{self.name} {what}; starting it again in {wait:.1f} seconds\n{self.end_of_log()}")

    def _start(self) -> None:
        # Where the system can, it asks the process to end when we are killed. Its own session keeps Ctrl-C from it.
        mourn = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        with embedded.open_log(self.log) as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own programs
                [*mourn, *self._command],
                cwd=Path(__file__).parent.parent,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[] if self._listener is None else [self._listener.fileno()],
                start_new_session=True,
            )
        self._started = time.monotonic()

    def finish(self) -> None:
        """Wait until it has ended, as it was told. After a time, kill it. What it started is killed in any case."""
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
            self._signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to its main process, if it runs."""
        if self.process is not None:
            self.process.send_signal(number)

    def end_of_log(self) -> str:
        """The last lines that it wrote, for messages."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 20_000))
                lines = log.read(20_000).decode(errors="replace").splitlines()[-15:]
        except OSError:
            lines = []
        return "\n".join(
            [f"The log of its {self.name} part is {self.log}", *(f"  {line[: embedded.LINE_LENGTH]}" for line in lines)]
        )

    def _signal_group(self, group: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _gunicorn(application: str, listener: int, workers: int) -> list[str]:
    # The application is loaded once, and its workers are copies: a start takes half as long.
    options = f"--bind fd://{listener} --preload --workers {workers} --worker-class gthread --threads 8"
    limits = "--timeout 120 --graceful-timeout 20 --no-control-socket"
    return [sys.executable, "-m", "gunicorn", application, *options.split(), *limits.split()]


def _celery(command: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "config.celery", *command.split(), "--loglevel", "INFO"]


def _ends() -> list[signal.Signals]:
    """The signals that ask this process to end, but for Ctrl-C. Under nohup, a closed terminal is none of them."""
    return [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the main thread as Ctrl-C does, so that what was started is stopped."""

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one is fatal
        raise KeyboardInterrupt

    for number in _ends():
        signal.signal(number, end)


def remember_address(port: int) -> None:
    """Keep where the site is, in `var/site.json`, for commands that print links to it in development."""
    address = os.environ.get("SITE_URL") or f"http://localhost:{port}"
    with contextlib.suppress(OSError):
        embedded.keep_private(embedded.var_folder() / "site.json", json.dumps({"url": address}))


def _main() -> int:
    end_on_signals()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    port = int(os.environ.get("PORT") or 8000)
    site = Site(port, workers=int(os.environ.get("WORKERS") or 2), tell=tell)
    try:
        site.start().wait_until_ready()
        remember_address(port)
        print(f"The site is at http://{site.host}:{port}/ and logs to {site.log_folder}. Ctrl-C stops it.", flush=True)
        site.wait()
    except (SiteError, embedded.EmbeddedServerError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        site.stop()
    return 0


if __name__ == "__main__":
    sys.exit(_main())

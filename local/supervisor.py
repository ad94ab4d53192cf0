"""The site as one thing to start, watch and stop: the web server, the worker that runs the jobs, and where people are.

For development, trials and tests on one machine. In production, each part is a container (docker-compose.yml).
"""

import atexit
import contextlib
import functools
import html
import http.client
import json
import os
import queue
import select
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
AWAY_SECONDS = 5.0  # how long browsers wait for a web server before a page says what it waits for
STOP_SECONDS = 30.0


class SiteError(Exception):
    """The site cannot be started. The message says why, and what can be done."""


class Site:
    """The web server on a port and, if wanted, the job worker and the clock that starts the regular jobs.

    With a marketplace, which must be prepared, that has a web server on its own port, and a clock of its own; with a
    double of Prolific, that. The site
    itself holds the listening sockets, so that while a web server is replaced, browsers wait instead of being refused;
    if that takes long, they get a page that says what is waited for. Parts that die are started again, and so are the
    embedded PostgreSQL and Redis if they die or hang. When this process is killed, all parts end.

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
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listeners: list[socket.socket] = []
        self._parts: list[_Part] = []
        self._ending = threading.Event()
        self._guardian = _Guardian()
        self._upkeep: embedded.Upkeep | None = None

    def start(self) -> Self:
        """Start all parts and the threads that watch them. Returns at once. Raises SiteError if a port is taken."""
        embedded.ensure()
        try:
            web = self._listen(self.port, "PORT")
            marketplace = (
                None if self._marketplace is None else self._listen(self._marketplace.port, "MARKETPLACE_PORT")
            )
            prolific = None if self._prolific is None else self._listen(self._prolific.port, "PROLIFIC_PORT")
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
        self._add("web", _gunicorn("config.wsgi:application", web.fileno(), self._workers), ours, listener=web)
        if self._with_jobs:
            for name, queues in (("jobs", "money,default"), ("compute", "compute")):
                options = f"--queues {queues} --hostname {name}@%h --concurrency 1 --without-gossip --without-mingle"
                self._add(name, _celery(f"worker {options}"), ours)
            # The clock keeps nothing in a file that could be damaged: every regular job may run at any time.
            self._add("beat", _celery("beat --scheduler celery.beat:Scheduler --pidfile="), ours)
        if self._marketplace is not None and marketplace is not None:
            theirs = self._marketplace.environment
            gunicorn = _gunicorn("marketplace.wsgi:application", marketplace.fileno(), 1)
            self._add("marketplace", gunicorn, theirs, listener=marketplace)
            self._add("marketplace-tick", self._marketplace.clock(), theirs)
            self._add("marketplace-deliver", self._marketplace.sender(), theirs)
        if self._prolific is not None and prolific is not None:
            program = self._prolific.program(prolific.fileno())
            self._add("prolific", program, self._prolific.environment, listener=prolific)
        self._ending.clear()
        self._upkeep = embedded.Upkeep(self._tell)
        # Parts are asked to end when the thread that has started them ends: this one must live as long as the site.
        self._watch_over(self._keep_parts, 0.1)
        self._watch_over(self._pass_news_on, 0)
        self._watch_over(self._upkeep.look, 2.0)
        self._watch_over(self._trim_logs, 5.0)
        for part in self._parts:
            if part.listener is not None:
                self._watch_over(functools.partial(self._hold, part), 0.1)
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
        """Keep the site running until it is asked to end (Ctrl-C, or SIGTERM), then stop it. A second Ctrl-C hurries.

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
            part.ask_to_end()
        for part in self._parts:
            part.finish()
        self._close()
        self._guardian.leave()
        atexit.unregister(self.stop)

    def pids(self) -> dict[str, int]:
        """The process numbers of the parts that run now, by name: `web`, `jobs`, `marketplace`, …"""
        return {part.name: part.process.pid for part in self._parts if part.process and part.process.poll() is None}

    def problems(self) -> list[str]:
        """What is waited for now, a sentence each."""
        waiting = [f"{part.name}: {part.problem}." for part in self._parts if part.problem]
        return [*(dict(self._upkeep.problems).values() if self._upkeep else ()), *waiting]

    def _watch_over(self, look: Callable[[], None], seconds: float) -> None:
        """Check again and again on a thread of its own, which nothing ends but the end of the site."""

        def watch() -> None:
            said = ""
            while not self._ending.is_set():
                try:
                    look()
                    said = ""
                except Exception as error:  # a full disk, no more processes, …: all of it may pass
                    if said != str(error) and look != self._pass_news_on:
                        said = str(error)
                        self._tell(f"{type(error).__name__}: {error}. Trying again until it works.")
                    self._ending.wait(1)
                self._ending.wait(seconds)

        threading.Thread(target=watch, name="site", daemon=True).start()

    def _tell(self, text: str) -> None:
        """Report it without waiting: the terminal may be stopped, or gone."""
        self._news.put(text)

    def _pass_news_on(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._tell_somebody(self._news.get(timeout=0.1))

    def _keep_parts(self) -> None:
        self._guardian.keep_running()
        for part in self._parts:
            part.keep_running(self._ending, self._tell)

    def _hold(self, part: "_Part") -> None:
        """Answer for a web server that has been away for a while: say what is waited for."""
        assert part.listener is not None
        if not part.is_away or not select.select([part.listener], [], [], 0.4)[0]:
            return
        with contextlib.suppress(OSError):
            connection, _address = part.listener.accept()
            with connection:
                connection.settimeout(2)
                connection.recv(65536)
                connection.sendall(_waiting_page(self.problems()))
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)

    def _trim_logs(self) -> None:
        """Set aside what has grown too large. The programs that write to a log add to its end, so it can be emptied."""
        for log in self.log_folder.glob("*.log"):
            if log.is_file() and log.stat().st_size > embedded.LOG_BYTES:
                aside = log.with_suffix(".log.1")
                try:
                    shutil.copyfile(log, aside)
                except OSError:
                    aside.unlink(missing_ok=True)
                os.truncate(log, 0)

    def _add(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        listener: socket.socket | None = None,
    ) -> None:
        self._parts.append(_Part(name, command, self.log_folder, environment, listener, self._guardian))

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


class _Guardian:
    """A process that ends the parts if this process is killed and cannot do so itself."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def keep_running(self) -> None:
        """Start it if it does not run."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("guardian.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            self._say("".join(f"+{group}\n" for group in self._groups))

    def add(self, group: int) -> None:
        """A process group that is to end with this process."""
        with self._lock:
            self._groups.add(group)
            self._say(f"+{group}\n")

    def remove(self, group: int) -> None:
        """A process group that has ended."""
        with self._lock:
            self._groups.discard(group)
            self._say(f"-{group}\n")

    def leave(self) -> None:
        """End it. What it still knows of is ended too."""
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(15)
                self._process = None

    def _say(self, text: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it died just now, and the next one gets all of it
                self._process.stdin.write(text.encode())
                self._process.stdin.flush()


class _Part:
    """One program of the site: its process, and when to start it again."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_folder: Path,
        environment: Mapping[str, str],
        listener: socket.socket | None,
        guardian: _Guardian,
    ) -> None:
        self.name = name
        self.log = log_folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0  # in a row, soon after the start
        self.problem = ""  # why it does not run, if so
        self.listener = listener
        self._command = command
        self._environment = environment
        self._guardian = guardian
        self._started = 0.0
        self._next_start = 0.0
        self._away_since: float | None = None
        self._former: dict[int, float] = {}  # groups of processes that outlive their main process, and until when
        self._lock = threading.Lock()

    @property
    def is_away(self) -> bool:
        """Whether it has not run for so long that it should be reported, or ends again and again."""
        return self._away_since is not None and (self.deaths >= 3 or time.monotonic() - self._away_since > AWAY_SECONDS)

    def keep_running(self, ending: threading.Event, tell: Callable[[str], None]) -> None:
        """Start it if it does not run and its time has come. Tells of its death, with the end of its log."""
        with self._lock:
            now = time.monotonic()
            self._end_former(now)
            if self.process is not None:
                code = self.process.poll()
                if code is None:
                    if now - self._started > HEALTHY_SECONDS:
                        self.problem, self._away_since, self.deaths = "", None, 0
                    return
                self._signal_group(self.process.pid, signal.SIGTERM)  # its own children, if they outlive it
                self._former[self.process.pid] = now + STOP_SECONDS
                self.process = None
                if not ending.is_set():
                    self._wait(now, f"ended with code {code}", tell)
            if now >= self._next_start and not ending.is_set():
                try:
                    self._start(tell)
                except OSError as error:
                    self._wait(now, f"cannot be started ({error})", tell)

    def _wait(self, now: float, what: str, tell: Callable[[str], None]) -> None:
        self.deaths = 0 if now - self._started > HEALTHY_SECONDS else self.deaths + 1
        wait = min(FIRST_WAIT * 2 ** max(0, self.deaths - 1), LONGEST_WAIT)
        self._next_start = now + wait
        self._away_since = self._away_since or now
        self.problem = f"{what}; starting it again in {wait:.1f} seconds"
        said = f"{self.name} {self.problem}"
        self._note(said)
        # A part that dies again and again for one reason is reported less and less often.
        if self.deaths & (self.deaths - 1) == 0:
            tell(f"{said}\n{self.end_of_log()}")

    def _start(self, tell: Callable[[str], None]) -> None:
        # Where the system can, it tells the process to end when we are killed; so does the guardian, which must know of
        # the process before that begins: until then, it is a shell that waits for a line from us. Its own session
        # keeps Ctrl-C from it.
        mourn = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        gate = ["sh", "-c", 'read -r _ && exec "$@"', self.name]
        try:
            self.log.open("ab").close()
        except OSError as error:
            tell(f"{self.name} runs without its log: {error}.")
        with embedded.log_or_nothing(self.log) as log:
            process = subprocess.Popen(  # noqa: S603 - our own programs
                [*gate, *mourn, *self._command],
                cwd=Path(__file__).parent.parent,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[] if self.listener is None else [self.listener.fileno()],
                start_new_session=True,
            )
        self.process = process
        self._started = time.monotonic()
        self._guardian.add(process.pid)
        assert process.stdin is not None
        with contextlib.suppress(OSError), process.stdin as gate_opener:
            gate_opener.write(b"go\n")

    def finish(self) -> None:
        """Wait until it has ended, as asked. After a time, kill it and all that it started."""
        with self._lock:
            if self.process is not None:
                try:
                    self.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    self._note(f"{self.name} did not end within {STOP_SECONDS:.0f} seconds; killing it")
                self._signal_group(self.process.pid, signal.SIGKILL)
                self.process.wait()
                self._guardian.remove(self.process.pid)
                self.process = None
            for group in self._former:
                self._signal_group(group, signal.SIGKILL)
                self._guardian.remove(group)
            self._former.clear()

    def ask_to_end(self) -> None:
        """Ask its main process to end, if it runs. If it is just being started, wait for that first."""
        with self._lock:
            self.tell(signal.SIGTERM)

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to its main process, if it runs."""
        process = self.process
        if process is not None and process.poll() is None:
            process.send_signal(number)

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

    def _end_former(self, now: float) -> None:
        for group, deadline in list(self._former.items()):
            if self._signal_group(group, 0) and now > deadline:
                self._signal_group(group, signal.SIGKILL)
            if not self._signal_group(group, 0):
                del self._former[group]
                self._guardian.remove(group)

    def _note(self, text: str) -> None:
        with contextlib.suppress(OSError), embedded.open_log(self.log) as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n".encode())

    def _signal_group(self, group: int, number: int) -> bool:
        """Send a signal to a group of processes. False if nobody is left in it."""
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


def _gunicorn(application: str, listener: int, workers: int) -> list[str]:
    # The application is loaded once, and its workers are copies: a start takes half as long.
    options = f"--bind fd://{listener} --preload --workers {workers} --worker-class gthread --threads 8"
    limits = "--timeout 120 --graceful-timeout 20 --no-control-socket"
    return [sys.executable, "-m", "gunicorn", application, *options.split(), *limits.split()]


def _celery(command: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "config.celery", *command.split(), "--loglevel", "INFO"]


def _waiting_page(problems: Sequence[str]) -> bytes:
    """A complete answer, 503, for browsers and programs: what is waited for."""
    items = "".join(f"<li>{html.escape(problem)}</li>" for problem in problems)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>One moment, please</title></head>'
        "<body><main><h1>One moment, please</h1><p>This site is not running at the moment. It comes back "
        f"automatically, and what was saved is kept.</p><ul>{items}</ul></main></body></html>"
    ).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
        "Content-Security-Policy: default-src 'none'\r\n"
        f"Retry-After: 5\r\nContent-Length: {len(page)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page


def end_on_sigterm() -> None:
    """Let SIGTERM end the main thread as Ctrl-C does, so that what was started is stopped. A second one is fatal."""

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)


def remember_address(port: int) -> None:
    """Keep where the site is, in `var/site.json`, for commands that print links to it in development."""
    address = os.environ.get("SITE_URL") or f"http://localhost:{port}"
    path = embedded.var_folder() / "site.json"
    with contextlib.suppress(OSError):
        draft = path.with_name(f".site.json.{os.getpid()}")
        draft.write_text(json.dumps({"url": address}) + "\n")
        draft.replace(path)


def serve(port: int, workers: int, with_jobs: bool, tell: Callable[[str], None] = lambda _text: None) -> Site:
    """Start the site and wait until it answers. Raises SiteError if it does not."""
    site = Site(port, workers=workers, with_jobs=with_jobs, tell=tell).start()
    try:
        site.wait_until_ready()
    except BaseException:
        site.stop()
        raise
    return site


def _main() -> int:
    end_on_sigterm()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    port = int(os.environ.get("PORT") or 8000)
    try:
        site = serve(port, int(os.environ.get("WORKERS") or 2), with_jobs=True, tell=tell)
    except (SiteError, embedded.EmbeddedServerError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    remember_address(port)
    print(f"The site is at http://{site.host}:{site.port}/ and logs to {site.log_folder}. Ctrl-C stops it.", flush=True)
    site.wait()
    return 0


if __name__ == "__main__":
    sys.exit(_main())

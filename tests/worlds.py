"""Worlds that take long to make: made once in a process, then laid out again, rows and files, for each test.

A world is what making it added to the database and to the folder of stored files. It may refer to rows of other worlds,
since a world's rows have the same keys every time. No other row ever gets them: sequences do not go back.
"""

import io
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction


class World(NamedTuple):
    """By table, rows as COPY writes them; by path, the stored files."""

    rows: dict[str, frozenset[bytes]]
    files: dict[Path, bytes]


_kept: dict[str, World] = {}


def lay_out(name: str, make: Callable[[], object]) -> None:
    """Make a world, or lay it out as it was when it was first made under this name."""
    if name in _kept:
        _put(_kept[name])
    else:
        before = rows_and_files()
        make()
        _kept[name] = _added(before, rows_and_files())


def rows_and_files() -> World:
    rows = {}
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            copied = io.BytesIO()
            cursor.copy_expert(f'COPY (SELECT * FROM "{model._meta.db_table}") TO STDOUT', copied)
            rows[model._meta.db_table] = frozenset(copied.getvalue().split(b"\n")[:-1])
    root = Path(settings.MEDIA_ROOT)
    files = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return World(rows, files)


def _added(before: World, after: World) -> World:
    for table, rows in before.rows.items():
        assert rows <= after.rows[table], f"making this world changed what was there: {rows - after.rows[table]}"
    rows = {table: rows - before.rows[table] for table, rows in after.rows.items()}
    files = {path: content for path, content in after.files.items() if path not in before.files}
    return World({table: added for table, added in rows.items() if added}, files)


def _put(world: World) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # what triggers wrote is among the rows
        for table, rows in world.rows.items():
            cursor.copy_expert(f'COPY "{table}" FROM STDIN', io.BytesIO(b"".join(row + b"\n" for row in rows)))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    for name, content in world.files.items():
        path = Path(settings.MEDIA_ROOT) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


# --- what was done, done again

TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?=\+00)")
Rows = Mapping[str, frozenset[bytes]]


class Deed(NamedTuple):
    """What was done at some time to the rows of a database: which went and which came, by table."""

    gone: Rows
    come: Rows
    at: datetime


def rows_of(cursor: Any) -> Rows:
    """All rows of the cursor's database, by table, as COPY writes them."""
    cursor.execute(TABLES)
    rows = {}
    for (table,) in cursor.fetchall():
        copied = io.BytesIO()
        cursor.copy_expert(f'COPY "{table}" TO STDOUT', copied)
        rows[table] = frozenset(copied.getvalue().split(b"\n")[:-1])
    return rows


def deed_of(before: Rows, after: Rows, at: datetime) -> Deed:
    """What lies between two looks at a database."""
    gone = {table: went for table, rows in before.items() if (went := rows - after[table])}
    come = {table: came for table, rows in after.items() if (came := rows - before[table])}
    return Deed(gone, come, at)


def deed_repeat(cursor: Any, deed: Deed, at: datetime) -> None:
    """Do it again, where all is as it was before, as if it were done now: every time in its rows is later by as many
    whole seconds. The caller is in a transaction. No trigger fires, since what triggers wrote is among the rows.
    """
    later = timedelta(seconds=int((at - deed.at).total_seconds()))
    cursor.execute("SET LOCAL session_replication_role = replica")
    for table, rows in deed.gone.items():
        keys = [int(row.partition(b"\t")[0]) for row in rows]  # a changed row: its key is its first column
        cursor.execute(f'DELETE FROM "{table}" WHERE id = ANY(%s)', [keys])
        assert cursor.rowcount == len(keys), f"a row of {table} was not there"
    for table, rows in deed.come.items():
        copied = b"".join(_moved(row, later) + b"\n" for row in rows)
        cursor.copy_expert(f'COPY "{table}" FROM STDIN', io.BytesIO(copied))
    cursor.execute("SET LOCAL session_replication_role = DEFAULT")


def _moved(row: bytes, by: timedelta) -> bytes:
    def later(found: re.Match[bytes]) -> bytes:
        written = found[0].decode()
        return (datetime.fromisoformat(written) + by).isoformat(written[10]).encode()

    return MOMENT.sub(later, row)

"""Worlds that take long to make: made once in a process, then laid out again, rows and files, for each test.

A world is what making it added to the database and to the folder of stored files. It may refer to rows of other worlds,
since a world's rows have the same keys every time. No other row ever gets them: sequences do not go back.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
            cursor.copy_expert(f'COPY "{model._meta.db_table}" TO STDOUT', copied)
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
        for table, rows in world.rows.items():
            cursor.copy_expert(f'COPY "{table}" FROM STDIN', io.BytesIO(b"".join(row + b"\n" for row in rows)))
    for name, content in world.files.items():
        path = Path(settings.MEDIA_ROOT) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

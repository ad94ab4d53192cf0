"""Worlds that take long to make: made once in a process, then laid out again, rows and files, for each test.

A world is everything in the database and in the folder of stored files. It is laid out where there is nothing yet, and
its rows have the same keys every time.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models, transaction

# What is there without a world.
OF_MIGRATIONS = (ContentType, Permission)


class World(NamedTuple):
    """What was there once it was made: by table, its rows as COPY writes them; by path, the stored files."""

    rows: dict[str, bytes]
    files: dict[Path, bytes]


_kept: dict[str, World] = {}


def lay_out(name: str, make: Callable[[], object]) -> None:
    """Make a world, or lay it out as it was when it was first made under this name."""
    if name in _kept:
        _put(_kept[name])
    else:
        make()
        _kept[name] = _taken()


def _taken() -> World:
    rows = {}
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            copied = io.BytesIO()
            cursor.copy_expert(f'COPY "{model._meta.db_table}" TO STDOUT', copied)
            if copied.tell() and model not in OF_MIGRATIONS:
                rows[model._meta.db_table] = copied.getvalue()
    root = Path(settings.MEDIA_ROOT)
    files = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return World(rows, files)


def _put(world: World) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rows in world.rows.items():
            cursor.copy_expert(f'COPY "{table}" FROM STDIN', io.BytesIO(rows))
        for model in apps.get_models(include_auto_created=True):
            if model._meta.db_table in world.rows and isinstance(model._meta.pk, models.AutoField):
                _spare_keys(model)
    for name, content in world.files.items():
        path = Path(settings.MEDIA_ROOT) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _spare_keys(model: type[models.Model]) -> None:
    """Let new rows have keys that no row of the world has, and none of a former test either."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [f'"{table}"'])
        (sequence,) = cursor.fetchone()
        cursor.execute(
            f'SELECT setval(%s, greatest(nextval(%s), (SELECT max("id") FROM "{table}")))', [sequence, sequence]
        )

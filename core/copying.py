"""Many rows into PostgreSQL at once, with COPY: the way in for pairs, HITs and items by the hundred thousand."""

import io
from collections.abc import Callable, Iterable, Sequence

from django.db import connection, models

ROWS_AT_A_TIME = 20_000


def copy_rows(
    model: type[models.Model],
    fields: Sequence[str],
    rows: Iterable[Sequence[object]],
    copied: Callable[[int], None] | None = None,
) -> int:
    """Insert `rows` (values in the order of `fields`, None for NULL) and return how many there were.

    Runs in the caller's transaction. Values are written as csv, in which an unquoted empty field is NULL and a
    quoted one is an empty text. `copied` is told now and again how many rows have been inserted.
    """
    columns = ", ".join(connection.ops.quote_name(_column(model, name)) for name in fields)
    table = connection.ops.quote_name(model._meta.db_table)
    return copy_into(f"{table} ({columns})", rows, copied)


def copy_into(target: str, rows: Iterable[Sequence[object]], copied: Callable[[int], None] | None = None) -> int:
    """COPY rows into `target`, a quoted table with its quoted columns in parentheses."""
    count = 0
    buffer = io.StringIO()
    with connection.cursor() as cursor:

        def flush() -> None:
            buffer.seek(0)
            cursor.copy_expert(f"COPY {target} FROM STDIN WITH (FORMAT csv)", buffer)
            buffer.seek(0)
            buffer.truncate()
            if copied is not None:
                copied(count)

        for row in rows:
            buffer.write(",".join(map(_field, row)) + "\n")
            count += 1
            if count % ROWS_AT_A_TIME == 0:
                flush()
        if count % ROWS_AT_A_TIME:
            flush()
    return count


def next_ids(model: type[models.Model], count: int) -> list[int]:
    """`count` fresh primary keys of a model, for rows that point at each other and are copied in."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [model._meta.db_table, count],
        )
        return [row[0] for row in cursor.fetchall()]


def _column(model: type[models.Model], name: str) -> str:
    return str(model._meta.get_field(name).column)  # type: ignore[union-attr]


def _field(value: object) -> str:
    if value is None:
        return ""
    text = "t" if value is True else "f" if value is False else str(value)
    return '"' + text.replace('"', '""') + '"'

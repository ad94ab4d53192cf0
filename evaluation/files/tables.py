"""One reader for everything that comes in: any file, as rows of a kind, with their lines.

A file is lines of columns (by spaces or tabs; under a line of names, also by commas or semicolons), JSON lines, JSON,
or Parquet; plain or compressed. Which it is, is seen in it. A reader asks for a kind of evaluation.files.dialects:

    with open_table(source, "qrels", name=name) as table:
        for line, (query, passage, grade) in table:
            ...

That gives the roles of the kind in their order, each by the rule of its type (evaluation.files.kinds), and None for a
role that the file does not have. Whatever is wrong is a BadInput that names file, line, column and value. A reader that
tells several faults together, or takes a tool's records by the tool's own names, goes through them itself:

    for at, record in table.records():
        query, passage, grade = table.row(at, record)   # or record[table.named("Input.query")]
        raise table.fault(at, "no answer.")             # says “line 7”, or “record 7” in JSON, which has no lines

`table.dialect` says whose file it is, `table.columns` which names it has; a record is a mapping if it has names, and
else the list of a line's columns. A line of names is never a row: it is known where all that is needed is named in it,
in any case, as often as joined files repeat it, and refused where it names a query or an id but not what is needed.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from evaluation.errors import BadInput
from evaluation.files import parquetfiles
from evaluation.files.dialects import KINDS, Dialect, Kind, columns_of, dialect_of, is_named
from evaluation.files.kinds import TYPES, Mistyped
from evaluation.files.textfiles import (
    COLUMN_LIMITS,
    LIMITS,
    Limits,
    Source,
    TextFile,
    columns,
    counted,
    name_of,
    open_source,
    quote_value,
)

Form = Literal["lines", "named lines", "JSON lines", "JSON", "Parquet"]
Record = dict[str, Any] | list[str]
_Plan = list[tuple[Callable[[object, str], object] | None, Any, str]]

JSON_BYTES = 200 << 20  # of a file of JSON that is no JSON lines: it has to be in memory at once
NAMED = 10  # columns that a message names
JSON_START = re.compile(r"\s*(\{\s*(\"|\}|$)|\[\s*(\{|\[|\]|$))")
_POINT_ZERO = re.compile(r"-?[0-9]+\.0", re.ASCII)
_ADDRESS = re.compile(r"[^\s]+\thttps?://\S+\t")
_WHOLE_CELL = re.compile(r'"((?:[^"]|"")*)"')
NESTED = ("query", "passage", "score")  # as ranx and pytrec_eval have it: {query: {passage: score}}
csv.field_size_limit(LIMITS.line)


class WrongNames(BadInput):
    """A line that names columns, of which some are needed and missing."""


class Table:
    """A file's rows, to be gone through once. `columns`: the names that it gives them; none if it gives none."""

    def __init__(
        self, name: str, form: Form, kind: Kind, dialect: Dialect | None = None, columns: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.form: Form = form
        self.kind = kind
        self.dialect = dialect
        self.columns = tuple(columns)
        self.file: TextFile | None = None  # none of Parquet
        self._records: Iterator[tuple[int, Record]] = iter(())
        self._plans: dict[object, _Plan] = {}
        self._order: tuple[str, ...] = ()

    def records(self) -> Iterator[tuple[int, Record]]:
        """The rows as the file has them, each with its line (its number, in JSON and in Parquet)."""
        return self._records

    def __iter__(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        for at, record in self._records:
            yield at, self.row(at, record)

    def row(self, at: int, record: Record) -> tuple[Any, ...]:
        """A record as a row of the kind: its roles in order, each of its type. Raises BadInput."""
        shape = tuple(record) if isinstance(record, dict) else len(record)
        plan = self._plans.get(shape) or self._plan(at, record)
        try:
            return tuple([to_type(record[key], what) if to_type else None for to_type, key, what in plan])
        except Mistyped as error:
            raise self.fault(at, str(error)) from None

    def named(self, *names: str) -> str | None:
        """What the file calls the first of these columns that it has, in whatever case."""
        by_name = {column.casefold(): column for column in reversed(self.columns)}
        return next((by_name[name.casefold()] for name in names if name.casefold() in by_name), None)

    def fault(self, at: int, message: str) -> BadInput:
        """What is wrong with the row there."""
        if self.form == "JSON":
            return BadInput(self.name, None, f"record {at:,}: {message}")
        return BadInput(self.name, at, message)

    def _plan(self, at: int, record: Record) -> _Plan:
        """By which type, out of which column, each role of the kind is taken. Raises BadInput where one is missing."""
        plan: _Plan
        if isinstance(record, dict):
            columns = columns_of(self.kind, record)
            if columns is None:
                raise self.fault(at, f"has {_told(tuple(record))}, where {self.kind.have} {self.kind.needs}.")
            named = zip(self.kind.roles, columns.names, strict=True)
            plan = [(TYPES[role.type] if name else None, name, name or "") for role, name in named]
            if len(self._plans) < 1_000:  # records of JSON may all differ
                self._plans[tuple(record)] = plan
            return plan
        order = self._order_of(at, record)
        plan = [
            (TYPES[role.type], order.index(role.name), role.name) if role.name in order else (None, 0, "")
            for role in self.kind.roles
        ]
        self._plans[len(record)] = plan
        return plan

    def _order_of(self, at: int, record: list[str]) -> tuple[str, ...]:
        """Which column is what; all rows are as the first."""
        orders = (self._order,) if self._order else self.kind.orders
        for order in orders:
            if _least(self.kind, order) <= len(record) <= len(order):
                self._order = order
                return order[: len(record)]
        if not any(_least(self.kind, order) <= len(record) <= len(order) for order in self.kind.orders):
            orders = self.kind.orders  # it is none of them, whatever the first row is
        counts = " or ".join(sorted(_counts(self.kind, order) for order in orders))
        needed = f"{counts} ({' '.join(role or '0' for role in orders[0])})"
        raise self.fault(at, f"{counted(len(record), 'column')} where {self.kind.have} {needed}.")


def _least(kind: Kind, roles: Sequence[str | None]) -> int:
    """How many columns a row of so many has at least."""
    least = len(roles)
    while least and roles[least - 1] in kind.may_end:
        least -= 1
    return least


def _counts(kind: Kind, order: Sequence[str]) -> str:
    least = _least(kind, order)
    return str(len(order)) if least == len(order) else f"{least} to {len(order)}"


@contextmanager
def open_table(
    source: Source, *kinds: str, name: str | None = None, limits: Limits = COLUMN_LIMITS, skip_blank: bool = False
) -> Iterator[Table]:
    """A file as a table of one of some kinds, the first where it has no names. `limits`: of lines without names.

    A binary file object is read from where it stands, and not closed. Raises BadInput where the file cannot be opened,
    is empty or damaged, or has names that are of none of these kinds.
    """
    name = name_of(source) if name is None else name
    with open_source(source, name) as file:
        yield _table(file, kinds, name, limits, skip_blank)


def read_table(source: Source, *kinds: str, name: str | None = None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of a file, as `open_table` gives them."""
    with open_table(source, *kinds, name=name) as table:
        yield from table


def is_plain(source: Source, kind: str, *, name: str) -> bool:
    """Whether a file is lines without names, which a reader may read in a faster way of its own; what cannot be looked
    into before it is read, and what is damaged, is taken for that. Raises BadInput where its names are wrong.
    """
    if isinstance(source, str | os.PathLike):
        try:
            file = Path(source).open("rb")  # noqa: SIM115 (closed below)
        except (OSError, ValueError):
            return True
        with file:
            return is_plain(file, kind, name=name)
    if not source.seekable():
        return True
    if parquetfiles.is_parquet(source):
        return False
    try:
        return _table(source, (kind,), name, COLUMN_LIMITS, skip_blank=False).form == "lines"
    except WrongNames:
        raise
    except BadInput:
        return True


def _table(source: BinaryIO, kinds: tuple[str, ...], name: str, limits: Limits, skip_blank: bool) -> Table:
    if source.seekable() and parquetfiles.is_parquet(source):
        return _parquet(source, kinds, name)
    file = TextFile(source, name=name, limits=limits._replace(line=LIMITS.line))
    rows = file.rows()
    if skip_blank:
        rows = ((line, row) for line, row in rows if row.strip())
    line, first = next(rows, (0, ""))
    if not line:
        raise BadInput(name, 1, "the file has no lines.")
    every = _with_first((line, first), rows)
    if JSON_START.match(first):
        table = _json(first, every, kinds, name)
    else:
        table = _named(first, every, kinds, name) or _lines(first, every, kinds, name, limits)
    table.file = file
    return table


def _with_first(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _told(names: Sequence[str]) -> str:
    if not names:
        return "no columns"
    more = " …" if len(names) > NAMED else ""
    return f"the columns {', '.join(quote_value(name) for name in names[:NAMED])}{more}"


def _wrong(name: str, line: int | None, names: Sequence[str], kinds: Sequence[str]) -> WrongNames:
    """That the names of a file's columns are those of nothing, or of something else."""
    if len(kinds) > 2:  # whatever it is, it is none of all these
        return WrongNames(name, line, f"has {_told(names)}, which belong to nothing that is read.")
    other = dialect_of(names, KINDS)
    kind_of_columns = f", as {other.kind} have" if other else ""
    needs = " or ".join(KINDS[kind].needs for kind in kinds[:1])
    return WrongNames(name, line, f"has {_told(names)}{kind_of_columns}, where {KINDS[kinds[0]].have} {needs}.")


# --- lines


def _lines(first: str, rows: Iterator[tuple[int, str]], kinds: tuple[str, ...], name: str, limits: Limits) -> Table:
    kind = KINDS[kinds[0]]
    table = Table(name, "lines", kind)
    most = max(map(len, kind.orders), default=0)
    least = _least(kind, kind.orders[0]) if kind.may_end else sys.maxsize
    has_address = kind.is_text and _ADDRESS.match(first) is not None and first.count("\t") >= len(kind.with_address) - 1
    if has_address and kind.with_address:
        table._order, most = kind.with_address, len(kind.with_address)

    def split(row: str) -> list[str]:
        if kind.is_text:
            return row.split("\t", most - 1)
        parts = columns(row)
        # Names with spaces, and tabs between; or cells that may be empty.
        if "\t" in row and (len(parts) > most or row.count("\t") >= least - 1):
            parts = [part.strip(" ") for part in row.strip("\t").split("\t")]
        return parts

    cells = split(first)
    if kind.orders and len(cells) > 1 and is_named(kind, kind.orders[0][0], cells[0]):
        raise _wrong(name, 1, cells, kinds)
    if not kind.is_text and len(cells) == 1 and len(others := _cells(first, _delimiter(first))) > 1:
        raise _wrong(name, 1, others, kinds)

    most_characters = LIMITS.line if kind.is_text else limits.line // 4

    def records() -> Iterator[tuple[int, Record]]:
        for line, row in rows:
            if len(row) > most_characters and len(row.encode()) > limits.line:
                raise BadInput(name, line, f"a line of more than {limits.line:,} bytes.")
            parts = split(row)
            if len(parts) == 1 and kind.is_text:
                raise BadInput(name, line, f"no tab where a line is an id, a tab and a text: {quote_value(row)}")
            yield line, parts

    table._records = records()
    return table


# --- lines under a line of names


def _delimiter(line: str) -> str:
    return next((mark for mark in "\t,;" if mark in line), " ")


def _cells(row: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return columns(row)
    try:
        cells = next(csv.reader([row], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def _named(first: str, rows: Iterator[tuple[int, str]], kinds: tuple[str, ...], name: str) -> Table | None:
    """A table whose first line names its columns; None if it does not, and `rows` is as it was."""
    delimiter = _delimiter(first)
    names = _cells(first, delimiter)
    dialect = dialect_of(names, kinds)
    if dialect is None or (delimiter == " " and KINDS[dialect.kind].is_text):
        return None
    kind = KINDS[dialect.kind]
    table = Table(name, "named lines", kind, dialect, names)
    used = columns_of(kind, names) if dialect.by_roles else None
    for column in used.names if used else ():
        if column is not None and [other.casefold() for other in names].count(column.casefold()) > 1:
            raise BadInput(name, 1, f"names the column {column} twice.")
    ids = {
        names.index(column): column
        for role, column in zip(kind.roles, used.names if used else (), strict=False)
        if column is not None and role.type == "id"
    }
    by_line = delimiter == " " or (delimiter == "\t" and kind.is_text)
    roles = {column: role.name for role, column in zip(kind.roles, used.names if used else (), strict=False)}
    least = _least(kind, [roles.get(column) for column in names])

    def records() -> Iterator[tuple[int, Record]]:
        floats: dict[int, str] | None = None  # ids that all end in .0 so far, by column, with the first
        began = 0
        split = _split_lines(rows, delimiter) if by_line else _split_csv(rows, delimiter, name)
        for line, values in split:
            cells = [value.strip() for value in values] if values[:1] and values[0].strip() == names[0] else values
            if cells == names:  # again in each of several files that were joined
                continue
            if not least <= len(values) <= len(names):
                message = f"{counted(len(values), 'column')} where the first line names {len(names)} ({_told(names)})."
                raise BadInput(name, line, message)
            if floats is None:
                began = line
                floats = {at: values[at] for at in ids}
            if floats:
                floats = {at: value for at, value in floats.items() if _POINT_ZERO.fullmatch(values[at])}
            yield line, dict(zip(names, values, strict=False))
        if floats is None:
            raise BadInput(name, 2, "no row follows the names of the columns.")
        for at, value in floats.items():
            problem = f"{ids[at]} {value}: every {ids[at]} ends in .0, as where a program took ids for numbers."
            message = f"{problem} Write them as text or as whole numbers."
            raise BadInput(name, began, message)

    table._records = records()
    return table


def _split_lines(rows: Iterator[tuple[int, str]], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """A row a line. A cell in quotes has them left out, if they are whole: a text may have some of its own."""
    for line, row in rows:
        if delimiter == " ":
            yield line, columns(row)
        elif '"' not in row:
            yield line, row.split(delimiter)
        else:
            cells = row.split(delimiter)
            yield line, [whole[1].replace('""', '"') if (whole := _WHOLE_CELL.fullmatch(c)) else c for c in cells]


def _split_csv(rows: Iterator[tuple[int, str]], delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of CSV. A value in quotes may go on over lines; the line is where its row begins."""
    at: list[int] = []

    def lines() -> Iterator[str]:
        for line, row in rows:
            at.append(line)
            yield row + "\n"

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    try:
        for values in reader:
            began = at[0]
            at.clear()
            yield began, values
    except csv.Error as error:
        raise BadInput(name, at[0] if at else None, f"not a row of CSV ({error}).") from None


# --- JSON


def _json(first: str, rows: Iterator[tuple[int, str]], kinds: tuple[str, ...], name: str) -> Table:
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        nested = is_nested(value, kinds)
        table = _of_records(name, "JSON lines", kinds, NESTED if nested else tuple(value))
        table._records = _unnested(_json_lines(rows, name), table) if nested else _json_lines(rows, name)
        return table
    values = _whole_json(rows, name)
    nested = isinstance(values, dict) and is_nested(values, kinds)
    records = values if isinstance(values, list) else [values]
    names = next((tuple(map(str, record)) for record in records if isinstance(record, dict)), ())
    table = _of_records(name, "JSON", kinds, NESTED if nested else names)
    numbered = _json_records(records, table)
    table._records = _unnested(numbered, table) if nested else numbered
    return table


def _of_records(name: str, form: Form, kinds: tuple[str, ...], names: Sequence[str]) -> Table:
    """A table of JSON, by the names in its first record: a later one may have others."""
    dialect = dialect_of(names, kinds)
    return Table(name, form, KINDS[dialect.kind if dialect else kinds[0]], dialect, names)


def is_nested(value: Mapping[str, Any], kinds: tuple[str, ...]) -> bool:
    """Whether an object is a run or qrels: passages with scores by query."""
    is_known = dialect_of(value, kinds) is not None
    return not is_known and bool(value) and all(isinstance(hits, dict) for hits in value.values())


def _json_lines(rows: Iterator[tuple[int, str]], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in rows:
        try:
            value = json.loads(row)
        except (ValueError, RecursionError) as error:
            raise BadInput(name, line, f"not JSON ({error}), as the first line is.") from None
        if not isinstance(value, dict):
            raise BadInput(name, line, "not a JSON object.")
        yield line, value


def _whole_json(rows: Iterator[tuple[int, str]], name: str) -> Any:
    size, parts, began = 0, list[str](), 1
    for line, row in rows:
        began = began if parts else line
        size += len(row)
        if size > JSON_BYTES:
            raise BadInput(name, None, f"more than {JSON_BYTES:,} bytes of JSON. Write JSON lines: an object a line.")
        parts.append(row)
    try:
        value = json.loads("\n".join(parts))
    except (ValueError, RecursionError) as error:
        raise BadInput(name, began + getattr(error, "lineno", 1) - 1, f"not JSON ({error}).") from None
    if not value:
        raise BadInput(name, None, "holds no records.")
    return value


def _json_records(values: list[Any], table: Table) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise table.fault(number, "not a JSON object.")
        yield number, value


def _unnested(records: Iterator[tuple[int, dict[str, Any]]], table: Table) -> Iterator[tuple[int, dict[str, Any]]]:
    is_empty = True
    for at, record in records:
        for query, hits in record.items():
            if not isinstance(hits, dict):
                raise table.fault(at, f"query {quote_value(query)} without passages, as the others have.")
            for passage, score in hits.items():
                is_empty = False
                yield at, dict(zip(NESTED, (query, passage, score), strict=True))
    if is_empty:
        raise BadInput(table.name, None, "holds no records.")


# --- Parquet


def _parquet(source: BinaryIO, kinds: tuple[str, ...], name: str) -> Table:
    file = parquetfiles.open_parquet(source, name)
    names = list(file.schema_arrow.names)
    dialect = dialect_of(names, kinds)
    if dialect is None:
        raise _wrong(name, None, names, kinds)
    kind = KINDS[dialect.kind]
    used = columns_of(kind, names)
    names_used = [column for column in used.names if column] if used else names
    ids = {column for role, column in zip(kind.roles, used.names, strict=True) if role.type == "id"} if used else set()
    table = Table(name, "Parquet", kind, dialect, names)
    table._records = parquetfiles.rows(file, source, names_used, {column for column in ids if column}, name)
    return table

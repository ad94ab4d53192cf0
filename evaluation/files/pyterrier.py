"""PyTerrier's tables, as CSV, TSV or Parquet: results (`qid, query, docno, score, rank`), qrels (`qid, docno, label`).

They are read as the lines that a run or qrels would have, so that the same reader checks them. Columns are told by
their names, in any order; columns with other names are ignored.
"""

from __future__ import annotations

import csv
import io
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from evaluation.errors import BadInput
from evaluation.files import pageheaders
from evaluation.files.textfiles import COLUMN_LIMITS, ID_BYTES, LIMITS, Source, TextFile, counted, quote_value

PARQUET = b"PAR1"
RESULTS = ("qid", "docno", "score", "rank")
QRELS = ("qid", "docno", "label")
Table = Literal["results", "qrels", ""]
# A row of results may carry the text of its query.
ROW_LIMITS = COLUMN_LIMITS._replace(line=LIMITS.line)
ROWS = 100_000_000  # of a Parquet file, which can claim any number in a few bytes
# Of the lines that are written in place of a table.
WRITTEN = LIMITS._replace(size=10 << 30)
PAGE = 64 << 20  # bytes of a page of a Parquet file, which is unpacked as a whole; usual are 1 MB
_BATCH = 10_000  # rows in memory
_TAG = "pyterrier"


def table_of(columns: Sequence[str]) -> Table:
    """What a table with these columns is; empty for none of PyTerrier's."""
    named = set(columns)
    if {"qid", "docno", "label"} <= named:
        return "qrels"
    return "results" if {"qid", "docno"} <= named and named & {"score", "rank"} else ""


def header_of(line: str) -> list[str]:
    """The columns that a first line names, by commas or tabs; empty if it is no header of PyTerrier's."""
    names = [name.strip() for name in next(csv.reader([line], delimiter=_delimiter(line)), [])]
    return names if table_of(names) else []


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ","


@contextmanager
def as_lines(source: Source, name: str) -> Iterator[tuple[Source, int]]:
    """The lines of a run or of qrels in place of PyTerrier's table, and how many lines of the table are before them.

    What is no such table, or cannot be looked into before it is read, is given back as it is. Raises BadInput naming
    the line.
    """
    with ExitStack() as stack:
        opened = _open(source, stack)
        if opened is None:
            yield source, 0
            return
        by = 0 if _is_parquet(opened) else 1
        names, rows = _rows_of(opened, name)
        if not names:
            yield source, 0
            return
        written = stack.enter_context(tempfile.TemporaryFile())
        limited = _Limited(written, _size_of(opened), name)
        _write(limited, rows, table_of(names), "rank" in names, "score" in names, name)
        if not written.tell():
            raise BadInput(name, by + 1, "no row follows the names of the columns.")
        written.seek(0)
        yield written, by


class _Limited:
    """A file to which no more is written than a table of `packed` bytes can give."""

    def __init__(self, file: IO[bytes], packed: int, name: str) -> None:
        self._file, self._name, self._written = file, name, 0
        self._most = min(WRITTEN.size, max(WRITTEN.ratio_after, WRITTEN.ratio * packed))

    def write(self, line: str) -> None:
        """Raises BadInput once it is too much."""
        data = line.encode()
        self._written += len(data)
        if self._written > self._most:
            raise BadInput(self._name, None, f"unpacks to more than {self._most:,} bytes.")
        self._file.write(data)


def _size_of(source: BinaryIO) -> int:
    here = source.tell()
    size = source.seek(0, os.SEEK_END)
    source.seek(here)
    return size


def _open(source: Source, stack: ExitStack) -> BinaryIO | None:
    if isinstance(source, str | PathLike):
        try:
            file = Path(source).open("rb")  # noqa: SIM115 (closed by the stack)
        except (OSError, ValueError):  # the reader says so
            return None
        source = stack.enter_context(file)
    return source if source.seekable() else None


def _is_parquet(source: BinaryIO) -> bool:
    start = source.tell()
    head = source.read(len(PARQUET))
    source.seek(start)
    return head == PARQUET


def _rows_of(source: BinaryIO, name: str) -> tuple[list[str], Iterator[tuple[int, dict[str, Any]]]]:
    """The names of a table's columns and its rows by line; no names, and the source as it was, if it is none."""
    if _is_parquet(source):
        rows, names = _parquet_rows(source, name)
        return names, rows
    start = source.tell()
    lines = TextFile(source, name=name, limits=ROW_LIMITS).rows()
    try:
        first = next(lines)[1]
        if names := header_of(first):
            return names, _text_rows(lines, names, _delimiter(first), name)
    except (BadInput, csv.Error):  # the reader says so
        pass
    source.seek(start)
    return [], iter(())


def _text_rows(
    lines: Iterator[tuple[int, str]], names: list[str], delimiter: str, name: str
) -> Iterator[tuple[int, dict[str, str]]]:
    for line, text in lines:
        try:
            values = next(csv.reader([text], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            raise BadInput(name, line, f"not a row of CSV ({error}). A row must be one line.") from None
        if len(values) != len(names):
            message = f"{counted(len(values), 'column')} where the first line names {len(names)} ({', '.join(names)})."
            raise BadInput(name, line, message)
        yield line, dict(zip(names, values, strict=True))


def _parquet_rows(source: BinaryIO, name: str) -> tuple[Iterator[tuple[int, dict[str, Any]]], list[str]]:
    try:
        table = parquet.ParquetFile(source)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(name, None, f"cannot be read as Parquet: {error}") from None
    names = list(table.schema_arrow.names)
    kind = table_of(names)
    if not kind:
        needed = f"{', '.join(RESULTS)} (results) or {', '.join(QRELS)} (qrels)"
        raise BadInput(name, None, f"has the columns {', '.join(names[:10])}, where PyTerrier's are {needed}.")
    wanted = [column for column in names if column in (*RESULTS, "label")]
    _check_parquet(table, source, wanted, source.seek(0, io.SEEK_END), name)

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        number = 0
        try:
            # Texts stay in dictionaries: a long one that is in all rows would else be copied for each.
            texts = parquet.ParquetFile(source, metadata=table.metadata, read_dictionary=wanted, pre_buffer=False)
            for batch in texts.iter_batches(batch_size=_BATCH, columns=wanted):
                values = [
                    _values(column, of, name, number + 1) for column, of in zip(batch.columns, wanted, strict=True)
                ]
                for row in zip(*values, strict=True):
                    number += 1
                    yield number, dict(zip(wanted, row, strict=True))
        except (pa.ArrowException, OSError) as error:
            raise BadInput(name, number + 1, f"damaged Parquet data ({error}).") from None

    return rows(), names


def _check_parquet(table: Any, source: BinaryIO, wanted: Sequence[str], held: int, name: str) -> None:
    """Raises BadInput for what can stand for far more than the file holds (`held` bytes): rows, lists, pages, texts
    that share, and columns that are said to be larger than the file.
    """
    if table.metadata.num_rows > ROWS:
        raise BadInput(name, None, f"has {table.metadata.num_rows:,} rows; {ROWS:,} are read at most.")
    for column in wanted:
        kind = table.schema_arrow.field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (_is_text(kind) or any(is_kind(kind) for is_kind in _NUMBERS)):
            raise BadInput(name, None, f"the column {column} is of the type {kind}, where text or numbers are needed.")
    for number in range(table.metadata.num_row_groups):
        group = table.metadata.row_group(number)
        for at in range(group.num_columns):
            part = group.column(at)
            column = part.path_in_schema
            if column not in wanted:
                continue
            if "DELTA_BYTE_ARRAY" in part.encodings:
                raise BadInput(name, None, f"the column {column} is encoded as DELTA_BYTE_ARRAY, which is not read.")
            size, packed = part.total_uncompressed_size, part.total_compressed_size
            if not 0 <= packed <= held or part.num_values != group.num_rows:
                said = f"{part.num_values:,} values in {packed:,} bytes"
                rest = f"where there are {group.num_rows:,} rows, and the file has {held:,} bytes."
                raise BadInput(name, None, f"the column {column} is said to have {said}, {rest}")
            starts = [place for place in (part.dictionary_page_offset, part.data_page_offset) if place is not None]
            size = max(size, _unpacked(source, min(starts), packed, column, name))
            if size > LIMITS.ratio_after and size > LIMITS.ratio * packed:
                message = f"the column {column} unpacks to more than {LIMITS.ratio} times its packed size."
                raise BadInput(name, None, message)


def _unpacked(source: BinaryIO, start: int, length: int, column: str, name: str) -> int:
    """To how many bytes the pages of a column in one row group unpack, as their own headers say: the end of the file,
    which says it too, may lie. Raises BadInput where a page is larger than `PAGE` or a header cannot be read.
    """
    at, end, size = start, start + length, 0
    while at < end:
        source.seek(at)
        header = pageheaders.read(source.read(pageheaders.MOST))
        if header is None or header.packed > end - at - header.length:
            raise BadInput(name, None, f"the column {column} has a page whose header cannot be read.")
        if header.unpacked > PAGE:
            said = f"a page of {header.unpacked:,} bytes, where {PAGE:,} are read at most"
            raise BadInput(name, None, f"the column {column} has {said}.")
        size += header.unpacked
        at += header.length + header.packed
    return size


_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _values(column: Any, of: str, name: str, line: int) -> list[Any]:
    """The values of a batch's column. Raises BadInput where a text is longer than an id may be."""
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    if _is_text(column.type.value_type):
        used = compute.unique(column.indices).drop_null()
        long = compute.greater(compute.binary_length(column.dictionary.take(used)), ID_BYTES)
        if (at := compute.index(long, True).as_py()) >= 0:
            row = compute.index(column.indices, used[at]).as_py()
            raise BadInput(name, line + row, f"{of} is longer than {ID_BYTES:,} bytes.")
    return list(column.dictionary_decode().to_pylist())


def _write(
    file: _Limited, rows: Iterator[tuple[int, dict[str, Any]]], kind: Table, has_rank: bool, has_score: bool, name: str
) -> None:
    """Without ranks, those of a query are in the order of its rows; without scores, they follow from the ranks."""
    last, position = "", 0
    for line, row in rows:
        query, passage = _id(row["qid"], "qid", name, line), _id(row["docno"], "docno", name, line)
        if kind == "qrels":
            file.write(f"{query} 0 {passage} {_text(row['label'])}\n")
            continue
        position = position + 1 if query == last else 0
        last = query
        rank = _text(row["rank"]) if has_rank else str(position)
        score = _text(row["score"]) if has_score else _negative(rank, name, line)
        if "" in (rank, score) or len((rank + score).split()) != 1:
            empty = "rank" if rank.split() != [rank] else "score"
            raise BadInput(name, line, f"{empty} '{quote_value(rank if empty == 'rank' else score)}' is not a number.")
        file.write(f"{query} Q0 {passage} {rank} {score} {_TAG}\n")


def _negative(rank: str, name: str, line: int) -> str:
    try:
        return str(-int(rank))
    except ValueError:
        raise BadInput(name, line, f"rank {quote_value(rank)} is not a whole number.") from None


def _text(value: Any) -> str:
    """A number as its file has it; whole numbers of a column of floats without their point."""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() else repr(value)
    text = "" if value is None else str(value).strip()
    whole, point, rest = text.partition(".")
    return whole if point and rest.strip("0") == "" and whole.lstrip("+-").isdecimal() else text


def _id(value: Any, column: str, name: str, line: int) -> str:
    text = "" if value is None else str(value)
    if text.split() != [text] or "\0" in text:
        raise BadInput(name, line, f"{column} '{quote_value(text)}' where an id without spaces is needed.")
    return text

"""Rows out of Parquet, within bounds: a small file can stand for far more than it holds."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from evaluation.errors import BadInput
from evaluation.files import pageheaders
from evaluation.files.textfiles import ID_BYTES, LIMITS

MAGIC = b"PAR1"
ROWS = 100_000_000  # of a file, which can claim any number in a few bytes
PAGE = 64 << 20  # bytes of a page, which is unpacked as a whole; usual are 1 MB
MOST = 10 << 30  # bytes of all values
_BATCH = 10_000  # rows in memory
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
_ERRORS = (pa.ArrowException, OSError, UnicodeDecodeError)


def is_parquet(source: BinaryIO) -> bool:
    """Whether a seekable file is Parquet; it stays where it stands."""
    start = source.tell()
    head = source.read(len(MAGIC))
    source.seek(start)
    return head == MAGIC


def open_parquet(source: BinaryIO, name: str) -> Any:
    """The file, of which nothing but the end has been read. Raises BadInput."""
    try:
        return parquet.ParquetFile(source)
    except _ERRORS as error:
        raise BadInput(name, None, f"cannot be read as Parquet: {_in_a_line(error)}") from None


def _in_a_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def rows(
    table: Any, source: BinaryIO, columns: Sequence[str], ids: Collection[str], name: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows, numbered from 1, with the columns that are wanted. `ids`: those that hold ids, whose length is bounded.

    Raises BadInput, before anything is unpacked where that would be out of all proportion.
    """
    file_size = source.seek(0, io.SEEK_END)
    _check(table, source, columns, file_size, name)
    number, size, most = 0, 0, min(MOST, max(LIMITS.ratio_after, LIMITS.ratio * file_size))
    try:
        # Texts stay in dictionaries: a long one that is in all rows would else be copied for each.
        file = parquet.ParquetFile(source, metadata=table.metadata, read_dictionary=list(columns), pre_buffer=False)
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(columns)):
            values = []
            for column, of in zip(batch.columns, batch.schema.names, strict=True):
                column_values, length = _values(column, of if of in ids else "", name, number + 1)
                values.append(column_values)
                size += length
            if size > most:
                raise BadInput(name, None, f"unpacks to more than {most:,} bytes.")
            for row in zip(*values, strict=True):
                number += 1
                yield number, dict(zip(batch.schema.names, row, strict=True))
    except _ERRORS as error:
        raise BadInput(name, number + 1, f"damaged Parquet data ({_in_a_line(error)}).") from None
    if not number:
        raise BadInput(name, 1, "no row follows the names of the columns.")


def _check(table: Any, source: BinaryIO, columns: Sequence[str], file_size: int, name: str) -> None:
    """Raises BadInput for what can stand for far more than the file holds (`held` bytes): rows, lists, pages, texts
    that share, and columns that are said to be larger than the file.
    """
    if table.metadata.num_rows > ROWS:
        raise BadInput(name, None, f"has {table.metadata.num_rows:,} rows; {ROWS:,} are read at most.")
    for column in columns:
        if table.schema_arrow.names.count(column) > 1:
            raise BadInput(name, None, f"names the column {column} twice.")
        kind = table.schema_arrow.field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (_is_text(kind) or any(is_kind(kind) for is_kind in _NUMBERS)):
            raise BadInput(name, None, f"the column {column} is of the type {kind}, where text or numbers are needed.")
    leaves = len(table.schema.names)
    groups = pageheaders.read_parts(source)
    if groups is None or any(len(group) != leaves for group in groups):
        raise BadInput(name, None, "damaged Parquet data (what its end says of columns cannot be read).")
    for group in groups:
        for at, part in enumerate(group):
            column = table.schema.column(at).path
            if column not in columns:
                continue
            if pageheaders.DELTA_BYTE_ARRAY in part.encodings:
                raise BadInput(name, None, f"the column {column} is encoded as DELTA_BYTE_ARRAY, which is not read.")
            if not 0 <= part.packed <= file_size or part.start < 0 or part.values != part.rows:
                problem = f"{part.values:,} values in {part.packed:,} bytes"
                rest = f"where there are {part.rows:,} rows, and the file has {file_size:,} bytes."
                raise BadInput(name, None, f"the column {column} is said to have {problem}, {rest}")
            size = max(part.unpacked, _unpacked(source, part.start, part.packed, column, name))
            if size > LIMITS.ratio_after and size > LIMITS.ratio * part.packed:
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
            problem = f"a page of {header.unpacked:,} bytes, where {PAGE:,} are read at most"
            raise BadInput(name, None, f"the column {column} has {problem}.")
        size += header.unpacked
        at += header.length + header.packed
    return size


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _values(column: Any, id_column: str, name: str, line: int) -> tuple[list[Any], int]:
    """The values of a batch's column, and of how many bytes they are. Raises BadInput where an id is too long."""
    if not pa.types.is_dictionary(column.type):
        return [float(value) if pa.types.is_decimal(column.type) and value is not None else value
                for value in column.to_pylist()], 8 * len(column)  # fmt: skip
    used = compute.unique(column.indices).drop_null()
    chosen = column.dictionary.take(used)
    is_text = _is_text(column.type.value_type)
    if is_text and id_column:
        long = compute.greater(compute.binary_length(chosen), ID_BYTES)
        if (at := compute.index(long, True).as_py()) >= 0:
            row = compute.index(column.indices, used[at]).as_py()
            raise BadInput(name, line + row, f"{id_column} is longer than {ID_BYTES:,} bytes.")
    values: dict[int | None, Any] = dict(zip(used.to_pylist(), chosen.to_pylist(), strict=True))
    values[None] = None
    lengths = {at: len(value) if isinstance(value, str) else 8 for at, value in values.items()}
    indices = column.indices.to_pylist()
    return [values[at] for at in indices], sum(lengths[at] for at in indices)

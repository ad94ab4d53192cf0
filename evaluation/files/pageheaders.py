"""What a Parquet file says of its pages and of its columns: structs in Thrift's compact protocol.

Arrow reads a page whole, however large its header says it is, and offers no way to ask for that size before. Asked what
the end of a file says of a column, it ends the whole process where that contradicts itself.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO, NamedTuple

MOST = 64 << 10  # bytes that a header may have; it may hold the least and the greatest value of its page
FOOTER = 2 << 20  # bytes that the end of a file may have
_DEPTH = 8  # structs and lists within each other

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_UNPACKED, _PACKED = 2, 3  # the fields of a page header that hold its sizes


class PageHeader(NamedTuple):
    """Bytes: of the header itself, and of what follows it, unpacked and packed."""

    length: int
    unpacked: int
    packed: int


class Part(NamedTuple):
    """What is said of one column in one group of rows: how many of these and of its values, bytes unpacked and packed,
    and where in the file its first page starts.
    """

    rows: int
    values: int
    unpacked: int
    packed: int
    start: int
    encodings: tuple[int, ...]


DELTA_BYTE_ARRAY = 7  # among encodings


def read_parts(source: BinaryIO) -> list[list[Part]] | None:
    """By group of rows, what a file says of each of its columns, in order. None where that is damaged or too long."""
    size = source.seek(0, io.SEEK_END)
    source.seek(max(0, size - 8))
    length = int.from_bytes(source.read(8)[:4], "little")
    if length > min(FOOTER, size - 8):
        return None
    source.seek(size - 8 - length)
    try:
        groups = _Reader(source.read(length)).struct(0)[4]
        return [[_part(group, chunk[3]) for chunk in group[1]] for group in groups]
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _part(group: dict[int, Any], column: dict[int, Any]) -> Part:
    rows, values, unpacked, packed = group[3], column[5], column[6], column[7]
    starts = [column[field] for field in (9, 11) if field in column]
    if not all(isinstance(number, int) for number in (rows, values, unpacked, packed, *starts)):
        raise TypeError(column)
    return Part(rows, values, unpacked, packed, min(starts), tuple(column[2]))


def read(content: bytes) -> PageHeader | None:
    """The header that the bytes begin with, or None if they begin with none."""
    reader = _Reader(content)
    try:
        sizes = reader.struct(0)
    except (IndexError, ValueError):
        return None
    unpacked, packed = sizes.get(_UNPACKED), sizes.get(_PACKED)
    if not isinstance(unpacked, int) or not isinstance(packed, int) or min(unpacked, packed) < 0:
        return None
    return PageHeader(reader.at, unpacked, packed)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Its numbers, lists and structs by field. Raises ValueError or IndexError where the bytes are none."""
        if depth > _DEPTH:
            raise ValueError("too deep")
        values: dict[int, Any] = {}
        field = 0
        while (byte := self._byte()) != 0:
            step, kind = byte >> 4, byte & 0xF
            field = field + step if step else self._number()
            value = self._value(kind, depth, is_field=True)
            if value is not None:
                values[field] = value
        return values

    def _value(self, kind: int, depth: int, is_field: bool = False) -> Any:
        if kind in (_TRUE, _FALSE):
            if not is_field:  # in a list, a byte of its own
                self._byte()
        elif kind == _BYTE:
            self._byte()
        elif kind in (_I16, _I32, _I64):
            return self._number()
        elif kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in (_LIST, _SET):
            return self._list(depth)
        elif kind == _STRUCT:
            return self.struct(depth + 1)
        else:  # a map, of which page headers have none
            raise ValueError(f"a value of kind {kind}")
        return None

    def _list(self, depth: int) -> list[Any]:
        if depth > _DEPTH:
            raise ValueError("too deep")
        head = self._byte()
        count = head >> 4 if head >> 4 != 15 else self._varint()
        # Each takes a byte at least.
        return [self._value(head & 0xF, depth + 1) for _ in range(min(count, len(self._content) + 1))]

    def _byte(self) -> int:
        self.at += 1
        return self._content[self.at - 1]

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self._content):
            raise IndexError(self.at)

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return value | byte << shift

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

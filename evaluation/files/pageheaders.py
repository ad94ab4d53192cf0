"""The header of a page in a Parquet file, as far as its sizes: a struct in Thrift's compact protocol.

Arrow reads a page whole, however large its header says it is, and offers no way to ask for that size before.
"""

from __future__ import annotations

from typing import NamedTuple

MOST = 64 << 10  # bytes that a header may have; it may hold the least and the greatest value of its page
_DEPTH = 8  # structs and lists within each other

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_UNPACKED, _PACKED = 2, 3  # the fields of a page header that hold its sizes


class PageHeader(NamedTuple):
    """Bytes: of the header itself, and of what follows it, unpacked and packed."""

    length: int
    unpacked: int
    packed: int


def read(content: bytes) -> PageHeader | None:
    """The header that the bytes begin with, or None if they begin with none."""
    reader = _Reader(content)
    try:
        sizes = reader.struct(0)
    except (IndexError, ValueError):
        return None
    unpacked, packed = sizes.get(_UNPACKED, -1), sizes.get(_PACKED, -1)
    return None if min(unpacked, packed) < 0 else PageHeader(reader.at, unpacked, packed)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def struct(self, depth: int) -> dict[int, int]:
        """The numbers among its fields. Raises ValueError or IndexError where the bytes are none."""
        if depth > _DEPTH:
            raise ValueError("too deep")
        numbers: dict[int, int] = {}
        field = 0
        while (byte := self._byte()) != 0:
            step, kind = byte >> 4, byte & 0xF
            field = field + step if step else self._number()
            value = self._value(kind, depth, is_field=True)
            if value is not None:
                numbers[field] = value
        return numbers

    def _value(self, kind: int, depth: int, is_field: bool = False) -> int | None:
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
            self._list(depth)
        elif kind == _STRUCT:
            self.struct(depth + 1)
        else:  # a map, of which page headers have none
            raise ValueError(f"a value of kind {kind}")
        return None

    def _list(self, depth: int) -> None:
        if depth > _DEPTH:
            raise ValueError("too deep")
        head = self._byte()
        count = head >> 4 if head >> 4 != 15 else self._varint()
        for _ in range(min(count, len(self._content) + 1)):  # each takes a byte at least
            self._value(head & 0xF, depth + 1)

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

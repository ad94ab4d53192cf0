"""Line by line out of a file that may be compressed, damaged or hostile, in memory that stays flat.

Compression is told by the first bytes, never by the name. Whatever is wrong with the file (cut short, damaged, grown
out of all proportion, a line without end) is a BadInput that names the line reached.
"""

from __future__ import annotations

import bz2
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
import zstandard

from evaluation.errors import BadInput, EmptyFile

# A path, or a binary file object as Django's storages give them (read from its current position, and not closed).
Source = str | os.PathLike[str] | BinaryIO

BOM = b"\xef\xbb\xbf"
# What begins like this is no text, and is named: at the start of a file, or of what it unpacks to.
_OTHERS = (
    (b"\xfd7zXZ\0", "compressed by xz"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x04\x22\x4d\x18", "compressed by lz4"),
    (b"\x1f\x8b", "compressed twice"),
    (b"BZh", "compressed twice"),
    (b"\x28\xb5\x2f\xfd", "compressed twice"),
    (b"PAR1", "Parquet, which is read as it is, and from a file"),
)
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(\0[^\0]){2}|([^\0]\0){2}")
BLOCK = 4 << 20  # bytes handed on at a time: large enough for array work, small enough to stay in cache
ROWS = 256 << 10  # bytes split into lines at a time: many readers want only the first
NAMED_LINES = 100  # how many errors are told one by one


class Limits(NamedTuple):
    """How far a file may go, in bytes. A compressed file past `ratio_after` may be `ratio` times its packed size."""

    line: int = 16 << 20
    size: int = 256 << 30
    ratio: int = 200
    ratio_after: int = 16 << 20


LIMITS = Limits()
# For files of columns: ids are short, and a store may not hold long ones (PostgreSQL indexes 2,704 bytes).
COLUMN_LIMITS = LIMITS._replace(line=2 << 10)
ID_BYTES = 1 << 10


class Block(NamedTuple):
    """`lines` whole lines from number `line` on, counted from 1. Only a file's last may lack the last newline."""

    line: int
    lines: int
    data: bytes


class Damaged(Exception):
    """The bytes end or break off here: what came before is still good."""


class TextFile:
    """A source, read once from its start. What was seen is in `bom`, `marks`, `lines`, `missing_last_newline`.

    A byte order mark at the start of any line, as files that were joined have it, is no part of the line.
    """

    def __init__(self, source: Source, *, name: str | None = None, limits: Limits = LIMITS) -> None:
        self.source = source
        self.name = name_of(source) if name is None else name
        self.limits = limits
        self.bom = False
        self.marks = 0  # of files that were joined, beside the first
        self.missing_last_newline = False
        self.lines = 0

    def blocks(self) -> Iterator[Block]:
        """Raises BadInput after the last good line where the file is damaged or breaks a limit, or is empty."""
        with open_source(self.source, self.name) as raw:
            parts: list[bytes] = []
            size, enough = 0, BLOCK
            damage = ""
            chunks = unpack(raw, self.limits)
            while True:
                try:
                    chunk = next(chunks, b"")
                except Damaged as error:
                    chunk, damage = b"", str(error)
                except OSError as error:
                    chunk, damage = b"", f"cannot be read: {error.strerror or error}"
                parts.append(chunk)
                size += len(chunk)
                if chunk and size < enough:
                    continue
                data = b"".join(parts)
                cut = data.rfind(b"\n") + 1 if chunk or damage else len(data)
                if cut:
                    yield from self._whole(data[:cut])
                rest = data[cut:]
                if not damage and len(rest) > self.limits.line:
                    raise self._too_long()
                if not chunk:
                    break
                parts, size, enough = [rest], len(rest), len(rest) + BLOCK
        if damage:
            raise BadInput(self.name, self.lines + 1, damage)
        if not self.lines:
            raise EmptyFile(self.name)

    def rows(self) -> Iterator[tuple[int, str]]:
        """(line number, text without its line end). Raises BadInput, also on a NUL byte and on invalid UTF-8."""
        for block in (part for whole in self.blocks() for part in split_block(whole, ROWS)):
            data = block.data[:-1] if block.data.endswith(b"\n") else block.data
            try:
                text = data.decode()
                if "\0" in text:
                    raise ValueError
            except ValueError:
                for number, line in enumerate(data.split(b"\n"), block.line):
                    yield number, decode_line(line, self.name, number).removesuffix("\r")
            else:
                for number, row in enumerate(text.split("\n"), block.line):
                    yield number, row.removesuffix("\r")

    def _whole(self, data: bytes) -> Iterator[Block]:
        if self.lines == 0 and (what := other_format(data)):
            needed = "Text in UTF-8 is needed, as it is or compressed by gzip, bzip2 or zstandard."
            raise BadInput(self.name, None, f"is {what}. {needed}")
        if BOM in data and (data.startswith(BOM) or b"\n" + BOM in data):
            self.bom = True
            self.marks += data.count(b"\n" + BOM) + (self.lines > 0 and data.startswith(BOM))
            data = data.removeprefix(BOM).replace(b"\n" + BOM, b"\n")
            if not data:
                return
        end = _first_line_over(data, self.limits.line)
        if end is not None:
            if end:
                yield self._counted(data[:end])
            raise self._too_long()
        yield self._counted(data)

    def _counted(self, data: bytes) -> Block:
        count = int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))
        if not data.endswith(b"\n"):
            self.missing_last_newline = True
            count += 1
        block = Block(self.lines + 1, count, data)
        self.lines += count
        return block

    def _too_long(self) -> BadInput:
        return BadInput(self.name, self.lines + 1, f"a line of more than {self.limits.line:,} bytes.")


def other_format(data: bytes) -> str:
    """What a file is that is no text in UTF-8, by its first bytes; empty if it may be."""
    if _UTF_16.match(data):
        return "in UTF-16"
    return next((what for magic, what in _OTHERS if data.startswith(magic)), "")


def split_block(block: Block, size: int) -> Iterator[Block]:
    """The block in parts of about `size` bytes, each of whole lines."""
    line, start = block.line, 0
    while start < len(block.data):
        end = block.data.find(b"\n", start + size) + 1 or len(block.data)
        data = block.data[start:end]
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        yield Block(line, lines, data)
        line, start = line + lines, end


def decode_line(line: bytes, name: str, number: int) -> str:
    """One line as text. Raises BadInput where it holds a NUL byte or is not UTF-8."""
    problem = encoding_problem(line)
    if problem:
        raise BadInput(name, number, problem)
    return line.decode()


def encoding_problem(line: bytes) -> str:
    """Why the line is not text, or an empty string."""
    if b"\0" in line:
        return f"a NUL byte (at byte {line.index(0) + 1:,} of the line)."
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 (0x{line[error.start]:02X} at byte {error.start + 1:,} of the line)."
    return ""


def columns(row: str) -> list[str]:
    """The columns of a line: split at spaces and tabs, and at nothing else that Unicode calls a space."""
    parts = row.replace("\t", " ").split(" ")
    return [part for part in parts if part] if "" in parts else parts


def counted(number: int, singular: str, many: str = "") -> str:
    """`1 column`, `5 columns`, `1,204 lines`."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def quote_value(value: str, width: int = 60) -> str:
    """A value from a file, safe and short enough for a message."""
    text = value if value.isprintable() else ascii(value)[1:-1]
    return text if len(text) <= width else text[: width - 1] + "…"


def name_of(source: Source) -> str:
    """What a message calls the source: its file name."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name
    name = getattr(source, "name", None)
    return Path(name).name if isinstance(name, str) and name else "input"


@contextmanager
def rereadable(source: Source) -> Iterator[Callable[[], Source]]:
    """Gives a function that sets a file object back to where it stands now. A path needs nothing."""
    if isinstance(source, (str, os.PathLike)):
        yield lambda: source
        return
    start = source.tell()

    def again() -> Source:
        source.seek(start)
        return source

    yield again


@contextmanager
def open_source(source: Source, name: str) -> Iterator[BinaryIO]:
    """A file that is opened and closed, or one that is open and stays so. Raises BadInput."""
    if not isinstance(source, (str, os.PathLike)):
        yield source
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115 (closed below: only the opening is guarded here)
    except (OSError, ValueError) as error:
        raise BadInput(name, None, f"cannot be opened: {getattr(error, 'strerror', None) or error}.") from None
    with file:
        yield file


def _first_line_over(data: bytes, limit: int) -> int | None:
    """Where the first line of more than `limit` bytes starts, or None. Lines are hardly ever looked at one by one."""
    if len(data) <= limit:
        return None
    stride = max(1, limit // 2)
    # A newline in every half of the limit leaves no room for a line over it.
    if all(data.find(b"\n", at, at + stride) >= 0 for at in range(0, len(data) - stride, stride)):
        return None
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        if (len(data) if end < 0 else end) - start > limit:
            return start
        if end < 0:
            break
        start = end + 1
    return None


class _Unpacker(Protocol):
    """One compressed stream. `feed` gives at most about BLOCK bytes; `hungry` when it needs more input to go on."""

    def feed(self, data: bytes) -> bytes: ...
    @property
    def hungry(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    @property
    def unused(self) -> bytes: ...


class _Gzip:
    step = 256 << 10

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, BLOCK)

    @property
    def hungry(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def done(self) -> bool:
        return self._stream.eof

    @property
    def unused(self) -> bytes:
        return self._stream.unused_data.lstrip(b"\0")  # gzip lets a file be padded with zeros


class _Bzip2:
    step = 256 << 10

    def __init__(self) -> None:
        self._stream = bz2.BZ2Decompressor()

    def feed(self, data: bytes) -> bytes:
        return self._stream.decompress(data, BLOCK)

    @property
    def hungry(self) -> bool:
        return self._stream.needs_input

    @property
    def done(self) -> bool:
        return self._stream.eof

    @property
    def unused(self) -> bytes:
        return self._stream.unused_data


class _Zstandard:
    # This decoder has no bound on its output, but four bytes can at most stand for 128 KB: so feed it little at a time.
    step = 1 << 10

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()

    def feed(self, data: bytes) -> bytes:
        return self._stream.decompress(data) if data else b""

    @property
    def hungry(self) -> bool:
        return True

    @property
    def done(self) -> bool:
        return self._stream.eof

    @property
    def unused(self) -> bytes:
        return self._stream.unused_data


_KINDS: tuple[tuple[bytes, str, type[_Gzip] | type[_Bzip2] | type[_Zstandard]], ...] = (
    (b"\x1f\x8b", "gzip", _Gzip),
    (b"BZh", "bzip2", _Bzip2),
    (b"\x28\xb5\x2f\xfd", "zstandard", _Zstandard),
    *((bytes([number]) + b"\x2a\x4d\x18", "zstandard", _Zstandard) for number in range(0x50, 0x60)),  # skippable
)


def unpack(raw: BinaryIO, limits: Limits) -> Iterator[bytes]:
    """The source's bytes, unpacked, in chunks that are never empty. Raises Damaged."""
    head = raw.read(4)
    while len(head) < 4 and (more := raw.read(4 - len(head))):
        head += more
    for magic, kind, unpacker in _KINDS:
        if head.startswith(magic):
            yield from _within(_streams(raw, head, kind, unpacker), limits)
            return
    if head:
        yield head
    total = len(head)
    while chunk := raw.read(BLOCK):
        total += len(chunk)
        if total > limits.size:
            raise Damaged(f"more than {limits.size:,} bytes.")
        yield chunk


def _within(chunks: Iterator[tuple[int, bytes]], limits: Limits) -> Iterator[bytes]:
    total = 0
    for packed, chunk in chunks:
        total += len(chunk)
        if total > limits.size:
            raise Damaged(f"unpacks to more than {limits.size:,} bytes.")
        if total > limits.ratio_after and total > limits.ratio * packed:
            raise Damaged(f"unpacks to more than {limits.ratio} times its packed size, as no file of this kind does.")
        if chunk:
            yield chunk


def _streams(
    raw: BinaryIO, head: bytes, kind: str, unpacker: type[_Gzip] | type[_Bzip2] | type[_Zstandard]
) -> Iterator[tuple[int, bytes]]:
    """(packed bytes read so far, unpacked chunk), over all streams that the file holds one after the other."""
    packed = len(head)
    waiting = head
    stream: _Unpacker = unpacker()
    while True:
        try:
            step = unpacker.step if stream.hungry else 0
            feed, waiting = waiting[:step], waiting[step:]
            out = stream.feed(feed)
        except (zlib.error, OSError, EOFError, ValueError, zstandard.ZstdError) as error:
            raise Damaged(f"damaged {kind} data ({error}).") from None
        yield packed, out
        if stream.done:
            waiting = stream.unused + waiting
            while not waiting:
                more = raw.read(BLOCK)
                if not more:
                    return
                packed += len(more)
                waiting = more.lstrip(b"\0") if kind == "gzip" else more
            stream = unpacker()
        elif stream.hungry and not waiting:
            waiting = raw.read(unpacker.step)
            packed += len(waiting)
            if not waiting and not out:
                raise Damaged(f"the {kind} data end too early: the file was cut short.")

"""The files in a zip or tar archive, one after the other, within bounds: an archive may be damaged or hostile."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, BinaryIO, NamedTuple, cast

from evaluation.errors import BadInput
from evaluation.files.textfiles import LIMITS, Damaged, Limits, unpack

MEMBERS = 1_000
_HEADER_BYTES = 1 << 20  # of one extended header in a tar file, which is read at once
_USTAR = (257, b"ustar")


class Bounds(NamedTuple):
    """How many files an archive may hold, and how many bytes all of them together, unpacked."""

    files: int = MEMBERS
    size: int = 10 << 30


class Member(NamedTuple):
    """A file in an archive: its name without folders, and its bytes, readable until the next one is asked for."""

    name: str
    file: IO[bytes]


def is_archive(source: BinaryIO) -> bool:
    """Whether a seekable file is a zip or tar archive, by its first bytes, unpacked. Where it is read is not kept."""
    source.seek(0)
    if source.read(4) in (b"PK\x03\x04", b"PK\x05\x06"):
        return True
    source.seek(0)
    at, magic = _USTAR
    head = b""
    try:
        for chunk in unpack(source, LIMITS):
            head += chunk
            if len(head) >= at + len(magic):
                break
    except Damaged:
        return False
    return head[at : at + len(magic)] == magic


def members(source: BinaryIO, name: str, bounds: Bounds) -> Iterator[Member]:
    """The files of an archive in its order, without folders, links, and what systems add (`.DS_Store`, `__MACOSX/`).

    Raises BadInput where the archive is damaged, encrypted, or breaks a bound; files before that have been given.
    """
    source.seek(0)
    is_zip = source.read(2) == b"PK"
    source.seek(0)
    count, left = 0, bounds.size
    try:
        for path, file in _zipped(source, name) if is_zip else _tarred(source, bounds):
            parts = PurePosixPath(path.replace("\\", "/")).parts
            if not parts or parts[-1].startswith(".") or "__MACOSX" in parts:
                continue
            count += 1
            if count > bounds.files:
                raise BadInput(name, None, f"holds more than {bounds.files:,} files.")
            bounded = _Bounded(file, left, name, bounds.size)
            yield Member(parts[-1], cast(IO[bytes], bounded))
            left = bounded.left
    except (Damaged, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise BadInput(name, None, f"a damaged archive ({error}).") from None


class _Bounded:
    """A file of which no more than `left` bytes can be read."""

    def __init__(self, file: IO[bytes], left: int, name: str, size: int) -> None:
        self._file, self.left, self._name, self._size = file, left, name, size

    def read(self, size: int = -1) -> bytes:
        """As of the file. Raises BadInput once there was too much."""
        most = self.left + 1
        data = self._file.read(most if size < 0 else min(size, most))
        self.left -= len(data)
        if self.left < 0:
            raise BadInput(self._name, None, f"unpacks to more than {self._size:,} bytes.")
        return data


def _zipped(source: BinaryIO, name: str) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                raise BadInput(name, None, f"{info.filename} is encrypted.")
            with archive.open(info) as file:
                yield info.filename, file


def _tarred(source: BinaryIO, bounds: Bounds) -> Iterator[tuple[str, IO[bytes]]]:
    stream = cast(BinaryIO, _Unpacked(source, LIMITS._replace(size=bounds.size + (64 << 20))))
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
        for info in archive:
            if info.isfile() and (file := archive.extractfile(info)) is not None:
                yield info.name, file


class _Header(tarfile.TarInfo):
    """A header of a tar file, which refuses to read names and the like of many megabytes into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        extended = (
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
        )
        if self.type in extended and self.size > _HEADER_BYTES:
            raise tarfile.ReadError("a header of more than a megabyte")
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]


class _Unpacked:
    """What a compressed file holds, to be read once."""

    def __init__(self, source: BinaryIO, limits: Limits) -> None:
        self._chunks, self._held = unpack(source, limits), b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer at the end alone."""
        while len(self._held) < size and (chunk := next(self._chunks, b"")):
            self._held += chunk
        data, self._held = self._held[:size], self._held[size:]
        return data

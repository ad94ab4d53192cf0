"""The files in a zip or tar archive, one after the other, within bounds: an archive may be damaged or hostile."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any, BinaryIO, NamedTuple, NoReturn, cast

from evaluation.errors import BadInput
from evaluation.files.textfiles import BLOCK, LIMITS, Damaged, Limits, unpack

MEMBERS = 1_000
_HEADER_BYTES = 1 << 20  # of one extended header in a tar file, which is read at once
_HEADERS_BYTES = 16 << 20  # of all headers of a tar file: what they say is kept until its end
_DIRECTORY_BYTES = 4 << 20  # of a zip file's table of contents, which is read at once
_DIRECTORY_SIZE = 5  # where zipfile's record of the end of that table has its size
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # zipfile unpacks any other without a bound on its memory
_USTAR = (257, b"ustar")
_DAMAGE = (
    Damaged,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RecursionError,
    ValueError,
)


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
    except BadInput:
        raise
    except _DAMAGE as error:
        raise _damaged(name, error) from None


def _damaged(name: str, error: BaseException) -> BadInput:
    return BadInput(name, None, f"a damaged archive ({error}).")


class _Bounded:
    """A file of which no more than `left` bytes can be read."""

    def __init__(self, file: IO[bytes], left: int, name: str, size: int) -> None:
        self._file, self.left, self._name, self._size = file, left, name, size

    def read(self, size: int = -1) -> bytes:
        """As of the file. Raises BadInput once there was too much, and where the archive is damaged."""
        most = self.left + 1
        try:
            data = self._file.read(most if size < 0 else min(size, most))
        except _DAMAGE as error:
            raise _damaged(self._name, error) from None
        self.left -= len(data)
        if self.left < 0:
            raise BadInput(self._name, None, f"unpacks to more than {self._size:,} bytes.")
        return data


def _zipped(source: BinaryIO, name: str) -> Iterator[tuple[str, IO[bytes]]]:
    # As ZipFile finds it, which makes objects of the whole table before it can be asked for anything.
    end = zipfile._EndRecData(source)  # type: ignore[attr-defined]
    if end and end[_DIRECTORY_SIZE] > _DIRECTORY_BYTES:
        raise BadInput(name, None, f"has a table of contents of more than {_DIRECTORY_BYTES:,} bytes.")
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                raise BadInput(name, None, f"{info.filename} is encrypted.")
            if info.compress_type not in _PACKED:
                method = zipfile.compressor_names.get(info.compress_type, str(info.compress_type))  # type: ignore[attr-defined]
                message = (
                    f"{info.filename} is compressed by {method}. Make the zip file with its usual method (deflate)."
                )
                raise BadInput(name, None, message)
            with archive.open(info) as file:
                yield info.filename, file


def _tarred(source: BinaryIO, bounds: Bounds) -> Iterator[tuple[str, IO[bytes]]]:
    stream = cast(BinaryIO, _Unpacked(source, LIMITS._replace(size=bounds.size + (64 << 20))))
    with _Tar.open(fileobj=stream, mode="r|", bufsize=BLOCK) as archive:
        for info in archive:
            if info.isfile() and (file := archive.extractfile(info)) is not None:
                yield info.name, file


class _Header(tarfile.TarInfo):
    """A header of a tar file, which refuses what would take many megabytes of memory: names, holes of sparse files."""

    def _proc_member(self, archive: _Tar) -> tarfile.TarInfo:
        extended = (
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
        )
        if self.type in extended and self.size > _HEADER_BYTES:
            raise tarfile.ReadError("a header of more than a megabyte")
        if self.type == tarfile.GNUTYPE_SPARSE:
            self._proc_gnusparse_10()
        archive.header_bytes += tarfile.BLOCKSIZE + (self.size if self.type in extended else 0)
        if archive.header_bytes > _HEADERS_BYTES:
            raise tarfile.ReadError(f"headers of more than {_HEADERS_BYTES:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]

    def _proc_gnusparse_10(self, *_: Any) -> NoReturn:
        raise tarfile.ReadError("a sparse file, which is not read")


class _Tar(tarfile.TarFile):
    tarinfo = _Header
    header_bytes = 0


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

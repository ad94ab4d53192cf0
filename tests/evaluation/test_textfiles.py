"""Files that are compressed, damaged, or meant to hurt."""

import bz2
import gzip
import io
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import BadInput
from evaluation.files import textfiles
from evaluation.files.textfiles import Block, Limits, TextFile, split_block

from .conftest import Write

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = "".join(f"line {number} {random.Random(number).random()}\n" for number in range(20_000)).encode()


def rows(content: bytes, limits: Limits = textfiles.LIMITS) -> list[tuple[int, str]]:
    return list(TextFile(io.BytesIO(content), name="f", limits=limits).rows())


def failure(content: bytes, limits: Limits = textfiles.LIMITS) -> BadInput:
    with pytest.raises(BadInput) as caught:
        rows(content, limits)
    return caught.value


class Endless(io.RawIOBase):
    """A file object that gives `piece` again and again, up to `size` bytes, and knows how much was taken."""

    def __init__(self, head: bytes, piece: bytes, size: int) -> None:
        self.head, self.piece, self.size, self.taken = head, piece, size, 0

    def read(self, count: int = -1) -> bytes:
        if self.head:
            data, self.head = self.head[:count], self.head[count:]
        else:
            count = min(count, self.size - self.taken)
            data = (self.piece * (count // len(self.piece) + 1))[:count]
        self.taken += len(data)
        return data


@pytest.mark.parametrize("packer", PACKERS)
def test_packed_files_read_like_plain_ones(packer: str) -> None:
    assert rows(PACKERS[packer](TEXT)) == rows(TEXT)
    assert len(rows(TEXT)) == 20_000


@pytest.mark.parametrize("packer", PACKERS)
def test_the_name_of_a_packed_file_does_not_matter(packer: str, write: Write) -> None:
    path = write("plainly.txt", PACKERS[packer](b"one\ntwo\n"))
    assert list(TextFile(path).rows()) == [(1, "one"), (2, "two")]


@pytest.mark.parametrize("packer", PACKERS)
def test_files_packed_in_several_streams_are_read_to_the_end(packer: str) -> None:
    pack = PACKERS[packer]
    assert rows(pack(TEXT[:1000]) + pack(TEXT[1000:5000]) + pack(TEXT[5000:])) == rows(TEXT)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("lost", [1, 4, 9, 5000])
def test_a_packed_file_cut_short_is_an_error_after_its_last_good_line(packer: str, lost: int) -> None:
    error = failure(PACKERS[packer](TEXT)[:-lost])
    assert "cut short" in error.message
    assert error.line is not None
    assert 1 <= error.line <= 20_001


def test_lines_before_the_cut_are_still_given() -> None:
    lines = []
    with pytest.raises(BadInput) as caught:
        for number, _ in TextFile(io.BytesIO(gzip.compress(TEXT)[:-100]), name="f").rows():
            lines.append(number)
    assert len(lines) > 10_000
    assert caught.value.line == lines[-1] + 1


@pytest.mark.parametrize("packer", PACKERS)
def test_a_damaged_packed_file_is_an_error(packer: str) -> None:
    packed = bytearray(PACKERS[packer](TEXT))
    packed[len(packed) // 2] ^= 0xFF
    failure(bytes(packed))


@pytest.mark.parametrize("packer", PACKERS)
def test_something_after_the_packed_data_is_an_error(packer: str) -> None:
    assert "damaged" in failure(PACKERS[packer](b"one\n") + b"and more").message


def test_gzip_may_be_padded_with_zeros() -> None:
    assert rows(gzip.compress(b"one\n") + bytes(512)) == [(1, "one")]


@pytest.mark.parametrize("packer", PACKERS)
def test_a_bomb_is_refused_before_it_unfolds(packer: str) -> None:
    bomb = PACKERS[packer](b"a line like any other\n" * 300_000)
    file = TextFile(io.BytesIO(bomb), name="f", limits=Limits(ratio=100, ratio_after=1 << 20))
    with pytest.raises(BadInput, match="more than 100 times its packed size"):
        for _ in file.blocks():
            pass
    assert file.lines < 300_000


def test_a_file_may_not_unpack_beyond_the_limit() -> None:
    assert "more than 1,000 bytes" in failure(gzip.compress(TEXT), Limits(size=1000)).message


def test_a_file_may_not_be_larger_than_the_limit() -> None:
    assert "more than 1,000 bytes" in failure(TEXT, Limits(size=1000)).message


def test_a_line_of_100_megabytes_is_refused_after_a_small_part_of_it() -> None:
    file = Endless(b"fine\n", b"x", 100_000_000)
    with pytest.raises(BadInput, match=r"f, line 2: a line of more than 65,536 bytes") as caught:
        list(TextFile(file, name="f", limits=Limits(line=65_536)).rows())  # type: ignore[arg-type]
    assert caught.value.line == 2
    assert file.taken <= 3 * textfiles.BLOCK


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(1, 10), st.booleans())
def test_the_first_line_over_the_limit_is_found_wherever_it_stands(lengths: list[int], limit: int, ends: bool) -> None:
    content = b"\n".join(b"x" * length for length in lengths) + (b"\n" if ends else b"y")
    if not ends:
        lengths = [*lengths[:-1], lengths[-1] + 1]
    over = [number for number, length in enumerate(lengths, 1) if length > limit]
    if over:
        assert failure(content, Limits(line=limit)).line == over[0]
    else:
        assert len(rows(content, Limits(line=limit))) == len(lengths)


@pytest.mark.parametrize("content", [b"", textfiles.BOM, gzip.compress(b""), bz2.compress(b"")])
def test_an_empty_file_is_an_error(content: bytes) -> None:
    assert str(failure(content)) == "f, line 1: the file is empty."


def test_line_ends_and_a_byte_order_mark_do_no_harm_and_are_seen() -> None:
    file = TextFile(io.BytesIO(b"\xef\xbb\xbfone\r\ntwo\nthree"), name="f")
    assert list(file.rows()) == [(1, "one"), (2, "two"), (3, "three")]
    assert (file.bom, file.missing_last_newline, file.lines) == (True, True, 3)


def test_only_a_newline_ends_a_line() -> None:
    assert rows("one\u2028still\x0bone\x85\ntwo".encode()) == [(1, "one\u2028still\x0bone\x85"), (2, "two")]


def test_a_nul_byte_is_an_error_with_its_line() -> None:
    assert str(failure(b"one\ntw\0o\n")) == "f, line 2: a NUL byte (at byte 3 of the line)."


def test_invalid_utf_8_is_an_error_with_its_line() -> None:
    assert str(failure(b"one\ntwo\nth\xffree\n")) == "f, line 3: invalid UTF-8 (0xFF at byte 3 of the line)."


def test_a_file_that_is_not_there_is_an_error_without_a_line() -> None:
    with pytest.raises(BadInput, match=r"absent\.txt: cannot be opened: No such file or directory"):
        list(TextFile("/nowhere/absent.txt").rows())


def test_a_folder_is_an_error(tmp_path: object) -> None:
    with pytest.raises(BadInput, match="cannot be opened: Is a directory"):
        list(TextFile(str(tmp_path)).rows())


@given(st.binary(min_size=1, max_size=200), st.integers(1, 50))
def test_parts_of_a_block_are_the_block(data: bytes, size: int) -> None:
    block = Block(7, data.count(b"\n") + (not data.endswith(b"\n")), data)
    parts = list(split_block(block, size))
    assert b"".join(part.data for part in parts) == data
    assert sum(part.lines for part in parts) == block.lines
    for before, after in pairwise(parts):
        assert before.line + before.lines == after.line
        assert before.data.endswith(b"\n")


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"])), min_size=1))
def test_lines_are_the_same_in_blocks_of_any_size(lines: list[str]) -> None:
    content = "".join(line + "\n" for line in lines).encode()
    expected = list(enumerate([lines[0].removeprefix("\ufeff"), *lines[1:]], 1))
    if content == textfiles.BOM:
        return
    for size in (1, 3, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(textfiles, "BLOCK", size)
            assert rows(content) == expected

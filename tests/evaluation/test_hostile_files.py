"""Small files that would take gigabytes once unpacked are refused, and little of them is unpacked before that."""

import gzip
import io
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import BadInput
from evaluation.files import archives, pageheaders, parquetfiles
from evaluation.files.archives import Bounds, members
from evaluation.files.qrels import read_qrels
from evaluation.files.recognizing import recognize

MEGABYTE = 1 << 20
_POOLS: list[pa.MemoryPool] = []  # buffers may outlive a measurement, and need theirs


@contextmanager
def memory_within(megabytes: int) -> Iterator[None]:
    """Fails where Python's objects or Arrow's buffers took more than that at any time."""
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    _POOLS.append(pool)
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTE
        assert (pool.max_memory() or 0) < megabytes * MEGABYTE
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def unpacked(data: bytes) -> list[str]:
    names = []
    for member in members(io.BytesIO(data), "it.zip", Bounds(size=MEGABYTE)):
        while member.file.read(100_000):
            pass
        names.append(member.name)
    return names


def zipped(method: int, *contents: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"{number}.txt", content)
    return out.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_file_whose_method_has_no_bound_on_memory_is_refused_before_it_is_unpacked(method: int) -> None:
    bomb = zipped(method, bytes(16 * MEGABYTE))
    with memory_within(8), pytest.raises(BadInput, match=r"it.zip: 0.txt is compressed by (bzip2|lzma). Make the zip"):
        unpacked(bomb)
    assert unpacked(zipped(zipfile.ZIP_DEFLATED, b"a", b"b")) == ["0.txt", "1.txt"]
    assert unpacked(zipped(zipfile.ZIP_STORED, b"a")) == ["0.txt"]


def test_a_zip_file_with_a_huge_table_of_contents_is_refused_before_that_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archives, "_DIRECTORY_BYTES", 10_000)
    many = zipped(zipfile.ZIP_STORED, *[b""] * 300)
    monkeypatch.setattr(zipfile, "ZipInfo", None)  # so that none can be made
    with pytest.raises(BadInput, match="has a table of contents of more than 10,000 bytes"):
        unpacked(many)


def test_a_damaged_member_of_a_zip_file_is_named_as_the_archive_s_damage() -> None:
    data = zipped(zipfile.ZIP_STORED, b"one two three")
    with pytest.raises(BadInput, match=r"a damaged archive \(Bad CRC-32"):
        unpacked(data.replace(b"two", b"TWO", 1))


def tarred(fill: Callable[[tarfile.TarFile], None]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        fill(archive)
    return out.getvalue()


def folders(archive: tarfile.TarFile) -> None:
    for number in range(100):
        info = tarfile.TarInfo(str(number))
        info.type = tarfile.DIRTYPE
        archive.addfile(info)


def chained(archive: tarfile.TarFile) -> None:
    for _number in range(2_000):
        info = tarfile.TarInfo("long")
        info.type = tarfile.GNUTYPE_LONGNAME
        archive.addfile(info)


def sparse(archive: tarfile.TarFile) -> None:
    info = tarfile.TarInfo("holes")
    info.type = tarfile.GNUTYPE_SPARSE
    archive.addfile(info)


@pytest.mark.parametrize(
    ("fill", "why"), [(folders, "headers of more than 50,000 bytes"), (chained, "recursion"), (sparse, "a sparse file")]
)
def test_headers_of_a_tar_file_cannot_fill_the_memory(
    fill: Callable[[tarfile.TarFile], None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fill is folders:
        monkeypatch.setattr(archives, "_HEADERS_BYTES", 50_000)
    with pytest.raises(BadInput, match=rf"a damaged archive \(.*{why}"):
        unpacked(tarred(fill))


def table(columns: dict[str, Any], **options: Any) -> io.BytesIO:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, **{"compression": "zstd"} | options)
    out.seek(0)
    return out


def qrels(rows: int, **changed: Any) -> dict[str, Any]:
    columns = {"qid": ["q"] * rows, "docno": [f"d{row}" for row in range(rows)], "label": [1] * rows}
    return {**columns, **changed}


def test_one_long_text_in_all_rows_of_parquet_is_refused_without_a_copy_for_each() -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] + [1] * 299, pa.int32()), ["q", "x" * MEGABYTE])
    for qid in (long, long.dictionary_decode()):
        file = table(qrels(300, qid=qid), dictionary_pagesize_limit=2 * MEGABYTE)
        del qid
        with memory_within(32), pytest.raises(BadInput, match="line 2: qid is longer than 1,024 bytes"):
            read_qrels(file, name="it.parquet")


@pytest.mark.parametrize(
    ("columns", "options", "why"),
    [
        (qrels(1, label=[[1] * 9]), {}, "the column label is of the type list<.*>, where text or numbers"),
        (
            qrels(9),
            {"use_dictionary": False, "column_encoding": {"docno": "DELTA_BYTE_ARRAY"}},
            "docno is encoded as DELTA_BYTE_ARRAY",
        ),
        (
            qrels(20, qid=["x" * MEGABYTE] * 20),
            {"use_dictionary": False},
            "the column qid unpacks to more than 200 times its packed size",
        ),
    ],
)
def test_parquet_whose_encoding_lets_little_stand_for_much_is_refused_unread(
    columns: dict[str, Any], options: dict[str, Any], why: str
) -> None:
    file = table(columns, **options)
    with memory_within(8), pytest.raises(BadInput, match=why):
        read_qrels(file, name="it.parquet")


def test_parquet_of_too_many_rows_and_lines_out_of_proportion_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated = table(qrels(20_000, docno=["d" * 1_000] * 20_000))
    with pytest.raises(BadInput, match="unpacks to more than 16,777,216 bytes"):
        read_qrels(repeated, name="it.parquet")
    monkeypatch.setattr(parquetfiles, "ROWS", 9)
    with pytest.raises(BadInput, match="has 10 rows; 9 are read at most"):
        read_qrels(table(qrels(10)), name="it.parquet")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_ids_of_any_type_of_text_are_read_from_parquet(kind: pa.DataType) -> None:
    ids = pa.array(["q1", "q2", "q1"], pa.string())
    columns = {"qid": ids.dictionary_encode().cast(kind), "docno": [7, 8, 9], "label": [0.0, 1.0, 2.0]}
    assert read_qrels(table(columns), name="it.parquet").grades == {"q1": {"7": 0, "9": 2}, "q2": {"8": 1}}


def test_little_of_a_file_of_long_lines_is_read_to_recognize_it() -> None:
    lines = io.BytesIO((b"p1\t" + b"word " * 100_000 + b"\n") * 60)
    assert recognize(lines, "it.tsv").kind == "passages"
    assert lines.tell() < 9 * MEGABYTE
    blank = io.BytesIO(b"\n" * 16 * MEGABYTE)
    assert recognize(blank, "it.tsv").kind == "unknown"
    assert blank.tell() < 9 * MEGABYTE
    endless = gzip.compress(b"x" * 15 * MEGABYTE + b"\n", 1)
    assert recognize(io.BytesIO(endless), "it.gz").why.startswith("begins with “xxx")


def varint(value: int) -> bytes:
    """A whole number above 0 as the end of a Parquet file has it."""
    value, out = value << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_parquet_that_lies_about_its_size_is_refused_before_memory_is_used() -> None:
    file = table(qrels(1_000), use_dictionary=False).getvalue()
    column = parquet.ParquetFile(io.BytesIO(file)).metadata.row_group(0).column(0)
    length = int.from_bytes(file[-8:-4], "little")
    body, end = file[: -8 - length], file[-8 - length : -8]
    sizes = (column.total_uncompressed_size, column.total_compressed_size)
    true = b"".join(b"\x16" + varint(size) for size in sizes)
    assert true in end
    lying = end.replace(true, (b"\x16" + varint(2 << 30)) * 2, 1)
    claim = io.BytesIO(body + lying + len(lying).to_bytes(4, "little") + b"PAR1")
    with memory_within(8), pytest.raises(BadInput, match="qid is said to have 1,000 values in 2,147,483,648 bytes"):
        read_qrels(claim, name="it.parquet")


def told_smaller(file: bytes, column: int, size: int) -> io.BytesIO:
    """The Parquet file, whose end says that a column unpacks to no more."""
    part = parquet.ParquetFile(io.BytesIO(file)).metadata.row_group(0).column(column)
    length = int.from_bytes(file[-8:-4], "little")
    body, end = file[: -8 - length], file[-8 - length : -8]
    packed = b"\x16" + varint(part.total_compressed_size)
    true = b"\x16" + varint(part.total_uncompressed_size) + packed
    assert true in end
    lying = end.replace(true, b"\x16" + varint(size) + packed, 1)
    return io.BytesIO(body + lying + len(lying).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize(
    ("batch", "why"),
    [
        (1 << 20, "the column qid has a page of 104,8.* bytes, where 67,108,864 are read at most"),
        (500, "the column qid unpacks to more than 200 times its packed size"),
    ],
    ids=["one large page", "many pages"],
)
def test_parquet_whose_pages_are_larger_than_its_end_says_is_refused_before_memory_is_used(
    batch: int, why: str
) -> None:
    rows = 100 * MEGABYTE // 10_000
    options = {
        "use_dictionary": False,
        "data_page_size": 8 * MEGABYTE if batch < rows else 1 << 30,
        "write_batch_size": batch,
    }
    file = table(qrels(rows, qid=["x" * 10_000] * rows), **options).getvalue()
    with memory_within(8), pytest.raises(BadInput, match=why):
        read_qrels(told_smaller(file, 0, 1_000), name="it.parquet")


@given(st.binary(max_size=200))
def test_headers_of_pages_are_read_from_any_bytes(content: bytes) -> None:
    header = pageheaders.read(content)
    assert header is None or (0 < header.length <= len(content) and header.unpacked >= 0 and header.packed >= 0)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_the_headers_of_all_pages_add_up_to_what_an_honest_end_says(version: str, compression: str) -> None:
    options = {"data_page_size": 500, "data_page_version": version, "compression": compression}
    file = table(qrels(2_000, qid=[f"q{number}" for number in range(2_000)]), **options)
    part = parquet.ParquetFile(file).metadata.row_group(0).column(0)
    at, sizes, pages = part.dictionary_page_offset, 0, 0
    end = at + part.total_compressed_size
    while at < end:
        header = pageheaders.read(file.getvalue()[at:end])
        assert header is not None
        at, sizes, pages = at + header.length + header.packed, sizes + header.length + header.unpacked, pages + 1
    assert (at, sizes) == (end, part.total_uncompressed_size) and pages > 2


def test_parquet_whose_end_contradicts_itself_is_refused_and_ends_no_process() -> None:
    """Arrow throws what nobody catches where it is asked what the end says of such a column."""
    file = table(qrels(2)).getvalue()
    end = len(file) - 8 - int.from_bytes(file[-8:-4], "little")
    at = file.index(b"\x15\x0c", end)  # the schema says that a column of bytes is one of whole numbers
    damaged = file[:at] + b"\x15\x04" + file[at + 2 :]
    with pytest.raises(BadInput, match="damaged Parquet data"):
        read_qrels(io.BytesIO(damaged), name="it.parquet")
    assert recognize(io.BytesIO(damaged), "it.parquet").kind


def test_headers_that_nest_without_end_are_none() -> None:
    assert pageheaders.read(b"\x19" + b"\x19" * 5_000) is None

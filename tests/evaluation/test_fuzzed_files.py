"""Whatever a file holds, a reader reads it or says what is wrong with it: nothing else is ever raised.

The inputs are files of every dialect, changed at random. `make fuzz-files` sends each reader half a million of them.
"""

import contextlib
import gzip
import io
import json
import os
import random
import signal
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from evaluation.boards.checking import check_metadata
from evaluation.boards.csvfiles import read_board
from evaluation.boards.packages import read_terms
from evaluation.boards.sealing import new_key
from evaluation.errors import BadInput
from evaluation.files.about_runs import read_groups, read_outside, read_run_pairs
from evaluation.files.answers import read_answers
from evaluation.files.archives import Bounds, members
from evaluation.files.artifact import RunArtifact
from evaluation.files.groups import read_groups as read_query_groups
from evaluation.files.judgments import read_judgments
from evaluation.files.preferences import read_any_pools, read_members, read_pairs, read_preferences
from evaluation.files.qrels import read_qrels
from evaluation.files.recognizing import recognize
from evaluation.files.runs import check_run
from evaluation.files.texts import read_passages, read_queries

from . import writers
from .writers import Form, Judged, Made

INPUTS = int(os.environ.get("READER_INPUTS", "150"))  # of each reader
SECONDS = 5  # that one small file may take
SEED = int(os.environ.get("READER_SEED", "1"))

MADE = Made(
    queries={"q1": "what do owls eat", "2": 'where, "when" and why'},
    passages={"p1": ("Owls", "mice"), "p2": ("", "voles, \u00fcber"), "7": ("Owls", ""), "p3": ("Bats", "mice")},
    qrels={"q1": {"p1": 1, "p2": 0}, "2": {"7": 2}},
    run={"q1": [("p1", 9.5), ("p2", 9.5), ("7", -1.0)], "2": [("p3", 1e-5)]},
    judgments=[
        Judged("q1", "p1", "p2", "p1", "17"),
        Judged("q1", "p1", "p2", "p2", "5"),
        Judged("2", "7", "p3", "", "5"),
    ],
)


def _archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("run.txt", writers.RUNS["TREC"](MADE))
    return out.getvalue()


def _artifact() -> bytes:
    out = io.BytesIO()
    artifact = check_run(io.BytesIO(writers.RUNS["TREC"](MADE)), name="run").artifact
    assert artifact is not None
    artifact.save(out)
    return out.getvalue()


def seeds() -> list[bytes]:
    """Good files of every dialect, and of other kinds."""
    kinds = (writers.RUNS, writers.QRELS, writers.QUERIES, writers.PASSAGES, writers.JUDGMENTS)
    good = [writer(MADE) for dialects in kinds for writer in dialects.values()]
    good += [
        b"# ir_metadata.start\n# platform:\n#   hardware: {cpu: x}\n# ir_metadata.end\n" + writers.RUNS["TREC"](MADE),
        *(b"q1 p1 p2 p1\n", b"q1 p1 p2 !\n", b"q1\tp1\n", b"red blue\n", b"red group\n", b"red 0.5 1\n"),
        b'{"team": "t", "model_description": "d", "type": "full ranking"}',
        *(_archive(), _artifact()),
        b"id,description,team,paper,code,type,date,dev,eval,tweet\n2026-a,d,t,,,full ranking,2026/01/01,0.1,0.2,\n",
        json.dumps({"board": "x", "public_key": new_key().public_pem, "types": ["full ranking"]}).encode(),
    ]
    return good


TOKENS = (
    *b'null true {} [] [[]] "" NaN Infinity -1 0 1e400 1e16 1e20 1.0 1.5 -0 + = ! , { [ # None left right tie'.split(),
    *b"Rejected qid docno score rank label query-id _id text 2026-13-45 sep=; PAR1 BZh9 \\ud800 \\u0000 ' \\".split(),
    *(b"\t", b" ", b"\n", b"\r\n", b"\r", b'"', b"9" * 400, b"9" * 5000, b"x" * 3000, b"\0", b"\x1a", b"\xef\xbb\xbf"),
    *(b"\xff\xfe", b"\xc3", b"\xe2\x80\x8b", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"),
    *(b"\x18\x2a\x4d\x50", b"PK\x03\x04", b"\xfd7zXZ\0", b"Sat Nov 28 25:61:00 PST 2026", b'{"selected": 1}'),
)
VALUES = (
    *(None, True, False, 0, -1, 7, 1.0, 1.5, 1e300, float("nan"), float("inf"), "", " ", "p1", "a b", "\0", "\ud800"),
    *([], {}, [None], {"a": None}, [[[]]], {"id": None}, {"selected": None}, [{"selected": []}], "9" * 400, 10**400),
    *("left", "tie", [{"selected": "left"}]),
)


def changed_bytes(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """The data with a few cuts, repeats, tokens, flipped bits, and pieces of other files."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randint(0, len(data)) for _ in range(2))
        match chance.randrange(8):
            case 0:
                data = data[:at] + data[min(to, at + 20) :]
            case 1:
                data = data[:to] + data[at:to][:200] + data[to:]
            case 2 | 3:
                data = data[:at] + chance.choice(TOKENS) + data[at + chance.choice((0, 0, 1, 4)) :]
            case 4:
                data = data[:at]
            case 5:
                data = (
                    data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
                    if at < len(data)
                    else data
                )
            case 6:
                other = chance.choice(others)
                data = data[:at] + other[: chance.randint(0, len(other))] + data[to:]
            case _:  # a column, for another
                separator = chance.choice((b" ", b"\t", b","))
                parts = data.split(separator)
                parts[chance.randrange(len(parts))] = chance.choice(TOKENS)
                data = separator.join(parts)
    return data


def changed_json(data: bytes, chance: random.Random) -> bytes:
    """JSON, or the JSON of a line, with another value in some place."""
    text = data.decode(errors="replace")
    whole = text.lstrip().startswith("[")
    values = [text] if whole else text.split("\n")
    at = chance.randrange(len(values))
    try:
        value = json.loads(values[at])
    except ValueError:
        return data
    for _ in range(chance.randint(1, 3)):
        value = _with_other(value, chance)
    values[at] = json.dumps(value)
    return "\n".join(values).encode()


def _with_other(value: Any, chance: random.Random) -> Any:
    if not value or not isinstance(value, dict | list) or chance.random() < 0.15:
        return chance.choice(VALUES)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [*value[:at], _with_other(value[at], chance), *value[at + 1 :]]
    key = chance.choice(list(value))
    if chance.random() < 0.2:
        return {other: of for other, of in value.items() if other != key}
    return {**value, key: _with_other(value[key], chance)}


NAMES = (
    "qid",
    "docno",
    "score",
    "rank",
    "label",
    "query-id",
    "corpus-id",
    "_id",
    "title",
    "text",
    "q_id",
    "doc_id",
    "id",
)
COLUMNS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (pa.string(), ("a", "", None, "a b", "\0", "1.0", "\u200b", "x" * 3000)),
    (pa.large_string(), ("a", None)),
    (pa.int64(), (1, -1, None, 2**62)),
    (pa.uint64(), (2**64 - 1, 0)),
    (pa.float64(), (1.0, 1.5, float("nan"), float("inf"), None, 1e300)),
    (pa.float16(), (1.0, 0.5)),
    (pa.bool_(), (True, None)),
    (pa.binary(), (b"\xff", b"a")),
    (pa.date32(), (1, None)),
    (pa.timestamp("us"), (1, None)),
    (pa.null(), (None,)),
    (pa.decimal128(5, 2), (None,)),
    (pa.list_(pa.string()), (["a"], [], None)),
    (pa.struct([("a", pa.int64())]), ({"a": 1}, None)),
    (pa.dictionary(pa.int8(), pa.string()), ("a", "b", None)),
)


def made_parquet(chance: random.Random) -> bytes:
    """A table of known names and any types."""
    names = chance.sample(NAMES, chance.randint(1, 5))
    count = chance.randint(0, 4)
    columns = {}
    for name in names:
        kind, values = COLUMNS[0] if chance.random() < 0.4 else chance.choice(COLUMNS)
        columns[name] = pa.array([chance.choice(values) for _ in range(count)], kind)
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, compression=chance.choice(("NONE", "SNAPPY", "ZSTD")))
    return out.getvalue()


def inputs(count: int, seed: int) -> Iterator[bytes]:
    """Files of every dialect, changed; every eighth a table of Parquet; some compressed, before or after the change."""
    chance = random.Random(seed)
    good = seeds()
    for number in range(count):
        if number % 8 == 7:
            data = made_parquet(chance)
            yield data if chance.random() < 0.7 else changed_bytes(data, good, chance)
            continue
        data = chance.choice(good)
        if chance.random() < 0.5 and data.lstrip()[:1] in (b"{", b"["):
            data = changed_json(data, chance)
        if chance.random() < 0.1:
            form = Form(chance.random() < 0.5, chance.random() < 0.5, chance.choice((".gz", ".bz2", ".zst")))
            data = form.dress(data)
        if chance.random() < 0.8:
            data = changed_bytes(data, good, chance)
        yield gzip.compress(data, 1) if chance.random() < 0.03 else data


def _recognize(data: bytes) -> None:
    for name in ("queries.jsonl", "x"):
        recognize(io.BytesIO(data), name)


def _unpack(data: bytes) -> None:
    for member in members(io.BytesIO(data), "x.zip", Bounds()):
        while member.file.read(1 << 16):
            pass


def _check(data: bytes) -> None:
    check = check_run(io.BytesIO(data), name="x", queries=["q1", "2"], without_query=len(data) % 2 == 0)
    assert check.ok is (check.artifact is not None)
    for order in ("score", "rank"):
        if check.artifact is not None:
            check.artifact.top(order, 5)  # type: ignore[arg-type]
    assert all("\n" not in message and message for _, message in check.errors)
    for note in check.notes(["q1", "2"], QRELS):
        assert note.sentence()


QRELS = read_qrels(io.BytesIO(writers.QRELS["TREC"](MADE)))

READERS: dict[str, Callable[[bytes], object]] = {
    "runs": _check,
    "qrels": lambda data: read_qrels(io.BytesIO(data), name="x"),
    "queries": lambda data: list(read_queries(io.BytesIO(data), name="x")),
    "passages": lambda data: list(read_passages(io.BytesIO(data), name="x")),
    "judgments": lambda data: list(read_judgments(io.BytesIO(data), name="x").made),
    "preferences": lambda data: list(read_preferences(io.BytesIO(data), name="x", ties=True)),
    "answers": lambda data: list(read_answers(io.BytesIO(data), name="x")),
    "pairs": lambda data: list(read_pairs(io.BytesIO(data), name="x")),
    "pools": lambda data: [read_members(io.BytesIO(data), name="x"), read_any_pools(io.BytesIO(data), name="x")],
    "pairs of runs": lambda data: read_run_pairs(io.BytesIO(data), None, name="x"),
    "groups of runs": lambda data: read_groups(io.BytesIO(data), None, name="x"),
    "groups of queries": lambda data: read_query_groups(io.BytesIO(data), name="x"),
    "outside scores": lambda data: read_outside(io.BytesIO(data), name="x"),
    "anything": _recognize,
    "archives": _unpack,
    "artifacts": lambda data: RunArtifact.load(io.BytesIO(data), name="x"),
    "boards": lambda data: read_board(io.BytesIO(data), name="x"),
    "metadata": lambda data: check_metadata(data, types=["full ranking"]),
    "terms": lambda data: read_terms(data, name="x"),
}


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises TimeoutError where the block takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_reads_a_file_or_says_what_is_wrong_with_it(reader: str) -> None:
    read = READERS[reader]
    for number, data in enumerate(inputs(INPUTS, SEED)):
        try:
            with within(SECONDS):
                read(data)
        except BadInput as error:
            assert str(error).startswith("x") and error.message
        except Exception as error:
            error.add_note(f"Input {number} of {reader}: {data[:2000]!r}")
            raise

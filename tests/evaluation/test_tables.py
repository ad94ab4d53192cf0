"""The table layer: one collection in any dialect gives the same rows, or is refused with a sentence."""

import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import BadInput
from evaluation.files.dialects import DIALECTS, KINDS, columns_of, dialect_of
from evaluation.files.qrels import read_qrels
from evaluation.files.recognizing import recognize
from evaluation.files.runs import check_run
from evaluation.files.tables import open_table, read_table
from evaluation.files.textfiles import BOM
from evaluation.files.texts import Text, read_passages, read_queries

from .command import json_of, run_cli

Content = str | bytes


def source(content: Content) -> io.BytesIO:
    return io.BytesIO(content.encode() if isinstance(content, str) else content)


def rows(content: Content, kind: str) -> list[tuple[Any, ...]]:
    return [row for _line, row in read_table(source(content), kind, name="file")]


def refusal(content: Content, read: Callable[..., Any]) -> str:
    with pytest.raises(BadInput) as caught:
        read(source(content), name="file")
    return str(caught.value)


def qrels(content: Content) -> dict[str, dict[str, int]]:
    return {query: dict(graded) for query, graded in read_qrels(source(content), name="file").grades.items()}


def hits(content: Content) -> list[tuple[str, tuple[str, ...]]]:
    check = check_run(source(content), name="file")
    assert check.artifact is not None, check.complaint()
    return list(check.artifact.top("score", 2).items())


def packed(columns: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def passages(content: Content) -> list[Text]:
    return list(read_passages(source(content), name="file"))


# --- dialects


def test_the_names_of_every_dialect_hold_the_roles_of_its_kind() -> None:
    for dialect in DIALECTS:
        assert not dialect.by_roles or columns_of(KINDS[dialect.kind], sorted(dialect.names)), dialect
        recognized = dialect_of([name.upper() for name in dialect.names], (dialect.kind,))
        assert recognized is not None and recognized.kind == dialect.kind


QRELS = {"q1": {"007": 1, "8": 0}, "q2": {"007": 2}}
FLAT = [(query, passage, grade) for query, graded in QRELS.items() for passage, grade in graded.items()]


def lines(header: str, mark: str, order: str = "qpg") -> str:
    named = [dict(zip("qpg", map(str, row), strict=True)) | {"0": "0"} for row in FLAT]
    return "".join(line + "\n" for line in [header, *(mark.join(row[key] for key in order) for row in named)] if line)


@pytest.mark.parametrize(
    "content",
    [
        lines("", " ", "q0pg"),
        lines("query 0 passage grade", "\t", "q0pg"),
        lines("query-id\tcorpus-id\tscore", "\t"),
        lines("QUERY-ID,Corpus-Id,Score", ","),
        lines("corpus-id;query-id;score", ";", "pqg"),
        lines("qid,docno,label", ",").replace("\n", "\r\n"),
        lines("query_id doc_id relevance", " "),
        json.dumps(QRELS),
        json.dumps(QRELS, indent=2),
        "".join(json.dumps({"query_id": q, "doc_id": p, "relevance": g}) + "\n" for q, p, g in FLAT),
        json.dumps([{"score": float(g), "query-id": q, "corpus-id": p, "split": None} for q, p, g in FLAT]),
        packed({name: [row[at] for row in FLAT] for at, name in enumerate(("query-id", "corpus-id", "score"))}),
        packed({"q_id": ["q1", "q1", "q2"], "doc_id": ["007", "8", "007"], "score": [1.0, 0.0, 2.0]}),
    ],
)
def test_qrels_are_the_same_in_every_dialect_plain_packed_marked_and_joined(content: Content) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    assert qrels(data) == QRELS
    if not data.startswith(b"PAR1"):
        assert qrels(gzip.compress(BOM + data)) == QRELS
    if not data.startswith((b"PAR1", b"{\n", b"[")):
        assert qrels(BOM + data.rstrip() + b"\n" + BOM + data) == QRELS, "the line of names again, and the mark"


@pytest.mark.parametrize(
    "content",
    [
        "q1 Q0 p1 1 9 t\nq1 Q0 p2 2 8.5 t\n",
        "query Q0 passage rank score tag\nq1 Q0 p1 1 9 t\nq1 Q0 p2 2 8.5 t\n",
        "q1\tp1\t1\nq1\tp2\t2\n",
        "qid\tpid\trank\nq1\tp1\t1\nq1\tp2\t2\n",
        'qid,query,docno,score\nq1,"who, or\nwhat",p1,9\nq1,"",p2,8.5\n',
        '{"q1": {"p2": 8.5, "p1": 9}}',
        '{"query_id":"q1","doc_id":"p1","score":9}\n{"score":"8.5","doc_id":"p2","query_id":"q1"}\n',
        packed({"q_id": ["q1", "q1"], "doc_id": ["p1", "p2"], "score": [9.0, 8.5]}),
    ],
)
def test_runs_are_the_same_in_every_dialect(content: Content) -> None:
    assert hits(content) == [("q1", ("p1", "p2"))]


def test_ranks_that_a_table_lacks_follow_from_its_scores() -> None:
    check = check_run(source("qid,docno,score\nq1,p2,1\nq2,p3,1\nq1,p1,2\nq1,p3,1\n"), name="file")
    assert check.artifact is not None and check.census.split_queries
    assert check.artifact.top("rank", 3) == {"q1": ("p1", "p2", "p3"), "q2": ("p3",)}
    assert (
        "line 2"
        in check_run(source('{"qid":1,"docno":1,"rank":1}\n{"qid":1,"docno":2,"score":1}'), name="f").complaint()
    )


IDS = st.text(
    st.characters(exclude_characters=" \t\n\r", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9
).filter(
    lambda name: name[0] not in "[{"  # with which JSON begins
)
LINES = st.lists(st.tuples(IDS, IDS, st.integers(-9, 99), st.floats(-9, 9)), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(LINES, st.booleans())
def test_the_fast_way_to_read_a_run_gives_what_the_layer_gives(hits: list[Any], is_trec: bool) -> None:
    lines = [f"{q} Q0 {p} {rank} {score} t\n" if is_trec else f"{q}\t{p}\t{rank}\n" for q, p, rank, score in hits]
    fast = check_run(source("".join(lines)), name="file")
    if fast.artifact is None:
        return
    scored = [(query, passage, rank, score) for query, passage, rank, score in rows("".join(lines), "run")]
    named = "qid,docno,rank" + (",score\n" if is_trec else "\n")
    cells = [(q, p, str(rank), *([str(score)] if is_trec else [])) for q, p, rank, score in scored]
    if any(set(',"') & set("".join(row)) for row in cells):
        return
    slow = check_run(source(named + "".join(",".join(row) + "\n" for row in cells)), name="file")
    if slow.artifact is not None:  # ids that all end in .0 are refused under names
        for order in ("score", "rank"):
            assert slow.artifact.top(order, 3) == fast.artifact.top(order, 3)


# --- types


def test_ids_that_became_floats_are_whole_numbers_or_refused() -> None:
    run = packed({"qid": [1.0, 1.0], "docno": [100.0, 7.0], "score": [2.0, 1.0]})
    assert hits(run) == [("1", ("100", "7"))]
    for odd in (7.5, 1e16, float("nan"), None):
        check = check_run(source(packed({"qid": [1, 1], "docno": [100.0, odd], "score": [2.0, 1.0]})), name="file")
        assert not check.ok and "line 2" in check.complaint() and "docno" in check.complaint(), check.complaint()
    check = check_run(source("qid,docno,score\n1,100.0,2\n1,7.0,1\n"), name="file")
    assert "file, line 2: docno 100.0: every docno ends in .0" in check.complaint()
    assert hits("qid,docno,score\n1,100.0,2\n1,a,1\n") == [("1", ("100.0", "a"))], "some ids do, and some do not"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{"id": null, "text": "a"}', "line 1: no id: text or a whole number is needed."),
        ('{"id": true, "text": "a"}', "line 1: id true where an id is needed"),
        ('{"id": {}, "text": "a"}', "line 1: id (an object) where an id is needed"),
        ('{"id": 1.5, "text": "a"}', "line 1: id 1.5 where an id is needed"),
        ('{"id": NaN, "text": "a"}', "line 1: no id"),
        ('{"id": 1, "text": 7}', "line 1: text 7 where a text is needed."),
        ('{"id": 1, "text": ["a"]}', "line 1: text (a list) where a text is needed."),
        ('[{"id": 1, "text": "a"}, {"id": "", "text": "b"}]', "file: record 2: id '' where an id without spaces"),
        ('[{"id": 1, "text": "a"}, 7]', "file: record 2: not a JSON object."),
    ],
)
def test_values_are_looked_at_before_they_become_text(record: str, message: str) -> None:
    assert message in refusal(record, lambda file, name: list(read_queries(file, name=name)))


# --- lines of names


@pytest.mark.parametrize(
    ("content", "kind", "count"),
    [
        ("query a b\nq1 p1 p2\n", "preferences", 1),
        ("qid doc1 doc2\nq1 p1 p2\n", "preferences", 1),
        ("query a b preferred worker\nq1 p1 p2 p1 ann\n", "judgments", 1),
        ("qid\tquery\nq1\twhat is it\n", "queries", 1),
        ("pid\tpassage\np1\tsome text\n", "passages", 1),
        ("query passage\nq1 p1\n", "pools", 1),
    ],
)
def test_a_line_of_names_is_no_row(content: str, kind: str, count: int) -> None:
    assert len(rows(content, kind)) == count
    assert rows(content + content, kind) == rows(content, kind) * 2, "nor is it one where files were joined"


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (
            "query-id\tcorpus-id\tscore\nq\tp\t1\n",
            "run",
            "line 1: has the columns query-id, corpus-id, score, as qrels",
        ),
        ("qid,foo\nq1,what\n", "queries", "line 1: no tab where a line is an id, a tab and a text"),
        ("qid\tfoo\nq1\twhat\n", "queries", "line 1: has the columns qid, foo, where queries have an id"),
        ("query left_text right_text\nq a b\n", "preferences", "line 1: has the columns query, left_text, right_text"),
        ("topic;system;points\nq;a;1\n", "run", "line 1: has the columns topic, system, points, where a run has"),
        ("q 0 p 1\nq 0 p\n", "qrels", "line 2: 3 columns where qrels have 4 (query 0 passage grade)."),
        ("qid,docno,label\nq,p\n", "qrels", "line 2: 2 columns where the first line names 3"),
        ("qid,docno,label\n", "qrels", "line 2: no row follows the names of the columns."),
        ("qid,docno,label,LABEL\nq,p,1,2\n", "qrels", "line 1: names the column label twice."),
        ('qid,docno,label\nq,"p,1\n', "qrels", "line 2: not a row of CSV"),
    ],
)
def test_names_that_are_not_understood_are_refused_and_never_become_a_row(
    content: str, kind: str, message: str
) -> None:
    assert f"file, {message}" in refusal(content, lambda file, name: list(read_table(file, kind, name=name)))


def test_a_reader_can_go_through_the_records_by_the_tools_own_names() -> None:
    content = 'hitid,assignmentid,workerid,Input.A\nh,a,w,"p\n1"\n'
    with open_table(source(content), "judgments", name="file") as table:
        assert table.dialect is not None and table.dialect.name == "Mechanical Turk's results"
        column = table.named("WorkerId")
        assert column == "workerid" and table.named("input.a") == "Input.A" and table.named("Reject") is None
        assert [(at, record[column], record["Input.A"]) for at, record in table.records()] == [(2, "w", "p\n1")]  # type: ignore[call-overload]


# --- passages


def test_a_passage_is_its_title_headings_and_text() -> None:
    beir = '{"_id":"d4","title":"Vaccines","text":"See it."}\n{"_id":"d5","title":"Recipes","text":"See it."}\n'
    assert passages(beir) == [Text("d4", "Vaccines See it."), Text("d5", "Recipes See it.")]
    assert passages('{"docid":"1","title":"A","headings":"B","body":"C","url":"u"}') == [Text("1", "A B C")]
    assert passages('{"docid":"1","title":"A","headings":"B","segment":"C","start_char":0}') == [Text("1", "A B C")]
    assert passages('{"_id":"1","title":"Alone","text":""}\n{"_id":"2","title":null,"text":" b "}') == [
        Text("1", "Alone"),
        Text("2", "b"),
    ]
    assert passages("D1\thttps://example.org/a\tTitle\tBody\tmore\nD2\thttps://example.org/b\t\tBody\n") == [
        Text("D1", "Title Body\tmore"),
        Text("D2", "Body"),
    ]
    assert passages("id\ttext\ttitle\n1\t\"a \"\"b\"\"\"\tT\n2\tno \"quotes\tU\n") == [
        Text("1", 'T a "b"'),
        Text("2", 'U no "quotes'),
    ]  # fmt: skip


class Document(NamedTuple):
    docid: str
    title: str
    headings: str
    body: str


@given(st.builds(Document, st.just("1"), st.text(max_size=5), st.text(max_size=5), st.text(max_size=5)))
@settings(max_examples=40, deadline=None)
def test_a_text_is_what_ir_datasets_calls_the_default_text(document: Document) -> None:
    documents = pytest.importorskip("ir_datasets.datasets.msmarco_document_v2")
    theirs = documents.MsMarcoV2Document("1", "", *document[1:]).default_text().strip()
    line = json.dumps(document._asdict())
    if "\0" not in theirs:
        assert passages(line) == [Text("1", theirs)]


def test_passages_that_differ_in_their_title_are_not_merged(tmp_path: Path) -> None:
    for name, content in {
        "run": "q2 Q0 d5 1 2 t\n",
        "qrels": "q2 0 d4 1\n",
        "preferences": "q2 d4 d5 d4\n",
        "corpus": '{"_id":"d4","title":"Vaccines","text":"See."}\n{"_id":"d5","title":"Recipes","text":"See."}\n',
    }.items():
        (tmp_path / name).write_text(content)
    paths = {name: str(tmp_path / name) for name in ("run", "qrels", "preferences", "corpus")}
    assert run_cli("qrels", "--passages", paths["corpus"], paths["preferences"]).out == "q2 0 d4 1\n"
    assert json_of("pool", "--qrels", paths["qrels"], "--passages", paths["corpus"], paths["run"])["pairs"]


# --- bytes


def test_what_is_no_text_is_named() -> None:
    line = b"q 0 p 1\n"
    skippable = b"\x53\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    assert qrels(skippable + zstandard.compress(line) + skippable) == {"q": {"p": 1}}
    for content, what in [
        (lzma.compress(line), "compressed by xz"),
        (gzip.compress(gzip.compress(line)), "compressed twice"),
        (b"PK\x03\x04" + bytes(40), "a zip archive"),
        (line.decode().encode("utf-16"), "in UTF-16"),
        (line.decode().encode("utf-16-le"), "in UTF-16"),
    ]:
        assert f"file: is {what}. Text in UTF-8 is needed" in refusal(content, read_qrels)
        assert f"is {what}." in check_run(source(content), name="file").complaint()


def test_marks_at_the_starts_of_joined_files_are_no_part_of_an_id() -> None:
    run = BOM + b"q1 Q0 p1 1 1 t\n" + BOM + b"q2 Q0 p2 1 1 t\n"
    check = check_run(source(run), name="file")
    assert check.artifact is not None and check.artifact.queries == ("q1", "q2") and check.census.bom
    assert qrels(BOM + b"q1 0 p1 1\n" + BOM + b"q2 0 p2 1\n") == {"q1": {"p1": 1}, "q2": {"p2": 1}}


# --- recognizing


@pytest.mark.parametrize(
    ("content", "name", "kind", "dialect"),
    [
        ('{"_id":"d1","text":"a","metadata":{}}\n{"_id":"d2","text":"a","metadata":{}}', "corpus", "passages", "BEIR"),
        ('{"id":"1","text":"a b"}\n{"id":"2","text":"a b","title":"t"}', "x", "passages", "MTEB"),
        ('{"_id":1,"text":"a b","title":null}\n{"_id":"b","text":"a","title":null}', "x", "passages", "BEIR"),
        ("query-id\tcorpus-id\tscore\nq\tp\t1\n", "test.tsv", "qrels", "BEIR"),
        ("q\tp\t1\nq\tr\t1\nq\ts\t0\n", "x", "qrels", "BEIR"),
        ("q\tp\t1\nq\tr\t2\n", "x", "run", "MS MARCO"),
        ("q_id,doc_id,score\nq,d,1\nq,e,0\n", "x", "qrels", "ranx"),
        ("q_id,doc_id,score\nq,d,1.5\nq,e,0\n", "x", "run", "ranx"),
        (json.dumps({"q1": {"d1": 1.5, "d2": 2}}, indent=1), "x", "run", "ranx"),
        ("qid,docno,score\nq,d,1\n", "x", "run", "PyTerrier"),
        ("query,a,b,preferred,worker\nq,d,e,d,w\n", "x", "judgments", "table"),
        ("query a b preferred\nq d e d\n", "x", "preferences", "table"),
        ("hitid,assignmentid,workerid\nh,a,w\n", "x", "judgments", "Mechanical Turk's results"),
        (json.dumps([{"data": {"a": "q"}, "annotations": []}]), "x", "judgments", "Label Studio's pairwise export"),
        ("qid\tquery\n1\twhat\n", "x", "queries", "PyTerrier"),
        ("# Notes\n", "x", "unknown", ""),
        ("[[[[", "x", "unknown", "JSON without records"),
    ],
)  # fmt: skip
def test_files_are_recognized_by_what_they_are_read_by(content: str, name: str, kind: str, dialect: str) -> None:
    recognized = recognize(source(content), name)
    assert (recognized.kind, recognized.dialect) == (kind, dialect)
    assert recognized.why


def test_the_command_says_what_files_are(tmp_path: Path) -> None:
    corpus, run = tmp_path / "corpus.jsonl.gz", tmp_path / "run.txt"
    corpus.write_bytes(gzip.compress(b'{"_id":"d1","text":"a","metadata":{}}\n{"_id":"d2","text":"b"}\n'))
    run.write_text("q Q0 p 1 2 t\nq Q0 r 2 one t\n")
    assert json_of("recognize", "--json", str(corpus), str(run))["files"] == [
        {
            **{"file": str(corpus), "kind": "passages", "dialect": "BEIR", "rows": 2},
            **{"columns": ["_id", "text", "metadata"], "notes": ["left out: metadata"]},
        },
        {
            **{"file": str(run), "kind": "run", "dialect": "TREC", "rows": 1},
            **{"columns": ["query", "Q0", "passage", "rank", "score", "tag"]},
            "notes": ["line 2: score one is not a finite number."],
        },
    ]
    assert "passages" in run_cli("recognize", str(corpus)).out
    run_cli("recognize", str(tmp_path / "none"), code=1)


def pieces() -> Iterator[bytes]:
    yield from (b"{", b'{"a": [', b"[{}, 1", b'{"q": {"d": 1}, "r": 2}', b'{"a": {}, "b": {}}', b"qid,docno,score\n\n")
    yield from (b'qid,docno,score\n"', b"sep=;\na;b", b"PAR1", b"PAR1" * 9, b"\x28\xb5\x2f\xfd", b"\n\n", b"[]", b"{}")


@given(st.one_of(st.sampled_from(list(pieces())), st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
@settings(max_examples=100, deadline=None)
def test_no_bytes_are_more_than_bad_input(content: bytes) -> None:
    assert recognize(source(content), "x").kind
    for kind in KINDS:
        try:
            list(read_table(source(content), kind, name="file"))
        except BadInput as error:
            assert str(error).startswith("file")
    check_run(source(content), name="file")

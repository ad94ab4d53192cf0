"""Reading judgments of other tools: who made them, what repeats, and what is refused."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import BadInput
from evaluation.files.judgments import Judgments, Made, last_judgments, read_judgments
from evaluation.files.preferences import Preference, read_any_pools, read_pairs, read_preferences

from .command import json_of, run_cli

MTURK = (
    b"HITId,AssignmentId,WorkerId,AssignmentStatus,SubmitTime,Input.query,Input.a,Input.b,Answer.preferred,Reject\n"
    b"H1,A1,W1,Approved,,q1,p1,p2,left,\n"
    b"H1,A2,W2,Rejected,,q1,p1,p2,right,\n"
    b"H1,A3,W3,Submitted,,q1,p1,p2,P1,x\n"
)


def read(content: bytes | list[Any]) -> tuple[Judgments, list[Made]]:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    judgments = read_judgments(io.BytesIO(data), name="old")
    return judgments, list(judgments.made)


def task(a: str, b: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 1, "data": {"query_id": "q1", "a": a, "b": b}, "annotations": list(annotations)}


def annotation(number: int | None, by: Any, side: str) -> dict[str, Any]:
    result = [{"type": "pairwise", "value": {"selected": side}}]
    return {"id": number, "completed_by": by, "created_at": "2021-03-09T22:16:08Z", "result": result}


Row = tuple[str, str, str, str, str, str]  # query, a, b, preferred, worker, time
SIDES = {0: "left", 1: "right", 2: "tie"}


def side(row: Row) -> str:
    return SIDES[row[1:3].index(row[3]) if row[3] in row[1:3] else 2]


def as_table(delimiter: str, names: str, rows: Sequence[Sequence[object]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerows([names.split(), *rows])
    return out.getvalue().encode()


def as_json(rows: Sequence[Row]) -> list[Any]:
    return [
        {
            "data": {"query_id": query, "a": a, "b": b},
            "annotations": [annotation(number, worker or None, side(row)) | {"created_at": time}],
        }
        for number, row in enumerate(rows)
        for query, a, b, _, worker, time in [row]
    ]


WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "lines": lambda rows: "".join("\t".join(row) + "\n" for row in rows).encode(),
    "CSV": lambda rows: as_table(",", "QID Passage_A passage_b choice annotator timestamp", rows),
    "JSON lines": lambda rows: "".join(
        json.dumps(dict(zip(("qid", "doc1", "doc2", "preferred", "worker", "time"), row, strict=True))) + "\n"
        for row in rows
    ).encode(),
    "a campaign's judgments.tsv": lambda rows: as_table(
        "\t",
        "worker kind query a b left preferred made_at accepted superseded",
        [(w, "pair", q, *sorted((a, b)), a, p, t, "true", "false") for q, a, b, p, w, t in rows],
    ),
    "Mechanical Turk's results": lambda rows: as_table(
        ",",
        "HITId AssignmentId WorkerId AssignmentStatus SubmitTime Input.qid Input.a Input.docid_b Answer.category.label",
        [("H", n, row[4], "Approved", row[5], *row[:3], side(row)) for n, row in enumerate(rows)],
    ),
    "Label Studio's pairwise export": lambda rows: json.dumps(as_json(rows)).encode(),
    "Label Studio's table": lambda rows: as_table(
        ",",
        "query_id a b annotation_id annotator created_at lead_time pw",
        [(*row[:3], n, row[4], row[5], 1.5, json.dumps([{"selected": side(row)}])) for n, row in enumerate(rows)],
    ),
    "Potato's output": lambda rows: "".join(
        json.dumps(
            {
                "user_id": worker or None,
                "instance_id": "|".join((query, a, b)),
                "label_annotations": {"better": {"selection": side(row)}},
                "behavioral_data": {"timestamp": time},
            }
        )
        + "\n"
        for row in rows
        for query, a, b, _, worker, time in [row]
    ).encode(),
}  # fmt: skip
ids = st.text("aZ09.-_#éß中", min_size=1, max_size=6).filter(lambda text: not text.startswith("#"))


@st.composite
def judged(draw: st.DrawFn) -> list[Row]:
    """Judgments with odd ids, ties and workers whom nobody knows, each at a time of its own."""
    rows = draw(st.lists(st.tuples(ids, ids, ids, st.integers(0, 2), st.sampled_from(["", "ann", "7"])), min_size=1))
    start = datetime(2021, 3, 9, tzinfo=UTC)
    return [
        (
            f"q{query}",
            f"d{a}",
            f"e{b}",
            (f"d{a}", f"e{b}", "=")[which],
            worker,
            (start + timedelta(hours=n)).isoformat(),
        )
        for n, (query, a, b, which, worker) in enumerate(rows)
    ]


@settings(deadline=None, max_examples=25)
@given(judged())
def test_the_same_judgments_are_read_of_each_dialect(rows: list[Row]) -> None:
    for name, write in WRITERS.items():
        _judgments, judgments_read = read(write(rows))
        values = [
            (*judgment[1:4], judgment.preferred or "=", judgment.worker, judgment.at and judgment.at.isoformat())
            for judgment in judgments_read
        ]
        assert values == rows, name


@pytest.mark.parametrize(
    "content",
    [
        [task("p1", "p2", *(annotation(number, None, side) for number, side in enumerate(("left", "left", "right"))))],
        [task("p1", "p2", *(annotation(None, {"id": None}, side) for side in ("left", "left", "right")))],
        b"".join(
            b'{"user_id": null, "instance_id": "q1|p1|p2", "label_annotations": {"preferred": {"selection": "%s"}}}\n'
            % side
            for side in (b"A", b"A", b"B")
        ),
        b'{"qid": "q1", "a": "p1", "b": "p2", "preferred": "p1", "worker": null}\n' * 2
        + b'{"qid": "q1", "a": "p1", "b": "p2", "preferred": "p2", "worker": null}\n',
        b"query,a,b,preferred,worker\nq1,p1,p2,p1,None\nq1,p1,p2,p1,nan\nq1,p1,p2,p2,\n",
    ],
)
def test_nobody_is_each_somebody_else(content: bytes | list[Any]) -> None:
    _judgments, judgments_read = read(content)
    assert [(judgment.preferred, judgment.worker) for judgment in judgments_read] == [
        ("p1", ""),
        ("p1", ""),
        ("p2", ""),
    ]
    assert last_judgments(judgments_read) == judgments_read


@pytest.mark.parametrize("value", [None, True, 1.5, [], {}, "p 1", float("nan")])
@pytest.mark.parametrize("form", ["task", "min", "lines"])
def test_an_id_is_text_or_a_whole_number(value: Any, form: str) -> None:
    def content(a: Any) -> list[Any]:
        data = {"query_id": 7, "a": a, "b": 2.0}
        if form == "task":
            return [{"data": data, "annotations": [annotation(1, "ann", "right")]}]
        exported = {"annotation_id": 1, "annotator": "ann", "pw": [{"selected": "right"}]}
        return [data | (exported if form == "min" else {"preferred": 2})]

    with pytest.raises(BadInput, match=r"^old: record 1: (no )?(passage|a)\b.*(text or a|without spaces)"):
        read(content(value))
    assert [judgment[1:5] for judgment in read(content(1))[1]] == [("7", "1", "2", "2")]


def test_an_annotation_that_is_exported_twice_is_one_by_command_too(tmp_path: Path) -> None:
    twice = task("p1", "p2", annotation(1, 1, "right"), annotation(2, 2, "right"))
    others = (
        task("p1", "p3", annotation(3, 1, "left")),
        task("p3", "p2", *(annotation(n, n, "left") for n in (4, 5, 6))),
    )
    judgments, judgments_read = read([twice, *others, twice])
    assert (len(judgments_read), judgments.left_out) == (6, {"that the file repeats": 2})
    file, weights_file = tmp_path / "ls.json", tmp_path / "counted.txt"
    file.write_text(json.dumps([twice, *others, twice]))
    out, err = run_cli("workers", "--judgments", file, "--weigh", "dawid-skene")
    assert "2 judgments that the file repeats left out." in err
    weights_file.write_text(out)
    assert run_cli("qrels", weights_file).out == "q1 0 p3 1\n"


def test_of_a_worker_who_judged_a_pair_again_the_last_judgment_counts(tmp_path: Path) -> None:
    lines = (
        "q1 p1 p2 p1 ann 2021-03-09T22:00:00Z\nq1 p2 p1 p2 ann 2021-03-09T21:00:00Z\n"
        "q1 p1 p2 p1 ann 2021-03-09T22:00:00Z\nq1 p1 p2 p2 bob 2021-03-09T22:00:00Z\n"
    )
    judgments, judgments_read = read(lines.encode())
    assert (len(judgments_read), judgments.left_out) == (3, {"that the file repeats": 1})
    assert [(judgment.worker, judgment.preferred) for judgment in last_judgments(judgments_read)] == [
        ("ann", "p1"),
        ("bob", "p2"),
    ]
    (tmp_path / "judged.txt").write_text(lines)
    words = ("workers", "--judgments", str(tmp_path / "judged.txt"))
    assert run_cli(*words, "--weigh", "mace").out == "q1 p1 p2 p1\nq1 p1 p2 p2\n"
    printed = json_of(*words, "--json")
    assert printed["judgments"] == 2


@pytest.mark.parametrize("names", [bytes.lower, bytes.upper, bytes.title])
def test_rejected_work_never_counts_whatever_the_case_of_the_names(names: Any) -> None:
    header, rest = MTURK.split(b"\n", 1)
    judgments, judgments_read = read(names(header) + b"\n" + rest + rest.splitlines(keepends=True)[0])
    assert [(judgment.worker, judgment.preferred) for judgment in judgments_read] == [("W1", "p1")]
    assert judgments.left_out == {"of rejected assignments": 2, "that the file repeats": 1}


@pytest.mark.parametrize("header", [b"query a b\n", b"qid doc1 doc2\n", b"QID\tdocid_a\tdocid_b\n", b"topic,a,b\n"])
def test_a_line_of_names_above_preferences_is_no_judgment(header: bytes, tmp_path: Path) -> None:
    mark = next(mark for mark in (b",", b"\t", b" ") if mark in header)
    content = header + b"q1 p1 p2\n".replace(b" ", mark)
    path = tmp_path / "preferences.txt"
    path.write_bytes(content)
    assert list(read_preferences(path)) == [Preference("q1", "p1", "p2", "p1")]
    assert [judgment[1:5] for judgment in read(content)[1]] == [("q1", "p1", "p2", "p1")]
    assert [pair[1:] for pair in read_pairs(path)] == [("p1", "p2")]
    assert read_any_pools(path) == {"q1": {"p1", "p2"}}
    path.write_bytes(b"query passage\nq1 p1\nq1 p2\n")
    assert read_any_pools(path) == {"q1": {"p1", "p2"}}
    path.write_bytes(b"query other preferred\nq1 p1 p2\n")
    for reading in (read_preferences, read_pairs):
        with pytest.raises(BadInput, match="line 1: has the columns query, other, preferred"):
            list(reading(path))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ([task("p1", "p2") | {"annotations": {"id": 1}}], "record 1: `annotations` (an object) where a list of"),
        ([task("p1", "p2") | {"annotations": [5]}], "record 1: `annotations` (a list) where a list of objects"),
        ([task("p1", "p2", {"result": 5})], "record 1: `result` 5 where a list of objects"),
        ([task("p1", "p2", annotation(1, "ann", "left")), 5], "record 2: not a JSON object"),
        ([task("p1", "p2", annotation(1, True, "left"))], "record 1: worker true where a text is needed"),
        ([task("p1", "p2", annotation(1, "ann", 7))], "record 1: the answer '7' is neither"),  # type: ignore[arg-type]
        (b'{"instance_id": "q|a|b", "user": 1, "label_annotations": [1]}\n', "line 1: no `label_annotations`"),
        (b'{"instance_id": ["q|a|b"], "user": 1, "labels": {"p": {"A": true}}}\n', "line 1: instance (a list) where"),
        (b'{"qid": 1, "a": 2, "b": 3, "preferred": 2}\n{"qid": 1, "a": 2, "b": 3}\n', "line 2: it does not say"),
        (b'{"qid": "q", "a": "x", "b": "y", "preferred": "x"}\n{"qid": "q", "a": "x"', "line 2: not JSON"),
        (b"query,a,b,preferred\n1,2.0,3.0,2.0\n", "line 2: a 2.0: every a ends in .0"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_with_a_sentence(content: bytes | list[Any], complaint: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(content)
    assert complaint in str(refused.value)

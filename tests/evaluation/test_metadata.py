"""A run's ir_metadata header: kept as metadata, or refused by line, and never slower for runs without one."""

import io

import pytest

from evaluation.files import runs
from evaluation.files.metadata import flatten
from evaluation.files.runs import RunCheck, check_run

from .command import json_of, run_cli
from .conftest import Write

HEADER = """\
# ir_metadata.start
# schema version: 0.1
# platform:
#   hardware:
#     ram: 64 GB
# actor:
#   team: "Group: IR"
#   fields:
#     - retrieval
#     - reranking
# date: 2026-11-21
# time: 12:30:45
# runs: [1, 2.5, true, null, 007]
# ir_metadata.end
"""
TREC = "q1 Q0 p2 1 9.5 red\nq1 Q0 p1 2 9.0 red\nq2 Q0 p5 1 3.5 red\n"
MS_MARCO = "q1\tp2\t1\nq1\tp1\t2\n"


def check(content: str | bytes) -> RunCheck:
    data = content.encode() if isinstance(content, str) else content
    return check_run(io.BytesIO(data), name="red.txt")


def test_a_header_becomes_the_metadata_and_leaves_the_run_as_it_was() -> None:
    checked, bare = check(HEADER + TREC), check(TREC)
    assert checked.errors == []
    assert checked.metadata == {
        "schema version": 0.1,
        "platform": {"hardware": {"ram": "64 GB"}},
        "actor": {"team": "Group: IR", "fields": ["retrieval", "reranking"]},
        "date": "2026-11-21",
        "time": "12:30:45",
        "runs": [1, 2.5, True, None, "007"],
    }
    assert bare.metadata == {}
    assert checked.artifact is not None
    assert bare.artifact is not None
    assert checked.artifact.top("score", 9) == bare.artifact.top("score", 9)
    assert checked.census.as_dict() == bare.census.as_dict() | {"lines": 17}


@pytest.mark.parametrize(
    "content",
    [
        HEADER + MS_MARCO,
        (HEADER + TREC).replace("\n", "\r\n"),
        "\ufeff" + HEADER + TREC,
        HEADER.replace("# ", "#") + TREC,
        HEADER + TREC.removesuffix("\n"),
    ],
    ids=["three columns", "CRLF", "byte order mark", "no space after the number sign", "no last newline"],
)
def test_headers_are_read_in_every_form_that_tools_write(content: str) -> None:
    checked = check(content)
    assert checked.errors == []
    assert checked.metadata["actor"]["team"] == "Group: IR"


def test_lines_after_a_header_are_counted_from_the_start_of_the_file() -> None:
    checked = check(HEADER + TREC + "q3 only three\n")
    assert [error.line for error in checked.errors] == [18]


def test_a_run_whose_queries_stand_apart_keeps_its_header() -> None:
    checked = check(HEADER + TREC + "q1 Q0 p9 3 1.0 red\n")
    assert checked.errors == []
    assert checked.census.split_queries
    assert checked.metadata["date"] == "2026-11-21"


START, END = "# ir_metadata.start\n", "# ir_metadata.end\n"


BAD = {
    "the run begins before the end": (START + "# a: 1\n", 3, "does not begin with #"),
    "a line without a number sign": (START + "# a: 1\nq1 Q0 p1 1 1.0 red\n" + END, 3, "does not begin with #"),
    "a list that is not closed": (START + "# a: 1\n# b: [1\n" + END, 3, "YAML"),
    "a name given twice": (START + "# a: 1\n# a: 2\n" + END, 3, "“a” is given twice"),
    "a list at the top": (START + "# - a\n" + END, 2, "names with values"),
    "a list as a name": (START + "# ? [a, b]\n# : c\n" + END, 2, "name"),
    "an alias": (START + "# a: &x 1\n# b: *x\n" + END, 3, "alias"),
    "a NUL character": (START + '# a: "\\0"\n' + END, 2, "NUL"),
    "half a character": (START + '# a: "\\ud800"\n' + END, 2, "surrogate"),
    "forty levels": (START + "# a: " + "[" * 40 + "]" * 40 + "\n" + END, 2, "deep"),
    "a thousand levels": (START + "# a: " + "[" * 1_000 + "\n" + END, 2, "deep"),
    "a long header": (START + "# a: x\n" * 10_000 + END, 1, "65,536 bytes"),
    "a long line": (START + "# a: " + "x" * 3_000 + "\n" + END, 2, "2,048 bytes"),
    "a tag": (START + "# a: !!python/object/apply:os.system [id]\n" + END, 2, "tag"),
    "two documents": (START + "# a: 1\n# ---\n# b: 2\n" + END, 3, "one document"),
    "a control character": (START + "# a: 1\n# b: \a\n" + END, 3, "YAML"),
}


@pytest.mark.parametrize(("header", "line", "words"), BAD.values(), ids=BAD)
def test_a_bad_header_is_told_by_line_and_gives_no_artifact(header: str, line: int, words: str) -> None:
    checked = check(header + TREC)
    assert not checked.ok
    assert checked.errors[0].line == line, checked.errors
    assert words in checked.errors[0].message
    assert checked.artifact is None
    assert checked.metadata == {}


def test_invalid_text_in_a_header_is_told_by_line() -> None:
    checked = check(START.encode() + b"# a: 1\n# b: \xff\n" + END.encode() + TREC.encode())
    assert (checked.errors[0].line, "invalid UTF-8" in checked.errors[0].message) == (3, True)


def test_a_header_that_the_file_ends_in_is_told() -> None:
    checked = check(START + "# a: 1\n")
    assert (checked.errors[0].line, "ir_metadata.end" in checked.errors[0].message) == (1, True)


def test_a_header_alone_is_no_run() -> None:
    checked = check(HEADER)
    assert checked.artifact is None
    assert checked.errors[0].line == 15
    assert "no line of a run" in checked.errors[0].message


def test_a_header_of_nothing_is_no_metadata() -> None:
    assert check(START + END + TREC).metadata == {}


def test_a_header_that_does_not_come_first_is_a_bad_line() -> None:
    lines = "".join(f"q1 Q0 p{n} {n} {100 - n}.5 red\n" for n in range(1, 31))
    assert check(lines + HEADER).errors[0].line == 31


def test_plain_runs_never_meet_the_reader_of_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("a header was looked for")

    monkeypatch.setattr(runs, "split_header", refuse)
    assert check(TREC).ok


def test_metadata_is_flattened_to_dotted_names() -> None:
    metadata = {
        "actor": {"team": "T", "fields": ["a", "b"]},
        "runs": [{"k": 1}, {"k": True}],
        "none": None,
        "empty": {},
    }
    assert list(flatten(metadata)) == [
        ("actor.team", "T"),
        ("actor.fields", "a, b"),
        ("runs.1.k", "1"),
        ("runs.2.k", "true"),
        ("none", ""),
        ("empty", ""),
    ]


def test_check_shows_the_metadata(write: Write) -> None:
    path = write("red.txt", HEADER + TREC)
    assert json_of("check", "--json", path)["metadata"]["actor"]["team"] == "Group: IR"
    assert "actor.team" in run_cli("check", path).out


def test_every_command_that_reads_runs_takes_a_header(write: Write) -> None:
    qrels = write("qrels.txt", "q1 0 p2 1\nq2 0 p6 1\n")
    outputs = []
    for header in ("", HEADER):
        outputs.append(run_cli("score", "--qrels", qrels, write("red.txt", header + TREC)).out)
    assert outputs[0] == outputs[1]

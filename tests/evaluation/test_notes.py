"""What makes numbers suspicious is said, in the same words by every command, and nothing is said of what is not."""

import io
import json
import time
from typing import Any

import pytest

from evaluation.boards.checking import check_file
from evaluation.files.artifact import RunArtifact
from evaluation.files.notes import judged_notes, query_notes
from evaluation.files.qrels import Entry, Qrels
from evaluation.files.runs import check_run

from .command import json_of, run_cli
from .conftest import Write

OTHER_COLLECTION = "none of its passages is judged, in 1 query: is it a run for another collection?"


def run_of(text: str, **options: Any) -> RunArtifact:
    artifact = check_run(io.BytesIO(text.encode()), name="run", **options).artifact
    assert artifact is not None
    return artifact


def sentences(run: str, *judged: tuple[str, str]) -> list[str]:
    qrels = Qrels.of(Entry(query, passage, 1) for query, passage in judged)
    check = check_run(io.BytesIO(run.encode()), name="run")
    return [note.sentence() for note in check.notes(qrels.queries, qrels)]


@pytest.mark.parametrize(
    ("passage", "judged", "form"),
    [
        ("caf\u00e9", "cafe\u0301", "Unicode normalization (caf\\xe9 for cafe\\u0301)"),
        ("p\u200b1", "p1", "invisible characters (p\\u200b1 for p1)"),
        ("P1", "p1", "upper and lower case (P1 for p1)"),
        ("d007", "d7", "leading zeros (d007 for d7)"),
        ("7", "007", "leading zeros (7 for 007)"),
        (
            "clueweb09-en0000-00-", "clueweb09-en0000-00-00123",
            "length: they are cut at 20 characters (clueweb09-en0000-00- for clueweb09-en0000-00-00123)",
        ),
    ],
)  # fmt: skip
def test_ids_that_differ_only_in_form_are_told_with_the_form(passage: str, judged: str, form: str) -> None:
    notes = sentences(f"q1 Q0 {passage} 1 2 t\n", ("q1", judged))
    assert notes[:2] == [OTHER_COLLECTION, f"1 passage id differs from judged ones only in {form}."]
    notes_of_queries = sentences(f"{passage} Q0 p 1 2 t\n", (judged, "p"))
    assert notes_of_queries[:2] == [
        "answers none of the 1 queries: is it a run for other queries?",
        f"1 query id differs from those asked for only in {form}.",
    ]


def test_ids_that_differ_otherwise_and_what_is_found_are_not_told() -> None:
    assert (
        sentences("q1 Q0 p1 1 3 t\nq1 Q0 p2 2 2 t\nq1 Q0 p10 3 1 t\n", ("q1", "p1"), ("q1", "p3"), ("q1", "10")) == []
    )
    # The same form, but of a passage of another query.
    assert sentences("q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\n", ("q1", "a"), ("q2", "b"), ("q1", "B")) == []


def test_a_run_of_other_passages_is_told_by_score_pool_and_check_in_the_same_words(write: Write) -> None:
    run, qrels = write("cut.txt", "q1 Q0 p1 1 2 t\n"), write("qrels.txt", "q1 0 x9 1\n")
    assert f"cut: {OTHER_COLLECTION}" in run_cli("score", "--qrels", qrels, run).err.splitlines()
    assert f"cut: {OTHER_COLLECTION}" in run_cli("pool", "--qrels", qrels, run).err.splitlines()
    assert f"  Note: {OTHER_COLLECTION}" in run_cli("check", "--qrels", qrels, run).out.splitlines()
    (note,) = json_of("check", "--qrels", qrels, run, "--json")["notes"]
    assert (note["code"], note["sentence"]) == ("not_judged", OTHER_COLLECTION)


def test_only_the_first_passages_are_spoken_of_where_only_these_are_known() -> None:
    text = "".join(f"q1 Q0 p{n} {n} {99 - n} t\n" for n in range(20))
    qrels = Qrels.of([Entry("q1", "p19", 1)])
    (note,) = judged_notes(run_of(text, depth=10), qrels)
    assert note.sentence().startswith("none of its first 10 passages is judged, in 1 query:")
    assert judged_notes(run_of(text, depth=1), qrels) == []  # which is no wonder
    assert judged_notes(run_of(text, depth=20), qrels) == []


def test_invisible_characters_in_ids_are_told_also_of_qrels(write: Write) -> None:
    run = write("run.txt", "q1 Q0 \ufeffp1 1 2 t\nq2 Q0 p\u200b2 1 2 t\n")
    assert "  Note: 2 passage ids with invisible characters (\\ufeffp1; p\\u200b2)." in run_cli("check", run).out
    qrels = write("qrels.txt", "q1 0 p1 1\nq2\u00a0 0 p2 1\n")
    err = run_cli("score", "--qrels", qrels, run).err
    assert "qrels: 1 query id with invisible characters (q2\\xa0)." in err.splitlines()


def test_files_that_begin_with_a_mark_can_be_joined_which_is_told(write: Write) -> None:
    run = write("run.txt", "\ufeffq1 Q0 p1 1 2 t\n\ufeffq2 Q0 p2 1 2 t\n")
    mark = "a byte order mark is left out in 1 line: files that begin with one were joined."
    assert f"  Note: {mark}" in run_cli("check", run).out
    qrels = write("qrels.txt", "\ufeffq1 0 p1 1\n\ufeffq2 0 p2 1\n")
    out, err = run_cli("score", "--qrels", qrels, run)
    assert json.loads(out)["runs"]["run"]["mean"] == 1
    assert f"qrels: {mark}" in err.splitlines()


def test_a_query_among_its_own_results_is_told_and_left_out_where_that_is_asked(write: Write) -> None:
    run = write("run.txt", "q1 Q0 q1 1 9 t\nq1 Q0 d1 2 8 t\nq2 Q0 d2 1 9 t\n")
    qrels = write("qrels.txt", "q1 0 d1 1\nq2 0 d2 1\n")
    out, err = run_cli("score", "--qrels", qrels, run)
    assert json.loads(out)["runs"]["run"]["mean"] == 0.75
    assert "run: the results of 1 of 2 queries hold the query itself (q1), which BEIR leaves out." in err.splitlines()
    out, err = run_cli("score", "--qrels", qrels, run, "--without-query")
    assert json.loads(out)["runs"]["run"]["mean"] == 1
    assert "run: 1 hit left out whose passage has the id of the query, as BEIR does." in err.splitlines()
    assert json_of("pool", "--qrels", qrels, run)["pairs"] == 1
    assert json_of("pool", "--qrels", qrels, run, "--without-query")["pairs"] == 0
    # Numbers that coincide far down, of one query in many, are no news.
    many = "".join(f"{q} Q0 {q + shift} {shift} {-shift} t\n" for q in range(200, 500) for shift in (1, 2))
    assert not check_run(io.BytesIO(f"{many}7 Q0 8 1 2 t\n7 Q0 7 2 1 t\n".encode()), name="run").notes()


def test_a_run_of_nothing_but_its_queries_is_refused_where_these_are_left_out() -> None:
    check = check_run(io.BytesIO(b"q1 Q0 q1 1 9 t\n"), name="run", without_query=True)
    assert check.complaint() == "run: every hit is left out: its passage has the id of its query."


def test_hits_of_one_score_are_told() -> None:
    notes = sentences("q1 Q0 a 1 5 t\nq1 Q0 b 2 5 t\nq2 Q0 c 1 5 t\n", ("q1", "a"))
    assert notes == ["all hits have the same score in 1 of 2 queries: ids decide their order by score."]
    assert sentences("q1 a 1\nq1 b 2\n", ("q1", "a")) == []  # without scores


def test_a_boards_check_says_the_same() -> None:
    run = "q1 Q0 q1 1 5 t\nQ2 Q0 p 1 5 t\n"
    checked = check_file(io.BytesIO(run.encode()), name="dev.txt", queries=["q1", "q2"], hits=1, order="score")
    notes = list(checked.sentences())
    assert "dev.txt: Note: 1 query id differs from those asked for only in upper and lower case (Q2 for q2)." in notes
    assert "dev.txt: Note: the results of 1 of 2 queries hold the query itself (q1), which BEIR leaves out." in notes


def test_comparing_ids_takes_time_that_grows_with_the_rows_alone() -> None:
    queries, hits = 200, 100
    text = "".join(f"q{q} Q0 D{q * hits + h} {h} {-h} t\n" for q in range(queries) for h in range(hits))
    run = run_of(text, depth=hits)
    qrels = Qrels.of(Entry(f"q{q}", f"d{q * hits + 3}", 1) for q in range(queries))
    began = time.process_time()
    notes = [note.code for note in judged_notes(run, qrels)] + [note.code for note in query_notes(run, qrels.queries)]
    assert time.process_time() - began < 3
    assert notes == ["not_judged", "passage_form"]

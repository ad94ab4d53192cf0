"""Checking runs: errors by line, the census, both orders, and what is kept."""

import gzip
import io
import random
from collections import defaultdict
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import BadInput
from evaluation.files import runs, textfiles
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.runs import LineError, RunCheck, check_run

from .conftest import Write

BM25 = """\
q1 Q0 p3 1 9.5 bm25
q1 Q0 p1 2 9.5 bm25
q1 Q0 p2 3 1.0 bm25
q2 Q0 p9 0 0.5 bm25
q2 Q0 p4 1 7 bm25
q3 Q0 p1 1 -2e1 bm25
"""


def check(content: str | bytes, **options: object) -> RunCheck:
    data = content.encode() if isinstance(content, str) else content
    return check_run(io.BytesIO(data), name="bm25.txt", **options)  # type: ignore[arg-type]


def artifact(content: str | bytes, **options: object) -> RunArtifact:
    checked = check(content, **options)
    assert checked.artifact is not None, checked.errors
    return checked.artifact


def test_a_good_run_has_no_errors_and_a_census() -> None:
    checked = check(BM25)
    assert checked.ok
    assert checked.errors == []
    assert checked.census.as_dict() == {
        "format": "TREC",
        "lines": 6,
        "queries": 3,
        "hits": 6,
        "hits_min": 1,
        "hits_median": 2.0,
        "hits_max": 3,
        "rank_base": None,
        "tied_hits": 2,
        "queries_with_ties": 1,
        "queries_with_top_tie": 1,
        "queries_with_one_score": 0,
        "rank_score_conflicts": 1,
        "rank_ties": 0,
        "out_of_rank_order": 0,
        "short_lists": 2,
        "split_queries": False,
        "missing_queries": None,
        "missing_query_ids": [],
        "unknown_queries": None,
        "unknown_query_ids": [],
        "crlf_lines": 0,
        "tab_lines": 0,
        "extra_space_lines": 0,
        "bom": False,
        "missing_last_newline": False,
        "own_query_hits": 0,
    }


@pytest.mark.parametrize(
    ("content", "order", "top"),
    [
        (BM25, "score", {"q1": ("p3", "p1", "p2"), "q2": ("p4", "p9"), "q3": ("p1",)}),
        (BM25, "rank", {"q1": ("p3", "p1", "p2"), "q2": ("p9", "p4"), "q3": ("p1",)}),
        ("".join(f"q Q0 {pid} 1 5 t\n" for pid in "9aéB"), "score", {"q": ("é", "a", "B", "9")}),
        ("q Q0 10 1 5 t\nq Q0 9 1 5 t\nq Q0 100 1 5 t\n", "score", {"q": ("9", "100", "10")}),
        ("q Q0 a 2 5 t\nq Q0 c 1 5 t\nq Q0 b 1 9 t\n", "rank", {"q": ("c", "b", "a")}),
        ("q Q0 a 1 1.00000001 t\nq Q0 b 2 1.00000002 t\n", "score", {"q": ("b", "a")}),
        ("1\t30\t2\n1\t20\t1\n2\t5\t1\n", "rank", {"1": ("20", "30"), "2": ("5",)}),
        ("1\t30\t2\n1\t20\t1\n2\t5\t1\n", "score", {"1": ("20", "30"), "2": ("5",)}),
        ("007 Q0 01 1 2 t\n7 Q0 1 1 2 t\n7 Q0 1.0 2 1 t\n", "score", {"007": ("01",), "7": ("1", "1.0")}),
    ],
    ids=[
        *("scores fall", "ranks rise", "ties by id", "ids are no numbers", "equal ranks as in the file"),
        *("scores are doubles", "MS MARCO", "MS MARCO has no scores", "ids are exact"),
    ],
)
def test_orders_are_by_score_or_by_rank(content: str, order: Order, top: dict[str, tuple[str, ...]]) -> None:
    assert artifact(content).top(order, 4) == top


def test_all_that_is_kept_of_a_query_is_known_whichever_order_keeps_it() -> None:
    run = artifact("q Q0 a 3 9 t\nq Q0 b 2 5 t\nq Q0 c 1 1 t\nr Q0 a 1 1 t\n", depth=1)
    assert {query: sorted(pids) for query, pids in run.kept(["q", "r", "s"]).items()} == {"q": ["a", "c"], "r": ["a"]}
    assert run.holds(["c", "b", "a", "z"]).tolist() == [True, False, True, False]
    assert run.holds([]).tolist() == []


@pytest.mark.parametrize("base", [-3, 0, 1, 7])
def test_ranks_may_start_anywhere(base: int) -> None:
    checked = check("".join(f"q Q0 p{i} {base + i} {-i} t\n" for i in range(3)))
    assert checked.ok
    assert checked.census.rank_base == base


def test_the_run_is_known_by_its_file_name(write: Write) -> None:
    assert check_run(write("bm25.txt.gz", gzip.compress(BM25.encode()))).name == "bm25.txt.gz"


def test_an_error_reads_as_the_fact_the_place_and_what_was_expected() -> None:
    checked = check(BM25 + "q3 Q0 p2 2 1.0\nq3 Q0 p7\n")
    assert checked.artifact is None
    assert checked.complaint() == (
        "bm25.txt, line 7: 5 columns where a TREC run has 6 (query Q0 passage rank score tag). 1 more error."
    )


def test_every_bad_line_is_found_with_its_number() -> None:
    checked = check("q1 Q0 a 1 1 t\nq1 Q0 b 2\n\nq1 Q0 c x 1 t\nq1 Q0 d 4 nan t\nq1 Q0 a 5 1 t\nq1 Q0 \0 6 1 t\n")
    assert [error.line for error in checked.errors] == [2, 3, 4, 5, 6, 7]
    assert checked.error_count == 6
    assert checked.errors[4].message == "passage a a second time for query q1 (first on line 1)."


def test_the_first_hundred_errors_are_kept_and_all_are_counted() -> None:
    lines = [f"q Q0 p{number} {number} 1 t" for number in range(1000)]
    for number in range(0, 1000, 2):
        lines[number] = "too short"
    checked = check("\n".join(lines))
    assert [error.line for error in checked.errors] == list(range(1, 200, 2))
    assert checked.error_count == 500
    assert not checked.stopped


def test_the_first_hundred_are_the_first_by_line_of_whatever_kind_they_are() -> None:
    # A duplicate is known only when its query ends, after later lines have been found wrong.
    lines = [f"q Q0 p{number % 60} {number} 1 t" for number in range(120)] + ["wrong"] * 200
    checked = check("\n".join(lines))
    assert [error.line for error in checked.errors] == [*range(61, 121), *range(121, 161)]
    assert checked.error_count == 260


def test_a_file_that_is_wrong_all_over_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "ERRORS_ENOUGH", 1000)
    monkeypatch.setattr("evaluation.files.runlines._PART", 1000)
    checked = check(b"\n" * 1_000_000)
    assert checked.stopped
    assert 1000 <= checked.error_count < 3000
    assert checked.errors[0] == LineError(1, "0 columns where a TREC run has 6 (query Q0 passage rank score tag).")


def test_a_query_with_too_many_hits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "HITS_ENOUGH", 1000)
    monkeypatch.setattr(textfiles, "BLOCK", 4000)
    contiguous = "".join(f"q Q0 p{number} {number} 1 t\n" for number in range(3000))
    apart = "".join(f"q{number % 2} Q0 p{number} {number} 1 t\n" for number in range(6000))
    for content in (contiguous, apart):
        checked = check(content)
        assert "more than 1,000 hits for query q" in checked.errors[0].message
        assert checked.census.lines < 3000


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", 1, "the file is empty."),
        (gzip.compress(BM25.encode() * 1)[:-3], 7, "the gzip data end too early: the file was cut short."),
        (BM25.encode() + b"x" * 100_000, 7, "a line of more than 2,048 bytes."),
    ],
)
def test_a_file_that_breaks_off_or_is_not_there_is_an_error_in_the_check(
    content: bytes, line: int, message: str
) -> None:
    checked = check(content)
    assert checked.errors == [LineError(line, message)]
    assert checked.artifact is None
    absent = check_run("/nowhere/run.txt")
    assert absent.errors == [LineError(None, "cannot be opened: No such file or directory.")] and not absent.ok


def test_crlf_tabs_spaces_a_byte_order_mark_and_a_missing_newline_are_read_and_counted() -> None:
    plain = artifact(BM25)
    odd = BM25.replace("q1 Q0 ", "q1\tQ0\t").replace("p9 0", "p9   0").replace("\n", "\r\n").removesuffix("\r\n")
    checked = check("\ufeff" + odd)
    assert checked.ok
    census = checked.census
    assert (census.tab_lines, census.extra_space_lines, census.crlf_lines) == (3, 1, 5)
    assert census.bom
    assert census.missing_last_newline
    assert checked.artifact is not None
    assert checked.artifact.top("score", 9) == plain.top("score", 9)
    assert checked.artifact.top("rank", 9) == plain.top("rank", 9)


def test_queries_that_are_missing_or_unknown_are_counted_and_are_no_errors() -> None:
    checked = check(BM25, queries=["q1", "q5", "q4"])
    assert checked.ok
    assert (checked.census.missing_queries, checked.census.missing_query_ids) == (2, ["q4", "q5"])
    assert (checked.census.unknown_queries, checked.census.unknown_query_ids) == (2, ["q2", "q3"])


def test_a_file_object_is_read_from_where_it_stands_and_left_open() -> None:
    file = io.BytesIO(b"header\n" + BM25.encode())
    file.seek(7)
    assert check_run(file).ok
    assert not file.closed


def test_hits_of_a_query_may_stand_apart() -> None:
    lines = BM25.splitlines(keepends=True)
    checked = check("".join(lines[::2] + lines[1::2]))
    assert checked.ok
    assert checked.census.split_queries
    assert checked.census.queries == 3
    assert checked.artifact is not None
    assert checked.artifact.queries == ("q1", "q2", "q3")
    assert checked.artifact.top("score", 3) == artifact(BM25).top("score", 3)


def test_a_duplicate_is_found_across_parts_of_a_query_that_stand_apart() -> None:
    checked = check(BM25 + "q1 Q0 p2 4 0.1 bm25\n")
    assert checked.errors == [LineError(7, "passage p2 a second time for query q1 (first on line 3).")]


def test_a_passage_may_come_for_two_queries() -> None:
    assert check("q1 Q0 p 1 1 t\nq2 Q0 p 1 1 t\n").ok


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 31, 32, 33, 60])
def test_long_ids_that_differ_in_one_place_are_no_duplicates(length: int) -> None:
    ids = ["x" * at + "y" + "x" * (length - at - 1) for at in range(length)]
    lines = [f"q Q0 {passage} {rank} 1 t\n" for rank, passage in enumerate(ids)]
    assert check("".join(lines)).ok
    assert check("".join([*lines, f"q Q0 {ids[0]} 99 1 t\n"])).errors[0].line == length + 1


Hit = tuple[str, str, int, float]


def expected(hits: list[Hit], depth: int) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Both orders, as plainly as they can be said."""
    by_query: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_query[hit[0]].append(hit)
    by_score = {
        query: tuple(hit[1] for hit in sorted(hits, key=lambda hit: (hit[3], hit[1].encode()), reverse=True)[:depth])
        for query, hits in by_query.items()
    }
    by_rank = {
        query: tuple(hit[1] for hit in sorted(hits, key=lambda hit: hit[2])[:depth]) for query, hits in by_query.items()
    }
    return by_score, by_rank


HITS = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "10", "é"]),
        st.text("ab1é文", min_size=1, max_size=12),
        st.integers(0, 8),
        st.sampled_from([0.0, -0.0, 1.5, 2.25, -3.0, 1e300]) | st.floats(allow_nan=False, allow_infinity=False),
    ),
    min_size=1,
    max_size=60,
    unique_by=lambda hit: (hit[0], hit[1]),
)


@given(HITS, st.integers(1, 5), st.sampled_from([40, 200, 1 << 20]), st.booleans())
def test_both_orders_are_what_they_are_said_to_be(hits: list[Hit], depth: int, size: int, grouped: bool) -> None:
    if grouped:
        hits = sorted(hits, key=lambda hit: hit[0])
    content = "".join(f"{query} Q0 {passage} {rank} {score!r} t\n" for query, passage, rank, score in hits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfiles, "BLOCK", size)
        run = artifact(content, depth=depth)
    by_score, by_rank = expected(hits, depth)
    assert run.top("score", depth) == by_score
    assert run.top("rank", depth) == by_rank
    assert list(run.top("rank", depth)) == list(dict.fromkeys(hit[0] for hit in hits))


@given(HITS, st.sampled_from([30, 100, 1 << 20]), st.booleans())
def test_the_census_counts_what_it_says(hits: list[Hit], size: int, grouped: bool) -> None:
    if grouped:
        hits = sorted(hits, key=lambda hit: hit[0])
    content = "".join(f"{query} Q0 {passage} {rank} {score!r} t\n" for query, passage, rank, score in hits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfiles, "BLOCK", size)
        census = check(content).census
    by_query: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_query[hit[0]].append(hit)
    by_score, by_rank = expected(hits, 1)
    tied = {
        query: sum(sum(other[3] == hit[3] for other in hits) > 1 for hit in hits) for query, hits in by_query.items()
    }
    scores = {query: sorted((hit[3] for hit in hits), reverse=True) for query, hits in by_query.items()}
    ranks = {query: [hit[2] for hit in hits] for query, hits in by_query.items()}
    lowest = {min(rank) for rank in ranks.values()}
    assert census.hits == len(hits)
    assert census.split_queries == (sum(1 for _ in groupby(hit[0] for hit in hits)) > len(by_query))
    assert census.tied_hits == sum(tied.values())
    assert census.queries_with_ties == sum(map(bool, tied.values()))
    assert census.queries_with_top_tie == sum(len(score) > 1 and score[0] == score[1] for score in scores.values())
    assert census.rank_score_conflicts == sum(by_score[query] != by_rank[query] for query in by_query)
    assert census.rank_ties == sum(
        ranks_of_run.count(rank) > 1 for ranks_of_run in ranks.values() for rank in ranks_of_run
    )
    assert census.out_of_rank_order == sum(b < a for rank in ranks.values() for a, b in pairwise(rank))
    assert census.rank_base == (lowest.pop() if len(lowest) == 1 else None)
    assert census.hits_max == max(map(len, by_query.values()))
    assert census.short_lists == sum(len(hits) < census.hits_max for hits in by_query.values())


MIXED_IDS = st.text("ab", min_size=1, max_size=2) | st.sampled_from(["a" * size + "b" for size in range(6, 36)])


@given(st.lists(st.tuples(st.sampled_from("12"), MIXED_IDS), min_size=1, max_size=30))
def test_every_repetition_is_an_error_on_its_line(hits: list[tuple[str, str]]) -> None:
    content = "".join(f"{query} Q0 {passage} {rank} 1 t\n" for rank, (query, passage) in enumerate(hits))
    repeats = [number for number, hit in enumerate(hits, 1) if hit in hits[: number - 1]]
    assert [error.line for error in check(content).errors] == repeats


def test_a_stored_artifact_comes_back_whole_and_its_bytes_repeat() -> None:
    draw = random.Random(3)
    content = "".join(
        f"q{query} Q0 pé{draw.randrange(10**6)} {rank} {draw.random():.2f} t\n"
        for query in range(40)
        for rank in range(query % 7 + 1)
    )
    stored = []
    for _ in range(2):
        file = io.BytesIO()
        artifact(content, depth=5).save(file)
        stored.append(file.getvalue())
    assert stored[0] == stored[1]
    run, again = artifact(content, depth=5), RunArtifact.load(io.BytesIO(stored[0]))
    assert again.queries == run.queries
    assert again.depth == 5
    for depth in (1, 3, 5):
        assert again.top("score", depth) == run.top("score", depth)
        assert again.top("rank", depth) == run.top("rank", depth)


@pytest.mark.parametrize("content", [b"", b"no archive", BM25.encode()])
def test_something_else_than_an_artifact_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput, match="not a run artifact"):
        RunArtifact.load(io.BytesIO(content), name="run.npz")


def test_a_cut_artifact_is_refused() -> None:
    file = io.BytesIO()
    artifact(BM25).save(file)
    with pytest.raises(BadInput, match="not a run artifact"):
        RunArtifact.load(io.BytesIO(file.getvalue()[:-200]))


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("passage_bytes", list(b"p3p1p2p9\xff4")),
        ("passage_ends", [2, 1, 6, 8, 10]),
        ("passage_ends", [2, 4, 6, 8, 9]),
        ("query_ends", [2, 4]),
        ("by_score", [0, 1, 2, 3, 4, 5]),
        ("by_score", [0, 1, 2, 3, 4, -1]),
        ("starts", [0, 3, 5, 9]),
    ],
)
def test_an_artifact_whose_parts_do_not_fit_is_refused(part: str, values: list[int]) -> None:
    file = io.BytesIO()
    artifact(BM25).save(file)
    arrays = dict(np.load(io.BytesIO(file.getvalue())))
    assert arrays["passage_bytes"].tobytes() == b"p3p1p2p9p4"
    arrays[part] = np.array(values, arrays[part].dtype)
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    changed.seek(0)
    with pytest.raises(BadInput, match="not a run artifact"):
        RunArtifact.load(changed)


def test_an_artifact_does_not_answer_beyond_its_depth() -> None:
    run = artifact(BM25, depth=2)
    assert run.top("score", 2)["q1"] == ("p3", "p1")
    with pytest.raises(ValueError, match="keeps the top 2"):
        run.top("score", 3)


def test_an_artifact_that_holds_all_hits_answers_at_any_depth() -> None:
    assert artifact(BM25, depth=3).top("score", 50)["q1"] == ("p3", "p1", "p2")


def test_the_matrix_holds_positions_and_fills_up_with_minus_one() -> None:
    run = artifact(BM25)
    matrix = run.matrix("score", 3)
    assert matrix.shape == (3, 3)
    names = run.passages.to_pylist()
    assert [[names[at] if at >= 0 else None for at in row] for row in matrix.tolist()] == [
        ["p3", "p1", "p2"],
        ["p4", "p9", None],
        ["p1", None, None],
    ]


def test_ranks_tell_where_the_first_relevant_passage_stands() -> None:
    relevant = {"q1": ["p2", "p1"], "q2": ["p9"], "q3": ["p9"], "q4": ["p1"]}
    run = artifact(BM25)
    assert run.ranks("score", relevant, 10) == {"q1": 2, "q2": 2, "q3": 0, "q4": 0}
    assert run.ranks("rank", relevant, 10) == {"q1": 2, "q2": 1, "q3": 0, "q4": 0}
    assert run.ranks("score", relevant, 1) == {"q1": 0, "q2": 0, "q3": 0, "q4": 0}


def test_temporary_files_of_a_scattered_run_are_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert check("1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 b 1 1 t\n").census.split_queries
    assert list(tmp_path.iterdir()) == []

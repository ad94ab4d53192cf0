"""What a submission has to be: its id, its metadata, its two runs."""

import bz2
import io
import json
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards.checking import (
    Diagnostics,
    FileDiagnostics,
    Metadata,
    check_file,
    check_metadata,
    check_submission,
    id_problem,
    latest_embargo,
    outside_candidates,
    read_candidates,
    tidy_code,
    tidy_link,
)
from evaluation.errors import BadInput
from evaluation.files.qrels import Entry, Qrels
from evaluation.measures.means import exact_mean
from evaluation.measures.named import per_query, read_measure

DIGEST = "0123456789abcdef" * 4
ARRIVED = date(2020, 11, 1)
GOOD = {"team": "Ours", "model_description": "BM25", "paper": "", "code": "", "type": "full ranking"}


def metadata(**fields: object) -> bytes:
    return json.dumps({**GOOD, **fields}, indent=1).encode()


def problems(content: bytes) -> list[str]:
    check = check_metadata(content, arrived=ARRIVED)
    assert (check.metadata is None) is bool(check.errors)
    return [f"{line}: {message}" for line, message in check.errors]


@pytest.mark.parametrize(
    "run_id", ["20201101-a", "20201031-A_b-9", "20201102-doc2query--", "20201101-" + "x" * 40, "20201101--"]
)
def test_ids_of_the_form_that_is_asked_for_are_taken(run_id: str) -> None:
    assert id_problem(run_id, arrived=ARRIVED) == ""


@pytest.mark.parametrize(
    ("run_id", "why"),
    [
        ("", "is needed"),
        ("20201101", "is needed"),
        ("20201101a", "is needed"),
        ("20201101-", "is needed"),
        ("20201101-" + "x" * 41, "is needed"),
        ("20201101-a b", "is needed"),
        ("20201101-ä", "is needed"),
        ("20201101-a\n", "is needed"),
        ("٢٠٢٠١١٠١-a", "is needed"),
        ("20201301-a", "which is no date"),
        ("20210229-a", "which is no date"),
        ("20201103-a", "has the date 2020-11-03, which is more than one day from today, 2020-11-01"),
        ("20201030-a", "more than one day"),
    ],
)
def test_other_ids_are_refused_with_what_is_wrong(run_id: str, why: str) -> None:
    assert why in id_problem(run_id, arrived=ARRIVED)


def test_without_a_date_of_arrival_the_date_of_an_id_is_left_alone() -> None:
    assert id_problem("20100101-a") == ""


@pytest.mark.parametrize(
    ("arrived", "latest"),
    [
        (date(2020, 11, 1), date(2021, 7, 31)),
        (date(2020, 5, 31), date(2021, 2, 27)),
        (date(2020, 4, 1), date(2020, 12, 31)),
        (date(2019, 5, 30), date(2020, 2, 28)),
    ],
)
def test_an_embargo_ends_the_day_before_nine_months_are_over(arrived: date, latest: date) -> None:
    assert latest_embargo(arrived, 9) == latest
    in_time, late = (metadata(embargo_until=f"{day:%Y/%m/%d}") for day in (latest, latest + timedelta(1)))
    check = check_metadata(in_time, arrived=arrived)
    assert check.metadata is not None
    assert check.metadata.embargo_until == latest
    (error,) = check_metadata(late, arrived=arrived).errors
    assert error.line == 7
    assert f"{latest:%Y/%m/%d} is the latest" in error.message


@given(st.dates(date(1990, 1, 1), date(2100, 1, 1)), st.integers(1, 36))
def test_more_months_never_mean_an_earlier_end(arrived: date, months: int) -> None:
    assert arrived <= latest_embargo(arrived, months) < latest_embargo(arrived, months + 1)


def test_metadata_are_read_with_comments_and_what_was_mended_is_told() -> None:
    content = b"""{
  "team": "Ours, theirs", // the team
  // "type": "reranking" of the template
  "model_description": "see https://example.org // and more",
  "paper": "arxiv.org/abs/2105.04021",
  "code": "HTTP://example.org/code",
  "type": "Full  Ranking",
  "query_latency_ms": 12.5, "query_hardware": "one core",
  "colour": {"team": ["x"]}
}
"""
    check = check_metadata(content, arrived=ARRIVED)
    assert check.errors == ()
    assert check.metadata == Metadata(
        team="Ours, theirs",
        description="see https://example.org // and more",
        type="full ranking",
        paper="https://arxiv.org/abs/2105.04021",
        code="HTTP://example.org/code",
        costs={"query_latency_ms": 12.5, "query_hardware": "one core"},
        extra={"colour": {"team": ["x"]}},
    )
    assert [(line, message.split()[0]) for line, message in check.notes] == [(5, "paper"), (9, "field")]


def test_metadata_written_are_metadata_read() -> None:
    first = check_metadata(metadata(embargo_until="2021-01-02", energy_kwh=3, mine=[1]), arrived=ARRIVED).metadata
    assert first is not None
    assert check_metadata(json.dumps(first.as_dict()).encode(), arrived=ARRIVED).metadata == first


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"team": "Anonymous"}, "2: team is Anonymous: name it."),
        ({"team": " "}, "2: team is empty: name it."),
        ({"model_description": "anonymous!"}, "3: model_description is anonymous!: name it."),
        ({"team": 7}, "2: team is 7 where text in quotes is needed."),
        ({"team": "a\u202eb"}, "2: team has a character that cannot be shown"),
        ({"team": "x" * 301}, "2: team has 301 characters, where at most 300 are allowed."),
        ({"type": "reraking"}, "6: type reraking where the board has full ranking, reranking."),
        ({"type": ""}, "6: type  where the board has"),
        ({"paper": "javascript:alert(1)"}, "4: paper: javascript:alert(1) where a link with http or https is needed."),
        ({"code": "ftp://example.org"}, "5: code: ftp://example.org where a link with http or https"),
        ({"code": "see the paper"}, "5: code: see the paper is not a link."),
        ({"code": "example/ranker@sha256:0123"}, "5: code: example/ranker@sha256:0123 where an image needs a name,"),
        ({"paper": f"example/ranker@sha256:{DIGEST}"}, "4: paper: example/ranker@sha256:"),
        ({"embargo_until": "soon"}, "7: embargo_until soon where a date yyyy/mm/dd is needed."),
        ({"embargo_until": "2021/02/30"}, "7: embargo_until 2021/02/30 where a date"),
        ({"parameters": -1}, "7: parameters is -1 where a number from 0 on is needed."),
        ({"parameters": "110M"}, '7: parameters is "110M" where a number'),
        ({"energy_kwh": True}, "7: energy_kwh is true where a number"),
    ],
)
def test_wrong_metadata_are_refused_by_line(fields: dict[str, object], error: str) -> None:
    (problem,) = problems(metadata(**fields))
    assert problem.startswith(error)


def test_all_errors_are_told_at_once() -> None:
    assert problems(b'{"type": "x",\n "team": "anonymous"}') == [
        "None: model_description is missing.",
        "1: type x where the board has full ranking, reranking.",
        "2: team is anonymous: name it. Under an embargo it is not shown before its date.",
    ]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "1: not JSON here"),
        (b'{\n "team": "a",\n}', "3: not JSON here"),
        (b'{"team": "a",\n "team": "b"}', "2: field team a second time (first on line 1)."),
        (b"[1]", "1: metadata are one object"),
        (b'{"team":\n "\xff"}', "2: invalid UTF-8 (0xFF)."),
        (b"[" * 60_000, "1: "),
        (b'{"odd": NaN}', "None: NaN where a number is needed"),
        (b'{"odd": [-Infinity]}', "None: -Infinity where a number is needed"),
        (b'{"odd": 1e999}', "None: 1e999 where a number is needed"),
        (b'{"odd": {"a": ["x\\u0000"]}}', "None: \\u0000 where text is needed"),
        (b'{"odd\\ud800": 1}', "None: \\ud800 where text is needed"),
        (b" " * 70_000, "None: 70,000 bytes, where at most 65,536 are allowed."),
    ],
)
def test_what_is_no_metadata_is_refused(content: bytes, error: str) -> None:
    (problem,) = problems(content)
    assert problem.startswith(error)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_check_of_metadata_fail(content: bytes) -> None:
    check = check_metadata(content, arrived=ARRIVED)
    assert check.errors


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("", ""),
        (" https://example.org/a?b=c#d ", "https://example.org/a?b=c#d"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("//example.org", "https://example.org"),
    ],
)
def test_links_get_https_where_the_scheme_lacks(text: str, link: str) -> None:
    assert tidy_link(text) == link


@pytest.mark.parametrize(
    "image", ["ranker", "example/ranker:1.0", "ghcr.io/example/a-b_c", "localhost:5000/ranker:latest", "example.org/r"]
)
def test_code_may_be_an_image_by_its_digest(image: str) -> None:
    named = f"{image}@sha256:{DIGEST}"
    checked = check_metadata(metadata(code=named), arrived=ARRIVED).metadata
    assert checked is not None and checked.code == tidy_code(f" {named} ") == named


@pytest.mark.parametrize("start", ["", "-", "a b/", "A/", "<b>", "javascript:alert(1)//", 'x"'])
def test_what_only_looks_like_an_image_is_refused(start: str) -> None:
    with pytest.raises(ValueError, match="where an image needs a name"):
        tidy_code(f"{start}{'' if start else '@'}@sha256:{DIGEST}")
    with pytest.raises(ValueError, match="where an image needs a name"):
        tidy_code(f"ranker@sha256:{DIGEST}0")


@pytest.mark.parametrize(
    "text", ["data:text/html,x", "https://", "https://nowhere", "a b.org", 'x.org/"onload', "x.org:a/"]
)
def test_what_is_no_link_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a link|where a link"):
        tidy_link(text)


QUERIES = ["q1", "q2", "q3"]
MARCO = "".join(f"{query}\t{query}p{rank}\t{rank}\n" for query in QUERIES for rank in (1, 2, 3))
TREC = "".join(f"{query} Q0 {query}p{rank} {rank - 1} {9 - rank} ours\n" for query in QUERIES for rank in (1, 2, 3))


def checked(content: str, **options: object) -> FileDiagnostics:
    settings = {"name": "dev.txt", "queries": QUERIES, "hits": 3, **options}
    return check_file(io.BytesIO(content.encode()), **settings)  # type: ignore[arg-type]


def test_dev_and_eval_are_each_of_either_form_and_packed_or_plain() -> None:
    diagnostics = check_submission(
        io.BytesIO(bz2.compress(MARCO.encode())),
        io.BytesIO(TREC.encode()),
        dev_queries=QUERIES,
        eval_queries=QUERIES,
        hits=3,
    )
    assert diagnostics.ok
    assert (diagnostics.dev.format, diagnostics.eval.format) == ("MS MARCO", "TREC")
    assert [file.warnings for file in diagnostics] == [(), ()]
    assert list(diagnostics.sentences()) == [
        "dev.txt.bz2: MS MARCO, 9 lines, 3 of 3 queries, 3 hits a query.",
        "eval.txt.bz2: TREC, 9 lines, 3 of 3 queries, 3 hits a query.",
    ]
    assert diagnostics.dev.artifact is not None
    assert diagnostics.dev.artifact.top("rank")["q2"] == ("q2p1",)
    assert json.loads(json.dumps(diagnostics.as_dict()))["dev"]["hits_max"] == 3


def test_a_bad_eval_run_does_not_hide_the_good_dev_run() -> None:
    diagnostics = check_submission(
        io.BytesIO(MARCO.encode()), io.BytesIO(b"q1 p1\n"), dev_queries=QUERIES, eval_queries=QUERIES
    )
    assert isinstance(diagnostics, Diagnostics)
    assert (diagnostics.ok, diagnostics.dev.ok, diagnostics.eval.ok, diagnostics.eval.artifact) == (
        False,
        True,
        False,
        None,
    )
    assert diagnostics.eval.errors[0].line == 1


def test_missing_and_unknown_queries_and_short_and_long_lists_are_told_and_let_pass() -> None:
    diagnostics = checked("q1 p1 1\nq1 p2 2\nq1 p3 3\nq1 p4 4\nq2 p1 1\nq9 p1 1\n")
    assert diagnostics.ok
    assert (
        diagnostics.found,
        diagnostics.missing_ids,
        diagnostics.unknown_ids,
        diagnostics.fewer,
        diagnostics.more,
    ) == (2, ("q3",), ("q9",), 1, 1)
    assert [message for _, message in diagnostics.warnings] == [
        "lacks 1 query (q3), which count as 0.",
        "1 query (q9) left out: not among the board's.",
        "1 query with fewer than 3 hits.",
        "1 query with more than 3 hits: those below are cut.",
    ]
    assert diagnostics.artifact is not None
    assert diagnostics.artifact.top("rank", 3)["q1"] == ("p1", "p2", "p3")


def test_a_board_may_want_all_hits_of_all_queries() -> None:
    diagnostics = checked("q1 p1 1\nq1 p2 2\nq1 p3 3\nq2 p1 1\n", fewer="refuse")
    assert [message for _, message in diagnostics.errors] == [
        "lacks 1 query (q3), and the board wants all of them.",
        "1 query with fewer than 3 hits, which the board wants.",
    ]
    assert checked(MARCO, fewer="refuse").ok


def test_a_run_for_other_queries_is_refused() -> None:
    (error,) = checked("x p1 1\n").errors
    assert error.message == "answers none of the 3 queries: is it a run for other queries?"


def test_by_rank_two_hits_of_one_rank_are_an_error_with_their_lines() -> None:
    run = "q1 p1 1\nq1 p3 3\nq1 p2 2\nq2 p1 0\nq2 p2 7\nq1 p4 3\n"
    diagnostics = checked(run, hits=4)
    assert diagnostics.errors == ((6, "rank 3 a second time for query q1 (also on line 2)."),)
    assert (diagnostics.error_count, diagnostics.artifact) == (1, None)
    # By score, ranks do not matter, and ties are told with a line.
    trec = checked("q1 Q0 p1 1 5 t\nq1 Q0 p2 1 5 t\nq1 Q0 p3 1 4 t\n", order="score")
    assert trec.ok
    (line, message), *_ = [warning for warning in trec.warnings if "score" in warning.message]
    assert (line, message.split(" (")[0]) == (2, "score 5 a second time for query q1")


def test_ranks_from_zero_and_gaps_are_closed() -> None:
    diagnostics = checked("q1 p3 9\nq1 p1 0\nq1 p2 4\n")
    assert diagnostics.artifact is not None
    assert diagnostics.artifact.top("rank", 3)["q1"] == ("p1", "p2", "p3")


def test_a_repeated_passage_is_refused_with_its_line() -> None:
    diagnostics = checked("q1 p1 1\nq1 p1 2\n")
    assert diagnostics.errors == ((2, "passage p1 a second time for query q1 (first on line 1)."),)


def test_a_reranking_run_keeps_to_the_candidates() -> None:
    candidates = read_candidates(io.BytesIO(MARCO.encode()), name="candidates.txt")
    assert checked(TREC, candidates=candidates).ok
    run = "q1 q1p2 1\nq1 q2p1 2\nq2 q2p1 1\nq2 new 2\nq4 q1p1 1\n"
    diagnostics = checked(run, candidates=candidates)
    assert [line for line, _ in diagnostics.errors] == [2, 4, 5]
    assert diagnostics.errors[0].message == (
        "passage q2p1 is not among the candidates of query q1, and this is a reranking run."
    )
    assert checked(run).ok
    long = "".join(f"q1 x{rank} {rank}\n" for rank in range(1, 301))
    diagnostics = checked(long, hits=300, candidates=candidates)
    assert (diagnostics.error_count, len(diagnostics.errors)) == (300, 100)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("vwxyz")), min_size=1, unique=True))
def test_what_is_outside_of_the_candidates_is_found_as_sets_find_it(hits: list[tuple[str, str]]) -> None:
    lines = [f"{query} {passage} {rank}\n" for rank, (query, passage) in enumerate(sorted(hits), start=1)]
    run = read_candidates(io.BytesIO("".join(lines).encode()), name="run")
    allowed = {("a", "v"), ("a", "w"), ("b", "w"), ("b", "z")}
    lines = [f"{query} {passage} {rank}\n" for rank, (query, passage) in enumerate(sorted(allowed))]
    candidates = read_candidates(io.BytesIO("".join(lines).encode()), name="candidates")
    assert {tuple(passage) for passage in outside_candidates(run, candidates)} == set(hits) - allowed


def test_bad_candidate_lists_are_told_by_line() -> None:
    with pytest.raises(BadInput, match=r"candidates\.txt, line 2: "):
        read_candidates(io.BytesIO(b"q1 p1 1\nq1 p1 2\n"), name="candidates.txt")


def test_a_table_is_no_run_of_a_board() -> None:
    diagnostics = checked("qid,docno,rank\nq1,p1,0\n")
    assert "a table with names" in diagnostics.errors[0].message


RANKED = {"q1": {"relevant": 3, "other": 2}, "q2": {"relevant": 0, "other": 1}}


def by_slots(ranks: dict[str, int]) -> list[str]:
    """As the passage leaderboard's script reads a query: the rank is the position, and 0 is the last one."""
    slots = [""] * 1000
    for passage, rank in ranks.items():
        slots[rank - 1] = passage
    return slots


def by_sorting(ranks: dict[str, int]) -> list[str]:
    """As the document leaderboard's script reads it."""
    return sorted(ranks, key=lambda passage: ranks[passage])


def test_by_rank_gaps_are_closed_and_zero_is_the_first_unlike_in_the_passage_script() -> None:
    lines = [f"{query} {passage} {rank}\n" for query, ranks in RANKED.items() for passage, rank in ranks.items()]
    run = checked("".join(lines), queries=list(RANKED)).artifact
    assert run is not None
    qrels = Qrels.of(Entry(query, "relevant", 1) for query in RANKED)
    ours = float(exact_mean(per_query(run, qrels, read_measure("RR@10"), "rank")))
    scripts = [
        sum(1 / (order(ranks)[:10].index("relevant") + 1) if "relevant" in order(ranks)[:10] else 0
            for ranks in RANKED.values()) / 2
        for order in (by_slots, by_sorting)
    ]  # fmt: skip
    assert [round(score, 4) for score in (ours, *scripts)] == [0.75, 0.1667, 0.75]


def test_the_mean_is_over_all_queries_of_the_qrels() -> None:
    run = checked("q1 relevant 1\n", queries=["q1", "q2"]).artifact
    assert run is not None
    qrels = Qrels.of(Entry(query, "relevant", 1) for query in ("q1", "q2"))
    assert exact_mean(per_query(run, qrels, read_measure("RR@10"), "rank")) == Fraction(1, 2)


def test_an_artifact_keeps_as_few_passages_as_are_asked_for_unless_candidates_need_all() -> None:
    lines = "".join(f"{query}\tp{rank}\t{rank}\n" for query in QUERIES for rank in range(1, 4))
    shared: dict[str, Any] = {"name": "dev.txt", "queries": QUERIES, "hits": 3}
    full = check_file(io.BytesIO(lines.encode()), **shared)
    few = check_file(io.BytesIO(lines.encode()), keep=1, **shared)
    assert full.artifact is not None and few.artifact is not None
    assert few.artifact.top("rank") == full.artifact.top("rank") and len(few.artifact.by_rank) == len(QUERIES)
    assert few.as_dict() == full.as_dict()
    outside = check_file(io.BytesIO(lines.encode()), keep=1, candidates=few.artifact, **shared)
    assert outside.error_count == 2 * len(QUERIES), "every passage is looked for among the candidates"


def test_metadata_may_say_of_which_entry_it_is_a_variant() -> None:
    fields = {"team": "Red", "model_description": "Again", "type": "full ranking", "variant_of": "20260101-red"}
    check = check_metadata(json.dumps(fields).encode())
    assert check.metadata is not None and not check.errors and check.metadata.variant_of == "20260101-red"
    assert check.metadata.as_dict()["variant_of"] == "20260101-red" and not check.metadata.extra
    (error,) = check_metadata(json.dumps(fields | {"variant_of": "x" * 61}, indent=1).encode()).errors
    assert error.line == 5 and "variant_of has 61 characters" in error.message

"""Reading qrels, and choosing from them."""

import io

import pytest

from evaluation.errors import BadInput
from evaluation.files.qrels import Entry, Policy, Qrels, read_qrels

QRELS = """\
q2 0 p9 0
q1 0 p5 2
q2 0 p1 1
q1 0 p3 3
q3 0 p7 0
q2 0 p4 1
"""


def qrels(content: str) -> Qrels:
    return read_qrels(io.BytesIO(content.encode()), name="qrels.txt")


def test_qrels_keep_the_order_of_the_file() -> None:
    qrels_read = qrels(QRELS)
    assert qrels_read.queries == ("q2", "q1", "q3")
    assert qrels_read.entries()[:3] == [Entry("q2", "p9", 0), Entry("q2", "p1", 1), Entry("q2", "p4", 1)]


def test_ms_marco_qrels_are_the_same_with_tabs() -> None:
    assert qrels("1185869\t0\t0\t1\n1185868\t0\t16\t1\r\n").grades == {"1185869": {"0": 1}, "1185868": {"16": 1}}


@pytest.mark.parametrize(
    ("policy", "min_grade", "relevant"),
    [
        ("first", 1, {"q2": ("p1",), "q1": ("p5",), "q3": ()}),
        ("first", 3, {"q2": (), "q1": ("p3",), "q3": ()}),
        ("all", 1, {"q2": ("p1", "p4"), "q1": ("p5", "p3"), "q3": ()}),
        ("all", 0, {"q2": ("p9", "p1", "p4"), "q1": ("p5", "p3"), "q3": ("p7",)}),
        ("none", 1, {"q2": (), "q1": (), "q3": ()}),
    ],
)
def test_relevant_passages_are_in_the_order_of_the_file(
    policy: Policy, min_grade: int, relevant: dict[str, tuple[str, ...]]
) -> None:
    assert qrels(QRELS).relevant(policy, min_grade=min_grade) == relevant


def test_whole_grades_may_have_a_point_as_those_of_prefj_do() -> None:
    assert qrels("q Q0 p 106.0\nq Q0 r 3.\nq Q0 s -1.00\n").grades == {"q": {"p": 106, "r": 3, "s": -1}}


def test_a_line_repeated_as_it_was_does_no_harm() -> None:
    assert qrels("q 0 p 1\nq 0 p 1\n").grades == {"q": {"p": 1}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 p 1\nq 0 p\n", "qrels.txt, line 2: 3 columns where qrels have 4 (query 0 passage grade)."),
        ("q 0 p one\n", "qrels.txt, line 1: grade one is not a whole number of at most nine digits."),
        ("q 0 p 1.5\n", "qrels.txt, line 1: grade 1.5 is not a whole number of at most nine digits."),
        ("q 0 p 1\nq 0 p 2\n", "qrels.txt, line 2: grade 2 for passage p of query q, which had 1 before."),
        ("", "qrels.txt, line 1: the file is empty."),
    ],
)
def test_bad_qrels_are_refused_with_their_line(content: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        qrels(content)
    assert str(caught.value) == message

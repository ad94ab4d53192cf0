"""Reading preferences and pairs."""

import io

import pytest

from evaluation.errors import BadInput
from evaluation.files.judgments import read_judgments
from evaluation.files.preferences import Pair, Preference, read_pairs, read_preferences


def test_preferences_come_in_file_order_with_repeats() -> None:
    file = io.BytesIO(b"q a b b\nq\ta\tb\ta\r\nq a b b")
    assert list(read_preferences(file)) == [
        Preference("q", "a", "b", "b"),
        Preference("q", "a", "b", "a"),
        Preference("q", "a", "b", "b"),
    ]


def test_lines_of_three_columns_prefer_the_first_as_those_that_prefj_takes() -> None:
    preferences = list(read_preferences(io.BytesIO(b"q a b\nq\tb\tc\n"), ties=True))
    assert preferences == [Preference("q", "a", "b", "a"), Preference("q", "b", "c", "b")]
    with pytest.raises(BadInput, match=r"line 2: 4 columns where preferences have 3 \(query a b\)"):
        list(read_preferences(io.BytesIO(b"q a b\nq a b b\n")))
    judgments = list(read_judgments(io.BytesIO(b"q a b\nq b c\n")).made)
    assert [(judgment.a, judgment.b, judgment.preferred) for judgment in judgments] == [
        ("a", "b", "a"),
        ("b", "c", "b"),
    ]
    with pytest.raises(BadInput, match=r"4 columns where judgments have 3 \(query a b\)"):
        list(read_judgments(io.BytesIO(b"q a b\nq a b b\n")).made)


def test_pairs_are_three_columns() -> None:
    assert list(read_pairs(io.BytesIO(b"q\ta\tb\n"))) == [Pair("q", "a", "b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q a b", "3 columns where preferences have 4 (query a b preferred)."),
        ("q a b c", "c is preferred, which is neither a nor b."),
        ("q a a a", "passage a against itself."),
        ("", "0 columns where preferences have 3 or 4 (query a b preferred)."),
    ],
)
def test_a_bad_preference_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        list(read_preferences(io.BytesIO(f"q a b a\n{line}\n".encode()), name="prefs.txt"))
    assert str(caught.value) == f"prefs.txt, line 2: {message}"


def test_a_blank_first_line_is_refused() -> None:
    for read in (read_preferences, read_pairs):
        with pytest.raises(BadInput, match="line 1: 0 columns where"):
            list(read(io.BytesIO(b"\nq a b\n")))


def test_a_tie_is_read_only_where_ties_are_taken() -> None:
    assert list(read_preferences(io.BytesIO(b"q a b =\n"), ties=True)) == [Preference("q", "a", "b", None)]
    with pytest.raises(BadInput, match="= is preferred, which is neither a nor b"):
        list(read_preferences(io.BytesIO(b"q a b =\n")))

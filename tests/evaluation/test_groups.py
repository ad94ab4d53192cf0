"""Groups of queries, from a file."""

import io

import pytest

from evaluation.errors import BadInput
from evaluation.files.groups import read_groups


def read(text: str) -> dict[str, dict[str, int]]:
    return read_groups(io.BytesIO(text.encode()), name="groups.tsv")


def test_a_query_may_be_in_several_groups_whose_names_may_have_spaces() -> None:
    assert read("q1 long\nq2 short\nq1 de\n") == {"long": {"q1": 1}, "short": {"q2": 2}, "de": {"q1": 3}}
    assert read("Query\tGroup\nq1\tde\n") == {"de": {"q1": 2}}, "a line of names is none"
    assert read("q1\tvery long\nq2\tvery long\r\n") == {"very long": {"q1": 1, "q2": 2}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "groups.tsv"),
        ("q1\n", "line 1: 1 column where groups have 2 (query group)."),
        ("q1 a b\n", "line 1: 3 columns where groups have 2 (query group)."),
        ("q1 a\nq2 a\nq1 a\n", "line 3: query q1 is in group a already (line 1)."),
        (f"q1 {'x' * 61}\n", "has 61 characters, where 60 are allowed."),
        ("".join(f"q1 g{number}\n" for number in range(51)), "line 51: more than 50 groups."),
    ],
)
def test_what_cannot_be_groups_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(text)
    assert message in str(refused.value)

"""Queries and passages from tab-separated and JSON lines."""

import io
from collections.abc import Callable, Iterator

import pytest

from evaluation.errors import BadInput
from evaluation.files.texts import Text, read_passages, read_queries

Reader = Callable[..., Iterator[Text]]
BOTH = pytest.mark.parametrize("reader", [read_queries, read_passages])


def read(reader: Reader, content: str) -> list[Text]:
    return list(reader(io.BytesIO(content.encode()), name="texts"))


@BOTH
def test_tab_separated_lines_are_an_id_and_a_text(reader: Reader) -> None:
    assert read(reader, "1\twhat is a dog\r\n02\tعربي\twith a tab") == [
        Text("1", "what is a dog"),
        Text("02", "عربي\twith a tab"),
    ]


@pytest.mark.parametrize(
    ("reader", "line"),
    [
        (read_passages, '{"id": "7", "contents": "text"}'),
        (read_queries, '{"_id": "7", "title": "a title", "text": "text"}'),
        (read_passages, '{"pid": "7", "docid": "other", "passage": "text", "spans": "(0,4)"}'),
        (read_queries, '{"qid": 7, "query": "text"}'),
        (read_passages, '{"docno": "7", "text": "t\\u0065xt"}'),
    ],
)
def test_json_lines_are_known_by_the_usual_names(reader: Reader, line: str) -> None:
    assert read(reader, line + "\n") == [Text("7", "text")]


def test_passages_come_one_at_a_time() -> None:
    first = next(read_passages(io.BytesIO(b"1\tone\nbroken")))
    assert first == Text("1", "one")


def test_a_passage_may_be_empty_but_a_query_may_not() -> None:
    assert read(read_passages, "1\t\n") == [Text("1", "")]
    with pytest.raises(BadInput, match="texts, line 1: query 1 has no text"):
        read(read_queries, "1\t\n")


def test_a_query_that_comes_twice_is_refused() -> None:
    with pytest.raises(BadInput, match=r"texts, line 3: query 1 a second time \(first on line 1\)"):
        read(read_queries, "1\ta\n2\tb\n1\ta\n")


@BOTH
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 what is a dog\n", "line 1: no tab where a line is an id, a tab and a text: 1 what is a dog"),
        ("1\ta\n\n", "line 2: no tab"),
        ("\ta\n", "line 1: id '' where an id without spaces is needed"),
        ("a b\tc\n", "line 1: id 'a b' where an id without spaces is needed"),
        ('{"id": "1", "text": "a"}\n{"id": "2"\n', "line 2: not JSON"),
        ('{"id": "1", "text": "a"}\n[1]\n', "line 2: not a JSON object"),
        ('{"text": "a"}\n', "line 1: has the columns text, where"),
        ('{"id": true, "text": "a"}\n', "line 1: id true where an id is needed"),
        ('{"id": "1"}\n', "line 1: has the columns id, where"),
        ('{"id": "1", "text": "\\u0000"}\n', "line 1: a NUL character"),
        ('{"id": "1", "text": "\\ud800"}\n', "line 1: half a character"),
        ('{"id": ' + "[" * 100_000 + "\n", "line 1: not JSON"),
        ('{"id": ' + "1" * 10_000 + "}\n", "line 1: not JSON"),
        ("", "line 1: the file is empty"),
    ],
)
def test_bad_texts_are_refused_with_their_line(reader: Reader, content: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(reader, content)
    assert message in str(caught.value)

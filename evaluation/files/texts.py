"""Queries and passages: an id and a text a line, tab-separated or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evaluation.errors import BadInput
from evaluation.files.textfiles import ID_BYTES, Source, TextFile, quote_value

# The names that published collections use, most telling first: MS MARCO v2 passages carry a `docid` beside their `pid`.
_ID_KEYS = ("id", "_id", "qid", "pid", "query_id", "passage_id", "doc_id", "docid", "docno")
_TEXT_KEYS = ("text", "contents", "passage", "query", "segment", "body", "title")


class Text(NamedTuple):
    """A query or a passage."""

    id: str
    text: str


class Lengths:
    """How long texts are in words, as `str.split` parts them. Memory grows with the lengths, not with the texts."""

    def __init__(self) -> None:
        self.texts_by_words: Counter[int] = Counter()

    def counted(self, texts: Iterable[Text]) -> Iterator[Text]:
        """The same texts, each counted as it passes."""
        for item in texts:
            self.texts_by_words[len(item.text.split())] += 1
            yield item

    @property
    def texts(self) -> int:
        """How many were counted."""
        return self.texts_by_words.total()

    @property
    def mean(self) -> float:
        """The mean length in words. Raises ZeroDivisionError where nothing was counted."""
        return sum(words * count for words, count in self.texts_by_words.items()) / self.texts

    @property
    def median(self) -> float:
        """The median length in words: of an even number of texts, halfway between the two in the middle; of none, 0."""
        count, seen = self.texts, 0
        middle: list[int] = []
        for words in sorted(self.texts_by_words):
            seen += self.texts_by_words[words]
            while len(middle) < 2 and seen > (count - 1, count)[len(middle)] // 2:
                middle.append(words)
        return sum(middle) / 2


def read_queries(source: Source, *, name: str | None = None) -> Iterator[Text]:
    """Queries in file order, from `id TAB text` lines or JSON lines.

    Raises BadInput as `read_passages` does, and where an id comes twice or a text is empty.
    """
    file = TextFile(source, name=name)
    first: dict[str, int] = {}
    for line, item in _texts(file):
        earlier = first.setdefault(item.id, line)
        if earlier != line:
            raise BadInput(file.name, line, f"query {quote_value(item.id)} a second time (first on line {earlier:,}).")
        if not item.text.strip():
            raise BadInput(file.name, line, f"query {quote_value(item.id)} has no text.")
        yield item


def read_passages(source: Source, *, name: str | None = None) -> Iterator[Text]:
    """Passages in file order, one at a time, from `id TAB text` lines or JSON lines. Memory stays flat.

    JSON lines are told by the first character of the file, `{`. The id stands under `id`, `_id`, `qid`, `pid`,
    `query_id`, `passage_id`, `doc_id`, `docid` or `docno` (a string or a whole number), the text under `text`,
    `contents`, `passage`, `query`, `segment`, `body` or `title`: the first of these that is there.

    Raises BadInput where a line has neither form, an id is empty or holds a space, or the file is damaged or empty.
    An id that comes twice is the caller's to judge: knowing it would take all ids in memory.
    """
    for _, item in _texts(TextFile(source, name=name)):
        yield item


def _texts(file: TextFile) -> Iterator[tuple[int, Text]]:
    as_json = None
    for line, row in file.rows():
        if as_json is None:
            as_json = row.lstrip().startswith("{")
        item = _from_json(row, file.name, line) if as_json else _from_tsv(row, file.name, line)
        if not item.id or item.id.split() != [item.id]:
            raise BadInput(file.name, line, f"id '{quote_value(item.id)}' where an id without spaces is needed.")
        if len(item.id.encode()) > ID_BYTES:
            raise BadInput(
                file.name, line, f"an id of {len(item.id.encode()):,} bytes, where {ID_BYTES:,} are the most."
            )
        yield line, item


def _from_tsv(row: str, name: str, line: int) -> Text:
    id_, tab, text = row.partition("\t")
    if not tab:
        raise BadInput(name, line, f"no tab where a line is an id, a tab and a text: {quote_value(row)}")
    return Text(id_, text)


def _from_json(row: str, name: str, line: int) -> Text:
    try:
        value = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise BadInput(name, line, f"not JSON ({error}), as the first line is.") from None
    if not isinstance(value, dict):
        raise BadInput(name, line, "not a JSON object.")
    id_ = next((value[key] for key in _ID_KEYS if key in value), None)
    text = next((value[key] for key in _TEXT_KEYS if key in value), None)
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    if not isinstance(id_, str):
        raise BadInput(name, line, f"no id: a string or a whole number under one of {', '.join(_ID_KEYS)}.")
    if not isinstance(text, str):
        raise BadInput(name, line, f"no text: a string under one of {', '.join(_TEXT_KEYS)}.")
    if "\0" in id_ + text:
        raise BadInput(name, line, "a NUL character (written as an escape).")
    if any("\ud800" <= character <= "\udfff" for character in id_ + text):
        raise BadInput(name, line, "half a character (an unpaired surrogate, written as an escape).")
    return Text(id_, text)

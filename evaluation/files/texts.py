"""Queries and passages: an id and a text a line, tab-separated or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evaluation.files.tables import open_table
from evaluation.files.textfiles import Source, quote_value


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
        count, counted_texts = self.texts, 0
        middle: list[int] = []
        for words in sorted(self.texts_by_words):
            counted_texts += self.texts_by_words[words]
            while len(middle) < 2 and counted_texts > (count - 1, count)[len(middle)] // 2:
                middle.append(words)
        return sum(middle) / 2


def read_queries(source: Source, *, name: str | None = None) -> Iterator[Text]:
    """Queries in file order, from `id TAB text` lines or any table of ids and texts.

    Raises BadInput as `read_passages` does, and where an id comes twice or a text is empty.
    """
    first: dict[str, int] = {}
    with open_table(source, "queries", name=name) as table:
        for line, (query, text) in table:
            earlier = first.setdefault(query, line)
            if earlier != line:
                raise table.fault(line, f"query {quote_value(query)} a second time (first on line {earlier:,}).")
            if not text or not text.strip():
                raise table.fault(line, f"query {quote_value(query)} has no text.")
            yield Text(query, text.strip())


def read_passages(source: Source, *, name: str | None = None) -> Iterator[Text]:
    """Passages in file order, one at a time, from `id TAB text` lines or any table of ids and texts. Memory stays flat.

    The text is the title, the headings and the text, with a space between each two that the file has: what ir_datasets
    calls a passage's default text.

    Raises BadInput where a line has neither form, an id is empty or holds a space, or the file is damaged or empty.
    An id that comes twice is the caller's to judge: knowing it would take all ids in memory.
    """
    with open_table(source, "passages", name=name) as table:
        for _line, (passage, text, title, headings) in table:
            if title is not None or headings is not None:
                text = " ".join(part for part in (title, headings, text) if part is not None)
            yield Text(passage, (text or "").strip())

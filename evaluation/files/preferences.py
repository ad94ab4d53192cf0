"""Preference judgments, and pairs to be judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evaluation.errors import BadInput
from evaluation.files.rows import read_rows
from evaluation.files.textfiles import Source, name_of, quote_value


class Preference(NamedTuple):
    """One judgment of passages `a` and `b` of a query. `preferred` is one of them, or None for a tie."""

    query: str
    a: str
    b: str
    preferred: str | None


class Pair(NamedTuple):
    """Two passages of a query."""

    query: str
    a: str
    b: str


def read_preferences(source: Source, *, name: str | None = None) -> Iterator[Preference]:
    """Judgments in file order, from lines `query a b preferred`. Pairs may repeat: each line is a judgment.

    Raises BadInput where a line has other columns, compares a passage with itself, or prefers neither, and where the
    file is damaged or empty.
    """
    for _, preference in numbered_preferences(source, name=name):
        yield preference


def numbered_preferences(source: Source, *, name: str | None = None) -> Iterator[tuple[int, Preference]]:
    """As `read_preferences`, each with its line."""
    name = name_of(source) if name is None else name
    for line, (query, a, b, preferred) in _rows(source, name, ("query", "a", "b", "preferred"), "preferences have"):
        if preferred not in (a, b):
            message = f"{quote_value(preferred)} is preferred, which is neither {quote_value(a)} nor {quote_value(b)}."
            raise BadInput(name, line, message)
        yield line, Preference(query, a, b, preferred)


def read_pairs(source: Source, *, name: str | None = None) -> Iterator[Pair]:
    """Pairs in file order, from lines `query a b`. Raises BadInput as `read_preferences` does."""
    name = name_of(source) if name is None else name
    for _, row in _rows(source, name, ("query", "a", "b"), "pairs have"):
        yield Pair(*row)


def _rows(source: Source, name: str, names: tuple[str, ...], what: str) -> Iterator[tuple[int, list[str]]]:
    for line, split in read_rows(source, names, what, name=name):
        if split[1] == split[2]:
            raise BadInput(name, line, f"passage {quote_value(split[1])} against itself.")
        yield line, split

"""Preference judgments, and pairs to be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from evaluation.errors import BadInput
from evaluation.files.rows import read_rows
from evaluation.files.textfiles import (
    COLUMN_LIMITS,
    Source,
    TextFile,
    columns,
    counted,
    name_of,
    quote_value,
    rereadable,
)

TIE = "="
_OUTCOME = ("query", "a", "b", "preferred")


class Preference(NamedTuple):
    """One judgment of passages `a` and `b` of a query. `preferred` is one of them, or None for a tie."""

    query: str
    a: str
    b: str
    preferred: str | None


def in_order(preference: Preference) -> tuple[str, str, str, str]:
    """What preferences are sorted by: their columns, a tie before the judgments that prefer a passage."""
    return (preference.query, preference.a, preference.b, preference.preferred or "")


class Pair(NamedTuple):
    """Two passages of a query."""

    query: str
    a: str
    b: str


def read_preferences(source: Source, *, name: str | None = None, ties: bool = False) -> Iterator[Preference]:
    """Judgments in file order, from lines `query a b preferred`. Pairs may repeat: each line is a judgment.

    With `ties`, `preferred` may be =. All lines may also be `query a b`, as `prefj.py` takes them: then a is preferred.
    Raises BadInput where a line has other columns, compares a passage with itself, or prefers neither, and where the
    file is damaged or empty.
    """
    for _, preference in numbered_preferences(source, name=name, ties=ties):
        yield preference


def numbered_preferences(
    source: Source, *, name: str | None = None, ties: bool = False
) -> Iterator[tuple[int, Preference]]:
    """As `read_preferences`, each with its line."""
    name = name_of(source) if name is None else name
    signs = (TIE,) if ties else ()
    for line, row in numbered_outcomes(source, name, signs, "preferences have", optional=1):
        query, a, b, preferred = row if len(row) == len(_OUTCOME) else [*row, row[1]]
        if preferred not in (a, b, *signs):
            message = f"{quote_value(preferred)} is preferred, which is neither {quote_value(a)} nor {quote_value(b)}."
            raise BadInput(name, line, message)
        yield line, Preference(query, a, b, None if preferred in signs else preferred)


def numbered_outcomes(
    source: Source, name: str, signs: Collection[str], what: str, *, optional: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Lines `query a b preferred` with their numbers, whatever is preferred. `signs`: what may stand there beside ids,
    and so cannot be the id of a passage. As many columns as `optional` may be missing, in all lines alike.
    """
    needed = 0
    for line, row in _rows(source, name, _OUTCOME, what, optional):
        needed = needed or len(row)
        if len(row) != needed:
            names = " ".join(_OUTCOME[:needed])
            raise BadInput(name, line, f"{counted(len(row), 'column')} where {what} {needed} ({names}).")
        for passage in row[1:3]:
            if passage in signs:
                raise BadInput(name, line, f"a passage called {passage}, which would be taken for an outcome.")
        yield line, row


def read_pairs(source: Source, *, name: str | None = None) -> Iterator[Pair]:
    """Pairs in file order, from lines `query a b`. Raises BadInput as `read_preferences` does."""
    name = name_of(source) if name is None else name
    for _, row in _rows(source, name, ("query", "a", "b"), "pairs have"):
        yield Pair(*row)


def read_members(source: Source, *, name: str | None = None) -> dict[str, tuple[str, ...]]:
    """Pools by query, from lines `query passage`, in file order. Raises BadInput where a line has other columns or
    repeats an earlier one, and where the file is damaged or empty.
    """
    name = name_of(source) if name is None else name
    pools: dict[str, dict[str, None]] = {}
    for line, (query, passage) in read_rows(source, ("query", "passage"), "pools have", name=name):
        pool = pools.setdefault(query, {})
        if passage in pool:
            message = f"passage {quote_value(passage)} is in the pool of query {quote_value(query)} already."
            raise BadInput(name, line, message)
        pool[passage] = None
    return {query: tuple(pool) for query, pool in pools.items()}


def read_any_pools(source: Source, *, name: str | None = None) -> dict[str, set[str]]:
    """Pools by query, from lines `query passage` or from pairs, which is told by the first line. Raises BadInput as
    `read_members` and `read_pairs` do.
    """
    name = name_of(source) if name is None else name
    with rereadable(source) as again:
        _, first = next(TextFile(again(), name=name, limits=COLUMN_LIMITS).rows())
        if len(columns(first)) == len(("query", "passage")):
            return {query: set(passages) for query, passages in read_members(again(), name=name).items()}
        pools: dict[str, set[str]] = {}
        for query, a, b in read_pairs(again(), name=name):
            pools.setdefault(query, set()).update((a, b))
        return pools


def _rows(
    source: Source, name: str, names: tuple[str, ...], what: str, optional: int = 0
) -> Iterator[tuple[int, list[str]]]:
    for line, split in read_rows(source, names, what, name=name, optional=optional):
        if split[1] == split[2]:
            raise BadInput(name, line, f"passage {quote_value(split[1])} against itself.")
        yield line, split

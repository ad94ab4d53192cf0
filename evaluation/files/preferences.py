"""Preference judgments, and pairs to be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from evaluation.files.dialects import KINDS
from evaluation.files.kinds import Mistyped
from evaluation.files.tables import Table, open_table
from evaluation.files.textfiles import COLUMN_LIMITS, Source, TextFile, columns, name_of, quote_value, rereadable

TIE = "="
TIED = {TIE: "a tie"}
_PREFERRED = next(role.names for role in KINDS["preferences"].roles if role.name == "preferred")


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
    signs = TIED if ties else {}
    for line, (query, a, b, preferred) in numbered_outcomes(source, "preferences", signs, name=name):
        yield line, Preference(query, a, b, None if preferred in signs else preferred)


def numbered_outcomes(
    source: Source, kind: str, signs: Mapping[str, str], *, name: str | None = None
) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
    """Rows of a kind, `query a b preferred`, with their lines; a is preferred where a file does not say which is.
    `signs`: what may be preferred beside the two, with what it means; it cannot be the id of a passage.
    """
    with open_table(source, kind, name=name) as table:
        for line, (query, a, b, answer) in table:
            try:
                preferred = outcome_of(table, answer, a)
                check_compared(a, b, signs)
                check_preferred(preferred, a, b, signs)
            except Mistyped as error:
                raise table.fault(line, str(error)) from None
            yield line, (query, a, b, preferred)


def outcome_of(table: Table, answer: str | None, a: str) -> str:
    """What a row says is preferred: a, where no row says it. Raises Mistyped where others do."""
    if answer is None and table.named(*_PREFERRED):
        raise Mistyped("it does not say what is preferred, as others do.")
    return a if answer is None else answer


def check_compared(a: str, b: str, signs: Collection[str] = ()) -> None:
    """Raises Mistyped where a passage is compared with itself, or is called as one of the signs."""
    for passage in (a, b):
        if passage in signs:
            raise Mistyped(f"a passage called {passage}, which would be taken for an outcome.")
    if a == b:
        raise Mistyped(f"passage {quote_value(a)} against itself.")


def check_preferred(preferred: str, a: str, b: str, signs: Mapping[str, str]) -> None:
    """Raises Mistyped where what is preferred is neither of the two, nor one of the signs."""
    if preferred in (a, b, *signs):
        return
    if len(signs) > 1:
        choices = ", ".join([quote_value(a), quote_value(b), *(f"{sign} ({what})" for sign, what in signs.items())])
        raise Mistyped(f"'{quote_value(preferred)}' where {' or '.join(choices.rsplit(', ', 1))} is needed.")
    answer = quote_value(preferred) or "nothing"
    raise Mistyped(f"{answer} is preferred, which is neither {quote_value(a)} nor {quote_value(b)}.")


def read_pairs(source: Source, *, name: str | None = None) -> Iterator[Pair]:
    """Pairs in file order, from lines `query a b`. Raises BadInput as `read_preferences` does."""
    with open_table(source, "pairs", name=name) as table:
        for line, (query, a, b) in table:
            try:
                check_compared(a, b)
            except Mistyped as error:
                raise table.fault(line, str(error)) from None
            yield Pair(query, a, b)


def read_members(source: Source, *, name: str | None = None) -> dict[str, tuple[str, ...]]:
    """Pools by query, from lines `query passage`, in file order. Raises BadInput where a line has other columns or
    repeats an earlier one, and where the file is damaged or empty.
    """
    pools: dict[str, dict[str, None]] = {}
    with open_table(source, "pools", name=name) as table:
        for line, (query, passage) in table:
            pool = pools.setdefault(query, {})
            if passage in pool:
                message = f"passage {quote_value(passage)} is in the pool of query {quote_value(query)} already."
                raise table.fault(line, message)
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

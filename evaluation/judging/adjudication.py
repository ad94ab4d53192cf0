"""Pairs whose judgments disagree, as a person decided them."""

from collections.abc import Iterable, Mapping

from evaluation.files.preferences import Preference, in_order


def adjudicate(
    preferences: Iterable[Preference], decided: Mapping[tuple[str, str, str], str | None]
) -> list[Preference]:
    """The judgments with some pairs as they were decided, sorted. `decided` has the better passage, or None for a tie,
    by `(query, a, b)`.

    A decided pair weighs as much as before: each of its judgments says what was decided. A pair without judgments has
    none afterwards.
    """
    rows = []
    for row in preferences:
        pair = (row.query, row.a, row.b)
        rows.append(row._replace(preferred=decided[pair]) if pair in decided else row)
    return sorted(rows, key=in_order)

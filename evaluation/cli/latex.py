"""LaTeX, for tables that go into a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

_SPECIAL = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def escape(text: str) -> str:
    """The text with what LaTeX takes for commands as what it is."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def tabular(columns: str, heads: Iterable[Sequence[str]], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a plain tabular. Cells are LaTeX already."""
    yield rf"\begin{{tabular}}{{{columns}}}"
    yield r"\hline"
    yield from (" & ".join(row) + r" \\" for row in heads)
    yield r"\hline"
    yield from (" & ".join(row) + r" \\" for row in rows)
    yield r"\hline"
    yield r"\end{tabular}"

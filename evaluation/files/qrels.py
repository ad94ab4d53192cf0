"""Relevance judgments: reading them in file order, and choosing from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from evaluation.errors import BadInput
from evaluation.files.pyterrier import as_lines
from evaluation.files.textfiles import COLUMN_LIMITS, Source, TextFile, columns, counted, name_of, quote_value

# Which relevant passages of a query count: the first in the file, all of them, or none.
Policy = Literal["first", "all", "none"]

POLICIES: tuple[Policy, ...] = get_args(Policy)
_GRADE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0{0,20})?", re.ASCII)  # prefj.py writes whole grades as 106.0


class Entry(NamedTuple):
    """One line of qrels."""

    query: str
    passage: str
    grade: int


@dataclass(frozen=True)
class Qrels:
    """Qrels by query, queries and passages in the order of the file: `grades[query][passage]`."""

    grades: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Qrels:
        """From entries; where a passage comes twice for a query, its first grade stays."""
        grades: dict[str, dict[str, int]] = {}
        for query, passage, grade in entries:
            grades.setdefault(query, {}).setdefault(passage, grade)
        return cls(grades)

    @property
    def queries(self) -> tuple[str, ...]:
        """All queries that the file names, also those without a relevant passage."""
        return tuple(self.grades)

    def entries(self) -> list[Entry]:
        """Query by query, in file order."""
        return [Entry(query, *item) for query, graded in self.grades.items() for item in graded.items()]

    def relevant(self, policy: Policy = "all", min_grade: int = 1) -> dict[str, tuple[str, ...]]:
        """For every query its passages of at least `min_grade` that the policy takes, in file order; maybe none."""
        if policy not in POLICIES:
            raise ValueError(f"policy {policy!r} where there are {', '.join(POLICIES)}")
        most = {"first": 1, "all": None, "none": 0}[policy]
        return {
            query: tuple(passage for passage, grade in graded.items() if grade >= min_grade)[:most]
            for query, graded in self.grades.items()
        }


def read_qrels(source: Source, *, name: str | None = None) -> Qrels:
    """Read qrels of TREC or MS MARCO: four columns, `query 0 passage grade`, by spaces or tabs; or PyTerrier's table.

    Raises BadInput where a line has other columns, where the grade is no whole number (106.0 is one), where a passage
    comes again with another grade (a mere repetition is let pass), and where the file is damaged or empty.
    """
    name = name_of(source) if name is None else name
    with as_lines(source, name) as (lines, before):
        return _read(TextFile(lines, name=name, limits=COLUMN_LIMITS, lines_before=before))


def _read(file: TextFile) -> Qrels:
    grades: dict[str, dict[str, int]] = {}
    for line, row in file.rows():
        split = columns(row)
        if len(split) != 4:
            message = f"{counted(len(split), 'column')} where qrels have 4 (query 0 passage grade)."
            raise BadInput(file.name, line, message)
        query, _, passage, grade = split
        whole = _GRADE.fullmatch(grade)
        if not whole:
            raise BadInput(file.name, line, f"grade {quote_value(grade)} is not a whole number of at most nine digits.")
        earlier = grades.setdefault(query, {}).setdefault(passage, int(whole[1]))
        if earlier != int(whole[1]):
            shown_passage, shown_query = quote_value(passage), quote_value(query)
            message = f"grade {grade} for passage {shown_passage} of query {shown_query}, which had {earlier} before."
            raise BadInput(file.name, line, message)
    return Qrels(grades)

"""Relevance judgments: reading them in file order, and choosing from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from evaluation.files.tables import open_table
from evaluation.files.textfiles import Source, quote_value

# Which relevant passages of a query count: the first in the file, all of them, or none.
Policy = Literal["first", "all", "none"]

POLICIES: tuple[Policy, ...] = get_args(Policy)


class Entry(NamedTuple):
    """One line of qrels."""

    query: str
    passage: str
    grade: int


@dataclass(frozen=True)
class Qrels:
    """Qrels by query, queries and passages in the order of the file: `grades[query][passage]`."""

    grades: Mapping[str, Mapping[str, int]]
    marks: int = field(default=0, compare=False)  # byte order marks that were left out, beside the file's first

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
    """Read qrels: four columns, `query 0 passage grade`, or any table of a query, a passage and a grade.

    Raises BadInput where a line has other columns, where the grade is no whole number (106.0 is one), where a passage
    comes again with another grade (a mere repetition is let pass), and where the file is damaged or empty.
    """
    grades: dict[str, dict[str, int]] = {}
    with open_table(source, "qrels", name=name) as table:
        for line, (query, passage, grade) in table:
            earlier = grades.setdefault(query, {}).setdefault(passage, grade)
            if earlier != grade:
                of = f"passage {quote_value(passage)} of query {quote_value(query)}"
                message = f"grade {grade} for {of}, which had {earlier} before."
                raise table.fault(line, message)
    return Qrels(grades, table.file.marks if table.file else 0)

"""Tables: columns with a meaning, rows of plain values. Pages, CSV and LaTeX show the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

# What a column's values are: words, whole numbers, RR, a difference of RR, a search length, a share of 1, such a share
# with whether it is significant and of how many (`[share, True, 18]`), a p-value, `[low, high]` of RR or of a share,
# seconds, or True and False. None wherever there is no value.
Kind = Literal[
    "name", "text", "query", "count", "score", "change", "length", "share", "tested", "p", "interval", "shares",
    "seconds", "yes",
]  # fmt: skip

Value = Any
WORDS: tuple[Kind, ...] = ("name", "text", "query")
FIRST = 7  # columns that pages show until somebody asks for more; all of a matrix
MATRIX = "win-matrix"


class Column(NamedTuple):
    """`key` names it in addresses and files, `label` on the page, which shows what is `folded` when asked for it.

    One that is `filed` is in the files alone.
    """

    key: str
    label: str
    kind: Kind
    folded: bool = False
    filed: bool = False


@dataclass(frozen=True)
class Table:
    """`title` is its heading, `about` how to read it, and `about_more` how to read the columns that are not shown at
    first. `per_run`: columns with names of runs, to narrow it to one.

    `foot` are rows that stay last in every order. In a column of tested shares they have counts.
    """

    name: str
    title: str
    about: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    per_run: Sequence[str] = ()
    foot: Sequence[Sequence[Value]] = ()
    about_more: str = ""

    def at(self, key: str) -> int:
        """The number of a column. Raises StopIteration if there is none of this name."""
        return next(number for number, column in enumerate(self.columns) if column.key == key)

    def sorted_by(self, order: str) -> "Table":
        """By a column, `-` before its key for the greatest first; rows without a value last. As it is if unknown."""
        key, down = order.removeprefix("-"), order.startswith("-")
        if key not in [column.key for column in self.columns]:
            return self
        at = self.at(key)
        present = [row for row in self.rows if row[at] is not None]
        rest = [row for row in self.rows if row[at] is None]
        present.sort(key=lambda row: _sort_key(row[at]), reverse=down)
        return replace(self, rows=present + rest)

    def only(self, words: str) -> "Table":
        """The rows about the runs of these names; where there are none, those with these words in a column of words."""
        if self.runs().issuperset(runs := words.split()):
            at = [self.at(key) for key in self.per_run]
            return replace(self, rows=[row for row in self.rows if {row[number] for number in at}.issuperset(runs)])
        words, at = words.casefold(), [number for number, column in enumerate(self.columns) if column.kind in WORDS]
        return replace(
            self, rows=[row for row in self.rows if any(words in (row[number] or "").casefold() for number in at)]
        )

    @property
    def is_folded(self) -> bool:
        """Whether it has columns that are shown when asked for."""
        return any(column.folded for column in self.columns)

    def for_pages(self, *, unfolded: bool = True) -> "Table":
        """Without the columns that are in files alone, and unless `unfolded`, without those shown when asked for."""
        return self._with(
            [
                number
                for number, column in enumerate(self.columns)
                if not column.filed and (unfolded or not column.folded)
            ]
        )

    def at_first(self) -> "Table":
        """With the columns that pages show until somebody asks for more."""
        table = self.for_pages(unfolded=False)
        short = table if self.is_matrix else table._with(range(min(FIRST, len(table.columns))))
        return replace(short, about_more="")

    @property
    def is_matrix(self) -> bool:
        """Whether it is read as a whole."""
        return self.name == MATRIX

    @property
    def has_more(self) -> bool:
        """Whether it has columns that pages do not show at first."""
        return len(self.at_first().columns) < len(self.for_pages().columns)

    def _with(self, places: Sequence[int]) -> "Table":
        def narrow(rows: Sequence[Sequence[Value]]) -> list[list[Value]]:
            return [[row[number] for number in places] for row in rows]

        columns = [self.columns[number] for number in places]
        return replace(self, columns=columns, rows=narrow(self.rows), foot=narrow(self.foot))

    def runs(self) -> set[str]:
        """The runs that it can be narrowed to."""
        return {row[self.at(key)] for key in self.per_run for row in self.rows}


def _sort_key(value: Value) -> Any:
    if isinstance(value, list | tuple):
        return value[0]
    return value.casefold() if isinstance(value, str) else value


def row_of(entry: object, columns: Sequence[Column]) -> list[Value]:
    """A row of the values that an entry has under the columns' keys."""
    return [getattr(entry, column.key) for column in columns]

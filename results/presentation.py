"""Tables as pages show them: heads that sort by a link, cells as words."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

from results.tables import WORDS, Table
from results.writing import shown


class Head(NamedTuple):
    """A column's head. `address` sorts by it; `sorted` is `ascending`, `descending` or empty. `heading` as of cells."""

    label: str
    number: bool
    address: str
    sorted: str
    heading: bool


class Cell(NamedTuple):
    """The content of a cell. `heading`: it says what the row is about. `address` is where it leads, or empty.

    `significant`: it is marked so.
    """

    text: str
    number: bool
    heading: bool
    address: str
    significant: bool = False


class Shown(NamedTuple):
    """A table to show: some of its rows, `total` being how many it has, and its foot."""

    table: Table
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    total: int

    @classmethod
    def first(cls, table: Table, count: int) -> Self:
        """The first rows, to read only."""
        return cls(table, heads(table, "", lambda _order: ""), cells(table, table.rows[:count], {}), len(table.rows))

    @property
    def foot(self) -> Sequence[Sequence[Cell]]:
        """The rows that stay last."""
        return cells(self.table, self.table.foot, {})


def heads(table: Table, order: str, address: Callable[[str], str]) -> list[Head]:
    """The heads of a table that is sorted by `order`. `address` leads to another order."""
    headings, heading = [], _heading(table)
    for place, column in enumerate(table.columns):
        ordered = {column.key: "ascending", f"-{column.key}": "descending"}.get(order, "")
        following = f"-{column.key}" if ordered == "ascending" else column.key
        number = column.kind not in (*WORDS, "yes")
        headings.append(Head(column.label, number, address(following), ordered, place == heading))
    return headings


def _heading(table: Table) -> int:
    """The number of the column that says what a row is about."""
    return next((number for number, column in enumerate(table.columns) if column.kind in WORDS), 0)


def cells(table: Table, rows: Sequence[Sequence[object]], links: Mapping[str, str]) -> list[list[Cell]]:
    """Rows as words; `links` are addresses of queries by id."""
    heading = _heading(table)
    return [
        [
            Cell(
                shown(column, value),
                column.kind not in (*WORDS, "yes"),
                number == heading,
                links.get(str(value), "") if column.kind == "query" else "",
                column.kind == "tested" and isinstance(value, list) and value[1],
            )
            for number, (column, value) in enumerate(zip(table.columns, row, strict=True))
        ]
        for row in rows
    ]

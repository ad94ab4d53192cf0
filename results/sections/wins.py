"""Whose top passages people preferred."""

from dataclasses import dataclass

from evaluation.statistics.significance import Correction
from evaluation.statistics.winning import Apart

# What the ranking that returns the original qrel first is called, last of the names.
PERFECT = "perfect"


@dataclass(frozen=True)
class Total:
    """A run against all others: `beats` counts the runs that it beats."""

    name: str
    won: int
    of: int
    share: float | None
    beats: int
    beats_significantly: int


@dataclass(frozen=True)
class Wins:
    """As square tables, rows against columns. `of` leaves out what was undecided; the diagonal of `p` is None. The
    perfect ranking comes last.
    """

    names: list[str]
    won: list[list[int]]
    of: list[list[int]]
    p: list[list[float | None]]
    alpha: float
    correction: Correction
    family: int
    threshold: float
    row: list[Total]
    apart: list[Apart]

    def is_significant(self, a: int, b: int) -> bool:
        """Whether two runs, by number, differ significantly; a run does not from itself."""
        p = self.p[a][b]
        return p is not None and p < self.threshold

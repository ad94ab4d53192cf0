"""The runs by other measures."""

from dataclasses import dataclass

from evaluation.statistics.resampling import Interval
from evaluation.statistics.significance import Correction


@dataclass(frozen=True)
class Mean:
    """With its 95% interval by t, over how many queries."""

    mean: float | None
    t: Interval | None
    queries: int


@dataclass(frozen=True)
class Scores:
    """A run by one measure, on both qrels."""

    original: Mean
    preference: Mean


@dataclass(frozen=True)
class Row:
    """A run by every measure, in the order of their names."""

    run: str
    scores: list[Scores]


@dataclass(frozen=True)
class Test:
    """Two runs that follow each other on the original qrels by a measure, compared on the preference qrels. `higher`
    and `lower_on` count the queries on which the upper one has more, or less.
    """

    measure: str
    upper: str
    lower: str
    original_delta: float
    preference_delta: float
    preference_interval: Interval | None
    changed: bool
    higher: int
    lower_on: int
    wsr: float | None
    t: float | None
    significant: bool


@dataclass(frozen=True)
class Measures:
    """Runs in the order of the leaderboard, tests by measure."""

    names: list[str]
    alpha: float
    correction: Correction
    runs: list[Row]
    tests: list[Test]

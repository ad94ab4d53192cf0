"""The leaderboard before and after."""

from dataclasses import dataclass, field

from evaluation.statistics.leaderboards import Agreement, Neighbours
from evaluation.statistics.resampling import Interval
from evaluation.statistics.significance import Correction


@dataclass(frozen=True)
class Score:
    """A mean with its 95% intervals over queries."""

    mean: float
    t: Interval | None
    bootstrap: Interval


@dataclass(frozen=True)
class Entry:
    """A run. `original_all`: over all queries with original qrels; `outside`: its score elsewhere. `corrected`: its
    mean if no judgment were wrong, and `with_judges` that mean's interval.
    """

    run: str
    pooled: bool
    outside: float | None
    outside_rank: int | None
    original_all: float
    original: Score
    preference: Score
    corrected: float | None
    with_judges: Interval | None
    place_original: int
    place_preference: int

    @property
    def rise(self) -> int:
        """By how many ranks it is higher on the preference qrels."""
        return self.place_original - self.place_preference


@dataclass(frozen=True)
class Outside:
    """Where the outside scores come from, and how far they order the runs as the two qrels do."""

    source: str
    tau: Agreement


@dataclass(frozen=True)
class Perfect:
    """The ranking that returns the original qrel first, on the preference qrels."""

    preference: Score


@dataclass(frozen=True)
class Family:
    """The tests that share a level: how many, and the p below which one is significant."""

    alpha: float
    correction: Correction
    family: int
    threshold: float


@dataclass(frozen=True)
class Pairing:
    """How many of its judgments one kind of qrels won; a tie is half a win."""

    won: float
    of: int
    share: float | None


@dataclass(frozen=True)
class Pairings:
    """The judgments of which one passage is a qrel and the other none."""

    preference: Pairing
    original: Pairing


@dataclass(frozen=True, kw_only=True)
class Board:
    """The runs by their mean on the preference qrels, the highest first; nothing for designs without scores."""

    leaderboard: list[Entry] = field(default_factory=list)
    outside: Outside | None = None
    unreadable: list[str] = field(default_factory=list)
    perfect: Perfect | None = None
    queries_all: int | None = None
    tau_all: float | None = None
    tau: float | None = None
    tau_ap: float | None = None
    neighbours: list[Neighbours] = field(default_factory=list)
    significance: Family | None = None
    pairings: Pairings | None = None

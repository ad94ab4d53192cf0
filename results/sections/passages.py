"""What runs brought into the pools, and whether they order passages as people do."""

from dataclasses import dataclass, field

from evaluation.statistics.consistency import Triples
from evaluation.statistics.resampling import Interval


@dataclass(frozen=True)
class Contribution:
    """A run with and without the passages that it alone ranked first: `own` of them, of which `won` are answers."""

    run: str
    preference: float
    without_own: float
    change: float
    own: int
    won: int
    place: int
    place_without: int


@dataclass(frozen=True)
class Agreed:
    """As `evaluation.statistics.consistency.OrderAgreement`, and whether the run was pooled."""

    run: str
    judged: int
    both: int
    alike: int
    share: float | None
    interval: Interval | None
    pooled: bool


@dataclass(frozen=True, kw_only=True)
class Passages:
    """In the order of the leaderboard."""

    contributions: list[Contribution] = field(default_factory=list)
    order_agreement: list[Agreed] = field(default_factory=list)
    triples: Triples | None = None

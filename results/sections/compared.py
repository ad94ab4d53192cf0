"""Runs compared two by two."""

from dataclasses import dataclass, field

from evaluation.statistics.comparing import Alignment, Disagreement, Outcomes, RankBy, Winner
from evaluation.statistics.resampling import Interval
from evaluation.statistics.significance import Correction


@dataclass(frozen=True)
class Tests:
    """Raw p-values of RR over all queries."""

    wrs: float
    wrs_tie_corrected: float
    wsr: float
    t: float | None


@dataclass(frozen=True)
class BothTests:
    """Raw p-values over the queries where both find."""

    esl_wsr: float | None
    esl_t: float | None
    rr_wsr: float | None
    rr_t: float | None


@dataclass(frozen=True)
class Both:
    """Mean search lengths and RR where both find."""

    esl_a: float | None
    esl_b: float | None
    rr_a: float | None
    rr_b: float | None
    p: BothTests


@dataclass(frozen=True)
class Significant:
    """Who is significantly better, by test."""

    wrs: Winner
    wsr: Winner
    t: Winner
    outcomes: Winner
    esl: Winner


@dataclass(frozen=True)
class Verdict:
    strict: Winner
    do_no_harm: Winner
    trade_off: bool
    better: Winner


@dataclass(frozen=True)
class Pair:
    """As `evaluation.statistics.comparing.Compared`, in the form of its JSON."""

    a: str
    b: str
    delta: float
    delta_interval: Interval | None
    p: Tests
    outcomes: Outcomes
    shares: dict[str, float]
    both: Both
    identical: bool
    significant: Significant
    disagreement: Disagreement
    alignment: Alignment
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """As `evaluation.statistics.comparing.Comparison`, in the form of its JSON."""

    k: int
    queries: int
    alpha: float
    family: int
    correction: Correction
    threshold: float
    thresholds: dict[str, float]
    margin: float
    rank_by: RankBy
    means: dict[str, float]
    lists: dict[str, int]
    order_by_verdicts: list[str]
    order_by_means: list[str]
    pairs: list[Pair]

    @property
    def is_reordered(self) -> bool:
        """Whether the order by verdicts differs from that by means."""
        return self.order_by_verdicts != self.order_by_means


@dataclass(frozen=True)
class Chosen:
    """Which runs are compared. `missing`: those to be compared that are not scored."""

    comparisons: str
    baseline: str | None
    teams_apart: bool
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Names:
    """Two runs."""

    a: str
    b: str


@dataclass(frozen=True)
class Named:
    """How many pairs, and the first of them."""

    count: int
    first: list[Names]


@dataclass(frozen=True)
class Verdicts:
    """What the comparisons come to, all together."""

    pairs: int
    strict: int
    strict_before: int
    harmless: int
    only_better: int
    trade_offs: Named
    means_disagree: Named
    significance_disagrees: Named


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """On both qrels; None for designs without scores."""

    comparisons: Chosen | None = None
    compare: Comparison | None = None
    compare_original: Comparison | None = None
    verdicts: Verdicts | None = None

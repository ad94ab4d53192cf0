"""How certain ranks and best known answers are."""

from dataclasses import dataclass, field
from typing import Literal

from evaluation.statistics.agreement import Evidence
from evaluation.statistics.asking import Prospect
from evaluation.statistics.resampling import Interval
from results.sections.stored import SPARSE

Kind = Literal["first", "order", "changed"]


@dataclass(frozen=True)
class Rank:
    """The 95% interval of a run's rank and its median, and how probable it is that it is `first`."""

    run: str
    low: int
    median: float
    high: int
    first: float
    interval: Interval | None
    corrected: float | None


@dataclass(frozen=True)
class Chance:
    """P(best) of a passage."""

    passage: str
    p: float


@dataclass(frozen=True)
class Answer:
    """A query: its best known answers, P(right) and fragility, its confidence `set`, and `also` the other ids of that
    set's texts. `further`: what more judgments of each pair need and give. `final`: who reached it, in rounds.
    `partial`: a passage of its set may not leave.
    """

    qid: str
    best: list[str]
    share: float
    fragility: int | None
    exact: bool
    set: list[str]
    also: list[str]
    survives: float
    further: dict[int, Prospect] | None = field(default=None, metadata=SPARSE)
    passages: list[Chance] | None = field(default=None, metadata=SPARSE)
    final: list[str] | None = field(default=None, metadata=SPARSE)
    partial: bool | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True)
class Resampled:
    """How many answers there are, and how many of these are unsure, settled, and fragile."""

    answers: int
    unsure: int
    settled: int
    fragile: int


@dataclass(frozen=True)
class Conclusion:
    """The share of draws in which it holds."""

    kind: Kind
    upper: str
    lower: str | None
    share: float


@dataclass(frozen=True)
class Reversed:
    """Which conclusions hold if a `share` of the judgments is reversed; those that do in `survives` of the draws
    survive.
    """

    share: float
    draws: int
    survives: float
    conclusions: list[Conclusion]
    answers: int
    answers_survive: int
    answers_share: float | None


@dataclass(frozen=True, kw_only=True)
class Certainty:
    """None where it is not known."""

    error_rate: float | None = None
    error_source: Evidence | None = None
    error_compared: int | None = None
    ranks: list[Rank] | None = None
    stability: list[Answer] | None = None
    resampled: Resampled | None = None
    reversed: Reversed | None = None

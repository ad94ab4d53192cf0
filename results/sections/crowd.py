"""How good the judgments are."""

from dataclasses import dataclass

from evaluation.statistics.agreement import Agreement


@dataclass(frozen=True)
class Quality:
    """`positions`: of each position in a HIT, the share of test pairs passed and the median seconds."""

    tests: int
    tests_passed: int
    left_share: float | None
    left_p: float | None
    seconds_median: float | None
    positions: list[tuple[int, float | None, float | None]]


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """`agreement` is None where no pair was judged several times."""

    quality: Quality
    agreement: Agreement | None = None

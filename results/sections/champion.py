"""The champion check."""

from dataclasses import dataclass

from evaluation.statistics.resampling import Interval


@dataclass(frozen=True)
class Category:
    """The judged comparisons of a category, and of the decided ones the share for the other passage."""

    for_qrel: int
    against: int
    undecided: int
    queries: int
    share: float | None
    interval: Interval | None
    p: float | None


@dataclass(frozen=True)
class Slice:
    """Of the decided comparisons, the share with one outcome."""

    name: str
    share: float | None


@dataclass(frozen=True)
class Champion:
    """Category `a`: the run returns the qrel first; `b`: another passage."""

    a: Category
    b: Category
    slices: list[Slice]
    run: str
    qrel: str
    split: dict[str, int]
    unjudged: int
    crowd_error: float | None

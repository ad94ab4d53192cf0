"""The gap between dev and eval over time, as a test: a look at a plot does not tell a trend from chance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from evaluation.boards.entries import Entry
from evaluation.statistics.resampling import CONFIDENCE, Interval

DAYS = 365.25  # of a year
ALARM_LEVEL = 0.05

# Which scores rise faster than the others: none, those of eval, or those of dev.
Side = Literal["", "eval", "dev"]


@dataclass(frozen=True)
class Trend:
    """How the gap, eval less dev, changes with the date: least squares over `entries` entries with both scores.

    `slope`: a year. `interval`: its 95% interval by t. `p`: two-sided, of no trend. `mean`: of the gap. `alarm`: where
    p is below 5%, the scores that rise faster: "eval" is what fitting to the hidden queries looks like, "dev" what
    fitting to the public ones does.
    """

    entries: int
    mean: float
    slope: float
    interval: Interval
    p: float
    alarm: Side

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "interval": list(self.interval)}


def gap_trend(entries: Iterable[Entry], *, level: float = ALARM_LEVEL) -> Trend | None:
    """The trend of the gap. None for less than three entries with both scores, or where all are of one date.

    Only the trend says something: the level also depends on how hard each set of queries is, and on how it was scored.
    """
    both = [(entry.date, float(entry.eval - entry.dev)) for entry in entries
            if entry.eval is not None and entry.dev is not None]  # fmt: skip
    if len(both) < 3:
        return None
    years = np.array([day.toordinal() for day, _ in both], np.float64) / DAYS
    gaps = np.array([gap for _, gap in both])
    years -= years.mean()
    spread = float(years @ years)
    if not spread:
        return None
    above = gaps - gaps[0]  # so that a gap that never changes has a slope of 0, and no rounding error
    slope = float(years @ above) / spread
    rest = above - above.mean() - slope * years
    free = len(both) - 2
    error = (float(rest @ rest) / free / spread) ** 0.5
    from scipy import special  # here, since most commands need none of it and it takes long to load

    half = float(special.stdtrit(free, (1 + CONFIDENCE) / 2)) * error
    t = abs(slope) / error if error else np.inf if slope else 0.0
    p = float(2 * special.stdtr(free, -t))
    alarm: Side = "" if p >= level else "eval" if slope > 0 else "dev"
    return Trend(len(both), float(gaps.mean()), slope, Interval(slope - half, slope + half), p, alarm)

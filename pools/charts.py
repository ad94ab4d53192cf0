"""Charts as numbers that a template draws: lengths are in percent of the room there is."""

from typing import NamedTuple

from evaluation.judging.pooling import PoolSizes

ROW = 26
BINS = 24
ROOM = 72  # percent of the width for the longest bar; the rest is for its label


class Bar(NamedTuple):
    """One bar of the histogram: sizes `low` to `high`, `pools` of them, and where and how long it is drawn."""

    low: int
    high: int
    pools: int
    y: int
    baseline: int
    length: float


class Histogram(NamedTuple):
    """Bars from the smallest size to the largest, sizes without a pool included; `height` in pixels."""

    bars: list[Bar]
    height: int


def size_histogram(sizes: PoolSizes) -> Histogram:
    """The histogram of pool sizes: one bar a size, or one for several where there are very many."""
    if not sizes.histogram:
        return Histogram([], 0)
    smallest, largest = min(sizes.histogram), max(sizes.histogram)
    width = -(-(largest - smallest + 1) // BINS)
    counts = [
        (low, low + width - 1, sum(sizes.histogram.get(size, 0) for size in range(low, low + width)))
        for low in range(smallest, largest + 1, width)
    ]
    most = max(count for _low, _high, count in counts)
    bars = [
        Bar(low, high, count, place * ROW, place * ROW + 17, round(ROOM * count / most, 2))
        for place, (low, high, count) in enumerate(counts)
    ]
    return Histogram(bars, len(bars) * ROW)

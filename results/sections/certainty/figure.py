"""The likely ranks of each run, over bootstrap samples of queries and judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.drawing.style import ROW, RUN, counted, percent, short_names
from results.sections.certainty import Rank

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

_GAP, _PLACES, _FIRST = 0.25, 2.7, 0.9  # inches
_TOLD = 5


def describe(ranks: list[Rank]) -> str:
    """The runs that are most likely first, with their probability and ranks."""
    likely = sorted(ranks, key=lambda rank: -rank.first)[:_TOLD]
    text = "; ".join(
        f"{rank.run} is first with probability {percent(rank.first)}, ranks {rank.low} to {rank.high}"
        for rank in likely
        if rank.first > 0
    )
    return f"95% bootstrap intervals of the ranks of {counted(len(ranks), 'run', 'runs')}. {text}."


def draw(canvas: Canvas, ranks: list[Rank]) -> None:
    """A row per run: the interval of its rank with the median, and a bar for the probability of being first."""
    from results.drawing.canvas import EDGE, beside, interval, rows

    height = ROW * (len(ranks) + 0.4)
    axes = canvas.axes(_PLACES, height)
    rows(axes, short_names([rank.run for rank in ranks]))
    last = max(2, len(ranks))
    axes.set_xlim(0.5, last + 0.5)
    axes.locator_params(axis="x", integer=True, nbins=8)
    axes.set_xlim(0.5, last + 0.5)
    axes.set_xlabel("Rank, 95% interval")
    first = canvas.axes(_FIRST, height, right=_PLACES + _GAP)
    first.set_ylim(axes.get_ylim())
    first.set_xlim(0, 1)
    first.set_yticks([])
    first.set_xticks([0, 1], ["0", "1"])
    first.set_xlabel("Probability of\nbeing first")
    for row, rank in enumerate(ranks):
        interval(axes, row, (rank.low, rank.high))
        axes.plot(rank.median, row, "o", color=RUN, markersize=5.5, zorder=2.1)
        first.barh(row, rank.first, height=0.62, color=RUN)
        probability = percent(rank.first)
        beside(first, row, probability)
        text = (
            f"{rank.run}: rank {rank.low} to {rank.high}, median {rank.median:g}; first with probability {probability}"
        )
        canvas.mark(axes, [(-EDGE, row), (EDGE, row)], text, rank.run)

"""Each run's rank on the original qrels, joined by a line to its rank on the preference qrels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.drawing.style import INK, ROW, RUN, counted, short_names
from results.sections.leaderboard import Board

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

_BETWEEN = 2.6  # inches from the one order to the other
_TOLD = 5
_REACH = 11.0  # points: lines cross
_SIDE = 0.04  # of the width, between a line's end and its label


def describe(data: Board) -> str:
    """The runs that moved furthest."""
    runs = data.leaderboard
    moved = [run for run in runs if run.place_original != run.place_preference]
    moved.sort(key=lambda run: (-abs(run.place_original - run.place_preference), run.place_preference))
    text = f"Ranks of {counted(len(runs), 'run', 'runs')} on the original and on the preference qrels. "
    if not moved:
        return f"{text}None changed its rank."
    named = "; ".join(f"{run.run} from {run.place_original} to {run.place_preference}" for run in moved[:_TOLD])
    return f"{text}{len(moved)} changed their ranks: {named}{'; …' if len(moved) > _TOLD else ''}."


def draw(canvas: Canvas, data: Board) -> None:
    """A line a run, labelled at both ends; runs that rose are in colour and bold, those that kept their rank faint."""
    from results.drawing.canvas import EDGE

    runs = data.leaderboard
    names = dict(zip((run.run for run in runs), short_names([run.run for run in runs]), strict=True))
    before = sorted(runs, key=lambda run: (run.place_original, run.run))
    after = sorted(runs, key=lambda run: (run.place_preference, run.run))
    row_before = {run.run: row for row, run in enumerate(before)}
    axes = canvas.axes(_BETWEEN, ROW * len(runs))
    axes.set_xlim(0, 1)
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.axis("off")
    canvas.reach = _REACH
    for row, run in enumerate(after):
        name, rise = run.run, run.place_original - run.place_preference
        colour, width, alpha = (RUN, 2.0, 1.0) if rise > 0 else (INK, 1.0, 0.85 if rise < 0 else 0.45)
        weight = "bold" if rise > 0 else "normal"
        ends = [row_before[name], row]
        axes.plot([0, 1], ends, "-", color=colour, linewidth=width, alpha=alpha, solid_capstyle="round")
        axes.plot([0, 1], ends, "o", color=colour, markersize=4, clip_on=False, zorder=2.1)
        left = f"{names[name]}  {run.original.mean:.3f}  {run.place_original}"
        right = f"{run.place_preference}  {run.preference.mean:.3f}  {names[name]}"
        axes.text(-_SIDE, ends[0], left, ha="right", va="center", color=INK, weight=weight)
        axes.text(1 + _SIDE, ends[1], right, ha="left", va="center", color=INK, weight=weight)
        text = (
            f"{name}: RR@{data.k} {run.original.mean:.3f}, rank {run.place_original} on the original qrels; "
            f"{run.preference.mean:.3f}, rank {run.place_preference} on the preference qrels"
        )
        canvas.mark(axes, [(-EDGE, ends[0]), (0, ends[0]), (1, row), (EDGE, row)], text, name)
    axes.text(
        0.5, len(runs) + 0.1, "Bold and in colour: moved up. Faint: unchanged.", ha="center", va="center", color=INK
    )
    for x, side, qrels in ((-_SIDE, "right", "original"), (1 + _SIDE, "left", "preference")):
        axes.text(x, -1.1, f"RR@{data.k}, {qrels} qrels", ha=side, va="center", color=INK)

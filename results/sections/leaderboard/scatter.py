"""RR on the original against RR on the preference qrels (Arabzadeh et al. 2022, figure 6, above)."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from results.drawing.placing import Box, Placed, nearest, place
from results.drawing.style import INK, PERFECT, PERFECT_NAME, RUN, THIN, WIDTH, counted, printable, short_names
from results.sections.leaderboard import Board, Entry
from results.sections.leaderboard.intervals import PREFERENCE

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

_HEIGHT = 4.2
_NAMES_WITHIN, _NUMBERS_WITHIN = 44.0, 400.0  # points
_LINE = 0.18  # inches
_SMALL = 8
_REACH = 14.0  # points
_SOURCE = 60  # letters of where outside scores come from
_BESIDE = 0.8  # inches right of the axes, where the perfect ranking is named


def describe(data: Board) -> str:
    """Rank correlation, and what became of the leader."""
    runs = data.leaderboard
    text = (
        f"Scatter plot of {counted(len(runs), 'run', 'runs')}: mean RR@{data.k} on the preference qrels, upwards, "
        f"against that on the original qrels, to the right."
    )
    if data.tau is not None:
        text += f" Kendall's tau between the two orders is {data.tau:.2f}."
    leader, *tied = sorted(runs, key=lambda run: run.place_original)
    tied = [run for run in tied if run.place_original == leader.place_original]
    if tied:
        text += f" {len(tied) + 1} runs tie for first on the original qrels."
    else:
        text += f" First on the original qrels is {leader.run}; on the preference qrels it has rank "
        text += f"{leader.place_preference}."
    perfect = PREFERENCE.perfect(data)
    return text if perfect is None else f"{text} A dashed line marks the {PERFECT_NAME} at {perfect.mean:.3f}."


def draw(canvas: Canvas, data: Board) -> None:
    """A point a run with its name; where names have no room, with its number, and the names below.

    Numbers too are left away where even they find no room, which takes many hundreds of runs.
    """
    runs = data.leaderboard
    words = f"Mean RR@{data.k} on the original qrels"
    _draw(canvas, data, runs, [run.original.mean for run in runs], words, "on the original qrels", data.tau)


def describe_outside(data: Board) -> str:
    """Where the scores come from, and rank correlation."""
    assert data.outside is not None
    runs, tau = outside_runs(data), data.outside.tau.preference
    text = (
        f"Scatter plot of {counted(len(runs), 'run', 'runs')}: mean RR@{data.k} on the preference qrels, upwards, "
        f"against outside scores ({data.outside.source}), to the right."
    )
    return text if tau is None else f"{text} Kendall's tau between the two orders is {tau:.2f}."


def draw_outside(canvas: Canvas, data: Board) -> None:
    """The same, against the scores from elsewhere."""
    runs, outside = outside_runs(data), data.outside
    assert outside is not None
    words = printable(textwrap.shorten(outside.source, _SOURCE, placeholder="…"))
    x = [run.outside for run in runs if run.outside is not None]
    _draw(canvas, data, runs, x, words, "outside", outside.tau.preference)


def _draw(
    canvas: Canvas, data: Board, runs: list[Entry], x: list[float], words: str, against: str, tau: float | None
) -> None:
    from results.drawing.canvas import POINTS, text_size

    axes = canvas.axes(WIDTH, _HEIGHT)
    y = [run.preference.mean for run in runs]
    perfect = data.perfect.preference.mean if data.perfect else None
    axes.set_xlim(*_limits(x))
    axes.set_ylim(*_limits(y if perfect is None else [*y, perfect]))
    axes.set_xlabel(words)
    axes.set_ylabel(f"Mean RR@{data.k} on the preference qrels")
    axes.plot(x, y, "o", color=RUN, markersize=5.5, zorder=3)
    canvas.reach, canvas.round = _REACH, True
    for across, run in sorted(zip(x, runs, strict=True), key=lambda point: point[0]):
        text = f"{run.run}: {run.preference.mean:.3f} on the preference qrels, {across:.3f} {against}"
        canvas.mark(axes, [(across, run.preference.mean)], text, run.run)

    def in_points(across: float, up: float) -> tuple[float, float]:
        right, above = axes.transAxes.inverted().transform(axes.transData.transform((across, up)))
        return right * WIDTH * POINTS, above * _HEIGHT * POINTS

    blocked = []
    if perfect is not None:
        line = in_points(x[0], perfect)[1]
        blocked = [Box(0, line - 1, WIDTH * POINTS, line + 1)]
        axes.axhline(perfect, color=PERFECT, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
        beside = f"{PERFECT_NAME}\n{perfect:.3f}".replace(" ", "\n", 1)
        axes.text(1.02, perfect, beside, transform=axes.get_yaxis_transform(), va="center", size=_SMALL)
    if tau is not None:
        axes.text(0, 1.02, f"Kendall’s τ = {tau:.2f}", transform=axes.transAxes)
    points = [in_points(*point) for point in zip(x, y, strict=True)]
    room = Box(2, 2, WIDTH * POINTS, _HEIGHT * POINTS)

    def places(labels: list[str], furthest: float) -> list[Placed] | None:
        sizes = [text_size(label, _SMALL) for label in labels]
        return place(points, [(width + 3, height + 2) for width, height in sizes], room, furthest, blocked)

    labels = short_names([run.run for run in runs])
    positions = places(labels, _NAMES_WITHIN)
    if positions is None:
        _key(axes, labels)
        labels = [str(number) for number in range(1, len(runs) + 1)]
        positions = places(labels, _NUMBERS_WITHIN)
    for label, point, placed in zip(labels, points, positions or [], strict=False):
        _label(axes, label, point, placed)


def outside_runs(data: Board) -> list[Entry]:
    """Those with scores from elsewhere."""
    return [run for run in data.leaderboard if run.outside is not None]


def _limits(values: list[float]) -> tuple[float, float]:
    """The values' range with a tenth of it on both sides."""
    low, high = min(values), max(values)
    room = (high - low) * 0.1 or 0.01
    return low - room, high + room


def _label(axes: Any, label: str, point: tuple[float, float], placed: Placed) -> None:
    left, bottom, right, top = placed.box
    centre = ((left + right) / 2, (bottom + top) / 2)
    across, up = 72 * WIDTH, 72 * _HEIGHT
    axes.text(
        centre[0] / across, centre[1] / up, label, transform=axes.transAxes, size=_SMALL, ha="center",
        va="center_baseline", gid="label",
    )  # fmt: skip
    if placed.led:
        end = nearest(placed.box, point)
        axes.plot(
            [point[0] / across, end[0] / across], [point[1] / up, end[1] / up],
            transform=axes.transAxes, color=INK, linewidth=THIN * 0.7, alpha=0.6, zorder=2,
        )  # fmt: skip


def _key(axes: Any, names: list[str]) -> None:
    """The names below the plot, numbered, in as many columns as the width allows."""
    from results.drawing.canvas import POINTS, text_size

    lines = [f"{number}  {name}" for number, name in enumerate(names, 1)]
    widest = max(text_size(line, _SMALL)[0] for line in lines) / POINTS + 0.15
    columns = max(1, min(4, int((WIDTH + _BESIDE) / widest)))
    depth = math.ceil(len(lines) / columns)
    for number, line in enumerate(lines):
        column, row = divmod(number, depth)
        axes.text(
            column * widest / WIDTH,
            -(0.72 + row * _LINE) / _HEIGHT,
            line,
            transform=axes.transAxes,
            size=_SMALL,
            va="center",
        )

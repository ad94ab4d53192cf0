"""The heat map: how often the runs were preferred to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results.drawing.style import INK, PERFECT_NAME, RUN, counted, short_names
from results.drawing.style import PERFECT as PERFECT_COLOUR
from results.sections.wins import Wins

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

_CELL = 0.34  # inches
_SMALL, _SMALLER = 7.5, 6
_ORDER = {PERFECT_COLOUR: 1, RUN: 1.1, INK: 1.2}  # cells of one colour after each other, so that an SVG names it once
_DEEPEST = 0.6  # opacity of a cell that is won or lost always: ink on it is still legible, on paper and in the dark


def names(wins: Wins) -> list[str]:
    """Runs, and the perfect ranking last."""
    return [*short_names(wins.names[:-1]), PERFECT_NAME]


def describe(wins: Wins) -> str:
    """How many runs beat the perfect ranking, and how many differences are significant."""
    last = len(wins.names) - 1
    above = [name for row, name in enumerate(wins.names[:-1]) if (wins.ratio(row, last) or 0) > 0.5]
    significant = sum(wins.is_significant(row, column) for row in range(last + 1) for column in range(row))
    text = (
        f"Heat map of {counted(last, 'pooled run', 'pooled runs')} and the {PERFECT_NAME} against each other: the "
        "share of queries, of those with different top passages, in which that of the column was preferred to that of "
        "the row. "
        f"{counted(significant, 'difference is', 'differences are')} significant. A cell rests on "
        f"{_of_how_many(wins)}. "
    )
    if not above:
        return f"{text}No run is preferred to the {PERFECT_NAME}."
    return f"{text}Preferred to the {PERFECT_NAME} more often than not: {', '.join(above)}."


def draw(canvas: Canvas, wins: Wins) -> None:
    """A cell for each row and column with the column's share in percent, and below it, of how many decided queries;
    significant ones are bold and framed.

    As in the paper, the last row counts the runs that the column beats.
    """
    from results.drawing.canvas import POINTS

    labels = names(wins)
    size = len(labels)
    axes = canvas.axes(_CELL * size, _CELL * (size + 1))
    axes.set_xlim(-0.5, size - 0.5)
    axes.set_ylim(size + 0.5, -0.5)
    axes.set_yticks(range(size + 1), [*labels, "runs beaten"])
    axes.set_xticks(range(size), labels, rotation=90)
    axes.tick_params(length=0, bottom=False, top=False, labeltop=True, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    cells = [(row, column) for row in range(size) for column in range(size)]
    for row, column in cells:
        _number(axes, wins, row, column)
    # Cells of the same shade are neighbours in the file, which makes it smaller.
    for row, column in sorted(cells, key=lambda cell: _depth(wins, *cell)):
        _shade(axes, wins, row, column)
    canvas.reach, canvas.columns = _CELL * POINTS, size
    for row, column in cells:
        canvas.mark(axes, [(column, row)], *_meeting(wins, row, column))
    for column, total in enumerate(wins.row):
        axes.text(column, size, f"{total.beats}", ha="center", va="center", size=_SMALL)
    threshold = wins.threshold
    axes.set_xlabel(
        "Above: percent of decided queries on which the column beats the row.\nBelow: how many decided queries. "
        + (f"Framed and bold: significant (p < {threshold:.2g})." if threshold else ""),
        loc="left",
    )


def _number(axes: Any, wins: Wins, row: int, column: int) -> None:
    ratio = wins.ratio(column, row)
    if ratio is None:
        _place(axes.text(column, row, "·" if row == column else "–", ha="center", va="center", size=_SMALL))
        return
    weight = "bold" if wins.is_significant(row, column) else "normal"
    _place(axes.text(column, row - 0.13, f"{ratio * 100:.0f}", ha="center", va="center", size=_SMALL, weight=weight))
    _place(axes.text(column, row + 0.24, f"{wins.of[row][column]:,}", ha="center", va="center", size=_SMALLER))


def _meeting(wins: Wins, row: int, column: int) -> list[str]:
    """What a cell says in words, and the runs that it is about."""
    above, below = ([*wins.names[:-1], PERFECT_NAME][number] for number in (column, row))
    runs = [wins.names[number] for number in (column, row) if number < len(wins.names) - 1]
    if row == column:
        return [f"{above}: beats {counted(wins.row[column].beats, 'run', 'runs')}", *runs[:1]]
    ratio = wins.ratio(column, row)
    if ratio is None:
        return [f"{above} and {below}: no decided query", *runs]
    of = counted(wins.of[row][column], "decided query", "decided queries")
    significance = "significant" if wins.is_significant(row, column) else "not significant"
    return [f"{above} preferred to {below}: {ratio:.0%} of {of}, {significance}", *runs]


def _of_how_many(wins: Wins) -> str:
    """Of how many decided queries the cells are that have any, from the fewest to the most."""
    counts = [of for row in wins.of for of in row if of]
    most = counted(max(counts), "decided query", "decided queries")
    return most if min(counts) == max(counts) else f"{min(counts):,} to {most}"


def _shade(axes: Any, wins: Wins, row: int, column: int) -> None:
    from matplotlib.patches import Rectangle

    ratio = wins.ratio(column, row)
    if ratio is None:
        return
    shade = RUN if ratio > 0.5 else PERFECT_COLOUR
    corner, opacity = (column - 0.47, row - 0.47), _depth(wins, row, column)
    filled = Rectangle(corner, 0.94, 0.94, facecolor=shade, alpha=opacity, linewidth=0, zorder=_ORDER[shade])
    _place(axes.add_artist(filled))
    if wins.is_significant(row, column):
        corner = (column - 0.44, row - 0.44)
        frame = Rectangle(corner, 0.88, 0.88, fill=False, edgecolor=INK, linewidth=1.1, zorder=_ORDER[INK])
        _place(axes.add_artist(frame))


def _place(part: Any) -> None:
    """Leave it as it is: all of it is within the axes, so there is nothing to cut or to measure."""
    part.set_clip_on(False)
    part.set_in_layout(False)


def _depth(wins: Wins, row: int, column: int) -> float:
    """The opacity of a cell's shade, in twentieths: cells of one opacity are one path; 0 without meetings."""
    ratio = wins.ratio(column, row)
    return 0.0 if ratio is None else round(20 * _DEEPEST * abs(2 * ratio - 1)) / 20

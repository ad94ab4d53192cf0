"""What figures are drawn on: matplotlib, without its global state, in one look."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from results.drawing.marks import MARKS, Mark, Marks, outline
from results.drawing.style import INK, ROW, SIZE, THIN, printable

# Set once, for the whole process: what makes the same drawing the same bytes, and text in an SVG text.
matplotlib.rcParams.update({
    "svg.hashsalt": "bestknown", "svg.fonttype": "none", "pdf.fonttype": 42,
    "font.family": ["DejaVu Sans"], "font.size": SIZE, "text.parse_math": False,
})  # fmt: skip
# A name in letters that the font lacks has boxes for them in PDF and PNG; readers of an SVG have fonts of their own.
warnings.filterwarnings("ignore", message="Glyph .* missing from font")
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
_LOCK = Lock()  # matplotlib does not promise to draw in several threads at once
POINTS = 72  # an inch
MARGIN = 0.06  # inches around everything
EDGE = math.inf

Where = Literal["left", "center", "right"]


class Canvas:
    """A figure that is as large as what is drawn on it: what lies outside its axes widens it.

    Its marks are `reach` points wide; those at a point are `round`, or else square. `columns` as of Marks.
    """

    def __init__(self) -> None:
        self.figure = Figure()
        self.reach = ROW * POINTS
        self.round = False
        self.columns = 1
        self._marks: list[tuple[Axes, Sequence[tuple[float, float]], str, Sequence[str], int]] = []

    def axes(self, width: float, height: float, right: float = 0) -> Axes:
        """Axes of that size in inches: the first ones, or beside them by `right` inches from their left edge."""
        if not self.figure.axes:
            self.figure.set_size_inches(width, height)
        across, up = self.figure.get_size_inches()
        axes = self.figure.add_axes((right / across, 0, width / across, height / up))
        axes.patch.set_visible(False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(labelsize=SIZE, width=THIN, length=3, color=INK)
        return axes

    def mark(self, axes: Axes, points: Sequence[tuple[float, float]], text: str, *runs: str, passages: int = 0) -> None:
        """Have a line through points answer with a text. They are in data; what is infinitely far is at the edge."""
        self._marks.append((axes, points, printable(text), runs, passages))

    def marks(self, box: Bbox) -> Marks:
        """All of them, once the figure is drawn; `box` is what is saved of it, in inches."""

        def at(axes: Axes, point: tuple[float, float]) -> tuple[float, float]:
            across, up = axes.transData.transform((0, point[1]) if math.isinf(point[0]) else point) / self.figure.dpi
            return {EDGE: box.width, -EDGE: 0}.get(point[0], across - box.x0) * POINTS, (box.y1 - up) * POINTS

        return Marks(
            *(round(box.width * POINTS, 1), round(box.height * POINTS, 1), self.columns),
            [
                Mark(
                    outline([at(axes, point) for point in points], self.reach, round_=self.round), text, runs, passages
                )
                for axes, points, text, runs, passages in self._marks
            ],
        )


def rows(axes: Axes, names: list[str]) -> None:
    """A row for each name, from the top, with a thin line to follow across."""
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for row in range(len(names)):
        axes.axhline(row, color=INK, alpha=0.12, linewidth=THIN, zorder=0)


def interval(axes: Axes, row: float, ends: Sequence[float]) -> None:
    """A line with a bar at either end. All lines are drawn before all bars, which makes the drawing smaller."""
    axes.plot(ends, [row, row], "-", color=INK, linewidth=1.1)
    axes.plot(ends, [row, row], "|", color=INK, markersize=6, markeredgewidth=THIN, zorder=2.05)


def beside(axes: Axes, row: float, text: str) -> None:
    axes.text(1.02, row, text, transform=axes.get_yaxis_transform(), ha="left", va="center")


def text_size(text: str, size: float = SIZE) -> tuple[float, float]:
    """Width and height of a line of text in points."""
    width, height, _descent = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
    return width, max(height, size)


def drawn(draw: Callable[[Canvas], None], forms: Iterable[str]) -> dict[str, bytes]:
    """What `draw` draws, by form: svg, pdf, png, its marks. It is drawn, and how large it is measured, once for all."""
    with _LOCK:
        canvas = Canvas()
        draw(canvas)
        canvas.figure.draw_without_rendering()
        box = canvas.figure.get_tightbbox().padded(MARGIN)
        marks = canvas.marks(box).write()  # before it is saved, which may be at another scale
        return {form: marks if form == MARKS else _saved(canvas.figure, box, form) for form in forms}


def _saved(figure: Figure, box: Bbox, form: str) -> bytes:
    file = io.BytesIO()
    figure.savefig(
        file, format=form, dpi=200, bbox_inches=box,
        facecolor="none" if form == "svg" else "white", metadata=_METADATA[form],
    )  # fmt: skip
    return file.getvalue()

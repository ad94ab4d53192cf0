"""The figures of a campaign's results, each drawn from the stored results alone: one definition for SVG, PDF and PNG.

The same results give the same bytes. All words are English: a figure does not depend on who looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from results.drawing.marks import MARKS
from results.drawing.svg import for_pages
from results.sections import champion, counts, heat_map, measures
from results.sections.certainty import figure as ranks
from results.sections.leaderboard import intervals, scatter, slopes
from results.sections.subjects import Subject
from results.sections.whole import Results

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

FORMS = ("svg", "pdf", "png")
Part = TypeVar("Part")


class Figure(NamedTuple, Generic[Part]):
    """A figure: whose it is, its title, the part of results that it shows, None without anything to draw, what it
    shows in words, and how it is drawn.
    """

    name: str
    subject: Subject
    title: str
    part: Callable[[Results], Part | None]
    describe: Callable[[Part], str]
    draw: Callable[[Canvas, Part], None]

    def description(self, data: Results) -> str:
        """What is shown of these results; nothing if there is nothing to draw."""
        return "" if (part := self.part(data)) is None else self.describe(part)


def _with_runs(data: Results) -> Results | None:
    return data if data.leaderboard else None


_ALL: tuple[Figure[Any], ...] = (
    Figure(
        "pool-sizes", Subject.PASSAGES, "Sizes of the pools", lambda data: data if data.pool_sizes else None,
        counts.describe, counts.draw,
    ),
    Figure(
        "champion", Subject.FINDINGS, "The champion check",
        lambda data: data.champion if data.champion and any(data.champion.outcomes) else None,
        champion.describe, champion.draw,
    ),
    Figure(
        "slopes", Subject.FINDINGS, "Ranks before and after", lambda data: data if len(data.leaderboard) > 1 else None,
        slopes.describe, slopes.draw,
    ),
    Figure(
        "scatter", Subject.CERTAINTY, "Original against preference qrels",
        _with_runs, scatter.describe, scatter.draw,
    ),
    Figure(
        "scatter-outside", Subject.CERTAINTY, "Outside scores against preference qrels",
        lambda data: data if len(scatter.outside_runs(data)) > 1 else None,
        scatter.describe_outside, scatter.draw_outside,
    ),
    Figure(
        "intervals-original", Subject.CERTAINTY, "Runs on the original qrels",
        _with_runs, intervals.ORIGINAL.describe, intervals.ORIGINAL.draw,
    ),
    Figure(
        "intervals-preference", Subject.CERTAINTY, "Runs on the preference qrels",
        _with_runs, intervals.PREFERENCE.describe, intervals.PREFERENCE.draw,
    ),
    Figure(
        "win-ratios", Subject.RUNS, "Win ratios",
        lambda data: data.wins if data.wins and any(map(any, data.wins.of)) else None,
        heat_map.describe, heat_map.draw,
    ),
    Figure(
        "measures", Subject.RUNS, "Runs by other measures",
        lambda data: data.measures if data.measures and data.measures.has_means else None,
        measures.describe, measures.draw,
    ),
    Figure(
        "ranks", Subject.CERTAINTY, "How certain the ranks are",
        lambda data: data.ranks or None, ranks.describe, ranks.draw,
    ),
)  # fmt: skip
# By name, in the order in which they are shown.
FIGURES: dict[str, Figure[Any]] = {figure.name: figure for figure in _ALL}


def drawable(data: Results) -> list[Figure[Any]]:
    """The figures that these results have something to draw for, in order."""
    return [figure for figure in FIGURES.values() if figure.part(data) is not None]


def draw(name: str, data: Results, forms: Iterable[str] = FORMS) -> dict[str, bytes]:
    """A figure by form: svg, pdf, png, and its marks (`results.drawing.marks`).

    svg: an `<svg>` element for a file or for a page: no styles, text as text, ink in the colour around it. It has the
    size at which it is legible; where there is less room, let it scroll in a box of its own. pdf: for print, black on
    white, fonts embedded. png: black on white, 200 dots an inch.
    """
    from results.drawing.canvas import drawn  # matplotlib takes a second to import: only who draws pays it

    figure = FIGURES[name]
    drawings = drawn(lambda canvas: figure.draw(canvas, figure.part(data)), forms)
    if "svg" in drawings:
        drawings["svg"] = for_pages(drawings["svg"], figure.name, figure.title, figure.description(data))
    return drawings


def svg(name: str, data: Results) -> bytes:
    """A figure alone."""
    return draw(name, data, ["svg"])["svg"]


class Drawings(NamedTuple):
    """What pages have of all figures by name: as SVG, and their marks."""

    figures: dict[str, str]
    marks: dict[str, str]


def drawings(data: Results) -> Drawings:
    """All figures for pages alone."""
    parts = {figure.name: draw(figure.name, data, ["svg", MARKS]) for figure in drawable(data)}
    return Drawings(*({name: part[form].decode() for name, part in parts.items()} for form in ("svg", MARKS)))

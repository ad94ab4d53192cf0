"""The figures of a campaign's results, each drawn from the stored results alone: one definition for SVG, PDF and PNG.

The same results give the same bytes. All words are English: a figure does not depend on who looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from results.figures import champion, intervals, measures, pools, ranks, scatter, slopes, wins
from results.figures.svg import for_pages
from results.sections.whole import Results

if TYPE_CHECKING:
    from results.figures.canvas import Canvas

FORMS = ("svg", "pdf", "png")


class Figure(NamedTuple):
    """A figure: its title, what it shows in words, whether there is anything to draw, and how it is drawn."""

    name: str
    title: str
    description: Callable[[Results], str]
    drawable: Callable[[Results], bool]
    draw: Callable[[Canvas, Results], None]


_ALL = (
    Figure("pool-sizes", "Sizes of the pools", pools.description, pools.drawable, pools.draw),
    Figure("champion", "The champion check", champion.description, champion.drawable, champion.draw),
    Figure("slopes", "Ranks before and after", slopes.description, slopes.drawable, slopes.draw),
    Figure("scatter", "Original against preference qrels", scatter.description, scatter.drawable, scatter.draw),
    Figure(
        "scatter-outside", "Outside scores against preference qrels",
        scatter.outside_description, scatter.outside_drawable, scatter.outside_draw,
    ),
    Figure(
        "intervals-original", "Runs on the original qrels",
        intervals.ORIGINAL.description, intervals.ORIGINAL.drawable, intervals.ORIGINAL.draw,
    ),
    Figure(
        "intervals-preference", "Runs on the preference qrels",
        intervals.PREFERENCE.description, intervals.PREFERENCE.drawable, intervals.PREFERENCE.draw,
    ),
    Figure("win-ratios", "Win ratios", wins.description, wins.drawable, wins.draw),
    Figure("measures", "Runs by other measures", measures.description, measures.drawable, measures.draw),
    Figure("ranks", "How certain the ranks are", ranks.description, ranks.drawable, ranks.draw),
)  # fmt: skip
# By name, in the order in which they are shown.
FIGURES: dict[str, Figure] = {figure.name: figure for figure in _ALL}


def drawable(data: Results) -> list[Figure]:
    """The figures that these results have something to draw for, in order."""
    return [figure for figure in FIGURES.values() if figure.drawable(data)]


def draw(name: str, data: Results, forms: Iterable[str] = FORMS) -> dict[str, bytes]:
    """A figure by form: svg, pdf, png.

    svg: an `<svg>` element for a file or for a page: no styles, text as text, ink in the colour around it. It has the
    size at which it is legible; where there is less room, let it scroll in a box of its own. pdf: for print, black on
    white, fonts embedded. png: black on white, 200 dots an inch.
    """
    from results.figures.canvas import drawn  # matplotlib takes a second to import: only who draws pays it

    figure = FIGURES[name]
    drawings = drawn(lambda canvas: figure.draw(canvas, data), forms)
    if "svg" in drawings:
        drawings["svg"] = for_pages(drawings["svg"], figure.name, figure.title, figure.description(data))
    return drawings


def svg(name: str, data: Results) -> bytes:
    """A figure for a page alone."""
    return draw(name, data, ["svg"])["svg"]

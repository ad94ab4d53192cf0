"""One run's top passages against the qrels (Arabzadeh et al. 2022, figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from results.figures.style import INK, PERFECT, ROW, RUN, counted, percent
from results.sections.champion import Champion
from results.sections.whole import Results

if TYPE_CHECKING:
    from results.figures.canvas import Canvas


class Slice(NamedTuple):
    """Decided pairs of one outcome: what run and qrels say, what people preferred, how many of how many such pairs."""

    case: str
    preferred: str
    pairs: int
    of: int
    for_qrel: bool


def drawable(data: Results) -> bool:
    """Whether the campaign is a champion check with judged pairs."""
    return data.champion is not None and any(part.of for part in slices(data.champion))


def slices(champion: Champion) -> list[Slice]:
    """The four outcomes in the paper's order: the run differs and wins, or loses; it agrees and loses, or wins."""
    won, lost, beaten, confirmed = champion.outcomes
    return [
        Slice("Run and qrels differ", "run preferred", won, won + lost, False),
        Slice("Run and qrels differ", "qrel preferred", lost, won + lost, True),
        Slice("Run and qrels agree", "second passage preferred", beaten, beaten + confirmed, False),
        Slice("Run and qrels agree", "top passage preferred", confirmed, beaten + confirmed, True),
    ]


def description(data: Results) -> str:
    """The four outcomes, with numbers and shares."""
    assert data.champion is not None
    parts = slices(data.champion)
    pairs = sum(part.pairs for part in parts)
    text = "; ".join(
        f"{part.case[0].lower()}{part.case[1:]}, {part.preferred}: {part.pairs:,} ({percent(part.pairs / pairs)})"
        for part in parts
    )
    return f"Bars of {counted(pairs, 'decided pair', 'decided pairs')} by outcome: {text}."


def draw(canvas: Canvas, data: Results) -> None:
    """A bar an outcome, in two groups, each with its number and its share of all pairs."""
    assert data.champion is not None
    parts = slices(data.champion)
    pairs = sum(part.pairs for part in parts)
    places = [0.0, 1.0, 2.6, 3.6]
    axes = canvas.axes(2.6, ROW * 6.4)
    axes.set_xlim(0, max(part.pairs for part in parts))
    axes.set_ylim(4.1, -1.0)
    for place, part in zip(places, parts, strict=True):
        axes.barh(place, part.pairs, height=0.7, color=PERFECT if part.for_qrel else RUN)
        axes.annotate(
            f"{percent(part.pairs / pairs)}  ({part.pairs:,})", (part.pairs, place), xytext=(4, 0),
            textcoords="offset points", va="center", color=INK, annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(places, [part.preferred for part in parts])
    for place, part in zip((-0.8, 1.8), parts[::2], strict=True):
        axes.text(0, place, f"{part.case}: {counted(part.of, 'pair', 'pairs')}", va="center", weight="bold")
    axes.tick_params(axis="y", length=0)
    for side in ("bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xticks([])

"""How large the pools are (Arabzadeh et al. 2022, figures 3 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.figures.style import INK, RUN, WIDTH, counted
from results.sections.whole import Results

if TYPE_CHECKING:
    from results.figures.canvas import Canvas

_LABELLED = 20  # bars that have room for their numbers


def drawable(data: Results) -> bool:
    """Whether there are pools."""
    return bool(data.pool_sizes)


def description(data: Results) -> str:
    """Number of pools, their mean and extreme sizes, and the commonest."""
    sizes = sorted(data.pool_sizes)
    pools = sum(count for _size, count in sizes)
    mean = sum(size * count for size, count in sizes) / pools
    most, count = max(sizes, key=lambda pair: pair[1])
    least, greatest = sizes[0][0], sizes[-1][0]
    if least == greatest:
        return f"Histogram of {counted(pools, 'pool', 'pools')}, each of {counted(least, 'passage', 'passages')}."
    return (
        f"Histogram of {counted(pools, 'pool', 'pools')} of {least} to {greatest} passages, {mean:.2f} on "
        f"average. Commonest is size {most}: {counted(count, 'pool', 'pools')}."
    )


def draw(canvas: Canvas, data: Results) -> None:
    """A bar a size; where these are few, with its number."""
    sizes = dict(data.pool_sizes)
    low, high = min(sizes), max(sizes)
    axes = canvas.axes(WIDTH, 2.6)
    bars = axes.bar(list(sizes), list(sizes.values()), width=0.8, color=RUN)
    axes.set_xlim(low - 0.7, high + 0.7)
    axes.set_xlabel("Passages in the pool")
    axes.set_ylabel("Pools")
    if high - low < _LABELLED:
        axes.set_xticks(range(low, high + 1))
        axes.bar_label(bars, [f"{count:,}" for count in sizes.values()], padding=2, color=INK, fontsize=8)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        axes.tick_params(axis="x", length=0)
    else:
        axes.locator_params(integer=True)

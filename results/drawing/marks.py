"""What answers on a figure: each run, point, cell or bar with its name, its numbers and where it leads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

MARKS = "marks"  # the form, beside svg, pdf and png


class Mark(NamedTuple):
    """`path`: what a pointer has to be over, in points. `runs`: whose it is, one, two that meet, or none.
    `passages`: it is about the pools of so many, or 0.
    """

    path: str
    text: str
    runs: Sequence[str]
    passages: int = 0


class Marks(NamedTuple):
    """The marks of a figure of that size, in points, `columns` side by side before the next lie below them."""

    width: float
    height: float
    columns: int
    marks: Sequence[Mark]

    @classmethod
    def read(cls, written: bytes | str) -> Marks:
        width, height, columns, marks = json.loads(written)
        return cls(width, height, columns, [Mark(*mark) for mark in marks])

    def write(self) -> bytes:
        return json.dumps(self, ensure_ascii=False, separators=(",", ":")).encode()

    def svg(self, title: str, address: Callable[[Mark], str]) -> str:
        """An `<svg>` to lay over the figure. `address` is where a mark leads, or empty."""
        parts = "".join(
            f'<path d="{mark.path}"{_leading(address(mark))}><title>{escape(mark.text)}</title></path>'
            for mark in self.marks
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}pt" height="{self.height:g}pt" fill="none" role="group" '
            f'aria-label="{escape(title)}" data-columns="{self.columns}">{parts}</svg>'
        )


def outline(points: Sequence[tuple[float, float]], reach: float, *, round_: bool) -> str:
    """The path around a line that is so wide, across it or, of one that goes up, beside it; around a point, a square or
    a circle.
    """
    half = reach / 2
    if len(points) == 1 and round_:
        (x, y), arc = points[0], f"a{half:g} {half:g} 0 1 0"
        return f"M{_shown(x - half, y)}{arc} {reach:g} 0{arc} {-reach:g} 0z"
    if len(points) == 1:
        x, y = points[0]
        points = [(x - half, y), (x + half, y)]
    across, up = (half, 0) if len({x for x, _y in points}) == 1 else (0, half)
    before = [_shown(x - across, y - up) for x, y in points]
    after = [_shown(x + across, y + up) for x, y in reversed(points)]
    return f"M{' '.join(before + after)}z"


def _shown(x: float, y: float) -> str:
    return f"{round(x, 1):g} {round(y, 1):g}"


def _leading(address: str) -> str:
    return f' data-href="{escape(address)}"' if address else ""

"""Figures that no test reads are not drawn for each anew."""

from collections.abc import Iterable

import pytest

from results import figures
from results.drawing.marks import MARKS
from results.sections.whole import Results

_drawings: dict[str, dict[str, bytes]] = {}
# No page has these, so that they are not drawn at all.
_FILES = {"pdf": b"%PDF-1.4\n", "png": b"\x89PNG\r\n\x1a\n"}


def draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a figure and its marks once in a process, of whatever data are the first."""
    draw = figures.draw

    def drawn(name: str, data: Results, forms: Iterable[str] = figures.FORMS) -> dict[str, bytes]:
        if "svg" in forms and name not in _drawings:
            _drawings[name] = draw(name, data, ["svg", MARKS])
        return {form: _FILES.get(form) or _drawings[name][form] for form in forms}

    monkeypatch.setattr(figures, "draw", drawn)

"""Figures that no test reads are not drawn for each anew."""

from collections.abc import Iterable

import pytest

from results import figures

_drawings: dict[tuple[str, str], bytes] = {}


def draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a figure in each form once in a process, of whatever data are the first."""
    draw = figures.draw

    def drawn(name: str, data: figures.Data, forms: Iterable[str] = figures.FORMS) -> dict[str, bytes]:
        missing = [form for form in forms if (name, form) not in _drawings]
        if missing:
            _drawings.update({(name, form): drawing for form, drawing in draw(name, data, missing).items()})
        return {form: _drawings[name, form] for form in forms}

    monkeypatch.setattr(figures, "draw", drawn)

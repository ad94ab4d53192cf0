"""Figures that no test reads are not drawn for each anew."""

from collections.abc import Collection, Iterable

import pytest

from results import figures

_drawings: dict[tuple[str, str], bytes] = {}


def draw_once(monkeypatch: pytest.MonkeyPatch, once: Collection[str]) -> None:
    """Draw a figure in these forms once in a process, of whatever data is the first."""
    draw = figures.draw

    def drawn(name: str, data: figures.Data, forms: Iterable[str] = figures.FORMS) -> dict[str, bytes]:
        missing = [form for form in forms if form not in once or (name, form) not in _drawings]
        made = draw(name, data, missing) if missing else {}
        _drawings.update({(name, form): drawing for form, drawing in made.items() if form in once})
        return {form: made.get(form) or _drawings[name, form] for form in forms}

    monkeypatch.setattr(figures, "draw", drawn)

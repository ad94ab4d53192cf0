"""Means by the other measures on the preference qrels, a panel for each, with 95% intervals by t."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.figures.style import ROW, RUN, counted, printable, short_names
from results.sections.whole import Results

if TYPE_CHECKING:
    from results.figures.canvas import Canvas

MOST = 6  # panels
_WIDTH, _GAP = 1.7, 0.75  # inches


def drawable(data: Results) -> bool:
    """Whether any run has a mean by any other measure."""
    measures = data.measures
    if not measures:
        return False
    return any(score.preference.mean is not None for run in measures.runs for score in run.scores)


def description(data: Results) -> str:
    """Each measure's best run, with its mean."""
    measures = data.measures
    assert measures is not None
    parts = []
    for number, name in enumerate(measures.names[:MOST]):
        means = [(run.scores[number].preference.mean, run.run) for run in measures.runs]
        scored = [(mean, run) for mean, run in means if mean is not None]
        if scored:
            mean, run = max(scored)
            parts.append(f"{name}: {run} is highest, {mean:.3f}")
    return (
        f"Means of {counted(len(measures.runs), 'run', 'runs')} on the preference qrels, 95% t intervals, in the "
        f"order of the leaderboard. {'; '.join(parts)}."
    )


def draw(canvas: Canvas, data: Results) -> None:
    """A row a run, and a panel a measure, each on a scale of its own."""
    from results.figures.canvas import beside, interval, rows

    measures = data.measures
    assert measures is not None
    names = short_names([run.run for run in measures.runs])
    height = ROW * (len(names) + 0.4)
    for number, measure in enumerate(measures.names[:MOST]):
        axes = canvas.axes(_WIDTH, height, right=number * (_WIDTH + _GAP))
        rows(axes, names if number == 0 else [""] * len(names))
        for row, run in enumerate(measures.runs):
            score = run.scores[number].preference
            if score.mean is None:
                continue
            if score.t is not None and None not in score.t:
                interval(axes, row, score.t)
            axes.plot(score.mean, row, "o", color=RUN, markersize=5.5, zorder=2.1)
            beside(axes, row, f"{score.mean:.3f}")
        axes.locator_params(axis="x", nbins=3)
        axes.set_xlabel(f"Mean {printable(measure)}")

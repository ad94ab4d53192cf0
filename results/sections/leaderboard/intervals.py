"""Means with 95% intervals in the order of the original leaderboard (Arabzadeh et al. 2022, figure 6, below)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluation.statistics.resampling import Interval
from results.drawing.style import PERFECT, PERFECT_NAME, ROW, RUN, counted, mean_and_interval, short_names
from results.sections.leaderboard import Board, Entry, Score

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

_PERFECT_ON_ORIGINAL = Score(1.0, Interval(1.0, 1.0), Interval(1.0, 1.0))


@dataclass(frozen=True)
class Intervals:
    """The figure for one kind of qrels. Both kinds have their runs in the same order, so that they can be compared."""

    qrels: Literal["original", "preference"]

    def of(self, run: Entry) -> Score:
        """A run's score on these qrels."""
        return run.original if self.qrels == "original" else run.preference

    def describe(self, data: Board) -> str:
        """The best and the last run with their means, and how many runs are above the perfect ranking."""
        runs = data.leaderboard
        best = max(runs, key=lambda run: self.of(run).mean)
        last = min(runs, key=lambda run: self.of(run).mean)
        text = (
            f"Mean RR@{data.k} of {counted(len(runs), 'run', 'runs')} on the {self.qrels} qrels, 95% t intervals, "
            f"in the order of the original leaderboard. Highest: {best.run}, {self.of(best).mean:.3f}. "
            f"Lowest: {last.run}, {self.of(last).mean:.3f}."
        )
        perfect = self.perfect(data)
        if perfect is None:
            return text
        above = sum(self.of(run).mean > perfect.mean for run in runs)
        above_it = counted(above, "run is", "runs are") if above else "no run is"
        return f"{text} The {PERFECT_NAME} has {perfect.mean:.3f}; {above_it} above it."

    def draw(self, canvas: Canvas, data: Board) -> None:
        """A row a run, the perfect ranking below them and as a dashed line through all, means at the right."""
        from results.drawing.canvas import EDGE, beside, interval, rows

        runs = sorted(data.leaderboard, key=lambda run: run.place_original)
        perfect = self.perfect(data)
        names = [*short_names([run.run for run in runs]), PERFECT_NAME]
        axes = canvas.axes(3.2, ROW * (len(names) + 0.4))
        rows(axes, names)
        scores = [self.of(run) for run in runs]
        every = [*scores, perfect] if perfect else scores
        drawn = every if self.qrels == "preference" else scores
        ends = [end for score in drawn for end in (score.mean, *(score.t or ()))]
        limits = [min(1.0, max(0.0, end)) for end in ends]  # an interval over few queries ends where no mean can be
        room = (max(limits) - min(limits)) * 0.04 or 0.01
        axes.set_xlim(min(limits) - room, max(limits) + room)
        if perfect and perfect.mean <= max(limits):
            axes.axvline(perfect.mean, color=PERFECT, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
        for row, score in enumerate(every):
            is_run = row < len(runs)
            colour, marker = (RUN, "o") if is_run else (PERFECT, "D")
            beside(axes, row, f"{score.mean:.3f}")
            name = runs[row].run if is_run else PERFECT_NAME
            text = f"{name}: {mean_and_interval(score.mean, score.t)} on the {self.qrels} qrels"
            canvas.mark(axes, [(-EDGE, row), (EDGE, row)], text, *([name] if is_run else []))
            if score.mean > max(limits):
                axes.plot(1, row, ">", transform=axes.get_yaxis_transform(), color=colour, markersize=6, clip_on=False)
                continue
            if score.t is not None:
                interval(axes, row, score.t)
            axes.plot(score.mean, row, marker, color=colour, markersize=5.5, zorder=2.1)
        axes.set_xlabel(f"Mean RR@{data.k} on the {self.qrels} qrels, 95% intervals")

    def perfect(self, data: Board) -> Score | None:
        """The perfect ranking; None where there is none."""
        if self.qrels == "original":
            return _PERFECT_ON_ORIGINAL
        return data.perfect.preference if data.perfect else None


ORIGINAL = Intervals("original")
PREFERENCE = Intervals("preference")

"""Means with 95% intervals in the order of the original leaderboard (Arabzadeh et al. 2022, figure 6, below)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from results.figures.style import PERFECT, PERFECT_NAME, ROW, RUN, counted, short_names

if TYPE_CHECKING:
    from results.figures.canvas import Canvas

_PERFECT_ON_ORIGINAL = {"mean": 1.0, "t": [1.0, 1.0]}


@dataclass(frozen=True)
class Intervals:
    """The figure for one kind of qrels. Both kinds have their runs in the same order, so that they can be compared."""

    qrels: Literal["original", "preference"]

    def drawable(self, data: dict[str, Any]) -> bool:
        """Whether any run has a mean."""
        return any(run[self.qrels]["mean"] is not None for run in data["leaderboard"])

    def description(self, data: dict[str, Any]) -> str:
        """The best and the last run with their means, and how many runs are above the perfect ranking."""
        runs = [run for run in data["leaderboard"] if run[self.qrels]["mean"] is not None]
        best = max(runs, key=lambda run: run[self.qrels]["mean"])
        last = min(runs, key=lambda run: run[self.qrels]["mean"])
        text = (
            f"Mean RR@{data['k']} of {counted(len(runs), 'run', 'runs')} on the {self.qrels} qrels, 95% t intervals, "
            f"in the order of the original leaderboard. Highest: {best['run']}, {best[self.qrels]['mean']:.3f}. "
            f"Lowest: {last['run']}, {last[self.qrels]['mean']:.3f}."
        )
        perfect = self.perfect(data)["mean"]
        if perfect is None:
            return text
        above = sum(run[self.qrels]["mean"] > perfect for run in runs)
        above_it = counted(above, "run is", "runs are") if above else "no run is"
        return f"{text} The {PERFECT_NAME} has {perfect:.3f}; {above_it} above it."

    def draw(self, canvas: Canvas, data: dict[str, Any]) -> None:
        """A row a run, the perfect ranking below them and as a dashed line through all, means at the right."""
        from results.figures.canvas import beside, interval, rows

        runs = sorted(data["leaderboard"], key=lambda run: run["place_original"])
        perfect = self.perfect(data)
        names = [*short_names([run["run"] for run in runs]), PERFECT_NAME]
        axes = canvas.axes(3.2, ROW * (len(names) + 0.4))
        rows(axes, names)
        scores = [run[self.qrels] for run in runs]
        drawn = [*scores, perfect] if self.qrels == "preference" else scores
        ends = [end for score in drawn for end in (score["mean"], *(score["t"] or ())) if end is not None]
        limits = [min(1.0, max(0.0, end)) for end in ends]  # an interval over few queries ends where no mean can be
        room = (max(limits) - min(limits)) * 0.04 or 0.01
        axes.set_xlim(min(limits) - room, max(limits) + room)
        if perfect["mean"] is not None and perfect["mean"] <= max(limits):
            axes.axvline(perfect["mean"], color=PERFECT, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
        for row, score in enumerate([*scores, perfect]):
            is_run = row < len(runs)
            colour, marker = (RUN, "o") if is_run else (PERFECT, "D")
            if score["mean"] is None:
                continue
            beside(axes, row, f"{score['mean']:.3f}")
            if score["mean"] > max(limits):
                axes.plot(1, row, ">", transform=axes.get_yaxis_transform(), color=colour, markersize=6, clip_on=False)
                continue
            if score["t"] is not None and None not in score["t"]:
                interval(axes, row, score["t"])
            axes.plot(score["mean"], row, marker, color=colour, markersize=5.5, zorder=2.1)
        axes.set_xlabel(f"Mean RR@{data['k']} on the {self.qrels} qrels, 95% intervals")

    def perfect(self, data: dict[str, Any]) -> dict[str, Any]:
        """Mean and interval of the perfect ranking; a mean of None where there is none."""
        if self.qrels == "original":
            return _PERFECT_ON_ORIGINAL
        score: dict[str, Any] = (data["perfect"] or {}).get("preference") or {"mean": None, "t": None}
        return score


ORIGINAL = Intervals("original")
PREFERENCE = Intervals("preference")

"""The runs by other measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from evaluation.measures.named import read_measures
from evaluation.statistics.measured import Measured, measured_on_both, pair_tests, significant_tests
from evaluation.statistics.resampling import Interval
from evaluation.statistics.significance import Correction
from results.drawing.style import ROW, RUN, counted, mean_and_interval, printable, short_names
from results.inputs import ALPHA
from results.sections.scored import Scored
from results.tables import Column, Table, row_of
from results.writing import correction_name

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas


@dataclass(frozen=True)
class Mean:
    """With its 95% interval by t, over how many queries."""

    mean: float | None
    t: Interval | None
    queries: int


@dataclass(frozen=True)
class Scores:
    """A run by one measure, on both qrels."""

    original: Mean
    preference: Mean


@dataclass(frozen=True)
class Row:
    """A run by every measure, in the order of their names."""

    run: str
    scores: list[Scores]


@dataclass(frozen=True)
class Test:
    """Two runs that follow each other on the original qrels by a measure, compared on the preference qrels. `higher`
    and `lower_on` count the queries on which the upper one has more, or less.
    """

    measure: str
    upper: str
    lower: str
    original_delta: float
    preference_delta: float
    preference_interval: Interval | None
    changed: bool
    higher: int
    lower_on: int
    wsr: float | None
    t: float | None
    significant: bool


@dataclass(frozen=True)
class Measures:
    """Runs in the order of the leaderboard, tests by measure."""

    names: list[str]
    alpha: float
    correction: Correction
    runs: list[Row]
    tests: list[Test]

    @property
    def has_means(self) -> bool:
        """Whether any run has a mean on the preference qrels."""
        return any(score.preference.mean is not None for run in self.runs for score in run.scores)


def compute(scored: Scored) -> Measures | None:
    """What the runs score by the campaign's other measures, and tests of runs that follow each other on the original
    qrels. None without such measures.
    """
    inputs, correction, runs = scored.inputs, scored.correction, scored.runs
    measures = read_measures(inputs.campaign.measures)
    if not measures:
        return None
    both_by_measure = measured_on_both(
        inputs.runs, inputs.qrels, scored.preference, measures, scored.order,
        queries=scored.queries, min_grade=inputs.campaign.min_grade,
    )  # fmt: skip
    rows = [Row(run, []) for run in runs]
    tests: list[Test] = []
    for measure, both in zip(measures, both_by_measure, strict=True):
        by_qrels = [_means(scores) for scores in both]
        for row in rows:
            row.scores.append(Scores(*(means[row.run] for means in by_qrels)))
        if measure.kind != "Judged":
            original_means = both[0].means()
            in_order = sorted(runs, key=lambda run: (-original_means[run], run))
            tests += _measure_tests(str(measure), *both, in_order, correction)
    return Measures([str(measure) for measure in measures], ALPHA, correction, rows, tests)


def _means(scores: Measured) -> dict[str, Mean]:
    means, counts = scores.means(), scores.counted()
    intervals = zip(scores.runs, scores.t_intervals(), strict=True)
    return {run: Mean(means[run], interval, counts[run]) for run, interval in intervals}


def _measure_tests(
    name: str, original: Measured, best: Measured, order: Sequence[str], correction: Correction
) -> list[Test]:
    """Each run against the next one in the order that the original qrels give by the measure."""
    pairs = [(lower, upper) for upper, lower in pairwise(order)]
    before, after = pair_tests(original, pairs), pair_tests(best, pairs)
    _thresholds, winners = significant_tests(after, ALPHA, correction)
    return [
        Test(
            *(name, upper, lower, was.delta, now.delta, now.delta_interval, was.delta > 0 > now.delta),
            *(now.higher, now.lower, now.wsr, now.t, winner["wsr"] is not None),
        )
        for (lower, upper), was, now, winner in zip(pairs, before, after, winners, strict=True)
    ]


def scores_table(part: Measures, queries: int) -> Table:
    columns = [Column("run", _("Run"), "name")]
    rows = [[row.run] for row in part.runs]
    for number, name in enumerate(part.names, 1):
        by_run = [row.scores[number - 1] for row in part.runs]
        for side, key, named in (
            (attrgetter("preference"), "", name),
            (attrgetter("original"), "_before", _("%(measure)s before") % {"measure": name}),
        ):
            columns.append(Column(f"measure{number}{key}", named, "score"))
            interval = _("%(measure)s, 95%% by t") % {"measure": named}
            columns.append(Column(f"measure{number}{key}_t", interval, "interval", folded=True))
            for row, scores in zip(rows, by_run, strict=True):
                row += [side(scores).mean, side(scores).t]
            if name.startswith("Compat"):
                head = _("%(measure)s, queries") % {"measure": named}
                columns.append(Column(f"measure{number}{key}_queries", head, "count"))
                for row, scores in zip(rows, by_run, strict=True):
                    row.append(side(scores).queries)
    about = _(
        "Means over the %(answered)s queries that have preference qrels: on these, and before, on the original qrels. "
        "Passages that the qrels do not name count as not relevant; Judged is the share of a run's first passages that "
        "they name. Where it is small, as with preference qrels, nDCG, P and R say little about the rest of the list. "
        "To choose others, see “Other measures” in the settings of the results."
    ) % {"answered": f"{queries:,}"}
    if any(name.startswith("Compat") for name in part.names):
        about += " " + _("By Compat, the queries are those with a relevant passage that the run has; others count 0.")
    return Table("measures", _("By other measures"), about, columns, rows)


def tests_table(part: Measures) -> Table | None:
    if not part.tests:
        return None
    columns = [
        Column("measure", _("Measure"), "text"),
        Column("upper", _("Above before"), "name"),
        Column("lower", _("Below before"), "name"),
        Column("changed", _("Changed ranks"), "yes"),
        Column("original_delta", _("Apart before"), "change"),
        Column("preference_delta", _("Apart"), "change"),
        Column("preference_interval", _("95%"), "interval"),
        Column("higher", _("Queries higher"), "count"),
        Column("lower_on", _("Queries lower"), "count"),
        Column("wsr", _("p (signed rank)"), "p"),
        Column("t", _("p (t)"), "p"),
        Column("significant", _("Significant"), "yes"),
    ]
    rows = [row_of(row, columns) for row in part.tests]
    about = _(
        "Runs that follow each other on the original qrels by each measure, compared query by query on the preference "
        "qrels."
    )
    more = _(
        "p-values are raw; significant is a signed-rank test below %(alpha)s over the number of neighbours by "
        "that measure (%(correction)s)."
    ) % {"alpha": f"{part.alpha:g}", "correction": correction_name(part.correction)}
    title = _("Neighbours by other measures")
    return Table("measure-tests", title, about, columns, rows, per_run=("upper", "lower"), about_more=more)


MOST = 6  # panels
_WIDTH, _GAP = 1.7, 0.75  # inches


def describe(measures: Measures) -> str:
    """Each measure's best run, with its mean."""
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


def draw(canvas: Canvas, measures: Measures) -> None:
    """A row a run, and a panel a measure, each on a scale of its own."""
    from results.drawing.canvas import beside, interval, rows

    names = short_names([run.run for run in measures.runs])
    height, marks = ROW * (len(names) + 0.4), []
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
            of = counted(score.queries, "query", "queries")
            text = f"{run.run}: {measure} {mean_and_interval(score.mean, score.t)} on {of}"
            marks.append((axes, row, text, run.run))
        axes.locator_params(axis="x", nbins=3)
        axes.set_xlabel(f"Mean {printable(measure)}")
    for axes, row, text, name in marks:  # once all that is in the panels has set how far these go
        canvas.mark(axes, [(end, row) for end in axes.get_xlim()], text, name)

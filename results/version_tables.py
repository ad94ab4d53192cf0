"""The scores of all runs on a version of the preference qrels, as a table beside other qrels."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.utils.translation import gettext as _

from evaluation.measures.named import read_measures
from evaluation.statistics.correlation import kendall_tau
from pools.models import QrelsVersion
from results.inputs import K
from results.models import VersionScore
from results.scoring import Score
from results.tables import Column, Table
from runs.models import Run


class Scores(NamedTuple):
    """`tau` is Kendall's of the two orders, over the runs that both have. `unreadable` are errors by run; `waiting` is
    how many runs the job has not scored yet. `measure` is what the runs are scored by, one of `measures`.
    """

    table: Table
    tau: float | None
    unreadable: Mapping[str, str]
    waiting: int
    measure: str
    measures: Sequence[str]


def version_scores(version: QrelsVersion, beside: QrelsVersion | None, measure: str = "") -> Scores:
    """The stored scores of all runs on a version, beside those on another, or on the original qrels (None), by one of
    the measures that the version's campaign names; by RR@10 if it names no such measure.
    """
    measures = [f"RR@{K}", *(str(each) for each in read_measures(version.campaign.measures) if str(each) != f"RR@{K}")]
    measure = measure if measure in measures else measures[0]
    is_usual = measure == measures[0]
    rows = list(VersionScore.objects.filter(version=version).select_related("run", "version").order_by("run__name"))
    scored = {row.run_id: line for row in rows if (line := _line(row, measure)) is not None}
    others = {run: line.original for run, line in scored.items()} if beside is None else _other(beside, measure)
    ours = {run: line.mean for run, line in scored.items()}
    ranks, other_ranks = _ranks(ours), _ranks(others)
    is_compat = measure.startswith("Compat")
    columns = [
        Column("rank", _("Rank"), "count"),
        Column("run", _("Run"), "name"),
        Column("rr" if is_usual else "score", measure, "score"),
        Column("interval", _("95%, by t"), "interval"),
        *([Column("found", _("Found"), "count")] if is_usual else []),
        *([Column("queries", _("Queries"), "count")] if is_compat else []),
        Column("other_rank", _("Rank, other qrels"), "count"),
        Column("other", _("%(measure)s, other qrels") % {"measure": measure}, "score"),
        Column("change", _("Change"), "change"),
    ]
    lines = []
    for row in sorted((row for row in rows if row.run_id in scored), key=lambda row: ranks[row.run_id]):
        line, other = scored[row.run_id], others.get(row.run_id)
        counts = [row.found] if is_usual else [line.queries] if is_compat else []
        change = None if other is None else line.mean - other
        lines.append(
            [
                *(ranks[row.run_id], row.run.name, line.mean, line.t, *counts),
                *(other_ranks.get(row.run_id), other, change),
            ]
        )
    both = [key for key in ours if key in others]
    return Scores(
        Table("scores", _title(version, beside), _about(version, beside, measure), columns, lines, per_run=("run",)),
        kendall_tau([ours[key] for key in both], [others[key] for key in both]),
        {row.run.name: row.error for row in rows if row.error},
        Run.objects.filter(collection=version.collection_id).count()
        - len(scored)
        - sum(bool(row.error) for row in rows),
        measure,
        measures,
    )


def _line(row: VersionScore, measure: str) -> Score | None:
    """A stored score by a measure; None where there is none yet, or none can be had."""
    if row.rr is None:
        return None
    if measure == f"RR@{K}":
        interval = None if row.low is None or row.high is None else [row.low, row.high]
        return Score(row.rr, interval, row.version.queries, row.original or 0)
    score = row.others.get(measure)
    return None if score is None else Score(**score)


def _other(version: QrelsVersion, measure: str) -> dict[int, float]:
    rows = VersionScore.objects.filter(version=version).select_related("version")
    return {row.run_id: line.mean for row in rows if (line := _line(row, measure)) is not None}


def _ranks(means: Mapping[int, float]) -> dict[int, int]:
    """From 1, the greatest first; those of the same mean share a rank."""
    ascending = sorted(means.values())
    return {key: 1 + len(ascending) - bisect_right(ascending, mean) for key, mean in means.items()}


def _title(version: QrelsVersion, beside: QrelsVersion | None) -> str:
    if beside is None:
        return _("All runs on version %(number)d and on the original qrels") % {"number": version.number}
    return _("All runs on versions %(number)d and %(other)d") % {"number": version.number, "other": beside.number}


def _about(version: QrelsVersion, beside: QrelsVersion | None, measure: str) -> str:
    values = {"measure": measure, "k": K, "number": version.number, "queries": f"{version.queries:,}"}
    if beside is None:
        text = _(
            "Mean %(measure)s over the %(queries)s queries of version %(number)d, on its preference qrels, and on the "
            "original qrels of the same queries (“other qrels”)."
        )
    else:
        text = _(
            "Mean %(measure)s on the preference qrels of version %(number)d, over its %(queries)s queries, and on "
            "those of version %(other)d (“other qrels”), over its %(other_queries)s."
        )
        values |= {"other": beside.number, "other_queries": f"{beside.queries:,}"}
    more = [text, _("The interval is Student's t, over queries.")]
    if measure == f"RR@{K}":
        more.append(_("Found: queries with a best known answer in the top %(k)d."))
    if measure.startswith("Compat"):
        more.append(_("Queries: those with a relevant passage that the run has; others count 0."))
    return " ".join(more) % values

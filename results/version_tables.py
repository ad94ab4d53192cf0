"""The scores of all runs on a version of the preference qrels, as a table beside other qrels."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.utils.translation import gettext as _

from evaluation.statistics.correlation import kendall_tau
from pools.models import QrelsVersion, Run
from results.inputs import K
from results.models import VersionScore
from results.tables import Column, Table


class Scores(NamedTuple):
    """`tau` is Kendall's of the two orders, over the runs that both have. `unreadable` are errors by run; `waiting` is
    how many runs the job has not scored yet.
    """

    table: Table
    tau: float | None
    unreadable: Mapping[str, str]
    waiting: int


def version_scores(version: QrelsVersion, beside: QrelsVersion | None) -> Scores:
    """The stored scores of all runs on a version, beside those on another, or on the original qrels (None)."""
    rows = list(VersionScore.objects.filter(version=version).select_related("run").order_by("run__name"))
    scored = [row for row in rows if row.rr is not None]
    others = _original(scored) if beside is None else _other(beside)
    ours = {row.run_id: float(row.rr or 0) for row in scored}
    ranks, other_ranks = _ranks(ours), _ranks(others)
    columns = [
        Column("rank", _("Rank"), "count"),
        Column("run", _("Run"), "name"),
        Column("rr", _("RR"), "score"),
        Column("interval", _("95%, by t"), "interval"),
        Column("found", _("Found"), "count"),
        Column("other_rank", _("Rank, other qrels"), "count"),
        Column("other", _("RR, other qrels"), "score"),
        Column("change", _("Change"), "change"),
    ]
    lines = []
    for row in sorted(scored, key=lambda row: ranks[row.run_id]):
        mean, other = ours[row.run_id], others.get(row.run_id)
        interval = None if row.low is None else [row.low, row.high]
        change = None if other is None else mean - other
        lines.append(
            [ranks[row.run_id], row.run.name, mean, interval, row.found, other_ranks.get(row.run_id), other, change]
        )
    both = [key for key in ours if key in others]
    return Scores(
        Table("scores", _title(version, beside), _about(version, beside), columns, lines, per_run=("run",)),
        kendall_tau([ours[key] for key in both], [others[key] for key in both]),
        {row.run.name: row.error for row in rows if row.error},
        Run.objects.filter(collection=version.collection_id).count() - len(rows),
    )


def _original(scored: Sequence[VersionScore]) -> dict[int, float]:
    return {row.run_id: float(row.original or 0) for row in scored}


def _other(version: QrelsVersion) -> dict[int, float]:
    rows = VersionScore.objects.filter(version=version).values_list("run", "rr")
    return {run: mean for run, mean in rows if mean is not None}


def _ranks(means: Mapping[int, float]) -> dict[int, int]:
    """From 1, the greatest first; those of the same mean share a rank."""
    ascending = sorted(means.values())
    return {key: 1 + len(ascending) - bisect_right(ascending, mean) for key, mean in means.items()}


def _title(version: QrelsVersion, beside: QrelsVersion | None) -> str:
    if beside is None:
        return _("All runs on version %(number)d and on the original qrels") % {"number": version.number}
    return _("All runs on versions %(number)d and %(other)d") % {"number": version.number, "other": beside.number}


def _about(version: QrelsVersion, beside: QrelsVersion | None) -> str:
    values = {"k": K, "number": version.number, "queries": f"{version.queries:,}"}
    if beside is None:
        text = _(
            "Mean RR@%(k)d over the %(queries)s queries of version %(number)d, on its preference qrels, and on the "
            "original qrels of the same queries (“other qrels”)."
        )
    else:
        text = _(
            "Mean RR@%(k)d on the preference qrels of version %(number)d, over its %(queries)s queries, and on those "
            "of version %(other)d (“other qrels”), over its %(other_queries)s."
        )
        values |= {"other": beside.number, "other_queries": f"{beside.queries:,}"}
    found = _("Found: queries with a best known answer in the top %(k)d. The interval is Student's t, over queries.")
    return f"{text} {found}" % values

"""The tables of the leaderboard."""

from django.utils.translation import gettext as _

from results.sections.leaderboard import Board
from results.tables import Column, Table, row_of
from results.writing import correction_name, perfect_name, rr_name


def runs_table(data: Board) -> Table | None:
    if not (data.leaderboard and data.perfect and data.compare):
        return None
    rr, is_partial = rr_name(data.k), data.compare.queries != data.queries_all
    columns = [
        Column("place_preference", _("Rank"), "count"),
        Column("run", _("Run"), "name"),
        Column("change", _("Change"), "change"),
        Column("preference", rr, "score"),
        Column("original", _("%(rr)s before") % {"rr": rr}, "score"),
        Column("place_original", _("Rank before"), "count"),
        Column("original_all", _("%(rr)s before, all queries") % {"rr": rr}, "score", filed=not is_partial),
        Column("pooled", _("Pooled"), "yes"),
        Column("preference_t", _("95%, by t"), "interval", folded=True),
        Column("original_t", _("95% before, by t"), "interval", folded=True),
        Column("preference_bootstrap", _("95%, bootstrap"), "interval", folded=True),
        Column("original_bootstrap", _("95% before, bootstrap"), "interval", folded=True),
        Column("corrected", _("%(rr)s corrected") % {"rr": rr}, "score"),
        Column("with_judges", _("95%, corrected"), "interval", folded=True),
    ]
    outside = data.outside
    at = next(number for number, column in enumerate(columns) if column.key == "preference_t")
    if outside:
        columns[at:at] = [
            Column("outside", _("Outside score"), "score"),
            Column("outside_rank", _("Outside rank"), "count"),
        ]
    rows = []
    for entry in data.leaderboard:
        after, before = entry.preference, entry.original
        row = [
            *(entry.place_preference, entry.run, after.mean - before.mean, after.mean, before.mean),
            *(entry.place_original, entry.original_all, entry.pooled),
            *(after.t, before.t, after.bootstrap, before.bootstrap),
            *(entry.corrected, entry.with_judges),
        ]
        row[at:at] = [entry.outside, entry.outside_rank] if outside else []
        rows.append(row)
    perfect, certain = data.perfect.preference, [1.0, 1.0]
    foot = [
        None, perfect_name(), perfect.mean - 1, perfect.mean, 1.0, None, 1.0, None,
        perfect.t, certain, perfect.bootstrap, certain, None, None,
    ]  # fmt: skip
    foot[at:at] = [None, None] if outside else []
    about = _(
        "The mean RR@%(k)d of each run over the %(answered)s queries with best known answers, by their preference "
        "qrels and, before, by their original qrels. The perfect ranking puts the original qrel first."
    ) % {"k": data.k, "answered": f"{data.compare.queries:,}"}
    pooled = _("Pooled runs brought the passages that were judged.")
    more = _(
        "Corrected means are what runs would score if nobody had judged wrongly. Intervals are over queries, by "
        "Student's t and by the bootstrap; those of corrected means are over queries and judges."
    )
    if is_partial:
        about += " " + _("The last score before is over all %(all)s queries.") % {"all": f"{data.queries_all:,}"}
        more = f"{pooled} {more}"
    else:
        about += f" {pooled}"
    if outside:
        more += " " + _("The source of the outside scores is: %(source)s.") % {"source": outside.source}
    title = _("The leaderboard, before and after")
    return Table("leaderboard", title, about, columns, rows, foot=[foot], about_more=more)


def neighbours_table(data: Board) -> Table | None:
    if not (data.neighbours and data.significance):
        return None
    rr = rr_name(data.k)
    columns = [
        Column("upper", _("Above before"), "name"),
        Column("lower", _("Below before"), "name"),
        Column("changed", _("Changed ranks"), "yes"),
        Column("original_delta", _("%(rr)s apart before") % {"rr": rr}, "change"),
        Column("preference_delta", _("%(rr)s apart") % {"rr": rr}, "change"),
        Column("preference_interval", _("95%"), "interval"),
        Column("preference_p", _("p (signed rank)"), "p"),
        Column("significant", _("Significant"), "yes"),
    ]
    rows = [row_of(pair, columns) for pair in data.neighbours]
    family = data.significance
    about = _(
        "Runs that follow each other on the original qrels, and how far they are apart there and on the preference "
        "qrels. p-values are raw, from the signed-rank test on %(rr)s on the preference qrels."
    ) % {"rr": rr}
    more = _("Significant is below %(threshold)s: %(alpha)s over %(family)d pairs of neighbours (%(correction)s).") % {
        "threshold": f"{family.threshold:.3g}",
        "alpha": f"{family.alpha:g}",
        "family": family.family,
        "correction": correction_name(family.correction),
    }
    return Table("neighbours", _("Neighbours"), about, columns, rows, about_more=more)

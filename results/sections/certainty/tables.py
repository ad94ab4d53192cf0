"""The tables of how certain ranks and best known answers are."""

from django.utils.translation import gettext as _

from core.percent import in_percent
from results.sections.certainty import Certainty
from results.tables import Column, Table, row_of


def ranks_table(data: Certainty) -> Table | None:
    if not data.ranks:
        return None
    columns = [
        Column("run", _("Run"), "name"),
        Column("low", _("Best rank"), "count"),
        Column("median", _("Median rank"), "count"),
        Column("high", _("Worst rank"), "count"),
        Column("first", _("Probability of being first"), "share"),
    ]
    rows = [row_of(entry, columns) for entry in data.ranks]
    about = _(
        "How certain the ranks are, given that judgments may be wrong and queries could be others. Best "
        "and worst are the ends of the rank's 95% interval."
    ) + _by_rate(data)
    return Table("ranks", _("How certain the ranks are"), about, columns, rows)


def reversed_table(data: Certainty) -> Table | None:
    part = data.reversed
    if not (part and part.conclusions):
        return None
    columns = [
        Column("conclusion", _("Conclusion"), "text"),
        Column("upper", _("Run"), "name"),
        Column("lower", _("Other run"), "name"),
        Column("share", _("Holds"), "share"),
        Column("survives", _("Survives"), "yes"),
    ]
    kinds = {
        "first": _("first on the leaderboard"),
        "order": _("above the next run"),
        "changed": _("now above the run that was next above it"),
    }
    rows = [[kinds[row.kind], row.upper, row.lower, row.share, row.share >= part.survives] for row in part.conclusions]
    about = _(
        "Which conclusions would survive if %(share)s of the judgments were reversed: each judgment is reversed with "
        "this chance, %(draws)s times, and every tournament is played again. A conclusion survives that holds in "
        "%(survives)s of the draws or more. Queries are not resampled here."
    ) % {"share": in_percent(part.share), "draws": f"{part.draws:,}", "survives": in_percent(part.survives)}
    return Table("reversed", _("If some judgments were reversed"), about, columns, rows, per_run=("upper", "lower"))


def stability_table(data: Certainty) -> Table | None:
    if not data.stability:
        return None
    columns = [
        Column("query", _("Query"), "query"),
        Column("best", _("Best known answers"), "text"),
        Column("share", _("P(right)"), "share"),
        Column("fragility", _("Fragility"), "count"),
        Column("survives", _("Survives reversals"), "share"),
        Column("size", _("Size of the set"), "count"),
        Column("set", _("Confidence set"), "text"),
        Column("exact", _("Fragility is exact"), "yes", folded=True),
        Column("chances", _("P(best)"), "text", filed=True),
    ]
    least = sorted(data.stability, key=lambda entry: (entry.share, entry.qid))
    rows = [
        [
            entry.qid, ", ".join(entry.best), entry.share, entry.fragility, entry.survives,
            len(entry.set),
            ", ".join(entry.set), entry.exact,
            ", ".join(f"{row.passage} {row.p:.3f}" for row in entry.passages or ()),
        ]
        for entry in least
    ]  # fmt: skip
    about = _(
        "P(right) is how probable it is that the best passage is one of the best known answers. Fragility is the "
        "fewest judgments whose reversal changes the best known answers; it is empty where no reversal does. They "
        "survive reversals in this share of the draws in which 5% of the judgments are reversed. P(best) is how "
        "probable it is that a passage is the best of its pool (in the files, of every passage), and the confidence "
        "set has the fewest passages whose P(best) adds up to 90%. The least certain come first: if you judge any "
        "again, start with these."
    ) + _by_rate(data)
    return Table("stability", _("How certain the best known answers are"), about, columns, rows)


def _by_rate(data: Certainty) -> str:
    """How often a judgment is wrong, and how that is known."""
    assert data.error_rate is not None and data.error_source
    rate, compared = in_percent(data.error_rate, ".3g"), f"{data.error_compared:,}"
    by_source = {
        "given": _("Each judgment is wrong in %(share)s of the cases, as the settings say."),
        "repeated": _(
            "A judgment is wrong in about %(share)s of the cases, by all judgments together, among them pairs that "
            "were judged several times (%(compared)s comparisons)."
        ),
        "assumed": _(
            "A judgment is wrong in about %(share)s of the cases, if people err as is assumed: too few pairs were "
            "judged several times to know."
        ),
    }
    return " " + by_source[data.error_source] % {"share": rate, "compared": compared}

"""The tables of compared runs."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from core.percent import in_percent
from evaluation.statistics.comparing import Compared, Comparison
from results.sections.compared import Chosen, Comparisons
from results.tables import Column, Table, Value
from results.writing import correction_name, rr_name


def pairs_table(data: Comparisons) -> Table | None:
    compared, original = data.compare, data.compare_original
    if not (compared and original and compared.pairs):
        return None
    rr = rr_name(compared.k)
    columns = [
        Column("a", _("Run a"), "name"),
        Column("b", _("Run b"), "name"),
        Column("verdict", _("Better"), "text"),
        Column("before", _("Better on the original qrels"), "text"),
        Column("rr_a", _("%(rr)s of a") % {"rr": rr}, "score"),
        Column("rr_b", _("%(rr)s of b") % {"rr": rr}, "score"),
        Column("delta", _("b minus a"), "change"),
        Column("delta_interval", _("95%, b minus a"), "interval"),
        Column("wsr", _("p, signed rank"), "p"),
        Column("wrs", _("p, rank sum"), "p"),
        Column("wrs_tie_corrected", _("p, rank sum, ties corrected"), "p"),
        Column("t", _("p, t-test"), "p"),
        Column("outcomes", _("p, only a or only b"), "p"),
        Column("ranking", _("p, ranking"), "p"),
        Column("disagreement", _("ESL and %(rr)s disagree") % {"rr": rr}, "text"),
    ]
    ranking = compared.rank_by.replace("-", "_")
    before = {frozenset((pair.a, pair.b)): pair for pair in original.pairs}
    rows, words = [], _verdict_words()
    for pair in compared.pairs:
        p, means = pair.p, compared.means
        rows.append(
            [
                *(pair.a, pair.b),
                *(_verdict(row, words) for row in (pair, before.get(frozenset((pair.a, pair.b))))),
                *(means[pair.a], means[pair.b], pair.delta, pair.delta_interval),
                *(p.wsr, p.wrs, p.wrs_tie_corrected, p.t),
                *(pair.outcomes.p, getattr(pair.both.p, ranking), _disagreement(pair)),
            ]
        )
    about = _(
        "%(which)s on the preference qrels, over %(queries)d queries, by RR@%(k)d. A verdict takes "
        "p < %(threshold)s as significant: %(alpha)s over %(family)d pairs of runs, those compared here "
        "(%(correction)s). A run is strictly better if it finds significantly more, and ranks significantly better "
        "where both find (%(ranking)s); it is better by doing no harm if it does one of these, at half that level, "
        "and is not significantly worse in the other. If one run finds significantly more and the other ranks "
        "significantly better, that is a trade-off. “Not significantly” means that it finds more, and ranks better on "
        "average. To find more is to find a relevant passage for more queries."
    ) % {
        "which": _which(data.comparisons),
        "correction": correction_name(compared.correction),
        "ranking": rank_by_name(compared),
        "k": compared.k,
        "queries": compared.queries,
        "threshold": f"{compared.threshold:.3g}",
        "alpha": f"{compared.alpha:g}",
        "family": compared.family,
    }
    if compared.thresholds["esl"] != compared.threshold:
        about += " " + _("For the test of ranking, it takes p < %(threshold)s.") % {
            "threshold": f"{compared.thresholds['esl']:.3g}"
        }
    if compared.margin:
        about += " " + _(
            "To do no harm is also shown here: by a one-sided t-test, the run is worse in the other by less than "
            "%(percent)s of the queries, or %(margin)s of %(rr)s."
        ) % {"percent": in_percent(compared.margin), "margin": f"{compared.margin:g}", "rr": rr}
    if short := {run: longest for run, longest in sorted(compared.lists.items()) if longest < compared.k}:
        named = ", ".join(f"{run} ({longest})" for run, longest in short.items())
        about += " " + _("Some runs have lists shorter than %(k)d, and what is below counts as missed: %(named)s.") % {
            "k": compared.k,
            "named": named,
        }
    title, more = _("Pairwise comparison of runs"), _("p-values are raw. ESL is the mean rank where both runs find.")
    return Table("pairs", title, about, columns, rows, per_run=("a", "b"), about_more=more)


def _which(choice: Chosen | None) -> str:
    """The runs that are compared, to begin a sentence."""
    assert choice
    match choice.comparisons:
        case "baseline":
            which = _("Each run with the baseline %(run)s") % {"run": choice.baseline}
        case "chain":
            which = _("Each run with the best of those imported before it")
        case "pairs":
            which = _("The chosen pairs of runs")
        case _other:
            which = _("Every two runs")
    return _("%(which)s, except runs of the same team,") % {"which": which} if choice.teams_apart else which


def rank_by_name(compared: Comparison) -> str:
    """By what a verdict says that a run ranks better, in words."""
    rr = rr_name(compared.k)
    return {
        "esl-wsr": _("by mean search length and the signed-rank test"),
        "esl-t": _("by mean search length and the t-test"),
        "rr-wsr": _("by mean %(rr)s and the signed-rank test") % {"rr": rr},
        "rr-t": _("by mean %(rr)s and the t-test") % {"rr": rr},
    }[compared.rank_by]


def _disagreement(pair: Compared) -> str | None:
    """How ESL and RR differ about who ranks better, where they do."""
    match pair.disagreement:
        case "means":
            return _("each favours the other run")
        case "significance":
            return _("only one is significant")
        case _other:
            return None


def order_table(compared: Comparison) -> Table | None:
    if not compared.is_reordered:
        return None
    rr = rr_name(compared.k)
    columns = [
        Column("rank", _("Rank by verdicts"), "count"),
        Column("run", _("Run"), "name"),
        Column("rank_by_mean", _("Rank by mean"), "count"),
        Column("mean", rr, "score"),
    ]
    by_mean = {run: rank for rank, run in enumerate(compared.order_by_means, 1)}
    rows = [[rank, run, by_mean[run], compared.means[run]] for rank, run in enumerate(compared.order_by_verdicts, 1)]
    about = _(
        "The runs in the order of the verdicts on the preference qrels, which differs from that of mean RR@%(k)d. Next "
        "comes, each time, the run with the highest mean of those that no remaining run beats."
    ) % {"k": compared.k}
    return Table("verdict-order", _("The order by verdicts"), about, columns, rows)


def outcomes_table(data: Comparisons) -> Table | None:
    return _outcomes_on(data, data.compare, "outcomes", _("Who finds it, and how soon"), _("preference qrels"))


def outcomes_before_table(data: Comparisons) -> Table | None:
    title = _("Who finds it, and how soon, on the original qrels")
    return _outcomes_on(data, data.compare_original, "outcomes-original", title, _("original qrels"))


def _outcomes_on(data: Comparisons, compared: Comparison | None, name: str, title: str, qrels: str) -> Table | None:
    if not (compared and compared.pairs):
        return None
    rr = rr_name(compared.k)
    columns = [
        Column("a", _("Run a"), "name"),
        Column("b", _("Run b"), "name"),
        Column("neither", _("Neither finds"), "count"),
        Column("neither_share", _("Neither, share"), "share"),
        Column("a_only", _("Only a"), "count"),
        Column("a_only_share", _("Only a, share"), "share"),
        Column("b_only", _("Only b"), "count"),
        Column("b_only_share", _("Only b, share"), "share"),
        Column("outcomes", _("p, only a or only b"), "p"),
        Column("both", _("Both"), "count"),
        Column("both_share", _("Both, share"), "share"),
        Column("esl_a", _("ESL of a"), "length"),
        Column("esl_b", _("ESL of b"), "length"),
        Column("esl_wsr", _("ESL: p, signed rank"), "p"),
        Column("esl_t", _("ESL: p, t-test"), "p"),
        Column("rr_a", _("%(rr)s of a") % {"rr": rr}, "score"),
        Column("rr_b", _("%(rr)s of b") % {"rr": rr}, "score"),
        Column("rr_wsr", _("%(rr)s: p, signed rank") % {"rr": rr}, "p"),
        Column("rr_t", _("%(rr)s: p, t-test") % {"rr": rr}, "p"),
        Column("disagreement", _("ESL and %(rr)s disagree") % {"rr": rr}, "text"),
    ]
    rows = []
    for pair in compared.pairs:
        outcomes, both = pair.outcomes, pair.both
        row: list[Value] = [pair.a, pair.b]
        for outcome in ("neither", "a_only", "b_only", "both"):
            row += [outcomes.p] if outcome == "both" else []
            row += [getattr(outcomes, outcome), getattr(outcomes, outcome) / compared.queries]
        for measure in ("esl", "rr"):
            row += [getattr(both, f"{measure}_a"), getattr(both, f"{measure}_b")]
            row += [getattr(both.p, f"{measure}_wsr"), getattr(both.p, f"{measure}_t")]
        rows.append([*row, _disagreement(pair)])
    about = _(
        "%(which)s on the %(qrels)s, over %(queries)s queries: which of them finds a relevant passage in its top %(k)d."
    ) % {"which": _which(data.comparisons), "qrels": qrels, "queries": f"{compared.queries:,}", "k": compared.k}
    more = _(
        "Where both find one: how far down (ESL, the mean rank), and with what %(rr)s. p-values are raw: the exact "
        "binomial test of only a against only b, the signed-rank test and the paired t-test."
    ) % {"rr": rr}
    return Table(name, title, about, columns, rows, per_run=("a", "b"), about_more=more)


def _verdict_words() -> dict[str, str]:
    """How verdicts are said: looked up once for a table, which has thousands of them."""
    return {
        "strict": _("%(run)s, strictly"),
        "do_no_harm": _("%(run)s, by doing no harm"),
        "trade_off": _("trade-off"),
        "better": _("%(run)s, not significantly"),
        "identical": _("identical"),
        "neither": _("neither"),
    }


def _verdict(pair: Compared | None, words: Mapping[str, str]) -> str | None:
    """What a comparison of two runs comes to, in words; None where they are not compared."""
    if pair is None:
        return None
    verdict = pair.verdict
    for name in ("strict", "do_no_harm", "trade_off", "better"):
        if winner := getattr(verdict, name):
            return words[name] if name == "trade_off" else words[name] % {"run": getattr(pair, winner)}
    return words["identical" if pair.identical else "neither"]

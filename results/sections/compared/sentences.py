"""What the comparisons of runs come to, in sentences."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from results.sections.compared import Chosen, Comparisons, Named
from results.writing import named_first


def sentences(data: Comparisons) -> Iterator[str]:
    """What the comparisons of two runs come to, all together."""
    compared, choice, verdicts = data.compare, data.comparisons, data.verdicts
    assert compared and choice and verdicts
    if not verdicts.pairs:
        if choice.comparisons != "all" or choice.teams_apart:
            yield _("With these settings of the results, no two runs are compared.")
        return
    yield _(
        "Of %(all)d pairs of runs%(chosen)s, one run is strictly better in %(strict)d (on the original qrels: "
        "%(before)d). Counting those where it is better in one respect and does no harm in the other, it is better in "
        "%(harmless)d."
    ) % {
        "all": verdicts.pairs,
        "chosen": _chosen(choice),
        "strict": verdicts.strict,
        "before": verdicts.strict_before,
        "harmless": verdicts.harmless,
    }
    trades = verdicts.trade_offs
    if trades.count:
        yield ngettext(
            "%(count)d pair is a trade-off, where one run finds significantly more and the other ranks significantly "
            "better: %(named)s.",
            "%(count)d pairs are trade-offs, where one run finds significantly more and the other ranks significantly "
            "better: %(named)s.",
            trades.count,
        ) % {"count": trades.count, "named": _named(trades)}
    if verdicts.only_better:
        yield ngettext(
            "In %(count)d more pair, one run is better, but not significantly: it finds more, and ranks better on "
            "average.",
            "In %(count)d more pairs, one run is better, but not significantly: it finds more, and ranks better on "
            "average.",
            verdicts.only_better,
        ) % {"count": verdicts.only_better}
    opposed = verdicts.means_disagree
    if opposed.count:
        yield ngettext(
            "Over the queries where both runs find a relevant passage, mean search length (ESL) and mean RR@%(k)d "
            "favour different runs in %(count)d pair: %(named)s.",
            "Over the queries where both runs find a relevant passage, mean search length (ESL) and mean RR@%(k)d "
            "favour different runs in %(count)d pairs: %(named)s.",
            opposed.count,
        ) % {"count": opposed.count, "k": compared.k, "named": _named(opposed)}
    halves = verdicts.significance_disagrees
    if halves.count:
        yield ngettext(
            "In %(count)d pair, only one of ESL and RR@%(k)d differs significantly: %(named)s.",
            "In %(count)d pairs, only one of ESL and RR@%(k)d differs significantly: %(named)s.",
            halves.count,
        ) % {"count": halves.count, "k": compared.k, "named": _named(halves)}
    by_mean = {run: rank for rank, run in enumerate(compared.order_by_means, 1)}
    moved = [
        _("%(run)s from %(mean)d to %(rank)d") % {"run": run, "mean": by_mean[run], "rank": rank}
        for rank, run in enumerate(compared.order_by_verdicts, 1)
        if by_mean[run] != rank
    ]
    if moved:
        yield _("The order of the runs by verdicts differs from that by means: %(named)s.") % {
            "named": named_first(moved)
        }


def _chosen(choice: Chosen) -> str:
    """Which pairs of runs are compared, to go on with after "pairs of runs"."""
    match choice.comparisons:
        case "baseline":
            which = _(" (each run with the baseline %(run)s)") % {"run": choice.baseline}
        case "chain":
            which = _(" (each run with the best of those imported before it)")
        case "pairs":
            which = _(" (the chosen ones)")
        case _other:
            which = ""
    return which + (_(" of different teams") if choice.teams_apart else "")


def _named(pairs: Named) -> str:
    named = ", ".join(_("%(a)s and %(b)s") % {"a": pair.a, "b": pair.b} for pair in pairs.first)
    return named + (", …" if pairs.count > len(pairs.first) else "")

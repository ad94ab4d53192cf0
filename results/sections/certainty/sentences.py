"""How certain ranks and best known answers are, in sentences."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from results.sections.certainty import Certainty
from results.sections.leaderboard.sentences import first_runs, is_covered
from results.writing import percent


def sentences(data: Certainty) -> Iterator[str]:
    if data.ranks and len(data.ranks) > 1 and is_covered(data):
        first = max(data.ranks, key=lambda row: row.first)
        yield _(
            "The run that is most likely to be first is %(run)s, with a probability of %(share)s; "
            "its rank is %(low)d to %(high)d with 95%% confidence."
        ) % {"run": first.run, "share": percent(first.first), "low": first.low, "high": first.high}
    if data.resampled and data.resampled.answers and data.error_source != "assumed":
        answers, settled, fragile = (data.resampled.answers, data.resampled.settled, data.resampled.fragile)
        yield ngettext(
            "One passage alone is the best answer of %(count)s query of %(all)s with a probability of 90%% or more.",
            "One passage alone is the best answer of %(count)s queries of %(all)s with a probability of 90%% or more.",
            settled,
        ) % {"count": f"{settled:,}", "all": f"{answers:,}"}
        if fragile and data.overlap > 1:  # with one judgment a pair, one decides nearly always
            yield ngettext(
                "Reversing a single judgment would change the best known answers of %(count)s query.",
                "Reversing a single judgment would change the best known answers of %(count)s queries.",
                fragile,
            ) % {"count": f"{fragile:,}"}
    if data.reversed:
        yield from _reversed(data)


def _reversed(data: Certainty) -> Iterator[str]:
    """What would survive if some judgments were reversed."""
    part = data.reversed
    assert part
    rows, share = part.conclusions, percent(part.share)
    first = next((row for row in rows if row.kind == "first"), None)
    if first is not None and is_covered(data) and first_runs(data, "preference") == [first.upper]:
        yield _(
            "If %(share)s of the judgments were reversed, %(run)s would still be first in %(holds)s of the cases."
        ) % {"share": share, "run": first.upper, "holds": percent(first.share)}
    orders = [row for row in rows if row.kind == "order"]
    if orders:
        stable = sum(row.share >= part.survives for row in orders)
        yield ngettext(
            "Of the %(all)s pair of neighbours on the leaderboard, the order of %(kept)s would survive that.",
            "Of the %(all)s pairs of neighbours on the leaderboard, the order of %(kept)s would survive that.",
            len(orders),
        ) % {"kept": f"{stable:,}", "all": f"{len(orders):,}"}
    if part.answers:
        yield ngettext(
            "The best known answers of %(kept)s query of %(all)s would survive it.",
            "The best known answers of %(kept)s queries of %(all)s would survive it.",
            part.answers_survive,
        ) % {"kept": f"{part.answers_survive:,}", "all": f"{part.answers:,}"}

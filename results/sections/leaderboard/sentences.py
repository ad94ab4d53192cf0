"""What the leaderboard says, in sentences."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from results.sections.leaderboard import Board, Pairing
from results.writing import named_first, percent

# Of the queries, how many must have best known answers before a run is called first.
LEAST_COVERAGE = 0.5


def field_sentences(data: Board) -> Iterator[str]:
    """Whether the runs beat the original qrels."""
    assert data.compare and data.perfect and data.pairings
    compared = data.compare.queries
    yield ngettext(
        "In %(changed)s of %(answered)s query, no original qrel is among the best known answers.",
        "In %(changed)s of %(answered)s queries, no original qrel is among the best known answers.",
        compared,
    ) % {"changed": f"{data.changed:,}", "answered": f"{compared:,}"}
    won, lost = data.pairings.preference, data.pairings.original
    if won.share is not None and lost.share is not None:
        yield _(
            "The preference qrels won %(won)s of their judgments (%(won_count)s); the original qrels won "
            "%(lost)s (%(lost_count)s)."
        ) % {"won": percent(won.share), "won_count": _of(won), "lost": percent(lost.share), "lost_count": _of(lost)}
    perfect, best = data.perfect.preference.mean, data.leaderboard[0].preference.mean
    above = [row.run for row in data.leaderboard if row.preference.mean > perfect]
    scores = {"perfect": f"{perfect:.4f}", "best": named_first(first_runs(data, "preference")), "score": f"{best:.4f}"}
    if above:
        yield ngettext(
            "A ranking that returns the original qrel first would score %(perfect)s on the preference qrels: "
            "%(count)d run scores higher: %(best)s (%(score)s).",
            "A ranking that returns the original qrel first would score %(perfect)s on the preference qrels: "
            "%(count)d runs score higher, at most %(score)s (%(best)s).",
            len(above),
        ) % {**scores, "count": len(above)}
    else:
        yield (
            _(
                "A ranking that returns the original qrel first would score %(perfect)s on the preference qrels, and "
                "no run scores higher; the highest score is %(score)s (%(best)s)."
            )
            % scores
        )


def _of(pairing: Pairing) -> str:
    return _("%(won)s of %(of)s") % {"won": f"{pairing.won:,.0f}", "of": f"{pairing.of:,}"}


def is_covered(data: Board) -> bool:
    """Whether enough queries have best known answers for a run to be called first."""
    return data.answered >= LEAST_COVERAGE * data.queries


def coverage(data: Board) -> str:
    """How many of the queries scores are about."""
    counts = {"answered": f"{data.answered:,}", "queries": f"{data.queries:,}"}
    if data.answered < data.queries:
        return _("%(answered)s of %(queries)s queries so far") % counts
    return _("all %(queries)s queries") % counts


def first_runs(data: Board, qrels: str) -> list[str]:
    """The runs at rank 1 on the `original` or the `preference` qrels: several where they tie."""
    return [row.run for row in data.leaderboard if getattr(row, f"place_{qrels}") == 1]

"""What became of the leaderboard, in sentences: who is first, and how surely."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from results.sections.certainty import Certainty
from results.sections.leaderboard import Board, Outside
from results.sections.leaderboard.sentences import LEAST_COVERAGE, coverage, first_runs, is_covered
from results.writing import MOST_NAMED, named_first, percent


def change_sentences(data: Certainty) -> Iterator[str]:
    rows = data.leaderboard
    if len(rows) < 2:
        return
    if not is_covered(data):
        yield _(
            "There are best known answers for %(coverage)s. No run is called first until %(least)s of the queries have "
            "them."
        ) % {"coverage": coverage(data), "least": percent(LEAST_COVERAGE)}
        return
    yield _leader(data)
    moved = [row for row in rows if row.place_original != row.place_preference]
    if moved:
        furthest = sorted(moved, key=lambda row: (-abs(row.rise), row.place_preference))[:MOST_NAMED]
        named = ", ".join(
            _("%(run)s from %(before)d to %(after)d")
            % {"run": row.run, "before": row.place_original, "after": row.place_preference}
            for row in furthest
        )
        yield ngettext(
            "%(count)d of %(all)d runs changed its rank: %(named)s.",
            "%(count)d of %(all)d runs changed their ranks, most of all %(named)s.",
            len(moved),
        ) % {"count": len(moved), "all": len(rows), "named": named}
    else:
        yield _("All %(all)d runs keep their ranks.") % {"all": len(rows)}
    if data.tau is not None:
        yield _(
            "The rank correlation of the two orders is %(tau).2f by Kendall's tau and %(ap).2f by tau "
            "AP, which gives more weight to the top."
        ) % {"tau": data.tau, "ap": data.tau_ap}
    if data.tau_all is not None and data.queries_all and data.compare and data.queries_all > data.compare.queries:
        yield _(
            "On the original qrels, the order of the runs over all %(all)s queries and that over the %(judged)s "
            "queries scored here have a Kendall's tau of %(tau).2f."
        ) % {"all": f"{data.queries_all:,}", "judged": f"{data.compare.queries:,}", "tau": data.tau_all}
    if data.outside is not None:
        yield from _outside(data.outside)
    yield from _swaps(data)


def _leader(data: Certainty) -> str:
    """Which run is first, or which runs tie, over how many queries and how surely, and which was first before."""
    now, before = first_runs(data, "preference"), first_runs(data, "original")
    row = {row.run: row for row in data.leaderboard}
    if len(now) == 1 and before == now:
        return _("%(run)s is first on both qrels (%(evidence)s).") % {
            "run": now[0],
            "evidence": _evidence(data, now[0]),
        }
    if len(now) == len(before) == 1:
        return _(
            "%(run)s is now first (%(evidence)s); it was at rank %(place)d before. %(before)s was first and is now at "
            "rank %(now)d."
        ) % {
            "run": now[0],
            "evidence": _evidence(data, now[0]),
            "place": row[now[0]].place_original,
            "before": before[0],
            "now": row[before[0]].place_preference,
        }
    if len(now) == 1:
        text = _("%(run)s is now first (%(evidence)s).") % {"run": now[0], "evidence": _evidence(data, now[0])}
    else:
        text = _("%(count)s runs tie for first (%(coverage)s): %(runs)s.") % {
            "count": f"{len(now):,}",
            "coverage": coverage(data),
            "runs": named_first(now),
        }
    if set(before) == set(now):
        return _("%(text)s They tie for first on the original qrels, too.") % {"text": text}
    if len(before) == 1:
        return _("%(text)s On the original qrels, %(run)s is first.") % {"text": text, "run": before[0]}
    return _("%(text)s On the original qrels, %(count)s runs tie for first: %(runs)s.") % {
        "text": text,
        "count": f"{len(before):,}",
        "runs": named_first(before),
    }


def _evidence(data: Certainty, run: str) -> str:
    """The queries that a winner is first on, and how probable it is that it really is."""
    share = next((row.first for row in data.ranks or () if row.run == run), None)
    pooled, queries = sum(row.pooled for row in data.leaderboard), coverage(data)
    if pooled < len(data.leaderboard):
        queries = _("%(coverage)s; only %(pooled)d of the %(all)d runs were pooled, which favours those") % {
            "coverage": queries,
            "pooled": pooled,
            "all": len(data.leaderboard),
        }
    if share is None:
        return queries
    return _("%(coverage)s; the probability that it really is first is %(share)s") % {
        "coverage": queries,
        "share": percent(share),
    }


def _outside(outside: Outside) -> Iterator[str]:
    """How far the order of the runs elsewhere is that here."""
    tau = outside.tau
    values = {"all_queries": tau.all_queries, "original": tau.original, "preference": tau.preference}
    words = {name: _("not defined") if value is None else f"{value:.2f}" for name, value in values.items()}
    yield ngettext(
        "%(runs)s run has an outside score (%(source)s), so there is no order to compare.",
        "%(runs)s runs have outside scores (%(source)s). The rank correlation of their order there, by Kendall's tau, "
        "is %(original)s with the order on the original qrels (%(all_queries)s over all queries) and %(preference)s "
        "with that on the preference qrels.",
        tau.runs,
    ) % {"runs": f"{tau.runs:,}", "source": outside.source, **words}


def _swaps(data: Board) -> Iterator[str]:
    swapped = [pair for pair in data.neighbours if pair.changed]
    clear = [pair for pair in swapped if pair.significant]
    if not swapped:
        yield _("No two neighbours on the original leaderboard changed ranks.")
        return
    text = ngettext(
        "%(count)d of %(all)d pairs of neighbours on the original leaderboard changed ranks",
        "%(count)d of %(all)d pairs of neighbours on the original leaderboard changed ranks",
        len(swapped),
    ) % {"count": len(swapped), "all": len(data.neighbours)}
    if clear:
        named = ", ".join(_("%(lower)s above %(upper)s") % pair._asdict() for pair in clear[:MOST_NAMED])
        yield _("%(told)s; significant in %(clear)d of them: %(named)s.") % {
            "told": text,
            "clear": len(clear),
            "named": named,
        }
    else:
        yield _("%(told)s; in none of them is the difference significant.") % {"told": text}

"""What the results say, in sentences, and what they do not say."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from django.contrib.humanize.templatetags.humanize import apnumber
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.statistics.agreement import FEW
from evaluation.statistics.consistency import TOP
from pools.models import Campaign
from results.computing import ALPHA
from results.sections.champion import Category
from results.sections.compared import Chosen, Named
from results.sections.leaderboard import Outside, Pairing
from results.sections.whole import Results
from results.sections.wins import Wins
from results.writing import p_shown

# With fewer queries, differences of the usual size do not show.
FEW_QUERIES = 50
# Seconds. With a lower median, workers hardly read.
QUICK = 3.0
MOST_NAMED = 4
# Of the queries, how many must have best known answers before a run is called first.
LEAST_COVERAGE = 0.5


class Finding(NamedTuple):
    """A question, and what the results say to it."""

    name: str
    question: str
    sentences: list[str]


def findings(data: Results) -> list[Finding]:
    """Every question that the results have something to say to, in the order in which they are read."""
    parts: tuple[tuple[str, str, Callable[[Results], Iterator[str]]], ...]
    if data.champion is not None:
        parts = (
            ("champion", _("Does the run beat the qrels?"), _champion),
            ("crowd", _("How good are the judgments?"), _crowd),
            ("limits", _("What this does not say"), _champion_limits),
        )
    elif data.challengers is not None:
        parts = (
            ("challenge", _("Do the challengers beat the best known answers?"), _challengers),
            ("crowd", _("How good are the judgments?"), _crowd),
            ("limits", _("What this does not say"), _challengers_limits),
        )
    else:
        parts = (
            ("field", _("Does the field beat the qrels?"), _field),
            ("changes", _("What changed on the leaderboard?"), _changes),
            ("certainty", _("How certain is that?"), _certainty),
            ("crowd", _("How good are the judgments?"), _crowd),
            ("limits", _("What this does not say"), _limits),
        )
    answers = (Finding(name, question, list(tell(data))) for name, question, tell in parts)
    return [finding for finding in answers if finding.sentences]


def headline(data: Results) -> str:
    """Which run is first, if that can be said: one of the sentences above. Empty without a leaderboard."""
    return next(_changes(data), "")


def percent(share: float) -> str:
    """A share in percent, with a decimal where it matters."""
    value = 100 * share
    text = f"{value:.0f}" if value in (0, 100) or 1 <= value <= 99 else f"{min(max(value, 0.1), 99.9):.1f}"
    return _("%(percent)s\N{NO-BREAK SPACE}%%") % {"percent": text}


def _field(data: Results) -> Iterator[str]:
    if data.pairings is None:
        return
    assert data.compare and data.perfect and data.wins
    yield _answers(data)
    if data.twins:
        yield ngettext(
            "%(count)s more id in the collection has the text of one of these answers: it counts and is exported too.",
            "%(count)s more ids in the collection have the text of one of these answers: they count and are exported "
            "too.",
            data.twins,
        ) % {"count": f"{data.twins:,}"}
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
        ) % {
            "won": percent(won.share),
            "won_count": _of(won),
            "lost": percent(lost.share),
            "lost_count": _of(lost),
        }
    perfect, best = data.perfect.preference.mean, data.leaderboard[0].preference.mean
    above = [row.run for row in data.leaderboard if row.preference.mean > perfect]
    scores = {"perfect": f"{perfect:.4f}", "best": _list(_first(data, "preference")), "score": f"{best:.4f}"}
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
    yield _beating_perfect(data.wins)
    agreed = [row for row in data.order_agreement if row.both and row.pooled]
    if agreed:
        most = max(agreed, key=lambda row: (row.share or 0, row.both))
        assert most.share is not None and most.interval is not None
        yield _(
            "Of the pooled runs, %(run)s agrees most often with people about the order of passages: in %(share)s of "
            "the judged pairs with both passages in its top %(top)d (%(alike)s of %(both)s; 95 %% interval %(low)s to "
            "%(high)s)."
        ) % {
            "run": most.run,
            "share": percent(most.share),
            "top": TOP,
            "alike": f"{most.alike:,}",
            "both": f"{most.both:,}",
            "low": percent(most.interval[0]),
            "high": percent(most.interval[1]),
        }


def _answers(data: Results) -> str:
    """How many preference qrels there are, and for how many queries there is one, or a deadlock of several."""
    qrels, count = data.preference_qrels, data.answered
    queries = ngettext("%(count)s query", "%(count)s queries", count) % {"count": f"{count:,}"}
    answers = ngettext(
        "There is %(qrels)s preference qrel for %(queries)s",
        "There are %(qrels)s preference qrels for %(queries)s",
        qrels,
    ) % {"qrels": f"{qrels:,}", "queries": queries}
    sizes = sorted(data.best.items())
    (least, first), *rest = sizes
    if sizes == [(1, count)]:
        return f"{answers}." if count == 1 else _("%(answers)s, one each.") % {"answers": answers}
    parts = [
        ngettext("%(size)s for %(count)s query", "%(size)s for %(count)s queries", first)
        % {"size": apnumber(least), "count": f"{first:,}"}
    ]
    parts += [_("%(size)s for %(count)s") % {"size": apnumber(size), "count": f"{count:,}"} for size, count in rest]
    text = _("%(answers)s: %(parts)s") % {"answers": answers, "parts": ", ".join(parts)}
    if sizes[-1][0] > 1:
        return _("%(text)s, where a deadlock left several equally good.") % {"text": text}
    return f"{text}."


def _beating_perfect(wins: Wins) -> str:
    """How many runs significantly beat the ranking that returns the original qrel first, by their top passages."""
    perfect = len(wins.names) - 1
    beating = [
        name
        for number, name in enumerate(wins.names[:perfect])
        if wins.won[number][perfect] > wins.won[perfect][number] and wins.is_significant(number, perfect)
    ]
    if not beating:
        return _("By their top passages, no run significantly beats the perfect ranking.")
    return ngettext(
        "By its top passages, %(count)d run significantly beats the perfect ranking: %(named)s.",
        "By their top passages, %(count)d runs significantly beat the perfect ranking: %(named)s.",
        len(beating),
    ) % {"count": len(beating), "named": _list(beating)}


def _list(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")


def _of(pairing: Pairing) -> str:
    return _("%(won)s of %(of)s") % {"won": f"{pairing.won:,.0f}", "of": f"{pairing.of:,}"}


def _champion(data: Results) -> Iterator[str]:
    champion = data.champion
    assert champion
    a, b = champion.a, champion.b
    if champion.qrel == Campaign.ChampionQrel.EACH:
        text = _(
            "Each qrel of a query was compared. Of the %(all)s judged comparisons, %(a)s are about a qrel that %(run)s "
            "returns first (category A), and %(b)s about one that it does not return first (category B)."
        )
    else:
        text = _(
            "%(run)s returns the qrel first in %(a)s of the %(all)s judged queries (category A), and another passage "
            "in %(b)s (category B)."
        )
    yield text % {
        "run": champion.run,
        "a": f"{a.queries:,}",
        "b": f"{b.queries:,}",
        "all": f"{a.queries + b.queries:,}",
    }
    if champion.qrel == Campaign.ChampionQrel.HIGHEST:
        yield _("Of a query's qrels, the one that the run ranks highest was compared.")
    if b.share is not None and b.p is not None:
        if b.p >= ALPHA:
            verdict = _("that is not significantly different from one half")
        elif b.share > 0.5:
            verdict = _("there, the run is better than a ranking that returns the qrel first")
        else:
            verdict = _("there, a ranking that returns the qrel first is better than the run")
        yield _("In category B, people preferred the run's passage to the qrel in %(often)s; %(verdict)s.") % {
            "often": _how_often(b),
            "verdict": verdict,
        }
    if a.share is not None:
        yield _(
            "In category A, people preferred the run's second passage to the qrel in %(often)s. If the qrel is the "
            "best answer there, that is how often people make mistakes."
        ) % {"often": _how_often(a)}


def _challengers(data: Results) -> Iterator[str]:
    part = data.challengers
    assert part
    outcomes = part.outcomes
    yield _(
        "The runs bring %(challengers)s new passages to %(queries)s of the %(answered)s queries of version "
        "%(version)d; for the others, every passage that they rank first had been considered before."
    ) % {
        "challengers": f"{part.challengers:,}",
        "queries": f"{part.queries:,}",
        "answered": f"{part.answered:,}",
        "version": part.version,
    }
    if outcomes.won or outcomes.tied or outcomes.lost:
        yield _(
            "Of the challengers, %(won)s replaced a best known answer, %(tied)s tied with the best known answers, and "
            "%(lost)s lost."
        ) % {"won": f"{outcomes.won:,}", "tied": f"{outcomes.tied:,}", "lost": f"{outcomes.lost:,}"}
        yield ngettext(
            "The best known answers changed for %(changed)s query, and were confirmed for %(unchanged)s.",
            "The best known answers changed for %(changed)s queries, and were confirmed for %(unchanged)s.",
            part.changed,
        ) % {"changed": f"{part.changed:,}", "unchanged": f"{part.unchanged:,}"}
    if outcomes.open:
        yield ngettext(
            "%(count)s challenger needs another round: another campaign of challengers, to judge %(pairs)s more pairs.",
            "%(count)s challengers need another round: another campaign of challengers, to judge %(pairs)s more pairs.",
            outcomes.open,
        ) % {"count": f"{outcomes.open:,}", "pairs": f"{part.missing:,}"}


def _challengers_limits(data: Results) -> Iterator[str]:
    assert data.challengers
    waiting = data.challengers.outcomes.waiting
    if waiting:
        yield ngettext(
            "%(count)s challenger still needs judgments.", "%(count)s challengers still need judgments.", waiting
        ) % {"count": f"{waiting:,}"}
    yield _(
        "Challengers are compared with the best known answers, not with the passages that these have beaten. The runs "
        "are scored on the new best known answers once these are added as a version."
    )


def _how_often(category: Category) -> str:
    assert category.interval and category.share is not None and category.p is not None
    low, high = category.interval
    decided = category.for_qrel + category.against
    return ngettext(
        "%(share)s of %(decided)s decided comparison (95 %% interval %(low)s to %(high)s, p = %(p)s)",
        "%(share)s of %(decided)s decided comparisons (95 %% interval %(low)s to %(high)s, p = %(p)s)",
        decided,
    ) % {
        "share": percent(category.share),
        "decided": f"{decided:,}",
        "low": percent(low),
        "high": percent(high),
        "p": p_shown(category.p),
    }


def _champion_limits(data: Results) -> Iterator[str]:
    assert data.champion
    unjudged = data.champion.unjudged
    if unjudged:
        yield ngettext(
            "%(count)s comparison still needs judgments and is not counted.",
            "%(count)s comparisons still need judgments and are not counted.",
            unjudged,
        ) % {"count": f"{unjudged:,}"}
    yield _(
        "A champion check compares one run with the qrels. It gives no best known answers, and says nothing about "
        "other runs."
    )


def _changes(data: Results) -> Iterator[str]:
    rows = data.leaderboard
    if len(rows) < 2:
        return
    if not _is_covered(data):
        yield _(
            "There are best known answers for %(coverage)s. No run is called first until %(least)s of the queries have "
            "them."
        ) % {"coverage": _coverage(data), "least": percent(LEAST_COVERAGE)}
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
        ) % {
            "tau": data.tau,
            "ap": data.tau_ap,
        }
    if data.tau_all is not None and data.queries_all and data.compare and data.queries_all > data.compare.queries:
        yield _(
            "On the original qrels, the order of the runs over all %(all)s queries and that over the %(judged)s "
            "queries scored here have a Kendall's tau of %(tau).2f."
        ) % {
            "all": f"{data.queries_all:,}",
            "judged": f"{data.compare.queries:,}",
            "tau": data.tau_all,
        }
    if data.outside is not None:
        yield from _outside(data.outside)
    yield from _swaps(data)


def _is_covered(data: Results) -> bool:
    """Whether enough queries have best known answers for a run to be called first."""
    return data.answered >= LEAST_COVERAGE * data.queries


def _coverage(data: Results) -> str:
    """How many of the queries scores are about."""
    counts = {"answered": f"{data.answered:,}", "queries": f"{data.queries:,}"}
    if data.answered < data.queries:
        return _("%(answered)s of %(queries)s queries so far") % counts
    return _("all %(queries)s queries") % counts


def _first(data: Results, qrels: str) -> list[str]:
    """The runs at rank 1 on the `original` or the `preference` qrels: several where they tie."""
    return [row.run for row in data.leaderboard if getattr(row, f"place_{qrels}") == 1]


def _leader(data: Results) -> str:
    """Which run is first, or which runs tie, over how many queries and how surely, and which was first before."""
    now, before = _first(data, "preference"), _first(data, "original")
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
            "coverage": _coverage(data),
            "runs": _list(now),
        }
    if set(before) == set(now):
        return _("%(text)s They tie for first on the original qrels, too.") % {"text": text}
    if len(before) == 1:
        return _("%(text)s On the original qrels, %(run)s is first.") % {"text": text, "run": before[0]}
    return _("%(text)s On the original qrels, %(count)s runs tie for first: %(runs)s.") % {
        "text": text,
        "count": f"{len(before):,}",
        "runs": _list(before),
    }


def _evidence(data: Results, run: str) -> str:
    """The queries that a winner is first on, and how probable it is that it truly is."""
    share = next((row.first for row in data.ranks or () if row.run == run), None)
    pooled, coverage = sum(row.pooled for row in data.leaderboard), _coverage(data)
    if pooled < len(data.leaderboard):
        coverage = _("%(coverage)s; only %(pooled)d of the %(all)d runs were pooled, which favours those") % {
            "coverage": coverage,
            "pooled": pooled,
            "all": len(data.leaderboard),
        }
    if share is None:
        return coverage
    return _("%(coverage)s; truly first with a probability of %(share)s") % {
        "coverage": coverage,
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


def _swaps(data: Results) -> Iterator[str]:
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


def _certainty(data: Results) -> Iterator[str]:
    if data.ranks and len(data.ranks) > 1 and _is_covered(data):
        first = max(data.ranks, key=lambda row: row.first)
        yield _(
            "The run that is likeliest to be truly first is %(run)s, with a probability of %(share)s; "
            "its rank is %(low)d to %(high)d with 95 %% confidence."
        ) % {"run": first.run, "share": percent(first.first), "low": first.low, "high": first.high}
    if data.compare:
        yield from _verdicts(data)
    if data.resampled and data.resampled.answers and data.error_source != "assumed":
        answers, settled, fragile = (data.resampled.answers, data.resampled.settled, data.resampled.fragile)
        yield ngettext(
            "One passage alone is the best answer of %(count)s query of %(all)s with a probability of 90 %% or more.",
            "One passage alone is the best answer of %(count)s queries of %(all)s with a probability of 90 %% or more.",
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


def _reversed(data: Results) -> Iterator[str]:
    """What would survive if some judgments were reversed."""
    part = data.reversed
    assert part
    rows, share = part.conclusions, percent(part.share)
    first = next((row for row in rows if row.kind == "first"), None)
    if first is not None and _is_covered(data) and _first(data, "preference") == [first.upper]:
        yield _(
            "If %(share)s of the judgments were reversed, %(run)s would still be first in %(holds)s of the cases."
        ) % {
            "share": share,
            "run": first.upper,
            "holds": percent(first.share),
        }
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


def _verdicts(data: Results) -> Iterator[str]:
    """What the comparisons of two runs come to, all together."""
    compared, choice, verdicts = data.compare, data.comparisons, data.verdicts
    assert compared and choice and verdicts
    if not verdicts.pairs:
        if choice.comparisons != "all" or choice.teams_apart:
            yield _("With these settings of the results, no two runs are compared.")
        return
    yield _(
        "Of %(all)d pairs of runs%(chosen)s, one run is strictly better in %(strict)d (on the original qrels: "
        "%(before)d), and better by doing no harm in %(harmless)d (including these)."
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
            "named": ", ".join(moved[:MOST_NAMED]) + (", …" if len(moved) > MOST_NAMED else "")
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


def _crowd(data: Results) -> Iterator[str]:
    quality, agreement = data.quality, data.agreement
    if quality.tests:
        yield _("%(passed)s of %(tests)s test pairs were passed (%(share)s).") % {
            "passed": f"{quality.tests_passed:,}",
            "tests": f"{quality.tests:,}",
            "share": percent(quality.tests_passed / quality.tests),
        }
    if quality.left_share is not None and quality.left_p is not None:
        yield _("The left side was preferred in %(share)s of the judgments that count (p = %(p)s for one half).") % {
            "share": percent(quality.left_share),
            "p": p_shown(quality.left_p),
        }
    if quality.seconds_median is not None:
        yield _("The median time for a comparison was %(seconds).1f seconds.") % {"seconds": quality.seconds_median}
    if agreement is not None and agreement.raw is not None:
        alpha = "–" if agreement.alpha is None else f"{agreement.alpha:.2f}"
        yield ngettext(
            "On the %(pairs)s pair that several workers judged, two workers agree in %(share)s of the "
            "cases (Krippendorff's alpha %(alpha)s).",
            "On the %(pairs)s pairs that several workers judged, two workers agree in %(share)s of the "
            "cases (Krippendorff's alpha %(alpha)s).",
            agreement.pairs,
        ) % {"share": percent(agreement.raw), "pairs": f"{agreement.pairs:,}", "alpha": alpha}
    if data.adjudicated:
        yield ngettext(
            "%(count)s pair whose judgments disagreed was adjudicated by a person. It counts as decided; agreement and "
            "certainty are about the workers' judgments alone.",
            "%(count)s pairs whose judgments disagreed were adjudicated by a person. They count as decided; agreement "
            "and certainty are about the workers' judgments alone.",
            data.adjudicated,
        ) % {"count": f"{data.adjudicated:,}"}
    if data.weighed:
        yield ngettext(
            "%(count)s pair whose judgments disagreed counts as those say that weigh more, by how far each worker can "
            "be relied on. Agreement and certainty are about the judgments as they were made.",
            "%(count)s pairs whose judgments disagreed count as those say that weigh more, by how far each worker can "
            "be relied on. Agreement and certainty are about the judgments as they were made.",
            data.weighed,
        ) % {"count": f"{data.weighed:,}"}
    triples = data.triples
    if triples and triples.triples:
        yield ngettext(
            "%(cycles)s of %(all)s triple of passages (%(share)s) is intransitive: people preferred a to b, b to c, "
            "and c to a.",
            "%(cycles)s of %(all)s triples of passages (%(share)s) are intransitive: people preferred a to b, b to c, "
            "and c to a.",
            triples.triples,
        ) % {
            "cycles": f"{triples.intransitive:,}",
            "all": f"{triples.triples:,}",
            "share": percent(triples.intransitive / triples.triples),
        }


def _held_back(data: Results) -> Iterator[str]:
    if data.held_back:
        text = (
            ngettext(
                "%(count)s query is left out here, in the qrels and in every score: a passage that won it came only "
                "from a run that is not for release.",
                "%(count)s queries are left out here, in the qrels and in every score: passages that won them came "
                "only from runs that are not for release.",
                data.held_back,
            )
            if data.is_release
            else ngettext(
                "The report, the exports and the tables’ files are without %(count)s query, since a passage that won "
                "it came only from a run that is not for release. Their scores differ from those on this page for "
                "that.",
                "The report, the exports and the tables’ files are without %(count)s queries, since passages that won "
                "them came only from runs that are not for release. Their scores differ from those on this page for "
                "that.",
                data.held_back,
            )
        )
        yield text % {"count": f"{data.held_back:,}"}
    if data.held_back_runs and data.wins:
        text = (
            _("The tables of preferred passages rest on the exported judgments, without %(names)s: not for release.")
            if data.is_release
            else _("In the report, the tables of preferred passages are without %(names)s: not for release.")
        )
        yield text % {"names": ", ".join(data.held_back_runs)}


def _limits(data: Results) -> Iterator[str]:
    yield from _held_back(data)
    if data.incomplete:
        yield ngettext(
            "%(count)s of %(all)s queries still needs judgments and is left out of every score.",
            "%(count)s of %(all)s queries still need judgments and are left out of every score.",
            data.incomplete,
        ) % {"count": f"{data.incomplete:,}", "all": f"{data.queries:,}"}
    if data.design == "rounds":
        yield _(
            "The pools were judged in rounds: who loses early meets few others, and may be better than it looks. For "
            "how certain answers and ranks are, pairs that nobody was asked about are drawn by the strengths of their "
            "passages; how fragile answers are is about judgments of their finals."
        )
    if data.sampled_from is not None:
        yield _(
            "The queries are a random sample: %(count)s of the %(all)s that had a pool of two or more when it was "
            "drawn. It leaves out queries on which all pooled runs and the qrel agree, so scores on it are not scores "
            "on all queries."
        ) % {"count": f"{data.queries:,}", "all": f"{data.sampled_from:,}"}
    if data.answered < FEW_QUERIES:
        yield _(
            "There are only %(answered)s queries. With so few, differences of the usual size do not "
            "show: if a test finds none, that is no evidence that there is none."
        ) % {"answered": f"{data.answered:,}"}
    scored = sum(not row.pooled for row in data.leaderboard)
    if scored:
        yield ngettext(
            "%(count)d run was not pooled, and is only scored: what only it ranks first was never judged.",
            "%(count)d runs were not pooled, and are only scored: what only they rank first was never judged.",
            scored,
        ) % {"count": scored}
    if data.unreadable:
        yield _("Runs of the collection that are not scored, because their files are missing: %(names)s.") % {
            "names": ", ".join(data.unreadable)
        }
    if data.comparisons and data.comparisons.missing:
        yield _("Runs that the settings name for comparison, but that are not scored: %(names)s.") % {
            "names": ", ".join(data.comparisons.missing)
        }
    yield _(
        "A best known answer is the best of the passages that the pooled runs ranked first%(and_qrel)s. A "
        "run that brings other passages is at a disadvantage until they are judged too."
    ) % {"and_qrel": _(" and of the original qrels") if data.qrel_policy != "none" else ""}
    changed = [contribution for contribution in data.contributions if contribution.place_without != contribution.place]
    if changed:
        named = ", ".join(contribution.run for contribution in changed[:MOST_NAMED])
        yield ngettext(
            "The rank of %(named)s depends on passages that only this run brought.",
            "The ranks of %(count)d runs depend on passages that only the run itself brought: %(named)s.",
            len(changed),
        ) % {"count": len(changed), "named": named + (", …" if len(changed) > MOST_NAMED else "")}
    rate = percent(data.error_rate or 0)
    if data.error_source == "assumed" and data.judgments:
        yield _(
            "How certain the answers are cannot be known from these judgments, since too few pairs were judged several "
            "times. It is assumed that %(share)s of the judgments are wrong, by how well those of different pairs fit "
            "together. To know it, have %(pairs)d pairs judged a second time."
        ) % {"share": rate, "pairs": FEW}
    elif data.error_source == "repeated":
        yield _(
            "One judgment is wrong in about %(share)s of the cases. This, and how certain answers and ranks are, "
            "follows from all judgments together, and above all from pairs that were judged several times."
        ) % {"share": rate}
    elif data.error_source == "given":
        yield _(
            "How certain answers and ranks are is computed as if one judgment were wrong in %(share)s of the cases, "
            "independently of the others, as the settings of the results say."
        ) % {"share": rate}
    if data.quality.seconds_median is not None and data.quality.seconds_median < QUICK:
        yield _(
            "The median time for a comparison was less than %(seconds)d seconds, which is hardly enough time to read."
        ) % {"seconds": QUICK}

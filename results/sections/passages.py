"""What runs brought into the pools, and whether they order passages as people do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.qrels import Policy
from evaluation.judging.tournament import Method
from evaluation.statistics.consistency import TOP, Triples, intransitive_triples, order_agreement
from evaluation.statistics.contributions import contributions
from evaluation.statistics.resampling import Interval
from results.sections.counts import Counts
from results.sections.scored import Scored
from results.tables import Column, Table, row_of
from results.writing import percent, rr_name


@dataclass(frozen=True)
class Contribution:
    """A run with and without the passages that it alone ranked first: `own` of them, of which `won` are answers."""

    run: str
    preference: float
    without_own: float
    change: float
    own: int
    won: int
    place: int
    place_without: int


@dataclass(frozen=True)
class Agreed:
    """As `evaluation.statistics.consistency.OrderAgreement`, and whether the run was pooled."""

    run: str
    judged: int
    both: int
    alike: int
    share: float | None
    interval: Interval | None
    pooled: bool


@dataclass(frozen=True, kw_only=True)
class Passages(Counts):
    """In the order of the leaderboard."""

    contributions: list[Contribution] = field(default_factory=list)
    order_agreement: list[Agreed] = field(default_factory=list)
    triples: Triples | None = None


def compute(counts: Counts, scored: Scored) -> Passages:
    inputs = scored.inputs
    tops = {run: inputs.top(run, TOP) for run in scored.present}
    return Passages(
        **vars(counts),
        contributions=_contributions(scored),
        order_agreement=[
            Agreed(*agreed, pooled=agreed.run in inputs.pooled) for agreed in order_agreement(tops, scored.leaving)
        ],
        triples=intransitive_triples(inputs.judged()),
    )


def _contributions(scored: Scored) -> list[Contribution]:
    """None of rounds: without a run, these would have asked other pairs, and nobody knows what would have won."""
    inputs, campaign = scored.inputs, scored.inputs.campaign
    if campaign.pairing.is_staged:
        return []
    brought = {run: inputs.top(run, campaign.depth) for run in scored.runs if run in inputs.pooled}
    rows = contributions(
        scored.board, brought, scored.qrels_once, scored.people.pools, scored.people.judgments,
        method=cast(Method, campaign.method), policy=cast(Policy, campaign.qrel_policy), min_grade=campaign.min_grade,
    )  # fmt: skip
    return [
        Contribution(
            *(row.run, row.mean, row.mean_without, row.mean_without - row.mean),
            *(row.own, row.won, row.place, row.place_without),
        )
        for row in sorted(rows, key=lambda row: scored.runs.index(row.run))
    ]


def order_table(data: Passages) -> Table | None:
    if not data.order_agreement:
        return None
    columns = [
        Column("run", _("Run"), "name"),
        Column("both", _("Judged pairs in its top %(top)d") % {"top": TOP}, "count"),
        Column("alike", _("Ordered as people did"), "count"),
        Column("share", _("Share"), "share"),
        Column("interval", _("95%"), "shares"),
        Column("pooled", _("Pooled"), "yes"),
    ]
    agreed = sorted(data.order_agreement, key=lambda row: not row.pooled)
    rows = [row_of(row, columns) for row in agreed]
    about = _(
        "How often runs order passages as people do: of the %(judged)s decided pairs, how many have both passages in "
        "the run's top %(top)d, and how many of these the run orders as people did. If a pair was judged several "
        "times, the majority counts. Of a run that was not pooled, these are only pairs of passages that others "
        "brought: no fair sample, so it is last here. Intervals are exact."
    ) % {"judged": f"{agreed[0].judged:,}", "top": TOP}
    return Table("order-agreement", _("Who orders passages as people do"), about, columns, rows)


def contributions_table(data: Passages) -> Table | None:
    if not data.contributions:
        return None
    rr = rr_name(data.k)
    columns = [
        Column("run", _("Run"), "name"),
        Column("own", _("Passages that only it brought"), "count"),
        Column("won", _("Best known answers among them"), "count"),
        Column("preference", rr, "score"),
        Column("without_own", _("%(rr)s without them") % {"rr": rr}, "score"),
        Column("change", _("Change"), "change"),
        Column("place", _("Rank"), "count"),
        Column("place_without", _("Rank without them"), "count"),
    ]
    rows = [row_of(entry, columns) for entry in data.contributions]
    about = _(
        "Does a run owe its rank to what it brought into the pools? The preference qrels are derived "
        "again without the passages that only this run ranked first."
    )
    return Table("contributions", _("What each run brought"), about, columns, rows)


def sentences(data: Passages) -> Iterator[str]:
    """Which run agrees most often with people."""
    agreed = [row for row in data.order_agreement if row.both and row.pooled]
    if agreed:
        most = max(agreed, key=lambda row: (row.share or 0, row.both))
        assert most.share is not None and most.interval is not None
        yield _(
            "Of the pooled runs, %(run)s agrees most often with people about the order of passages: in %(share)s of "
            "the judged pairs with both passages in its top %(top)d (%(alike)s of %(both)s; 95%% interval %(low)s to "
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


def triple_sentences(triples: Triples | None) -> Iterator[str]:
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

"""How many judgments you need: what more of them cost, and what they give, by simulation."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.judging.designs.champion_check import ChampionCheck
from evaluation.judging.planning import plan
from evaluation.statistics.agreement import ASSUMED, FEW, error_rate
from evaluation.statistics.resampling import share_interval
from platforms.money.bills import Bill, campaign_bill
from platforms.terms import publication_likely
from pools import selectors as pool_selectors
from pools.models import Campaign
from pools.reuse import reused_pairs
from results import selectors as result_selectors
from results.sections.champion import Champion
from results.sections.whole import Results

OVERLAPS = (1, 3, 5)
# The share of right judgments by pure chance.
WORST = 0.5
# The newest champion checks of a collection in which an error rate is looked for.
CHECKS = 5
# Simulated for each number of judgments, over all pools, so that an answer takes well below a second.
TOURNAMENTS = 10_000


class PlanForm(forms.Form):
    """The share of wrong judgments to plan for, in percent."""

    error_rate = forms.DecimalField(
        label=gettext_lazy("Wrong judgments, in percent"),
        min_value=Decimal(0),
        max_value=Decimal(100 * WORST),
        decimal_places=1,
    )


class Observed(NamedTuple):
    """A share of wrong judgments that the results speak of, at most one half, and where it comes from: of so many
    comparisons, with its exact 95% interval, in which comparisons count as independent of each other.
    """

    rate: float
    low: float
    high: float
    compared: int
    source: str


def observed_error(campaign: Campaign) -> Observed | None:
    """What is known of errors: from the campaign's own results, else from a champion check of its collection.

    None where neither says anything.
    """
    data = result_selectors.stored_data(campaign)
    return (_own_error(data) if data else None) or _error_of_champion_check(campaign)


def likely_error(observed: Observed | None) -> float:
    """The share of wrong judgments to plan for, unless somebody says another."""
    return observed.rate if observed and is_enough(observed) else ASSUMED


def is_enough(observed: Observed) -> bool:
    """Whether what was observed rests on enough comparisons to plan by."""
    return observed.compared >= FEW


def _error_of_champion_check(campaign: Campaign) -> Observed | None:
    checks = Campaign.objects.filter(
        collection=campaign.collection_id, lab=campaign.lab_id, design=ChampionCheck.name, overlap=1
    ).order_by("-id")
    for check in checks[:CHECKS]:
        data = result_selectors.stored_data(check)
        source = _("the champion check “%(name)s”") % {"name": check.name}
        if data and data.champion and (observed := _of_champion(data.champion, source)):
            return observed
    return None


def _of_champion(champion: Champion, source: str) -> Observed | None:
    """How often people preferred another passage where run and qrels agree; None if in more than half: then the qrels
    are wrong, and not the people.
    """
    agreeing, rate = champion.a, champion.crowd_error
    if rate is None or rate > WORST or agreeing.interval is None:
        return None
    low, high = agreeing.interval
    return Observed(rate, low, min(WORST, high), agreeing.for_qrel + agreeing.against, source)


def _own_error(data: Results) -> Observed | None:
    """What the campaign's own champion check, or the agreement of its workers, says."""
    champion, agreement = data.champion, data.agreement
    # With several judgments a pair, the check speaks of their majority, which errs less than one of them.
    if data.overlap == 1 and champion is not None:
        return _of_champion(champion, _("the champion check, where the run and the qrels agree"))
    rate = error_rate(agreement.raw) if agreement is not None and agreement.raw is not None else None
    if rate is None or agreement is None or agreement.raw is None:
        return None
    compared = agreement.compared
    alike = round(agreement.raw * compared)
    interval = share_interval(alike, compared - alike)
    assert interval is not None  # some were compared
    least, most = error_rate(interval.high), error_rate(interval.low)
    source = _("how far workers agree on the pairs that several judged")
    return Observed(rate, least or 0.0, WORST if most is None else most, compared, source)


class Row(NamedTuple):
    """So many judgments a pair: the bill, and the shares of queries that come out right.

    `same`: the best known answers are exactly the true one. `included`: the true one is among them.
    """

    overlap: int
    judgments: int
    bill: Bill
    same: float
    included: float


class Planned(NamedTuple):
    """The rows, over how many pools, played how often each."""

    rows: Sequence[Row]
    pools: int
    draws: int


def plan_for(campaign: Campaign, data: Results | None, error_rate: float) -> Planned | None:
    """The campaign's pools judged by a crowd that errs so often; None where it has no pools. Seeded by the campaign.

    `data` are its results, where there are any: they have the pools' sizes already.
    """
    histogram = data.pool_sizes if data else pool_selectors.stored_sizes(campaign).histogram.items()
    sizes = [size for size, count in histogram for _pool in range(count)]
    if not sizes:
        return None
    draws = max(1, TOURNAMENTS // len(sizes))
    prices = plan(
        sizes,
        error_rate,
        dollars_per_assignment=campaign.reward,
        overlaps=OVERLAPS,
        pairs_per_hit=campaign.pairs_per_hit,
        draws=draws,
        seed=campaign.seed % (1 << 63),
    )
    likely = publication_likely(campaign)
    rows = []
    for price in prices:
        pairs = campaign.pair_count - reused_pairs(campaign, overlap=price.overlap)
        bill = campaign_bill(likely, pairs=pairs, overlap=price.overlap)
        rows.append(Row(price.overlap, pairs * price.overlap, bill, price.same, price.kept))
    return Planned(rows, len(sizes), draws)

"""What campaigns cost, many at a time, and all together. Amounts are in whole cents of a campaign's currency."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Q, QuerySet, Sum
from django.utils.translation import gettext as _

from core.lists import Lines, no_formula
from core.money import CURRENCIES
from platforms.models import PUBLISHED_TO, Payment, Publication
from platforms.money.bills import campaign_bill
from platforms.money.pay_desk import sums_by_payer
from platforms.registry import SANDBOXES
from platforms.terms import publication_by_link
from pools.models import Campaign

ZERO = Decimal("0.00")
BATCH = 2_000  # campaigns at a time
COLUMNS = "campaign lab collection state platform expected owed paid bonuses fees outstanding currency".split()


class Amounts(NamedTuple):
    """What is `expected` is the total of the bill. `owed` is for all work so far, rewards and bonuses, paid or not.

    `paid` is what the platform has paid of it, with compensations, and what the lab has paid itself; `outstanding` is
    the rest of it. `bonuses` is how much of what the platform paid were bonuses, and `fees` are its fees on that.
    """

    expected: Decimal = ZERO
    owed: Decimal = ZERO
    paid: Decimal = ZERO
    bonuses: Decimal = ZERO
    fees: Decimal = ZERO
    outstanding: Decimal = ZERO

    @property
    def columns(self) -> tuple[Decimal, ...]:
        """In the order in which pages show them: what is paid, what is not, and fees add up to the total so far."""
        so_far = self.owed + self.fees
        return self.paid, self.outstanding, self.fees, so_far, self.expected, self.owed, self.bonuses

    def plus(self, other: "Amounts") -> "Amounts":
        return Amounts(*(mine + its for mine, its in zip(self, other, strict=True)))


class Cost(NamedTuple):
    """A campaign, the platform that it is at (empty for none), and what it costs."""

    campaign: Campaign
    platform: str
    amounts: Amounts

    @property
    def currency(self) -> str:
        return self.campaign.currency

    @property
    def platform_name(self) -> str:
        return name_of_platform(self.platform)


class PlatformCosts(NamedTuple):
    """The campaigns at one platform that pay in one currency: how many, and what they cost together."""

    name: str
    campaigns: int
    amounts: Amounts
    currency: str


def name_of_platform(platform: str) -> str:
    """A platform in words; campaigns at none reach people by a link or a panel."""
    return str(PUBLISHED_TO[platform]) if platform else _("Link or panel")


def started_campaigns(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Those that have started. What a draft would cost changes with what it could reuse, and is on its page."""
    return campaigns.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING])


def campaign_costs(campaigns: Iterable[Campaign]) -> Iterator[Cost]:
    """What each of some campaigns that have started costs, in their order."""
    batch: list[Campaign] = []
    for campaign in campaigns:
        batch.append(campaign)
        if len(batch) == BATCH:
            yield from _costs(batch)
            batch = []
    yield from _costs(batch)


def _costs(campaigns: Sequence[Campaign]) -> Iterator[Cost]:
    if not campaigns:
        return
    keys = [campaign.pk for campaign in campaigns]
    publications = {
        publication.campaign_id: publication for publication in Publication.objects.filter(campaign__in=keys)
    }
    paid = _paid(keys)
    for campaign in campaigns:
        stored = publications.get(campaign.pk)
        if stored:
            stored.campaign = campaign
        publication = stored or publication_by_link(campaign)
        expected = campaign_bill(publication).total
        yield Cost(campaign, stored.platform if stored else "", paid[campaign.pk]._replace(expected=expected))


def _paid(keys: Sequence[int]) -> defaultdict[int, Amounts]:
    amounts: defaultdict[int, Amounts] = defaultdict(Amounts)
    for campaign, payers in sums_by_payer(keys).items():
        for sums in payers:
            amounts[campaign] = amounts[campaign].plus(Amounts(owed=sums.owed, paid=sums.paid, outstanding=sums.to_pay))
    paid = Payment.objects.filter(publication__campaign__in=keys, state=Payment.State.PAID).order_by()
    is_bonus = Q(purpose__in=Payment.BONUSES)
    for campaign, bonuses, fees in paid.values_list("publication__campaign").annotate(
        bonuses=Sum("amount", filter=is_bonus, default=ZERO), fees=Sum("fee")
    ):
        amounts[campaign] = amounts[campaign].plus(Amounts(bonuses=bonuses, fees=fees))
    return amounts


def costs_by_platform(campaigns: QuerySet[Campaign]) -> list[PlatformCosts]:
    """What campaigns cost together at each platform, and last, if there are several, at all that pay money: in each
    currency by itself, as nothing here is converted.
    """
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    sums: defaultdict[tuple[str, str], Amounts] = defaultdict(Amounts)
    for cost in campaign_costs(campaigns.iterator(chunk_size=BATCH)):
        key = cost.currency, cost.platform
        counts[key] += 1
        sums[key] = sums[key].plus(cost.amounts)
    rows: list[PlatformCosts] = []
    for currency in CURRENCIES:
        platforms = [platform for platform in (*PUBLISHED_TO, "") if (currency, platform) in counts]
        for platform in platforms:
            key = currency, platform
            rows.append(PlatformCosts(name_of_platform(platform), counts[key], sums[key], currency))
        real = [platform for platform in platforms if platform not in SANDBOXES]
        if len(platforms) > 1:
            total = Amounts()
            for platform in real:
                total = total.plus(sums[currency, platform])
            name = _("Total") if len(real) == len(platforms) else _("Total, without the sandbox's play money")
            rows.append(PlatformCosts(name, sum(counts[currency, platform] for platform in real), total, currency))
    return rows


def cost_lines(campaigns: QuerySet[Campaign]) -> Iterator[str]:
    """What campaigns cost as lines of CSV: the head, then a campaign each.

    A text that a spreadsheet would take for a formula is preceded by an apostrophe.
    """
    writer = csv.writer(Lines(), lineterminator="\n")
    yield writer.writerow(COLUMNS)
    for campaign, platform, amounts in campaign_costs(campaigns.iterator(chunk_size=BATCH)):
        names = [no_formula(name) for name in (campaign.name, campaign.lab.name, campaign.collection.name)]
        yield writer.writerow([*names, campaign.state, platform, *amounts, campaign.currency])

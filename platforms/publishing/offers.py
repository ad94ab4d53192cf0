"""What a campaign would cost, and how long its work would take, on each platform."""

from copy import copy
from decimal import Decimal
from typing import NamedTuple

from django.utils.translation import gettext as _

from platforms.models import Publication
from platforms.money.bills import Bill, campaign_bill
from platforms.registry import adapter_named, adapter_of, platforms_of
from platforms.terms import publication_likely, publication_unsaved
from pools.models import Campaign
from pools.reuse import reused_pairs
from tasks.selectors import Pace

LINK = "link"


class Offer(NamedTuple):
    """What a campaign would cost where its workers come from one platform, or by a link. Without its own fee rate."""

    platform: str
    name: str
    fees: str
    total: Decimal
    currency: str
    is_chosen: bool


def work_hours(bill: Bill, pace: Pace | None) -> Decimal | None:
    """Hours that the assignments of a bill take, work done again included."""
    if pace is None:
        return None
    return (Decimal((bill.assignments + bill.redone) * pace.minutes) / 60).quantize(Decimal("0.1"))


def offers_of(campaign: Campaign, pairs: int | None = None) -> list[Offer]:
    """What so many pairs cost (or those of a stored campaign) at each platform, and by a link."""
    pairs = campaign.pair_count - reused_pairs(campaign) if pairs is None else pairs
    stored = _publication(campaign)
    chosen = stored.platform if stored.pk else ""
    offers = []
    for platform, name in platforms_of(campaign.lab_id).items():
        at = copy(campaign)
        at.fee_rate = None
        publication = publication_unsaved(at)
        publication.platform, publication.pay = platform, adapter_named(platform).pay_at_first()
        if platform == chosen:
            publication.pay, publication.base = stored.pay, stored.base
        bill, currency = campaign_bill(publication, pairs=pairs), adapter_of(publication).currency
        offers.append(Offer(platform, str(name), bill.fees_detail, bill.total, currency, platform == chosen))
    by_link = copy(campaign)
    by_link.fee_rate = Decimal(0)
    bill = campaign_bill(publication_unsaved(by_link), pairs=pairs)
    return [*offers, Offer(LINK, _("a link or a panel"), _("no fees"), bill.total, campaign.currency, False)]


def _publication(campaign: Campaign) -> Publication:
    return publication_likely(campaign) if campaign.pk else publication_unsaved(campaign)

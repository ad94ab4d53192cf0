"""What settings lead to, before anything is stored: pools, pairs, HITs, cost at each platform, hours, and pay an hour.

One calculation, two uses: the draft's own page shows the same numbers once the settings are stored.
"""

from collections.abc import Sequence
from copy import copy
from decimal import Decimal
from typing import NamedTuple

from django.utils.translation import gettext as _

from evaluation.judging.recognition import ShownItem
from platforms.bills import Bill, campaign_bill
from platforms.models import Publication
from platforms.publishing import publication_likely, publication_unsaved
from platforms.registry import adapter_named, adapter_of, platforms_of
from pools import selectors as pool_selectors
from pools.drafting import Preview, pools_preview
from pools.models import Campaign, Run
from pools.reuse import reused_pairs
from tasks.selectors import PACE_HITS, Pace, expected_pace

LINK = "link"


class Offer(NamedTuple):
    """What a campaign would cost where its workers come from one platform, or by a link. Without its own fee rate."""

    platform: str
    name: str
    fees: str
    total: Decimal
    currency: str
    is_chosen: bool


class Consequences(NamedTuple):
    """What settings lead to. `hours` are those of all assignments, work done again included; None without texts."""

    preview: Preview
    bill: Bill
    pace: Pace | None
    offers: list[Offer]

    @property
    def asked(self) -> int:
        """Pairs that somebody is asked about."""
        return self.preview.pairs - self.preview.reused

    @property
    def hours(self) -> Decimal | None:
        return work_hours(self.bill, self.pace)


def work_hours(bill: Bill, pace: Pace | None) -> Decimal | None:
    """Hours that the assignments of a bill take, work done again included."""
    if pace is None:
        return None
    return (Decimal((bill.assignments + bill.redone) * pace.minutes) / 60).quantize(Decimal("0.1"))


def consequences_of(campaign: Campaign, runs: Sequence[Run]) -> Consequences:
    """Count what a campaign and runs would lead to that need not be stored, or not in this way.

    Raises Refused if settings and runs do not fit each other.
    """
    preview = pools_preview(campaign, runs)
    pairs = preview.pairs - preview.reused
    pace = expected_pace(campaign, pairs=_texts(campaign, preview))
    bill = campaign_bill(_publication(campaign), pairs=pairs)
    return Consequences(preview, bill, pace, offers_of(campaign, pairs))


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


def _texts(campaign: Campaign, preview: Preview) -> list[ShownItem]:
    """The texts of the first pairs."""
    pairs = preview.first[: PACE_HITS * campaign.pairs_per_hit]
    qids, pids = {pair.query for pair in pairs}, {pid for pair in pairs for pid in pair[1:]}
    queries, passages = pool_selectors.texts_of(campaign.collection, qids=qids, pids=pids)
    return [ShownItem(queries.get(qid, ""), passages.get(a, ""), passages.get(b, "")) for qid, a, b in pairs]

"""What settings lead to, before anything is stored: pools, pairs, HITs, cost at each platform, hours, and pay an hour.

One calculation, two uses: the draft's own page shows the same numbers once the settings are stored.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from campaigns.drafting import Preview, pools_preview
from evaluation.judging.recognition import ShownItem
from platforms.money.bills import Bill, campaign_bill
from platforms.publishing.offers import Offer, _publication, offers_of, work_hours
from pools.models import Campaign
from runs import selectors as run_selectors
from runs.models import Run
from tasks.selectors import PACE_HITS, Pace, expected_pace


class Consequences(NamedTuple):
    """What settings lead to. `hours` are those of all assignments, work done again included; None without texts.
    `is_repeated` says whether several people judge each pair, or some of them, which shows how often they err.
    """

    preview: Preview
    bill: Bill
    pace: Pace | None
    offers: list[Offer]
    is_repeated: bool

    @property
    def asked(self) -> int:
        """Pairs that somebody is asked about."""
        return self.preview.pairs - self.preview.reused

    @property
    def hours(self) -> Decimal | None:
        return work_hours(self.bill, self.pace)


def consequences_of(campaign: Campaign, runs: Sequence[Run]) -> Consequences:
    """Count what a campaign and runs would lead to that need not be stored, or not in this way.

    Raises Refused if settings and runs do not fit each other.
    """
    preview = pools_preview(campaign, runs)
    pairs = preview.pairs - preview.reused
    pace = expected_pace(campaign, pairs=_texts(campaign, preview))
    bill = campaign_bill(_publication(campaign), pairs=pairs)
    is_repeated = campaign.overlap > 1 or campaign.repeated_hits(bill.hits) > 0
    return Consequences(preview, bill, pace, offers_of(campaign, pairs), is_repeated)


def _texts(campaign: Campaign, preview: Preview) -> list[ShownItem]:
    """The texts of the first pairs."""
    pairs = preview.first[: PACE_HITS * campaign.pairs_per_hit]
    qids, pids = {pair.query for pair in pairs}, {pid for pair in pairs for pid in pair[1:]}
    queries, passages = run_selectors.texts_of(campaign.collection, qids=qids, pids=pids)
    return [ShownItem(queries.get(qid, ""), passages.get(a, ""), passages.get(b, "")) for qid, a, b in pairs]

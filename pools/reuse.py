"""What a campaign reuses of earlier judgments, for those who count, price and pack its pairs.

Judgments are known only further up: `judgments.reusing` registers itself here when Django starts.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from django.utils.translation import gettext as _

from core.errors import Refused
from evaluation.files.preferences import Pair, Preference
from pools.models import Campaign
from runs.models import Collection, Query


class Reusing(Protocol):
    """Where reused judgments come from."""

    def reusable_pairs(self, campaign: Campaign, *, overlap: int, afresh: bool = False) -> int:
        """How many of a campaign's pairs have all their judgments already, by its settings: counted now if `afresh`,
        else lately.
        """

    def reusable_among(self, campaign: Campaign, pairs: Sequence[Pair]) -> int:
        """The same of pairs by id, which need not be stored, nor the campaign."""

    def reuse_fix(self, *, campaign: Campaign) -> int:
        """Store what is reused, for good, and mark those pairs. How many pairs. The caller holds the transaction."""

    def known_preferences(self, campaign: Campaign, query: Query | None) -> list[Preference]:
        """What was judged before a campaign of challengers (or on one query), as far as it counts there."""

    def campaign_with(self, collection: Collection, judged: Counter[Preference]) -> Campaign | None:
        """The campaign of a collection that has these judgments already, with `a` and `b` in canonical order."""


_registered: list[Reusing] = []


def register(reusing: Reusing) -> None:
    """Name the place. Naming it again is not an error."""
    _registered[:] = [reusing]


def reused_pairs(campaign: Campaign, *, overlap: int | None = None, afresh: bool = False) -> int:
    """How many pairs nobody is asked about, or would be by another `overlap`: fixed when the campaign is packed, until
    then an estimate for pages and prices. What is decided by it is counted `afresh`.
    """
    overlap = overlap or campaign.overlap
    if campaign.state not in (Campaign.State.DRAFT, Campaign.State.PACKING) and overlap == campaign.overlap:
        return campaign.reused_pair_count
    return _registered[0].reusable_pairs(campaign, overlap=overlap, afresh=afresh)


def reused_among(campaign: Campaign, pairs: Sequence[Pair]) -> int:
    """How many of some pairs, by id, nobody would be asked about by a campaign's settings. Neither need be stored."""
    return _registered[0].reusable_among(campaign, pairs)


def reuse_fix(*, campaign: Campaign) -> int:
    """Store what a campaign reuses, for good. How many pairs. The caller holds the transaction."""
    campaign.reused_pair_count = _registered[0].reuse_fix(campaign=campaign)
    campaign.save(update_fields=["reused_pair_count"])
    return campaign.reused_pair_count


def refuse_own(collection: Collection, judged: Counter[Preference]) -> None:
    """Raise Refused if judgments from a file, with `a` and `b` in canonical order, are those of a campaign of the
    collection: they would count twice.
    """
    if campaign := _registered[0].campaign_with(collection, judged):
        text = _(
            "These judgments are those of the campaign %(name)s of this collection. They count already, and other "
            "campaigns may reuse them, so they were not stored again."
        )
        raise Refused(text % {"name": campaign.name})


def known_preferences(campaign: Campaign, query: Query | None = None) -> list[Preference]:
    """What was judged before a campaign of challengers (or on one query), as far as it counts there."""
    return _registered[0].known_preferences(campaign, query)

"""What pages about campaigns share."""

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from core.http import Request
from core.lists import Listing
from core.roles import Right, right_of
from pools import lists as pool_lists
from pools import selectors as pool_selectors
from pools.models import Campaign


def campaign_of(request: Request, pk: int, right: Right | None = None) -> Campaign:
    """The campaign, if the user has the right that the address needs, or another. Raises NotYours and NotAllowed."""
    return pool_selectors.campaign_for(request.user, pk, right or right_of(request))


def campaign_crumbs(campaign: Campaign) -> list[tuple[str, str]]:
    """The way to a page of a campaign, as text and address."""
    return [
        (_("Campaigns"), reverse("campaigns:campaigns")),
        (campaign.name, reverse("campaigns:campaign", args=[campaign.pk])),
    ]


def campaign_listing(request: Request, campaigns: QuerySet[Campaign], key: str = "") -> Listing:
    return Listing(
        request,
        campaigns,
        sorts=pool_lists.CAMPAIGN_SORTS,
        narrow=pool_lists.CampaignFilter,
        key=key,
        columns=pool_lists.CAMPAIGN_COLUMNS,
        lines=pool_selectors.campaign_rows,
    )

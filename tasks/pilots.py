"""Pilots: a few HITs first, spread over the campaign; the rest is held back until somebody launches it.

A HIT that is held back needs no work: `needed` is 0, and every query that looks for work passes it over as it is.
"""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from core.errors import NotNow
from pools import services as pool_services
from pools.models import Campaign
from tasks.models import Hit

LIVE = (Campaign.State.OPEN, Campaign.State.PAUSED)  # in which the rest of a pilot can be launched


def spread(numbers: Sequence[int], most: int | None) -> frozenset[int]:
    """At most so many of some numbers, spread evenly over them, and always the same ones. All of them for None."""
    if most is None or most >= len(numbers):
        return frozenset(numbers)
    return frozenset(numbers[place * len(numbers) // most] for place in range(most))


def held_back(campaign: Campaign) -> int:
    """How many HITs of a campaign wait for its pilot to end."""
    return Hit.objects.filter(campaign=campaign, is_held=True).count()


@transaction.atomic
def rest_launch(*, campaign: Campaign) -> int:
    """End a campaign's pilot: the HITs that were held back need work from now on. How many; none if that was done.

    Raises NotNow unless the campaign is open or paused.
    """
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    if campaign.state not in LIVE:
        raise NotNow(_("This cannot be done now, because the campaign is “%(state)s”.") % {"state": campaign.state})
    launched = Hit.objects.filter(campaign=campaign, is_held=True).update(
        is_held=False, needed=Coalesce("wanted", Value(campaign.overlap))
    )
    if launched:
        pool_services.campaign_reopen(campaign_id=campaign.pk)
    return launched

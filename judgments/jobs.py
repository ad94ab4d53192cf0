"""What runs in the background: checking confirmed work, and making export files."""

import time

from celery import shared_task
from django.utils import timezone
from django.utils.translation import gettext as _

from judgments import refreshing, stored_files
from judgments import services as judgment_services
from pools.models import Campaign
from tasks import campaign_alarms

SECONDS = 40.0  # for which one job makes files before other jobs get their turn


@shared_task
def check() -> str:
    """Check work that its platform has confirmed since. Safe to run many at once, and to be killed."""
    return f"checked: {judgment_services.confirmed_check_all(at=timezone.now())}"


@shared_task
def make_exports(campaign_id: int | None = None) -> str:
    """Make the export files of a campaign anew, or of those that changed since; delete those that were replaced.

    Safe to run many at once, and to be killed.
    """
    kind, at, ends = campaign_alarms.Kind.EXPORTS, timezone.now(), time.monotonic() + SECONDS
    if campaign_id is None:
        campaigns = refreshing.candidates(at=at).exclude(pk__in=campaign_alarms.resting(kind=kind, at=at))
    else:
        campaigns = Campaign.objects.filter(pk=campaign_id).exclude(
            state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]
        )
    exports = 0
    for campaign in campaigns.select_related("collection"):
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_failed):
            exports += refreshing.export_refresh(campaign=campaign, anew=campaign_id is not None)
        if time.monotonic() > ends:
            break
    stored_files.replaced_delete(at=at)
    return f"exports made: {exports}"


def _failed(error: Exception) -> str:
    return _(
        "The export files could not be made (%(error)s). The judgments are not touched. It is tried again by itself; "
        "if it stays, show this to whoever runs this site."
    ) % {"error": campaign_alarms.in_words(error)}

"""What runs in the background: computing results."""

import time

from celery import shared_task
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import FileAway
from evaluation.errors import BadInput
from pools.models import Campaign
from results import finishing, refreshing
from tasks import campaign_alarms

SECONDS = 40.0  # for which one job computes before other jobs get their turn


@shared_task
def compute_results(campaign_id: int | None = None) -> str:
    """Compute what the preferences say about the runs, of a campaign anew, or of those where it changed since.

    Safe to run many at once, and to be killed.
    """
    kind, at, ends = campaign_alarms.Kind.RESULTS, timezone.now(), time.monotonic() + SECONDS
    if campaign_id is None:
        campaigns = refreshing.candidates(at=at).exclude(pk__in=campaign_alarms.resting(kind=kind, at=at))
    else:
        campaigns = Campaign.objects.filter(pk=campaign_id)
    computed = 0
    for campaign in campaigns.select_related("collection"):
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_failed):
            computed += refreshing.result_refresh(campaign=campaign, anew=campaign_id is not None)
        if time.monotonic() > ends:
            break
    return f"results computed: {computed}"


@shared_task
def finish_campaigns() -> str:
    """Mark campaigns as finished on which nothing is left to do. Safe to run many at once."""
    return f"campaigns finished: {finishing.campaigns_finish(at=timezone.now())}"


def _failed(error: Exception) -> str:
    if isinstance(error, FileAway | OSError | BadInput):
        text = _(
            "The results could not be computed, because a run's file cannot be read (%(error)s). Ask the "
            "person who runs this site to check the stored files. It is tried again automatically."
        )
    else:
        text = _(
            "The results could not be computed (%(error)s). The judgments are not affected. It is tried "
            "again automatically; if it persists, show this to the person who runs this site."
        )
    return text % {"error": campaign_alarms.in_words(error)}

"""What runs in the background: checking the test pairs of work that came through a venue, and computing results."""

import logging

from celery import shared_task
from django.utils import timezone

from evaluation.errors import BadInput
from judgments import services
from judgments.results import storing
from pools.models import Campaign

log = logging.getLogger(__name__)


@shared_task
def check() -> str:
    """Check work that its venue has confirmed since. Safe to run many at once, and to be killed."""
    return f"checked: {services.confirmed_check_all(at=timezone.now())}"


@shared_task
def compute_results(campaign_id: int | None = None) -> str:
    """Compute what the preferences say about the runs, of a campaign, or of the next one where it changed since.

    One at a time, so that other jobs get their turn. Safe to run many at once, and to be killed.
    """
    if campaign_id is None:
        campaigns = storing.due(at=timezone.now())
    else:
        campaigns = iter(Campaign.objects.filter(pk=campaign_id).select_related("collection"))
    computed = 0
    for campaign in campaigns:
        try:
            computed += storing.result_refresh(campaign=campaign)
        except (OSError, BadInput) as error:  # a run's file is away; the others' results do not wait for it
            log.warning("The results of campaign %s: %s", campaign.pk, error)
        except Exception:
            log.exception("The results of campaign %s", campaign.pk)
        if computed:
            break
    return f"results computed: {computed}"

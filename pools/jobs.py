"""What runs in the background: keeping counts short and right."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.background import JOB_SECONDS, job
from core.locks import alone
from pools import counting

log = logging.getLogger(__name__)


@job(_("the job that keeps counts"))
def keep_counts() -> str:
    """Replace many changes of counts by their sums, and count again what has changed. Safe to run many at once, and to
    be killed.
    """
    at, ends, wrong = timezone.now(), time.monotonic() + JOB_SECONDS, 0
    counting.counts_fold()
    for campaign in counting.campaigns_to_recount(at=at):
        try:
            with alone(f"counts of campaign {campaign.pk}") as ours:
                wrong += len(counting.campaign_recount(campaign=campaign, at=at)) if ours else 0
        except Exception:
            log.exception("Campaign %s could not be counted again", campaign.pk)
        if time.monotonic() > ends:
            break
    return f"counts put right: {wrong}"

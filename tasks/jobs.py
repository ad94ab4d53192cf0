"""What runs in the background. The rows are the queue: a job may find nothing to do."""

import logging

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core import progress
from core.background import job
from pools.models import Campaign
from tasks import campaign_alarms
from tasks import selectors as task_selectors
from tasks import services as task_services

log = logging.getLogger(__name__)


@job(_("the job that packs HITs"))
def pack_waiting_campaigns() -> str:
    """Pack every launched campaign that waits for it. Safe to run twice, or on many machines at once."""
    kind, packed = campaign_alarms.Kind.PACKING, []
    waiting = Campaign.objects.filter(state=Campaign.State.PACKING)
    waiting = waiting.exclude(pk__in=campaign_alarms.resting(kind=kind, at=timezone.now())).order_by("id")
    for campaign_id in waiting.values_list("id", flat=True):
        with campaign_alarms.isolating(campaign_id=campaign_id, kind=kind, words=campaign_alarms.packing_failed):
            key = task_selectors.packing_key(campaign_id)
            if task_services.campaign_pack(campaign_id=campaign_id, report=progress.report_on(key)):
                packed.append(str(campaign_id))
            progress.forget(key)
    return f"packed {', '.join(packed)}" if packed else "nothing to pack"

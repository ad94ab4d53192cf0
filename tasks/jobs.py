"""What runs in the background. The rows are the queue: a job may find nothing to do."""

import logging

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import alarms, progress
from core.background import job
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import CampaignAlarm

log = logging.getLogger(__name__)


@job(_("the job that packs HITs"))
def pack_waiting_campaigns() -> str:
    """Pack every launched campaign that waits for it. Safe to run twice, or on many machines at once."""
    kind, packed = CampaignAlarm.PACKING, []
    waiting = Campaign.objects.filter(state=Campaign.State.PACKING)
    waiting = waiting.exclude(pk__in=alarms.resting(kind=kind, at=timezone.now()).values("of_id")).order_by("id")
    for campaign_id in waiting.values_list("id", flat=True):
        with alarms.isolating(of=Campaign(pk=campaign_id), kind=kind, words=_not_packed):
            key = task_selectors.packing_key(campaign_id)
            if task_services.campaign_pack(campaign_id=campaign_id, report=progress.report_on(key)):
                packed.append(str(campaign_id))
            progress.forget(key)
    return f"packed {', '.join(packed)}" if packed else "nothing to pack"


def _not_packed(error: Exception) -> str:
    return gettext(
        "The HITs could not be packed (%(error)s). Nothing is lost. If it fails again, show this to "
        "the person who runs this site: the jobs' log says more."
    ) % {"error": alarms.in_words(error)}

"""What runs in the background. The rows are the queue: a job may find nothing to do."""

from celery import shared_task

from pools.models import Campaign
from tasks import services


@shared_task
def pack_waiting_campaigns() -> str:
    """Pack every launched campaign that waits for it. Safe to run twice, or on many machines at once."""
    waiting = Campaign.objects.filter(state=Campaign.State.PACKING).order_by("id").values_list("id", flat=True)
    packed = [str(campaign_id) for campaign_id in waiting if services.campaign_pack(campaign_id=campaign_id)]
    return f"packed {', '.join(packed)}" if packed else "nothing to pack"

"""What runs in the background: erasing, keeping the labs' periods, and making release bundles."""

import logging

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import alarms
from core.audit.retention import entries_expire
from core.background import job
from core.errors import NotNow, Refused
from pools.models import Campaign
from protection import campaign_erasing, erasing, releasing
from protection.models import Retention
from tasks.models import CampaignAlarm

log = logging.getLogger(__name__)


@job(gettext_lazy("the job that makes release bundles"))
def make_bundle(campaign_id: int) -> str:
    """Make a campaign's release bundle. If one of its files names somebody, or it fails, that raises an alarm."""
    kind, at = CampaignAlarm.BUNDLE, timezone.now()
    campaign = Campaign.objects.select_related("collection").filter(pk=campaign_id).first()
    if campaign is None or campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        return "nothing to release"
    try:
        releasing.bundle_make(campaign=campaign, at=at)
    except Exception as error:
        text = str(error) if isinstance(error, Refused) else _not_bundled(error)
        log.warning("No release bundle of campaign %s: %s", campaign.pk, text)
        alarms.alarm_raise(of=campaign, kind=kind, text=text, at=at)
        return "not made"
    alarms.alarm_settle(of=campaign, kind=kind, at=at)
    return "made"


def _not_bundled(error: Exception) -> str:
    text = _(
        "The release bundle could not be made (%(error)s). Ask for it again; if it stays, show this to whoever runs "
        "this site."
    )
    return text % {"error": alarms.in_words(error)}


@job(gettext_lazy("the job that erases a campaign's workers"))
def erase_campaign(campaign_id: int, why: str = "") -> str:
    """Erase a campaign's workers, each in one transaction. Safe to run twice, and to be killed."""
    campaign = Campaign.objects.get(pk=campaign_id)
    erased, refusals = erasing.campaign_erase(campaign=campaign, at=timezone.now(), why=why)
    return f"workers erased: {erased}, kept: {len(refusals)}"


@job(gettext_lazy("the job that erases whole campaigns"))
def erase_whole_campaign(campaign_id: int, why: str = "") -> str:
    """Delete a closed campaign, in one transaction. Safe to run twice, and to be killed."""
    campaign = Campaign.objects.filter(pk=campaign_id).first()
    if campaign is None:
        return "nothing to erase"
    try:
        campaign_erasing.whole_erase(campaign=campaign, at=timezone.now(), why=why)
    except Exception as error:
        log.log(
            logging.WARNING if isinstance(error, NotNow) else logging.ERROR,
            "Campaign %s was not erased",
            campaign_id,
            exc_info=error,
        )
        text = _(
            "The campaign could not be erased (%(error)s). Nothing of it was deleted. Ask for it again; if "
            "it stays, show this to whoever runs this site."
        )
        message = text % {"error": alarms.in_words(error)}
        kind, at = CampaignAlarm.ERASING, timezone.now()
        alarms.alarm_raise(of=Campaign(pk=campaign_id), kind=kind, text=message, at=at)
        return "not erased"
    return "erased"


@job(gettext_lazy("the job that keeps the labs' periods"))
def keep_periods() -> str:
    """Erase what labs have kept for as long as they wanted. Safe to run twice, and to be killed."""
    at, workers, entries = timezone.now(), 0, 0
    for retention in Retention.objects.select_related("lab").order_by("pk"):
        try:
            if retention.worker_days:
                workers += erasing.retention_keep(lab=retention.lab, days=retention.worker_days, at=at).erased
            if retention.audit_days:
                entries += entries_expire(at=at, days=retention.audit_days, lab_id=retention.lab_id)
        except Exception:
            log.exception("The periods of lab %s could not be kept; they are tried again", retention.lab_id)
    return f"workers erased: {workers}, entries removed: {entries}"

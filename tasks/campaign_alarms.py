"""Failures in the jobs of one campaign: they raise an alarm on the campaign's page, and are tried again later."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.retrying import Pauses
from pools.models import Campaign
from tasks.models import CampaignAlarm

Kind = CampaignAlarm.Kind
PAUSES = Pauses(timedelta(minutes=1), timedelta(hours=1))
log = logging.getLogger(__name__)


@transaction.atomic
def alarm_raise(*, campaign_id: int, kind: str, text: str, at: datetime, retried: bool = True) -> CampaignAlarm:
    """Raise an alarm, once for each campaign and kind. What failed before rests twice as long, up to an hour."""
    alarm, _new = CampaignAlarm.objects.select_for_update().get_or_create(
        campaign_id=campaign_id, kind=kind, defaults={"text": text, "raised_at": at, "failures": 0}
    )
    if alarm.settled_at is not None:
        alarm.raised_at, alarm.settled_at, alarm.failures = at, None, 0
    alarm.retry_at = at + PAUSES.after(alarm.failures + 1) if retried else None
    alarm.text, alarm.failures = text, alarm.failures + 1
    alarm.save(update_fields=["text", "raised_at", "settled_at", "failures", "retry_at"])
    return alarm


def alarm_settle(*, campaign_id: int, kind: str, at: datetime) -> bool:
    """The reason for an alarm is gone. Returns whether it was raised."""
    raised = CampaignAlarm.objects.filter(campaign_id=campaign_id, kind=kind, settled_at=None)
    return bool(raised.update(settled_at=at))


def alarms_raised(campaign: Campaign) -> QuerySet[CampaignAlarm]:
    """What a person must look at, oldest first."""
    return campaign.alarms.filter(settled_at=None).order_by("raised_at", "id")


def open_campaign_alarms() -> dict[str, int]:
    """How many alarms of each kind nobody has settled, on all campaigns."""
    raised = CampaignAlarm.objects.filter(settled_at=None).order_by("kind")
    return dict(raised.values_list("kind").annotate(Count("id")))


def resting(*, kind: str, at: datetime) -> QuerySet[CampaignAlarm, int]:
    """Keys of the campaigns whose jobs of this kind failed, and are not to be tried again yet."""
    raised = CampaignAlarm.objects.filter(kind=kind, settled_at=None, retry_at__gt=at)
    return raised.values_list("campaign_id", flat=True)


@contextmanager
def isolating(*, campaign_id: int, kind: str, words: Callable[[Exception], str]) -> Iterator[None]:
    """Do a job on one campaign. If it fails, that is logged and raises an alarm, and the jobs of others go on.

    `words` says of the exception what could not be done.
    """
    try:
        yield
    except Exception as error:
        log.exception("Campaign %s, %s", campaign_id, kind)
        alarm_raise(campaign_id=campaign_id, kind=kind, text=words(error), at=timezone.now())
    else:
        failed = CampaignAlarm.objects.filter(campaign_id=campaign_id, kind=kind, settled_at=None)
        failed.filter(retry_at__isnull=False).update(settled_at=timezone.now())


def in_words(error: Exception) -> str:
    """An exception for people who may have to report it."""
    return f"{type(error).__name__}: {error}"[:300].strip()


def packing_failed(error: Exception) -> str:
    """What is said while a campaign cannot be packed."""
    return _(
        "The HITs could not be packed (%(error)s). Nothing is lost. If it fails again, show this to "
        "the person who runs this site: the jobs' log says more."
    ) % {"error": in_words(error)}

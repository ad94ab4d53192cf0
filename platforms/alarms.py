"""What a person must look at."""

import logging
from datetime import datetime
from typing import Any, TypedDict, Unpack

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from core.errors import NotNow
from core.models import User
from platforms.models import Alarm, Operation, Publication, PublishedHit, Submission
from tasks.campaign_alarms import PAUSES
from tasks.models import Assignment, Worker

# Those that a person can dismiss. The others disappear once their cause is gone.
DISMISSIBLE = frozenset(
    {
        *(Alarm.Kind.FUNDS, Alarm.Kind.ACCOUNT, Alarm.Kind.REFUSED, Alarm.Kind.LEAVES),
        *(Alarm.Kind.UNSEEN, Alarm.Kind.UNFAIR, Alarm.Kind.DOUBT),
    }
)
log = logging.getLogger(__name__)


class About(TypedDict, total=False):
    """What an alarm is about: one of these, or none, for the whole publication."""

    operation: Operation
    submission: Submission
    published_hit: PublishedHit
    worker: Worker
    assignment: Assignment
    job: str


def alarm_raise(
    *,
    publication: Publication,
    kind: Alarm.Kind,
    text: str,
    at: datetime,
    retried: bool = False,
    **about: Unpack[About],
) -> Alarm:
    """Raise an alarm, once for each kind and what it is about; one that was settled is raised again.

    What is `retried` rests before it is tried again, and twice as long each time that it fails.
    """
    alarm, new = Alarm.objects.get_or_create(
        publication=publication, kind=kind, **_columns(about), defaults={"text": text, "raised_at": at}
    )
    changed = new or alarm.settled_at is not None or alarm.text != text
    if alarm.settled_at is not None:
        alarm.failures = 0
    if changed:
        alarm.text, alarm.raised_at, alarm.settled_at = text, at, None
    if retried:
        alarm.retry_at = at + PAUSES.after(alarm.failures + 1)
        alarm.failures += 1
    if changed or retried:
        alarm.save(update_fields=["text", "raised_at", "settled_at", "failures", "retry_at"])
    return alarm


def alarm_settle(*, publication: Publication, kind: Alarm.Kind, at: datetime, **about: Unpack[About]) -> bool:
    """The reason for an alarm is gone. Returns whether it was raised."""
    raised = Alarm.objects.filter(publication=publication, kind=kind, settled_at=None, **_columns(about))
    return bool(raised.update(settled_at=at))


def alarm_dismiss(*, alarm: Alarm, by: User, at: datetime) -> bool:
    """Settle an alarm that a person has dealt with; it is raised again if its cause comes back. Returns whether it was
    raised. Raises NotNow for one that disappears with its cause only.
    """
    if alarm.kind not in DISMISSIBLE:
        raise NotNow(_("This alarm disappears once its cause is gone: %(text)s") % {"text": alarm.text})
    dismissed = Alarm.objects.filter(pk=alarm.pk, settled_at=None).update(settled_at=at)
    if dismissed:
        log.info("Alarm %s of publication %s was dismissed by user %s", alarm.pk, alarm.publication_id, by.pk)
    return bool(dismissed)


def resting(*, kind: Alarm.Kind, at: datetime) -> QuerySet[Alarm]:
    """The alarms of this kind about what failed, and is not to be tried again yet."""
    return Alarm.objects.filter(kind=kind, settled_at=None, retry_at__gt=at)


def open_alarms() -> dict[str, int]:
    """How many alarms of each kind nobody has settled, on all publications."""
    return dict(Alarm.objects.filter(settled_at=None).order_by("kind").values_list("kind").annotate(Count("id")))


def _columns(about: About) -> dict[str, Any]:
    return {**dict.fromkeys(Alarm.ABOUT), "job": "", **about}

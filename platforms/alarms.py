"""What a person must look at."""

from datetime import datetime
from typing import Any, TypedDict, Unpack

from django.db.models import Count

from platforms.models import Alarm, Operation, Publication, PublishedHit, Submission
from tasks.models import Assignment, Worker


class About(TypedDict, total=False):
    """What an alarm is about: one of these, or none, for the whole publication."""

    operation: Operation
    submission: Submission
    published_hit: PublishedHit
    worker: Worker
    assignment: Assignment
    job: str


def alarm_raise(*, publication: Publication, kind: str, text: str, at: datetime, **about: Unpack[About]) -> Alarm:
    """Raise an alarm, once for each kind and what it is about; one that was settled is raised again."""
    alarm, new = Alarm.objects.get_or_create(
        publication=publication, kind=kind, **_columns(about), defaults={"text": text, "raised_at": at}
    )
    if not new and (alarm.settled_at is not None or alarm.text != text):
        alarm.text, alarm.raised_at, alarm.settled_at = text, at, None
        alarm.save(update_fields=["text", "raised_at", "settled_at"])
    return alarm


def alarm_settle(*, publication: Publication, kind: str, at: datetime, **about: Unpack[About]) -> bool:
    """The reason for an alarm is gone. Returns whether it was raised."""
    raised = Alarm.objects.filter(publication=publication, kind=kind, settled_at=None, **_columns(about))
    return bool(raised.update(settled_at=at))


def open_alarms() -> dict[str, int]:
    """How many alarms of each kind nobody has settled, on all publications."""
    return dict(Alarm.objects.filter(settled_at=None).order_by("kind").values_list("kind").annotate(Count("id")))


def _columns(about: About) -> dict[str, Any]:
    return {**dict.fromkeys(Alarm.ABOUT), "job": "", **about}

"""What a person must look at, raised and settled; and when what failed is tried again: later each time."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import models, transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from core.models import Alarm, AlarmChoice, AlarmKind, AlarmTopic, User
from core.retrying import Pauses

PAUSES = Pauses(timedelta(minutes=1), timedelta(hours=1))
log = logging.getLogger(__name__)


@transaction.atomic
def alarm_raise(
    *, of: models.Model, kind: str, text: str, at: datetime, about: models.Model | str = "", retried: bool = False
) -> Alarm:
    """Raise an alarm, once for each kind and what it is about; one that was settled is raised again.

    What is `retried` rests before it is tried again, and twice as long each time that it fails, up to an hour.
    """
    alarm, _new = Alarm.objects.select_for_update().get_or_create(
        **_key(of, kind, about), defaults={"text": text, "raised_at": at}
    )
    if alarm.settled_at is not None:
        alarm.raised_at, alarm.settled_at, alarm.tries = at, None, 0
    alarm.text, alarm.retry_at = text, None
    if retried:
        alarm.rest(PAUSES, at)
    alarm.save(update_fields=["text", "raised_at", "settled_at", "tries", "retry_at"])
    return alarm


def alarm_settle(*, of: models.Model, kind: str, at: datetime, about: models.Model | str = "") -> bool:
    """The reason for an alarm is gone. Returns whether it was raised."""
    return bool(Alarm.objects.filter(**_key(of, kind, about), settled_at=None).update(settled_at=at))


def alarms_raised(of: models.Model) -> QuerySet[Alarm]:
    """What a person must look at, oldest first."""
    return Alarm.objects.filter(**_owner(of), settled_at=None).order_by("raised_at", "id")


def alarms_counted() -> dict[tuple[str, str], int]:
    """How many alarms nobody has settled, by the model that they are of and their kind."""
    raised = Alarm.objects.filter(settled_at=None).order_by("of_type__model", "kind")
    counts = raised.values_list("of_type__model", "kind").annotate(Count("id"))
    return {(model, kind): count for model, kind, count in counts}


def resting(*, kind: str, at: datetime) -> QuerySet[Alarm]:
    """The alarms of this kind about what failed, and is not to be tried again yet."""
    return Alarm.objects.filter(kind=kind, settled_at=None, retry_at__gt=at)


@contextmanager
def isolating(*, of: models.Model, kind: str, words: Callable[[Exception], str]) -> Iterator[None]:
    """Do a job on one campaign. If it fails, that is logged and raises an alarm, and the jobs of others go on.

    `words` says of the exception what could not be done.
    """
    try:
        yield
    except Exception as error:
        log.exception("%s %s, %s", of._meta.verbose_name, of.pk, kind)
        alarm_raise(of=of, kind=kind, text=words(error), at=timezone.now(), retried=True)
    else:
        failed = Alarm.objects.filter(**_key(of, kind, ""), settled_at=None, retry_at__isnull=False)
        failed.update(settled_at=timezone.now())


def in_words(error: Exception) -> str:
    """An exception for people who may have to report it."""
    return f"{type(error).__name__}: {error}"[:300].strip()


def kind_named(name: str) -> AlarmKind:
    """A kind of alarm that an app declares; of two with one name, the app's that is lower."""
    return next(kind for kinds in AlarmKind.__subclasses__() for kind in kinds if kind == name)


def choice_of(user: User) -> AlarmChoice:
    """What somebody chose, or what holds unless they choose; not stored then."""
    return AlarmChoice.objects.filter(user=user).first() or AlarmChoice(user=user, topics=list(AlarmTopic.values))


def choice_set(*, user: User, reach: str, topics: Iterable[str]) -> AlarmChoice:
    """Choose which mails to get."""
    chosen = [topic for topic in AlarmTopic.values if topic in set(topics)]
    choice, _new = AlarmChoice.objects.update_or_create(user=user, defaults={"reach": reach, "topics": chosen})
    return choice


def _owner(of: models.Model) -> dict[str, Any]:
    return {"of_type": ContentType.objects.get_for_model(of), "of_id": of.pk}


def _key(of: models.Model, kind: str, about: models.Model | str) -> dict[str, Any]:
    thing = (about, None) if isinstance(about, str) else (about._meta.model_name, about.pk)
    return {**_owner(of), "kind": kind, "about": thing[0], "about_id": thing[1]}

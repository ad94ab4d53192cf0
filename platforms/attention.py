"""Whether workers of the platform look at what is published. An alarm is raised where an hour passes without one.

Looks are counted in the cache: a preview writes nothing to the database.
"""

from datetime import UTC, datetime, timedelta

from django.core.cache import cache
from django.db.models import Max, Min
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from platforms.alarms import alarm_raise, alarm_settle
from platforms.models import Alarm, Publication, Submission
from platforms.registry import phrase
from tasks.models import Assignment

PATIENCE = timedelta(hours=1)
KEPT = timedelta(days=90)


def look_note(publication: Publication, at: datetime) -> None:
    """Somebody opened one of the publication's HITs at the platform."""
    cache.set(_key(publication), at.timestamp(), timeout=int(KEPT.total_seconds()))


def last_look(publication: Publication) -> datetime | None:
    """When a worker last opened, took or submitted one of its HITs, as far as is known here."""
    noted = cache.get(_key(publication))
    looks = [
        datetime.fromtimestamp(noted, UTC) if noted else None,
        Assignment.objects.filter(campaign=publication.campaign_id)
        .exclude(platform_assignment_id="")
        .aggregate(last=Max("taken_at"))["last"],
        Submission.objects.filter(publication=publication).aggregate(last=Max("submitted_at"))["last"],
    ]
    return max((look for look in looks if look), default=None)


def attention_check(*, publication: Publication, at: datetime) -> bool:
    """Raise, or settle, the alarm that no worker has opened a task for an hour under the current terms.

    Returns whether it is raised.
    """
    published_hits = publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")
    is_open = publication.state == Publication.State.OPEN
    if is_open and published_hits.filter(hit__needed__gt=0, expires_at__gt=at).exists():
        first = published_hits.aggregate(first=Min("posted_at"))["first"]
        since = max(first, publication.terms.aggregate(last=Max("at"))["last"] or first)
        look = last_look(publication) if at - since >= PATIENCE else at
        if look is None or look < since:
            said = _("Published at %(time)s UTC, and no worker has opened a task since.")
            if since > first:
                said = _("The terms were replaced at %(time)s UTC, and no worker has opened a task since.")
            text = phrase(publication, said) % {"time": date_format(since, "j M Y, H:i")}
            alarm_raise(publication=publication, kind=Alarm.Kind.UNSEEN, text=text, at=at)
            return True
    alarm_settle(publication=publication, kind=Alarm.Kind.UNSEEN, at=at)
    return False


def _key(publication: Publication) -> str:
    return f"last look at publication {publication.pk}"

"""Whether workers of the platform look at what is published, and whether they return it at once. An alarm is raised
where an hour passes without a look, and where most of what was accepted in an hour was returned within a minute.

Looks, and workers for whom there was nothing to do, are counted in the cache: a preview writes nothing to the database.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from django.core.cache import cache
from django.db.models import F, Max, Min
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from platforms.models import PlatformAlarm, Publication, Submission
from platforms.registry import phrase
from tasks.models import Assignment

PATIENCE = timedelta(hours=1)
KEPT = timedelta(days=90)
AT_ONCE, FEWEST_RETURNED = timedelta(minutes=1), 3


def look_note(publication: Publication, at: datetime) -> None:
    """Somebody opened one of the publication's HITs at the platform."""
    cache.set(_key(publication), at.timestamp(), timeout=int(KEPT.total_seconds()))


def is_seen(publication: Publication, since: datetime) -> bool:
    """Whether a worker has opened, taken or submitted one of its HITs since then, as far as is known here."""
    noted = cache.get(_key(publication))
    taken = Assignment.objects.filter(campaign=publication.campaign_id, taken_at__gte=since)
    return (
        (noted is not None and datetime.fromtimestamp(noted, UTC) >= since)
        or taken.exclude(platform_assignment_id="").exists()
        or Submission.objects.filter(publication=publication, submitted_at__gte=since).exists()
    )


def attention_check(*, publication: Publication, at: datetime) -> bool:
    """Raise, or settle, the alarm that no worker has opened a task for an hour under the current terms.

    Returns whether it is raised.
    """
    published_hits = publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")
    is_open = publication.state == Publication.State.OPEN
    if is_open and published_hits.filter(hit__needed__gt=0, expires_at__gt=at).exists():
        first = published_hits.order_by("hit", "round")[:1].aggregate(first=Min("posted_at"))["first"]
        since = max(first, publication.terms.aggregate(last=Max("at"))["last"] or first)
        if at - since >= PATIENCE and not is_seen(publication, since):
            sentence = _("Published at %(time)s UTC, and no worker has opened a task since.")
            if since > first:
                sentence = _("The terms were replaced at %(time)s UTC, and no worker has opened a task since.")
            text = phrase(publication, sentence) % {"time": date_format(since, "j M Y, H:i")}
            alarm_raise(of=publication, kind=PlatformAlarm.UNSEEN, text=text, at=at)
            return True
    alarm_settle(of=publication, kind=PlatformAlarm.UNSEEN, at=at)
    return False


def turned_away_note(publication: Publication, assignment_id: str) -> None:
    """Somebody accepted one of its HITs at the platform, and there was nothing to do for them here."""
    hour = int(PATIENCE.total_seconds())
    if cache.add(f"{_turned_away(publication)}: {assignment_id}", 1, timeout=hour):
        cache.add(_turned_away(publication), 0, timeout=hour)
        with suppress(ValueError):  # the hour ended just now
            cache.incr(_turned_away(publication))


def returns_check(*, publication: Publication, at: datetime) -> bool:
    """Raise, or settle, the alarm that most of what workers accepted in the last hour was returned at once. Returns
    whether it is raised.

    Whoever was turned away counts as having returned the task. Other returns count where the platform reports them.
    """
    attempts = Assignment.objects.filter(campaign=publication.campaign_id, taken_at__gt=at - PATIENCE).exclude(
        platform_assignment_id=""
    )
    given_back = attempts.filter(state=Assignment.State.ACTIVE, leased_until__lte=F("taken_at") + AT_ONCE).count()
    turned_away = int(cache.get(_turned_away(publication)) or 0)
    returned, accepted = given_back + turned_away, attempts.count() + turned_away
    if returned < FEWEST_RETURNED or 2 * returned <= accepted:
        alarm_settle(of=publication, kind=PlatformAlarm.LEAVES, at=at)
        return False
    text = _("Workers returned %(returned)d of the last %(accepted)d tasks that they accepted within a minute.")
    values = {"returned": returned, "accepted": accepted}
    alarm_raise(of=publication, kind=PlatformAlarm.LEAVES, text=text % values, at=at)
    return True


def _turned_away(publication: Publication) -> str:
    return f"turned away from publication {publication.pk}"


def _key(publication: Publication) -> str:
    return f"last look at publication {publication.pk}"

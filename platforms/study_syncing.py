"""Keeping in step with a platform where a campaign is one study: asking for what changed, and storing it in sets.

The platform counts submissions by their state. While its counts are the same, one request is all that is asked. When
they change, so much is read as can hold news. Since counts might agree by chance, everything is read now and then.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle, in_words
from core.models import Alarm
from platforms.models import PlatformAlarm, Publication, PublishedHit, StudySync, Submission
from platforms.publishing.protocol import Studies
from platforms.registry import phrase
from platforms.reviewing.compensations import leavers_pay, shares_paid
from platforms.reviewing.protocol import Work
from platforms.submitted import leases_end, submissions_return, works_store

log = logging.getLogger(__name__)
# For what has no news: HITs, one by one, of platforms that tell of each; everything, of one that tells of a study.
POLL_EVERY = timedelta(minutes=30)
# Before a person is told of what was not returned: most people return it sooner.
FORGOTTEN = timedelta(days=1)
# How long after its end, and the time for an assignment, a HIT without open work is still polled.
LATEST = timedelta(days=1)


class Synced(NamedTuple):
    """What a sync saw: HITs asked about (or submissions, of a whole study), and submissions that were new."""

    polled: int
    new: int


def study_sync(
    *, publication: Publication, adapter: Studies, client: Any, at: datetime, everything: bool = False
) -> Synced:
    """Store what changed of a study since the last time, or `everything`. Safe to run many at once, and to be killed:
    what was counted is written down last, so that nothing is taken as known that was not stored.
    """
    last = StudySync.objects.filter(publication=publication).first()
    raised = publication.alarms.filter(kind=PlatformAlarm.JOB, settled_at=None, about_id__isnull=False)
    retried = set(raised.exclude(retry_at__gt=at).values_list("about_id", flat=True))
    resting = set(raised.filter(retry_at__gt=at).values_list("about_id", flat=True))
    full = everything or last is None or last.full_at <= at - POLL_EVERY or bool(retried)
    changes = adapter.changes(client, publication, last.counts if last else {}, at=at, everything=full)
    submissions_return(publication=publication, assignment_ids=changes.gone, at=at)
    leases_end(publication=publication, assignment_ids=changes.gone, at=at)
    leavers_pay(publication=publication, assignment_ids=changes.left, at=at)
    new, failed = works_store(publication=publication, works=changes.works, resting=resting, at=at)
    for published_hit, error in failed.values():
        log.error("HIT %s of publication %s", published_hit.platform_hit_id, publication.pk, exc_info=error)
        failure_raise(published_hit, error, at)
    if full:
        raised.filter(about_id__in=retried - set(failed)).update(settled_at=at)
    if full or changes.works or publication.published_hits.filter(next_poll_at__lte=at).exists():
        _close_those_over(publication, at)
    StudySync.objects.update_or_create(
        publication=publication,
        defaults={
            "counts": {} if failed or resting else changes.counts,
            "is_quiet": changes.is_quiet and not failed and not resting,
            "full_at": at if full or last is None else last.full_at,
            **({} if changes.unreturned is None else {"unreturned": len(changes.unreturned)}),
        },
    )
    if changes.unreturned is not None:
        _warn_of_unreturned(publication, changes.unreturned, at)
    return Synced(len(changes.works), new)


def end_of_polls(publication: Publication, at: datetime) -> datetime:
    """A HIT that ended before then is not asked about any more, unless its work waits."""
    return at - publication.longest_time - LATEST


def failure_raise(published_hit: PublishedHit, error: Exception, at: datetime) -> Alarm:
    """Raise an alarm that work on a HIT could not be stored: until when it rests is in it."""
    text = _("Work submitted on HIT %(hit)s could not be stored (%(error)s). It is tried again automatically.")
    return alarm_raise(
        of=published_hit.publication,
        kind=PlatformAlarm.JOB,
        about=published_hit,
        text=phrase(published_hit.publication, text) % {"hit": published_hit.platform_hit_id, "error": in_words(error)},
        at=at,
        retried=True,
    )


def _warn_of_unreturned(publication: Publication, works: Sequence[Work], at: datetime) -> None:
    """Work that was never done is paid by the platform's clock, unless a person decides on it there."""
    forgotten = [work for work in works if work.submitted_at is not None and work.submitted_at <= at - FORGOTTEN]
    first = min((work.auto_approval_at for work in forgotten if work.auto_approval_at is not None), default=None)
    if first is None:
        alarm_settle(of=publication, kind=PlatformAlarm.UNRETURNED, at=at)
        return
    text = _(
        "Some workers came back to the platform without work, and have not returned their assignments. Unless these "
        "are returned or decided on there, they are paid automatically, the first on %(time)s UTC."
    )
    sentence = phrase(publication, text) % {"time": date_format(first, "j M Y, H:i")}
    alarm_raise(of=publication, kind=PlatformAlarm.UNRETURNED, text=sentence, at=at)


def _close_those_over(publication: Publication, at: datetime) -> None:
    """Expect nothing more of HITs that ended long enough ago, or of which everything was approved or rejected; the
    others have been asked about.
    """
    ours = publication.published_hits.filter(hit__isnull=False, next_poll_at__isnull=False).exclude(platform_hit_id="")
    on_it = Submission.objects.filter(published_hit=OuterRef("pk"))
    decided = on_it.exclude(status=Submission.Status.SUBMITTED).order_by().values("published_hit")
    done = Coalesce(Subquery(decided.annotate(count=Count("pk")).values("count")), 0)
    over = Q(expires_at__lte=end_of_polls(publication, at)) | Q(done__gte=F("max_assignments"))
    waiting = Exists(on_it.filter(status=Submission.Status.SUBMITTED))
    ours.annotate(done=done + shares_paid()).filter(over).exclude(waiting).update(next_poll_at=None)
    ours.filter(next_poll_at__lte=at).update(next_poll_at=at + POLL_EVERY, asked_at=at)

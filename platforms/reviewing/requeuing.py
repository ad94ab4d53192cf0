"""Asking the platform for more work, where excluded or unfinished work has left some open."""

from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import ngettext

from core.alarms import alarm_raise, alarm_settle
from platforms.models import Operation, PlatformAlarm, Publication, PublishedHit, StudySync, Submission
from platforms.planning import operation_plan, publication_lock, published_hits_plan, reopen_plan
from platforms.publishing.protocol import Studies
from platforms.publishing.study_opening import study_pause, study_reopen
from platforms.registry import adapter_of, phrase
from platforms.reviewing.compensations import shares_paid
from pools.models import Campaign
from tasks.models import Assignment

Kind, Decision, Status = Operation.Kind, Submission.Decision, Submission.Status


class _Counted(NamedTuple):
    """The newest round of a HIT: how many of its assignments are missing, over all rounds, and how many it needs."""

    published_hit_id: int
    missing: int
    needed: int


def _short_of_assignments(publication: Publication) -> dict[int, int]:
    """How many assignments are missing, by the newest round of each HIT that has too few."""
    submitted = Submission.objects.filter(published_hit__publication=publication, published_hit__hit=OuterRef("hit"))
    left = Operation.objects.filter(kind=Kind.COMPENSATE, payment__assignment__hit=OuterRef("hit"))
    worked_on = Q(Exists(submitted)) | Q(Exists(left))
    short = _counted(publication, worked_on & Q(hit__needed__gt=0, missing__gt=0), is_study=False)
    return {row.published_hit_id: row.missing for row in short}


def _short_of_places(publication: Publication) -> dict[int, int]:
    """The same where the places are a study's, for whichever HIT: as many as it has too few of for what all HITs need.

    Whoever leaves early with a share of the reward takes a place, and the HIT may then be done with a place that was
    another's; whoever comes back without work and does not return the submission holds one. So they are asked for by
    HITs that took more than was asked for on them, whether they still need work or not, and then by those that need
    work.
    """
    if not publication.published_hits.filter(hit__needed__gt=0).exists():
        return {}
    rows = _counted(publication, ~Q(missing=0) | Q(hit__needed__gt=0), is_study=True)
    unreturned = StudySync.objects.filter(publication=publication).values_list("unreturned", flat=True).first() or 0
    fewer = min(unreturned + sum(row.missing for row in rows), sum(row.needed for row in rows))
    asking: dict[int, int] = {}
    missing = [(row.published_hit_id, row.missing) for row in rows]
    needed = [(row.published_hit_id, row.needed) for row in rows]
    for key, most in missing + needed:
        if most > 0 and fewer > 0:
            asking[key] = asking.get(key, 0) + min(most, fewer)
            fewer -= min(most, fewer)
    return asking


def _counted(publication: Publication, condition: Q, *, is_study: bool) -> list[_Counted]:
    """The newest rounds of HITs, counted, where a condition holds; it may name what is `missing`.

    One query, so that a check that ends at the same time is counted wholly or not at all. Work without an answer is not
    asked for again before a person has decided on it: workers who leave at once must not make a HIT come back again
    and again. Work that was returned takes no place any more where places are a study's.
    """
    done = [verdict for verdict in Assignment.Verdict if verdict != Assignment.Verdict.PENDING]
    rounds = PublishedHit.objects.filter(publication=publication, hit=OuterRef("hit")).order_by().values("hit")
    submitted = Submission.objects.filter(published_hit__publication=publication, published_hit__hit=OuterRef("hit"))
    if is_study:
        submitted = submitted.exclude(status=Status.RETURNED)
    waiting = Q(assignment__judged=0, decision=Decision.NONE, status=Status.SUBMITTED)
    counted_once = Q(assignment=None) | Q(assignment__verdict__in=done)
    checked = submitted.filter(counted_once).exclude(waiting).order_by().values("published_hit__hit")
    hits = _newest_rounds(publication).annotate(
        missing=F("hit__needed")
        + Coalesce(Subquery(checked.annotate(n=Count("pk")).values("n")), 0)
        + shares_paid()
        - Subquery(rounds.annotate(n=Sum("max_assignments")).values("n"))
    )
    rows = hits.filter(condition).order_by("id").values_list("pk", "missing", "hit__needed")
    return [_Counted(*row) for row in rows]


def _newest_rounds(publication: Publication) -> QuerySet[PublishedHit]:
    """The last posting of each HIT."""
    later = PublishedHit.objects.filter(publication=publication, hit=OuterRef("hit"), round__gt=OuterRef("round"))
    ours = publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")
    return ours.exclude(Exists(later))


def _expired(publication: Publication, at: datetime, *, is_study: bool) -> QuerySet[PublishedHit]:
    """HITs that need work, are over at the platform, and have nobody at them or waiting for a check."""
    at_work = Assignment.objects.filter(hit=OuterRef("hit"), verdict=Assignment.Verdict.PENDING).filter(
        Q(leased_until__gt=at) | Q(submission__isnull=False)
    )
    reopening = Operation.objects.filter(publication=publication, kind=Kind.REOPEN, ended_at=None)
    if not is_study:
        reopening = reopening.filter(published_hit=OuterRef("pk"))
    needed = _newest_rounds(publication).filter(hit__needed__gt=0, expires_at__lte=at)
    return needed.exclude(Exists(at_work)).exclude(Exists(reopening))


def _ended_for_now(publication: Publication, at: datetime) -> dict[datetime, list[PublishedHit]]:
    """HITs that were ended because they needed nobody from the platform, and that need somebody after all, by the time
    when they would have expired.
    """
    last = Operation.objects.filter(published_hit=OuterRef("pk"), turn=OuterRef("turn"), kind=Kind.EXPIRE)
    ended = (
        _expired(publication, at, is_study=False)
        .annotate(until=Subquery(last.values("until")[:1]))
        .filter(until__gt=at)
    )
    by_time: dict[datetime, list[PublishedHit]] = {}
    for published_hit in ended.order_by("id"):
        by_time.setdefault(published_hit.until, []).append(published_hit)
    return by_time


@transaction.atomic
def publication_requeue(*, publication: Publication, at: datetime) -> int:
    """Ask the platform for as many more assignments as excluded or unfinished work has left open, and reopen HITs
    that were ended too early. How many calls.

    Places wanted are those that were submitted and checked, and those that the HIT still needs: work that waits for
    its check may fill them.
    """
    publication = publication_lock(publication)
    if publication.state != Publication.State.OPEN or publication.campaign.state == Campaign.State.CLOSED:
        alarm_settle(of=publication, kind=PlatformAlarm.EXPIRED, at=at)  # nobody wants what they still need
        return 0
    planned, adapter = 0, adapter_of(publication)
    is_study = isinstance(adapter, Studies)
    short = _short_of_places(publication) if is_study else _short_of_assignments(publication)
    for published_hit in publication.published_hits.filter(pk__in=short).select_related("hit").order_by("id"):
        hit, missing = published_hit.hit, short[published_hit.pk]
        total = published_hit.max_assignments + missing
        assert hit is not None
        if published_hit.expires_at is None or published_hit.expires_at <= at:
            continue
        if not adapter.may_extend(published_hit.max_assignments, total):
            planned += published_hits_plan(
                publication=publication,
                hits=[hit],
                at=at,
                round_number=published_hit.round + 1,
                max_assignments=missing,
            )
        else:
            operation_plan(publication=publication, kind=Kind.EXTEND, published_hit=published_hit, turn=total, at=at)
            PublishedHit.objects.filter(pk=published_hit.pk).update(
                max_assignments=F("max_assignments") + missing, added=F("added") + missing, next_poll_at=at
            )
            planned += 1
    if isinstance(adapter, Studies):
        planned += study_reopen(publication=publication, adapter=adapter, at=at)
    else:
        for until, published_hits in _ended_for_now(publication, at).items():
            planned += reopen_plan(publication=publication, published_hits=published_hits, until=until, at=at)
    expired = 0 if study_pause(publication) else _expired(publication, at, is_study=is_study).count()
    if expired:
        text = ngettext(
            "%(count)d HIT has expired and still needs work. Extend the publication.",
            "%(count)d HITs have expired and still need work. Extend the publication.",
            expired,
        )
        text = phrase(publication, text) % {"count": expired}
        alarm_raise(of=publication, kind=PlatformAlarm.EXPIRED, text=text, at=at)
    else:
        alarm_settle(of=publication, kind=PlatformAlarm.EXPIRED, at=at)
    return planned

"""Asking the platform what was submitted. Polling is the truth; a notification only makes the next poll come sooner."""

import logging
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from core.alarms import alarm_settle, resting
from platforms.adapter import Adapter, Trouble
from platforms.models import Operation, PlatformAlarm, Publication, PublishedHit, Submission
from platforms.planning import end_plan, publication_lock
from platforms.publishing.protocol import HitLists, Studies
from platforms.publishing.study_opening import study_end
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Reviewing
from platforms.status import open_hits
from platforms.study_syncing import POLL_EVERY, Synced, end_of_polls, failure_raise, study_sync
from platforms.submitted import batches, leases_end, submission_store, submissions_return
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks.models import Assignment

log = logging.getLogger(__name__)
AGAIN = timedelta(seconds=20)
BATCH = 50
ENDED = 500  # HITs whose end is planned at once
SHORTENED = 200  # HITs that one sync takes off the platform's list
Status = Submission.Status


def publication_sync(*, publication: Publication, at: datetime, limit: int = 2000, everything: bool = False) -> Synced:
    """Ask about HITs whose time has come (or all), and store what was submitted. Safe to run many at once."""
    adapter = adapter_of(publication)
    client = adapter.client()
    if isinstance(adapter, Studies):
        return study_sync(publication=publication, adapter=adapter, client=client, at=at, everything=everything)
    assert isinstance(adapter, HitLists)
    reviewable: list[str] = []
    if everything:
        publication.published_hits.exclude(platform_hit_id="").update(next_poll_at=at)
    else:
        types = publication.terms.exclude(hit_type_id="").values_list("hit_type_id", flat=True).distinct()
        for type_id in types:
            reviewable += adapter.reviewable_hits(client, type_id)
        for batch in batches(reviewable):
            _hint(_incomplete(publication, at).filter(platform_hit_id__in=batch), at)
    polled = new = 0
    stored: set[str] = set()
    raised = set(publication.alarms.filter(kind=PlatformAlarm.JOB, settled_at=None).values_list("about_id", flat=True))
    while polled < limit:
        published_hits = _take(publication, at)
        if not published_hits:
            break
        for published_hit in published_hits:
            polled += 1
            changes = _poll_alone(adapter, client, published_hit, at, raised)
            if changes is not None:
                new += changes
                stored.add(published_hit.platform_hit_id)
    if publication.state != Publication.State.STOPPED:
        _shorten_list(adapter, client, publication, reviewable, stored)
    return Synced(polled, new)


def _shorten_list(
    adapter: Adapter, client: Any, publication: Publication, reviewable: Iterable[str], stored: set[str]
) -> None:
    """Have the platform list a HIT no more, of which all that was submitted is stored. Saying so again changes nothing.

    The list is a hint and no more: if a HIT that left it gets further work, the next poll or notification finds that.
    """
    assert isinstance(adapter, HitLists)
    for batch in batches(reviewable):
        complete = publication.published_hits.filter(platform_hit_id__in=batch, submissions__isnull=False)
        full = complete.annotate(count=Count("submissions")).filter(count__gte=F("max_assignments"))
        hit_ids = stored.intersection(batch).union(full.values_list("platform_hit_id", flat=True))
        for hit_id in sorted(hit_ids)[:SHORTENED]:
            try:
                adapter.take_off_list(client, hit_id)
            except adapter.errors as error:
                if adapter.trouble_of(error) in (Trouble.STATE, Trouble.REFUSED):
                    continue  # it is not reviewable any more
                log.warning("HITs of publication %s stay on the platform's list: %s", publication.pk, error)
                return
        if len(hit_ids) > SHORTENED:
            return


def _poll_alone(
    adapter: Adapter, client: Any, published_hit: PublishedHit, at: datetime, raised: Collection[int | None]
) -> int | None:
    """Ask about one HIT: how many submissions were new; None if it failed.

    A failure of one HIT raises an alarm and does not delay others; a failure of the platform stops them all.
    """
    try:
        new = published_hit_poll(adapter=adapter, client=client, published_hit=published_hit, at=at)
    except Exception as error:
        mine = (Trouble.STATE, Trouble.REFUSED)
        if isinstance(error, adapter.errors) and adapter.trouble_of(error) not in mine:
            raise
        log.exception("HIT %s of publication %s", published_hit.platform_hit_id, published_hit.publication_id)
        alarm = failure_raise(published_hit, error, at)
        PublishedHit.objects.filter(pk=published_hit.pk).update(next_poll_at=alarm.retry_at)
        return None
    if published_hit.pk in raised:
        alarm_settle(of=published_hit.publication, kind=PlatformAlarm.JOB, about=published_hit, at=at)
    return new


def assignment_sync(*, publication: Publication, assignment_id: str, at: datetime) -> bool:
    """Ask about one assignment of ours: free its place if it ended there without work, and store what was submitted.
    Whether anything has changed here.
    """
    adapter = adapter_of(publication)
    assert isinstance(adapter, Studies)
    state = adapter.look(adapter.client(), publication, assignment_id)
    if state.is_over:
        returned = submissions_return(publication=publication, assignment_ids=[assignment_id], at=at)
        return bool(returned + leases_end(publication=publication, assignment_ids=[assignment_id], at=at))
    rows = Assignment.objects.filter(campaign=publication.campaign_id, platform_assignment_id=assignment_id)
    home = publication.published_hits.filter(hit__in=rows.values("hit")).order_by("-round", "-id").first()
    if state.work is None or home is None:
        return False
    return submission_store(published_hit=home, work=state.work, at=at)


def hints_take(*, publication: Publication, platform_hit_ids: Iterable[str], at: datetime) -> int:
    """Something may have happened on these HITs: poll them next. Unknown ones are not ours, and left alone."""
    return sum(
        _hint(publication.published_hits.filter(platform_hit_id__in=batch), at) for batch in batches(platform_hit_ids)
    )


def _hint(published_hits: QuerySet[PublishedHit], at: datetime) -> int:
    failed = resting(kind=PlatformAlarm.JOB, at=at).filter(about_id__isnull=False)
    return published_hits.filter(next_poll_at__gt=at).exclude(pk__in=failed.values("about_id")).update(next_poll_at=at)


def _incomplete(publication: Publication, at: datetime) -> QuerySet[PublishedHit]:
    """HITs of which more may be submitted than we know, but for those that were asked about just now."""
    stored = (
        Submission.objects.filter(published_hit=OuterRef("pk"))
        .order_by()
        .values("published_hit")
        .annotate(n=Count("pk"))
    )
    rested = publication.published_hits.filter(next_poll_at__lte=at + POLL_EVERY - AGAIN)
    return rested.annotate(stored=Coalesce(Subquery(stored.values("n")), 0)).filter(stored__lt=F("max_assignments"))


@transaction.atomic
def _take(publication: Publication, at: datetime) -> list[PublishedHit]:
    """The next HITs to ask about, put off for others before anything is asked."""
    published_hits = list(
        publication.published_hits.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .filter(next_poll_at__lte=at)
        .exclude(platform_hit_id="")
        .select_related("publication__campaign")
        .order_by("next_poll_at", "id")[:BATCH]
    )
    PublishedHit.objects.filter(pk__in=[published_hit.pk for published_hit in published_hits]).update(
        next_poll_at=at + POLL_EVERY
    )
    for published_hit in published_hits:
        published_hit.next_poll_at = at + POLL_EVERY
    return published_hits


def published_hit_poll(*, adapter: Reviewing, client: Any, published_hit: PublishedHit, at: datetime) -> int:
    """Store what the platform says was submitted on a HIT, page by page. How many submissions were new."""
    new, undecided, failed = 0, False, None
    for answer in adapter.submitted(client, published_hit.platform_hit_id):
        try:
            work = adapter.work_of(answer)
            new += submission_store(published_hit=published_hit, work=work, at=at)
            undecided = undecided or work.status == Status.SUBMITTED
        except Exception as error:  # what others submitted on the HIT is stored all the same
            failed = failed or error
    if failed is not None:
        raise failed
    PublishedHit.objects.filter(pk=published_hit.pk).update(asked_at=at)
    if not undecided:
        _close_if_over(published_hit, at)
    return new


def _close_if_over(published_hit: PublishedHit, at: datetime) -> None:
    """Poll no more where nothing more can come: ended long enough ago, and everything approved or rejected."""
    statuses = list(published_hit.submissions.values_list("status", flat=True))
    if Status.SUBMITTED in statuses:
        return
    ended = published_hit.expires_at
    full = len(statuses) >= published_hit.max_assignments
    if full or (ended is not None and ended <= at and ended <= end_of_polls(published_hit.publication, at)):
        # Not if it was asked for again, or hinted at, since it was read.
        unchanged = PublishedHit.objects.filter(
            pk=published_hit.pk, max_assignments=published_hit.max_assignments, turn=published_hit.turn
        )
        unchanged.filter(next_poll_at=published_hit.next_poll_at).update(next_poll_at=None)


@transaction.atomic
def finished_end(*, publication: Publication, at: datetime) -> int:
    """End HITs that are open at the platform with free assignments and need nobody from there, because they are done
    or people who came by a link are working on them, or whose campaign is closed: some hundred at a time. How many.

    Workers who have accepted one may still submit it. `publication_requeue` reopens those that need somebody after all.
    """
    # As all do who end or reopen HITs.
    publication = publication_lock(publication)
    adapter = adapter_of(publication)
    if isinstance(adapter, Studies):
        return study_end(publication=publication, adapter=adapter, at=at)
    mine = {"published_hit": OuterRef("pk")}
    ending = Operation.objects.filter(kind=Operation.Kind.EXPIRE, ended_at=None, **mine)
    by_link = task_selectors.at_work_by_link(at).filter(hit=OuterRef("hit")).order_by().values("hit")
    hits = open_hits(publication, at)
    if publication.campaign.state != Campaign.State.CLOSED:
        hits = hits.filter(hit__needed__lte=Coalesce(Subquery(by_link.annotate(n=Count("pk")).values("n")), 0))
    free = hits.exclude(Exists(ending)).order_by("id")
    return end_plan(publication=publication, published_hits=free[:ENDED], at=at, for_now=True)

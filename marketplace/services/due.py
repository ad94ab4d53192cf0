"""What the clock does: work is abandoned, approved, expired and disposed of when its time comes.

`catch_up` runs before anything is read or done, so nobody ever sees a state whose time is over; `tick` runs the same in
the background, so that readers find little left to do. Both are safe at any time, any number at once.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Q

from marketplace import clock
from marketplace.models import Assignment, Hit, UniqueRequestToken
from marketplace.services.assignments import assignments_approve
from marketplace.services.events import Event, events_note
from marketplace.services.hits import hits_dispose, hits_end, hits_settle, rows_save
from marketplace.services.limits import limits_forget

BATCH = 500
DISPOSED_AFTER = timedelta(days=120)
TOKEN_LIFE = timedelta(hours=24)


# Before each request and page: four look-ups in partial indexes, which hold only what can become due, in one question.
_ANYTHING = """
    SELECT EXISTS (SELECT FROM marketplace_assignment WHERE state = 'Accepted' AND deadline <= %(at)s)
        OR EXISTS (SELECT FROM marketplace_assignment WHERE state = 'Submitted' AND auto_approval_at <= %(at)s)
        OR EXISTS (SELECT FROM marketplace_hit WHERE NOT expired AND expires_at <= %(at)s)
        OR EXISTS (SELECT FROM marketplace_hit WHERE NOT status = 'Disposed' AND reviewable_at <= %(long_ago)s
                   AND n_submitted = 0 AND n_accepted = 0)
"""


def catch_up() -> int:
    """Do all that is due now. How many rows were dealt with; 0 costs one query."""
    at = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(_ANYTHING, {"at": at, "long_ago": at - DISPOSED_AFTER})
        if not cursor.fetchone()[0]:
            return 0
    return sum(_all_of(step, at) for step in (_abandon, _approve, _expire, _dispose))


def tick() -> int:
    """As catch_up, and end what deactivated requesters left open, and forget old request tokens and counts of tries.

    How many rows were dealt with, without the counts.
    """
    inactive = Hit.objects.filter(requester__is_active=False, status=Hit.Status.ASSIGNABLE).values_list("requester")
    for (requester_pk,) in inactive.order_by().distinct():
        hits_end(requester_pk=requester_pk)
    done = catch_up()
    limits_forget()
    forgotten, _ = UniqueRequestToken.objects.filter(made_at__lt=clock.now() - 2 * TOKEN_LIFE).delete()
    return done + forgotten


def _all_of(step: Callable[[datetime], int], at: datetime) -> int:
    total = 0
    while done := step(at):
        total += done
    return total


def _abandon(at: datetime) -> int:
    """Accepted work whose deadline is over: its place is free again, if the HIT still takes workers."""
    due = Q(state=Assignment.State.ACCEPTED, deadline__lte=at)
    if not (pks := _hits_of(due)):
        return 0
    with transaction.atomic():
        hits = _lock(pks)
        assignments = list(Assignment.objects.select_for_update(no_key=True).filter(due, hit__in=hits).order_by("pk"))
        for assignment in assignments:
            assignment.state = Assignment.State.ABANDONED
            assignment.left_at = assignment.deadline
        rows_save(assignments, ["state", "left_at"])
        by_pk = {hit.pk: hit for hit in hits}
        events = [Event("AssignmentAbandoned", by_pk[assignment.hit_id], assignment) for assignment in assignments]
        events_note(events, at=at)
        hits_settle(hits, at=at)
    return len(pks)


def _approve(at: datetime) -> int:
    """Submitted work that nobody decided on in time: it is paid."""
    due = Q(state=Assignment.State.SUBMITTED, auto_approval_at__lte=at)
    if not (pks := _hits_of(due)):
        return 0
    with transaction.atomic():
        hits = _lock(pks)
        assignments = Assignment.objects.select_for_update(no_key=True).filter(due, hit__in=hits).order_by("pk")
        assignments_approve(hits=hits, assignments=list(assignments), at=at, by_clock=True)
    return len(pks)


def _expire(at: datetime) -> int:
    """HITs whose lifetime is over."""
    due = Q(expired=False, expires_at__lte=at)
    if not (pks := list(Hit.objects.filter(due).order_by("expires_at").values_list("pk", flat=True)[:BATCH])):
        return 0
    with transaction.atomic():
        hits = _lock(pks)
        settle = [hit for hit in hits if not hit.expired and hit.expires_at <= at and hit.status != Hit.Status.DISPOSED]
        hits_settle(settle, at=at)
        Hit.objects.filter(pk__in=pks, status=Hit.Status.DISPOSED).update(expired=True)
    return len(pks)


def _dispose(at: datetime) -> int:
    """HITs that have been done with for 120 days."""
    due = ~Q(status=Hit.Status.DISPOSED) & Q(reviewable_at__lte=at - DISPOSED_AFTER, n_submitted=0, n_accepted=0)
    if not (pks := list(Hit.objects.filter(due).order_by("reviewable_at").values_list("pk", flat=True)[:BATCH])):
        return 0
    with transaction.atomic():
        hits = [hit for hit in _lock(pks) if hit.reviewable_at and hit.reviewable_at <= at - DISPOSED_AFTER]
        hits_dispose([hit for hit in hits if not hit.n_submitted and not hit.n_accepted], at=at)
    return len(pks)


def _hits_of(due: Q) -> list[int]:
    """The HITs of the first assignments that are due."""
    return sorted(set(Assignment.objects.filter(due).order_by().values_list("hit_id", flat=True)[:BATCH]))


def _lock(pks: list[int]) -> list[Hit]:
    """HITs, locked in the order that everybody locks them in."""
    locked = Hit.objects.select_for_update(of=("self",), no_key=True).select_related("hit_type").filter(pk__in=pks)
    return list(locked.order_by("pk"))

"""What the clock does: work is abandoned, approved, expired and disposed of when its time comes.

`catch_up` runs before anything is read or done, so that nobody sees a state whose time is over; `tick` runs the same in
the background, so that readers find little left to do. Both are safe at any time, any number at once.

HITs do not affect each other. What fails on one is logged, recorded as a DueFailure, tried again later, and stops no
other. A request does a bounded part of what is due: after a long outage, `tick` does the rest.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from marketplace import clock
from marketplace.models import Assignment, DueFailure, EventKind, Hit, UniqueRequestToken
from marketplace.services.assignments import assignments_approve
from marketplace.services.daily import daily
from marketplace.services.events import Event, events_note
from marketplace.services.hits import hits_dispose, hits_end
from marketplace.services.holds import hits_settle, rows_save
from marketplace.services.limits import limits_forget

# How many rows of a kind are done in one transaction.
BATCH = 500
# How many rows of a kind a request does.
PER_REQUEST = 100
DISPOSED_AFTER = timedelta(days=120)
TOKEN_LIFE = timedelta(hours=24)
# Until something that failed is tried again: doubled each time, up to the longest.
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=1)
log = logging.getLogger(__name__)


# Before each request and page: four look-ups in partial indexes, which hold only what can become due, in one question.
_ANYTHING = """
    SELECT EXISTS (SELECT FROM marketplace_assignment a WHERE state = 'Accepted' AND deadline <= %(at)s
                   AND NOT EXISTS (SELECT FROM marketplace_duefailure f
                                   WHERE f.hit_id = a.hit_id AND f.retry_at > %(at)s))
        OR EXISTS (SELECT FROM marketplace_assignment a WHERE state = 'Submitted' AND auto_approval_at <= %(at)s
                   AND NOT EXISTS (SELECT FROM marketplace_duefailure f
                                   WHERE f.hit_id = a.hit_id AND f.retry_at > %(at)s))
        OR EXISTS (SELECT FROM marketplace_hit h WHERE NOT expired AND expires_at <= %(at)s
                   AND NOT EXISTS (SELECT FROM marketplace_duefailure f WHERE f.hit_id = h.id AND f.retry_at > %(at)s))
        OR EXISTS (SELECT FROM marketplace_hit h WHERE NOT status = 'Disposed' AND reviewable_at <= %(long_ago)s
                   AND n_submitted = 0 AND n_accepted = 0
                   AND NOT EXISTS (SELECT FROM marketplace_duefailure f WHERE f.hit_id = h.id AND f.retry_at > %(at)s))
"""


class Step(NamedTuple):
    """One kind of thing that becomes due: how the HITs are found, and what is done with some of them, locked."""

    name: DueFailure.Step
    find: Callable[[datetime, int], list[int]]
    act: Callable[[list[Hit], datetime], None]


class TickIncomplete(Exception):
    """Some of the background's work failed as a whole. The log says why."""


def catch_up(*, most: int | None = PER_REQUEST) -> int:
    """Do what is due now, up to `most` rows of each kind. How many rows were dealt with; 0 costs one query."""
    at = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(_ANYTHING, {"at": at, "long_ago": at - DISPOSED_AFTER})
        if not cursor.fetchone()[0]:
            return 0
    return sum(_do(step, at, most) for step in _STEPS)


def tick() -> int:
    """All that is due; and what deactivated requesters left open is ended, what is old is forgotten, the books checked.

    How many rows were dealt with, without the counts. What fails stops nothing else: raises TickIncomplete at the end.
    """
    done, failed = 0, []
    for work in (_end_hits_of_inactive, _catch_up_all, _forget_limits, _forget_tokens, daily):
        try:
            done += work()
        except Exception:
            log.exception("A part of the background's work failed; the rest goes on")
            failed.append(work)
    if failed:
        raise TickIncomplete(f"{len(failed)} parts of the background's work failed. The log says why.")
    return done


def _end_hits_of_inactive() -> int:
    open_hits = Hit.objects.filter(requester__is_active=False, expired=False).exclude(status=Hit.Status.DISPOSED)
    for (requester_pk,) in open_hits.order_by().values_list("requester").distinct():
        hits_end(requester_pk=requester_pk)
    return 0


def _catch_up_all() -> int:
    at = clock.now()
    done = catch_up(most=None)
    DueFailure.objects.filter(retry_at__lte=at).delete()  # tried again, or nothing is due there any more
    return done


def _forget_limits() -> int:
    limits_forget()
    return 0


def _forget_tokens() -> int:
    return UniqueRequestToken.objects.filter(made_at__lt=clock.now() - 2 * TOKEN_LIFE).delete()[0]


def _do(step: Step, at: datetime, most: int | None) -> int:
    """One step, for up to `most` rows, or for all of them."""
    total = 0
    while pks := step.find(at, BATCH if most is None else min(BATCH, most - total)):
        try:
            _act(step, pks, at)
        except Exception:  # one of them is the cause: each by itself
            for pk in pks:
                try:
                    _act(step, [pk], at)
                except Exception as error:
                    _record_failure(step, pk, error, at)
        total += len(pks)
        if most is not None and total >= most:
            break
    return total


@transaction.atomic
def _act(step: Step, pks: list[int], at: datetime) -> None:
    step.act(_lock(pks), at)
    DueFailure.objects.filter(hit__in=pks, step=step.name).delete()


def _record_failure(step: Step, hit_pk: int, error: Exception, at: datetime) -> None:
    """Note that a HIT's turn failed, for the operator, and when it is tried again."""
    log.error("What was due on HIT %s failed (%s); it is tried again later", hit_pk, step.name, exc_info=error)
    with transaction.atomic():
        failure, _ = DueFailure.objects.select_for_update().get_or_create(
            hit_id=hit_pk, defaults={"first_at": at, "retry_at": at}
        )
        failure.step = step.name
        failure.error = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"[:1000]
        failure.tries += 1
        failure.retry_at = at + min(FIRST_WAIT * 2 ** min(failure.tries - 1, 10), LONGEST_WAIT)
        failure.save()


# --- the steps


def _abandon_find(at: datetime, most: int) -> list[int]:
    return _hits_of(_lapsed(at), "deadline", at, most)


def _abandon(hits: list[Hit], at: datetime) -> None:
    """Accepted work whose deadline is over: its slot is free again, if the HIT still takes workers."""
    by_pk = {hit.pk: hit for hit in hits}
    assignments = _some_of(hits, _lapsed(at))
    for assignment in assignments:
        assignment.move(Assignment.State.ABANDONED)
        assignment.left_at = assignment.deadline
    rows_save(assignments, ["state", "left_at"])
    events = [Event(EventKind.ASSIGNMENT_ABANDONED, by_pk[assignment.hit_id], assignment) for assignment in assignments]
    events_note(events, at=at)
    hits_settle(hits, at=at)


def _approve_find(at: datetime, most: int) -> list[int]:
    return _hits_of(_undecided(at), "auto_approval_at", at, most)


def _approve(hits: list[Hit], at: datetime) -> None:
    """Submitted work that nobody decided on in time: it is paid."""
    assignments_approve(hits=hits, assignments=_some_of(hits, _undecided(at)), at=at, by_clock=True)


def _expire_find(at: datetime, most: int) -> list[int]:
    return _first(Hit.objects.filter(expired=False, expires_at__lte=at).order_by("expires_at"), at, most)


def _expire(hits: list[Hit], at: datetime) -> None:
    """HITs whose lifetime is over."""
    over = [hit for hit in hits if not hit.expired and hit.expires_at <= at]
    hits_settle([hit for hit in over if hit.status != Hit.Status.DISPOSED], at=at)
    Hit.objects.filter(pk__in=[hit.pk for hit in over], status=Hit.Status.DISPOSED).update(expired=True)


def _dispose_find(at: datetime, most: int) -> list[int]:
    due = ~Q(status=Hit.Status.DISPOSED) & Q(reviewable_at__lte=at - DISPOSED_AFTER, n_submitted=0, n_accepted=0)
    return _first(Hit.objects.filter(due).order_by("reviewable_at"), at, most)


def _dispose(hits: list[Hit], at: datetime) -> None:
    """HITs that have been done with for 120 days."""
    old = [hit for hit in hits if hit.reviewable_at and hit.reviewable_at <= at - DISPOSED_AFTER]
    hits_dispose([hit for hit in old if not hit.n_submitted and not hit.n_accepted], at=at)


_STEPS = [
    Step(DueFailure.Step.ABANDON, _abandon_find, _abandon),
    Step(DueFailure.Step.APPROVE, _approve_find, _approve),
    Step(DueFailure.Step.EXPIRE, _expire_find, _expire),
    Step(DueFailure.Step.DISPOSE, _dispose_find, _dispose),
]


def _lapsed(at: datetime) -> Q:
    return Q(state=Assignment.State.ACCEPTED, deadline__lte=at)


def _undecided(at: datetime) -> Q:
    return Q(state=Assignment.State.SUBMITTED, auto_approval_at__lte=at)


def _hits_of(due: Q, by: str, at: datetime, most: int) -> list[int]:
    """The HITs of the first assignments that are due."""
    rows = Assignment.objects.filter(due).exclude(Exists(_postponed(at).filter(hit=OuterRef("hit"))))
    return sorted(set(rows.order_by(by).values_list("hit_id", flat=True)[:most]))


def _first(rows: QuerySet[Hit], at: datetime, most: int) -> list[int]:
    waiting = Exists(_postponed(at).filter(hit=OuterRef("pk")))
    return list(rows.exclude(waiting).values_list("pk", flat=True)[:most])


def _postponed(at: datetime) -> QuerySet[DueFailure]:
    """What failed, and whose time to be tried again has not come."""
    return DueFailure.objects.filter(retry_at__gt=at)


def _some_of(hits: list[Hit], due: Q) -> list[Assignment]:
    """Assignments that are due on locked HITs, a batch at most, locked."""
    rows = Assignment.objects.select_for_update(no_key=True).filter(due, hit__in=hits)
    return list(rows.order_by("pk")[:BATCH])


def _lock(pks: list[int]) -> list[Hit]:
    """HITs, locked in the order that everybody locks them in."""
    locked = Hit.objects.select_for_update(of=("self",), no_key=True).select_related("hit_type").filter(pk__in=pks)
    return list(locked.order_by("pk"))

"""Assignments: accepted, returned and submitted by workers; approved and rejected by requesters, or by the clock."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet

from marketplace import clock, ids
from marketplace.errors import DoesNotExist, InvalidValue, NotAllowed, NothingLeft, TooLate, WrongState
from marketplace.models import (
    LIVE_STATES,
    Assignment,
    BonusPayment,
    Entry,
    EventKind,
    Hit,
    Requester,
    Worker,
    WorkerBlock,
)
from marketplace.money import bonus_fee, reward_fee
from marketplace.questions import ANSWER_BYTES, answers_write
from marketplace.requirements import Action
from marketplace.selectors.lookups import get_or_refuse
from marketplace.selectors.records import unmet_by
from marketplace.selectors.tasks import hit_next_locked
from marketplace.services.events import Event, events_note
from marketplace.services.holds import hits_settle, rows_save
from marketplace.services.ledger import bonus_entries, entries_write, reward_entries

OVERRIDE_DAYS = 30
MOST_FEEDBACK = 1024
# Assignments that a worker may hold at a time.
MOST_AT_ONCE = 25
State = Assignment.State


@transaction.atomic(savepoint=False)
def assignment_accept(*, worker: Worker, hit_id: str) -> Assignment:
    """Take a place on a HIT. Accepting again gives the assignment that the worker holds.

    Raises DoesNotExist, NotAllowed (suspended, blocked, not qualified, did it before) or NothingLeft.
    """
    return _accept(_active(worker), _lock_hit(hit_id))


@transaction.atomic(savepoint=False)
def assignment_accept_next(*, worker: Worker, group_id: str) -> Assignment:
    """Take a place on a HIT of a group, whichever is free; one that the worker returned, only if there is no other.

    Raises as assignment_accept does; NothingLeft if the worker could take none of them.
    """
    worker = _active(worker)
    if (hit := hit_next_locked(worker, group_id=group_id)) is not None:
        return _accept(worker, hit)
    raise NothingLeft("There are no tasks of this kind left for you.")


def _accept(worker: Worker, hit: Hit) -> Assignment:
    """As assignment_accept, for a locked worker and a locked HIT."""
    at = clock.now()
    earlier = Assignment.objects.filter(hit=hit, worker=worker, state__in=LIVE_STATES).first()
    if earlier is not None:
        if earlier.state != State.ACCEPTED:
            raise NotAllowed("You have already done this HIT.")
        if earlier.deadline <= at:
            raise TooLate("Your time for this HIT was up, so it is open to other workers again.")
        return earlier
    if hit.status != Hit.Status.ASSIGNABLE or hit.expires_at <= at or not hit.requester.is_active:
        raise NothingLeft("This HIT is no longer available.")
    if WorkerBlock.objects.filter(requester=hit.requester, worker=worker).exists():
        raise NotAllowed("This requester does not accept work from you.")
    if unmet_by(worker, hit.hit_type.requirements, Action.ACCEPT):
        raise NotAllowed("You do not have the qualifications that this HIT requires.")
    if Assignment.objects.filter(worker=worker, state=State.ACCEPTED).count() >= MOST_AT_ONCE:
        raise NotAllowed(f"You have {MOST_AT_ONCE} HITs in progress. Submit or return one first.")
    assignment = Assignment(
        assignment_id=ids.entity_id(),
        hit=hit,
        worker=worker,
        reward=hit.hit_type.reward,
        fee=reward_fee(hit.hit_type.reward, hit.max_assignments),
        auto_approval_seconds=hit.hit_type.auto_approval_seconds,
        accepted_at=at,
        deadline=at + timedelta(seconds=hit.hit_type.assignment_seconds),
    )
    assignment.save(force_insert=True)
    events_note([Event(EventKind.ASSIGNMENT_ACCEPTED, hit, assignment)], at=at)
    hits_settle([hit], at=at)
    return assignment


@transaction.atomic(savepoint=False)
def assignment_return(*, worker: Worker, assignment_id: str) -> Assignment:
    """Give an accepted HIT back, without consequences. Returning again is no error. Raises DoesNotExist, WrongState."""
    hit, assignment = _lock(Assignment.objects.filter(assignment_id=assignment_id, worker=worker), assignment_id)
    if assignment.state in (State.RETURNED, State.ABANDONED):
        return assignment
    if assignment.state != State.ACCEPTED:
        raise WrongState("Assignment", State.ACCEPTED)
    at = clock.now()
    return _move(hit, assignment, State.RETURNED, EventKind.ASSIGNMENT_RETURNED, at, left_at=at)


@transaction.atomic(savepoint=False)
def assignment_submit(
    *, assignment_id: str, fields: Sequence[tuple[str, str]], worker: Worker | None = None
) -> Assignment:
    """Take what the form in the HIT's frame posted as the work. Submitting again gives the same assignment, unchanged.

    `fields` are the form's others than assignmentId, in order; at least one. There are no cookies in that frame, so the
    assignment id identifies the worker who holds it; a caller that knows the worker names it.

    Raises DoesNotExist, InvalidValue, TooLate, or WrongState if it was returned.
    """
    if not fields:
        raise InvalidValue("A submission needs at least one field beside assignmentId.")
    answer = answers_write(fields)
    if len(answer.encode()) > ANSWER_BYTES:
        raise InvalidValue(f"The answers have more than {ANSWER_BYTES:,} bytes.")
    rows = Assignment.objects.filter(assignment_id=assignment_id)
    rows = rows.filter(worker=worker) if worker else rows
    hit, assignment = _lock(rows.order_by("-pk"), assignment_id)
    if assignment.submitted_at:
        return assignment
    at = clock.now()
    if assignment.state == State.ABANDONED or (assignment.state == State.ACCEPTED and assignment.deadline <= at):
        raise TooLate("The time for this HIT was up, so this could not be submitted.")
    if assignment.state != State.ACCEPTED:
        raise WrongState("Assignment", State.ACCEPTED, because="It was returned.")
    approval = at + timedelta(seconds=assignment.auto_approval_seconds)
    changes = {"answer": answer, "submitted_at": at, "auto_approval_at": approval}
    return _move(hit, assignment, State.SUBMITTED, EventKind.ASSIGNMENT_SUBMITTED, at, **changes)


@transaction.atomic(savepoint=False)
def assignment_approve(
    *, requester: Requester, assignment_id: str, feedback: str = "", override: bool = False
) -> Assignment:
    """Pay for submitted work; with `override`, for work that was rejected. Raises WrongState, InsufficientFunds."""
    hit, assignment = _lock_of(requester, assignment_id)
    at = clock.now()
    if assignment.state == State.REJECTED and override:
        if hit.status == Hit.Status.DISPOSED:
            raise WrongState("HIT", Hit.Status.REVIEWABLE, because="The HIT has been deleted.")
        if assignment.submitted_at and assignment.submitted_at < at - timedelta(days=OVERRIDE_DAYS):
            raise WrongState(
                "Assignment", State.SUBMITTED, because=f"It was submitted more than {OVERRIDE_DAYS} days ago."
            )
        # The rejection gave back what was held for it.
        again = assignment.reward + assignment.fee
        hold = Entry(kind=Entry.Kind.HOLD, available=-again, on_hold=again, hit=hit, assignment=assignment)
        entries_write(requester_pk=requester.pk, entries=[hold] if again else [], at=at)
        hit.held += again
    elif assignment.state != State.SUBMITTED:
        raise WrongState("Assignment", State.SUBMITTED)
    if feedback:
        assignment.feedback = feedback
    assignments_approve(hits=[hit], assignments=[assignment], at=at, by_clock=False)
    return assignment


def assignments_approve(
    *, hits: Sequence[Hit], assignments: Sequence[Assignment], at: datetime, by_clock: bool
) -> None:
    """Pay for locked assignments of locked HITs, out of what is held."""
    by_pk = {hit.pk: hit for hit in hits}
    payments: dict[int, list[Entry]] = {}
    for assignment in assignments:
        hit = assignment.hit = by_pk[assignment.hit_id]
        assignment.move(State.APPROVED)
        assignment.approved_at = at
        assignment.approved_by_clock = by_clock
        paid = reward_entries(assignment)
        hit.held += sum((entry.on_hold for entry in paid), Decimal(0))
        payments.setdefault(hit.requester_id, []).extend(paid)
    rows_save(assignments, ["state", "approved_at", "approved_by_clock", "feedback"])
    events_note([Event(EventKind.ASSIGNMENT_APPROVED, assignment.hit, assignment) for assignment in assignments], at=at)
    hits_settle(hits, at=at, payments=payments)


@transaction.atomic(savepoint=False)
def assignment_reject(*, requester: Requester, assignment_id: str, feedback: str) -> Assignment:
    """Do not pay for submitted work, and say why; `feedback` may be empty. Raises WrongState."""
    hit, assignment = _lock_of(requester, assignment_id)
    if assignment.state != State.SUBMITTED:
        raise WrongState("Assignment", State.SUBMITTED)
    at, event = clock.now(), EventKind.ASSIGNMENT_REJECTED
    return _move(hit, assignment, State.REJECTED, event, at, rejected_at=at, feedback=feedback)


@transaction.atomic(savepoint=False)
def bonus_send(
    *, requester: Requester, assignment_id: str, worker_id: str, amount: Decimal, reason: str
) -> BonusPayment:
    """Pay a worker something on top, for submitted work. Raises DoesNotExist, InvalidValue, InsufficientFunds."""
    if amount <= 0:
        raise InvalidValue("BonusAmount must be more than 0.")
    assignment = (
        Assignment.objects.select_related("hit", "worker")
        .filter(hit__requester=requester, assignment_id=assignment_id, worker__worker_id=worker_id)
        .first()
    )
    if assignment is None:
        if Assignment.objects.filter(hit__requester=requester, assignment_id=assignment_id).exists():
            raise InvalidValue(f"Worker {worker_id} is not the worker of assignment {assignment_id}.")
        raise DoesNotExist("Assignment", assignment_id)
    if assignment.submitted_at is None:
        raise WrongState("Assignment", State.SUBMITTED, State.APPROVED, State.REJECTED)
    at = clock.now()
    bonus = BonusPayment.objects.create(
        assignment=assignment,
        requester=requester,
        amount=amount,
        fee=bonus_fee(amount),
        reason=reason if reason.strip() else "",
        granted_at=at,
    )
    entries_write(requester_pk=requester.pk, entries=bonus_entries(bonus), at=at)
    return bonus


def _move(
    hit: Hit, assignment: Assignment, state: State, event: EventKind, at: datetime, **changes: object
) -> Assignment:
    """Put a locked assignment into another state, and its locked HIT in line."""
    assignment.move(state)
    for name, value in changes.items():
        setattr(assignment, name, value)
    assignment.save(update_fields=["state", *changes])
    events_note([Event(event, hit, assignment)], at=at)
    hits_settle([hit], at=at)
    return assignment


def _active(worker: Worker) -> Worker:
    locked = Worker.objects.select_for_update(of=("self",), no_key=True).get(pk=worker.pk)
    if locked.status != Worker.Status.ACTIVE:
        raise NotAllowed("Your account cannot accept HITs at the moment.")
    return locked


def _lock_hit(hit_id: str) -> Hit:
    hits = Hit.objects.select_for_update(of=("self",), no_key=True).select_related("hit_type", "requester")
    return get_or_refuse(hits.filter(hit_id=hit_id), "HIT", hit_id)


def _lock(rows: QuerySet[Assignment], assignment_id: str) -> tuple[Hit, Assignment]:
    """The first of some assignments and its HIT, locked in the order that everybody locks them in."""
    chosen = get_or_refuse(rows.select_related("hit").only("pk", "hit__hit_id"), "Assignment", assignment_id)
    hit = _lock_hit(chosen.hit.hit_id)
    assignment = Assignment.objects.select_for_update(of=("self",), no_key=True).get(pk=chosen.pk)
    assignment.hit = hit
    return hit, assignment


def _lock_of(requester: Requester, assignment_id: str) -> tuple[Hit, Assignment]:
    """The live assignment of that id on a HIT of the requester, and the HIT, locked."""
    rows = Assignment.objects.filter(assignment_id=assignment_id, hit__requester=requester)
    try:
        return _lock(rows.filter(state__in=LIVE_STATES), assignment_id)
    except DoesNotExist:
        if rows.exists():
            raise WrongState("Assignment", State.SUBMITTED) from None
        raise

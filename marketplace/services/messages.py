"""Messages between requesters and workers, and disputes. Shown on the site; nobody learns an address."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction

from marketplace import clock
from marketplace.errors import InvalidValue, NotAllowed, WrongState
from marketplace.models import Assignment, Dispute, Hit, Message, Requester, Worker
from marketplace.selectors.lookups import get_or_refuse
from marketplace.services.assignments import assignment_approve

MOST_WORKERS = 100
MOST_SUBJECT, MOST_TEXT = 200, 4096  # characters
Direction = Message.Direction


class NotNotified(NamedTuple):
    """A worker that was not notified, and why. It stays so."""

    worker_id: str
    message: str


@transaction.atomic
def workers_notify(*, requester: Requester, subject: str, text: str, worker_ids: Sequence[str]) -> list[NotNotified]:
    """Send the same message to up to 100 workers whose work the requester has approved or rejected, or who have written
    to the requester: a question is answered before any work is decided on.

    Gives those that were not notified. Raises InvalidValue.
    """
    if not 1 <= len(worker_ids) <= MOST_WORKERS:
        raise InvalidValue(f"WorkerIds takes from 1 to {MOST_WORKERS} ids, and {len(worker_ids)} were given.")
    _check_texts(subject, text)
    workers = {worker.worker_id: worker for worker in Worker.objects.filter(worker_id__in=worker_ids)}
    decided = Assignment.objects.filter(
        hit__requester=requester,
        worker__in=workers.values(),
        state__in=[Assignment.State.APPROVED, Assignment.State.REJECTED],
    )
    wrote = requester.messages.filter(worker__in=workers.values(), direction=Direction.TO_REQUESTER)
    known_workers = {
        *decided.values_list("worker__worker_id", flat=True),
        *wrote.values_list("worker__worker_id", flat=True),
    }
    failures, messages, at = [], [], clock.now()
    for worker_id in dict.fromkeys(worker_ids):
        worker = workers.get(worker_id)
        if worker is None:
            failures.append(NotNotified(worker_id, f"Worker {worker_id} does not exist."))
        elif worker_id not in known_workers:
            why = "Cannot send a notification to a worker who has not done any work for you"
            failures.append(NotNotified(worker_id, why))
        elif worker.status == Worker.Status.CLOSED:
            failures.append(NotNotified(worker_id, "The worker's account is closed."))
        else:
            ends = {"requester": requester, "worker": worker, "direction": Direction.TO_WORKER}
            messages.append(Message(**ends, subject=subject, text=text, sent_at=at))
    Message.objects.bulk_create(messages)
    return failures


def requester_contact(*, worker: Worker, hit_id: str, subject: str, text: str) -> Message:
    """A worker writes to the requester of a HIT. Raises DoesNotExist, InvalidValue."""
    hit = get_or_refuse(Hit.objects.select_related("requester").filter(hit_id=hit_id), "HIT", hit_id)
    return _send(hit.requester, worker, Direction.TO_REQUESTER, hit, subject, text)


def message_answer_by_worker(*, worker: Worker, message: Message, subject: str, text: str) -> Message:
    """A worker answers a requester, about a HIT or not. Raises InvalidValue, NotAllowed if it is another's message."""
    if message.worker_id != worker.pk:
        raise NotAllowed("This message is not yours.")
    return _send(message.requester, worker, Direction.TO_REQUESTER, message.hit, subject, text)


def message_answer_by_requester(*, message: Message, text: str) -> Message:
    """Answer a worker's message in the requester's name. Raises InvalidValue."""
    subject = subject_of_answer(message)
    return _send(message.requester, message.worker, Direction.TO_WORKER, message.hit, subject, text)


def _send(
    requester: Requester, worker: Worker, direction: Message.Direction, hit: Hit | None, subject: str, text: str
) -> Message:
    _check_texts(subject, text)
    ends = {"requester": requester, "worker": worker, "direction": direction, "hit": hit}
    return Message.objects.create(**ends, subject=subject, text=text, sent_at=clock.now())


def subject_of_answer(message: Message) -> str:
    return message.subject if message.subject.startswith("Re: ") else f"Re: {message.subject}"[:MOST_SUBJECT]


def message_read(*, worker: Worker, message_pk: int) -> Message:
    """Mark a message to a worker as read. Raises DoesNotExist."""
    rows = Message.objects.filter(pk=message_pk, worker=worker, direction=Direction.TO_WORKER)
    message = get_or_refuse(rows, "Message", message_pk)
    if message.read_at is None:
        message.read_at = clock.now()
        message.save(update_fields=["read_at"])
    return message


@transaction.atomic
def dispute_open(*, worker: Worker, assignment_id: str, text: str) -> Dispute:
    """A worker asks the operator to look at a rejection, once. Raises DoesNotExist, WrongState, InvalidValue."""
    if not text.strip() or len(text) > MOST_TEXT:
        raise InvalidValue(f"Say why the work should be approved, in up to {MOST_TEXT:,} characters.")
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True)
    assignment = get_or_refuse(rows.filter(worker=worker, assignment_id=assignment_id), "Assignment", assignment_id)
    if assignment.state != Assignment.State.REJECTED:
        raise WrongState("Assignment", Assignment.State.REJECTED)
    dispute, _ = Dispute.objects.get_or_create(assignment=assignment, defaults={"text": text, "opened_at": clock.now()})
    return dispute


@transaction.atomic
def dispute_close(*, dispute_pk: int, overturn: bool, answer: str) -> Dispute:
    """Decide a dispute. Overturned, the work is approved and paid out of the requester's account.

    Raises DoesNotExist, NotAllowed if it is closed, and what assignment_approve raises.
    """
    rows = Dispute.objects.select_for_update(of=("self",), no_key=True).select_related("assignment__hit__requester")
    dispute = get_or_refuse(rows.filter(pk=dispute_pk), "Dispute", dispute_pk)
    if dispute.state != Dispute.State.OPEN:
        raise NotAllowed("This dispute is closed.")
    assignment = dispute.assignment
    if overturn and assignment.state == Assignment.State.REJECTED:
        assignment_approve(requester=assignment.hit.requester, assignment_id=assignment.assignment_id, override=True)
    dispute.state = Dispute.State.OVERTURNED if overturn else Dispute.State.UPHELD
    dispute.answer = answer
    dispute.closed_at = clock.now()
    dispute.save(update_fields=["state", "answer", "closed_at"])
    return dispute


def _check_texts(subject: str, text: str) -> None:
    if not subject.strip() or len(subject) > MOST_SUBJECT:
        raise InvalidValue(f"The subject needs from 1 to {MOST_SUBJECT} characters, and has {len(subject):,}.")
    if not text.strip() or len(text) > MOST_TEXT:
        raise InvalidValue(f"The message needs from 1 to {MOST_TEXT:,} characters, and has {len(text):,}.")

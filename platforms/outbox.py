"""The outbox: planned calls are taken one by one, committed as sent, made once, and their outcome is written down.

A worker that dies leaves a row that is `sent`; after `LEASE` another one makes the call again, with the same token.
"""

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle, in_words
from core.errors import BadRequest, NotNow
from core.models import User
from core.retrying import Pauses
from core.updating import json_by_key
from platforms.adapter import Adapter, Trouble
from platforms.calls import SOUGHT, SPENDING, Answer, Handler, may_run
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit
from platforms.planning import end_plan
from platforms.registry import adapter_of, handler_of, phrase

LEASE = timedelta(minutes=5)  # much longer than a call can take: the process that holds an operation longer is gone
PAUSES = Pauses(timedelta(seconds=4), timedelta(minutes=15))
# Seconds that a run waits for its turn under the publication's rate before it leaves the rest to the next.
PATIENCE = 5.0
log = logging.getLogger(__name__)
State = Operation.State
UNFINISHED = (State.PLANNED, State.SENT, State.UNKNOWN)


class Taken(NamedTuple):
    """An operation whose call is to be made in `wait` seconds; `in_doubt` if an earlier call may have done it."""

    operation: Operation
    wait: float
    in_doubt: bool


class Unsettled(Exception):
    """Whether a call was done cannot be told, and it is not made again."""


class Backlog(NamedTuple):
    """Calls that are not done, on all publications, by state; and how long the oldest of those that may be made has
    been due, in seconds.
    """

    by_state: dict[str, int]
    late_seconds: float


def backlog() -> Backlog:
    unfinished = Operation.objects.filter(state__in=UNFINISHED)
    counts = dict(unfinished.order_by("state").values_list("state").annotate(Count("id")))
    open_to_calls = unfinished.filter(publication__state=Publication.State.OPEN)
    oldest = open_to_calls.aggregate(at=Min("next_try"))["at"]
    late = (timezone.now() - oldest).total_seconds() if oldest else 0.0
    return Backlog({state.value: counts.get(state, 0) for state in UNFINISHED}, max(0.0, late))


def operations_run(
    *,
    publication: Publication,
    limit: int = 200,
    clock: Callable[[], datetime] = timezone.now,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Make up to `limit` planned calls of a publication, at its rate, and return how many were made.

    Any number of processes may do this at once.
    """
    adapter = adapter_of(publication)
    client = adapter.client()
    calls, settled = 0, set[PlatformAlarm]()
    while calls < limit:
        call = _take(publication, clock())
        if call is None:
            break
        operation = call.operation
        if call.wait > 0:
            sleep(call.wait)
        adapter.assert_host(client)
        handler = adapter.operations[Operation.Kind(operation.kind)]
        together = [operation, *_take_more(operation, handler.at_once, clock())]
        calls += len(together)
        if len(together) == 1:
            done = _attempt(adapter, client, call, clock)
        else:
            done = _attempt_together(adapter, client, together, clock)
        if done:
            over = {PlatformAlarm.ACCOUNT} | ({PlatformAlarm.FUNDS} if operation.kind in SPENDING else set())
            for kind in over - settled:
                alarm_settle(of=publication, kind=kind, at=clock())
            settled |= over
    return calls


def _sendable(publication: Publication, at: datetime) -> QuerySet[Operation]:
    """What may be sent now. What may not be made again while paused or stopped can be looked for, if it is in doubt."""
    lost = Q(state=State.UNKNOWN, next_try__lte=at) | Q(state=State.SENT, sent_at__lte=at - LEASE)
    ready = Operation.objects.filter(lost | Q(state=State.PLANNED, next_try__lte=at), publication_id=publication.pk)
    if publication.state == Publication.State.OPEN:
        return ready
    if publication.state == Publication.State.DRAFT:
        return ready.none()
    running = [kind for kind in Operation.Kind if may_run(kind, publication.state)]
    return ready.filter(Q(kind__in=running) | (lost & Q(kind__in=SOUGHT)))


@transaction.atomic
def _take(publication: Publication, at: datetime) -> Taken | None:
    """The next operation, committed as sent before anything is sent.

    None if nothing waits, others hold all that does, or the next turn is too far away.
    """
    locked = Publication.objects.select_for_update(of=("self",), no_key=True)
    row = locked.select_related("campaign").get(pk=publication.pk)
    turn = max(at, row.next_call_at or at)
    wait = (turn - at).total_seconds()
    if wait > PATIENCE:
        return None
    operation = (
        _sendable(row, at)
        .select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("published_hit", "terms")
        .order_by("next_try", "id")
        .first()
    )
    if operation is None:
        return None
    Publication.objects.filter(pk=row.pk).update(next_call_at=turn + timedelta(seconds=1 / row.rate))
    # Since when it may have been done: what may no longer be known by its token is looked for first (see _answer).
    in_doubt = operation.first_sent_at is not None
    operation.first_sent_at = operation.first_sent_at or turn
    operation.state = State.SENT
    operation.sent_at = turn
    operation.attempts += 1
    operation.save(update_fields=["state", "sent_at", "first_sent_at", "attempts"])
    operation.publication = row
    if operation.payment_id is not None:
        owed = Payment.objects.filter(pk=operation.payment_id, state=Payment.State.OWED)
        owed.update(state=Payment.State.SENT)
    return Taken(operation, wait, in_doubt)


@transaction.atomic
def _take_more(first: Operation, at_once: int, at: datetime) -> list[Operation]:
    """More operations of a kind that is made together, where the `first` was never tried either: committed as sent."""
    if at_once == 1 or first.attempts > 1:
        return []
    ready = _sendable(first.publication, at).filter(kind=first.kind, state=State.PLANNED, attempts=0)
    more = list(
        ready.select_for_update(skip_locked=True, of=("self",), no_key=True).order_by("next_try", "id")[: at_once - 1]
    )
    keys = [operation.pk for operation in more]
    Operation.objects.filter(pk__in=keys).update(state=State.SENT, sent_at=at, first_sent_at=at, attempts=1)
    payments = [operation.payment_id for operation in more if operation.payment_id is not None]
    Payment.objects.filter(pk__in=payments, state=Payment.State.OWED).update(state=Payment.State.SENT)
    for operation in more:
        operation.publication, operation.attempts, operation.first_sent_at = first.publication, 1, at
    return more


def _attempt_together(
    adapter: Adapter, client: Any, operations: list[Operation], clock: Callable[[], datetime]
) -> bool:
    """Make calls that were never tried as one, and write down what came of it. What is not surely done is tried again
    alone, where each call looks first. Whether the platform took any.
    """
    publication = operations[0].publication
    handler = adapter.operations[Operation.Kind(operations[0].kind)]
    try:
        answers = handler.make_together(client, operations)
        done = [row for row in operations if row.pk in answers]
        operations_finish(handler=handler, operations=done, answers=answers, at=clock())
    except adapter.errors as error:
        if adapter.trouble_of(error) in (Trouble.STATE, Trouble.REFUSED):  # because of one of them, perhaps
            log.warning("%d calls of publication %s: %s", len(operations), publication.pk, error)
            answers = {}
        else:
            for operation in operations:
                _fail(adapter, Taken(operation, 0.0, in_doubt=False), error, clock())
            return False
    except Exception as error:
        log.exception("%d calls of publication %s", len(operations), publication.pk)
        for operation in operations:
            _doubt(operation, error, clock())
        return False
    for operation in operations:
        if operation.pk not in answers:
            _not_done(Taken(operation, 0.0, in_doubt=False), "", clock())
    return bool(answers)


@transaction.atomic
def operations_finish(
    *, handler: Handler, operations: Sequence[Operation], answers: Mapping[int, Answer], at: datetime
) -> int:
    """Write down that operations of one kind are done, with their effects. How many were not before."""
    locked = Operation.objects.select_for_update(no_key=True).filter(pk__in=[row.pk for row in operations])
    keys = set(locked.filter(state__in=UNFINISHED).order_by("pk").values_list("pk", flat=True))
    rows = [row for row in operations if row.pk in keys]
    if rows:
        results = json_by_key({row.pk: answers[row.pk] for row in rows})
        Operation.objects.filter(pk__in=keys).update(state=State.DONE, ended_at=at, result=results, error="")
        handler.apply_together(rows, answers, at)
    return len(rows)


def _attempt(adapter: Adapter, client: Any, call: Taken, clock: Callable[[], datetime]) -> bool:
    """Make a taken call and write down what came of it. Whether the platform took it."""
    operation, handler = call.operation, adapter.operations[Operation.Kind(call.operation.kind)]
    try:
        answer = _answer(adapter, handler, client, operation, clock())
        if answer is not None:
            operation_finish(handler=handler, operation=operation, answer=answer, at=clock())
    except Unsettled:
        _unsettle(operation, clock())
        return False
    except adapter.errors as error:
        _fail(adapter, call, error, clock())
        return False
    except Exception as error:
        log.exception("%s of publication %s", operation, operation.publication_id)
        _doubt(operation, error, clock())
        return False
    if answer is None:
        _again(operation, State.PLANNED, "", clock())
        return False
    if operation.attempts > 1:
        alarm_settle(of=operation.publication, kind=PlatformAlarm.DOUBT, about=operation, at=clock())
    return "superseded" not in answer


def _answer(adapter: Adapter, handler: Handler, client: Any, operation: Operation, at: datetime) -> Answer | None:
    """What the platform says to a call, new or repeated; None if it was only looked for, and is not there."""
    if handler.is_overtaken(operation):
        return {"superseded": True}
    if not handler.may_repeat(operation):
        recalled = handler.find(client, operation)
        if recalled is None:
            raise Unsettled
        return recalled
    first = operation.first_sent_at or at
    held_back = operation.kind in SOUGHT and not may_run(operation.kind, operation.publication.state)
    if operation.attempts > 1 and (held_back or at - first > adapter.token_life):
        recalled = handler.find(client, operation)
        if recalled is not None or held_back:
            return recalled
        # Not done, and the token's day is over: from here it counts anew.
        Operation.objects.filter(pk=operation.pk).update(first_sent_at=at)
    try:
        return handler.make(client, operation)
    except adapter.errors as error:
        trouble = adapter.trouble_of(error)
        if trouble == Trouble.REPEATED:
            return handler.recall(client, error, operation)
        if trouble in (Trouble.STATE, Trouble.REFUSED):
            recalled = handler.find(client, operation)
            if recalled is not None:
                return recalled
        raise


@transaction.atomic
def operation_finish(*, handler: Handler, operation: Operation, answer: Answer, at: datetime) -> bool:
    """Write down that an operation is done, with its effects. Returns False where that stood before."""
    done = Operation.objects.filter(pk=operation.pk, state__in=UNFINISHED).update(
        state=State.DONE, ended_at=at, result=answer, error=""
    )
    if done:
        _apply(handler, operation, answer, at)
    return bool(done)


def _apply(handler: Handler, operation: Operation, answer: Answer, at: datetime) -> None:
    """Store what follows from what was done. A HIT that should not have been opened by now is ended."""
    if "superseded" in answer:
        handler.overtake(operation)
        return
    handler.apply(operation, answer, at)
    if not handler.opens:
        return
    # Paused or stopped while the call was on its way; or the work that it compensates has arrived after all.
    publication = Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
    published_hit = PublishedHit.objects.select_for_update(no_key=True, of=("self",)).get(operations=operation)
    operation.published_hit = published_hit
    withdrawn = Payment.objects.filter(operations=operation, state=Payment.State.REFUSED).exists()
    if not handler.is_overtaken(operation) and (withdrawn or not may_run(operation.kind, publication.state)):
        end_plan(publication=publication, published_hits=[published_hit], at=at)


def _fail(adapter: Adapter, call: Taken, error: Exception, at: datetime) -> None:
    operation, publication = call.operation, call.operation.publication
    trouble = adapter.trouble_of(error)
    text = f"{adapter.code_of(error)}: {error}"[:2000]
    log.warning("%s of publication %s: %s", operation, publication.pk, text)
    if trouble == Trouble.THROTTLED:
        pause = _wait(operation.attempts)
        slower = at + min(pause, timedelta(seconds=PATIENCE))
        Publication.objects.filter(pk=publication.pk, next_call_at__lt=slower).update(next_call_at=slower)
        _not_done(call, text, at)
    elif trouble in (Trouble.FUNDS, Trouble.ACCOUNT):
        words = {
            Trouble.FUNDS: _(
                "The account at the platform cannot pay for the planned calls. Add money; they continue automatically."
            ),
            Trouble.ACCOUNT: _("The platform does not accept our access key. %(what_to_do)s"),
        }[trouble]
        words = phrase(publication, words) % {"what_to_do": adapter.how_to_give_access()}
        alarm_raise(of=publication, kind=PlatformAlarm(trouble), text=words, at=at)
        _not_done(call, text, at)
    elif trouble == Trouble.UNKNOWN:
        _again(operation, State.UNKNOWN, text, at)
    elif trouble == Trouble.STATE and operation.attempts < 12:  # within minutes of a submission, reviews can fail
        _not_done(call, text, at)
    else:
        _refuse(operation, text, at)


def _doubt(operation: Operation, error: Exception, at: datetime) -> None:
    """The platform's answer cannot be understood: it may have done what was asked. Tried again, by its token."""
    words = _(
        "The platform was asked to %(what)s, but its answer could not be understood (%(error)s). The call will "
        "be tried again."
    )
    _leave_in_doubt(operation, in_words(error), words, at)


def _unsettle(operation: Operation, at: datetime) -> None:
    """Looked for again, and left to a person: the platform would do it twice."""
    words = _(
        "The platform was asked to %(what)s (%(about)s), and nothing says yet whether that was done. It is never done "
        "again by itself. Look at the platform, and say under Calls whether it was done."
    )
    _leave_in_doubt(operation, _("Nothing says yet whether it was done. It is not done again by itself."), words, at)


def _leave_in_doubt(operation: Operation, error: str, words: str, at: datetime) -> None:
    publication = operation.publication
    _again(operation, State.UNKNOWN, error, at)
    values = {"what": _what(operation), "error": error, "about": phrase(publication, operation.about)}
    text = phrase(publication, words) % values
    alarm_raise(of=publication, kind=PlatformAlarm.DOUBT, about=operation, text=text, at=at)


@transaction.atomic
def _refuse(operation: Operation, text: str, at: datetime) -> None:
    if Operation.objects.filter(pk=operation.pk, state=State.SENT).update(state=State.REFUSED, ended_at=at, error=text):
        Payment.objects.filter(operations=operation).exclude(state=Payment.State.PAID).update(
            state=Payment.State.REFUSED, evidence={"error": text}
        )
        sentence = phrase(operation.publication, _("The platform refused to %(what)s: %(error)s"))
        words = sentence % {"what": _what(operation), "error": text}
        alarm_raise(of=operation.publication, kind=PlatformAlarm.REFUSED, about=operation, text=words, at=at)


def _what(operation: Operation) -> str:
    """What a call is to do, in its platform's words."""
    return phrase(operation.publication, operation.get_kind_display())


def _not_done(call: Taken, error: str, at: datetime) -> None:
    """This attempt did nothing. An earlier one may have: then it stays in doubt."""
    if call.in_doubt:
        _again(call.operation, State.UNKNOWN, error, at)
    else:
        Operation.objects.filter(pk=call.operation.pk, state=State.SENT).update(first_sent_at=None)
        _again(call.operation, State.PLANNED, error, at)


def _again(operation: Operation, state: str, error: str, at: datetime) -> None:
    """To be tried later, and later each time."""
    Operation.objects.filter(pk=operation.pk, state=State.SENT).update(
        state=state, error=error, next_try=at + _wait(operation.attempts)
    )


def _wait(attempts: int) -> timedelta:
    """Twice as long each time up to a bound, with jitter: between half and the whole of it."""
    return PAUSES.after(attempts) * (0.5 + secrets.randbelow(501) / 1000)


@transaction.atomic
def operation_retry(*, operation: Operation, at: datetime) -> bool:
    """Let a person try a refused operation again, with the same token. Returns whether it was refused."""
    # Not its first attempt: what it was to do may have been done, and is looked for once the token is old.
    again = Operation.objects.filter(pk=operation.pk, state=State.REFUSED).update(
        state=State.PLANNED, next_try=at, ended_at=None, attempts=1
    )
    if again:
        Payment.objects.filter(operations=operation, state=Payment.State.REFUSED).update(state=Payment.State.OWED)
        alarm_settle(of=operation.publication, kind=PlatformAlarm.REFUSED, about=operation, at=at)
    return bool(again)


def may_be_decided(publication: Publication) -> set[int]:
    """Keys of the calls in doubt that are never made again, so that a person says whether they were done."""
    doubtful = publication.operations.filter(state=State.UNKNOWN)
    return {row.pk for row in doubtful if not handler_of(publication, row.kind).may_repeat(row)}


@transaction.atomic
def operation_decide(*, operation: Operation, was_done: bool, why: str, by: User, at: datetime) -> bool:
    """Let a person say whether a call was done that the platform would do twice; if not, it is made once more.

    Returns whether it was in doubt. Raises BadRequest without a reason, and NotNow where a person says that it was
    not done while the platform may still do it.
    """
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    row = (
        Operation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("publication")
        .get(pk=operation.pk)
    )
    handler = handler_of(row.publication, row.kind)
    if row.state != State.UNKNOWN or handler.may_repeat(row):
        return False
    comes_until = handler.comes_until(row)
    if not was_done and comes_until is not None and at < comes_until:
        words = _(
            "The platform may still do what it was asked for. Look again after %(time)s UTC: what is not there by then "
            "was not done. Nothing was changed."
        )
        raise NotNow(words % {"time": f"{comes_until:%-d %b %Y, %H:%M}"})
    decided = {"decided": why.strip(), "by": by.get_username(), "was_done": was_done}
    alarm_settle(of=row.publication, kind=PlatformAlarm.DOUBT, about=row, at=at)
    if was_done:
        return operation_finish(handler=handler, operation=row, answer=row.result | decided, at=at)
    row.state, row.next_try, row.first_sent_at, row.attempts = State.PLANNED, at, None, 0
    row.result, row.error = {}, why.strip()
    row.save(update_fields=["state", "next_try", "first_sent_at", "attempts", "result", "error"])
    return True

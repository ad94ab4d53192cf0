"""Every kind of call to a platform: the rules that hold for it at all of them, and what a platform adds.

A `Handler` makes the calls of some kinds at one platform. What a call is made through (`client`) is the platform's own
business: the rest of the package hands it on.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from core.updating import json_by_key
from platforms.models import Operation, Payment, Publication, PublishedHit, Submission, TermsVersion
from tasks.models import Worker

Answer = dict[str, Any]
Kind, State = Operation.Kind, Publication.State
BONUSES = (Kind.BONUS, Kind.EXTRA_BONUS, Kind.ADJUST)
# What needs money in the account.
SPENDING = frozenset({*BONUSES, Kind.CREATE, Kind.EXTEND, Kind.COMPENSATE, Kind.APPROVE})
# What is not done while a publication is paused, and what is done even while it is stopped by the kill switch.
HELD_BY_A_PAUSE = frozenset({Kind.CREATE, Kind.EXTEND, Kind.REOPEN})
UNSTOPPED = frozenset({Kind.EXPIRE, Kind.EXCLUDE})
# What is looked for, if it is in doubt while it may not be done, and not done again.
SOUGHT = frozenset({Kind.CREATE})
DECISIONS = {Kind.APPROVE: Submission.Status.APPROVED, Kind.REJECT: Submission.Status.REJECTED}
COMPENSATION_TIME = timedelta(hours=1)  # that a worker has to take a compensation once it is accepted


def may_run(kind: str, state: str) -> bool:
    """Whether a call of this kind is made while its publication is in this state."""
    if state == State.STOPPED:
        return kind in UNSTOPPED
    return state == State.OPEN or (state == State.PAUSED and kind not in HELD_BY_A_PAUSE)


class Handler(ABC):
    """Makes the calls of some kinds at one platform.

    `opens`: whether a HIT is open at the platform once it is done, which is ended if the call could not be made any
    more. `at_once`: how many that were never tried are made together; whatever comes of none of them then is made again
    alone.
    """

    opens: ClassVar[bool] = False
    at_once: ClassVar[int] = 1

    @abstractmethod
    def request(self, operation: Operation) -> Answer:
        """What is asked for, from the relations of a planned operation alone; the token is added when it is sent."""

    @abstractmethod
    def make(self, client: Any, operation: Operation) -> Answer:
        """Make the call once. The answer, as it is stored."""

    @abstractmethod
    def find(self, client: Any, operation: Operation) -> Answer | None:
        """What it was to do, where the platform says that this is done; None if it is not, or cannot be told.

        What may be made again without harm is never looked for.
        """

    @abstractmethod
    def recall(self, client: Any, error: Exception, operation: Operation) -> Answer:
        """The answer of a call that was refused because the platform has seen its token: what was done the first time.

        Raises the error again where that cannot be told.
        """

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """Store what follows here once it is done. Runs in the transaction that marks it done."""
        if operation.kind in BONUSES or operation.kind == Kind.APPROVE:
            self.settle(operation, answer, at)
        if operation.kind in DECISIONS:
            decided = Submission.objects.filter(pk__in=[operation.submission_id])
            decided.update(status=DECISIONS[Kind(operation.kind)])

    def settle(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The payment that the call makes, if it makes one, is paid."""
        if operation.payment_id is not None:
            payments_settle(evidence={operation.payment_id: self.evidence(operation, answer)}, at=at)

    def evidence(self, operation: Operation, answer: Answer) -> Answer:
        """The platform's word for a payment, as the ledger keeps it."""
        return {"operation": operation.kind, **answer}

    def make_together(self, client: Any, operations: Sequence[Operation]) -> dict[int, Answer]:
        """Make several calls as one. The answers, as they are stored, by key, of those that are surely done."""
        return {}

    def apply_together(self, operations: Sequence[Operation], answers: Mapping[int, Answer], at: datetime) -> None:
        """Store what follows, as `apply` does for one."""
        for operation in operations:
            self.apply(operation, answers[operation.pk], at)

    def is_overtaken(self, operation: Operation) -> bool:
        """Whether a later decision has made the call pointless. It is done then, and not sent."""
        return operation.kind in (Kind.EXPIRE, Kind.REOPEN) and operation.turn < hit_of(operation).turn

    def overtake(self, operation: Operation) -> None:
        """Store what follows from having been overtaken."""
        return

    def may_repeat(self, operation: Operation) -> bool:
        """Whether a call that may have been done can be made again without harm, by its token or by what it asks for.

        Where it cannot, it is only looked for; what cannot be told is decided by a person.
        """
        return True

    def comes_until(self, operation: Operation) -> datetime | None:
        """Until when the platform may still do what it was asked for, though nothing shows it: before that, nobody can
        know that it was not done. None if what is not seen was not done.
        """
        return None


def payments_settle(*, evidence: Mapping[int, Answer], at: datetime) -> int:
    """Mark payments paid, each with the platform's word for it, by key. How many were not paid before."""
    unpaid = Payment.objects.filter(pk__in=list(evidence)).exclude(state=Payment.State.PAID)
    return unpaid.update(state=Payment.State.PAID, paid_at=at, evidence=json_by_key(evidence))


# --- what a call is about: the database holds that each kind has its own


def hit_of(operation: Operation) -> PublishedHit:
    assert operation.published_hit is not None
    return operation.published_hit


def payment_of(operation: Operation) -> Payment:
    assert operation.payment is not None
    return operation.payment


def submission_of(operation: Operation) -> Submission:
    assert operation.submission is not None
    return operation.submission


def worker_of(operation: Operation) -> Worker:
    assert operation.worker is not None
    return operation.worker


def terms_of(operation: Operation) -> TermsVersion:
    assert operation.terms is not None
    return operation.terms


def exclusion_name(operation: Operation, key: str) -> str:
    """By what the exclusion of a lab's workers is found again at the platform, also after the lab was renamed: the name
    under `key` in the first request for it.
    """
    lab = operation.publication.campaign.lab
    others = Operation.objects.filter(
        kind=operation.kind, publication__campaign__lab=lab, publication__platform=operation.publication.platform
    )
    first = others.filter(request__has_key=key).order_by("pk").first()
    return str(first.request[key]) if first else f"No further tasks of {lab.name[:100]} ({lab.pk})"

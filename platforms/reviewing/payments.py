"""An approval, and every payment that follows from it."""

from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from core.errors import BadRequest
from core.models import User
from platforms.alarms import ABOUT_DECIDING, raised_about
from platforms.calls import payments_settle
from platforms.models import Operation, Payment, Publication, Submission
from platforms.planning import operation_plan
from platforms.registry import adapter_of

Kind, Purpose, Decision, Status = Operation.Kind, Payment.Purpose, Submission.Decision, Submission.Status


def submission_pay(submission: Submission, *, by: User | None, reason: str, at: datetime, bonus: bool = True) -> None:
    """Write down the decision and every payment that follows from it. The caller holds the row."""
    submission.decision, submission.decided_by = Decision.APPROVE, by
    submission.decided_at, submission.reason = at, reason
    submission.save(update_fields=["decision", "decided_by", "decided_at", "reason"])
    publication = submission.publication
    base = publication.listed
    adapter = adapter_of(publication)
    reward = payment_of(
        submission, Purpose.REWARD, base, adapter.reward_fee(base, submission.published_hit.max_assignments), at
    )
    if submission.status == Status.APPROVED:
        reward.state, reward.paid_at = Payment.State.PAID, at
        reward.evidence = {"found": "Approved", "AssignmentId": submission.platform_assignment_id}
        reward.save(update_fields=["state", "paid_at", "evidence"])
    else:
        _plan_to_pay(Kind.APPROVE, submission, reward, at)
    owed = bonus_owed(submission) if bonus else Decimal(0)
    if owed > 0:
        payment = payment_of(submission, Purpose.BONUS, owed, adapter.bonus_fee(owed), at)
        _plan_to_pay(Kind.BONUS, submission, payment, at)


def _plan_to_pay(kind: str, submission: Submission, payment: Payment, at: datetime) -> None:
    """Plan the call that pays: once more, where it was void because the work had been returned."""
    publication = submission.publication
    call = operation_plan(publication=publication, kind=kind, submission=submission, payment=payment, at=at)
    if payment.state == Payment.State.REFUSED:
        Payment.objects.filter(pk=payment.pk).update(state=Payment.State.OWED, evidence={})
        Operation.objects.filter(pk=call.pk, state=Operation.State.REFUSED).update(
            state=Operation.State.PLANNED, next_try=at, ended_at=None, attempts=0, error=""
        )


def bonus_owed(submission: Submission) -> Decimal:
    """What is owed beyond the listed reward: only a base and a bonus leave anything."""
    if submission.assignment is None or submission.publication.pay != Publication.Pay.BASE_AND_BONUS:
        return Decimal("0.00")
    return max(Decimal("0.00"), submission.assignment.owed - submission.publication.listed)


def payment_of(submission: Submission, purpose: str, amount: Decimal, fee: Decimal, at: datetime) -> Payment:
    key = {"assignment": submission.assignment} if submission.assignment_id else {"submission": submission}
    if (written := Payment.objects.filter(**key, purpose=purpose).first()) is not None:
        return written
    if submission.assignment_id:  # perhaps it was written before its work was found here
        submission.payments.filter(purpose=purpose, assignment=None).update(assignment=submission.assignment)
    payment, _new = Payment.objects.get_or_create(
        **key,
        purpose=purpose,
        defaults={
            "publication": submission.publication,
            "submission": submission,
            "amount": amount,
            "fee": fee,
            "owed_at": at,
        },
    )
    return payment


def offer_taken(submission: Submission) -> Payment | None:
    """The compensation that somebody took by a submission."""
    if submission.published_hit.hit_id is not None:
        return None
    offers = Operation.objects.filter(published_hit=submission.published_hit_id, kind=Kind.COMPENSATE)
    return Payment.objects.filter(operations__in=offers).first()


def compensation_pay(submission: Submission, payment: Payment, *, by: User | None, reason: str, at: datetime) -> None:
    """Approve a compensation that was taken, which pays that, and nothing else."""
    submission.decision, submission.decided_by = Decision.APPROVE, by
    submission.decided_at, submission.reason = at, reason
    submission.save(update_fields=["decision", "decided_by", "decided_at", "reason"])
    if submission.status == Status.APPROVED:
        evidence = {"found": "Approved", "AssignmentId": submission.platform_assignment_id}
        payments_settle(evidence={payment.pk: evidence}, at=at)
    else:
        _plan_to_pay(Kind.APPROVE, submission, payment, at)


def compensation_end(payment: Payment, evidence: dict[str, str]) -> None:
    payment.state, payment.evidence = Payment.State.REFUSED, evidence
    payment.save(update_fields=["state", "evidence"])


def alarms_settle(submission: Submission, at: datetime) -> None:
    raised_about(submission.pk, *ABOUT_DECIDING).update(settled_at=at)


def reason_of(why: str) -> str:
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    return why.strip()

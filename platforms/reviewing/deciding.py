"""What people decide on submitted work: to approve, reject, ask for a return, or pay a bonus."""

import logging
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow
from core.models import Alarm, User
from core.money import CENT
from platforms.alarms import raised_about
from platforms.models import Operation, Payment, PlatformAlarm, PublishedHit, Submission
from platforms.planning import operation_plan
from platforms.registry import adapter_of, phrase
from platforms.reviewing.compensated import compensated_before
from platforms.reviewing.payments import (
    alarms_settle,
    compensation_end,
    compensation_pay,
    offer_taken,
    payment_of,
    reason_of,
    submission_pay,
)

Kind, Purpose, Decision, Status = Operation.Kind, Payment.Purpose, Submission.Decision, Submission.Status
MOST_BONUS = Decimal(100)  # in one decision, for one assignment: more is likely a slip of the finger
log = logging.getLogger(__name__)


@transaction.atomic
def submission_approve(*, submission: Submission, by: User, why: str, at: datetime) -> Submission:
    """A person approves submitted work, or books what was approved at the platform although it was rejected here. Work
    that was compensated gets no bonus. Approving again is not an error.
    """
    submission = _undecided(submission, Decision.APPROVE)
    if submission.decision != Decision.APPROVE:
        if (payment := offer_taken(submission)) is not None:
            compensation_pay(submission, payment, by=by, reason=reason_of(why), at=at)
        else:
            payment = compensated_before(submission, at)
            if payment is not None and submission.status == Status.SUBMITTED:
                _must_have_been_told(submission, payment)
            submission_pay(submission, by=by, reason=reason_of(why), at=at, bonus=payment is None)
        alarms_settle(submission, at)
    return submission


def _must_have_been_told(submission: Submission, payment: Payment) -> None:
    """Raise NotNow where a person approves compensated work before the jobs have said that this pays it again."""
    if not Alarm.objects.filter(about="submission", about_id=submission.pk, kind=PlatformAlarm.TWICE).exists():
        text = _("This work was compensated with %(paid)s before. In a minute, you can choose to pay it again.")
        raise NotNow(text % {"paid": submission.publication.campaign.money(payment.amount)})


@transaction.atomic
def submission_reject(*, submission: Submission, by: User, why: str, at: datetime, category: str = "") -> Submission:
    """A person rejects submitted work: the worker reads the reason, and is not paid. Only before it was approved.

    Raises BadRequest for a reason that is shorter than the platform takes, or a category that it does not have.
    """
    submission = _undecided(submission, Decision.REJECT)
    if submission.decision == Decision.NONE:
        reason, adapter = reason_of(why), adapter_of(submission.publication)
        if len(reason) < adapter.least_rejection:
            text = _("The reason has %(seen)d characters. At this platform, a rejection has at least %(least)d.")
            raise BadRequest(
                phrase(submission.publication, text) % {"seen": len(reason), "least": adapter.least_rejection}
            )
        if category and category not in adapter.rejection_categories:
            text = _("This platform has no rejection category “%(seen)s”.")
            raise BadRequest(phrase(submission.publication, text) % {"seen": category})
        if submission.status != Status.SUBMITTED:
            text = _("At the platform, this work is “%(status)s”.")
            raise NotNow(phrase(submission.publication, text) % {"status": submission.get_status_display()})
        if (payment := offer_taken(submission)) is not None:
            compensation_end(payment, {"declined": reason, "by": by.get_username()})
        else:
            compensated_before(submission, at)
        submission.decision, submission.decided_by = Decision.REJECT, by
        submission.decided_at, submission.reason, submission.rejection_category = at, reason, category
        submission.save(update_fields=["decision", "decided_by", "decided_at", "reason", "rejection_category"])
        operation_plan(publication=submission.publication, kind=Kind.REJECT, submission=submission, at=at)
        alarms_settle(submission, at)
    return submission


def may_ask_return(submission: Submission) -> bool:
    """Whether its worker can be asked to return a submission: work that is stored here with answers is paid instead,
    unless it was paid before.
    """
    if Kind.ASK_RETURN not in adapter_of(submission.publication).operations:
        return False
    if submission.assignment is None or submission.assignment.judged == 0:
        return True
    return raised_about(submission.pk, PlatformAlarm.TWICE).exists()


def may_book(submission: Submission) -> bool:
    """Whether the platform has paid for work that nobody approved here, so that a person can book what it paid."""
    return submission.decision in (Decision.NONE, Decision.REJECT) and submission.status == Status.APPROVED


@transaction.atomic
def return_ask(*, submission: Submission, by: User, why: str, at: datetime, return_reason: str = "") -> Operation:
    """A person asks the worker to return a submission, and says why: the worker reads one of the platform's own reasons
    if it is given, and else what the person wrote. It stays undecided until it is returned. Asking again is not an
    error, and not done twice.
    """
    submission = _undecided(submission, Decision.NONE)
    reason = reason_of(why)
    if return_reason and return_reason not in adapter_of(submission.publication).return_reasons:
        text = _("“%(seen)s” is not one of the platform's reasons for a return.")
        raise BadRequest(phrase(submission.publication, text) % {"seen": return_reason})
    request = submission.operations.filter(kind=Kind.ASK_RETURN).first()
    if request is not None:
        return request
    if not may_ask_return(submission):
        raise NotNow(_("Its worker cannot be asked to return this: work that is stored here is paid."))
    if submission.status != Status.SUBMITTED:
        raise NotNow(_("At the platform, this work is “%(status)s”.") % {"status": submission.get_status_display()})
    submission.reason, submission.return_reason, submission.return_asked_by = reason, return_reason, by
    submission.save(update_fields=["reason", "return_reason", "return_asked_by"])
    log.info("Submission %s: %s asks for a return", submission.pk, by.pk)
    return operation_plan(publication=submission.publication, kind=Kind.ASK_RETURN, submission=submission, at=at)


@transaction.atomic
def bonus_grant(*, submission: Submission, amount: Decimal, by: User, why: str, at: datetime) -> Payment:
    """A person pays a bonus beyond what is owed, for work that was approved. Granting the same again is not an error.

    An assignment gets one at most. The worker reads why.
    """
    locked = Submission.objects.select_for_update(of=("self",), no_key=True)
    submission = locked.select_related("publication__campaign", "assignment").get(pk=submission.pk)
    reason = reason_of(why)
    if submission.decision != Decision.APPROVE:
        raise NotNow(_("Only work that was approved can get a bonus."))
    money = submission.publication.campaign.money
    if not Decimal(0) < amount <= MOST_BONUS:
        text = _("A bonus is between %(least)s and %(most)s.")
        raise BadRequest(text % {"least": money(CENT), "most": money(MOST_BONUS)})
    fee = adapter_of(submission.publication).bonus_fee(amount)
    payment = payment_of(submission, Purpose.EXTRA, amount, fee, at)
    if payment.by is not None:
        if payment.amount != amount:
            raise NotNow(_("This work got an extra bonus of %(amount)s before.") % {"amount": money(payment.amount)})
        if payment.state == Payment.State.REFUSED:
            text = _("The platform refused this bonus. Under Calls, read why, and try that call again.")
            raise NotNow(phrase(submission.publication, text))
        return payment
    payment.by, payment.why = by, reason
    payment.save(update_fields=["by", "why"])
    publication = submission.publication
    PublishedHit.objects.filter(pk=submission.published_hit_id).update(
        settled_at=None
    )  # the ledgers are to be compared
    operation_plan(publication=publication, kind=Kind.EXTRA_BONUS, submission=submission, payment=payment, at=at)
    return payment


def _undecided(submission: Submission, decision: str) -> Submission:
    row = (
        Submission.objects.select_for_update(of=("self",), no_key=True)
        .select_related("publication__campaign", "published_hit", "assignment")
        .get(pk=submission.pk)
    )
    books = decision == Decision.APPROVE and may_book(row)
    if row.decision not in (Decision.NONE, decision) and not books:
        raise NotNow(_("This work has already been decided on: %(what)s.") % {"what": row.get_decision_display()})
    return row

"""Deciding on submitted work, and paying for it: by default all of it, whatever becomes of its data."""

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import BadRequest, NotNow
from core.models import User
from core.money import CENT
from platforms.alarms import alarm_raise, alarm_settle, resting
from platforms.models import Alarm, Operation, Payment, Publication, PublishedHit, StudySync, Submission
from platforms.payments import COMPENSATION_TIME, payment_settle
from platforms.planning import end_plan, operation_plan, published_hits_plan, reopen_plan
from platforms.registry import adapter_of, phrase
from platforms.study_opening import study_pause, study_reopen
from pools.models import Campaign
from tasks.campaign_alarms import in_words
from tasks.models import Assignment, Worker

Kind, Purpose, Decision, Status = Operation.Kind, Payment.Purpose, Submission.Decision, Submission.Status
BATCH = 200
GRACE = timedelta(hours=1)
MOST_BONUS = Decimal(100)  # in one decision, for one assignment: more is likely a slip of the finger
log = logging.getLogger(__name__)


def publication_settle(*, publication: Publication, at: datetime) -> int:
    """Decide on submitted work that is matched and checked, and plan what it is paid. How many were decided."""
    _check_compensated(publication, at)
    failed: dict[int, Exception] = {}
    decided, more = 0, True
    while more:
        batch, more = _settle_batch(publication, at, failed)
        decided += batch
    _raise_undecided(publication, failed, at)
    _compensations_approve(publication, at)
    workers_exclude(publication=publication, at=at)
    compensations_find(publication=publication, at=at)
    return decided


@transaction.atomic
def _settle_batch(publication: Publication, at: datetime, failed: dict[int, Exception]) -> tuple[int, bool]:
    """Decide on the next submissions, but for those that `failed` in this round. How many, and whether more wait."""
    waiting = list(
        publication.submissions.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .filter(assignment__judged__gt=0, decision=Decision.NONE, submitted_at__lte=at - publication.approve_after)
        .exclude(assignment__verdict=Assignment.Verdict.PENDING)
        .exclude(_has_alarm(Alarm.Kind.FAST, Alarm.Kind.TWICE))
        .exclude(pk__in=list(failed))
        .exclude(pk__in=_resting(at))
        .select_related("assignment", "published_hit", "publication__campaign")
        .order_by("submitted_at", "id")[:BATCH]
    )
    decided = sum(_alone(_settle, submission, at, failed) for submission in waiting)
    for submission in _decided_there(publication, failed, at):
        _alone(_settle_as_there, submission, at, failed)
    return decided, len(waiting) == BATCH


def _alone(
    act: Callable[[Submission, datetime], None], submission: Submission, at: datetime, failed: dict[int, Exception]
) -> bool:
    """Whether something was done for one submission. If it fails, nothing of it stays, and the others go on."""
    try:
        with transaction.atomic():
            act(submission, at)
    except Exception as error:
        log.exception("Submission %s", submission.pk)
        failed[submission.pk] = error
        return False
    return True


def _raise_undecided(publication: Publication, failed: dict[int, Exception], at: datetime) -> None:
    for submission in publication.submissions.filter(pk__in=failed):
        text = _("Some submitted work could not be reviewed or paid (%(error)s). It is tried again automatically.")
        said = text % {"error": in_words(failed[submission.pk])}
        alarm_raise(
            publication=publication, kind=Alarm.Kind.UNDECIDED, submission=submission, text=said, at=at, retried=True
        )
    tried = publication.alarms.filter(kind=Alarm.Kind.UNDECIDED, settled_at=None).exclude(retry_at__gt=at)
    tried.exclude(submission__in=list(failed)).update(settled_at=at)


def _has_alarm(*kinds: Alarm.Kind) -> Exists:
    """Whether a person must look at a submission for one of these reasons."""
    return Exists(Alarm.objects.filter(submission=OuterRef("pk"), kind__in=kinds, settled_at=None))


def _resting(at: datetime) -> QuerySet[Alarm, Any]:
    """Keys of the submissions that failed, and are not to be tried again yet."""
    return resting(kind=Alarm.Kind.UNDECIDED, at=at).filter(submission__isnull=False).values("submission")


def _settle(submission: Submission, at: datetime) -> None:
    if submission.status == Status.REJECTED:
        _reject_as_there(submission, at)
    elif (payment := _compensated_before(submission, at)) is not None:
        _hold(submission, payment, at)
    else:
        _approve(submission, by=None, reason="", at=at)


def _settle_as_there(submission: Submission, at: datetime) -> None:
    if submission.status != Status.APPROVED:
        _reject_as_there(submission, at)
    elif (payment := _compensated_before(submission, at)) is not None:
        _hold(submission, payment, at)
    else:
        said = _("Approved at the platform before anyone decided here.")
        _approve(submission, by=None, reason=phrase(submission.publication, said), at=at)
        _settle_alarms(submission, at)


def _reject_as_there(submission: Submission, at: datetime) -> None:
    """Somebody rejected it at the platform itself: that is a person's decision, and it is not paid from here."""
    _compensated_before(submission, at)
    submission.decision, submission.decided_at = Decision.REJECT, at
    submission.reason = phrase(submission.publication, _("Rejected at the platform."))
    submission.save(update_fields=["decision", "decided_at", "reason"])
    _settle_alarms(submission, at)


def _decided_there(publication: Publication, failed: Collection[int], at: datetime) -> list[Submission]:
    """Work that waits for a person here, and that the platform's clock has paid, or a person there has rejected."""
    return list(
        publication.submissions.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .filter(
            Q(assignment=None) | Q(assignment__judged=0) | _has_alarm(Alarm.Kind.FAST, Alarm.Kind.TWICE),
            published_hit__hit__isnull=False,
            decision=Decision.NONE,
        )
        .exclude(status=Status.SUBMITTED)
        .exclude(_has_alarm(Alarm.Kind.TWICE), status=Status.APPROVED)
        .exclude(pk__in=list(failed))
        .exclude(pk__in=_resting(at))
        .select_related("published_hit", "publication__campaign")[:BATCH]
    )


# --- work that was compensated before it came


def _compensation_of(submission: Submission) -> Payment | None:
    """What was written down to compensate its worker for that HIT; where none of our work is known to be it, for what
    they began under its id.
    """
    payments = Payment.objects.select_for_update(of=("self",), no_key=True).filter(purpose=Purpose.COMPENSATION)
    if submission.assignment_id is not None:
        own = Assignment.objects.filter(pk=submission.assignment_id).values("hit", "worker")
        return payments.filter(
            Exists(own.filter(hit=OuterRef("assignment__hit"), worker=OuterRef("assignment__worker")))
        ).first()
    return payments.filter(
        publication=submission.publication_id,
        assignment__platform_assignment_id=submission.platform_assignment_id,
        assignment__worker__external_id=submission.platform_worker_id,
    ).first()


def _was_paid(payment: Payment) -> bool:
    """Whether a compensation was paid or taken, or may have been: the call that pays it is on its way."""
    offers = Operation.objects.filter(payment=payment, kind=Kind.COMPENSATE)
    if payment.state == Payment.State.PAID or Submission.objects.filter(published_hit__operations__in=offers).exists():
        return True
    pays_at_once = Purpose.COMPENSATION in adapter_of(payment.publication).bonus_purposes
    return pays_at_once and offers.filter(ended_at=None, first_sent_at__isnull=False).exists()


def _compensated_before(submission: Submission, at: datetime) -> Payment | None:
    """The compensation that was paid for the same work already. One that nobody has yet is withdrawn instead."""
    payment = _compensation_of(submission)
    if payment is None or _was_paid(payment):
        return payment
    assert payment.assignment is not None
    alarm_settle(publication=submission.publication, kind=Alarm.Kind.COMPENSATION, assignment=payment.assignment, at=at)
    offers = Operation.objects.filter(payment=payment, kind=Kind.COMPENSATE)
    if not offers.exists():
        payment.delete()
        return None
    payment.state, payment.evidence = Payment.State.REFUSED, {"withdrawn": "the work was submitted after all"}
    payment.save(update_fields=["state", "evidence"])
    offers.filter(state=Operation.State.PLANNED, first_sent_at=None).update(
        state=Operation.State.REFUSED, ended_at=at, error="withdrawn"
    )
    open_offers = PublishedHit.objects.filter(operations__in=offers).exclude(platform_hit_id="")
    end_plan(publication=submission.publication, published_hits=open_offers, at=at)
    return None


@transaction.atomic
def _check_compensated(publication: Publication, at: datetime) -> None:
    """Hold the work that came after its compensation was paid, matched or not; let go what was not paid after all."""
    compensated = publication.payments.filter(purpose=Purpose.COMPENSATION)
    if not compensated.exists():
        return
    undecided = publication.submissions.filter(decision=Decision.NONE, published_hit__hit__isnull=False)
    unmatched = undecided.filter(
        assignment=None, platform_assignment_id__in=compensated.values("assignment__platform_assignment_id")
    )
    held = undecided.filter(_has_alarm(Alarm.Kind.TWICE))
    for submission in (unmatched | held).select_related("publication__campaign").order_by("id"):
        payment = _compensation_of(submission)
        if payment is not None and _was_paid(payment):
            if submission.status != Status.REJECTED:
                _hold(submission, payment, at)
        else:
            alarm_settle(publication=publication, kind=Alarm.Kind.TWICE, submission=submission, at=at)


def _hold(submission: Submission, payment: Payment, at: datetime) -> None:
    """Leave it to a person: what they approve is paid beside the compensation."""
    publication = submission.publication
    text = _(
        "Assignment %(id)s was compensated with %(paid)s before it was submitted. Nothing more is paid for it unless "
        "you approve it, which pays another %(listed)s."
    )
    if submission.status == Status.APPROVED:
        text = _(
            "Assignment %(id)s was compensated with %(paid)s, and then approved at the platform, which paid another "
            "%(listed)s. Approve it here too, so that the ledger has both."
        )
    money = publication.campaign.money
    alarm_raise(
        publication=publication,
        kind=Alarm.Kind.TWICE,
        submission=submission,
        text=phrase(publication, text)
        % {"id": submission.platform_assignment_id, "paid": money(payment.amount), "listed": money(publication.listed)},
        at=at,
    )


def _approve(submission: Submission, *, by: User | None, reason: str, at: datetime, bonus: bool = True) -> None:
    """Write down the decision and every payment that follows from it. The caller holds the row."""
    submission.decision, submission.decided_by = Decision.APPROVE, by
    submission.decided_at, submission.reason = at, reason
    submission.save(update_fields=["decision", "decided_by", "decided_at", "reason"])
    publication = submission.publication
    listed = publication.listed
    adapter = adapter_of(publication)
    reward = _payment(
        submission, Purpose.REWARD, listed, adapter.reward_fee(listed, submission.published_hit.max_assignments), at
    )
    if submission.status == Status.APPROVED:
        reward.state, reward.paid_at = Payment.State.PAID, at
        reward.evidence = {"found": "Approved", "AssignmentId": submission.platform_assignment_id}
        reward.save(update_fields=["state", "paid_at", "evidence"])
    else:
        _plan_to_pay(Kind.APPROVE, submission, reward, at)
    owed = bonus_owed(submission) if bonus else Decimal(0)
    if owed > 0:
        payment = _payment(submission, Purpose.BONUS, owed, adapter.bonus_fee(owed), at)
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


def _payment(submission: Submission, purpose: str, amount: Decimal, fee: Decimal, at: datetime) -> Payment:
    key = {"assignment": submission.assignment} if submission.assignment_id else {"submission": submission}
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


# --- decisions by people


@transaction.atomic
def submission_approve(*, submission: Submission, by: User, why: str, at: datetime) -> Submission:
    """A person approves submitted work, or books what was approved at the platform although it was rejected here. Work
    that was compensated gets no bonus. Approving again is not an error.
    """
    submission = _undecided(submission, Decision.APPROVE)
    if submission.decision != Decision.APPROVE:
        if (payment := _offered(submission)) is not None:
            _approve_taken(submission, payment, by=by, reason=_reason(why), at=at)
        else:
            payment = _compensated_before(submission, at)
            if payment is not None and submission.status == Status.SUBMITTED:
                _must_have_been_told(submission, payment)
            _approve(submission, by=by, reason=_reason(why), at=at, bonus=payment is None)
        _settle_alarms(submission, at)
    return submission


def _must_have_been_told(submission: Submission, payment: Payment) -> None:
    """Raise NotNow where a person approves compensated work before the jobs have said that this pays it again."""
    if not submission.alarms.filter(kind=Alarm.Kind.TWICE).exists():
        said = _("This work was compensated with %(paid)s before. In a minute, you can choose to pay it again.")
        raise NotNow(said % {"paid": submission.publication.campaign.money(payment.amount)})


@transaction.atomic
def submission_reject(*, submission: Submission, by: User, why: str, at: datetime, category: str = "") -> Submission:
    """A person rejects submitted work: the worker reads the reason, and is not paid. Only before it was approved.

    Raises BadRequest for a reason that is shorter than the platform takes, or a category that it does not have.
    """
    submission = _undecided(submission, Decision.REJECT)
    if submission.decision == Decision.NONE:
        reason, adapter = _reason(why), adapter_of(submission.publication)
        if len(reason) < adapter.least_rejection:
            said = _("The reason has %(seen)d characters. At this platform, a rejection has at least %(least)d.")
            raise BadRequest(
                phrase(submission.publication, said) % {"seen": len(reason), "least": adapter.least_rejection}
            )
        if category and category not in adapter.rejection_categories:
            said = _("This platform has no rejection category “%(seen)s”.")
            raise BadRequest(phrase(submission.publication, said) % {"seen": category})
        if submission.status != Status.SUBMITTED:
            said = _("At the platform, this work is “%(status)s”.")
            raise NotNow(phrase(submission.publication, said) % {"status": submission.get_status_display()})
        if (payment := _offered(submission)) is not None:
            _decline(payment, {"declined": reason, "by": by.get_username()})
        else:
            _compensated_before(submission, at)
        submission.decision, submission.decided_by = Decision.REJECT, by
        submission.decided_at, submission.reason, submission.rejection_category = at, reason, category
        submission.save(update_fields=["decision", "decided_by", "decided_at", "reason", "rejection_category"])
        operation_plan(publication=submission.publication, kind=Kind.REJECT, submission=submission, at=at)
        _settle_alarms(submission, at)
    return submission


def may_ask_return(submission: Submission) -> bool:
    """Whether its worker can be asked to return a submission: work that is stored here with answers is paid instead,
    unless it was paid before.
    """
    if not adapter_of(submission.publication).asks_for_returns:
        return False
    if submission.assignment is None or submission.assignment.judged == 0:
        return True
    return submission.alarms.filter(kind=Alarm.Kind.TWICE, settled_at=None).exists()


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
    reason = _reason(why)
    if return_reason and return_reason not in adapter_of(submission.publication).return_reasons:
        said = _("“%(seen)s” is not one of the platform's reasons for a return.")
        raise BadRequest(phrase(submission.publication, said) % {"seen": return_reason})
    asked = submission.operations.filter(kind=Kind.ASK_RETURN).first()
    if asked is not None:
        return asked
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
    reason = _reason(why)
    if submission.decision != Decision.APPROVE:
        raise NotNow(_("Only work that was approved can get a bonus."))
    money = submission.publication.campaign.money
    if not Decimal(0) < amount <= MOST_BONUS:
        said = _("A bonus is between %(least)s and %(most)s.")
        raise BadRequest(said % {"least": money(CENT), "most": money(MOST_BONUS)})
    fee = adapter_of(submission.publication).bonus_fee(amount)
    payment = _payment(submission, Purpose.EXTRA, amount, fee, at)
    if payment.by is not None:
        if payment.amount != amount:
            raise NotNow(_("This work got an extra bonus of %(amount)s before.") % {"amount": money(payment.amount)})
        if payment.state == Payment.State.REFUSED:
            said = _("The platform refused this bonus. Under Calls, read why, and try that call again.")
            raise NotNow(phrase(submission.publication, said))
        return payment
    payment.by, payment.why = by, reason
    payment.save(update_fields=["by", "why"])
    publication = submission.publication
    PublishedHit.objects.filter(pk=submission.published_hit_id).update(
        settled_at=None
    )  # the ledgers are to be compared
    operation_plan(publication=publication, kind=Kind.EXTRA_BONUS, submission=submission, payment=payment, at=at)
    return payment


def _undecided(submission: Submission, wanted: str) -> Submission:
    row = (
        Submission.objects.select_for_update(of=("self",), no_key=True)
        .select_related("publication__campaign", "published_hit", "assignment")
        .get(pk=submission.pk)
    )
    books = wanted == Decision.APPROVE and may_book(row)
    if row.decision not in (Decision.NONE, wanted) and not books:
        raise NotNow(_("This work has already been decided on: %(what)s.") % {"what": row.get_decision_display()})
    return row


def _settle_alarms(submission: Submission, at: datetime) -> None:
    for kind in Alarm.ABOUT_DECIDING:
        alarm_settle(publication=submission.publication, kind=kind, submission=submission, at=at)


def _reason(why: str) -> str:
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    return why.strip()


# --- workers who get no more


@transaction.atomic
def workers_exclude(*, publication: Publication, at: datetime) -> int:
    """Plan that barred workers get the exclusion qualification, silently, and those welcomed again lose it.

    How many calls were planned now.
    """
    if not publication.exclusion_id:
        return 0
    planned = 0
    platform = publication.platform
    workers = Worker.objects.filter(lab=publication.campaign.lab, platform=platform).exclude(external_id="")
    excluded = Operation.objects.filter(publication=publication, kind=Kind.EXCLUDE)
    # Anybody can type ids into a frame's address: only who has submitted at the platform is known to be that worker.
    known = Submission.objects.filter(assignment__isnull=False).values("assignment__worker")
    once_each = {"worker": OuterRef("pk"), "barred_at": OuterRef("barred_at")}
    barred = workers.filter(barred_at__isnull=False, pk__in=known).exclude(Exists(excluded.filter(**once_each)))
    for worker in barred:
        assert worker.barred_at is not None
        operation_plan(publication=publication, kind=Kind.EXCLUDE, worker=worker, barred_at=worker.barred_at, at=at)
        planned += 1
    readmitted = Operation.objects.filter(
        publication=publication, kind=Kind.READMIT, worker=OuterRef("worker"), barred_at=OuterRef("barred_at")
    )
    for operation in excluded.filter(worker__barred_at=None).exclude(Exists(readmitted)).select_related("worker"):
        assert operation.worker is not None and operation.barred_at is not None
        operation_plan(
            publication=publication, kind=Kind.READMIT, worker=operation.worker, barred_at=operation.barred_at, at=at
        )
        planned += 1
    return planned


# --- compensations


@transaction.atomic
def compensations_find(*, publication: Publication, at: datetime) -> int:
    """Write down what is owed for work that was finished or left here and can no longer be submitted at the platform.

    A person offers it (`compensation_offer`): the platform does not say whether the worker had really accepted the HIT.
    Nothing is found on HITs of which the platform has not said for a while what was submitted: what is missing may be
    there. How many were found now.
    """
    _raise_lapsed(publication, at)
    expected = publication.published_hits.filter(hit=OuterRef("hit"), next_poll_at__isnull=False)
    said_at = Coalesce("asked_at", "posted_at")
    unheard = expected.exclude(platform_hit_id="").alias(said_at=said_at).filter(said_at__lt=at - GRACE)
    latest = at - publication.longest_time - GRACE
    planned = 0
    lost = uncompensated(publication).filter(finished_at__lte=latest)
    # An offer that was withdrawn can be taken until it is over, and then a person decides on it.
    withdrawn = PublishedHit.objects.filter(operations__payment__assignment=OuterRef("pk"), hit=None)
    withdrawn = withdrawn.filter(Q(expires_at__gt=at - COMPENSATION_TIME - GRACE) | Q(submissions__isnull=False))
    for assignment in lost.exclude(Exists(unheard)).exclude(Exists(withdrawn)):
        _payment_row, new = _compensation(publication, assignment, at, assignment.booked)
        planned += new
        text = _("Assignment %(id)d was done here but not submitted at the platform. Offer a compensation.")
        text = phrase(publication, text)
        alarm_raise(
            publication=publication,
            kind=Alarm.Kind.COMPENSATION,
            assignment=assignment,
            text=text % {"id": assignment.pk},
            at=at,
        )
    return planned


def _not_submitted(publication: Publication) -> Q:
    """Unmatched work for which what was done here is owed all the same. Work that was rejected is, unless its ids are
    sure to be its worker's: then it is that work which was rejected.
    """
    returned = Q(decision=Decision.RETURN)
    return returned if adapter_of(publication).opens_together else returned | Q(decision=Decision.REJECT)


def uncompensated(publication: Publication) -> QuerySet[Any]:
    """Work that ended here, for which more is owed than is `booked` for that HIT and worker, and no compensation is
    written down: of each HIT and worker, that for which most is.
    """
    lost = Assignment.objects.filter(campaign=publication.campaign_id, owed__gt=0, submission=None)
    lost = lost.exclude(platform_assignment_id="").exclude(state=Assignment.State.ACTIVE)
    # Unmatched work of that worker on that HIT may be this: a person decides on it, and it is not paid twice.
    waiting = publication.submissions.filter(
        assignment=None, published_hit__hit=OuterRef("hit"), platform_worker_id=OuterRef("worker__external_id")
    ).exclude(_not_submitted(publication))
    # Of all work on a HIT in one worker's name, one is paid, or rejected: the rest may be made up. What they submitted
    # without an answer is not that work.
    same = {"hit": OuterRef("hit"), "worker": OuterRef("worker")}
    undecided, rejected = Q(submission__decision=Decision.NONE), Q(submission__decision=Decision.REJECT, owed__gt=0)
    settled = Assignment.objects.filter(undecided | rejected, **same)
    # A compensation that was withdrawn because something was submitted is owed if that was less, or was returned.
    written = Payment.objects.filter(
        assignment__hit=OuterRef("hit"), assignment__worker=OuterRef("worker"), purpose=Purpose.COMPENSATION
    ).exclude(state=Payment.State.REFUSED, evidence__has_key="withdrawn")
    lost = lost.annotate(booked=_booked())
    lost = lost.filter(owed__gt=F("booked")).exclude(Exists(waiting)).exclude(Exists(settled)).exclude(Exists(written))
    return lost.order_by("hit", "worker", "-owed", "id").distinct("hit", "worker")


def _booked() -> Coalesce:
    """What is paid, or will be, of what a worker submitted of a HIT, beside any of their work on it."""
    payments = Payment.objects.filter(
        assignment__hit=OuterRef("hit"),
        assignment__worker=OuterRef("worker"),
        purpose__in=[Purpose.REWARD, Purpose.BONUS],
    ).exclude(state=Payment.State.REFUSED, assignment__submission=None)
    summed = payments.order_by().values("assignment__hit").annotate(sum=Sum("amount")).values("sum")
    return Coalesce(Subquery(summed), Decimal("0.00"))


def _compensation(
    publication: Publication, assignment: Assignment, at: datetime, booked: Decimal = Decimal(0)
) -> tuple[Payment, bool]:
    """What is owed for work that is not approved at the platform, beyond what is `booked`; and whether that is new."""
    adapter, amount = adapter_of(publication), assignment.owed - booked
    if assignment.state == Assignment.State.LEFT:
        amount = adapter.pay_for_leaving(publication, amount)
    fee = adapter.reward_fee(amount, 1)
    payment, new = Payment.objects.get_or_create(
        assignment=assignment,
        purpose=Purpose.COMPENSATION,
        defaults={"publication": publication, "amount": amount, "fee": fee, "owed_at": at},
    )
    if "withdrawn" in payment.evidence:
        payment.state, payment.evidence, new = Payment.State.OWED, {}, True
        payment.amount, payment.fee, payment.owed_at = amount, fee, at
        payment.save(update_fields=["state", "evidence", "amount", "fee", "owed_at"])
    return payment, new


@transaction.atomic
def leavers_pay(*, publication: Publication, assignment_ids: Collection[str], at: datetime) -> int:
    """Pay those who left early, and whom the platform pays a part of the reward: nobody needs to offer it. Their HITs
    are free for others now. How many.
    """
    if not assignment_ids:
        return 0
    left = Assignment.objects.select_for_update(of=("self",), no_key=True).filter(
        campaign=publication.campaign_id,
        platform_assignment_id__in=assignment_ids,
        state=Assignment.State.LEFT,
        owed__gt=0,
        submission=None,
    )
    listed = Q(payments__purpose=Purpose.COMPENSATION, payments__state=Payment.State.OWED, payments__operations=None)
    planned = 0
    for assignment in left.filter(Q(payments=None) | listed):
        payment, new = _compensation(publication, assignment, at)
        compensation_offer(payment=payment, at=at)
        planned += new
    Assignment.objects.filter(pk__in=[row.pk for row in left], leased_until__gt=at).update(leased_until=at)
    return planned


def shares_paid() -> Coalesce:
    """Of a HIT there, how many of its places were taken by people who left early and got a part of the reward."""
    paid = Operation.objects.filter(
        kind=Kind.COMPENSATE, state=Operation.State.DONE, result__has_key="percentage_of_reward"
    )
    mine = paid.filter(publication=OuterRef("publication"), payment__assignment__hit=OuterRef("hit")).order_by()
    return Coalesce(Subquery(mine.values("publication").annotate(n=Count("pk")).values("n")), 0)


def _raise_lapsed(publication: Publication, at: datetime) -> None:
    """An offer that nobody took in its time can be made again."""
    lapsed = publication.payments.select_for_update(of=("self",), no_key=True).filter(
        Exists(
            Operation.objects.filter(
                payment=OuterRef("pk"),
                kind=Kind.COMPENSATE,
                state=Operation.State.DONE,
                published_hit__expires_at__lte=at - COMPENSATION_TIME - GRACE,
                published_hit__submissions=None,
            )
        ),
        purpose=Purpose.COMPENSATION,
        state=Payment.State.SENT,
    )
    if publication.state != Publication.State.OPEN:
        return
    for payment in lapsed.select_related("assignment"):
        assert payment.assignment is not None
        payment.state = Payment.State.OWED
        payment.save(update_fields=["state"])
        text = _("The compensation for assignment %(id)s was not taken in time. Offer it again, or decline it.")
        text = phrase(publication, text)
        alarm_raise(
            publication=publication,
            kind=Alarm.Kind.COMPENSATION,
            assignment=payment.assignment,
            text=text % {"id": payment.assignment_id},
            at=at,
        )


@transaction.atomic
def compensation_decline(*, payment: Payment, by: User, why: str, at: datetime) -> Payment:
    """A person decides that nothing is owed: the ids were made up, or it was paid otherwise. Again is not an error.

    Raises NotNow if it was offered and can still be taken, or was paid.
    """
    locked = Payment.objects.select_for_update(of=("self",), no_key=True)
    payment = locked.select_related("assignment", "publication").get(pk=payment.pk)
    reason = _reason(why)
    if payment.purpose != Purpose.COMPENSATION or payment.assignment is None:
        raise BadRequest(_("This payment is not a compensation."))
    if payment.state == Payment.State.REFUSED:
        return payment
    if payment.state != Payment.State.OWED or payment.operations.filter(ended_at=None).exists():
        raise NotNow(_("This compensation has already been offered, and may have been taken."))
    _decline(payment, {"declined": reason, "by": by.get_username()})
    alarm_settle(publication=payment.publication, kind=Alarm.Kind.COMPENSATION, assignment=payment.assignment, at=at)
    return payment


@transaction.atomic
def compensation_offer(*, payment: Payment, at: datetime) -> Operation:
    """Offer a compensation as a HIT that only its worker can take. Offering again gives the same operation.

    Raises NotNow if the work has been submitted, and so paid, in the meantime.
    """
    payment = (
        Payment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment__worker", "publication__campaign")
        .get(pk=payment.pk)
    )
    assignment, publication = payment.assignment, payment.publication
    if payment.purpose != Purpose.COMPENSATION or assignment is None:
        raise BadRequest(_("This payment is not a compensation."))
    same_ids = Q(
        assignment=None,
        platform_assignment_id=assignment.platform_assignment_id,
        platform_worker_id=assignment.worker.external_id,
    )
    submitted = publication.submissions.filter(Q(assignment=assignment) | same_ids & ~_not_submitted(publication))
    if submitted.exists():
        raise NotNow(_("This work has been submitted in the meantime, and is paid as usual."))
    if payment.state == Payment.State.REFUSED:
        raise NotNow(_("This compensation was declined, withdrawn or refused."))
    offers = Operation.objects.filter(publication=publication, kind=Kind.COMPENSATE, payment=payment).order_by("-id")
    known, turn = offers.first(), offers.count() + 1
    if known is not None and (known.ended_at is None or payment.state != Payment.State.OWED):
        return known
    alarm_settle(publication=publication, kind=Alarm.Kind.COMPENSATION, assignment=assignment, at=at)
    return operation_plan(
        publication=publication,
        kind=Kind.COMPENSATE,
        payment=payment,
        turn=turn,
        published_hit=PublishedHit.objects.create(publication=publication, max_assignments=1),
        at=at,
    )


@transaction.atomic
def _compensations_approve(publication: Publication, at: datetime) -> None:
    """Approve taken compensations; the payment is paid when the platform says so. One that somebody rejected at the
    platform itself is not paid: that is a person's decision.
    """
    taken = publication.submissions.select_for_update(skip_locked=True, of=("self",), no_key=True).filter(
        Q(decision=Decision.NONE) | Q(decision=Decision.APPROVE, status=Status.REJECTED), published_hit__hit=None
    )
    for submission in taken.select_related("publication__campaign", "published_hit"):
        payment = _offered(submission)
        if submission.status == Status.REJECTED:
            _reject_as_there(submission, at)
            if payment is not None and payment.state != Payment.State.PAID:
                _decline(payment, {"declined": submission.reason})
        elif payment is not None and payment.state == Payment.State.REFUSED:
            text = _("Compensation %(id)s was taken after it had been withdrawn. Approve or reject it.")
            alarm_raise(
                publication=publication,
                kind=Alarm.Kind.UNMATCHED,
                submission=submission,
                text=text % {"id": submission.platform_assignment_id},
                at=at,
            )
        elif payment is not None:
            _approve_taken(submission, payment, by=None, reason="", at=at)


def _offered(submission: Submission) -> Payment | None:
    """The compensation that somebody took by a submission."""
    if submission.published_hit.hit_id is not None:
        return None
    offers = Operation.objects.filter(published_hit=submission.published_hit_id, kind=Kind.COMPENSATE)
    return Payment.objects.filter(operations__in=offers).first()


def _approve_taken(submission: Submission, payment: Payment, *, by: User | None, reason: str, at: datetime) -> None:
    """Approve a compensation that was taken, which pays that, and nothing else."""
    submission.decision, submission.decided_by = Decision.APPROVE, by
    submission.decided_at, submission.reason = at, reason
    submission.save(update_fields=["decision", "decided_by", "decided_at", "reason"])
    if submission.status == Status.APPROVED:
        evidence = {"found": "Approved", "AssignmentId": submission.platform_assignment_id}
        payment_settle(payment_id=payment.pk, evidence=evidence, at=at)
    else:
        _plan_to_pay(Kind.APPROVE, submission, payment, at)


def _decline(payment: Payment, evidence: dict[str, str]) -> None:
    payment.state, payment.evidence = Payment.State.REFUSED, evidence
    payment.save(update_fields=["state", "evidence"])


# --- asking for more work


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
    short = _counted(publication, worked_on & Q(hit__needed__gt=0, missing__gt=0))
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
    rows = _counted(publication, ~Q(missing=0) | Q(hit__needed__gt=0))
    held = StudySync.objects.filter(publication=publication).values_list("unreturned", flat=True).first() or 0
    fewer = min(held + sum(row.missing for row in rows), sum(row.needed for row in rows))
    asking: dict[int, int] = {}
    missing = [(row.published_hit_id, row.missing) for row in rows]
    needed = [(row.published_hit_id, row.needed) for row in rows]
    for key, most in missing + needed:
        if most > 0 and fewer > 0:
            asking[key] = asking.get(key, 0) + min(most, fewer)
            fewer -= min(most, fewer)
    return asking


def _counted(publication: Publication, condition: Q) -> list[_Counted]:
    """The newest rounds of HITs, counted, where a condition holds; it may name what is `missing`.

    One query, so that a check that ends at the same time is counted wholly or not at all. Work without an answer is not
    asked for again before a person has decided on it: workers who leave at once must not make a HIT come back again
    and again. Work that was returned takes no place any more where places are a study's.
    """
    done = [verdict for verdict in Assignment.Verdict if verdict != Assignment.Verdict.PENDING]
    rounds = PublishedHit.objects.filter(publication=publication, hit=OuterRef("hit")).order_by().values("hit")
    submitted = Submission.objects.filter(published_hit__publication=publication, published_hit__hit=OuterRef("hit"))
    if adapter_of(publication).opens_together:
        submitted = submitted.exclude(status=Status.RETURNED)
    waiting = Q(assignment__judged=0, decision=Decision.NONE, status=Status.SUBMITTED)
    counted_once = Q(assignment=None) | Q(assignment__verdict__in=done)
    checked = submitted.filter(counted_once).exclude(waiting).order_by().values("published_hit__hit")
    counted = _newest_rounds(publication).annotate(
        missing=F("hit__needed")
        + Coalesce(Subquery(checked.annotate(n=Count("pk")).values("n")), 0)
        + shares_paid()
        - Subquery(rounds.annotate(n=Sum("max_assignments")).values("n"))
    )
    rows = counted.filter(condition).order_by("id").values_list("pk", "missing", "hit__needed")
    return [_Counted(*row) for row in rows]


def _newest_rounds(publication: Publication) -> QuerySet[PublishedHit]:
    """The last posting of each HIT."""
    later = PublishedHit.objects.filter(publication=publication, hit=OuterRef("hit"), round__gt=OuterRef("round"))
    ours = publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")
    return ours.exclude(Exists(later))


def _expired(publication: Publication, at: datetime) -> QuerySet[PublishedHit]:
    """HITs that need work, are over at the platform, and have nobody at them or waiting for a check."""
    at_work = Assignment.objects.filter(hit=OuterRef("hit"), verdict=Assignment.Verdict.PENDING).filter(
        Q(leased_until__gt=at) | Q(submission__isnull=False)
    )
    reopening = Operation.objects.filter(publication=publication, kind=Kind.REOPEN, ended_at=None)
    if not adapter_of(publication).opens_together:
        reopening = reopening.filter(published_hit=OuterRef("pk"))
    needed = _newest_rounds(publication).filter(hit__needed__gt=0, expires_at__lte=at)
    return needed.exclude(Exists(at_work)).exclude(Exists(reopening))


def _ended_for_now(publication: Publication, at: datetime) -> dict[datetime, list[PublishedHit]]:
    """HITs that were ended because they needed nobody from the platform, and that need somebody after all, by the time
    when they would have expired.
    """
    last = Operation.objects.filter(published_hit=OuterRef("pk"), turn=OuterRef("turn"), kind=Kind.EXPIRE)
    ended = _expired(publication, at).annotate(until=Subquery(last.values("until")[:1])).filter(until__gt=at)
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
    publication = (
        Publication.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign__lab")
        .get(pk=publication.pk)
    )
    if publication.state != Publication.State.OPEN or publication.campaign.state == Campaign.State.CLOSED:
        alarm_settle(publication=publication, kind=Alarm.Kind.EXPIRED, at=at)  # nobody wants what they still need
        return 0
    planned, adapter = 0, adapter_of(publication)
    short = _short_of_places(publication) if adapter.opens_together else _short_of_assignments(publication)
    for published_hit in publication.published_hits.filter(pk__in=short).select_related("hit").order_by("id"):
        hit, missing = published_hit.hit, short[published_hit.pk]
        wanted = published_hit.max_assignments + missing
        assert hit is not None
        if published_hit.expires_at is None or published_hit.expires_at <= at:
            continue
        if not adapter.may_extend(published_hit.max_assignments, wanted):
            planned += published_hits_plan(
                publication=publication,
                hits=[hit],
                at=at,
                round_number=published_hit.round + 1,
                max_assignments=missing,
            )
        else:
            operation_plan(publication=publication, kind=Kind.EXTEND, published_hit=published_hit, turn=wanted, at=at)
            PublishedHit.objects.filter(pk=published_hit.pk).update(
                max_assignments=F("max_assignments") + missing,
                added=F("added") + missing,
                next_poll_at=at,
            )
            planned += 1
    if adapter.opens_together:
        planned += study_reopen(publication=publication, at=at)
    else:
        for until, published_hits in _ended_for_now(publication, at).items():
            planned += reopen_plan(publication=publication, published_hits=published_hits, until=until, at=at)
    expired = 0 if study_pause(publication) else _expired(publication, at).count()
    if expired:
        text = ngettext(
            "%(count)d HIT has expired and still needs work. Extend the publication.",
            "%(count)d HITs have expired and still need work. Extend the publication.",
            expired,
        )
        text = phrase(publication, text) % {"count": expired}
        alarm_raise(publication=publication, kind=Alarm.Kind.EXPIRED, text=text, at=at)
    else:
        alarm_settle(publication=publication, kind=Alarm.Kind.EXPIRED, at=at)
    return planned

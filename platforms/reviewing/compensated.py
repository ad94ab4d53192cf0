"""Work that is submitted after it was compensated: it is held, or the compensation is withdrawn."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from platforms.alarms import raised_about
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit, Submission
from platforms.planning import end_plan
from platforms.registry import adapter_of, phrase
from tasks.models import Assignment

Kind, Purpose, Decision, Status = Operation.Kind, Payment.Purpose, Submission.Decision, Submission.Status


def has_alarm(*kinds: PlatformAlarm) -> Exists:
    """Whether a person must look at a submission for one of these reasons."""
    return Exists(raised_about(OuterRef("pk"), *kinds))


def _compensation_of(submission: Submission) -> Payment | None:
    """What was written down to compensate its worker for that HIT; where none of our work is known to be it, for what
    they began under its id.
    """
    payments = Payment.objects.select_for_update(of=("self",), no_key=True).filter(purpose=Purpose.COMPENSATION)
    if submission.assignment_id is not None:
        rows = Assignment.objects.filter(pk=submission.assignment_id).values("hit", "worker")
        return payments.filter(
            Exists(rows.filter(hit=OuterRef("assignment__hit"), worker=OuterRef("assignment__worker")))
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


def compensated_before(submission: Submission, at: datetime) -> Payment | None:
    """The compensation that was paid for the same work already. One that nobody has yet is withdrawn instead."""
    payment = _compensation_of(submission)
    if payment is None or _was_paid(payment):
        return payment
    assert payment.assignment is not None
    alarm_settle(of=submission.publication, kind=PlatformAlarm.COMPENSATION, about=payment.assignment, at=at)
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
def check_compensated(publication: Publication, at: datetime) -> None:
    """Hold the work that came after its compensation was paid, matched or not; let go what was not paid after all."""
    compensated = publication.payments.filter(purpose=Purpose.COMPENSATION)
    if not compensated.exists():
        return
    undecided = publication.submissions.filter(decision=Decision.NONE, published_hit__hit__isnull=False)
    unmatched = undecided.filter(
        assignment=None, platform_assignment_id__in=compensated.values("assignment__platform_assignment_id")
    )
    paused = undecided.filter(has_alarm(PlatformAlarm.TWICE))
    for submission in (unmatched | paused).select_related("publication__campaign").order_by("id"):
        payment = _compensation_of(submission)
        if payment is not None and _was_paid(payment):
            if submission.status != Status.REJECTED:
                submission_hold(submission, payment, at)
        else:
            alarm_settle(of=publication, kind=PlatformAlarm.TWICE, about=submission, at=at)


def submission_hold(submission: Submission, payment: Payment, at: datetime) -> None:
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
        of=publication,
        kind=PlatformAlarm.TWICE,
        about=submission,
        text=phrase(publication, text)
        % {"id": submission.platform_assignment_id, "paid": money(payment.amount), "listed": money(publication.listed)},
        at=at,
    )

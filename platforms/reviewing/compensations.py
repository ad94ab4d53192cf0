"""Pay for work that was finished or left here, and can no longer be submitted at the platform."""

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from core.errors import BadRequest, NotNow
from core.models import User
from platforms.calls import COMPENSATION_TIME
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit, Submission
from platforms.planning import operation_plan
from platforms.publishing.protocol import Studies
from platforms.registry import adapter_of, phrase
from platforms.reviewing.payments import compensation_end, reason_of
from tasks.models import Assignment

Kind, Purpose, Decision = Operation.Kind, Payment.Purpose, Submission.Decision
GRACE = timedelta(hours=1)


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
            of=publication, kind=PlatformAlarm.COMPENSATION, about=assignment, text=text % {"id": assignment.pk}, at=at
        )
    return planned


def _not_submitted(publication: Publication) -> Q:
    """Unmatched work for which what was done here is owed all the same. Work that was rejected is, unless its ids are
    sure to be its worker's: then it is that work which was rejected.
    """
    returned = Q(decision=Decision.RETURN)
    return returned if isinstance(adapter_of(publication), Studies) else returned | Q(decision=Decision.REJECT)


def uncompensated(publication: Publication) -> QuerySet[Any]:
    """Work that ended here, for which more is owed than is `booked` for that HIT and worker, and no compensation is
    written down: of each HIT and worker, that for which most is.
    """
    lost = Assignment.objects.filter(campaign=publication.campaign_id, owed__gt=0, is_submitted=False)
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
    unoffered = Q(payments__purpose=Purpose.COMPENSATION, payments__state=Payment.State.OWED, payments__operations=None)
    planned = 0
    for assignment in left.filter(Q(payments=None) | unoffered):
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
            of=publication,
            kind=PlatformAlarm.COMPENSATION,
            about=payment.assignment,
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
    reason = reason_of(why)
    if payment.purpose != Purpose.COMPENSATION or payment.assignment is None:
        raise BadRequest(_("This payment is not a compensation."))
    if payment.state == Payment.State.REFUSED:
        return payment
    if payment.state != Payment.State.OWED or payment.operations.filter(ended_at=None).exists():
        raise NotNow(_("This compensation has already been offered, and may have been taken."))
    compensation_end(payment, {"declined": reason, "by": by.get_username()})
    alarm_settle(of=payment.publication, kind=PlatformAlarm.COMPENSATION, about=payment.assignment, at=at)
    return payment


@transaction.atomic
def compensation_offer(*, payment: Payment, at: datetime) -> Operation:
    """Offer a compensation as a HIT that only its worker can take. Offering again gives the same operation.

    Raises NotNow if the work has been submitted, and so paid, in the meantime, or if other work of its worker on this
    HIT may be this.
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
    unmatched = publication.submissions.filter(
        assignment=None, published_hit__hit=assignment.hit_id, platform_worker_id=assignment.worker.external_id
    )
    if unmatched.exclude(_not_submitted(publication)).exists():
        raise NotNow(
            _(
                "This worker submitted work on the same HIT that could not be matched. It may be this work: decide on "
                "that first."
            )
        )
    if payment.state == Payment.State.REFUSED:
        raise NotNow(_("This compensation was declined, withdrawn or refused."))
    offers = Operation.objects.filter(publication=publication, kind=Kind.COMPENSATE, payment=payment).order_by("-id")
    last, turn = offers.first(), offers.count() + 1
    if last is not None and (last.ended_at is None or payment.state != Payment.State.OWED):
        return last
    alarm_settle(of=publication, kind=PlatformAlarm.COMPENSATION, about=assignment, at=at)
    return operation_plan(
        publication=publication,
        kind=Kind.COMPENSATE,
        payment=payment,
        turn=turn,
        published_hit=PublishedHit.objects.create(publication=publication, max_assignments=1),
        at=at,
    )

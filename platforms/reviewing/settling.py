"""Deciding on submitted work by the jobs: by default all of it is paid, whatever becomes of its data."""

import logging
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, in_words, resting
from core.models import Alarm
from platforms.models import Operation, Payment, PlatformAlarm, Publication, Submission
from platforms.registry import phrase
from platforms.reviewing.compensated import check_compensated, compensated_before, has_alarm, submission_hold
from platforms.reviewing.compensations import compensations_find
from platforms.reviewing.excluding import workers_exclude
from platforms.reviewing.payments import alarms_settle, compensation_end, compensation_pay, offer_taken, submission_pay
from tasks.models import Assignment

Kind, Decision, Status = Operation.Kind, Submission.Decision, Submission.Status
BATCH = 200
log = logging.getLogger(__name__)


def publication_settle(*, publication: Publication, at: datetime) -> int:
    """Decide on submitted work that is matched and checked, and plan what it is paid. How many were decided."""
    check_compensated(publication, at)
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
        .exclude(has_alarm(PlatformAlarm.FAST, PlatformAlarm.TWICE))
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
        words = text % {"error": in_words(failed[submission.pk])}
        alarm_raise(of=publication, kind=PlatformAlarm.UNDECIDED, about=submission, text=words, at=at, retried=True)
    tried = publication.alarms.filter(kind=PlatformAlarm.UNDECIDED, settled_at=None).exclude(retry_at__gt=at)
    tried.exclude(about_id__in=list(failed)).update(settled_at=at)


def _resting(at: datetime) -> QuerySet[Alarm, Any]:
    """Keys of the submissions that failed, and are not to be tried again yet."""
    return resting(kind=PlatformAlarm.UNDECIDED, at=at).values("about_id")


def _settle(submission: Submission, at: datetime) -> None:
    if submission.status == Status.REJECTED:
        _reject_as_there(submission, at)
    elif (payment := compensated_before(submission, at)) is not None:
        submission_hold(submission, payment, at)
    else:
        submission_pay(submission, by=None, reason="", at=at)


def _settle_as_there(submission: Submission, at: datetime) -> None:
    if submission.status != Status.APPROVED:
        _reject_as_there(submission, at)
    elif (payment := compensated_before(submission, at)) is not None:
        submission_hold(submission, payment, at)
    else:
        text = _("Approved at the platform before anyone decided here.")
        submission_pay(submission, by=None, reason=phrase(submission.publication, text), at=at)
        alarms_settle(submission, at)


def _reject_as_there(submission: Submission, at: datetime) -> None:
    """Somebody rejected it at the platform itself: that is a person's decision, and it is not paid from here."""
    compensated_before(submission, at)
    submission.decision, submission.decided_at = Decision.REJECT, at
    submission.reason = phrase(submission.publication, _("Rejected at the platform."))
    submission.save(update_fields=["decision", "decided_at", "reason"])
    alarms_settle(submission, at)


def _decided_there(publication: Publication, failed: Collection[int], at: datetime) -> list[Submission]:
    """Work that waits for a person here, and that the platform's clock has paid, or a person there has rejected."""
    return list(
        publication.submissions.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .filter(
            Q(assignment=None) | Q(assignment__judged=0) | has_alarm(PlatformAlarm.FAST, PlatformAlarm.TWICE),
            published_hit__hit__isnull=False,
            decision=Decision.NONE,
        )
        .exclude(status=Status.SUBMITTED)
        .exclude(has_alarm(PlatformAlarm.TWICE), status=Status.APPROVED)
        .exclude(pk__in=list(failed))
        .exclude(pk__in=_resting(at))
        .select_related("published_hit", "publication__campaign")[:BATCH]
    )


@transaction.atomic
def _compensations_approve(publication: Publication, at: datetime) -> None:
    """Approve taken compensations; the payment is paid when the platform says so. One that somebody rejected at the
    platform itself is not paid: that is a person's decision.
    """
    rows = publication.submissions.select_for_update(skip_locked=True, of=("self",), no_key=True).filter(
        Q(decision=Decision.NONE) | Q(decision=Decision.APPROVE, status=Status.REJECTED), published_hit__hit=None
    )
    for submission in rows.select_related("publication__campaign", "published_hit"):
        payment = offer_taken(submission)
        if submission.status == Status.REJECTED:
            _reject_as_there(submission, at)
            if payment is not None and payment.state != Payment.State.PAID:
                compensation_end(payment, {"declined": submission.reason})
        elif payment is not None and payment.state == Payment.State.REFUSED:
            text = _("Compensation %(id)s was taken after it had been withdrawn. Approve or reject it.")
            alarm_raise(
                of=publication,
                kind=PlatformAlarm.UNMATCHED,
                about=submission,
                text=text % {"id": submission.platform_assignment_id},
                at=at,
            )
        elif payment is not None:
            compensation_pay(submission, payment, by=None, reason="", at=at)

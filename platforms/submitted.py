"""What a platform says of submitted work, as it is stored here: matched with ours, one by one or in sets."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Least
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from core.models import Alarm
from platforms.alarms import ABOUT_DECIDING, raised_about
from platforms.calls import payments_settle
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit, Submission
from platforms.registry import phrase
from platforms.reviewing.protocol import Work
from tasks.models import Assignment
from tasks.names import erased_name

log = logging.getLogger(__name__)
# How long before an automatic approval unchecked work raises an alarm.
ALARM_BEFORE = timedelta(days=1)
OLDEST_ANSWER = timedelta(hours=1)  # after this, no answer of a platform that is read is older than a call
AT_ONCE = 1000  # ids that one query names
Status, Decision = Submission.Status, Submission.Decision


def batches(ids: Iterable[str]) -> Iterator[list[str]]:
    """Ids by the thousand, as many as one query should name."""
    left = iter(ids)
    return iter(lambda: list(islice(left, AT_ONCE)), [])


def leases_end(*, publication: Publication, assignment_ids: Iterable[str], at: datetime) -> int:
    """Free the places of assignments that ended at the platform without work. How many were taken until now."""
    running = Assignment.objects.filter(campaign=publication.campaign_id, submission=None, leased_until__gt=at)
    return sum(
        running.filter(platform_assignment_id__in=batch).update(leased_until=at)
        for batch in batches(key for key in assignment_ids if key)
    )


@transaction.atomic
def submissions_return(*, publication: Publication, assignment_ids: Iterable[str], at: datetime) -> int:
    """Submitted work that its workers have returned since. Nobody decides on it any more, and an approval that did not
    come in time is void; what was done here is owed as for other work that was not submitted. How many.
    """
    returned = 0
    for batch in batches(key for key in assignment_ids if key):
        stored = publication.submissions.select_for_update(no_key=True)
        # Of what was rejected there, the rejection was taken back before.
        returning = stored.filter(_named(batch), status__in=[Status.SUBMITTED, Status.REJECTED])
        keys = list(returning.order_by("pk").values_list("pk", flat=True))
        rows = Submission.objects.filter(pk__in=keys)
        unpaid = Payment.objects.filter(submission__in=keys).exclude(state=Payment.State.PAID)
        Operation.objects.filter(payment__in=unpaid, state=Operation.State.PLANNED, first_sent_at=None).update(
            state=Operation.State.REFUSED, ended_at=at, error="returned"
        )
        unpaid.update(state=Payment.State.REFUSED, evidence={"returned": "its worker returned the work"})
        rows.exclude(decision=Decision.REJECT, decided_by__isnull=False).update(
            decision=Decision.RETURN, decided_at=at, assignment=None
        )
        rows.update(status=Status.RETURNED)
        Alarm.objects.filter(about="submission", about_id__in=keys, kind__in=ABOUT_DECIDING, settled_at=None).update(
            settled_at=at
        )
        returned += len(keys)
    return returned


@transaction.atomic
def submission_store(*, published_hit: PublishedHit, work: Work, at: datetime) -> bool:
    """Store one assignment as the platform says it, matched with ours by worker and receipt. Whether it was new.

    What an erased worker submitted is not stored again.
    """
    publication = published_hit.publication
    erased = erased_name(publication.campaign, work.assignment_id)
    if publication.submissions.filter(platform_assignment_id=erased).exists():
        return False
    submission, new = Submission.objects.select_for_update(of=("self",), no_key=True).get_or_create(
        publication=publication,
        platform_assignment_id=work.assignment_id,
        platform_worker_id=work.worker_id,
        defaults={"published_hit": published_hit, "receipt": work.receipt, **_facts(work, at)},
    )
    seconds = work.seconds if work.seconds is not None else submission.seconds_there
    receipt = submission.receipt or work.receipt
    facts, old = (work.status, seconds, receipt), (submission.status, submission.seconds_there, submission.receipt)
    if facts != old:
        submission.status, submission.seconds_there, submission.receipt = facts
        submission.save(update_fields=["status", "seconds_there", "receipt"])
    if _is_taken_back(submission):
        submission.decision, submission.decided_at, submission.reason = Decision.NONE, None, ""
        submission.save(update_fields=["decision", "decided_at", "reason"])
    if published_hit.hit_id is None:
        _compensated(published_hit, submission, work, at)
    else:
        if submission.assignment_id is None and not submission.decision:
            _match(submission, published_hit, at)
            if not new and submission.assignment_id is not None:
                alarm_settle(of=publication, kind=PlatformAlarm.UNMATCHED, about=submission, at=at)
        _warn_before_auto_approval(submission, new, at)
    return new


def _facts(work: Work, at: datetime) -> dict[str, Any]:
    return {
        "status": work.status,
        "submitted_at": work.submitted_at or at,
        "auto_approval_at": work.auto_approval_at,
        "seconds_there": work.seconds,
    }


def _is_taken_back(submission: Submission) -> bool:
    """Whether the platform has taken back what it had said, a return or a rejection, and nobody here had decided."""
    if submission.decision == Decision.RETURN:
        return submission.status != Status.RETURNED
    by_the_platform = submission.decision == Decision.REJECT and submission.decided_by_id is None
    return by_the_platform and submission.status != Status.REJECTED


def _match(submission: Submission, published_hit: PublishedHit, at: datetime) -> None:
    """Find our assignment: that worker's on that HIT, ended, with the receipt that only its page could know.

    Others on that HIT in the worker's name (they accepted it again, or someone typed their id) end quietly.
    """
    publication = submission.publication
    in_their_name = Assignment.objects.filter(
        hit__published_hits=published_hit,
        worker__lab_id=publication.campaign.lab_id,
        worker__platform=publication.platform,
        worker__external_id=submission.platform_worker_id,
    )
    unmatched = in_their_name.filter(submission=None)
    ended = unmatched.exclude(state=Assignment.State.ACTIVE)
    ours = ended.filter(receipt=submission.receipt).first() if submission.receipt else None
    if ours is None:
        same_id = unmatched.filter(platform_assignment_id=submission.platform_assignment_id)
        if not unmatched.exists():
            why = phrase(publication, _("No work by this worker on this HIT is stored here."))
        elif not ended.exists() or same_id.filter(_without_a_receipt(submission)).exists():
            why = phrase(publication, _("The worker submitted at the platform but did not finish here."))
        else:
            why = _("The submitted receipt does not belong to the work stored here.")
        submission.why_unmatched = why
        submission.save(update_fields=["why_unmatched"])
        text = phrase(publication, _("Work submitted at the platform needs a review: %(why)s")) % {"why": why}
        alarm_raise(of=publication, kind=PlatformAlarm.UNMATCHED, about=submission, text=text, at=at)
        return
    submission.assignment, submission.why_unmatched = ours, ""
    if ours.judged == 0:
        submission.why_unmatched = _("It was submitted without a single answer.")
        _alarm_no_answers(submission, at)
    submission.save(update_fields=["assignment", "why_unmatched"])
    others = in_their_name.exclude(pk=ours.pk)
    if not others.filter(platform_assignment_id=submission.platform_assignment_id).exists():  # the platform's word wins
        ours.platform_assignment_id = submission.platform_assignment_id
        ours.save(update_fields=["platform_assignment_id"])
    others.update(leased_until=Least("leased_until", at))


def _without_a_receipt(submission: Submission) -> Q:
    """Work that its worker had no receipt for when they submitted: they were at it still, or had just gone away."""
    going_on = Q(state=Assignment.State.ACTIVE)
    return going_on if submission.receipt else going_on | Q(state=Assignment.State.LEFT)


def _alarm_no_answers(submission: Submission, at: datetime) -> None:
    """Nothing here pays for work without an answer: a person decides before the platform's clock does."""
    text = _("Assignment %(id)s was submitted without a single answer. Approve or reject it.")
    if submission.auto_approval_at is not None:
        text = _(
            "Assignment %(id)s was submitted without a single answer. Approve or reject it before %(time)s UTC: "
            "the platform then approves and pays it automatically."
        )
    values = {
        "id": submission.platform_assignment_id,
        "time": date_format(submission.auto_approval_at or at, "j M Y, H:i"),
    }
    alarm_raise(
        of=submission.publication,
        kind=PlatformAlarm.NO_ANSWERS,
        about=submission,
        text=phrase(submission.publication, text) % values,
        at=at,
    )


def _warn_before_auto_approval(submission: Submission, new: bool, at: datetime) -> None:
    """The platform's clock must not pay for work whose test pairs nobody checked, nor unseen for what was rejected."""
    publication, due = submission.publication, submission.auto_approval_at
    if (text := _why_not_automatically(submission, at)) and due is not None:
        alarm_raise(
            of=publication,
            kind=PlatformAlarm.AUTO_APPROVAL,
            about=submission,
            text=phrase(publication, text)
            % {"id": submission.platform_assignment_id, "time": date_format(due, "j M Y, H:i")},
            at=at,
        )
    elif not new and (submission.status != Status.SUBMITTED or _is_checked(submission)):
        alarm_settle(of=publication, kind=PlatformAlarm.AUTO_APPROVAL, about=submission, at=at)


def _why_not_automatically(submission: Submission, at: datetime) -> str:
    """Why a person should know that the platform approves this by itself; empty if nobody need."""
    due = submission.auto_approval_at
    if due is None or submission.status != Status.SUBMITTED:
        return ""
    if _was_rejected(submission, at):
        return _(
            "The rejection of assignment %(id)s was taken back at the platform, which approves it automatically at "
            "%(time)s. Reject it again there, unless it is to be paid."
        )
    if due - at > ALARM_BEFORE:
        return ""
    if submission.publication.state == Publication.State.STOPPED:
        return _("The platform approves assignment %(id)s automatically at %(time)s, although all spending is stopped.")
    if _is_checked(submission):
        return ""
    return _(
        "The platform approves assignment %(id)s automatically at %(time)s, and its test pairs have not been checked."
    )


def _is_checked(submission: Submission) -> bool:
    verdict = submission.assignment.verdict if submission.assignment else Assignment.Verdict.PENDING
    return bool(submission.decision) or verdict != Assignment.Verdict.PENDING


def _was_rejected(submission: Submission, at: datetime) -> bool:
    """Whether a person here had it rejected, so long ago that what the platform says now is newer."""
    return submission.decision == Decision.REJECT and (
        submission.operations.filter(
            kind=Operation.Kind.REJECT, state=Operation.State.DONE, ended_at__lte=at - OLDEST_ANSWER
        ).exists()
    )


def _compensated(published_hit: PublishedHit, submission: Submission, work: Work, at: datetime) -> None:
    """The worker took a compensation: approving it pays."""
    operation = published_hit.operations.filter(payment__purpose=Payment.Purpose.COMPENSATION).first()
    if operation is not None and operation.payment_id is not None and submission.status == Status.APPROVED:
        evidence = {"ApprovalTime": work.approval, "token": operation.token}
        payments_settle(evidence={operation.payment_id: evidence}, at=at)


# --- in sets


def works_store(
    *, publication: Publication, works: Iterable[Work], resting: Collection[int], at: datetime
) -> tuple[int, dict[int, tuple[PublishedHit, Exception]]]:
    """Store what is new of submitted work, whichever HITs it is on. How many submissions were new, and what failed, by
    the HIT's key. HITs that are `resting` failed before, and are left alone.

    Work that we know as it is costs nothing, plain work a few queries for a thousand of them; whatever is out of the
    ordinary is stored one by one (`submission_store`), and stops nobody else's.
    """
    new, failed = 0, dict[int, tuple[PublishedHit, Exception]]()
    left = iter(works)
    while batch := {work.assignment_id: work for work in islice(left, AT_ONCE)}:
        try:
            created, singly = _store_plain(publication, batch, at)
        except (DatabaseError, ValueError):  # one of them is bad: which, is found one by one
            log.exception("Submissions of publication %s are stored one by one", publication.pk)
            created, singly = 0, list(batch.values())
        new += created
        for home, work in _homes(publication, singly):
            if home.pk in resting:
                continue
            try:
                new += submission_store(published_hit=home, work=work, at=at)
            except Exception as error:
                failed[home.pk] = (home, error)
    return new, failed


@transaction.atomic
def _store_plain(publication: Publication, works: dict[str, Work], at: datetime) -> tuple[int, list[Work]]:
    """Store the plain ones of some work. How many submissions were new, and the work that is not plain."""
    names = ("platform_assignment_id", "status", "seconds_there", "assignment", "decision", "decided_by")
    stored = {row[0]: row[1:] for row in publication.submissions.filter(_named(works)).values_list(*names)}
    watched = set(_watched(publication, works, at))
    singly, moved, fresh = list[Work](), dict[str, list[str]](), dict[str, Work]()
    for key, work in works.items():
        if key not in stored:
            fresh[key] = work
            continue
        status, seconds, assignment, decision, decided_by = stored[key]
        unmatched = assignment is None and not decision
        before = Submission(status=work.status, decision=decision, decided_by_id=decided_by)
        taken_back = _is_taken_back(before) or (decision == Decision.REJECT and work.status == Status.SUBMITTED)
        if key in watched or unmatched or taken_back or (seconds is None and work.seconds is not None):
            singly.append(work)
        elif status != work.status:
            moved.setdefault(work.status, []).append(key)
    for status, keys in moved.items():
        publication.submissions.filter(_named(keys)).exclude(status=status).update(status=status)
    plain, others = _plain(publication, fresh, at)
    Submission.objects.bulk_create(plain, ignore_conflicts=True)
    _end_others(plain, at)
    return len(plain), singly + others


def _named(keys: Iterable[str]) -> Q:
    return Q(platform_assignment_id__in=list(keys))


def _watched(publication: Publication, works: Iterable[str], at: datetime) -> Iterable[str]:
    """Those of submissions with an alarm that another look may settle, or that one may soon be raised about."""
    raised = raised_about(OuterRef("pk"), PlatformAlarm.AUTO_APPROVAL, PlatformAlarm.UNMATCHED)
    near = Q(status=Status.SUBMITTED, auto_approval_at__lte=at + ALARM_BEFORE)
    return (
        publication.submissions.filter(_named(works))
        .filter(near | Exists(raised))
        .values_list("platform_assignment_id", flat=True)
    )


def _plain(publication: Publication, works: dict[str, Work], at: datetime) -> tuple[list[Submission], list[Work]]:
    """New work as submissions, where it is finished work of that person here that nothing speaks against; the rest."""
    erased = {erased_name(publication.campaign, key): key for key in works}
    gone = set(publication.submissions.filter(_named(erased)).values_list("platform_assignment_id", flat=True))
    works = {key: work for name, key in erased.items() if name not in gone and (work := works[key])}
    rows = Assignment.objects.filter(
        _named(works), campaign=publication.campaign_id, worker__platform=publication.platform, submission=None
    )
    mine = {(row.platform_assignment_id, row.worker.external_id): row for row in rows.select_related("worker")}
    homes = _newest_rounds(publication, {row.hit_id for row in mine.values()})
    plain, others = [], []
    for key, work in works.items():
        assignment = mine.get((key, work.worker_id))
        home = homes.get(assignment.hit_id) if assignment else None
        near = work.auto_approval_at is not None and work.auto_approval_at - at <= ALARM_BEFORE
        if assignment is None or home is None or near or not assignment.judged or not publication.is_done(assignment):
            others.append(work)
            continue
        plain.append(
            Submission(
                publication=publication,
                published_hit=home,
                assignment=assignment,
                platform_assignment_id=key,
                platform_worker_id=work.worker_id,
                receipt=assignment.receipt,
                **_facts(work, at),
            )
        )
    return plain, others


def _end_others(plain: Sequence[Submission], at: datetime) -> None:
    """What the same people hold beside on the same HITs ends: their work on these is in."""
    mine = Assignment.objects.filter(
        pk__in=[row.assignment_id for row in plain], hit=OuterRef("hit"), worker=OuterRef("worker")
    )
    others = Assignment.objects.filter(
        hit__in={row.assignment.hit_id for row in plain if row.assignment}, submission=None, leased_until__gt=at
    )
    others.filter(Exists(mine)).update(leased_until=at)


def _homes(publication: Publication, works: Sequence[Work]) -> Iterator[tuple[PublishedHit, Work]]:
    """Work with the HIT there that it is on: where it is stored, or whose work it is; what nobody here began is on the
    first that is still asked about, so that a person decides on it. What was finished here has its receipt.
    """
    if not works:
        return
    keys = [work.assignment_id for work in works if "\0" not in work.assignment_id]
    stored = publication.submissions.filter(_named(keys)).select_related("published_hit__publication__campaign")
    homes = {row.platform_assignment_id: row.published_hit for row in stored}
    rows = Assignment.objects.filter(_named(keys), campaign=publication.campaign_id).select_related("worker")
    mine = {(row.platform_assignment_id, row.worker.external_id): row for row in rows}
    hits = {row.platform_assignment_id: row.hit_id for row in mine.values()}
    posted = _newest_rounds(publication, hits.values())
    ours = publication.published_hits.filter(hit__isnull=False).select_related("publication__campaign").order_by("id")
    stray = ours.filter(next_poll_at__isnull=False).first() or ours.first()
    for work in works:
        key, assignment = work.assignment_id, mine.get((work.assignment_id, work.worker_id))
        home = homes.get(key) or posted.get(hits.get(key, 0)) or stray
        if home is not None:
            done = assignment is not None and publication.is_done(assignment)
            yield home, work._replace(receipt=assignment.receipt if assignment is not None and done else "")


def _newest_rounds(publication: Publication, hits: Iterable[int]) -> dict[int, PublishedHit]:
    """The last posting of each of these HITs of ours, by its key."""
    posted = publication.published_hits.filter(hit__in=list(hits)).select_related("publication__campaign")
    return {row.hit_id: row for row in posted.order_by("round", "id") if row.hit_id is not None}

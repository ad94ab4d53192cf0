"""Asking the venue what was submitted. Polling is the truth; a notification only makes the next poll come sooner."""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.db import transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Least
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from tasks.campaign_alarms import in_words
from tasks.crowd.environments import environment
from tasks.crowd.mturk import Answer, Trouble, answers_of, client_for, listed, trouble_of
from tasks.models import Assignment, Payment, Posting, Publication, Submission
from tasks.venue.alarms import alarm_raise, alarm_settle
from tasks.venue.effects import payment_settle
from tasks.venue.planning import end_plan

log = logging.getLogger(__name__)
POLL_EVERY = timedelta(minutes=30)
"""For HITs that nothing is heard of. Those that the venue calls reviewable are polled at once."""
ALARM_BEFORE = timedelta(days=1)
"""How long before an auto-approval unchecked work rings."""
AGAIN = timedelta(seconds=20)
"""A HIT that was asked about is left alone for so long: another process may be storing what was said."""
BATCH = 50
SHORTENED = 200  # HITs that one sync takes off the venue's list
LATEST = timedelta(days=1)
"""How long after its end, and the time for an assignment, a HIT without open work is still polled."""
Status = Submission.Status


class Synced(NamedTuple):
    """What a sync saw: HITs asked about, and submissions that were new."""

    polled: int
    new: int


def publication_sync(*, publication: Publication, at: datetime, limit: int = 2000, everything: bool = False) -> Synced:
    """Ask about HITs whose time has come (or all), and store what was submitted. Safe to run many at once."""
    client = client_for(environment(publication.environment))
    reviewable: list[str] = []
    if everything:
        publication.postings.exclude(venue_hit_id="").update(next_poll_at=at)
    else:
        types = publication.terms.exclude(hit_type_id="").values_list("hit_type_id", flat=True).distinct()
        for type_id in types:
            hits = listed(client.list_reviewable_hits, "HITs", HITTypeId=type_id)
            reviewable += (hit["HITId"] for hit in hits)
        for batch in _batches(reviewable):
            _hint(_incomplete(publication, at).filter(venue_hit_id__in=batch), at)
    polled = new = 0
    stored: set[str] = set()
    raised = set(publication.alarms.filter(kind="job", settled_at=None).values_list("subject", flat=True))
    while polled < limit:
        postings = _take(publication, at)
        if not postings:
            break
        for posting in postings:
            polled += 1
            found = _poll_alone(client, posting, at, raised)
            if found is not None:
                new += found
                stored.add(posting.venue_hit_id)
    if publication.state != Publication.State.STOPPED:
        _shorten_list(client, publication, reviewable, stored)
    return Synced(polled, new)


def _shorten_list(client: Any, publication: Publication, reviewable: Iterable[str], stored: set[str]) -> None:
    """Have the venue list a HIT no more, of which all that was submitted is stored. Saying so again changes nothing.

    The list is a hint and no more: if a HIT that left it gets further work, the next poll or notification finds that.
    """
    for batch in _batches(reviewable):
        complete = publication.postings.filter(venue_hit_id__in=batch, submissions__isnull=False)
        full = complete.annotate(count=Count("submissions")).filter(count__gte=F("places"))
        known = stored.intersection(batch).union(full.values_list("venue_hit_id", flat=True))
        for hit_id in sorted(known)[:SHORTENED]:
            try:
                client.update_hit_review_status(HITId=hit_id, Revert=False)
            except (BotoCoreError, ClientError) as error:
                if isinstance(error, ClientError) and trouble_of(error) in (Trouble.STATE, Trouble.REFUSED):
                    continue  # it is not reviewable any more
                log.warning("HITs of publication %s stay on the venue's list: %s", publication.pk, error)
                return
        if len(known) > SHORTENED:
            return


def _poll_alone(client: Any, posting: Posting, at: datetime, raised: set[str]) -> int | None:
    """Ask about one HIT: how many submissions were new; None if it failed.

    Its trouble raises an alarm and keeps no other waiting; the venue's own is everybody's.
    """
    subject = f"posting {posting.pk}"
    try:
        new = posting_poll(client=client, posting=posting, at=at)
    except Exception as error:
        if isinstance(error, BotoCoreError | ClientError) and trouble_of(error) not in (Trouble.STATE, Trouble.REFUSED):
            raise
        log.exception("HIT %s of publication %s", posting.venue_hit_id, posting.publication_id)
        text = _("What was submitted on HIT %(hit)s could not be stored (%(error)s). It is asked for again by itself.")
        said = text % {"hit": posting.venue_hit_id, "error": in_words(error)}
        alarm_raise(publication=posting.publication, kind="job", subject=subject, text=said, at=at)
        return None
    if subject in raised:
        alarm_settle(publication=posting.publication, kind="job", subject=subject, at=at)
    return new


def hints_take(*, publication: Publication, venue_hit_ids: Iterable[str], at: datetime) -> int:
    """Something may have happened on these HITs: poll them next. Unknown ones are not ours, and left alone."""
    return sum(_hint(publication.postings.filter(venue_hit_id__in=batch), at) for batch in _batches(venue_hit_ids))


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    left = iter(ids)
    return iter(lambda: list(islice(left, 1000)), [])


def _hint(postings: QuerySet[Posting], at: datetime) -> int:
    return postings.filter(next_poll_at__gt=at).update(next_poll_at=at)


def _incomplete(publication: Publication, at: datetime) -> QuerySet[Posting]:
    """HITs of which more may be submitted than we know, but for those that were asked about just now."""
    stored = Submission.objects.filter(posting=OuterRef("pk")).order_by().values("posting").annotate(n=Count("pk"))
    rested = publication.postings.filter(next_poll_at__lte=at + POLL_EVERY - AGAIN)
    return rested.annotate(stored=Coalesce(Subquery(stored.values("n")), 0)).filter(stored__lt=F("places"))


@transaction.atomic
def _take(publication: Publication, at: datetime) -> list[Posting]:
    """The next HITs to ask about, put off for others before anything is asked."""
    postings = list(
        publication.postings.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .filter(next_poll_at__lte=at)
        .exclude(venue_hit_id="")
        .select_related("publication__campaign")
        .order_by("next_poll_at", "id")[:BATCH]
    )
    Posting.objects.filter(pk__in=[posting.pk for posting in postings]).update(next_poll_at=at + POLL_EVERY)
    for posting in postings:
        posting.next_poll_at = at + POLL_EVERY
    return postings


def posting_poll(*, client: Any, posting: Posting, at: datetime) -> int:
    """Store what the venue says was submitted on a HIT, page by page. How many submissions were new."""
    new, undecided, failed = 0, False, None
    for said in listed(client.list_assignments_for_hit, "Assignments", HITId=posting.venue_hit_id):
        try:
            new += submission_store(posting=posting, said=said, at=at)
            undecided = undecided or said["AssignmentStatus"] == Status.SUBMITTED
        except Exception as error:  # what others submitted on the HIT is stored all the same
            failed = failed or error
    if failed is not None:
        raise failed
    if not undecided:
        _close_if_over(posting, at)
    return new


@transaction.atomic
def submission_store(*, posting: Posting, said: Answer, at: datetime) -> bool:
    """Store one assignment as the API says it, matched with ours by worker and receipt. Whether it was new."""
    publication = posting.publication
    submission, new = Submission.objects.select_for_update(of=("self",), no_key=True).get_or_create(
        publication=publication,
        venue_assignment_id=said["AssignmentId"],
        venue_worker_id=said["WorkerId"],
        defaults={
            "posting": posting,
            "status": said["AssignmentStatus"],
            "submitted_at": _time(said.get("SubmitTime")) or at,
            "auto_approval_at": _time(said.get("AutoApprovalTime")),
            "receipt": answers_of(said.get("Answer", "")).get("receipt", "")[:64],
        },
    )
    if submission.status != said["AssignmentStatus"]:
        submission.status = said["AssignmentStatus"]
        submission.save(update_fields=["status"])
    if posting.hit_id is None:
        _compensated(posting, submission, said, at)
    else:
        if submission.assignment_id is None and not submission.decision:
            _match(submission, posting, at)
            if not new and submission.assignment_id is not None:
                alarm_settle(publication=publication, kind="unmatched", subject=f"submission {submission.pk}", at=at)
        _ring_before_auto_approval(submission, new, at)
    return new


def _match(submission: Submission, posting: Posting, at: datetime) -> None:
    """Find our assignment: that worker's on that HIT, ended, with the receipt that only its page could know.

    Others on that HIT in the worker's name (they accepted it again, or somebody typed their id) end quietly.
    """
    publication = submission.publication
    in_their_name = Assignment.objects.filter(
        hit__postings=posting,
        worker__lab_id=publication.campaign.lab_id,
        worker__crowd=environment(publication.environment).crowd,
        worker__external_id=submission.venue_worker_id,
    )
    unmatched = in_their_name.filter(submission=None)
    ended = unmatched.exclude(state=Assignment.State.ACTIVE)
    ours = ended.filter(receipt=submission.receipt).first() if submission.receipt else None
    if ours is None:
        same_id = unmatched.filter(venue_assignment_id=submission.venue_assignment_id)
        if not unmatched.exists():
            why = _("No work by this worker on this HIT is stored here.")
        elif same_id.filter(state=Assignment.State.ACTIVE).exists() or not ended.exists():
            why = _("The worker submitted at the venue, and did not finish here.")
        else:
            why = _("The receipt that was submitted is not the one of the work stored here.")
        submission.why_unmatched = why
        submission.save(update_fields=["why_unmatched"])
        text = _("Work that was submitted at the venue waits for a person: %(why)s") % {"why": why}
        alarm_raise(publication=publication, kind="unmatched", subject=f"submission {submission.pk}", text=text, at=at)
        return
    submission.assignment, submission.why_unmatched = ours, ""
    if ours.judged == 0:
        submission.why_unmatched = _("It was submitted without a single answer.")
        _alarm_no_answers(submission, at)
    submission.save(update_fields=["assignment", "why_unmatched"])
    others = in_their_name.exclude(pk=ours.pk)
    if not others.filter(venue_assignment_id=submission.venue_assignment_id).exists():  # the platform's word wins
        ours.venue_assignment_id = submission.venue_assignment_id
        ours.save(update_fields=["venue_assignment_id"])
    others.update(leased_until=Least("leased_until", at))


def _alarm_no_answers(submission: Submission, at: datetime) -> None:
    """Nothing here pays for work without an answer: a person decides before the platform's clock does."""
    text = _("Assignment %(id)s was submitted without a single answer. Approve or reject it.")
    if submission.auto_approval_at is not None:
        text = _(
            "Assignment %(id)s was submitted without a single answer. Approve or reject it before %(time)s UTC: the "
            "platform approves and pays it by itself then."
        )
    values = {"id": submission.venue_assignment_id, "time": f"{submission.auto_approval_at or at:%Y-%m-%d %H:%M}"}
    alarm_raise(
        publication=submission.publication,
        kind="no-answers",
        subject=f"submission {submission.pk}",
        text=text % values,
        at=at,
    )


def _ring_before_auto_approval(submission: Submission, new: bool, at: datetime) -> None:
    """The venue's clock must not pay for work whose test pairs nobody checked."""
    checked = (
        submission.assignment is not None and submission.assignment.verdict != Assignment.Verdict.PENDING
    ) or submission.decision
    stopped = submission.publication.state == Publication.State.STOPPED
    subject = f"submission {submission.pk}"
    near = submission.auto_approval_at is not None and submission.auto_approval_at - at <= ALARM_BEFORE
    if submission.status == Status.SUBMITTED and near and (stopped or not checked):
        text = _("The venue approves assignment %(id)s by itself at %(time)s, and its test pairs were not checked.")
        if stopped:
            text = _("The venue approves assignment %(id)s by itself at %(time)s, although all spending is stopped.")
        alarm_raise(
            publication=submission.publication,
            kind="auto-approval",
            subject=subject,
            text=text % {"id": submission.venue_assignment_id, "time": f"{submission.auto_approval_at:%Y-%m-%d %H:%M}"},
            at=at,
        )
    elif not new and (checked or submission.status != Status.SUBMITTED):
        alarm_settle(publication=submission.publication, kind="auto-approval", subject=subject, at=at)


def _compensated(posting: Posting, submission: Submission, said: Answer, at: datetime) -> None:
    """The worker took a compensation: approving it pays."""
    operation = posting.operations.filter(payment__purpose=Payment.Purpose.COMPENSATION).first()
    if operation is not None and operation.payment_id is not None and submission.status == Status.APPROVED:
        evidence = {"ApprovalTime": str(said.get("ApprovalTime", "")), "token": operation.token}
        payment_settle(payment_id=operation.payment_id, evidence=evidence, at=at)


def _close_if_over(posting: Posting, at: datetime) -> None:
    """Poll no more where nothing more can come: ended long enough ago, and everything approved or rejected."""
    over = posting.expires_at is not None and posting.expires_at + posting.publication.longest_time + LATEST <= at
    full = posting.submissions.exclude(status=Status.SUBMITTED).count() >= posting.places
    if (over or full) and not posting.submissions.filter(status=Status.SUBMITTED).exists():
        # Not if it was asked for again, or hinted at, since it was read.
        unchanged = Posting.objects.filter(pk=posting.pk, places=posting.places, turn=posting.turn)
        unchanged.filter(next_poll_at=posting.next_poll_at).update(next_poll_at=None)


@transaction.atomic
def finished_end(*, publication: Publication, at: datetime) -> int:
    """End HITs that need no more work and are still open at the venue with free places. How many."""
    Publication.objects.select_for_update(no_key=True).get(pk=publication.pk)  # as all do who end or reopen HITs
    taken = publication.submissions.filter(posting__hit__needed=0)
    counts: dict[int, int] = {}
    for posting_id in taken.values_list("posting", flat=True):
        counts[posting_id] = counts.get(posting_id, 0) + 1
    done = publication.postings.filter(hit__needed=0, expires_at__gt=at).exclude(venue_hit_id="")
    ending = done.filter(operations__kind="expire", operations__ended_at=None).values_list("pk", flat=True)
    free = [one for one in done.exclude(pk__in=list(ending)) if counts.get(one.pk, 0) < one.places]
    running = set(
        Assignment.objects.filter(
            hit__in=[one.hit_id for one in free], submission=None, leased_until__gt=at
        ).values_list("hit", flat=True)
    )
    return end_plan(publication=publication, postings=[one for one in free if one.hit_id not in running], at=at)


def _time(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) or value is None else parse_datetime(str(value))

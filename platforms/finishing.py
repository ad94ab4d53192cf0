"""When a publication is finished: nothing can change any more by itself, so no periodic job reads it.

That holds for one revision of its campaign: late work and decisions on data raise it. A call that is planned, a HIT
that is to be asked about, and work to be decided on are seen as well. So whatever happens to a finished publication has
the jobs look after it again, and no service has to say so.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from platforms.models import Operation, Payment, Publication, PublishedHit, Submission
from platforms.reviewing import GRACE
from tasks.models import Assignment, Hit, Worker

State = Publication.State


def unfinished() -> QuerySet[Publication]:
    """The publications that jobs look after, in one query however many are finished."""
    own = {"publication": OuterRef("pk")}
    sendable = [Operation.State.PLANNED, Operation.State.SENT, Operation.State.UNKNOWN]
    stirring = (
        Exists(Operation.objects.filter(state__in=sendable, **own))
        | Exists(PublishedHit.objects.filter(next_poll_at__isnull=False, **own))
        | Exists(Submission.objects.filter(decision=Submission.Decision.NONE, **own))
    )
    finished = Q(finished_revision=F("campaign__revision"), finished_revision__isnull=False)
    return Publication.objects.exclude(state=State.DRAFT).filter(~finished | stirring)


@transaction.atomic
def publication_finish(*, publication: Publication, at: datetime) -> bool:
    """Mark a publication as finished where it is: all HITs are done, all work is decided on and paid, nothing is on its
    way, no alarm is raised, and the ledgers were compared since and agree. Returns whether it is.
    """
    publication = (
        Publication.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign")
        .get(pk=publication.pk)
    )
    if publication.state not in (State.OPEN, State.PAUSED) or _is_going_on(publication, at):
        return False
    comparison = getattr(publication, "comparison", None)
    if comparison is None or comparison.differences or comparison.made_at <= _last_change(publication):
        return False
    publication.finished_revision = publication.campaign.revision
    publication.save(update_fields=["finished_revision"])
    return True


def _is_going_on(publication: Publication, at: datetime) -> bool:
    """Whether anything can still happen by itself."""
    undecided = Q(decision=Submission.Decision.NONE) | Q(status=Submission.Status.SUBMITTED)
    # Work that was finished here and may still be submitted, or else is found to be compensated.
    awaited = Assignment.objects.filter(
        campaign=publication.campaign_id, submission=None, finished_at__gt=at - publication.longest_time - GRACE
    ).exclude(platform_assignment_id="")
    checks = (
        Hit.objects.filter(campaign=publication.campaign_id, needed__gt=0),
        publication.published_hits.filter(Q(next_poll_at__isnull=False) | Q(platform_hit_id="", hit__isnull=False)),
        publication.operations.filter(ended_at=None),
        publication.submissions.filter(undecided),
        publication.payments.filter(state__in=[Payment.State.OWED, Payment.State.SENT]),
        publication.alarms.filter(settled_at=None),
        awaited,
        Assignment.objects.filter(campaign=publication.campaign_id, submission=None, leased_until__gt=at).exclude(
            platform_assignment_id=""
        ),
    )
    return any(check.exists() for check in checks)


def _last_change(publication: Publication) -> datetime:
    """When something last happened that a comparison of the ledgers would show."""
    times: list[datetime | None] = [
        publication.published_at,
        publication.operations.aggregate(last=Max("ended_at"))["last"],
        publication.payments.aggregate(last=Max("paid_at"))["last"],
        publication.submissions.aggregate(last=Max("decided_at"))["last"],
    ]
    return max(time for time in times if time is not None)


def worker_publications_reopen(*, worker: Worker) -> None:
    """Let finished publications that had excluded a worker readmit them: they are welcome again."""
    Publication.objects.filter(operations__worker=worker, finished_revision__isnull=False).update(
        finished_revision=None
    )

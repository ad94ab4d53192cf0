"""When a publication is finished: nothing can change any more by itself, so no periodic job reads it.

That holds for one revision of its campaign: late work and decisions on data raise it. A call that is planned, a HIT
that is to be asked about or needs work, and work to be decided on are seen as well. So whatever happens to a finished
publication has the jobs look after it again, and no service has to say so.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from platforms.calls import may_run
from platforms.ledger_comparison import comparison_begin
from platforms.models import Operation, Payment, Publication, PublishedHit, StudySync, Submission
from platforms.planning import publication_lock
from platforms.reviewing.compensations import GRACE, uncompensated
from pools import services as pool_services
from pools.models import Campaign
from tasks.models import Assignment, Hit, Worker

State = Publication.State


def unfinished() -> QuerySet[Publication]:
    """The publications that jobs look after, in one query however many are finished."""
    sendable = [Operation.State.PLANNED, Operation.State.SENT, Operation.State.UNKNOWN]
    # Each a partial index of what is yet to be done, and as small as that.
    stirring = (
        Q(pk__in=Operation.objects.filter(state__in=sendable).values("publication"))
        | Q(pk__in=PublishedHit.objects.filter(next_poll_at__isnull=False).values("publication"))
        | Q(pk__in=Submission.objects.filter(decision=Submission.Decision.NONE).values("publication"))
        | Q(state=State.OPEN, campaign__state=Campaign.State.OPEN)
        & Exists(Hit.objects.filter(campaign=OuterRef("campaign"), needed__gt=0))
    )
    finished = Q(finished_revision=F("campaign__revision"), finished_revision__isnull=False)
    return Publication.objects.exclude(state=State.DRAFT).filter(~finished | stirring)


@transaction.atomic
def publication_finish(*, publication: Publication, at: datetime) -> bool:
    """Mark a publication as finished where it is: no more work can come, all work is decided on and paid, nothing is on
    its way, no alarm is raised, and the ledgers were compared since, HIT by HIT, and agree. Returns whether it is.

    If only the comparison is missing, it begins. What is not finished any more is marked so.
    """
    publication = publication_lock(publication)
    if publication.state == State.DRAFT:
        return False
    over = not _is_going_on(publication, at)
    agreed = over and _have_agreed(publication)
    if over and not agreed:
        comparison_begin(publication=publication, at=at, full=True)
    revision = publication.campaign.revision if agreed else None
    if publication.finished_revision != revision:
        publication.finished_revision = revision
        publication.save(update_fields=["finished_revision"])
        if not agreed:
            pool_services.campaign_reopen(campaign_id=publication.campaign_id)
    return agreed


def _is_going_on(publication: Publication, at: datetime) -> bool:
    """Whether anything can still happen by itself."""
    # Work that was finished here and may still be submitted, or else is found to be compensated.
    awaited = Assignment.objects.filter(
        campaign=publication.campaign_id, is_submitted=False, finished_at__gt=at - publication.longest_time - GRACE
    ).exclude(platform_assignment_id="")
    checks = [
        publication.published_hits.filter(next_poll_at__isnull=False),
        StudySync.objects.filter(publication=publication, is_quiet=False),
        publication.operations.filter(ended_at=None).exclude(_held_back(publication)),
        publication.submissions.filter(decision=Submission.Decision.NONE),
        publication.submissions.filter(status=Submission.Status.SUBMITTED),
        publication.payments.filter(state__in=[Payment.State.OWED, Payment.State.SENT]),
        publication.alarms.filter(settled_at=None),
        awaited,
        uncompensated(publication),
        # whoever is at work, or is yet to be taken as gone
        Assignment.objects.filter(campaign=publication.campaign_id, state=Assignment.State.ACTIVE).exclude(
            platform_assignment_id=""
        ),
    ]
    if publication.state == State.OPEN and publication.campaign.state != Campaign.State.CLOSED:
        checks += [
            Hit.objects.filter(campaign=publication.campaign_id, needed__gt=0),
            publication.published_hits.filter(platform_hit_id="", hit__isnull=False),
        ]
    return any(check.exists() for check in checks)


def _held_back(publication: Publication) -> Q:
    """Calls that were never sent, pay nobody, and wait for a person to resume the publication."""
    waiting = [kind for kind in Operation.Kind if not may_run(kind, publication.state)]
    return Q(kind__in=waiting, state=Operation.State.PLANNED, first_sent_at=None, payment=None)


def _have_agreed(publication: Publication) -> bool:
    """Whether the ledgers were compared, all of them, since anything happened that this would show; and agreed."""
    comparison = getattr(publication, "comparison", None)
    return (
        comparison is not None
        and comparison.is_full
        and not comparison.differences
        and comparison.began_at > _last_change(publication)
    )


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
    reopened = Publication.objects.filter(operations__worker=worker, finished_revision__isnull=False)
    for publication in reopened.distinct():
        pool_services.campaign_reopen(campaign_id=publication.campaign_id)
    reopened.update(finished_revision=None)

"""Workers who come from a venue: in a frame, without cookies, with ids that anybody could have typed."""

from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from pools.errors import BadRequest
from tasks import services as tasks
from tasks.crowd.environments import environment
from tasks.models import Assignment, Hit, Posting, Publication, Submission, Worker

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# Whether the worker met one of the HIT's pairs before, in whatever campaign of the collection.
_MET_BEFORE = """
SELECT EXISTS (
  SELECT 1
  FROM tasks_item item JOIN pools_pair pair ON pair.id = item.pair_id JOIN pools_pool pool ON pool.id = pair.pool_id
  WHERE item.hit_id = %(hit)s AND (pool.query_id, pair.a_id, pair.b_id) IN (
    SELECT met_pool.query_id, met_pair.a_id, met_pair.b_id
    FROM tasks_assignment met JOIN tasks_item met_item ON met_item.hit_id = met.hit_id
      JOIN pools_pair met_pair ON met_pair.id = met_item.pair_id
      JOIN pools_pool met_pool ON met_pool.id = met_pair.pool_id
    WHERE met.worker_id = %(worker)s))
"""


def assignment_arrive(
    *, publication: Publication, hit: Hit, assignment_id: str, worker_id: str, at: datetime
) -> Assignment:
    """Let a worker of the venue begin, or go on with, a HIT. Coming again gives the same assignment.

    The ids are believed once the API confirms them; until then they only open a place. Another worker with the same
    assignment id (the venue gives the id of a returned assignment to the next one) has an assignment of their own.

    Raises BadRequest for a preview or ids that cannot be, and NoWork where the worker may not do this HIT.
    """
    if not (may_be_an_id(assignment_id) and may_be_an_id(worker_id)):
        raise BadRequest(_("This task was not accepted at the venue yet. Accept it there, then begin."))
    if hit.campaign_id != publication.campaign_id:
        raise BadRequest(_("This task belongs to other work."))
    worker = worker_of(publication=publication, worker_id=worker_id)
    try:
        with transaction.atomic():
            return _arrive(publication, hit, assignment_id, worker, at)
    except IntegrityError:  # the same worker's other tab was first
        try:
            with transaction.atomic():
                return _arrive(publication, hit, assignment_id, worker, at)
        except IntegrityError:
            raise BadRequest(_("This id belongs to another task of yours. Open the task at the venue again.")) from None


def may_be_an_id(given: str) -> bool:
    """Whether a venue could have made this id: not the preview's, no odd letters, not too long."""
    return given != PREVIEW and 0 < len(given) <= 64 and given.isascii() and given.isalnum()


def worker_of(*, publication: Publication, worker_id: str) -> Worker:
    """The lab's worker of that venue id, made on the first visit."""
    worker, _new = Worker.objects.get_or_create(
        lab_id=publication.campaign.lab_id,
        crowd=environment(publication.environment).crowd,
        external_id=worker_id,
    )
    return worker


def _arrive(publication: Publication, hit: Hit, assignment_id: str, worker: Worker, at: datetime) -> Assignment:
    Worker.objects.select_for_update(of=("self",), no_key=True).get(pk=worker.pk)
    campaign = publication.campaign
    mine = Assignment.objects.filter(hit=hit, worker=worker).first()
    if mine is not None:
        return _again(publication, mine, assignment_id)
    campaign.refresh_from_db()
    reason = tasks.no_work_reason(worker, campaign)
    if reason:
        raise tasks.NoWork(reason)
    hit.refresh_from_db()
    if hit.needed <= 0 or not _is_posted(publication, hit):
        raise tasks.NoWork(
            _("This task was done by others meanwhile. Please return it; it does not count against you.")
        )
    if _met_before(hit, worker):
        raise tasks.NoWork(_("You compared some of these passages before. Please return this task and take another."))
    return Assignment.objects.create(
        campaign=campaign,
        hit=hit,
        worker=worker,
        taken_at=at,
        leased_until=at + publication.assignment_duration,
        venue_assignment_id=assignment_id,
    )


def _again(publication: Publication, mine: Assignment, assignment_id: str) -> Assignment:
    """The worker came back, perhaps having accepted the HIT anew: then its newest id is the one that will come."""
    if mine.venue_assignment_id == assignment_id:
        return mine
    if Submission.objects.filter(assignment=mine).exists():
        raise tasks.NoWork(_("You have submitted this task already. Thank you!"))
    mine.venue_assignment_id = assignment_id
    mine.save(update_fields=["venue_assignment_id"])
    return mine


def _is_posted(publication: Publication, hit: Hit) -> bool:
    return Posting.objects.filter(publication=publication, hit=hit).exists()


def _met_before(hit: Hit, worker: Worker) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_MET_BEFORE, {"hit": hit.pk, "worker": worker.pk})
        row = cursor.fetchone()
    return bool(row and row[0])

"""Workers who come from a platform: in a frame, without cookies, with ids that anyone could have typed."""

from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from core.alarms import alarm_raise
from core.errors import BadRequest
from platforms.models import PlatformAlarm, Publication, PublishedHit, Submission
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Hit, Worker
from tasks.next_hit import next_layout

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
MOST_UNCONFIRMED = 3  # running leases on one HIT of one worker's id, or from one address: the oldest ends for a new one
# Whether the worker met one of the HIT's pairs in another, in whatever campaign of the collection. Of work that came
# through a platform, only what it confirmed or what came from the same address is known to be the worker's.
_MET_BEFORE = """
SELECT EXISTS (
  SELECT 1
  FROM tasks_item item JOIN pools_pair pair ON pair.id = item.pair_id JOIN pools_pool pool ON pool.id = pair.pool_id
  WHERE item.hit_id = %(hit)s AND item.layout = 0 AND (pool.query_id, pair.a_id, pair.b_id) IN (
    SELECT met_pool.query_id, met_pair.a_id, met_pair.b_id
    FROM tasks_assignment met JOIN tasks_item met_item ON met_item.hit_id = met.hit_id AND met_item.layout = 0
      JOIN pools_pair met_pair ON met_pair.id = met_item.pair_id
      JOIN pools_pool met_pool ON met_pool.id = met_pair.pool_id
      LEFT JOIN platforms_submission confirmed ON confirmed.assignment_id = met.id
    WHERE met.worker_id = %(worker)s AND met.hit_id <> %(hit)s
      AND (met.platform_assignment_id = '' OR confirmed.id IS NOT NULL OR met.came_from = %(came_from)s)))
"""


def assignment_arrive(
    *, publication: Publication, hit: Hit, assignment_id: str, worker_id: str, at: datetime, came_from: str = ""
) -> Assignment:
    """Let a worker of the platform begin or continue a HIT. The same ids give the same assignment.

    The ids are trusted once the API confirms them; until then they only open an assignment of their own, one for each
    HIT, worker and assignment id, and touch no other. `came_from` is a digest of the address that they came from.

    Raises BadRequest for a preview or ids that cannot be, and NoWork where the worker may not do this HIT.
    """
    if not (may_be_an_id(assignment_id) and may_be_an_id(worker_id)):
        raise BadRequest(_("This task has not been accepted at the platform yet. Accept it there, then begin."))
    if hit.campaign_id != publication.campaign_id:
        raise BadRequest(_("This task belongs to a different study."))
    worker = worker_of(publication=publication, worker_id=worker_id)
    try:
        with transaction.atomic():
            return _arrive(publication, hit, assignment_id, worker, came_from, at)
    except IntegrityError:  # the same worker's other tab was first
        return Assignment.objects.get(hit=hit, worker=worker, platform_assignment_id=assignment_id)
    except task_services.LeftTooMany:
        leaves_alarm(publication=publication, worker=worker, came_from=came_from, at=at)
        raise


def must_be_free(*, publication: Publication, hit: Hit, at: datetime) -> None:
    """Raise NoWork where a HIT needs nobody from the platform: it is done, or somebody who came by a link has it."""
    if hit.needed <= 0 or not PublishedHit.objects.filter(publication=publication, hit=hit).exists():
        raise task_services.NoWork(
            _("Others have completed this task in the meantime. Please return it; it does not count against you.")
        )
    if hit.needed <= task_selectors.at_work_by_link(at).filter(hit=hit).count():
        raise task_services.NoWork(
            _("Somebody else is working on this task. Please return it; it does not count against you.")
        )


def may_be_an_id(text: str) -> bool:
    """Whether a platform could have made this id: not the preview's, letters and digits only, not too long."""
    return text != PREVIEW and 0 < len(text) <= 64 and text.isascii() and text.isalnum()


def worker_of(*, publication: Publication, worker_id: str) -> Worker:
    """The lab's worker of that platform id, made on the first visit."""
    worker, _new = Worker.objects.get_or_create(
        lab_id=publication.campaign.lab_id, platform=publication.platform, external_id=worker_id
    )
    return worker


def leaves_alarm(*, publication: Publication, worker: Worker, came_from: str, at: datetime) -> bool:
    """Raise an alarm if the worker has left as many of the campaign's HITs as allowed. Returns whether they have."""
    campaign = Campaign.objects.get(pk=publication.campaign_id)
    counts = task_selectors.left_count(worker, campaign, came_from)
    if not counts.reaches(campaign):
        return False
    text = _(
        "A worker has begun and left %(left)d tasks, and finished %(finished)d. They get no more tasks of this "
        "campaign."
    )
    alarm_raise(
        of=publication,
        kind=PlatformAlarm.LEAVES,
        about=worker,
        text=text % {"left": counts.left, "finished": counts.finished},
        at=at,
    )
    return True


def _arrive(
    publication: Publication, hit: Hit, assignment_id: str, worker: Worker, came_from: str, at: datetime
) -> Assignment:
    Worker.objects.select_for_update(of=("self",), no_key=True).get(pk=worker.pk)
    campaign = publication.campaign
    mine = Assignment.objects.filter(hit=hit, worker=worker, platform_assignment_id=assignment_id).first()
    if mine is not None:
        return mine
    if Submission.objects.filter(assignment__hit=hit, assignment__worker=worker).exists():
        raise task_services.NoWork(_("You have already submitted this task. Thank you!"))
    campaign.refresh_from_db()
    task_services.may_take(worker, campaign, came_from)
    if _met_before(hit, worker, came_from):
        raise task_services.NoWork(
            _("You have compared some of these passages before. Please return this task and take another.")
        )
    _end_oldest_leases(hit, worker, came_from, at)
    # So that the next who arrives, or takes a HIT by a link, counts this one. After the assignments, as wherever both
    # are locked.
    hit = Hit.objects.select_for_update(no_key=True).get(pk=hit.pk)
    must_be_free(publication=publication, hit=hit, at=at)
    return Assignment.objects.create(
        campaign=campaign,
        hit=hit,
        worker=worker,
        layout=next_layout(hit.pk, at),
        taken_at=at,
        leased_until=at + publication.assignment_duration,
        platform_assignment_id=assignment_id,
        came_from=came_from,
    )


def _end_oldest_leases(hit: Hit, worker: Worker, came_from: str, at: datetime) -> None:
    """Made-up ids must not hold a HIT for long: a new lease ends the oldest one. Late work is still accepted."""
    same = Q(worker=worker) | Q(came_from=came_from) if came_from else Q(worker=worker)
    unconfirmed = Assignment.objects.filter(same, hit=hit, leased_until__gt=at, submission=None)
    running = unconfirmed.exclude(platform_assignment_id="").order_by("-id").values_list("pk", flat=True)
    Assignment.objects.filter(pk__in=list(running[MOST_UNCONFIRMED - 1 :])).update(leased_until=at)


def _met_before(hit: Hit, worker: Worker, came_from: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_MET_BEFORE, {"hit": hit.pk, "worker": worker.pk, "came_from": came_from})
        row = cursor.fetchone()
    return bool(row and row[0])

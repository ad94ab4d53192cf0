"""The tasks that a worker can find, and those that the worker has accepted."""

from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from marketplace import clock
from marketplace.errors import DoesNotExist, NotAllowed
from marketplace.models import LIVE_STATES, Assignment, Hit, HitType, Worker, WorkerBlock
from marketplace.questions import Question, question_read
from marketplace.requirements import Action, Requirement, unmet
from marketplace.selectors.lookups import get_or_refuse
from marketplace.selectors.records import unmet_by, values_of


class HitGroup(NamedTuple):
    """HITs of one type that a worker can find."""

    hit_type: HitType
    # How many of them the worker could take.
    hits: int
    next_hit_id: str
    # What keeps the worker from accepting; empty if nothing does.
    missing: list[Requirement]
    previewable: bool


class Preview(NamedTuple):
    """A HIT as a worker may see it."""

    hit: Hit
    question: Question
    # What keeps the worker from accepting; empty if nothing does.
    missing: list[Requirement]


def hits_findable(worker: Worker, *, hit_type: HitType | None = None) -> QuerySet[Hit]:
    """HITs with a free place that the worker has not taken, of requesters who do not block the worker.

    Qualifications are not looked at: hit_groups_findable does that.
    """
    hits = Hit.objects.filter(
        status=Hit.Status.ASSIGNABLE, expires_at__gt=clock.now(), requester__is_active=True
    ).exclude(requester__in=WorkerBlock.objects.filter(worker=worker).values("requester"))
    if hit_type is not None:
        hits = hits.filter(hit_type=hit_type)
    # For each HIT, not as a list of all that the worker ever did
    own_attempts = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, state__in=LIVE_STATES)
    return hits.filter(~Exists(own_attempts)).order_by("pk")


def hit_groups_findable(worker: Worker, *, words: str = "", qualified_only: bool = False) -> list[HitGroup]:
    """What the worker can find, a group for each HIT type, best paid first. `words` are looked for in the texts."""
    hits = hits_findable(worker)
    for word in words.split()[:10]:
        hits = hits.filter(
            Q(hit_type__title__icontains=word)
            | Q(hit_type__description__icontains=word)
            | Q(hit_type__keywords__icontains=word)
            | Q(requester__name__icontains=word)
        )
    by_type = hits.annotate(was_left=Exists(_attempts_left(worker))).order_by().values("hit_type")
    first = Coalesce(Min("pk", filter=Q(was_left=False)), Min("pk"))
    counts = {row["hit_type"]: row for row in by_type.annotate(hits=Count("pk"), first=first)}
    types = HitType.objects.filter(pk__in=counts).select_related("requester").order_by("-reward", "pk")
    first_ids = dict(
        Hit.objects.filter(pk__in=[row["first"] for row in counts.values()]).values_list("hit_type", "hit_id")
    )
    type_ids = {requirement["QualificationTypeId"] for hit_type in types for requirement in hit_type.requirements}
    values = values_of(worker, type_ids) if type_ids else {}
    groups = []
    for hit_type in types:
        if unmet(hit_type.requirements, values, Action.DISCOVER):
            continue
        missing = unmet(hit_type.requirements, values, Action.ACCEPT)
        if qualified_only and missing:
            continue
        groups.append(
            HitGroup(
                hit_type=hit_type,
                hits=counts[hit_type.pk]["hits"],
                next_hit_id=first_ids[hit_type.pk],
                missing=missing,
                previewable=not unmet(hit_type.requirements, values, Action.PREVIEW),
            )
        )
    return groups


def hits_next(worker: Worker, *, group_id: str) -> list[QuerySet[Hit]]:
    """The HITs of a group that the worker could take, in order: first those that they never took, then those that they
    returned or let lapse, the longest ago first.
    """
    hit_type = HitType.objects.filter(group_id=group_id).first()
    if hit_type is None:
        return []
    hits, left = hits_findable(worker, hit_type=hit_type), _attempts_left(worker)
    last_left = left.order_by().values("hit").annotate(last=Max("left_at")).values("last")
    return [hits.filter(~Exists(left)), hits.filter(Exists(left)).order_by(Subquery(last_left), "pk")]


def _attempts_left(worker: Worker) -> QuerySet[Assignment]:
    """A worker's attempts at a HIT that they returned or let lapse."""
    return Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, left_at__isnull=False)


def hit_next(worker: Worker, *, group_id: str) -> Hit | None:
    """The HIT of a group that the worker could take next."""
    return next((hit for hits in hits_next(worker, group_id=group_id) if (hit := hits.first())), None)


def group_of(hit_id: str) -> str:
    """The group that a HIT belongs to; empty if there is no such HIT."""
    return Hit.objects.filter(hit_id=hit_id).values_list("hit_type__group_id", flat=True).first() or ""


def hit_type_linked(kind_id: str) -> HitType:
    """The HIT type that a link names, as tools print it: by its own id or by its group's. Raises DoesNotExist."""
    return get_or_refuse(HitType.objects.filter(Q(group_id=kind_id) | Q(type_id=kind_id)), "HITType", kind_id)


def hit_next_locked(worker: Worker, *, group_id: str) -> Hit | None:
    """As hit_next, locked until the transaction ends. Those that others are taking at this moment are passed over;
    where all are being taken, the first that stays free is waited for.
    """
    for hits in hits_next(worker, group_id=group_id):
        for passing_over in (True, False):
            locked = hits.select_for_update(of=("self",), no_key=True, skip_locked=passing_over)
            if (hit := locked.select_related("hit_type", "requester").first()) is not None:
                return hit
    return None


def hit_preview(worker: Worker, hit_id: str) -> Preview:
    """A HIT as the worker may see it before accepting. Raises DoesNotExist, NotAllowed."""
    hit = Hit.objects.select_related("hit_type", "requester").filter(hit_id=hit_id).first()
    if hit is None or unmet_by(worker, hit.hit_type.requirements, Action.DISCOVER):
        raise DoesNotExist("HIT", hit_id)
    if unmet_by(worker, hit.hit_type.requirements, Action.PREVIEW):
        raise NotAllowed("You do not have the qualifications required to preview this HIT.")
    return Preview(
        hit=hit, question=question_of(hit), missing=unmet_by(worker, hit.hit_type.requirements, Action.ACCEPT)
    )


def question_of(hit: Hit) -> Question:
    """A HIT's question, read."""
    return question_read(hit.question, insecure_urls=settings.DEVELOPMENT)


def assignment_of(worker: Worker, assignment_id: str) -> Assignment:
    """A worker's own assignment. Raises DoesNotExist."""
    rows = Assignment.objects.select_related("hit__hit_type", "hit__requester")
    return get_or_refuse(rows.filter(worker=worker, assignment_id=assignment_id), "Assignment", assignment_id)


def assignments_held(worker: Worker) -> QuerySet[Assignment]:
    """The worker's tasks in progress, the most urgent first."""
    rows = Assignment.objects.select_related("hit__hit_type", "hit__requester")
    return rows.filter(worker=worker, state=Assignment.State.ACCEPTED).order_by("deadline")


def assignments_past(worker: Worker) -> QuerySet[Assignment]:
    """What the worker submitted, returned or let lapse, newest first."""
    rows = Assignment.objects.select_related("hit__hit_type", "hit__requester").prefetch_related("bonuses")
    return rows.filter(worker=worker).exclude(state=Assignment.State.ACCEPTED).order_by("-pk")


def seconds_left(assignment: Assignment) -> int:
    """Until the deadline; 0 when it is over."""
    return max(0, int((assignment.deadline - clock.now()).total_seconds()))

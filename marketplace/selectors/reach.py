"""How many workers could take a HIT with some requirements: a count, and nothing about who they are."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from marketplace import clock
from marketplace.models import Assignment, Qualification, Requester, Worker, WorkerBlock
from marketplace.requirements import NUMBER_APPROVED, PERCENT_APPROVED, SYSTEM, Action, Requirement, Value, unmet
from marketplace.selectors.records import Record, facts_of, record_values

# Who did something here within this time is active.
RECENT = timedelta(days=30)


class Reach(NamedTuple):
    """Of the `active` workers, those who are `qualified` and not blocked by the requester."""

    qualified: int
    active: int


def workers_active() -> QuerySet[Worker]:
    """Workers in good standing who registered, logged in or accepted a task lately."""
    since = clock.now() - RECENT
    lately = Assignment.objects.filter(worker=OuterRef("pk"), accepted_at__gte=since)
    rows = Worker.objects.filter(status=Worker.Status.ACTIVE, account__is_active=True)
    return rows.filter(Q(registered_at__gte=since) | Q(account__last_login__gte=since) | Exists(lately))


def reach_of(requester: Requester, requirements: Sequence[Requirement]) -> Reach:
    """How many active workers meet all of these requirements, in a fixed number of questions to the database."""
    active = workers_active()
    count = active.count()
    willing = active.exclude(pk__in=WorkerBlock.objects.filter(requester=requester).values("worker"))
    if not requirements:
        return Reach(willing.count(), count)
    type_ids = {requirement["QualificationTypeId"] for requirement in requirements}
    if type_ids & {NUMBER_APPROVED, PERCENT_APPROVED}:
        states = Assignment.State
        willing = willing.annotate(
            approved=Count("assignments", filter=Q(assignments__state=states.APPROVED)),
            rejected=Count("assignments", filter=Q(assignments__state=states.REJECTED)),
        )
    granted: dict[int, dict[str, int]] = {}
    rows = Qualification.objects.filter(
        qualification_type__type_id__in=type_ids - SYSTEM.keys(), status=Qualification.Status.GRANTED
    )
    for worker_pk, type_id, value in rows.values_list("worker__pk", "qualification_type__type_id", "value"):
        granted.setdefault(worker_pk, {})[type_id] = value or 0
    qualified = 0
    for worker in willing.iterator(chunk_size=2000):
        values: dict[str, Value] = {**facts_of(worker), **granted.get(worker.pk, {}), **_record(worker)}
        qualified += not unmet(requirements, values, Action.ACCEPT)
    return Reach(qualified, count)


def _record(worker: Worker) -> Mapping[str, Value]:
    """The values that follow from an annotated worker's record; none where it was not asked for."""
    if not hasattr(worker, "approved"):
        return {}
    decided = Record(worker.vouched_approved + worker.approved, worker.vouched_rejected + worker.rejected)  # type: ignore[attr-defined]
    return record_values(decided)

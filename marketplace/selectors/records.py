"""What a worker is qualified for: granted qualifications, and the ones that follow from the worker's record."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Count, Q

from marketplace.models import Assignment, Qualification, Worker
from marketplace.requirements import (
    ADULT,
    LOCALE,
    MASTERS,
    MASTERS_SANDBOX,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
    SYSTEM,
    Action,
    Place,
    Requirement,
    Value,
    unmet,
)


class Record(NamedTuple):
    """How a worker's decided work fared, what the operator vouched for included."""

    approved: int
    rejected: int

    @property
    def percent_approved(self) -> int:
        """Of what was approved or rejected, rounded down. 100 while nothing is decided."""
        decided = self.approved + self.rejected
        return 100 * self.approved // decided if decided else 100


def record_of(worker: Worker) -> Record:
    """A worker's record over all requesters."""
    counts = Assignment.objects.filter(worker=worker).aggregate(
        approved=Count("pk", filter=Q(state=Assignment.State.APPROVED)),
        rejected=Count("pk", filter=Q(state=Assignment.State.REJECTED)),
    )
    return Record(worker.vouched_approved + counts["approved"], worker.vouched_rejected + counts["rejected"])


def values_of(worker: Worker, type_ids: Iterable[str]) -> dict[str, Value]:
    """The worker's values of some qualification types, by id. What the worker has not is None."""
    wanted_ids = set(type_ids)
    values: dict[str, Value] = dict.fromkeys(wanted_ids)
    if requesters_ids := wanted_ids - SYSTEM.keys():
        granted = Qualification.objects.filter(
            worker=worker, qualification_type__type_id__in=requesters_ids, status=Qualification.Status.GRANTED
        )
        for type_id, value in granted.values_list("qualification_type__type_id", "value"):
            values[type_id] = value or 0
    if wanted_ids & {NUMBER_APPROVED, PERCENT_APPROVED}:
        values |= record_values(record_of(worker))
    return values | facts_of(worker)


def record_values(record: Record) -> dict[str, Value]:
    """The values of the qualification types that follow from a worker's record."""
    return {NUMBER_APPROVED: record.approved, PERCENT_APPROVED: record.percent_approved}


def facts_of(worker: Worker) -> dict[str, Value]:
    """The values of the qualification types that follow from the worker's own row."""
    masters: dict[str, Value] = dict.fromkeys((MASTERS, MASTERS_SANDBOX), 1 if worker.is_master else None)
    place = Place(worker.country, worker.subdivision)
    return {LOCALE: place, ADULT: 1 if worker.adult_content else 0, **masters}


def unmet_by(worker: Worker, requirements: Sequence[Requirement], action: Action) -> list[Requirement]:
    """The requirements that keep this worker from an action."""
    if not requirements:
        return []
    values = values_of(worker, [requirement["QualificationTypeId"] for requirement in requirements])
    return unmet(requirements, values, action)

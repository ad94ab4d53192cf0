"""Qualification types, who has which, and who waits for one."""

from collections.abc import Sequence

from django.db.models import Exists, Func, JSONField, OuterRef, Q, QuerySet
from django.db.models import Value as Literal

from marketplace.errors import WrongState
from marketplace.models import HitType, Qualification, QualificationRequest, QualificationType, Requester, Worker
from marketplace.requirements import SYSTEM, Requirement
from marketplace.selectors.lookups import get_or_refuse, qualification_type_of, worker_of


def types(*, owner: Requester | None, requestable: bool, query: str) -> QuerySet[QualificationType]:
    """Types that have each word of the query in their texts."""
    rows = QualificationType.objects.filter(retired_at=None)
    if owner is not None:
        rows = rows.filter(requester=owner)
    if requestable:
        rows = rows.filter(status=QualificationType.Status.ACTIVE)
    for word in query.split()[:10]:
        rows = rows.filter(Q(name__icontains=word) | Q(description__icontains=word) | Q(keywords__icontains=word))
    return rows


def qualification_granted(requester: Requester, type_id: str, worker_id: str) -> Qualification:
    """A worker's qualification. Raises DoesNotExist, or WrongState if it was revoked."""
    owned = qualification_type_of(requester, type_id)
    rows = Qualification.objects.select_related("qualification_type", "worker")
    rows = rows.filter(qualification_type=owned, worker=worker_of(worker_id))
    qualification = get_or_refuse(rows, "Qualification", f"{type_id} of worker {worker_id}")
    if qualification.status != Qualification.Status.GRANTED:
        raise WrongState("Qualification", Qualification.Status.GRANTED)
    return qualification


def qualifications(requester: Requester, type_id: str, status: str) -> QuerySet[Qualification]:
    """Who has a requester's qualification, or had it. Raises DoesNotExist."""
    rows = Qualification.objects.select_related("qualification_type", "worker")
    return rows.filter(qualification_type=qualification_type_of(requester, type_id), status=status)


def requests_pending(requester: Requester, type_id: str | None) -> QuerySet[QualificationRequest]:
    """Requests for a requester's qualifications, or for one of them. Raises DoesNotExist."""
    rows = QualificationRequest.objects.select_related("qualification_type", "worker")
    rows = rows.filter(qualification_type__requester=requester, state=QualificationRequest.State.PENDING)
    return rows.filter(qualification_type=qualification_type_of(requester, type_id)) if type_id else rows


# --- as workers see them


def qualifications_of(worker: Worker) -> QuerySet[Qualification]:
    """What requesters granted to the worker, newest first, revoked ones included."""
    rows = Qualification.objects.select_related("qualification_type__requester")
    return rows.filter(worker=worker).order_by("-granted_at", "-pk")


def qualification_requests_of(worker: Worker) -> QuerySet[QualificationRequest]:
    """What the worker asked for, newest first."""
    rows = QualificationRequest.objects.select_related("qualification_type__requester")
    return rows.filter(worker=worker).order_by("-pk")


def qualification_types_requestable() -> QuerySet[QualificationType]:
    """What workers may ask for, by name: not what keeps those who have it from tasks, which helps nobody to have."""
    rows = QualificationType.objects.select_related("requester")
    kept_out = Func(
        Func(
            Literal("QualificationTypeId"),
            OuterRef("type_id"),
            Literal("Comparator"),
            Literal("DoesNotExist"),
            function="jsonb_build_object",
        ),
        function="jsonb_build_array",
        output_field=JSONField(),
    )
    bars = HitType.objects.filter(requirements__contains=kept_out)
    return rows.filter(~Exists(bars), status=QualificationType.Status.ACTIVE, retired_at=None).order_by("name", "pk")


def qualification_names(requirements: Sequence[Requirement]) -> dict[str, str]:
    """The names of the types that requirements are about, by id."""
    type_ids = [requirement["QualificationTypeId"] for requirement in requirements]
    names = QualificationType.objects.filter(type_id__in=type_ids).values_list("type_id", "name")
    return {type_id: name for type_id, name in SYSTEM.items() if type_id in type_ids} | dict(names)

"""Qualification types, who has which, and who waits for one."""

from django.db.models import Q, QuerySet

from marketplace.errors import DoesNotExist, WrongState
from marketplace.models import Qualification, QualificationRequest, QualificationType, Requester
from marketplace.selectors.lookups import qualification_type_of, worker_of


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
    found = rows.filter(qualification_type=owned, worker=worker_of(worker_id)).first()
    if found is None:
        raise DoesNotExist("Qualification", f"{type_id} of worker {worker_id}")
    if found.status != Qualification.Status.GRANTED:
        raise WrongState("Qualification", Qualification.Status.GRANTED)
    return found


def qualifications(requester: Requester, type_id: str, status: str) -> QuerySet[Qualification]:
    """Who has a requester's qualification, or had it. Raises DoesNotExist."""
    rows = Qualification.objects.select_related("qualification_type", "worker")
    return rows.filter(qualification_type=qualification_type_of(requester, type_id), status=status)


def requests_pending(requester: Requester, type_id: str | None) -> QuerySet[QualificationRequest]:
    """Requests for a requester's qualifications, or for one of them. Raises DoesNotExist."""
    rows = QualificationRequest.objects.select_related("qualification_type", "worker")
    rows = rows.filter(qualification_type__requester=requester, state=QualificationRequest.State.PENDING)
    return rows.filter(qualification_type=qualification_type_of(requester, type_id)) if type_id else rows

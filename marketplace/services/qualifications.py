"""Qualification types, who has which, and who asks for one."""

from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError, transaction

from marketplace import clock, ids
from marketplace.errors import InvalidValue, NameTaken, NotAllowed, WrongState
from marketplace.models import (
    HitType,
    Message,
    Qualification,
    QualificationRequest,
    QualificationType,
    Requester,
    Worker,
)
from marketplace.selectors.lookups import get_or_refuse, qualification_type_of, worker_of

Status = QualificationType.Status


class Changes(NamedTuple):
    """What is to change in a qualification type; None leaves a value as it is."""

    description: str | None = None
    status: str | None = None
    retry_seconds: int | None = None
    auto_granted: bool | None = None
    auto_value: int | None = None


def qualification_type_create(
    *,
    requester: Requester,
    name: str,
    description: str,
    status: str,
    keywords: str = "",
    retry_seconds: int | None = None,
    auto_granted: bool = False,
    auto_value: int | None = None,
) -> QualificationType:
    """A new qualification type. Raises NameTaken, InvalidValue."""
    for label, value, most in (("Name", name, 200), ("Description", description, 2000), ("Keywords", keywords, 1000)):
        if len(value) > most:
            raise InvalidValue(f"{label} has {len(value):,} characters, more than {most:,}.")
    if not name.strip() or not description.strip():
        raise InvalidValue("Name and Description must not be empty.")
    _check_retry(retry_seconds)
    if auto_value is not None and not auto_granted:
        raise InvalidValue("AutoGrantedValue is for types with AutoGranted true.")
    try:
        with transaction.atomic():
            return QualificationType.objects.create(
                type_id=ids.entity_id(),
                requester=requester,
                name=name,
                keywords=keywords,
                description=description,
                status=status,
                retry_seconds=retry_seconds,
                auto_granted=auto_granted,
                auto_value=(1 if auto_value is None else auto_value) if auto_granted else None,
                created_at=clock.now(),
            )
    except IntegrityError:
        raise NameTaken(
            "You have already created a QualificationType with this name. A QualificationType's name must be unique "
            "among all of the QualificationTypes created by the same user."
        ) from None


@transaction.atomic
def qualification_type_update(*, requester: Requester, type_id: str, changes: Changes) -> QualificationType:
    """Change a type. Retries can be enabled or delayed, never disabled. Raises DoesNotExist, InvalidValue."""
    qualification_type = qualification_type_of(requester, type_id, lock=True)
    if changes.description is not None:
        if not changes.description.strip() or len(changes.description) > 2000:
            raise InvalidValue("Description must have from 1 to 2,000 characters.")
        qualification_type.description = changes.description
    if changes.status is not None:
        qualification_type.status = changes.status
    if changes.retry_seconds is not None:
        _check_retry(changes.retry_seconds)
        qualification_type.retry_seconds = changes.retry_seconds
    if changes.auto_granted is not None:
        qualification_type.auto_granted = changes.auto_granted
        qualification_type.auto_value = (qualification_type.auto_value or 1) if changes.auto_granted else None
    if changes.auto_value is not None:
        if not qualification_type.auto_granted:
            raise InvalidValue("AutoGrantedValue is for types with AutoGranted true.")
        qualification_type.auto_value = changes.auto_value
    qualification_type.save()
    return qualification_type


@transaction.atomic
def qualification_type_delete(*, requester: Requester, type_id: str) -> None:
    """Retire a type: HIT types that need it go with it, pending requests are rejected, who has it keeps it."""
    qualification_type = qualification_type_of(requester, type_id, lock=True)
    at = clock.now()
    qualification_type.retired_at = at
    qualification_type.status = Status.INACTIVE
    qualification_type.save(update_fields=["retired_at", "status"])
    HitType.objects.filter(
        requester=requester, retired_at=None, requirements__contains=[{"QualificationTypeId": type_id}]
    ).update(retired_at=at)
    pending = QualificationRequest.objects.filter(
        qualification_type=qualification_type, state=QualificationRequest.State.PENDING
    )
    pending.update(
        state=QualificationRequest.State.REJECTED, decided_at=at, reason="The qualification type was deleted."
    )


@transaction.atomic
def qualification_grant(
    *, requester: Requester, type_id: str, worker_id: str, value: int | None = 1, notify: bool = True
) -> Qualification:
    """Give a worker a qualification, or another score. With `notify`, the worker gets a message."""
    qualification_type = qualification_type_of(requester, type_id)
    worker = worker_of(worker_id)
    qualification = _grant(qualification_type, worker, value)
    if notify:
        Message.objects.create(
            requester=requester,
            worker=worker,
            direction=Message.Direction.TO_WORKER,
            subject="You have been granted a qualification",
            text=f"You now have: {qualification_type.name}\n\n{qualification_type.description}",
            sent_at=clock.now(),
        )
    return qualification


@transaction.atomic
def qualification_revoke(*, requester: Requester, type_id: str, worker_id: str, reason: str = "") -> Qualification:
    """Take a qualification back. The worker sees the reason. Raises DoesNotExist, or WrongState if revoked before."""
    rows = Qualification.objects.select_for_update(no_key=True)
    rows = rows.filter(qualification_type=qualification_type_of(requester, type_id), worker=worker_of(worker_id))
    qualification = get_or_refuse(rows, "Qualification", f"{type_id} of worker {worker_id}")
    if qualification.status != Qualification.Status.GRANTED:
        raise WrongState("Qualification", Qualification.Status.GRANTED)
    qualification.status = Qualification.Status.REVOKED
    qualification.reason = reason
    qualification.save(update_fields=["status", "reason"])
    return qualification


@transaction.atomic
def qualification_request(*, worker: Worker, type_id: str) -> QualificationRequest:
    """A worker asks for a qualification. Granted at once where the type says so. Asking again meanwhile is no error.

    Raises DoesNotExist, or NotAllowed (not open to requests, had one before and no retry, retried too early).
    """
    types = QualificationType.objects.select_for_update(no_key=True).filter(type_id=type_id, retired_at=None)
    locked = get_or_refuse(types, "QualificationType", type_id)
    earlier = QualificationRequest.objects.filter(qualification_type=locked, worker=worker).order_by("-pk").first()
    if earlier is not None and earlier.state == QualificationRequest.State.PENDING:
        return earlier
    if locked.status != Status.ACTIVE:
        raise NotAllowed("This qualification cannot be requested now.")
    at = clock.now()
    if earlier is not None:
        if locked.retry_seconds is None:
            raise NotAllowed("This qualification can be requested only once.")
        if at < earlier.submitted_at + timedelta(seconds=locked.retry_seconds):
            raise NotAllowed("It is too early to request this qualification again.")
    request = QualificationRequest(
        request_id=ids.entity_id(), qualification_type=locked, worker=worker, submitted_at=at
    )
    if locked.auto_granted:
        request.state = QualificationRequest.State.GRANTED
        request.decided_at = at
        _grant(locked, worker, locked.auto_value)
    request.save(force_insert=True)
    return request


@transaction.atomic
def qualification_request_accept(
    *, requester: Requester, request_id: str, value: int | None = None
) -> QualificationRequest:
    """Grant what a worker asked for. Raises DoesNotExist, WrongState."""
    request = _pending(requester, request_id)
    request.state = QualificationRequest.State.GRANTED
    request.decided_at = clock.now()
    request.save(update_fields=["state", "decided_at"])
    _grant(request.qualification_type, request.worker, value)
    return request


@transaction.atomic
def qualification_request_reject(*, requester: Requester, request_id: str, reason: str = "") -> QualificationRequest:
    """Do not grant what a worker asked for. The worker sees the reason. Raises DoesNotExist, WrongState."""
    request = _pending(requester, request_id)
    request.state = QualificationRequest.State.REJECTED
    request.decided_at = clock.now()
    request.reason = reason
    request.save(update_fields=["state", "decided_at", "reason"])
    return request


def _grant(qualification_type: QualificationType, worker: Worker, value: int | None) -> Qualification:
    qualification, _ = Qualification.objects.update_or_create(
        qualification_type=qualification_type,
        worker=worker,
        defaults={"value": value, "status": Qualification.Status.GRANTED, "granted_at": clock.now(), "reason": ""},
    )
    return qualification


def _pending(requester: Requester, request_id: str) -> QualificationRequest:
    rows = QualificationRequest.objects.select_for_update(of=("self",), no_key=True)
    rows = rows.select_related("qualification_type", "worker")
    rows = rows.filter(request_id=request_id, qualification_type__requester=requester)
    request = get_or_refuse(rows, "QualificationRequest", request_id)
    if request.state != QualificationRequest.State.PENDING:
        raise WrongState("QualificationRequest", "Submitted")
    return request


def _check_retry(seconds: int | None) -> None:
    if seconds is not None and seconds < 0:
        raise InvalidValue(f"RetryDelayInSeconds is {seconds}, which is less than 0.")

"""Things by their ids, or DoesNotExist."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from marketplace.errors import DoesNotExist
from marketplace.models import HitType, QualificationType, Requester, Worker

Row = TypeVar("Row", bound=Model)


def get_or_refuse(rows: QuerySet[Row], what: str, entity_id: object) -> Row:
    """The first of some rows. Raises DoesNotExist, which names what was looked for, if there is none."""
    row = rows.first()
    if row is None:
        raise DoesNotExist(what, str(entity_id))
    return row


def worker_of(worker_id: str, *, lock: bool = False) -> Worker:
    """The worker of an id; with a `lock`, nobody else changes it meanwhile. Raises DoesNotExist."""
    workers = Worker.objects.select_for_update(no_key=True) if lock else Worker.objects.all()
    return get_or_refuse(workers.filter(worker_id=worker_id), "Worker", worker_id)


def hit_type_of(requester: Requester, type_id: str) -> HitType:
    """The requester's HIT type, in use. Raises DoesNotExist."""
    rows = HitType.objects.filter(requester=requester, type_id=type_id, retired_at=None)
    return get_or_refuse(rows, "HITType", type_id)


def qualification_type_of(requester: Requester, type_id: str, *, lock: bool = False) -> QualificationType:
    """The requester's qualification type, in use; with a `lock`, nobody else changes it. Raises DoesNotExist."""
    types = QualificationType.objects.select_for_update(no_key=True) if lock else QualificationType.objects.all()
    rows = types.filter(requester=requester, type_id=type_id, retired_at=None)
    return get_or_refuse(rows, "QualificationType", type_id)


def qualification_type_known(type_id: str) -> QualificationType:
    """A qualification type of any requester, in use. Raises DoesNotExist."""
    rows = QualificationType.objects.filter(type_id=type_id, retired_at=None)
    return get_or_refuse(rows, "QualificationType", type_id)


def requester_of(account_id: str) -> Requester:
    """The requester of an account id. Raises DoesNotExist."""
    return get_or_refuse(Requester.objects.filter(account_id=account_id), "Requester", account_id)

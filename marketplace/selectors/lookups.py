"""Things by their ids, or DoesNotExist."""

from marketplace.errors import DoesNotExist
from marketplace.models import HitType, QualificationType, Requester, Worker


def worker_of(worker_id: str, *, lock: bool = False) -> Worker:
    """The worker of an id; with a `lock`, nobody else changes it meanwhile. Raises DoesNotExist."""
    workers = Worker.objects.select_for_update(no_key=True) if lock else Worker.objects
    worker = workers.filter(worker_id=worker_id).first()
    if worker is None:
        raise DoesNotExist("Worker", worker_id)
    return worker


def hit_type_of(requester: Requester, type_id: str) -> HitType:
    """The requester's HIT type, in use. Raises DoesNotExist."""
    hit_type = HitType.objects.filter(requester=requester, type_id=type_id, retired_at=None).first()
    if hit_type is None:
        raise DoesNotExist("HITType", type_id)
    return hit_type


def qualification_type_of(requester: Requester, type_id: str) -> QualificationType:
    """The requester's qualification type, in use. Raises DoesNotExist."""
    qualification_type = QualificationType.objects.filter(requester=requester, type_id=type_id, retired_at=None).first()
    if qualification_type is None:
        raise DoesNotExist("QualificationType", type_id)
    return qualification_type


def qualification_type_known(type_id: str) -> QualificationType:
    """A qualification type of any requester, in use. Raises DoesNotExist."""
    qualification_type = QualificationType.objects.filter(type_id=type_id, retired_at=None).first()
    if qualification_type is None:
        raise DoesNotExist("QualificationType", type_id)
    return qualification_type


def requester_of(account_id: str) -> Requester:
    """The requester of an account id. Raises DoesNotExist."""
    requester = Requester.objects.filter(account_id=account_id).first()
    if requester is None:
        raise DoesNotExist("Requester", account_id)
    return requester

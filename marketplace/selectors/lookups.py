"""Things by their ids, or DoesNotExist."""

from marketplace.errors import DoesNotExist
from marketplace.models import HitType, QualificationType, Requester, Worker


def worker_of(worker_id: str) -> Worker:
    """The worker of an id. Raises DoesNotExist."""
    found = Worker.objects.filter(worker_id=worker_id).first()
    if found is None:
        raise DoesNotExist("Worker", worker_id)
    return found


def hit_type_of(requester: Requester, type_id: str) -> HitType:
    """The requester's HIT type, in use. Raises DoesNotExist."""
    found = HitType.objects.filter(requester=requester, type_id=type_id, retired_at=None).first()
    if found is None:
        raise DoesNotExist("HITType", type_id)
    return found


def qualification_type_of(requester: Requester, type_id: str) -> QualificationType:
    """The requester's qualification type, in use. Raises DoesNotExist."""
    found = QualificationType.objects.filter(requester=requester, type_id=type_id, retired_at=None).first()
    if found is None:
        raise DoesNotExist("QualificationType", type_id)
    return found


def qualification_type_known(type_id: str) -> QualificationType:
    """A qualification type of any requester, in use. Raises DoesNotExist."""
    found = QualificationType.objects.filter(type_id=type_id, retired_at=None).first()
    if found is None:
        raise DoesNotExist("QualificationType", type_id)
    return found

"""What workers are called, on pages, in the audit and in exports: by a keyed pseudonym of a campaign."""

import hashlib
import hmac
from collections.abc import Iterable

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from pools.models import Campaign
from tasks.models import Assignment, Invitation, Worker


def pseudonym(campaign: Campaign, key: int, kind: str = "worker") -> str:
    """The name of a worker (or a `person` who decides) in a campaign and its exports: 16 hexadecimal digits, the same
    every time.
    """
    return _keyed(campaign.pseudonym_key, key, kind)


def erased_name(campaign: Campaign, assignment_id: str) -> str:
    """What takes the place of an assignment's id at its platform once the worker is erased: it leads nowhere, and is
    known if the id is seen again.
    """
    return f"erased-{_keyed(campaign.pseudonym_key, assignment_id, 'assignment', 32)}"


def with_name(workers: QuerySet[Worker]) -> QuerySet[Worker]:
    """With what `name_of` needs: the key of the campaign that each worked in last, or else was invited to last."""
    worked = Assignment.objects.filter(worker=OuterRef("pk")).order_by("-taken_at", "-pk")
    invited = Invitation.objects.filter(worker=OuterRef("pk")).order_by("-pk")
    keys = (Subquery(rows.values("campaign__pseudonym_key")[:1]) for rows in (worked, invited))
    return workers.annotate(name_key=Coalesce(*keys))


def name_of(worker: Worker) -> str:
    """What a worker of `with_name` is called where no campaign is meant: as in the campaign they came to last."""
    key: bytes | None = worker.name_key  # type: ignore[attr-defined]
    return str(worker.pk) if key is None else _keyed(key, worker.pk, "worker")


def worker_names(pairs: Iterable[tuple[int | None, int]]) -> dict[tuple[int | None, int], str]:
    """The same for many: what each worker is called in a campaign, or, without one, where no campaign is meant."""
    pairs = set(pairs)
    secrets = dict(Campaign.objects.filter(pk__in={pk for pk, _worker in pairs}).values_list("pk", "pseudonym_key"))
    workers = with_name(Worker.objects.filter(pk__in={worker for _pk, worker in pairs}))
    last = {worker.pk: name_of(worker) for worker in workers}
    return {
        (pk, worker): _keyed(secrets[pk], worker, "worker") if pk in secrets else last.get(worker, str(worker))
        for pk, worker in pairs
    }


def _keyed(secret: bytes | memoryview, key: int | str, kind: str, digits: int = 16) -> str:
    return hmac.new(bytes(secret), f"{kind} {key}".encode(), hashlib.sha256).hexdigest()[:digits]

"""Entries about what changes no recorded row. Those about changes of rows are written by triggers: see triggers.py."""

from typing import Any

from django.utils import timezone

from core.audit.origin import origin
from core.audit.tables import NOTES
from core.logs import REQUEST_ID
from core.models import AuditEntry


def entry_note(
    *,
    subject: str,
    action: str,
    key: object = "",
    thing: str = "",
    lab_id: int | None = None,
    campaign_id: int | None = None,
    campaign: str = "",
    worker_id: int | None = None,
    actor: int | None = None,
    **facts: Any,
) -> AuditEntry:
    """Note that somebody did something, with facts that are stored as they are. `actor` is another than who acts."""
    assert subject in NOTES, subject
    acting = origin()
    if actor is not None:
        acting = acting._replace(kind=AuditEntry.ActorKind.PERSON, person=actor)
    request_id = REQUEST_ID.get()
    return AuditEntry.objects.create(
        at=timezone.now(),
        subject=subject,
        key=str(key),
        thing=thing[:200],
        action=action,
        changes=facts,
        lab_id=lab_id,
        campaign_id=campaign_id,
        campaign=campaign,
        worker_id=worker_id,
        actor_kind=acting.kind,
        actor_id=acting.person,
        actor_name=acting.name,
        address=acting.address,
        request_id="" if request_id == "-" else request_id,
        why=acting.why,
    )

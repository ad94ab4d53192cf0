"""Messages between requesters and workers."""

from django.db.models import QuerySet

from marketplace.errors import DoesNotExist
from marketplace.models import Assignment, Hit, Message, Requester, Worker
from marketplace.requirements import Action
from marketplace.selectors.lookups import get_or_refuse
from marketplace.selectors.records import unmet_by


def messages_of(worker: Worker) -> QuerySet[Message]:
    """The worker's messages in both directions, newest first."""
    return Message.objects.select_related("requester", "hit__hit_type").filter(worker=worker).order_by("-pk")


def messages_to(requester: Requester) -> QuerySet[Message]:
    """What workers wrote to a requester, newest first."""
    rows = Message.objects.select_related("worker", "hit__hit_type")
    return rows.filter(requester=requester, direction=Message.Direction.TO_REQUESTER).order_by("-pk")


def unread_count(worker: Worker) -> int:
    """How many messages the worker has not opened."""
    return Message.objects.filter(worker=worker, direction=Message.Direction.TO_WORKER, read_at=None).count()


def message_of(worker: Worker, message_pk: int) -> Message:
    """One of the worker's messages, in either direction. Raises DoesNotExist."""
    rows = Message.objects.select_related("requester", "hit__hit_type")
    return get_or_refuse(rows.filter(worker=worker, pk=message_pk), "Message", message_pk)


def requester_message(requester: Requester, message_pk: int) -> Message:
    """A message that a worker wrote to the requester. Raises DoesNotExist."""
    rows = messages_to(requester).select_related("worker", "requester", "hit__hit_type").filter(pk=message_pk)
    return get_or_refuse(rows, "Message", message_pk)


def hit_to_ask_about(worker: Worker, hit_id: str) -> Hit:
    """A HIT that the worker may write about: one the worker did something on, or can find. Raises DoesNotExist."""
    hit = Hit.objects.select_related("hit_type", "requester").filter(hit_id=hit_id).first()
    if hit is not None:
        if Assignment.objects.filter(hit=hit, worker=worker).exists():
            return hit
        if not unmet_by(worker, hit.hit_type.requirements, Action.DISCOVER):
            return hit
    raise DoesNotExist("HIT", hit_id)

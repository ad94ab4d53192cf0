"""What belongs to a requester beside HITs and qualifications."""

from django.db.models import QuerySet

from marketplace.models import Message, Requester, WorkerBlock


def blocks_of(requester: Requester) -> QuerySet[WorkerBlock]:
    """Whom a requester blocks."""
    return WorkerBlock.objects.select_related("worker").filter(requester=requester)


def messages_to(requester: Requester) -> QuerySet[Message]:
    """What workers wrote to a requester, newest first."""
    rows = Message.objects.select_related("worker", "hit__hit_type")
    return rows.filter(requester=requester, direction=Message.Direction.TO_REQUESTER).order_by("-pk")

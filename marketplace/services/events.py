"""What happened to HITs and assignments, for the programs of requesters that asked to hear of it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from marketplace import ids
from marketplace.models import AccessKey, Assignment, EventKind, Hit, Notification, NotificationSubscription

# Of the notification's body, which has been the same since then.
API_VERSION = "2014-08-15"


class Event(NamedTuple):
    """One event of a HIT, or of an assignment of it."""

    kind: EventKind
    hit: Hit
    assignment: Assignment | None = None


def events_note(events: Iterable[Event], *, at: datetime) -> None:
    """Write a notification for each event that somebody asked to hear of. Part of the event's transaction."""
    events = list(events)
    types = {event.hit.hit_type_id for event in events}
    if not types:
        return
    subscriptions = {
        subscription.hit_type_id: subscription
        for subscription in NotificationSubscription.objects.filter(hit_type__in=types, active=True).select_related(
            "key__requester", "hit_type"
        )
    }
    notifications = []
    for event in events:
        subscription = subscriptions.get(event.hit.hit_type_id)
        if subscription is not None and event.kind in subscription.events:
            facts = event_facts(
                event.kind,
                at=at,
                type_id=subscription.hit_type.type_id,
                hit_id=event.hit.hit_id,
                assignment_id=event.assignment.assignment_id if event.assignment else "",
            )
            notifications.append(notification(subscription.key, subscription.destination, facts, at=at))
    Notification.objects.bulk_create(notifications)


def event_facts(kind: str, *, at: datetime, type_id: str, hit_id: str, assignment_id: str = "") -> dict[str, str]:
    """One event as a notification's body lists it."""
    facts = {
        "EventType": kind,
        "EventTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "HITTypeId": type_id,
        "HITId": hit_id,
    }
    return facts | {"AssignmentId": assignment_id} if assignment_id else facts


def notification(key: AccessKey, destination: str, facts: dict[str, str], *, at: datetime) -> Notification:
    """A notification of one event, to be saved and delivered. The key's requester must be loaded."""
    body: dict[str, Any] = {
        "EventDocId": ids.entity_id(),
        "EventDocVersion": API_VERSION,
        "CustomerId": key.requester.account_id,
        "Events": [facts],
    }
    return Notification(key=key, destination=destination, body=body, made_at=at, next_try_at=at)

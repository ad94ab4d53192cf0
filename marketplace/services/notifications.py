"""Notifications to requesters' programs: who wants which, and what proves them. services.delivery sends them.

Mechanical Turk sent them to SQS and SNS. Here, Transport is SNS and Destination an address: the body is an SNS-like
envelope, and X-Marketplace-Signature proves who sent it. Receivers treat them as hints, and ask the API.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from marketplace import clock, ids
from marketplace.errors import InvalidValue, Unsupported
from marketplace.models import AccessKey, EventKind, HitType, Notification, NotificationSubscription
from marketplace.services.events import event_facts, notification
from outbound import Reach, destination_problem

VERSION = "2006-05-05"
SIGNATURE_HEADER = "X-Marketplace-Signature"


def reach() -> Reach:
    """What the operator lets notifications be sent to."""
    return Reach(
        ports=settings.NOTIFICATION_PORTS, networks=settings.NOTIFICATION_NETWORKS, insecure=settings.DEVELOPMENT
    )


class Specification(NamedTuple):
    """Where to send which events."""

    destination: str
    transport: str
    version: str
    events: list[str]


def specification_read(
    *, destination: str, transport: str, version: str, events: Sequence[str], test: bool = False
) -> Specification:
    """Check a notification specification. Raises InvalidValue, Unsupported."""
    if version != VERSION:
        raise InvalidValue(f"The notification's Version is '{version[:20]}', not '{VERSION}'.")
    if transport != NotificationSubscription.Transport.SNS:
        raise Unsupported(f"The transport {transport} is not supported. Use SNS, with an https:// address.")
    if not events:
        raise InvalidValue("EventTypes is empty.")
    if EventKind.PING in events and not test:
        raise InvalidValue("The event Ping is only for SendTestEventNotification.")
    if destination.startswith("arn:"):
        raise Unsupported("Amazon's topics cannot be reached from here. Destination takes an https:// address.")
    problem = "has more than 1,000 characters" if len(destination) > 1000 else destination_problem(destination, reach())
    if problem:
        raise InvalidValue(f"Destination {problem}.")
    return Specification(destination, transport, version, list(dict.fromkeys(events)))


@transaction.atomic
def subscription_set(
    *, key: AccessKey, hit_type: HitType, specification: Specification | None, active: bool | None
) -> NotificationSubscription:
    """Say where to send events of a HIT type, or turn that on or off. Raises InvalidValue if it never was set."""
    subscription = NotificationSubscription.objects.select_for_update(no_key=True).filter(hit_type=hit_type).first()
    if specification is None:
        if subscription is None:
            raise InvalidValue("This HIT type has no notification specification that Active could apply to.")
        subscription.active = bool(active)
        subscription.save(update_fields=["active"])
        return subscription
    row, _ = NotificationSubscription.objects.update_or_create(
        hit_type=hit_type, defaults={**specification._asdict(), "key": key, "active": active is not False}
    )
    return row


def test_queue(*, key: AccessKey, specification: Specification, event: str) -> Notification:
    """Queue one made-up event for the sender."""
    at = clock.now()
    facts = event_facts(
        event, at=at, type_id=ids.entity_id(), hit_id=ids.entity_id(), assignment_id=_assignment_if(event)
    )
    row = notification(key, specification.destination, facts, at=at)
    row.save()
    return row


def signature(secret: bytes, stamp: str, body: bytes) -> str:
    """What proves a notification: HMAC-SHA256 over the time it was sent and its bytes, in hexadecimal."""
    return hmac.new(secret, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()


def _assignment_if(event: str) -> str:
    return ids.entity_id() if event.startswith("Assignment") else ""

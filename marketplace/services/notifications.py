"""Notifications to requesters' programs: over HTTP, signed, at least once, or given up after a day of trying.

Mechanical Turk sent them to SQS and SNS. Here, Transport is SNS and Destination an address: the body is an SNS-like
envelope, and X-Marketplace-Signature proves who sent it. Receivers treat them as hints, and ask the API.
"""

import hashlib
import hmac
import ipaddress
import json
import logging
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import httpx
from django.conf import settings
from django.db import transaction
from django.db.models import F

from marketplace import clock, ids
from marketplace.errors import InvalidValue, Unsupported
from marketplace.models import AccessKey, HitType, Notification, NotificationSubscription
from marketplace.services import faults
from marketplace.services.events import event_facts, notification
from marketplace.services.keys import notification_secret

VERSION = "2006-05-05"
TIMEOUT = 5.0  # seconds
FIRST_WAIT, MOST_TRIES = timedelta(seconds=30), 12  # doubling: a little more than a day
BATCH = 100
SIGNATURE_HEADER = "X-Marketplace-Signature"
log = logging.getLogger(__name__)


class NotReachable(Exception):
    """A notification could not be delivered. The message says why."""


class Wanted(NamedTuple):
    """Where to send which events."""

    destination: str
    transport: str
    version: str
    events: list[str]


def wanted_read(*, destination: str, transport: str, version: str, events: Sequence[str], test: bool = False) -> Wanted:
    """Check a notification specification. Raises InvalidValue, Unsupported."""
    if version != VERSION:
        raise InvalidValue(f"The notification's Version is '{version[:20]}', not '{VERSION}'.")
    if transport != "SNS":
        raise Unsupported(f"The transport {transport} is not supported. Use SNS, with an https:// address.")
    if not events:
        raise InvalidValue("EventTypes is empty.")
    if "Ping" in events and not test:
        raise InvalidValue("The event Ping is only for SendTestEventNotification.")
    if destination.startswith("arn:"):
        raise Unsupported("Amazon's topics cannot be reached from here. Destination takes an https:// address.")
    try:
        parts = urlsplit(destination)
        valid = parts.scheme in ({"https", "http"} if settings.DEVELOPMENT else {"https"}) and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        valid = False
    if not valid or parts.username or parts.password or len(destination) > 1000:
        raise InvalidValue("Destination is not an address that starts with https://.")
    return Wanted(destination, transport, version, list(dict.fromkeys(events)))


@transaction.atomic
def subscription_set(
    *, key: AccessKey, hit_type: HitType, wanted: Wanted | None, active: bool | None
) -> NotificationSubscription:
    """Say where to send events of a HIT type, or turn that on or off. Raises InvalidValue if it never was set."""
    known = NotificationSubscription.objects.select_for_update(no_key=True).filter(hit_type=hit_type).first()
    if wanted is None:
        if known is None:
            raise InvalidValue("This HIT type has no notification specification that Active could apply to.")
        known.active = bool(active)
        known.save(update_fields=["active"])
        return known
    row, _ = NotificationSubscription.objects.update_or_create(
        hit_type=hit_type, defaults={**wanted._asdict(), "key": key, "active": active is not False}
    )
    return row


def test_send(*, key: AccessKey, wanted: Wanted, event: str) -> Notification:
    """Send one made-up event, as soon as the running transaction is committed."""
    at = clock.now()
    facts = event_facts(
        event, at=at, type_id=ids.entity_id(), hit_id=ids.entity_id(), assignment_id=_assignment_if(event)
    )
    row = notification(key, wanted.destination, facts, at=at)
    row.save()
    transaction.on_commit(lambda: _deliver(row.pk, at))
    return row


def notifications_deliver() -> int:
    """Try all that are due. How many were tried. Safe to run anywhere, any number at once."""
    at = clock.now()
    total = 0
    while pks := list(
        Notification.objects.filter(next_try_at__lte=at).order_by("next_try_at").values_list("pk", flat=True)[:BATCH]
    ):
        total += sum(_deliver(pk, at) for pk in pks)
    return total


def signature(secret: bytes, stamp: str, body: bytes) -> str:
    """What proves a notification: HMAC-SHA256 over the time it was sent and its bytes, in hexadecimal."""
    return hmac.new(secret, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()


def _assignment_if(event: str) -> str:
    return ids.entity_id() if event.startswith("Assignment") else ""


def _deliver(pk: int, at: datetime) -> bool:
    """Try one, unless somebody else just did."""
    row = Notification.objects.select_related("key").filter(pk=pk, next_try_at__lte=at).first()
    if row is None or row.next_try_at is None:
        return False
    tries = row.tries + 1
    again = at + FIRST_WAIT * 2 ** (tries - 1) if tries < MOST_TRIES else None
    claimed = Notification.objects.filter(pk=pk, next_try_at=row.next_try_at).update(
        tries=F("tries") + 1, next_try_at=again
    )
    if not claimed:
        return False
    fault = faults.take("Notification") if settings.TEST_MODE else None
    try:
        for _ in range({"notification_lost": 0, "notification_doubled": 2}.get(fault.kind if fault else "", 1)):
            _post(row)
    except NotReachable as problem:
        log.info("Notification %s was not delivered, try %s: %s", pk, tries, problem)
    else:
        Notification.objects.filter(pk=pk).update(delivered_at=at, next_try_at=None)
    return True


def _post(row: Notification) -> None:
    envelope = {
        "Type": "Notification",
        "MessageId": row.body["EventDocId"],
        "TopicArn": "",
        "Subject": row.body["Events"][0]["EventType"],
        "Message": json.dumps(row.body),
        "Timestamp": row.made_at.isoformat(),
    }
    body = json.dumps(envelope).encode()
    stamp = str(int(clock.now().timestamp()))
    proof = signature(notification_secret(row.key.key_id), stamp, body)
    headers = {
        "Content-Type": "application/json",
        SIGNATURE_HEADER: f"key={row.key.key_id},t={stamp},v1={proof}",
    }
    url, host = _pinned(row.destination)
    try:
        with httpx.Client(timeout=TIMEOUT, follow_redirects=False, trust_env=False) as client:
            response = client.post(
                url,
                content=body,
                headers=headers | {"Host": host},
                extensions={"sni_hostname": urlsplit(row.destination).hostname},
            )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotReachable(type(error).__name__) from error
    if not response.is_success:
        raise NotReachable(f"status {response.status_code}")


def _pinned(destination: str) -> tuple[str, str]:
    """The address with its host looked up, and the name for the Host header.

    Requesters choose where we post to: it must not be a machine that only we can reach. The name is looked up once, so
    that it cannot mean something else when we connect.
    """
    parts = urlsplit(destination)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotReachable("the host's name is not known") from error
    addresses = [ipaddress.ip_address(entry[4][0]) for entry in found]
    if not settings.DEVELOPMENT and not all(address.is_global for address in addresses):
        raise NotReachable("the host is not on the public internet")
    literal = f"[{addresses[0]}]" if addresses[0].version == 6 else str(addresses[0])
    return urlunsplit((parts.scheme, f"{literal}:{port}", parts.path or "/", parts.query, "")), parts.netloc

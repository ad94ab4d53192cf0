"""Notifications of the marketplace: signed, at least once or never, and taken as hints to ask sooner.

The signature is HMAC-SHA256 over the time it was sent, a dot, and the bytes of the body; its key is HMAC-SHA256 of the
word `notifications` under the secret of the access key that asked for them.
"""

import hashlib
import hmac
import json
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow
from platforms.models import Publication
from platforms.mturk.client import assert_host, client_for
from platforms.mturk.endpoints import endpoint_of

# How far a notification's time may lie from ours.
FRESH = timedelta(minutes=5)
EVENTS = ["AssignmentSubmitted", "HITReviewable", "HITExpired"]
VERSION = "2006-05-05"


def is_signed(*, secret: str, header: str, body: bytes, at: datetime) -> bool:
    """Whether a header such as `key=MKP…,t=1767225600,v1=…` proves that the body was sent just now by who has the
    secret.
    """
    parts = dict(part.strip().partition("=")[::2] for part in header.split(","))
    stamp, signature = parts.get("t", ""), parts.get("v1", "")
    if not secret or not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12):
        return False
    key = hmac.digest(secret.encode(), b"notifications", "sha256")
    expected = hmac.new(key, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    fresh = abs(at.timestamp() - int(stamp)) <= FRESH.total_seconds()
    return hmac.compare_digest(expected.encode(), signature.encode()) and fresh


def hit_ids(body: bytes) -> list[str]:
    """The platform's ids of the HITs that a notification is about. Raises BadRequest for what is no notification."""
    try:
        message = json.loads(json.loads(body)["Message"])
        ids = [event.get("HITId") for event in message["Events"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadRequest(_("This is not a notification.")) from error
    return [hit_id for hit_id in dict.fromkeys(ids) if isinstance(hit_id, str) and hit_id]


def notifications_ask(publication: Publication, address: str) -> None:
    """Have the platform tell this address of submitted work. Asking again changes nothing."""
    if not publication.hit_type_id:
        raise NotNow(_("The HIT type has not been created yet. Try again in a minute."))
    endpoint = endpoint_of(publication.platform)
    client = client_for(endpoint)
    assert_host(client, endpoint)
    fields: dict[str, Any] = {"Destination": address, "Transport": "SNS", "Version": VERSION, "EventTypes": EVENTS}
    client.update_notification_settings(HITTypeId=publication.hit_type_id, Notification=fields, Active=True)

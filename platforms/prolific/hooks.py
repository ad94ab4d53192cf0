"""Prolific's webhooks: subscribing to them, and whether one is genuine."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from core.errors import BadRequest
from platforms.money.protocol import Notice
from platforms.prolific.client import Client, ProlificError

SUBMISSION, STUDY = "submission.status.change", "study.status.change"
EVENTS = (SUBMISSION, STUDY)
# Prolific tries for 24 hours. An older one is somebody else's copy; what it could do is make us ask once more.
OLDEST, CLOCKS_APART = timedelta(hours=25), timedelta(minutes=5)
UNDER_WAY = ("RESERVED", "ACTIVE")  # nothing to be asked about: who arrives is asked about then


def secret_of(client: Client, workspace: str) -> str:
    """The secret that the workspace's notifications are signed with. One that is there is left as it is, because others
    may use it. Raises the client's errors, and KeyError for an answer without it.
    """
    secrets = client.get("hooks/secrets/", {"workspace_id": workspace}).get("results") or []
    secret = secrets[0] if secrets else client.post("hooks/secrets/", {"workspace_id": workspace})
    return str(secret["value"])


def keep_subscribed(client: Client, workspace: str, address: str) -> None:
    """Have exactly one enabled subscription of each event at this address. One that Prolific has disabled, or that was
    never confirmed, is replaced.
    """
    enabled: dict[str, str] = {}
    for row in subscriptions(client, workspace, address):
        if row.get("is_enabled") and row["event_type"] in EVENTS and row["event_type"] not in enabled:
            enabled[row["event_type"]] = str(row["id"])
        else:
            remove(client, str(row["id"]))
    for event in EVENTS:
        if event in enabled:
            continue
        body = {"workspace_id": workspace, "event_type": event, "target_url": address}
        answer, secret = client.post_for("hooks/subscriptions/", body, header="X-Hook-Secret")
        hook = (answer.get("results") or [answer])[0]
        client.post(f"hooks/subscriptions/{hook['id']}/", {"secret": secret})


def end_subscriptions(client: Client, workspace: str, address: str) -> None:
    for row in subscriptions(client, workspace, address):
        remove(client, str(row["id"]))


def subscriptions(client: Client, workspace: str, address: str) -> list[dict[str, Any]]:
    """All at this address, enabled or not."""
    rows = [
        row
        for enabled in ("true", "false")
        for row in client.get("hooks/subscriptions/", {"workspace_id": workspace, "is_enabled": enabled})["results"]
    ]
    return list({str(row["id"]): row for row in rows if row["target_url"] == address}.values())


def remove(client: Client, subscription: str) -> None:
    try:
        client.delete(f"hooks/subscriptions/{subscription}/")
    except ProlificError as error:
        if error.status != 404:
            raise


def is_genuine(*, secret: str, headers: Mapping[str, str], body: bytes, at: datetime) -> bool:
    """Whether a notification was signed with the secret, not long ago: base64 of HMAC-SHA256 of its time and body."""
    stamp = headers.get("X-Prolific-Request-Timestamp", "")
    try:
        signature = base64.b64decode(headers.get("X-Prolific-Request-Signature", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    right = hmac.digest(secret.encode(), stamp.encode() + body, hashlib.sha256)
    sent = _time_of(stamp)
    is_recent = sent is not None and at - OLDEST <= sent <= at + CLOCKS_APART
    return bool(secret) and hmac.compare_digest(signature, right) and is_recent


def notice_of(headers: Mapping[str, str], body: bytes) -> Notice:
    """What a genuine notification is about. Its status is not believed. Raises BadRequest for what is none."""
    try:
        event_body = json.loads(body)
        event, about, status = event_body["event_type"], event_body["resource_id"], event_body.get("status", "")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise BadRequest(_("That is no notification: a JSON object with event_type and resource_id is.")) from None
    if not isinstance(event, str) or not isinstance(about, str) or not 0 < len(about) <= 64:
        raise BadRequest(_("That is no notification: event_type and resource_id are texts."))
    number = headers.get("X-Event-ID", "") or headers.get("X-Prolific-Request-Signature", "")
    if event == SUBMISSION and status not in UNDER_WAY:
        return Notice(number, assignment_id=about, study="")
    return Notice(number, assignment_id="", study=about if event == STUDY else "")


def _time_of(stamp: str) -> datetime | None:
    """Seconds or milliseconds since 1970, or a date and time; None for anything else."""
    if stamp.isascii() and stamp.isdigit() and len(stamp) <= 13:
        return datetime.fromtimestamp(int(stamp) / (1000 if len(stamp) > 11 else 1), UTC)
    try:
        time = parse_datetime(stamp)
    except ValueError:
        return None
    return None if time is None else time if time.tzinfo else time.replace(tzinfo=UTC)

"""Webhooks: who subscribed to what, which events wait, and their signed delivery."""

import base64
import hashlib
import hmac
import json
import random
import secrets
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from .errors import bad, missing
from .store import Row, Store, iso, new_id

EVENT_TYPES = {
    "submission.status.change": "A submission's status has changed.",
    "study.status.change": "A study's status has changed.",
    "study.progress.change": "The number of places taken in a study has changed.",
    "study.has_high_return_rate": "Many participants return a study.",
}
MOST_TRIES = 12
BASE_SECONDS, LONGEST_SECONDS = 5.0, 14_400.0  # between tries: any time up to base × 2^tries, at most the longest
DISABLED_AFTER = 5 * 86_400  # seconds of failures only


def emit(store: Store, event_type: str, resource_id: str, **values: Any) -> None:
    """Queue an event for everyone who subscribed to its type."""
    if store.setting("hooks_off"):
        return
    for subscription in store.all("SELECT * FROM subscription WHERE is_enabled = 1 AND event_type = ?", event_type):
        now = store.now()
        wait = float(store.setting("hook_delay")) + random.uniform(0, float(store.setting("hook_scatter")))
        store.insert(
            "event", id=new_id(), subscription=subscription["id"], event_type=event_type, resource_id=resource_id,
            payload=json.dumps({"resource_id": resource_id, "event_type": event_type, **values}),
            created_at=now, updated_at=now, next_at=now + wait, copies=store.setting("hook_copies"),
        )  # fmt: skip


def secret_replace(store: Store) -> dict[str, Any]:
    """A new secret of the workspace. The old one is gone."""
    store.do("DELETE FROM secret")
    store.insert("secret", id=new_id(), value=secrets.token_urlsafe(32))
    return secrets_shown(store)[0]


def secrets_shown(store: Store) -> list[dict[str, Any]]:
    """The workspace's secrets: one, or none."""
    workspace = store.setting("workspace")
    return [dict(row) | {"workspace_id": workspace} for row in store.all("SELECT * FROM secret")]


def subscription_get(store: Store, subscription_id: str) -> Row:
    subscription = store.one("SELECT * FROM subscription WHERE id = ?", subscription_id)
    if subscription is None:
        raise missing(f"The subscription {subscription_id}")
    return subscription


def subscription_shown(store: Store, row: Row) -> dict[str, Any]:
    """A subscription as the API shows it."""
    return {
        "id": row["id"], "event_type": row["event_type"], "target_url": row["target_url"],
        "is_enabled": bool(row["is_enabled"]), "workspace_id": store.setting("workspace"),
    }  # fmt: skip


def subscription_create(store: Store, body: dict[str, Any]) -> Row:
    """Subscribe. It is enabled once it is confirmed with the secret of the answer's X-Hook-Secret."""
    if body["workspace_id"] != store.setting("workspace"):
        raise bad({"workspace_id": ["This workspace does not exist."]})
    if not store.number("SELECT COUNT(*) FROM secret"):
        raise bad("Create a secret for the workspace first.")
    _check(body["event_type"], body["target_url"])
    subscription_id = new_id()
    store.insert(
        "subscription", id=subscription_id, event_type=body["event_type"], target_url=body["target_url"],
        secret=secrets.token_urlsafe(16),
    )  # fmt: skip
    return subscription_get(store, subscription_id)


def subscription_confirm(store: Store, subscription: Row, secret: str) -> Row:
    if not hmac.compare_digest(secret, subscription["secret"]):
        raise bad({"secret": ["This is not the secret of the subscription."]})
    store.do("UPDATE subscription SET is_enabled = 1, failing_since = NULL WHERE id = ?", subscription["id"])
    return subscription_get(store, subscription["id"])


def subscription_update(store: Store, subscription: Row, body: dict[str, Any]) -> Row:
    """Change or switch a subscription."""
    event_type = body.get("event_type", subscription["event_type"])
    target = body.get("target_url", subscription["target_url"])
    _check(event_type, target)
    store.do(
        "UPDATE subscription SET event_type = ?, target_url = ?, is_enabled = ?, failing_since = NULL WHERE id = ?",
        event_type, target, int(body.get("is_enabled", subscription["is_enabled"])), subscription["id"],
    )  # fmt: skip
    return subscription_get(store, subscription["id"])


def events_shown(store: Store, subscription: Row, query: dict[str, str]) -> list[dict[str, Any]]:
    """What a subscription was told, oldest first."""
    rows = store.all(
        "SELECT * FROM event WHERE subscription = ? ORDER BY created_at LIMIT ? OFFSET ?",
        subscription["id"], int(query.get("limit", 100)), int(query.get("offset", 0)),
    )  # fmt: skip
    return [
        {
            "id": row["id"], "datetime_created": iso(row["created_at"]), "datetime_updated": iso(row["updated_at"]),
            "event_type": row["event_type"], "resource_id": row["resource_id"], "status": row["status"],
            "target_url": subscription["target_url"], "payload": json.loads(row["payload"]),
        }
        for row in rows
        if query.get("resource_id") in (None, row["resource_id"]) and query.get("status") in (None, row["status"])
    ]  # fmt: skip


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a delivery: base64 of HMAC-SHA256 of the time and the raw body."""
    return base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()).decode()


def deliver(store: Store, lock: threading.RLock, client: httpx.Client) -> int:
    """Deliver the events whose time has come; how many deliveries were made. The lock is not held meanwhile."""
    with lock:
        due = store.all(
            "SELECT * FROM event WHERE status = 'PENDING' AND next_at <= ? ORDER BY next_at LIMIT 20", store.now()
        )
        row = store.one("SELECT value FROM secret")
        key = row["value"] if row else ""
    attempts = 0
    for event in due:
        with lock:
            subscription = store.one(
                "SELECT * FROM subscription WHERE id = ? AND is_enabled = 1", event["subscription"]
            )
            timestamp = str(int(store.now()))
        accepted = False
        if subscription is not None:
            body = event["payload"].encode()
            headers = {
                "Content-Type": "application/json", "X-Prolific-Request-Timestamp": timestamp,
                "X-Prolific-Request-Signature": signature(key, timestamp, body),
                "X-Event-ID": event["id"], "X-Timestamp": str(int(event["created_at"] * 1000)),
            }  # fmt: skip
            for _copy in range(event["copies"]):
                attempts += 1
                try:
                    accepted = (
                        client.post(subscription["target_url"], content=body, headers=headers).is_success or accepted
                    )
                except httpx.HTTPError:
                    continue
        with lock:
            _note(store, event, subscription, accepted)
    return attempts


def run(store: Store, lock: threading.RLock, tick: Callable[[], None], stopped: Callable[[float], bool]) -> None:
    """Let time pass, and deliver, until the server stops. `stopped` waits so many seconds and says whether it has."""
    with httpx.Client(timeout=10, trust_env=False) as client:
        while not stopped(0.05):
            with lock:
                tick()
            deliver(store, lock, client)


def _note(store: Store, event: Row, subscription: Row | None, accepted: bool) -> None:
    """What became of an event: delivered, to be tried again, or given up."""
    now, tries = store.now(), event["tries"] + 1
    status = "SUCCEEDED" if accepted else "FAILED" if tries >= MOST_TRIES or subscription is None else "PENDING"
    wait = random.uniform(0, min(LONGEST_SECONDS, BASE_SECONDS * 2**tries))
    store.do(
        "UPDATE event SET status = ?, tries = ?, updated_at = ?, next_at = ? WHERE id = ?",
        status, tries, now, now + wait, event["id"],
    )  # fmt: skip
    if subscription is None:
        return
    if accepted:
        store.do("UPDATE subscription SET failing_since = NULL WHERE id = ?", subscription["id"])
        return
    since = subscription["failing_since"] or now
    enabled = int(now - since < DISABLED_AFTER)
    store.do(
        "UPDATE subscription SET failing_since = ?, is_enabled = ? WHERE id = ?", since, enabled, subscription["id"]
    )


def _check(event_type: str, target: str) -> None:
    if event_type not in EVENT_TYPES:
        raise bad({"event_type": [f"There is no event type {event_type}."]})
    address = urlsplit(target)
    if address.scheme != "https" and not (address.scheme == "http" and address.hostname in ("127.0.0.1", "localhost")):
        raise bad({"target_url": ["It must be an https address."]})

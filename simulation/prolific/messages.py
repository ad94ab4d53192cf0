"""Messages between the account and participants. There are no subjects, no tokens, and no list by pages."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from .errors import bad
from .store import Row, Store, iso, new_id

KEPT = timedelta(days=30)  # of which messages are told
MOST_EXCLUDED = 10  # senders of one request


def message_send(store: Store, sender: str, recipients: Sequence[str], body: str, study: str | None) -> list[str]:
    """Send it to each of them; the ids of the messages."""
    if not body.strip():
        raise bad({"body": ["A message needs a text."]})
    sent = []
    for recipient in recipients:
        sent.append(new_id())
        store.insert(
            "message", id=sent[-1], sender=sender, recipient=recipient, study=study, body=body, sent_at=store.now()
        )
    return sent


def participants_check(store: Store, recipients: Sequence[str]) -> None:
    """Refuse people who do not exist."""
    unknown = [
        recipient
        for recipient in recipients
        if not store.number("SELECT COUNT(*) FROM participant WHERE id = ?", recipient)
    ]
    if unknown or not recipients:
        raise bad({"recipient_id": [f"{recipient} does not exist." for recipient in unknown] or ["Nobody is named."]})


def messages_of(store: Store, query: dict[str, str]) -> list[dict[str, Any]]:
    """Those after a time, or with one user, newest first."""
    user, after = query.get("user_id", ""), query.get("created_after", "")
    if not user and not after:
        raise bad("user_id or created_after must be provided.")
    excluded = [sender for sender in query.get("excluded_sender_ids", "").split(",") if sender]
    if len(excluded) > MOST_EXCLUDED:
        raise bad({"excluded_sender_ids": [f"At most {MOST_EXCLUDED} are taken."]})
    since = 0.0
    if after:
        try:
            at = datetime.fromisoformat(after)
        except ValueError as error:
            raise bad({"created_after": ["It must be a date with a time."]}) from error
        if at.tzinfo is None or at < datetime.fromtimestamp(store.now(), UTC) - KEPT:
            raise bad({"created_after": ["Only messages of the last 30 days can be fetched."]})
        since = at.timestamp()
    rows = store.all("SELECT * FROM message WHERE sent_at > ? ORDER BY sent_at DESC", since)
    return [
        _shown(store, row)
        for row in rows
        if row["sender"] not in excluded and user in ("", row["sender"], row["recipient"])
    ]


def _shown(store: Store, row: Row) -> dict[str, Any]:
    other = row["recipient"] if row["sender"] == store.setting("user") else row["sender"]
    message = {
        "id": row["id"],
        "sender_id": row["sender"],
        "body": row["body"],
        "sent_at": iso(row["sent_at"]),
        "type": "message",
        "channel_id": f"{store.setting('user')}-{other}",
    }
    return message | ({"data": {"study_id": row["study"]}} if row["study"] else {})

"""An extension beside the API, at `POST /extensions/list-messages`: what workers wrote to the requester.

The API answers workers with NotifyWorkers, and cannot say what they wrote.
"""

from typing import Any

from marketplace.api.extensions import extension
from marketplace.errors import InvalidValue
from marketplace.models import AccessKey
from marketplace.selectors.requesters import messages_from_workers
from marketplace.services.limits import LIST_OF_MESSAGES

MOST = 100
LARGEST = 2**63 - 1


@extension("ListMessages", LIST_OF_MESSAGES)
def list_messages(key: AccessKey, body: Any) -> dict[str, Any]:
    """Answer `{"Messages": […]}`: up to 100 messages after the one with the id `After`, the oldest first."""
    after = body.get("After", "0") if isinstance(body, dict) else None
    if not (isinstance(after, str) and after.isascii() and after.isdecimal() and int(after) <= LARGEST):
        raise InvalidValue("After is the MessageId of the last message that is known, as text.")
    rows = messages_from_workers(key.requester, after=int(after))[:MOST]
    return {
        "Messages": [
            {
                "MessageId": str(row.pk),
                "WorkerId": row.worker.worker_id,
                "HITId": row.hit.hit_id if row.hit else "",
                "Subject": row.subject,
                "MessageText": row.text,
                "SentTime": row.sent_at.timestamp(),
            }
            for row in rows
        ]
    }

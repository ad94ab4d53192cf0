"""The record of API calls: what a key did, if somebody must know. Forgotten after some time: see services.daily."""

import logging
from datetime import datetime

from django.db import DatabaseError, connection

from marketplace import clock
from marketplace.models import AccessKey

# The commit does not wait for the disk: of what the record loses if the database crashes, there is half a second.
_NOTE = """
    INSERT INTO marketplace_apicall (at, key_id, operation, request_id, subject, outcome)
    SELECT %(at)s, %(key)s, %(operation)s, %(request_id)s, %(subject)s, %(outcome)s
    FROM set_config('synchronous_commit', 'off', true)
"""
log = logging.getLogger(__name__)


def api_call_note(*, key: AccessKey, operation: str, request_id: str, subject: str, outcome: str) -> None:
    """Record a call that was answered. Call it outside of transactions: a rollback would unwrite it.

    The call was done, or was not: if the record cannot be written, that is logged, and changes nothing.
    """
    values: dict[str, str | int | datetime] = {
        "at": clock.now(),
        "key": key.pk,
        "operation": operation,
        "request_id": request_id,
        # Of a request that was refused it may be anything, also what a database cannot store.
        "subject": subject[:64] if subject.isascii() and subject.isalnum() else "",
        "outcome": outcome[:100],
    }
    try:
        with connection.cursor() as cursor:
            cursor.execute(_NOTE, values)
    except DatabaseError:
        log.exception("Request %s (%s) could not be recorded", request_id, operation)

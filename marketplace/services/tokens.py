"""Unique request tokens: a request that comes again within 24 hours is an error that names what the first one did."""

from datetime import datetime, timedelta

from django.db import connection

from marketplace import clock
from marketplace.errors import AlreadyDone
from marketplace.models import Requester, UniqueRequestToken

LIFE = timedelta(hours=24)
# One statement, as every request that creates or pays something makes it. An old row of the same token is taken over.
_CLAIM = """
    INSERT INTO marketplace_uniquerequesttoken (requester_id, operation, token, made_at, subject)
    VALUES (%(requester)s, %(operation)s, %(token)s, %(at)s, %(subject)s)
    ON CONFLICT (requester_id, operation, token) DO UPDATE SET made_at = excluded.made_at, subject = excluded.subject
    WHERE marketplace_uniquerequesttoken.made_at <= %(old)s
    RETURNING id
"""


def token_claim(*, requester: Requester, operation: str, token: str | None, subject: str) -> None:
    """Take a token, inside the transaction of what it is for: a rollback frees it.

    `subject` is what a repeat is told: the id of the HIT that is about to be made, or of the request. Of two at once,
    the second waits for the first's outcome. Raises AlreadyDone if the token was used within 24 hours.
    """
    if not token:
        return
    at = clock.now()
    values: dict[str, int | str | datetime] = {
        "requester": requester.pk,
        "operation": operation,
        "token": token,
        "at": at,
        "old": at - LIFE,
        "subject": subject,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, values)
        if cursor.fetchone() is not None:
            return
    rows = UniqueRequestToken.objects.filter(requester=requester, operation=operation, token=token)
    earlier = rows.values_list("subject", flat=True).get()
    if operation.startswith("CreateHIT"):
        raise AlreadyDone(
            f'The HIT with ID "{earlier}" already exists, made with this UniqueRequestToken.', "HitAlreadyExists"
        )
    raise AlreadyDone(
        f'This UniqueRequestToken was used before, by the request with ID "{earlier}".', "DuplicateRequest"
    )

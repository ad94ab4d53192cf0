"""How often something may be done in a span of time, counted in the database: all web processes count together.

The table is unlogged. Counting writes nothing to the disk, and a crash of the database forgets the counts, as it may.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.crypto import salted_hmac

from marketplace.models import Tries

FORGOTTEN_AFTER = timedelta(days=1)
_COUNT = """
    INSERT INTO marketplace_tries AS kept (key, began_at, number) VALUES (%(key)s, %(began_at)s, 1)
    ON CONFLICT (key) DO UPDATE SET
        number = CASE WHEN kept.began_at = excluded.began_at THEN kept.number + 1 ELSE 1 END,
        began_at = excluded.began_at
    RETURNING number
"""


class Limit(NamedTuple):
    """`most` tries of one kind in a span of `seconds`, an hour at most. Spans begin at multiples of it since 1970."""

    name: str
    most: int
    seconds: int


LOGIN_FROM_ADDRESS = Limit("log-in from an address", 20, 60)
LOGIN_TO_ACCOUNT = Limit("log-in to an account", 10, 60)
REGISTRATION = Limit("registration from an address", 10, 60)
MESSAGE = Limit("message of a worker", 20, 3600)
COUNT_OF_WORKERS = Limit("count of workers by a requester", 120, 60)
LIST_OF_MESSAGES = Limit("list of messages by a requester", 120, 60)
REQUEST_FOR_DEPOSIT = Limit("request for a deposit by a requester", 60, 3600)
API_SECONDS = 10


def limit_exceeded(limit: Limit, who: str) -> bool:
    """Count one more try, and say whether it is one too many. Of who it was, only a keyed digest is kept.

    By the machine's clock, which tests do not move. Call it outside of transactions: a rollback would uncount.
    """
    if not settings.RATE_LIMITS:
        return False
    now = int(timezone.now().timestamp())
    values: dict[str, str | datetime] = {
        "key": salted_hmac(f"marketplace limit {limit.name}", who, algorithm="sha256").hexdigest(),
        "began_at": datetime.fromtimestamp(now - now % limit.seconds, UTC),
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, values)
        (number,) = cursor.fetchone()
    return int(number) > limit.most


def api_rate_exceeded(key_id: str) -> bool:
    """Count one more API request of an access key, and say whether it is too many: MARKETPLACE_API_RATE a second."""
    if not settings.API_RATE:
        return False
    return limit_exceeded(Limit("API", settings.API_RATE * API_SECONDS, API_SECONDS), key_id)


def limits_forget() -> int:
    """Forget counts that are over. How many."""
    forgotten, _ = Tries.objects.filter(began_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()
    return forgotten

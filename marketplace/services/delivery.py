"""The sender of notifications: a program of its own, so that neither a request nor the clock ever waits for a receiver.

Rows are the queue. One is claimed with its next try already written, posted on a thread that touches no database, and
recorded. A sender that dies in between leaves a row that is tried again. Several senders may run.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F

from marketplace import clock
from marketplace.models import Notification
from marketplace.sealing import SealedOtherwise
from marketplace.services.keys import notification_secret
from marketplace.services.notifications import SIGNATURE_HEADER, reach, signature
from outbound import NotDelivered, Reach, post

# For one try, from looking the host up to the status of its answer.
SECONDS = 10.0
THREADS = 40
# Tries of one requester's notifications at a time.
MOST_OF_ONE = 2
# Tries at a time for all requesters whose last one failed: the others always find a thread.
MOST_OF_FAILING = THREADS // 2
FIRST_WAIT, MOST_TRIES = timedelta(seconds=30), 12  # doubling: a little more than a day
# Of an address that fails again and again, while more notifications wait for it.
LONGEST_PAUSE = timedelta(minutes=10)
# For what had to wait behind others: nothing waits longer than this.
GIVEN_UP_AFTER = timedelta(days=7)
POLL = 0.5
log = logging.getLogger(__name__)

# For each key in turn, so that a requester with a long queue hides nobody else's. Rows that another sender claims at
# this moment are passed over.
_DUE = """
    SELECT due.id, key.requester_id
    FROM marketplace_accesskey AS key
    CROSS JOIN LATERAL (
        SELECT id, next_try_at FROM marketplace_notification AS row
        WHERE row.key_id = key.id AND row.next_try_at <= %(at)s AND NOT EXISTS (
            SELECT FROM unnest(%(paused_requesters)s::bigint[], %(paused_urls)s::text[]) AS paused (requester, url)
            WHERE paused.requester = key.requester_id AND paused.url = row.destination
        )
        ORDER BY next_try_at, id LIMIT %(most_of_one)s FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE NOT key.requester_id = ANY (%(without)s::bigint[])
        AND (key.requester_id = ANY (%(failing)s::bigint[])) = %(is_failing)s
    ORDER BY due.next_try_at, due.id LIMIT %(most)s
"""


class Delivered(NamedTuple):
    """What a sender did: tries that were taken, and tries that failed."""

    taken: int
    failed: int


class _Try(NamedTuple):
    row: Notification
    requester: int
    number: int


class Sender:
    """Tries what is due, on threads. The settings say what may be called."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._reach = reach()
        self._seconds = seconds
        self._flying: dict[Future[str], _Try] = {}
        self._failing: set[int] = set()
        self._pauses: dict[tuple[int, str], tuple[int, datetime]] = {}
        self._forgotten_at: datetime | None = None
        self._taken = self._failed = 0

    def drain(self) -> Delivered:
        """Try all that is due, and wait for it."""
        with ThreadPoolExecutor(THREADS) as pool:
            while self.step(pool) or self._flying:
                pass
        return self.counts()

    def serve(self, *, every: float, after_step: Callable[[], None]) -> None:
        """Try what is due, and what becomes due, for good. `after_step` is called often, and at least each second.

        Raises DatabaseError: what was tried meanwhile is tried again.
        """
        with ThreadPoolExecutor(THREADS) as pool:
            while True:
                idle = not self.step(pool) and not self._flying
                after_step()
                if idle:
                    time.sleep(min(every, 1.0))

    def counts(self) -> Delivered:
        """What was done since the last time that somebody asked."""
        done, self._taken, self._failed = Delivered(self._taken, self._failed), 0, 0
        return done

    def step(self, pool: ThreadPoolExecutor) -> int:
        """Start what is due and finds a thread, then wait a little for what is under way. How many were started."""
        at = clock.now()
        self._forget(at)
        started = self._claim(at)
        for attempt in started:
            try:
                prepared = _prepared(attempt.row)
            except SealedOtherwise as error:
                self._record(attempt, str(error))
                continue
            except Exception as error:  # its body is damaged: the others are sent
                log.exception("Notification %s could not be prepared", attempt.row.pk)
                self._record(attempt, type(error).__name__)
                continue
            self._flying[pool.submit(_send, *prepared, self._reach, self._seconds)] = attempt
        finished, _ = wait(self._flying, timeout=POLL, return_when=FIRST_COMPLETED) if self._flying else ((), None)
        for future in finished:
            self._record(self._flying[future], future.result())
            del self._flying[future]
        return len(started)

    def _claim(self, at: datetime) -> list[_Try]:
        under_way = Counter(attempt.requester for attempt in self._flying.values())
        of_failing = sum(number for requester, number in under_way.items() if requester in self._failing)
        with transaction.atomic():
            claimed = self._claim_of(at, under_way, THREADS - under_way.total(), is_failing=False)
            free = min(THREADS - under_way.total(), MOST_OF_FAILING - of_failing)
            claimed += self._claim_of(at, under_way, free, is_failing=True)
        return claimed

    def _claim_of(self, at: datetime, under_way: Counter[int], most: int, *, is_failing: bool) -> list[_Try]:
        """Up to `most` that are due, which are counted in `under_way`, with their next try written."""
        if most <= 0 or (is_failing and not self._failing):
            return []
        paused = [where for where, (_, until) in self._pauses.items() if until > at]
        parameters: dict[str, Any] = {
            "at": at,
            "paused_requesters": [requester for requester, _ in paused],
            "paused_urls": [destination for _, destination in paused],
            "most_of_one": MOST_OF_ONE,
            "without": [requester for requester, number in under_way.items() if number >= MOST_OF_ONE],
            "failing": list(self._failing),
            "is_failing": is_failing,
            "most": most,
        }
        with connection.cursor() as cursor:
            cursor.execute(_DUE, parameters)
            due: dict[int, int] = dict(cursor.fetchall())
        rows = Notification.objects.select_related("key").in_bulk(due.keys())
        claimed = []
        for pk, requester in due.items():
            if under_way[requester] >= MOST_OF_ONE:
                continue
            under_way[requester] += 1
            row = rows[pk]
            number = row.tries + 1
            again = at + FIRST_WAIT * 2 ** (number - 1) if number < MOST_TRIES else None
            Notification.objects.filter(pk=pk).update(tries=F("tries") + 1, next_try_at=again)
            claimed.append(_Try(row, requester, number))
        return claimed

    def _record(self, done: _Try, problem: str) -> None:
        at = clock.now()
        where = (done.requester, done.row.destination)
        if not problem:
            Notification.objects.filter(pk=done.row.pk).update(delivered_at=at, next_try_at=None)
            self._failing.discard(done.requester)
            self._pauses.pop(where, None)
            self._taken += 1
            return
        log.info("Notification %s was not delivered, try %s: %s", done.row.pk, done.number, problem)
        failures = self._pauses.get(where, (0, at))[0] + 1
        self._pauses[where] = (failures, at + min(FIRST_WAIT * 2 ** min(failures - 1, 10), LONGEST_PAUSE))
        self._failing.add(done.requester)
        self._failed += 1

    def _forget(self, at: datetime) -> None:
        """Each minute: give up what has waited too long, and forget pauses that are long over."""
        if self._forgotten_at and at - self._forgotten_at < timedelta(minutes=1):
            return
        self._forgotten_at = at
        too_old = Notification.objects.filter(next_try_at__lte=at, made_at__lt=at - GIVEN_UP_AFTER)
        too_old.update(next_try_at=None)
        over = at - 2 * LONGEST_PAUSE
        self._pauses = {where: pause for where, pause in self._pauses.items() if pause[1] > over}


def _prepared(row: Notification) -> tuple[str, bytes, dict[str, str]]:
    """Address, body and headers of a notification that is posted now."""
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
    proof = signature(notification_secret(row.key), stamp, body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "marketplace-notifications",
        SIGNATURE_HEADER: f"key={row.key.key_id},t={stamp},v1={proof}",
    }
    return row.destination, body, headers


def _send(url: str, body: bytes, headers: dict[str, str], reach: Reach, seconds: float) -> str:
    """Post it. Why it did not arrive; empty if it did. Runs on a thread, and raises nothing."""
    try:
        post(url, body, headers, reach=reach, seconds=seconds)
    except NotDelivered as problem:
        return str(problem)
    except Exception as error:  # one address that we cannot cope with stops nobody else's
        log.exception("A notification to %s could not be sent", url)
        return type(error).__name__
    return ""

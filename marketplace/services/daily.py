"""What is done once a day, by whichever `tick` comes first: the books are checked, and what is old is forgotten.

Books that were empty when they were checked are checked soon after the first entry.
"""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import F, Model, Q, QuerySet
from django.utils import timezone

from marketplace import clock
from marketplace.models import ApiCall, DailyRun, Entry, Notification
from marketplace.selectors import books
from marketplace.selectors.books import FeeMonth, Totals
from marketplace.services.erasing import workers_erase_idle

EVERY = timedelta(days=1)
RETRY = timedelta(hours=1)
CALLS_KEPT = timedelta(days=90)
# After they were delivered, or given up.
NOTIFICATIONS_KEPT = timedelta(days=30)
BATCH = 5_000
KEPT_NAMED = 100  # workers who could not be erased that are named
log = logging.getLogger(__name__)


class Books(NamedTuple):
    """What a check of the books found: the differences as sentences, and the sums."""

    differences: list[str]
    totals: Totals
    fees: list[FeeMonth]


def books_verify() -> Books:
    """Check the books, all at one moment, and note what came of it. Call it outside of transactions."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
        result = Books(books.differences(), books.totals(), books.fee_months())
    for difference in result.differences:
        log.error("The books are wrong: %s", difference)
    report = {
        "differences": result.differences,
        "totals": {name: str(value) for name, value in result.totals._asdict().items()},
    }
    _note(DailyRun.Name.BOOKS, not result.differences, report)
    return result


def daily() -> int:
    """Do what has not been done for a day. How many things were done. One that fails stops no other."""
    done = 0
    failed: list[Exception] = []
    for name, work in _WORK.items():
        if _claim(name):
            try:
                work()
            except Exception as error:
                failed.append(error)
                error_report = {"error": f"{type(error).__name__}: {error}"[:1000]}
                again = clock.now() - EVERY + RETRY
                DailyRun.objects.filter(name=name).update(began_at=again, ok=False, report=error_report)
            done += 1
    if failed:
        raise failed[0]
    return done


def forget() -> dict[str, Any]:
    """Forget sessions that are over, notifications that were dealt with, old API calls, and who workers were who have
    not been seen for as long as is set. How many of each, and how many such workers are `kept`, and the first of them.
    """
    at, days = clock.now(), settings.WORKER_DAYS
    erased, unerased = workers_erase_idle(days=days) if days else (0, [])
    report = {
        "sessions": _delete(Session.objects.filter(expire_date__lt=timezone.now())),
        "notifications": _delete(Notification.objects.filter(next_try_at=None, made_at__lt=at - NOTIFICATIONS_KEPT)),
        "api_calls": _delete(ApiCall.objects.filter(at__lt=at - CALLS_KEPT)),
        "workers": erased,
        "days": days,
        "kept": len(unerased),
        "first_kept": unerased[:KEPT_NAMED],
    }
    _note(DailyRun.Name.FORGET, True, report)
    return report


_WORK: dict[DailyRun.Name, Callable[[], object]] = {DailyRun.Name.BOOKS: books_verify, DailyRun.Name.FORGET: forget}


def _claim(name: DailyRun.Name) -> bool:
    """Whether it is ours to do now: of many at once, one gets it. Tried again after a day, whatever comes of it.

    Books that were checked while they were empty are checked again at once when something has been booked.
    """
    at = clock.now()
    DailyRun.objects.get_or_create(name=name, defaults={"began_at": at - EVERY})
    due = Q(began_at__lte=at - EVERY)
    if name == DailyRun.Name.BOOKS and Entry.objects.exists():
        due |= Q(report__totals__entries="0", began_at__lte=F("ended_at"))  # which whoever claims it makes untrue
    return bool(DailyRun.objects.filter(due, name=name).update(began_at=at))


def _note(name: DailyRun.Name, ok: bool, report: dict[str, Any]) -> None:
    at = clock.now()
    outcome = {"ended_at": at, "ok": ok, "report": report}
    DailyRun.objects.update_or_create(name=name, defaults=outcome, create_defaults=outcome | {"began_at": at})


def _delete(rows: QuerySet[Any]) -> int:
    """Delete rows, some thousands at a time, so that nobody waits for long. How many."""
    total = 0
    model: type[Model] = rows.model
    while pks := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        total += model._default_manager.filter(pk__in=pks)._raw_delete(rows.db)
    return total

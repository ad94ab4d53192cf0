"""What the marketplace does otherwise in tests, beside the faults of its API."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from marketplace.clock import now as product_now
from marketplace.models import LIVE_STATES, Assignment
from tests.marketplace.testing import faults
from tests.marketplace.testing.models import Clock

MILLISECOND = timedelta(milliseconds=1)
# How often a notification is posted that meets a fault.
TIMES = {faults.Kind.NOTIFICATION_LOST: 0, faults.Kind.NOTIFICATION_DOUBLED: 2}


def now() -> datetime:
    """The marketplace's time, as far ahead as tests have moved it."""
    ahead = Clock.objects.values_list("ahead", flat=True).first() or timedelta(0)
    return product_now() + ahead // MILLISECOND * MILLISECOND


class Threads(ThreadPoolExecutor):
    """A sender's threads, on which a notification may get lost or be sent twice."""

    def submit(self, send: Callable[..., str], /, *values: Any) -> Future[str]:
        """Send as often as the next fault says: once without one. The first problem ends it."""
        fault = faults.take("Notification")
        times = TIMES.get(fault.kind, 1) if fault else 1
        return super().submit(lambda: next(filter(None, (send(*values) for _ in range(times))), ""))


def give_out_again(instance: Assignment, **_: Any) -> None:
    """Give a new assignment an id that another worker gave back on its HIT, if there is one.

    Mechanical Turk may do that, so requesters must cope with it. The product never does: there, an id must stay a
    secret of the worker who holds it.
    """
    if instance.pk:
        return
    of_hit = Assignment.objects.filter(hit=instance.hit)
    used = of_hit.filter(worker=instance.worker) | of_hit.filter(state__in=LIVE_STATES)
    free = of_hit.exclude(assignment_id__in=used.values("assignment_id")).order_by("pk")
    instance.assignment_id = free.values_list("assignment_id", flat=True).first() or instance.assignment_id

"""Faults on order: first a script, one after another, then a storm that is drawn from a seed.

Which request of a storm meets which fault follows from the seed and the request's number alone.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction

from marketplace.errors import InvalidValue
from tests.marketplace.testing.models import Fault, FaultDone, Storm

Kind = Fault.Kind
OF_NOTIFICATIONS = {Kind.NOTIFICATION_LOST, Kind.NOTIFICATION_DOUBLED}
OF_REVIEWS = {"ApproveAssignment", "RejectAssignment"}


class DrawnFault(NamedTuple):
    """The fault that a request meets."""

    kind: str
    seconds: float


def take(operation: str) -> DrawnFault | None:
    """The fault that the next request of an operation meets, taken off the script, or drawn from the storm."""
    with transaction.atomic():
        fault = _next_of_script(operation) or _draw_from_storm(operation)
        if fault is not None:
            FaultDone.objects.create(operation=operation, kind=fault.kind)
    return fault


@transaction.atomic
def script(faults: Sequence[Mapping[str, Any]]) -> None:
    """Add faults to come: `kind`, and perhaps `operation`, `times` and `seconds`. Raises InvalidValue."""
    for fault in faults:
        _check(fault.get("kind"))
        rows = [
            Fault(
                operation=fault.get("operation", ""),
                kind=fault["kind"],
                seconds=fault.get("seconds", 1.0 if fault["kind"] == Kind.SLOW else 0.0),
            )
            for _ in range(fault.get("times", 1))
        ]
        Fault.objects.bulk_create(rows)


@transaction.atomic
def storm(*, seed: str, chances: Mapping[str, float], operations: Sequence[str] = (), seconds: float = 0.05) -> None:
    """Let requests meet faults at random from now on, each kind with its probability. Raises InvalidValue."""
    for kind in chances:
        _check(kind)
    if not all(0 <= chance <= 1 for chance in chances.values()) or sum(chances.values()) > 1:
        raise InvalidValue("Chances are probabilities, and their sum is at most 1.")
    Storm.objects.all().delete()
    Storm.objects.create(seed=seed, chances=dict(chances), operations=list(operations), seconds=seconds)


@transaction.atomic
def clear() -> None:
    """No more faults, and the count of those met begins anew."""
    for model in (Fault, Storm, FaultDone):
        model.objects.all().delete()


def count_met() -> dict[str, int]:
    """How many faults of each kind were met."""
    counts: dict[str, int] = {}
    for kind in FaultDone.objects.values_list("kind", flat=True):
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def _next_of_script(operation: str) -> DrawnFault | None:
    waiting = Fault.objects.select_for_update(skip_locked=True).filter(operation__in=["", operation]).order_by("pk")
    for fault in waiting:
        if _fits(fault.kind, operation):
            fault.delete()
            return DrawnFault(fault.kind, fault.seconds)
    return None


def _draw_from_storm(operation: str) -> DrawnFault | None:
    running = Storm.objects.select_for_update(no_key=True).first()
    if running is None or (running.operations and operation not in running.operations):
        return None
    running.drawn += 1
    running.save(update_fields=["drawn"])
    draw = random.Random(f"{running.seed} {running.drawn}").random()
    for kind, chance in sorted(running.chances.items()):
        draw -= chance
        if draw < 0:
            return DrawnFault(kind, running.seconds) if _fits(kind, operation) else None
    return None


def _fits(kind: str, operation: str) -> bool:
    if operation == "Notification":
        return kind in OF_NOTIFICATIONS
    return kind not in OF_NOTIFICATIONS and (kind != Kind.NOT_READY or operation in OF_REVIEWS)


def _check(kind: object) -> None:
    if kind not in Kind.values:
        raise InvalidValue(f"There is no fault '{kind}'. There are: {', '.join(Kind.values)}.")

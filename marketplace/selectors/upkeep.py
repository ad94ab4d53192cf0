"""How the marketplace's own work goes: what failed, and what is done once a day."""

from django.db.models import QuerySet

from marketplace.models import DailyRun, DueFailure


def due_failures() -> QuerySet[DueFailure]:
    """What was due on HITs and failed, the longest failing first."""
    return DueFailure.objects.select_related("hit__requester").order_by("first_at", "pk")


def daily_run(name: str) -> DailyRun | None:
    """When something of services.daily was last done, and what came of it; None if it never was."""
    return DailyRun.objects.filter(name=name, ended_at__isnull=False).first()

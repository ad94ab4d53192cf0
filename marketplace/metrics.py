"""What /metrics says of the marketplace: its requests, and what is late, by the database. No label names a HIT."""

from collections.abc import Iterator

from django.db import Error
from django.db.models import Min
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

import metrics
from marketplace import clock
from marketplace.models import Assignment, Hit, Notification


class Metrics(metrics.Metrics, prefix="marketplace", variable="MARKETPLACE_METRICS_TOKEN"):
    def collector(self) -> Collector:
        return _Database()


class _Database(Collector):
    """Whether the database answers, and what is late in it."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("marketplace_up", "Whether the database answers: 1 or 0")
        try:
            yield _late()
        except Error:
            up.add_metric([], 0)
        else:
            up.add_metric([], 1)
        yield up


def _late() -> Metric:
    """Each is one look into a partial index of what can become due."""
    late = GaugeMetricFamily("marketplace_late_seconds", "How long the oldest work has been due", labels=["work"])
    at = clock.now()
    for work, rows, field in (
        ("notifications", Notification.objects.filter(next_try_at__isnull=False), "next_try_at"),
        ("abandonments", Assignment.objects.filter(state=Assignment.State.ACCEPTED), "deadline"),
        ("approvals", Assignment.objects.filter(state=Assignment.State.SUBMITTED), "auto_approval_at"),
        ("expirations", Hit.objects.filter(expired=False), "expires_at"),
    ):
        due = rows.aggregate(due=Min(field))["due"]
        late.add_metric([work], max((at - due).total_seconds(), 0) if due else 0)
    return late

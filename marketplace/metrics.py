"""Metrics in the format of Prometheus, at /metrics, for those on the inside who have MARKETPLACE_METRICS_TOKEN.

Requests are counted by each process of a web server, in files in PROMETHEUS_MULTIPROC_DIR that they share. What is late
is read from the database when it is asked for. No label names a person, a HIT or an address.
"""

import os
import time
from collections.abc import Callable, Iterator
from secrets import compare_digest

from django.conf import settings
from django.db import Error
from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from marketplace import clock
from marketplace.models import Assignment, Hit, Notification

PATH = "/metrics"
_OWN = CollectorRegistry()
REQUESTS = Histogram(
    "marketplace_request_seconds",
    "Time to answer, by the name of the page (`none` for static files and unknown addresses) and status",
    ["view", "status"],
    registry=_OWN,
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


class Metrics:
    """Measures every request, and answers /metrics before hosts and schemes are checked: who asks is on this network,
    and knows a container by its address. To whom a proxy speaks for, there is no such page.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == PATH and "X-Forwarded-For" not in request.headers:
            return _answer(request)
        began = time.perf_counter()
        response = self.get_response(request)
        view = request.resolver_match.view_name if request.resolver_match else "none"
        REQUESTS.labels(view, str(response.status_code)).observe(time.perf_counter() - began)
        return response


def _answer(request: HttpRequest) -> HttpResponse:
    credentials = request.headers.get("Authorization", "")
    if not compare_digest(credentials.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        text, headers = "Send MARKETPLACE_METRICS_TOKEN as a bearer token.\n", {"WWW-Authenticate": "Bearer"}
        return HttpResponse(text, "text/plain", 401, headers=headers)
    registry = CollectorRegistry()
    registry.register(_Database())
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(_OWN)
    return HttpResponse(generate_latest(registry), CONTENT_TYPE_LATEST)


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

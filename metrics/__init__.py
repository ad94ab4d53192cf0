"""Metrics in the format of Prometheus, at /metrics, of the site and the marketplace.

Requests are counted by each process of a web server, in files in PROMETHEUS_MULTIPROC_DIR that they share, so that
whichever of them is asked answers for all. No label names a person or an address.
"""

import os
import time
from collections.abc import Callable
from secrets import compare_digest
from typing import ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

PATH = "/metrics"


class Metrics:
    """Middleware that measures every request, and answers /metrics to those who send settings.METRICS_TOKEN.

    It comes before hosts and schemes are checked: who asks is on this network, and knows a container by its address.
    Whoever comes through a proxy does not, so for them there is no such page.
    """

    requests: ClassVar[Histogram]
    _own: ClassVar[CollectorRegistry]
    _variable: ClassVar[str]

    def __init_subclass__(cls, *, prefix: str, variable: str) -> None:
        """`prefix` is that of the metrics' names, and `variable` the one that sets the token."""
        cls._own, cls._variable = CollectorRegistry(), variable
        cls.requests = Histogram(
            f"{prefix}_request_seconds",
            "Time to answer, by the name of the page (`none` for static files and unknown addresses) and status",
            ["view", "status"],
            registry=cls._own,
            buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def collector(self) -> Collector:
        """What is said beside requests, read when it is asked for."""
        raise NotImplementedError

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == PATH and "X-Forwarded-For" not in request.headers:
            return self._answer(request)
        began = time.perf_counter()
        response = self.get_response(request)
        view = request.resolver_match.view_name if request.resolver_match else "none"
        self.requests.labels(view, str(response.status_code)).observe(time.perf_counter() - began)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        credentials = request.headers.get("Authorization", "")
        if not compare_digest(credentials.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
            text = f"Send {self._variable} as a bearer token.\n"
            return HttpResponse(text, "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})
        registry = CollectorRegistry()
        registry.register(self.collector())
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry.register(self._own)
        return HttpResponse(generate_latest(registry), CONTENT_TYPE_LATEST)

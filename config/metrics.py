"""Metrics in the format of Prometheus, at /metrics, for those who have METRICS_TOKEN.

Requests are counted by each process of a web server, in files in PROMETHEUS_MULTIPROC_DIR that they share, so that
whichever of them is asked answers for all. What jobs did is read from Redis, and what waits from the database, when it
is asked for: every web server says the same there. No label names a person, a campaign or an address.
"""

import os
import time
from collections.abc import Callable, Iterator
from secrets import compare_digest

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from api.webhooks import webhooks_disabled
from config.health import PATIENCE, REDIS, Part
from core.alarms import alarms_counted
from core.job_status import QUEUES, JobStatus
from platforms.outbox import Backlog, backlog

PATH = "/metrics"
_OWN = CollectorRegistry()
REQUESTS = Histogram(
    "bestknown_request_seconds",
    "Time to answer, by the name of the page (`none` for static files and unknown addresses) and status",
    ["view", "status"],
    registry=_OWN,
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


class Metrics:
    """Measures every request, and answers /metrics before hosts and schemes are checked: who asks is on this network,
    and knows a container by its address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == PATH:
            return _answer(request)
        began = time.perf_counter()
        response = self.get_response(request)
        view = request.resolver_match.view_name if request.resolver_match else "none"
        REQUESTS.labels(view, str(response.status_code)).observe(time.perf_counter() - began)
        return response


def _answer(request: HttpRequest) -> HttpResponse:
    credentials = request.headers.get("Authorization", "")
    if not compare_digest(credentials.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        return HttpResponse("Send METRICS_TOKEN as a bearer token.\n", "text/plain", 401, headers=_ASK)
    registry = CollectorRegistry()
    registry.register(_Installation())
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(_OWN)
    return HttpResponse(generate_latest(registry), CONTENT_TYPE_LATEST)


_ASK = {"WWW-Authenticate": "Bearer"}


class _Installation(Collector):
    """What Redis and the database say. What does not answer in time is said to be down, and leaves its numbers out."""

    def collect(self) -> Iterator[Metric]:
        ends = time.monotonic() + PATIENCE
        questions = REDIS.ask(), _DATABASE.ask()
        up = GaugeMetricFamily("bestknown_up", "Whether a part answers: 1 or 0", labels=["part"])
        try:
            status = REDIS.answer(questions[0], ends - time.monotonic())
            yield from _of_jobs(status, time.time())
        except Exception:
            up.add_metric(["redis"], 0)
        else:
            up.add_metric(["redis"], 1)
        try:
            waiting = _DATABASE.answer(questions[1], ends - time.monotonic())
            yield from _of_work(*waiting)
        except Exception:
            up.add_metric(["database"], 0)
        else:
            up.add_metric(["database"], 1)
        yield up


def _of_jobs(status: JobStatus, now: float) -> Iterator[Metric]:
    ended = SummaryMetricFamily("bestknown_job_seconds", "Jobs that ended, and their time", labels=["job", "outcome"])
    for total in status.totals:
        ended.add_metric([total.job, total.outcome], total.ended, total.seconds)
    yield ended
    waiting = GaugeMetricFamily("bestknown_jobs_waiting", "Jobs in a queue", labels=["queue"])
    for queue in QUEUES:
        waiting.add_metric([queue], status.waiting[queue])
    yield waiting
    yield GaugeMetricFamily("bestknown_workers_alive", "Job workers that reported lately", status.workers_alive(now))
    problems = len(status.problems(now))
    yield GaugeMetricFamily("bestknown_job_problems", "Sentences about jobs in /healthz/all", problems)
    if status.beat_at is not None:
        age = now - status.beat_at
        yield GaugeMetricFamily("bestknown_beat_age_seconds", "Since the clock last sent a job", age)


def _of_work(calls: Backlog, alarms: dict[tuple[str, str], int]) -> Iterator[Metric]:
    outbox = GaugeMetricFamily("bestknown_outbox_calls", "Calls to platforms that are not done", labels=["state"])
    for state, count in calls.by_state.items():
        outbox.add_metric([state], count)
    yield outbox
    late = calls.late_seconds
    yield GaugeMetricFamily("bestknown_outbox_late_seconds", "How long the oldest call has been due", late)
    raised = GaugeMetricFamily("bestknown_alarms", "Alarms that nobody has settled", labels=["about", "kind"])
    for (about, kind), count in alarms.items():
        raised.add_metric([about, kind], count)
    yield raised


def _ask_database() -> tuple[Backlog, dict[tuple[str, str], int]]:
    try:
        alarms = alarms_counted()
        if disabled := webhooks_disabled():
            alarms[("webhook", "disabled")] = disabled
        return backlog(), alarms
    finally:
        connection.close()  # of a thread that ends now


_DATABASE = Part(_ask_database)

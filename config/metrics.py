"""What /metrics says of the site: its requests, what jobs did, by Redis, and what waits, by the database.

Every web server says the same of jobs and of what waits. No label names a campaign.
"""

import time
from collections.abc import Iterator

from django.db import connection
from prometheus_client.metrics_core import GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

import metrics
from api.webhooks import webhooks_disabled
from config.health import PATIENCE, REDIS, Part
from core.alarms import alarms_counted
from core.job_status import QUEUES, JobStatus
from platforms.outbox import Backlog, backlog


class Metrics(metrics.Metrics, prefix="bestknown", variable="METRICS_TOKEN"):
    def collector(self) -> Collector:
        return _Installation()


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

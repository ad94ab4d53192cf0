"""The Celery application. Jobs live in each app's jobs.py; rows hold their state.

The clock, the workers and the jobs write down in Redis that they have done something, for the checks of health.
"""

import logging
import os
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from celery import Celery, signals
from django.conf import settings
from redis import Redis, RedisError

from core import job_status
from core.logs import REQUEST_ID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if not settings.configured:  # this is Celery itself, and not a web server or a command that hands it work
    os.environ.setdefault("DATABASE_STATEMENT_SECONDS", "1800")

app = Celery("bestknown")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="jobs")
app.autodiscover_tasks(["leaderboards.upkeep"], related_name="jobs")

log = logging.getLogger(__name__)
_state = {"is the clock": False, "worker reported": 0.0}


@signals.setup_logging.connect
def _keep_logging(**_named: object) -> None:
    """Having this leaves logging as the settings have it, for jobs too."""


@signals.before_task_publish.connect
def _pass_request_on(headers: dict[str, object] | None = None, **_named: object) -> None:
    from core.audit.origin import origin  # the applications are loaded by now

    if headers is None:
        return
    if REQUEST_ID.get() != "-":
        headers["request_id"] = REQUEST_ID.get()
    if (person := origin().person) is not None:
        headers["asked_by"] = person


@signals.beat_init.connect
@signals.beat_embedded_init.connect
def _clock_starts(**_named: object) -> None:
    _state["is the clock"] = True
    entries = app.conf.beat_schedule.items()
    _write(job_status.write_beat_started, {entry["task"]: (what, float(entry["schedule"])) for what, entry in entries})


@signals.after_task_publish.connect
def _job_sent(**_named: object) -> None:
    if _state["is the clock"]:
        _write(job_status.write_beat)


@signals.heartbeat_sent.connect
def _worker_lives(**_named: object) -> None:
    now = time.monotonic()
    if now - _state["worker reported"] >= job_status.WORKER_EVERY:
        _state["worker reported"] = now
        _write(job_status.write_worker, tuple(app.amqp.queues.consume_from))


@signals.task_prerun.connect
def _job_begins(task_id: str = "-", task: Any = None, **_named: object) -> None:
    REQUEST_ID.set(getattr(task.request, "request_id", None) or task_id)
    task.request.began = time.monotonic()
    from core.audit.origin import Kind, Origin, begin

    begin(task_id, Origin(Kind.JOB, getattr(task.request, "asked_by", None), task.name))


@signals.task_postrun.connect
def _job_ended(
    task_id: str = "-", task: Any = None, state: str | None = None, retval: object = None, **_named: object
) -> None:
    from core.audit.origin import end

    end(task_id)
    error = "" if state == "SUCCESS" else f"{type(retval).__name__}: {retval}"
    seconds = time.monotonic() - getattr(task.request, "began", time.monotonic())
    _write(job_status.write_job, task.name, error, seconds)


@cache
def _redis() -> "Redis":
    from django.conf import settings

    return job_status.redis_at(settings.REDIS_URL)


def _write(act: Callable[..., None], *arguments: object) -> None:
    """Write it down if Redis is there; no job fails because it is not."""
    try:
        act(_redis(), *arguments)
    except RedisError as error:
        log.warning("What the jobs did could not be written down: %s", error)

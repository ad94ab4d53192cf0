"""How an app declares a background job."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from celery import shared_task
from celery.app.task import Task
from django.utils.functional import Promise

P = ParamSpec("P")
R = TypeVar("R")
JOB_SECONDS = 40.0  # for which one job goes through what waits, before others get their turn


def job(words: Promise) -> Callable[[Callable[P, R]], "Task[P, R]"]:
    """Make a function a Celery task. `words` is what the audit calls it: “the job that …”."""
    decorate: Callable[[Callable[P, R]], Task[P, R]] = shared_task(words=words)  # type: ignore[call-overload]
    return decorate

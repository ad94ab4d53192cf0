"""Asking workers for jobs: now, or, where nobody can be asked and the clock would do it, soon."""

import logging
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError
from rest_framework.request import Request

from api.answers import answer_forget
from api.problems import NotAskedFor

log = logging.getLogger(__name__)


def soon(job: Any, *arguments: Any) -> dict[str, bool]:
    """Have a worker do a job once this is stored. Where nobody can be asked, the clock has it done."""

    def ask() -> None:
        try:
            job.delay(*arguments)
        except OperationalError as error:
            log.warning("%s waits for the next tick: %s", job.name, error)

    transaction.on_commit(ask)
    return {"asked_for": True}


def ask_now(request: Request, job: Any, *arguments: Any, undo: Callable[[], object] = lambda: None) -> dict[str, bool]:
    """Have a worker do a job that the clock would not have done. Raises NotAskedFor where none can be asked, after
    `undo`.

    It is asked for when the request's transaction, if it has one, is stored.
    """

    def ask() -> None:
        try:
            job.delay(*arguments)
        except OperationalError as error:
            log.warning("%s could not be asked for: %s", job.name, error)
            undo()
            answer_forget(request)
            text = _("This cannot be asked for now. Nothing was changed; try again in a minute.")
            raise NotAskedFor(text) from error

    transaction.on_commit(ask)
    return {"asked_for": True}

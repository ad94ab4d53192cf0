"""What runs in the background: asking machine judges."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext_lazy

from core.background import JOB_SECONDS, job
from machines import machine_asking

log = logging.getLogger(__name__)


@job(gettext_lazy("the job that asks machine judges"))
def ask_machines() -> str:
    """Go on asking machines. Safe to run many at once, and to be killed: what was answered stays known."""
    questions, ends = 0, time.monotonic() + JOB_SECONDS
    for asking in machine_asking.askings_open(timezone.now()).select_related("campaign__collection"):
        try:
            questions += machine_asking.machine_asking_advance(asking=asking, until=ends)
        except Exception:  # one that fails stops no other; it is tried again
            log.exception("Machine asking %s failed", asking.pk)
        if time.monotonic() > ends:
            break
    return f"questions asked: {questions}"

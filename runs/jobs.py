"""What runs in the background: doing what members asked for, and fetching public collections."""

import time

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.background import JOB_SECONDS, job
from runs import background, fetching


@job(_("the job that reads files and draws up campaigns"))
def work(job_id: int | None = None) -> str:
    """Do what members have asked for, or one job of these. Safe to run many at once, and to be killed."""
    at, ends = timezone.now(), time.monotonic() + JOB_SECONDS
    waiting = background.jobs_waiting(at=at)
    if job_id is not None:
        waiting = waiting.filter(pk=job_id)
    done = 0
    for waiting_id in list(waiting.values_list("id", flat=True)):
        done += background.job_do(job_id=waiting_id)
        if time.monotonic() > ends:
            break
    if job_id is None:
        background.jobs_clear(at=at)
    return f"jobs done: {done}"


@job(_("the job that fetches public collections"))
def fetch_dataset(job_id: int) -> str:
    """Fetch a public collection, and read it. Safe to run twice, and to be killed: what was fetched is kept."""
    if not fetching.dataset_fetch(job_id=job_id):
        return "nothing fetched"
    background.job_do(job_id=job_id)
    return "fetched"

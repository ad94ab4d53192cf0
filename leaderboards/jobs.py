"""What runs in the background: evaluating submissions, scoring dev runs, sending mails."""

import logging
import time

from celery import shared_task
from django.utils import timezone

from leaderboards import evaluating, events

SECONDS = 40.0  # for which one job goes through what waits, before others get their turn
log = logging.getLogger(__name__)


@shared_task
def evaluate(submission_id: int | None = None) -> str:
    """Evaluate what waits, or one submission. Safe to run many at once, and to be killed."""
    ends, done = time.monotonic() + SECONDS, 0
    if submission_id is None:
        evaluating.publish_waiting(at=timezone.now())
    waiting = [submission_id] if submission_id is not None else evaluating.submissions_waiting(at=timezone.now())
    for waiting_id in waiting:
        try:
            done += evaluating.submission_evaluate(submission_id=waiting_id, at=timezone.now())
        except Exception:  # one bad row stops nobody else; it is claimed again, three times at most
            log.exception("Submission %s was not evaluated", waiting_id)
        if time.monotonic() > ends:
            break
    return f"evaluated: {done}"


@shared_task
def score_dev(scoring_id: int | None = None) -> str:
    """Score the dev runs that wait, or one. Safe to run many at once, and to be killed."""
    ends, done = time.monotonic() + SECONDS, 0
    for waiting_id in [scoring_id] if scoring_id is not None else evaluating.dev_scorings_waiting():
        try:
            done += evaluating.dev_scoring_do(scoring_id=waiting_id, at=timezone.now())
        except Exception:
            log.exception("The dev run %s was not scored", waiting_id)
        if time.monotonic() > ends:
            break
    return f"scored: {done}"


@shared_task
def send_mails() -> str:
    """Send what teams and organizers are to be told. Safe to run many at once, and to be killed."""
    return f"sent: {events.mails_send(at=timezone.now())}"

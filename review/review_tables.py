"""The tables of the review bench as lines of CSV. Workers are named by their pseudonyms in the exports."""

import csv
from collections.abc import Iterator
from itertools import islice

from django.db.models import QuerySet

from core.lists import Lines
from judgments import selectors as judgment_selectors
from judgments.models import Summarized
from pools.models import Campaign
from tasks.models import Assignment, Worker
from tasks.names import pseudonym

BATCH = 1_000
SEEN = ("pairs", "median_seconds", "left_share", "tests", "passed", "compared", "agreed")
ASSIGNMENT_COLUMNS = (
    "assignment",
    "hit",
    "worker",
    "state",
    "verdict",
    *SEEN,
    "flags",
    "owed",
    "pay",
    "taken",
    "ended",
)
MODELLED = ("correct_share", "unguessed_share")
WORKER_COLUMNS = ("worker", "barred", "assignments", "accepted", "excluded", *SEEN, *MODELLED, "flags")


def assignment_lines(campaign: Campaign, assignments: QuerySet[Assignment]) -> Iterator[str]:
    """The head, then an assignment each; times in UTC."""
    writer = csv.writer(Lines(), lineterminator="\n")
    yield writer.writerow(ASSIGNMENT_COLUMNS)
    rows = assignments.iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        for row in judgment_selectors.assignment_rows(campaign, batch):
            work = row.assignment
            about = (work.pk, work.hit.number, pseudonym(campaign, work.worker_id), work.state, work.verdict)
            times = [at.isoformat() if at else "" for at in (work.taken_at, work.finished_at)]
            yield writer.writerow([*about, *_seen(row.summary), ", ".join(row.flags), work.owed, row.pay, *times])


def worker_lines(campaign: Campaign, workers: QuerySet[Worker]) -> Iterator[str]:
    """The head, then a worker each."""
    writer = csv.writer(Lines(), lineterminator="\n")
    yield writer.writerow(WORKER_COLUMNS)
    rows = workers.iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        for row in judgment_selectors.worker_rows(campaign, batch):
            about = (pseudonym(campaign, row.worker.pk), "yes" if row.worker.barred_at else "no")
            counts = (row.assignments, row.accepted, row.excluded)
            modelled = [getattr(row.summary, name) for name in MODELLED]
            yield writer.writerow([*about, *counts, *_seen(row.summary), *modelled, ", ".join(row.flags)])


def _seen(summary: Summarized) -> list[object]:
    return [getattr(summary, name) for name in SEEN]

"""A campaign at a real marketplace: a clock that can be moved on, and workers who judge and submit."""

from datetime import datetime, timedelta

from django.utils import timezone

from judgments import services as judgments
from tasks.models import Assignment, Hit, Operation, Posting, Publication
from tasks.venue.arriving import assignment_arrive
from tasks.venue.outbox import operations_run
from tasks.venue.publishing import publication_plan
from tests import factories
from tests.marketplace.server import Worker


class Clock:
    """Our side's clock: real time, and what was slept."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return timezone.now() + self.ahead

    def sleep(self, seconds: float) -> None:
        """Do not wait; be later."""
        self.ahead += timedelta(seconds=seconds)


def drain(publication: Publication, clock: Clock | None = None, rounds: int = 300) -> Clock:
    """Plan and make calls until none is left that could be made, as the job does, without the waiting."""
    clock = clock or Clock()
    for _ in range(rounds):
        planned = publication_plan(publication_id=publication.pk, at=clock())
        made = operations_run(publication=publication, clock=clock, sleep=clock.sleep)
        if planned or made:
            continue
        if not Operation.objects.filter(publication=publication, ended_at=None).exists():
            break
        clock.sleep(60)
    publication.refresh_from_db()
    return clock


def posting_of(publication: Publication, number: int) -> Posting:
    """Where one of our HITs is."""
    return publication.postings.filter(hit__number=number).order_by("-round")[0]


def arrive(publication: Publication, worker: Worker, number: int = 1) -> Assignment:
    """The worker accepts a HIT at the venue, and its frame opens."""
    posting = posting_of(publication, number)
    assert isinstance(posting.hit, Hit)
    return assignment_arrive(
        publication=publication,
        hit=posting.hit,
        assignment_id=worker.accept(posting.venue_hit_id),
        worker_id=worker.id,
        at=timezone.now(),
    )


def finish(
    assignment: Assignment, worker: Worker, *, only: range | None = None, fail_tests: bool = False
) -> Assignment:
    """Judge all, or some and leave, and submit at the venue as the last page does."""
    factories.judge(assignment, only=only, fail_tests=fail_tests)
    end = judgments.assignment_leave if only is not None else judgments.assignment_finish
    ended = end(assignment=assignment, at=timezone.now())
    assert worker.submit(ended.venue_assignment_id, receipt=ended.receipt).status_code == 200
    return ended


def work(publication: Publication, worker: Worker, number: int = 1, **how: object) -> Assignment:
    """Accept, judge and submit one HIT."""
    return finish(arrive(publication, worker, number), worker, **how)  # type: ignore[arg-type]

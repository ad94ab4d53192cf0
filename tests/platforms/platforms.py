"""A campaign at a real marketplace: a clock that can be moved on, and workers who judge and submit."""

from datetime import datetime, timedelta

from django.utils import timezone

from judgments import quality
from judgments import services as judgment_services
from platforms.arriving import assignment_arrive
from platforms.models import Operation, Publication, PublishedHit
from platforms.outbox import LEASE, PATIENCE, operations_run
from platforms.publishing.publications import publication_plan
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from tasks.models import Assignment, Hit
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
    due = clock()
    for _ in range(rounds):
        now = clock()
        if now >= due:
            planned = publication_plan(publication_id=publication.pk, at=clock())
            done = operations_run(publication=publication, clock=clock, sleep=clock.sleep)
            if planned or done:
                continue
            later = [at for at in turns(publication) if at > now]
            if not later:
                break
            due = min(later)
        clock.sleep(60)
    publication.refresh_from_db()
    return clock


def turns(publication: Publication) -> list[datetime]:
    """When each call that is not done may be made, if the publication's state allows it."""
    left = Operation.objects.filter(publication=publication, ended_at=None).select_related("publication")
    return [
        max(
            call.sent_at + LEASE if call.state == Operation.State.SENT and call.sent_at else call.next_try,
            (call.publication.next_call_at or call.next_try) - timedelta(seconds=PATIENCE),
        )
        for call in left
    ]


def published_hit_of(publication: Publication, number: int) -> PublishedHit:
    """Where one of our HITs is."""
    return publication.published_hits.filter(hit__number=number).order_by("-round")[0]


def arrive(publication: Publication, worker: Worker, number: int = 1) -> Assignment:
    """The worker accepts a HIT at the platform, and its frame opens."""
    published_hit = published_hit_of(publication, number)
    assert isinstance(published_hit.hit, Hit)
    return assignment_arrive(
        publication=publication,
        hit=published_hit.hit,
        assignment_id=worker.accept(published_hit.platform_hit_id),
        worker_id=worker.id,
        at=timezone.now(),
    )


def finish(
    assignment: Assignment, worker: Worker, *, only: range | None = None, fail_tests: bool = False
) -> Assignment:
    """Judge all, or some and leave, and submit at the platform as the last page does."""
    factories.judge(assignment, only=only, fail_tests=fail_tests)
    end = judgment_services.assignment_leave if only is not None else judgment_services.assignment_finish
    ended = end(assignment=assignment, at=timezone.now())
    assert worker.submit(ended.platform_assignment_id, receipt=ended.receipt).status_code == 200
    return ended


def judge(
    publication: Publication, worker: Worker, number: int = 1, *, only: range | None = None, fail_tests: bool = False
) -> Assignment:
    """Accept one HIT and judge all, or some and leave, and send nothing to the platform yet."""
    assignment = arrive(publication, worker, number)
    factories.judge(assignment, only=only, fail_tests=fail_tests)
    end = judgment_services.assignment_leave if only is not None else judgment_services.assignment_finish
    return end(assignment=assignment, at=timezone.now())


def decide(publication: Publication, clock: Clock) -> None:
    """Ask the platform about everything, check what it confirmed, and decide."""
    publication_sync(publication=publication, at=clock(), everything=True)
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=publication, at=clock())


def settle(publication: Publication, clock: Clock | None = None, *, requeue: bool = False) -> Clock:
    """Decide, ask for more work where it is missing if told to, and make the calls that follow."""
    clock = clock or Clock()
    decide(publication, clock)
    if requeue:
        publication_requeue(publication=publication, at=clock())
    return drain(publication, clock)


def work(publication: Publication, worker: Worker, number: int = 1, **how: object) -> Assignment:
    """Accept, judge and submit one HIT."""
    return finish(arrive(publication, worker, number), worker, **how)  # type: ignore[arg-type]

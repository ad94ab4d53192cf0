"""One row of each kind is poisoned: it is written down, raises an alarm, is tried again after longer and longer pauses,
and keeps no other row waiting. Healed, it is done, and its alarm is settled.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from core.models import Alarm
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from judgments.models import StoredFile
from platforms import jobs as platform_jobs
from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Publication, PublishedHit, Submission
from platforms.outbox import operations_run
from platforms.planning import end_plan
from pools.models import Campaign
from results import jobs as result_jobs
from runs.models import Collection
from tasks import jobs as task_jobs
from tasks import services as task_services
from tasks.models import Assignment, Hit
from tests import factories
from tests.platforms.platforms import published_hit_of, work


class Poisoned(NamedTuple):
    """A poisoned row beside a healthy one of its kind, and the job that meets both.

    `due` is when the poisoned one is tried again; `attempts`, how often it was tried in vain.
    """

    job: Callable[[], object]
    healthy_is_done: Callable[[], bool]
    poisoned_is_done: Callable[[], bool]
    due: Callable[[], datetime]
    attempts: Callable[[], int]
    alarms: Callable[[], int]
    heal: Callable[[], object]


def alarmed(**about: object) -> dict[str, Callable[[], object]]:
    """What the alarm about something says."""
    alarm = Alarm.objects.filter(**about)
    return {
        "due": lambda: alarm.get().retry_at,
        "attempts": lambda: alarm.get().tries,
        "alarms": lambda: alarm.filter(settled_at=None).count(),
    }


def two_campaigns(collection: Collection, *, start: bool = True) -> tuple[Campaign, Campaign]:
    first, second = (
        factories.campaign(collection, name, tests=2, pairs_per_hit=3, tests_per_hit=2, start=start)
        for name in ("poisoned", "healthy")
    )
    return first, second


def a_campaign_to_be_packed(request: pytest.FixtureRequest) -> Poisoned:
    """The number of its first HIT is taken."""
    poisoned, healthy = two_campaigns(request.getfixturevalue("collection"), start=False)
    for campaign in (poisoned, healthy):
        task_services.campaign_launch(campaign=campaign)
    hit = Hit.objects.create(campaign=poisoned, number=1, needed=1)
    state = Campaign.objects.filter(state=Campaign.State.OPEN)
    return Poisoned(
        job=task_jobs.pack_waiting_campaigns,
        healthy_is_done=state.filter(pk=healthy.pk).exists,
        poisoned_is_done=state.filter(pk=poisoned.pk).exists,
        heal=hit.delete,
        **alarmed(kind="packing"),
    )


def a_campaign_to_be_exported(request: pytest.FixtureRequest) -> Poisoned:
    """It names a way to find the best known answers that does not exist."""
    poisoned, healthy = two_campaigns(request.getfixturevalue("collection"))
    of_poisoned = Campaign.objects.filter(pk=poisoned.pk)
    of_poisoned.update(method="nonsense")
    return Poisoned(
        job=judgment_jobs.make_exports,
        healthy_is_done=Campaign.objects.filter(pk=healthy.pk, export__isnull=False).exists,
        poisoned_is_done=of_poisoned.filter(export__isnull=False).exists,
        heal=lambda: of_poisoned.update(method="tournament"),
        **alarmed(kind="exports"),
    )


def a_campaign_to_be_computed(request: pytest.FixtureRequest) -> Poisoned:
    """The same, in its results."""
    poisoned, healthy = two_campaigns(request.getfixturevalue("collection"))
    for campaign in (poisoned, healthy):
        factories.do(factories.worker(campaign, campaign.name), campaign)
    of_poisoned = Campaign.objects.filter(pk=poisoned.pk)
    of_poisoned.update(method="nonsense")
    return Poisoned(
        job=result_jobs.compute_results,
        healthy_is_done=Campaign.objects.filter(pk=healthy.pk, result__isnull=False).exists,
        poisoned_is_done=of_poisoned.filter(result__isnull=False).exists,
        heal=lambda: of_poisoned.update(method="tournament"),
        **alarmed(kind="results"),
    )


def a_replaced_file(request: pytest.FixtureRequest) -> Poisoned:
    """In storage, a folder with something in it has its name."""
    rows = []
    for campaign in two_campaigns(request.getfixturevalue("collection"), start=False):
        path = Path(settings.MEDIA_ROOT) / f"{campaign.name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        before = timezone.now() - timedelta(days=2)
        rows.append(
            StoredFile.objects.create(
                campaign=campaign, kind="export", name="x", state="replaced", file=path.name, size=1, sha256="",
                revision=0, made_at=before, replaced_at=before,
            )
        )  # fmt: skip
    poisoned, healthy = rows
    folder = Path(poisoned.file.path)
    folder.unlink()
    folder.mkdir()
    (folder / "kept").touch()
    return Poisoned(
        job=judgment_jobs.make_exports,
        healthy_is_done=lambda: not StoredFile.objects.filter(pk=healthy.pk).exists(),
        poisoned_is_done=lambda: not StoredFile.objects.filter(pk=poisoned.pk).exists(),
        heal=(folder / "kept").unlink,
        **alarmed(kind="files"),
    )


def two_submissions(campaign: Campaign, **ended: object) -> tuple[Submission, Submission]:
    """Work of two people that a platform has confirmed."""
    publication = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, title="T", description="D", published_at=timezone.now()
    )
    for name in ("poisoned", "healthy"):
        assignment = factories.take(factories.worker(campaign, name), campaign)
        Assignment.objects.filter(pk=assignment.pk).update(platform_assignment_id=f"A{name}")
        assignment.refresh_from_db()
        factories.judge(assignment)
        assignment = judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
        at_platform = publication.published_hits.create(hit=assignment.hit, max_assignments=1)
        publication.submissions.create(
            published_hit=at_platform, assignment=assignment, status="Submitted", submitted_at=timezone.now(),
            platform_assignment_id=f"A{name}", platform_worker_id=name,
        )  # fmt: skip
    poisoned, healthy = publication.submissions.order_by("id")
    return poisoned, healthy


def alter_assignments(change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE tasks_assignment {change}")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def work_to_be_checked(request: pytest.FixtureRequest) -> Poisoned:
    """The database does not take what comes of it."""
    poisoned, healthy = (row.assignment for row in two_submissions(request.getfixturevalue("campaign")))
    assert poisoned is not None and healthy is not None
    alter_assignments(f"ADD CONSTRAINT poisoned CHECK (id <> {poisoned.pk} OR verdict = 'pending')")
    accepted = Assignment.objects.filter(verdict=Assignment.Verdict.ACCEPTED)
    return Poisoned(
        job=judgment_jobs.check,
        healthy_is_done=accepted.filter(pk=healthy.pk).exists,
        poisoned_is_done=accepted.filter(pk=poisoned.pk).exists,
        heal=lambda: alter_assignments("DROP CONSTRAINT poisoned"),
        **alarmed(kind="unchecked", about_id=poisoned.pk),
    )


def a_submission_to_be_decided_on(request: pytest.FixtureRequest) -> Poisoned:
    """Its approval is planned already, without a payment."""
    poisoned, healthy = two_submissions(request.getfixturevalue("campaign"))
    judgment_jobs.check()
    planned = Operation.objects.create(
        publication=poisoned.publication, kind=Operation.Kind.APPROVE, submission=poisoned, request={},
        next_try=timezone.now(),
    )  # fmt: skip
    approved = Submission.objects.filter(decision=Submission.Decision.APPROVE)
    return Poisoned(
        job=platform_jobs.settle,
        healthy_is_done=approved.filter(pk=healthy.pk).exists,
        poisoned_is_done=approved.filter(pk=poisoned.pk).exists,
        heal=planned.delete,
        **alarmed(kind="undecided", about_id=poisoned.pk),
    )


def a_publication(request: pytest.FixtureRequest) -> Poisoned:
    """Its terms give workers a time that is no number."""
    rows = []
    for campaign in two_campaigns(request.getfixturevalue("collection")):
        publication = Publication.objects.create(
            campaign=campaign, state=Publication.State.OPEN, title="T", description="D", published_at=timezone.now()
        )
        publication.terms.create(version=1, values={"assignment_duration": 60}, at=timezone.now())
        assignment = factories.take(factories.worker(campaign, campaign.name), campaign)
        Assignment.objects.filter(pk=assignment.pk).update(platform_assignment_id="A1")
        factories.judge(assignment)
        judgment_services.assignment_finish(
            assignment=Assignment.objects.get(pk=assignment.pk), at=timezone.now() - timedelta(days=1)
        )
        rows.append(publication)
    poisoned, healthy = rows
    poisoned.terms.update(values={"assignment_duration": "an hour"})
    return Poisoned(
        job=platform_jobs.settle,
        healthy_is_done=healthy.payments.filter(purpose="compensation").exists,
        poisoned_is_done=poisoned.payments.filter(purpose="compensation").exists,
        heal=lambda: poisoned.terms.update(values={"assignment_duration": 3600}),
        **alarmed(kind="job", about="settle", publication=poisoned),
    )


def a_hit_to_be_asked_about(request: pytest.FixtureRequest) -> Poisoned:
    """The platform knows no HIT of its id."""
    published = request.getfixturevalue("published")
    for number, name in ((1, "wanda"), (2, "will")):
        work(published, request.getfixturevalue(name), number)
    poisoned, healthy = published_hit_of(published, 1), published_hit_of(published, 2)
    this = PublishedHit.objects.filter(pk=poisoned.pk)
    this.update(platform_hit_id="3NOSUCHHIT")
    published.published_hits.update(next_poll_at=timezone.now())
    return Poisoned(
        job=platform_jobs.sync,
        healthy_is_done=healthy.submissions.exists,
        poisoned_is_done=poisoned.submissions.exists,
        heal=lambda: this.update(platform_hit_id=poisoned.platform_hit_id),
        **alarmed(kind="job", about="publishedhit", about_id=poisoned.pk),
    )


def an_operation(request: pytest.FixtureRequest) -> Poisoned:
    published = request.getfixturevalue("published")
    hits = [published_hit_of(published, number) for number in (1, 2)]
    end_plan(publication=published, published_hits=hits, at=timezone.now())
    poisoned, healthy = published.operations.filter(kind=Operation.Kind.EXPIRE).order_by("published_hit")
    this = Operation.objects.filter(pk=poisoned.pk)
    this.update(request=["damaged"])
    return Poisoned(
        job=lambda: operations_run(publication=published, clock=lambda: timezone.now(), sleep=lambda _seconds: None),
        healthy_is_done=Operation.objects.filter(pk=healthy.pk, state=Operation.State.DONE).exists,
        poisoned_is_done=this.filter(state=Operation.State.DONE).exists,
        due=lambda: this.get().next_try,
        attempts=lambda: this.get().attempts,
        alarms=Alarm.objects.filter(kind="doubt", about_id=poisoned.pk, settled_at=None).count,
        heal=lambda: this.update(request=poisoned.request),
    )


@pytest.mark.parametrize(
    "poison",
    [
        a_campaign_to_be_packed,
        a_campaign_to_be_exported,
        a_campaign_to_be_computed,
        a_replaced_file,
        work_to_be_checked,
        a_submission_to_be_decided_on,
        a_publication,
        a_hit_to_be_asked_about,
        an_operation,
    ],
)
def test_a_poisoned_row_is_written_down_alarms_rests_longer_each_time_and_stops_no_other(
    db: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, poison: Callable[..., Poisoned]
) -> None:
    row = poison(request)
    now, pauses = timezone.now(), list[timedelta]()
    monkeypatch.setattr(timezone, "now", lambda: now)
    for tried in (1, 2, 3):
        row.job()
        assert row.healthy_is_done() and not row.poisoned_is_done()
        assert (row.alarms(), row.attempts()) == (1, tried)
        row.job()
        assert row.attempts() == tried, "it rests"
        pauses.append(row.due() - now)
        now = row.due() + timedelta(seconds=1)
    assert pauses[0] < pauses[1] < pauses[2]
    row.heal()
    row.job()
    assert row.poisoned_is_done()
    assert row.alarms() == 0


def test_a_hit_whose_ledger_cannot_be_read_is_a_difference_and_the_others_are_compared(
    published: Publication, request: pytest.FixtureRequest
) -> None:
    for number, name in ((1, "wanda"), (2, "will")):
        work(published, request.getfixturevalue(name), number)
    platform_jobs.sync()
    published.published_hits.filter(hit__number=1).update(platform_hit_id="3NOSUCHHIT")
    differences = comparison_make(publication=published, at=timezone.now()).differences
    assert len(differences) == 2 and "is at the platform but unknown here" in differences[0]
    assert differences[1].startswith("HIT 3NOSUCHHIT: the platform's answer could not be understood")
    assert published.alarms.filter(kind="ledger", settled_at=None).exists()
    assert published.published_hits.get(hit__number=2).compared_at is not None

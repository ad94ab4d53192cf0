"""Finished publications cost the jobs nothing, and whatever happens to one has the jobs look after it again."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.models import User
from judgments import jobs as judgment_jobs
from judgments import quality
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.models import Export
from platforms import finishing
from platforms import jobs as platform_jobs
from platforms.models import LedgerComparison, Operation, Publication, PublishedHit, RunningComparison, Submission
from platforms.publishing.publications import publication_plan
from platforms.reviewing.requeuing import publication_requeue
from platforms.syncing import finished_end
from pools.models import Campaign
from results import jobs as result_jobs
from results.inputs import FORMAT, SOFTWARE
from results.models import Result
from runs.models import Collection
from tasks import jobs as task_jobs
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests import factories
from tests.rows import fresh


@pytest.fixture
def settled(campaign: Campaign, alice: Worker, bob: Worker, carol: Worker) -> Publication:
    """A publication whose HITs are all done, with one worker barred there, and ledgers that agree."""
    for worker in (alice, bob, carol):
        factories.do(worker, campaign)
    return published(campaign)


def published(campaign: Campaign) -> Publication:
    before = timezone.now() - timedelta(days=2)
    publication = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, title="T", description="D", published_at=before
    )
    LedgerComparison.objects.create(
        publication=publication, version=1, began_at=timezone.now(), made_at=timezone.now(), is_full=True,
        differences=0, content={},
    )  # fmt: skip
    return publication


def finish(publication: Publication) -> bool:
    return finishing.publication_finish(publication=publication, at=timezone.now())


def plan(publication: Publication, campaign: Campaign, **_people: object) -> None:
    Operation.objects.create(
        publication=publication, kind=Operation.Kind.EXCLUSION_TYPE, next_try=timezone.now(), request={}
    )


def poll(publication: Publication, campaign: Campaign, **_people: object) -> None:
    PublishedHit.objects.create(publication=publication, max_assignments=1, next_poll_at=timezone.now())


def submit(publication: Publication, campaign: Campaign, **_people: object) -> None:
    at_platform = PublishedHit.objects.create(publication=publication, max_assignments=1)
    Submission.objects.create(
        publication=publication, published_hit=at_platform, platform_assignment_id="A", platform_worker_id="W",
        status="Submitted", submitted_at=timezone.now(),
    )  # fmt: skip


def work_late(publication: Publication, campaign: Campaign, dan: Worker, **_people: object) -> None:
    late = Assignment.objects.get(worker=dan)
    factories.judge(late)
    judgment_services.assignment_finish(assignment=late, at=timezone.now())


def exclude(publication: Publication, campaign: Campaign, rita: User, **_people: object) -> None:
    work = campaign.assignments.filter(verdict=Assignment.Verdict.ACCEPTED).earliest("id")
    quality.assignment_exclude(assignment=work, why="look", by=rita, at=timezone.now())


def restore(publication: Publication, campaign: Campaign, rita: User, **_people: object) -> None:
    work = campaign.assignments.filter(verdict=Assignment.Verdict.ACCEPTED).earliest("id")
    Assignment.objects.filter(pk=work.pk).update(verdict=Assignment.Verdict.UNCHECKED)
    quality.assignment_restore(assignment=work, why="fine", by=rita, at=timezone.now())


def welcome(publication: Publication, campaign: Campaign, rita: User, erin: Worker, **_people: object) -> None:
    quality.worker_unbar(worker=erin, campaign=campaign, why="back", by=rita, at=timezone.now())


@pytest.mark.parametrize("happen", [plan, poll, submit, work_late, exclude, restore, welcome])
def test_whatever_happens_to_a_finished_publication_has_jobs_look_after_it_again(
    campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, rita: User, happen: Callable[..., None]
) -> None:
    dan, erin = factories.worker(campaign, "Dan"), factories.worker(campaign, "Erin")
    factories.take(dan, campaign, timezone.now() - timedelta(hours=3))
    for worker in (alice, bob, carol):
        factories.do(worker, campaign)
    publication = published(campaign)
    quality.worker_bar(worker=erin, campaign=campaign, why="careless", by=rita, at=timezone.now())
    excluded = {"state": Operation.State.DONE, "ended_at": timezone.now() - timedelta(days=1)}
    Operation.objects.create(
        publication=publication, kind=Operation.Kind.EXCLUDE, worker=erin, barred_at=timezone.now(),
        next_try=timezone.now(), request={}, **excluded,
    )  # fmt: skip
    assert finish(publication)
    assert not finishing.unfinished().exists()
    happen(publication, campaign, dan=dan, erin=erin, rita=rita)
    assert finishing.unfinished().get() == publication


def test_nothing_is_finished_while_anything_is_open(settled: Publication, campaign: Campaign) -> None:
    campaign.hits.filter(number=1).update(needed=1)
    assert not finish(settled)
    campaign.hits.update(needed=0)
    alarm = settled.alarms.create(kind="job", text="Look.", raised_at=timezone.now())
    assert not finish(settled)
    alarm.delete()
    assert not RunningComparison.objects.exists()
    assert finish(settled)


@pytest.mark.parametrize(
    "otherwise", [{"differences": 1}, {"is_full": False}, {"began_at": timezone.now() - timedelta(days=9)}]
)
def test_without_a_full_comparison_that_agreed_one_begins_before_anything_is_finished(
    settled: Publication, otherwise: dict[str, object]
) -> None:
    LedgerComparison.objects.update(**otherwise)
    assert not finish(settled)
    assert RunningComparison.objects.get().is_full
    assert finishing.unfinished().get() == settled


@pytest.mark.parametrize("end", ["paused", "stopped", "closed"])
def test_what_nobody_wants_any_more_keeps_no_publication_unfinished(
    settled: Publication, campaign: Campaign, end: str
) -> None:
    waiting = campaign.hits.get(number=1)
    campaign.hits.filter(pk=waiting.pk).update(needed=1)
    PublishedHit.objects.create(publication=settled, hit=waiting, max_assignments=1)  # planned, and never published
    assert not finish(settled)
    if end == "closed":
        task_services.campaign_move(campaign=campaign, to="closed")
    else:
        Publication.objects.update(state=end)
        held_back = settled.published_hits.get()
        Operation.objects.create(
            publication=settled, kind=Operation.Kind.CREATE, published_hit=held_back, next_try=timezone.now()
        )
    assert finish(settled)
    if end == "closed":
        assert not finishing.unfinished().exists()
        task_services.campaign_move(campaign=campaign, to="open")
    else:
        Publication.objects.update(state="open")
    assert finishing.unfinished().get() == settled
    assert not finish(settled)
    assert not fresh(settled).is_finished


def test_a_stopped_publication_that_owes_money_is_not_finished(settled: Publication, campaign: Campaign) -> None:
    work = campaign.assignments.earliest("id")
    settled.payments.create(assignment=work, purpose="bonus", amount=1, fee=0, owed_at=timezone.now())
    Publication.objects.update(state=Publication.State.STOPPED)
    assert not finish(settled)


def test_the_open_hits_of_a_closed_campaign_are_ended_and_none_is_published_or_extended(
    settled: Publication, campaign: Campaign
) -> None:
    settled.exclusion_id, settled.hit_type_id = "3EX", "3TYPE"
    settled.save()
    settled.terms.create(version=1, values={}, hit_type_id="3TYPE", at=timezone.now())
    campaign.hits.update(needed=1)
    until = timezone.now() + timedelta(days=1)
    first = campaign.hits.get(number=1)
    settled.published_hits.create(
        hit=first, max_assignments=1, platform_hit_id="3HIT", expires_at=until, next_poll_at=until
    )
    at = timezone.now()
    assert finished_end(publication=settled, at=at) == 0
    task_services.campaign_move(campaign=campaign, to="closed")
    assert publication_plan(publication_id=settled.pk, at=at) == 0
    assert publication_requeue(publication=settled, at=at) == 0
    assert [finished_end(publication=settled, at=at) for _again in range(2)] == [1, 0]
    assert list(settled.operations.values_list("kind", "published_hit__hit")) == [("expire", first.pk)]


def test_periodic_jobs_ask_as_much_with_a_dozen_finished_campaigns_as_with_one(collection: Collection) -> None:
    counts = []
    for number in (1, 12):
        while Campaign.objects.count() < number:
            finished(collection, f"campaign {Campaign.objects.count()}")
        with CaptureQueriesContext(connection) as queries:
            for job in (
                platform_jobs.publish, platform_jobs.sync, platform_jobs.settle, platform_jobs.requeue,
                platform_jobs.reconcile, judgment_jobs.check, judgment_jobs.make_exports, result_jobs.compute_results,
                task_jobs.pack_waiting_campaigns, result_jobs.finish_campaigns,
            ):  # fmt: skip
                job()
        counts.append(len(queries))
    assert counts[0] == counts[1] < 25


def finished(collection: Collection, name: str) -> None:
    """A campaign in step, with a finished publication."""
    now = timezone.now()
    campaign = Campaign.objects.create(
        lab=collection.lab, collection=collection, name=name, state=Campaign.State.OPEN, revision=7
    )
    Export.objects.create(
        campaign=campaign, revision=7, software=judgment_selectors.SOFTWARE, newest_assignment=0,
        newest_judgment=0, counts={}, made_at=now, seconds=0, rests_until=now,
    )  # fmt: skip
    Result.objects.create(
        campaign=campaign, revision=7, software=SOFTWARE, data={"version": FORMAT}, figures={}, tops={},
        computed_at=now, seconds=0, rests_until=now,
    )  # fmt: skip
    assert finish(published(campaign))
    result_jobs.finish_campaigns()
    campaign.refresh_from_db()
    assert campaign.is_finished


def test_work_is_marked_as_submitted_while_a_submission_is_its(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    publication = published(campaign)
    first, second = (factories.do(worker, campaign) for worker in (alice, bob))
    at_platform = PublishedHit.objects.create(publication=publication, hit=first.hit, max_assignments=2)

    def submitted() -> list[Assignment]:
        return list(Assignment.objects.filter(is_submitted=True))

    submission = Submission.objects.create(
        publication=publication, published_hit=at_platform, platform_assignment_id="A", platform_worker_id="W",
        status="Submitted", submitted_at=timezone.now(),
    )  # fmt: skip
    assert submitted() == []
    Submission.objects.update(assignment=first)
    assert submitted() == [first]
    Submission.objects.update(assignment=second)
    assert submitted() == [second] and factories.wrongly_submitted() == []
    Submission.objects.update(assignment=None)
    assert submitted() == []
    Submission.objects.update(assignment=first)
    submission.delete()
    assert submitted() == [] and factories.wrongly_submitted() == []

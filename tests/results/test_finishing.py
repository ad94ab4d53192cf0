"""A campaign is finished by itself, says so on its page, and goes on when something happens to it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow
from core.models import Alarm, User
from evaluation.judging.designs.all_pairs import AllPairs
from evaluation.judging.designs.base import Outcome
from judgments import jobs as judgment_jobs
from judgments import quality
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.models import Export
from platforms.models import Publication
from pools.models import Campaign
from pools.services import later_runs_score
from results import jobs as result_jobs
from results.models import EarlierResult, Result
from runs.services import run_delete, run_release
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests import factories


def turn(campaign: Campaign) -> bool:
    """Let each periodic job have its turn. Whether the campaign is finished then."""
    for job in (judgment_jobs.make_exports, result_jobs.compute_results, result_jobs.finish_campaigns):
        job()
    campaign.refresh_from_db()
    return campaign.is_finished


@pytest.fixture
def done(campaign: Campaign, alice: Worker, bob: Worker, carol: Worker) -> Campaign:
    """A campaign whose HITs are all done."""
    for worker in (alice, bob, carol):
        factories.do(worker, campaign)
    return campaign


@pytest.fixture
def member(client: Client, rita: User) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def test_a_campaign_is_finished_once_its_hits_are_done_and_its_files_are_made(done: Campaign, member: Client) -> None:
    page = reverse("campaigns:campaign", args=[done.pk])
    assert result_jobs.finish_campaigns() == "campaigns finished: 0"
    assert "finished</span>" not in member.get(page).content.decode()
    assert turn(done)
    assert "finished</span>" in member.get(page).content.decode()
    assert "This campaign is finished" in member.get(page).content.decode()
    assert "finished</span>" in member.get(reverse("campaigns:campaigns")).content.decode()
    assert result_jobs.finish_campaigns() == "campaigns finished: 0"  # it is not looked at again


def lease(campaign: Campaign) -> None:
    """Somebody is at work."""
    hit = campaign.hits.get(number=1)
    now = timezone.now()
    Assignment.objects.create(
        campaign=campaign, hit=hit, worker=factories.worker(campaign, "Dan"), taken_at=now,
        leased_until=now + timedelta(hours=1),
    )  # fmt: skip


def alarm(campaign: Campaign) -> None:
    """A job failed."""
    Alarm.objects.create(of=campaign, kind="packing", text="Look.", raised_at=timezone.now())


def want(campaign: Campaign) -> None:
    """A HIT waits for work."""
    campaign.hits.filter(number=1).update(needed=1)


def publish(campaign: Campaign) -> None:
    """It is at a platform, and not finished there."""
    Publication.objects.create(campaign=campaign, state=Publication.State.OPEN, title="T", description="D")


def test_a_campaign_is_not_finished_while_anything_is_open(done: Campaign) -> None:
    for job in (judgment_jobs.make_exports, result_jobs.compute_results):
        job()
    for going_on in (lease, alarm, want, publish):
        with transaction.atomic():
            going_on(done)
            assert not turn(done), going_on.__name__
            transaction.set_rollback(True)
    assert turn(done)


def test_a_closed_campaign_is_finished_although_hits_wait_and_goes_on_once_it_is_open(campaign: Campaign) -> None:
    factories.do(factories.worker(campaign, "Dan"), campaign)
    assert not turn(campaign)
    task_services.campaign_move(campaign=campaign, to="closed")
    assert turn(campaign)
    task_services.campaign_move(campaign=campaign, to="open")
    assert not turn(campaign)


def exclude(campaign: Campaign, rita: User, **_others: object) -> None:
    work = campaign.assignments.filter(verdict=Assignment.Verdict.ACCEPTED).earliest("id")
    quality.assignment_exclude(assignment=work, why="look", by=rita, at=timezone.now())


def agree_to_more(campaign: Campaign, **_others: object) -> None:
    task_services.consent_write(campaign=campaign, text="Another text.")


def work_late(campaign: Campaign, late: Assignment, **_others: object) -> None:
    factories.judge(late)
    judgment_services.assignment_finish(assignment=late, at=timezone.now())


def rename(campaign: Campaign, admin: Client, **_others: object) -> None:
    answer = admin.post(reverse("admin:pools_campaign_change", args=[campaign.pk]), {"name": "renamed"})
    assert answer.status_code == 302


def rename_collection(campaign: Campaign, admin: Client, **_others: object) -> None:
    answer = admin.post(reverse("admin:runs_collection_change", args=[campaign.collection_id]), {"name": "renamed"})
    assert answer.status_code == 302


@pytest.mark.parametrize("happen", [exclude, agree_to_more, work_late, rename, rename_collection])
def test_whatever_changes_the_files_of_a_finished_campaign_has_them_made_again(
    campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, rita: User, ada: User, happen: Callable[..., None]
) -> None:
    late = factories.take(factories.worker(campaign, "Dan"), campaign, timezone.now() - timedelta(hours=3))
    for worker in (alice, bob, carol):
        factories.do(worker, campaign)
    assert turn(campaign)
    before = campaign.export.made_at
    admin = Client()
    admin.force_login(ada)

    happen(campaign, rita=rita, late=late, admin=admin)

    campaign.refresh_from_db()
    assert not campaign.is_finished
    campaign.export.rests_until = campaign.result.rests_until = timezone.now()
    campaign.export.save()
    campaign.result.save()
    assert turn(campaign) == (happen is not exclude)  # whose pairs wait for another worker's judgments
    assert Campaign.objects.get().export.made_at > before


def test_runs_that_come_after_the_end_change_nothing_until_somebody_asks_and_the_old_results_stay(
    done: Campaign, member: Client
) -> None:
    assert turn(done)
    page, before = reverse("results:results", args=[done.pk]), Result.objects.get()
    archive = member.get(f"{page}report.zip").getvalue()
    factories.run(done.collection, "belated", {"q1": ["p1", "p3"], "q2": ["p4"]})
    assert turn(done)
    assert Result.objects.get().computed_at == before.computed_at
    html = member.get(page).content.decode()
    assert "1 run was imported after" in html and "belated" in html

    red = done.collection.runs.get(name="red")
    done.runs.remove(red)
    with pytest.raises(NotNow, match="results of finished campaigns score it: pilot"):
        run_delete(run=red)
    done.runs.add(red)

    member.post(reverse("results:later_runs", args=[done.pk]))
    Result.objects.update(rests_until=timezone.now())
    Export.objects.update(rests_until=timezone.now())
    assert turn(done)
    now, earlier = Result.objects.get(), EarlierResult.objects.get()
    assert {row["run"] for row in now.data["leaderboard"]} == {"red", "green", "blue", "belated"}
    assert {row["run"] for row in earlier.data["leaderboard"]} == {"red", "green", "blue"}
    assert (earlier.number, earlier.computed_at, earlier.final_at) == (1, before.computed_at, before.final_at)
    assert now.final_at is not None and now.final_at > before.final_at
    assert "imported after" not in member.get(page).content.decode()
    older = f"{page}earlier/1/"
    assert older in member.get(page).content.decode()
    assert "belated" not in member.get(older).content.decode() and "red" in member.get(older).content.decode()
    assert member.get(f"{older}report.zip").getvalue() == archive
    assert member.get(f"{page}report.zip").getvalue() != archive
    assert member.get(f"{older[:-1]}.json").json()["leaderboard"] == earlier.data["leaderboard"]
    assert member.get(f"{page}earlier/2/").status_code == 404
    with pytest.raises(NotNow):
        later_runs_score(campaign=done)

    run_release(run=red, is_released=False)
    assert "held back since: red" in member.get(older).content.decode()
    assert member.get(f"{older}report.zip").status_code == 404


def test_the_same_again_is_no_other_result(done: Campaign) -> None:
    assert turn(done)
    final_at = Result.objects.get().final_at
    Campaign.objects.filter(pk=done.pk).update(revision=F("revision") + 1)
    Result.objects.update(rests_until=timezone.now())
    Export.objects.update(rests_until=timezone.now())
    assert turn(done)
    assert Result.objects.get().final_at == final_at and not EarlierResult.objects.exists()


def test_results_and_export_files_follow_from_one_reading(done: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    derive, evidence = AllPairs.derive, []

    def derive_and_note(design: AllPairs, judged: Evidence) -> Outcome:
        evidence.append(judged)
        return derive(design, judged)

    monkeypatch.setattr(AllPairs, "derive", derive_and_note)
    assert result_jobs.compute_results() == "results computed: 1"
    assert len(evidence) == 1
    result = Result.objects.get()
    assert result.data["incomplete"] == len(evidence[0].derived.incomplete) == 0
    assert result.data["preference_qrels"] == len(evidence[0].derived.qrels)

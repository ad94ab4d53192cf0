"""Counts that pages show are kept, and are what counting gives."""

import logging

import pytest
from django.db import connection
from django.utils import timezone

from judgments import quality
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from pools import counting
from pools.jobs import keep_counts
from pools.models import Campaign, CountChange, Recount
from tasks import selectors as task_selectors
from tasks.models import Assignment, Hit, Worker
from tests import factories
from tests.races import beside


def test_what_workers_and_researchers_do_is_kept_counted(
    campaign: Campaign, alice: Worker, bob: Worker, carol: Worker
) -> None:
    factories.do(alice, campaign)
    factories.do(bob, campaign, fail_tests=True)
    begun = factories.take(carol, campaign)
    factories.judge(begun, only=[1, 2])
    ended = judgment_services.assignment_leave(assignment=begun, at=timezone.now())
    accepted = campaign.assignments.get(worker=alice)
    rita = campaign.lab.members.get()
    quality.assignment_exclude(assignment=accepted, why="Careless.", by=rita, at=timezone.now())
    quality.assignment_restore(assignment=accepted, why="Not so.", by=rita, at=timezone.now())

    progress = task_selectors.progress(campaign)

    assert (progress.submitted, progress.left, progress.accepted, progress.excluded) == (2, 1, 1, 1)
    assert (progress.workers, progress.barred) == (3, 1)
    assert counting.campaign_recount(campaign=campaign, at=timezone.now()) == {}
    assert ended.verdict == "unchecked"


def test_many_changes_become_their_sums(campaign: Campaign, alice: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.do(alice, campaign)
    monkeypatch.setattr(counting, "FOLDED_FROM", 5)
    names = ("hits", "work", "workers", "accepted", "full", "good")
    before = {
        kind: total for kind, total in counting.totals_of([campaign.pk], *names)[campaign.pk].items() if any(total)
    }

    assert counting.counts_fold() == 1

    assert counting.totals_of([campaign.pk], *names)[campaign.pk] == before
    assert CountChange.objects.filter(campaign=campaign).count() == len(before)


def test_a_count_that_is_lost_or_wrong_is_put_right_and_reported(
    campaign: Campaign, alice: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    factories.do(alice, campaign)
    right = task_selectors.progress(campaign), judgment_selectors.judging_progress(campaign)
    assert keep_counts() == "counts put right: 0"
    CountChange.objects.filter(campaign=campaign, name="hits").delete()
    CountChange.objects.create(campaign=campaign, name="accepted", kind="", count=7)
    assert keep_counts() == "counts put right: 0"  # it has just been counted
    Recount.objects.update(rests_until=timezone.now())

    with caplog.at_level(logging.ERROR):
        assert keep_counts() != "counts put right: 0"

    assert (task_selectors.progress(campaign), judgment_selectors.judging_progress(campaign)) == right
    assert "accepted" in caplog.text and "hits" in caplog.text


def test_a_campaign_in_which_nothing_happens_is_not_counted_again(campaign: Campaign) -> None:
    keep_counts()
    Recount.objects.update(rests_until=timezone.now())

    assert not counting.campaigns_to_recount(at=timezone.now()).exists()


def test_a_recount_while_somebody_works_counts_what_they_did_once(
    campaign: Campaign, alice: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        factories.do(alice, campaign)
        cursor.execute("SET LOCAL session_replication_role = origin")

    assert counting.campaign_recount(campaign=campaign, at=timezone.now())
    assert counting.campaign_recount(campaign=campaign, at=timezone.now()) == {}


@pytest.mark.django_db(transaction=True)
def test_a_worker_whose_first_two_tasks_begin_at_one_moment_counts_once(campaign: Campaign, alice: Worker) -> None:
    first, second = campaign.hits.order_by("number")[:2]

    def begin(hit: Hit) -> None:
        at = timezone.now()
        Assignment.objects.create(
            campaign=campaign, hit=hit, worker=alice, taken_at=at, leased_until=at, platform_assignment_id=f"A{hit.pk}"
        )

    with beside(lambda: begin(second)) as others:
        begin(first)

    assert others[0].result() is None
    assert task_selectors.progress(campaign).workers == 1

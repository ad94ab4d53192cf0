"""Who gets which HIT: leases, other people's work, pairs and test pairs that were met before, many at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import Lab, User
from judgments import services as judgment_services
from pools.models import Campaign
from runs.models import Collection
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Hit, Item, Worker
from tests import factories


def at_once(count: int, act: Callable[[int], object]) -> list[object]:
    """Run `act(0)` … `act(count - 1)` in threads of their own; exceptions are returned."""

    def run(number: int) -> object:
        try:
            return act(number)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_a_hit_that_is_out_is_not_given_to_another(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    assert factories.take(alice, campaign).hit_id != factories.take(bob, campaign).hit_id


def test_taking_again_gives_the_current_assignment(campaign: Campaign, alice: Worker) -> None:
    assert factories.take(alice, campaign) == factories.take(alice, campaign)
    assert Assignment.objects.count() == 1


def test_an_abandoned_hit_goes_to_somebody_else_after_its_time(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    Hit.objects.filter(campaign=campaign).exclude(number=1).update(needed=0)
    begun = timezone.now()
    abandoned = factories.take(alice, campaign, at=begun)
    with pytest.raises(task_services.NoWork, match="Other people are working on every task"):
        factories.take(bob, campaign, at=begun + timedelta(minutes=59))
    assert factories.take(bob, campaign, at=begun + timedelta(minutes=61)).hit_id == abandoned.hit_id


def test_nobody_gets_a_hit_again_that_they_left(campaign: Campaign, alice: Worker) -> None:
    Hit.objects.filter(campaign=campaign).exclude(number=1).update(needed=0)
    left = factories.take(alice, campaign)
    judgment_services.assignment_leave(assignment=left, at=timezone.now())
    with pytest.raises(task_services.NoWork):
        factories.take(alice, campaign)


def test_nobody_meets_a_pair_again_not_even_in_another_campaign(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    for _hit in range(3):
        factories.do(alice, campaign)
    again = factories.campaign(campaign.collection, "again", pairs_per_hit=3, tests_per_hit=2, reuse="nothing")
    task_services.consent_give(worker=alice, text=again.consent_texts.get())
    with pytest.raises(task_services.NoWork):
        factories.take(alice, again)
    factories.take(bob, again)


def test_a_worker_does_not_meet_a_test_pair_twice_while_that_can_be_helped(campaign: Campaign, alice: Worker) -> None:
    met: list[int] = []
    for _hit in range(3):  # six test pairs, two in each of three HITs
        assignment = factories.do(alice, campaign)
        met += Item.objects.filter(hit=assignment.hit, test__isnull=False).values_list("test_id", flat=True)
    assert len(met) == len(set(met)) == 6


def test_a_met_test_pair_is_shown_again_rather_than_no_work_at_all(collection: Collection) -> None:
    campaign = factories.campaign(collection, tests=2, pairs_per_hit=3, tests_per_hit=2)
    alice = factories.worker(campaign, "Alice")
    for _hit in range(3):
        factories.do(alice, campaign)
    assert Hit.objects.filter(campaign=campaign, needed=0).count() == 3


def test_the_most_hits_of_a_worker_are_a_setting(collection: Collection) -> None:
    campaign = factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2, hits_per_worker=1)
    alice = factories.worker(campaign, "Alice")
    factories.do(alice, campaign)
    with pytest.raises(task_services.NoWork, match="as many tasks as one person can do"):
        factories.take(alice, campaign)


@pytest.mark.parametrize(("state", "sentence"), [("paused", "paused"), ("closed", "finished")])
def test_a_paused_or_closed_campaign_gives_no_work_but_takes_what_is_out(
    campaign: Campaign, alice: Worker, bob: Worker, state: str, sentence: str
) -> None:
    out = factories.take(alice, campaign)
    task_services.campaign_move(campaign=campaign, to=state)
    with pytest.raises(task_services.NoWork, match=sentence):
        factories.take(bob, campaign)
    factories.judge(out)
    assert judgment_services.assignment_finish(assignment=out, at=timezone.now()).verdict == Assignment.Verdict.ACCEPTED


@pytest.fixture
def wide(transactional_db: None, tmp_path: Path) -> Campaign:
    """Twelve HITs, for many people at once."""
    lab = factories.lab("Wide", factories.user("wim"))
    queries = [f"w{number}" for number in range(36)]
    collection = factories.collection(
        tmp_path,
        in_lab=lab,
        qrels={query: [f"{query}-a"] for query in queries},
        tops={"run": {query: [f"{query}-b"] for query in queries}},
    )
    return factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2)


def test_many_workers_at_once_never_share_a_hit(wide: Campaign) -> None:
    workers = [factories.worker(wide, f"worker {number}") for number in range(16)]
    results = at_once(16, lambda number: factories.take(workers[number], wide))
    assignments = [each for each in results if isinstance(each, Assignment)]
    assert len(assignments) == 12
    assert len({each.hit_id for each in assignments}) == 12
    assert all(isinstance(each, Assignment | task_services.NoWork) for each in results)


def test_one_worker_in_many_tabs_gets_one_assignment(wide: Campaign) -> None:
    alice = factories.worker(wide, "Alice")
    results = at_once(8, lambda _number: factories.take(alice, wide))
    assert {each.pk for each in results if isinstance(each, Assignment)} == {Assignment.objects.get().pk}
    assert len(results) == 8


def test_finishing_in_many_tabs_at_once_counts_once(wide: Campaign) -> None:
    alice = factories.worker(wide, "Alice")
    assignment = factories.take(alice, wide)
    factories.judge(assignment)
    ended = at_once(6, lambda _number: judgment_services.assignment_finish(assignment=assignment, at=timezone.now()))
    assert {each.receipt for each in ended if isinstance(each, Assignment)} == {Assignment.objects.get().receipt}
    assert assignment.acceptances.count() == 3


def test_two_finishing_the_same_hit_at_once_fill_each_place_once(wide: Campaign) -> None:
    alice, bob = factories.worker(wide, "Alice"), factories.worker(wide, "Bob")
    Hit.objects.filter(campaign=wide).exclude(number=1).update(needed=0)
    late = factories.take(alice, wide, at=timezone.now() - timedelta(hours=3))
    fresh = factories.take(bob, wide)
    assert late.hit_id == fresh.hit_id
    for assignment in (late, fresh):
        factories.judge(assignment)
    both = [late, fresh]
    at_once(2, lambda number: judgment_services.assignment_finish(assignment=both[number], at=timezone.now()))
    assert late.acceptances.count() + fresh.acceptances.count() == 3
    assert {each.state for each in Assignment.objects.all()} == {Assignment.State.SUBMITTED}


def test_packing_by_two_processes_packs_once(transactional_db: None, tmp_path: Path) -> None:
    lab = factories.lab("Packers", factories.user("pia"))
    collection = factories.collection(
        tmp_path, in_lab=lab, qrels={"q1": ["p1"], "q2": ["p3"]}, tops={"run": {"q1": ["p2"], "q2": ["p4"]}}
    )
    campaign = factories.campaign(collection, start=False)
    task_services.campaign_launch(campaign=campaign)
    packed = at_once(4, lambda _number: task_services.campaign_pack(campaign_id=campaign.pk))
    assert sorted(map(str, packed)) == ["False", "False", "False", "True"]
    assert Hit.objects.filter(campaign=campaign).count() == 1


def test_progress_counts_what_is_there(campaign: Campaign, alice: Worker, bob: Worker, lab: Lab, rita: User) -> None:
    factories.do(alice, campaign)
    factories.do(bob, campaign, fail_tests=True)
    counts = task_selectors.progress(campaign)
    assert (counts.hits, counts.hits_done, counts.accepted, counts.excluded) == (3, 1, 1, 1)
    assert (counts.workers, counts.barred) == (2, 1)


def test_whose_time_is_over_is_not_counted_as_judging(campaign: Campaign, alice: Worker, rita: User) -> None:
    assignment, pages = factories.take(alice, campaign), Client()
    pages.force_login(rita)
    counts = lambda: task_selectors.progress(campaign)[2:4]  # noqa: E731
    work = lambda: pages.get(reverse("review:work", args=[campaign.pk])).text  # noqa: E731
    assert counts() == (1, 0) and "<td>being judged</td>" in work()
    Assignment.objects.filter(pk=assignment.pk).update(leased_until=timezone.now())
    assert counts() == (0, 1) and "<td>not finished in time</td>" in work()
    overview = pages.get(reverse("campaigns:campaign", args=[campaign.pk])).text
    assert "<dt>Not finished in time</dt><dd>1</dd>" in overview


@pytest.mark.django_db(transaction=True)
def test_the_same_consent_from_many_tabs_is_one_version(campaign: Campaign) -> None:
    before = campaign.consent_texts.count()
    same = at_once(6, lambda _number: task_services.consent_write(campaign=campaign, text="You may stop at any time."))
    assert {getattr(text, "version", text) for text in same} == {before + 1}

    different = at_once(4, lambda number: task_services.consent_write(campaign=campaign, text=f"Wording {number}"))
    assert sorted(getattr(text, "version", 0) for text in different) == [before + 2 + n for n in range(4)]


@pytest.mark.django_db(transaction=True)
def test_one_worker_who_agrees_in_many_tabs_agrees_once(campaign: Campaign) -> None:
    text = task_selectors.current_consent(campaign)
    assert text is not None
    form = "the same page"

    def join(_number: int) -> int:
        worker = task_services.worker_join(campaign=campaign, form=form)
        return task_services.consent_give(worker=worker, text=text).pk

    assert len(set(at_once(6, join))) == 1

"""Saving, finishing, excluding, redoing: what happens to work, and what must not."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import BadRequest, NotNow
from core.models import User
from judgments import quality
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.models import Acceptance, Decision, Judgment
from pools.models import Campaign, Pair
from tasks import services as task_services
from tasks.models import Assignment, Hit, Worker
from tests import factories
from tests.races import beside
from tests.rows import fresh


def test_all_pairs_judged_once_leave_no_hit_waiting(campaign: Campaign, alice: Worker) -> None:
    while Hit.objects.filter(campaign=campaign, needed__gt=0).exists():
        factories.do(alice, campaign)
    assert Acceptance.objects.count() == factories.pair_count(campaign) == 7
    with pytest.raises(task_services.NoWork, match="All tasks are done"):
        factories.take(alice, campaign)


def test_failing_a_test_pair_puts_the_hit_back_for_another_worker(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    failed = factories.do(alice, campaign, fail_tests=True)
    assert failed.verdict == Assignment.Verdict.EXCLUDED
    assert not Acceptance.objects.exists()
    assert failed.owed == campaign.reward  # honest or not, work is paid until a person decides otherwise
    with pytest.raises(task_services.NoWork, match="no more tasks"):
        factories.take(alice, campaign)
    redone = factories.do(bob, campaign)
    assert redone.hit_id == failed.hit_id
    assert redone.verdict == Assignment.Verdict.ACCEPTED
    ruled = list(Decision.objects.order_by("id").values_list("kind", "by"))
    assert ruled == [("excluded", None), ("barred", None)]


def test_a_barred_worker_gets_nothing_in_another_campaign_of_the_lab(campaign: Campaign, alice: Worker) -> None:
    factories.do(alice, campaign, fail_tests=True)
    other = factories.campaign(campaign.collection, "second", pairs_per_hit=3, tests_per_hit=2)
    with pytest.raises(task_services.NoWork):
        factories.take(alice, other)


def test_the_rule_for_all_of_a_workers_data_excludes_earlier_work_too(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(exclusion=Campaign.Exclusion.WORKER)
    campaign.refresh_from_db()
    first = factories.do(alice, campaign)
    assert Acceptance.objects.filter(assignment=first).count() == 3
    factories.do(alice, campaign, fail_tests=True)
    assert not Acceptance.objects.exists()
    assert set(campaign.assignments.values_list("verdict", flat=True)) == {"excluded"}
    assert Hit.objects.filter(campaign=campaign, needed=1).count() == 3
    factories.do(bob, campaign)
    assert Acceptance.objects.count() == 3


def test_one_rule_excludes_only_the_assignment_that_failed(campaign: Campaign, alice: Worker) -> None:
    factories.do(alice, campaign)
    factories.do(alice, campaign, fail_tests=True)
    assert sorted(campaign.assignments.values_list("verdict", flat=True)) == ["accepted", "excluded"]
    assert Acceptance.objects.count() == 3


def test_saying_the_same_again_adds_nothing_and_a_changed_mind_adds_a_row(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    now = timezone.now()
    for side in ("left", "left", "right", "right", "left", "right"):
        judgment_services.judgment_save(assignment_id=assignment.pk, position=1, preferred=side, shown_at=now, at=now)
    sides = list(Judgment.objects.order_by("id").values_list("preferred", flat=True))
    assert sides == ["left", "right", "left", "right"]
    (judgment,) = judgment_selectors.effective(assignment).values()
    assert judgment.preferred == "right"


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_the_same_moment_are_stored_once(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    now = timezone.now()

    def click() -> int:
        saved = judgment_services.judgment_save(
            assignment_id=assignment.pk, position=1, preferred="left", shown_at=now, at=now
        )
        return saved.answered

    with beside(click, click) as clicks:
        Assignment.objects.select_for_update().get(pk=assignment.pk)
    assert [each.result() for each in clicks] == [1, 1]
    assert Judgment.objects.count() == 1


@pytest.mark.parametrize("fails_first", [True, False])
def test_on_a_test_pair_the_last_answer_counts_and_no_slip_before_it(
    campaign: Campaign, alice: Worker, fails_first: bool
) -> None:
    assignment = factories.take(alice, campaign)
    factories.judge(assignment, fail_tests=fails_first)
    factories.judge(assignment, fail_tests=not fails_first)
    ended = judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    alice.refresh_from_db()
    accepted = ended.verdict == Assignment.Verdict.ACCEPTED
    assert (accepted, alice.barred_at is None) == (fails_first, fails_first)
    assert Acceptance.objects.exists() == fails_first


@pytest.mark.parametrize("first", ["bob", "carol"])
def test_a_free_slot_goes_to_the_work_that_was_finished_first(
    campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, rita: User, first: str
) -> None:
    now = timezone.now()
    workers = {"alice": alice, "bob": bob, "carol": carol}
    order = ["alice", first, *({"bob", "carol"} - {first})]
    # One HIT, handed on as each lease ends: all three may still finish it, in an order of their own.
    work = {
        name: factories.take(worker, campaign, now - timedelta(hours=9 - 3 * turn))
        for turn, (name, worker) in enumerate(workers.items())
    }
    assert len({assignment.hit_id for assignment in work.values()}) == 1
    for turn, name in enumerate(order):
        factories.judge(work[name], prefer="b" if name == "carol" else "a")
        judgment_services.assignment_finish(assignment=work[name], at=now + timedelta(minutes=turn))
    assert {row.assignment_id for row in Acceptance.objects.all()} == {work["alice"].pk}
    quality.assignment_exclude(assignment=work["alice"], by=rita, why="careless", at=now + timedelta(hours=1))
    assert {row.assignment_id for row in Acceptance.objects.all()} == {work[first].pk}
    wins = {row.preferred == row.b for row in Evidence(campaign).preferences}
    assert wins == {first == "carol"}


def test_the_newest_judgment_of_an_item_is_the_one_that_counts(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    factories.judge(assignment, prefer="b")
    factories.judge(assignment, prefer="a")
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert {row.preferred == row.a for row in Evidence(campaign).preferences} == {True}


def test_a_judgment_cannot_be_changed_or_deleted(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    factories.judge(assignment, only=[1])
    for change in (lambda: Judgment.objects.update(preferred="left"), lambda: Judgment.objects.get().delete()):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            change()


def test_nothing_is_stored_for_what_is_not_an_answer(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    now = timezone.now()
    with pytest.raises(BadRequest, match="“left” or “right”, not “middle”"):
        judgment_services.judgment_save(
            assignment_id=assignment.pk, position=1, preferred="middle", shown_at=now, at=now
        )
    assert not Judgment.objects.exists()


def test_an_unfinished_assignment_cannot_be_sent(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    factories.judge(assignment, only=[1, 2, 4, 5])
    with pytest.raises(NotNow, match="One question has no answer yet"):
        judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert fresh(assignment).state == Assignment.State.ACTIVE


def test_finishing_twice_is_finishing_once(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.do(alice, campaign)
    again = judgment_services.assignment_finish(assignment=assignment, at=timezone.now() + timedelta(hours=1))
    assert again.finished_at == assignment.finished_at
    assert again.receipt == assignment.receipt
    assert Acceptance.objects.count() == 3
    with pytest.raises(NotNow, match="already finished this task"):
        factories.judge(assignment, only=[1], prefer="b")


def test_leaving_early_is_paid_in_proportion_and_its_unchecked_data_are_not_used(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    assignment = factories.take(alice, campaign)
    tests = set(assignment.hit.items.filter(test__isnull=False).values_list("position", flat=True))
    pairs = set(range(1, 6)) - tests
    factories.judge(assignment, only=pairs)
    left = judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
    assert (left.state, left.verdict) == (Assignment.State.LEFT, Assignment.Verdict.UNCHECKED)
    assert str(left.owed) == "1.20"  # 3 of 5 items of $2.00
    assert not Acceptance.objects.exists()
    assert factories.do(bob, campaign).hit_id == left.hit_id


def test_what_was_judged_before_leaving_is_used_if_all_its_test_pairs_passed(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    assignment = factories.take(alice, campaign)
    pairs = list(assignment.hit.items.filter(pair__isnull=False).order_by("position"))
    factories.judge(assignment, only=set(range(1, 6)) - {pairs[0].position})
    left = judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
    assert left.verdict == Assignment.Verdict.ACCEPTED
    assert Acceptance.objects.count() == 2
    assert Hit.objects.get(pk=left.hit_id).needed == 1
    redone = factories.do(bob, campaign, prefer="b")
    assert redone.hit_id == left.hit_id
    assert Acceptance.objects.filter(assignment=redone).get().pair_id == pairs[0].pair_id
    assert Acceptance.objects.count() == 3


def test_late_work_is_used_where_the_pair_still_needs_it(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    start = timezone.now() - timedelta(hours=5)
    late = factories.take(alice, campaign, at=start)
    factories.judge(late)
    finished = judgment_services.assignment_finish(assignment=late, at=timezone.now())
    assert finished.verdict == Assignment.Verdict.ACCEPTED
    assert Acceptance.objects.filter(assignment=late).count() == 3


def test_late_work_that_nobody_needs_any_more_is_kept_and_paid_but_not_used(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    late = factories.take(alice, campaign, at=timezone.now() - timedelta(hours=5))
    redone = factories.do(bob, campaign)
    assert redone.hit_id == late.hit_id
    factories.judge(late, prefer="b")
    finished = judgment_services.assignment_finish(assignment=late, at=timezone.now())
    assert finished.owed == campaign.reward
    assert set(Acceptance.objects.values_list("assignment_id", flat=True)) == {redone.pk}
    assert Judgment.objects.filter(assignment=late).count() == 5
    assert judgment_selectors.judging_progress(campaign).unused == 3  # shown to the researcher: it was paid


@pytest.mark.django_db(transaction=True)
def test_work_that_is_finished_at_the_same_moment_as_other_work_on_the_pair_takes_no_slot_of_it(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    late = factories.take(alice, campaign, at=timezone.now() - timedelta(hours=5))
    redone = factories.take(bob, campaign)
    for assignment in (late, redone):
        factories.judge(assignment)

    def finish_late() -> Assignment:
        return judgment_services.assignment_finish(assignment=late, at=timezone.now())

    with beside(finish_late) as finished:
        judgment_services.assignment_finish(assignment=redone, at=timezone.now())

    assert finished[0].result().verdict == Assignment.Verdict.ACCEPTED
    assert list(Acceptance.objects.values_list("assignment", flat=True)) == [redone.pk] * 3
    assert judgment_selectors.judging_progress(campaign).unused == 3


def test_excluding_used_work_lets_late_work_take_its_place(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User
) -> None:
    late = factories.take(alice, campaign, at=timezone.now() - timedelta(hours=5))
    redone = factories.do(bob, campaign)
    factories.judge(late)
    judgment_services.assignment_finish(assignment=late, at=timezone.now())
    quality.assignment_exclude(assignment=redone, why="Clicked through in four seconds.", by=rita, at=timezone.now())
    assert set(Acceptance.objects.values_list("assignment_id", flat=True)) == {late.pk}
    assert Hit.objects.get(pk=late.hit_id).needed == 0


def test_a_person_can_take_an_exclusion_back_and_both_decisions_stay(
    campaign: Campaign, alice: Worker, rita: User
) -> None:
    failed = factories.do(alice, campaign, fail_tests=True)
    now = timezone.now()
    quality.assignment_restore(assignment=failed, why="The test pair was ambiguous.", by=rita, at=now)
    quality.worker_unbar(worker=alice, campaign=campaign, why="The test pair was ambiguous.", by=rita, at=now)
    assert Acceptance.objects.filter(assignment=failed).count() == 3
    assert Hit.objects.get(pk=failed.hit_id).needed == 0
    assert list(Decision.objects.order_by("id").values_list("kind", "by__username")) == [
        ("excluded", None),
        ("barred", None),
        ("restored", "rita"),
        ("unbarred", "rita"),
    ]
    assert factories.do(alice, campaign).verdict == Assignment.Verdict.ACCEPTED


def test_restoring_work_whose_pairs_were_redone_uses_nothing_twice(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User
) -> None:
    failed = factories.do(alice, campaign, fail_tests=True)
    redone = factories.do(bob, campaign)
    quality.assignment_restore(assignment=failed, why="A mistake of ours.", by=rita, at=timezone.now())
    assert set(Acceptance.objects.values_list("assignment_id", flat=True)) == {redone.pk}


def test_a_decision_needs_a_reason(campaign: Campaign, alice: Worker, rita: User) -> None:
    done = factories.do(alice, campaign)
    with pytest.raises(BadRequest, match="give a reason"):
        quality.assignment_exclude(assignment=done, why="  ", by=rita, at=timezone.now())
    assert Acceptance.objects.filter(assignment=done).exists()


def test_overlap_asks_for_distinct_workers(collection: object, rita: User) -> None:
    campaign = factories.campaign(collection, "double", overlap=2, pairs_per_hit=10, tests_per_hit=2)  # type: ignore[arg-type]
    alice, bob = factories.worker(campaign, "Alice"), factories.worker(campaign, "Bob")
    factories.do(alice, campaign)
    assert Hit.objects.get(campaign=campaign).needed == 1
    assert Evidence(campaign).derived.qrels == (("q4", "p9"),)  # each pair was compared once, and needs two
    assert Evidence(campaign).derived.incomplete == ("q1", "q2", "q3")
    with pytest.raises(task_services.NoWork):
        factories.take(alice, campaign)
    factories.do(bob, campaign, prefer="b")
    assert Evidence(campaign).derived.incomplete == ()
    assert Hit.objects.get(campaign=campaign).needed == 0
    for pair in Pair.objects.filter(pool__campaign=campaign):
        assert {acceptance.worker_id for acceptance in pair.acceptances.all()} == {alice.pk, bob.pk}


def test_the_database_refuses_a_second_judgment_of_one_worker_for_a_pair(campaign: Campaign, alice: Worker) -> None:
    factories.do(alice, campaign)
    used = Acceptance.objects.first()
    assert used is not None
    other = Judgment.objects.exclude(acceptance__isnull=False).filter(assignment=used.assignment).first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Acceptance.objects.create(
            pair=used.pair, slot=2, judgment=other, worker=used.worker, assignment=used.assignment
        )


def test_who_is_welcome_again_does_work_that_counts_under_the_rule_for_all_data(
    campaign: Campaign, alice: Worker, rita: User
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(exclusion=Campaign.Exclusion.WORKER)
    campaign.refresh_from_db()
    factories.do(alice, campaign, fail_tests=True)
    quality.worker_unbar(worker=alice, campaign=campaign, why="A slip.", by=rita, at=timezone.now())
    assert factories.do(alice, campaign).verdict == Assignment.Verdict.ACCEPTED


def test_a_persons_exclusion_of_one_assignment_leaves_the_next_ones_alone(
    campaign: Campaign, alice: Worker, rita: User
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(exclusion=Campaign.Exclusion.WORKER)
    campaign.refresh_from_db()
    first = factories.do(alice, campaign)
    quality.assignment_exclude(assignment=first, why="Too fast.", by=rita, at=timezone.now())
    assert factories.do(alice, campaign).verdict == Assignment.Verdict.ACCEPTED

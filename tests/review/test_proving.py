"""Test pairs prove themselves before they decide about anybody, and are set aside where careful workers fail them."""

from collections.abc import Iterable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from judgments import alarm_checks, quality, worker_reports
from judgments import services as judgment_services
from judgments.models import Acceptance, Decision
from pools.models import Campaign
from review import jobs as review_jobs
from review import proving
from review.models import BulkDecision
from runs.models import Collection
from tasks import links, trials
from tasks import services as task_services
from tasks.models import Assignment, TestPair, Worker
from tests import factories

Verdict = Assignment.Verdict


@pytest.fixture
def unproven(collection: Collection) -> Campaign:
    """One HIT with three test pairs, none of them proven, that eight people do."""
    campaign = factories.campaign(collection, tests=3, start=False, tests_per_hit=3, pairs_per_hit=7, overlap=8)
    campaign.test_pairs.update(proven_at=None)
    factories.begin(campaign)
    return campaign


def work(campaign: Campaign, name: str, *, fails: Iterable[TestPair] = ()) -> Assignment:
    """Whole work of somebody who fails these test pairs alone."""
    assignment = factories.take(factories.worker(campaign, name), campaign)
    factories.judge(assignment)
    wrong = assignment.items.filter(test__in=[test.pk for test in fails]).values_list("position", flat=True)
    factories.judge(assignment, only=list(wrong), fail_tests=True)
    return judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


def settle(campaign: Campaign) -> None:
    proving.tests_settle(campaign=campaign, at=timezone.now())
    review_jobs.decide()


def verdict(assignment: Assignment) -> str:
    assignment.refresh_from_db()
    return assignment.verdict


def is_barred(assignment: Assignment) -> bool:
    return Worker.objects.get(pk=assignment.worker_id).barred_at is not None


def test_failing_an_unproven_test_pair_excludes_nobody_and_is_decided_on_once_two_careful_workers_passed_it(
    unproven: Campaign, client: Client
) -> None:
    test, two, three = unproven.test_pairs.order_by("id")
    careless = work(unproven, "Ann", fails=[test, two, three])
    assert (careless.verdict, is_barred(careless), careless.owed) == (Verdict.HELD, False, unproven.reward)
    page = client.get(reverse("judging:done", args=[links.assignment_token(careless)])).content.decode()
    assert "It is not decided yet whether your answers in this task are used." in page
    careless.hit.refresh_from_db()
    assert careless.hit.needed == 7, "it waits, and nobody else does it meanwhile"

    first = work(unproven, "Bob")
    settle(unproven)
    assert (first.verdict, verdict(careless)) == (Verdict.ACCEPTED, Verdict.HELD)
    assert not unproven.test_pairs.filter(proven_at__isnull=False).exists(), "one is not enough"
    work(unproven, "Carol")
    settle(unproven)
    assert set(unproven.test_pairs.values_list("proven_by", flat=True)) == {None}
    assert not unproven.test_pairs.filter(proven_at=None).exists()
    assert (verdict(careless), is_barred(careless)) == (Verdict.EXCLUDED, True)
    careless.hit.refresh_from_db()
    assert careless.hit.needed == 6
    assert work(unproven, "Dan", fails=[test]).verdict == Verdict.EXCLUDED, "from now on at once"


def test_a_test_pair_that_careful_workers_fail_never_decides_and_their_work_is_used(unproven: Campaign) -> None:
    wrong, *_right = unproven.test_pairs.order_by("id")
    honest = [work(unproven, name, fails=[wrong]) for name in ("Ann", "Bob", "Carol")]
    assert {done.verdict for done in honest} == {Verdict.HELD}
    settle(unproven)
    wrong.refresh_from_db()
    assert (wrong.state, wrong.decided_by, wrong.proven_at) == (TestPair.State.DROPPED, None, None)
    assert wrong.why_dropped == "3 of 3 workers who passed all their other test pairs failed it."
    assert {verdict(done) for done in honest} == {Verdict.ACCEPTED}
    assert not any(is_barred(done) for done in honest) and not Decision.objects.exists()
    assert Acceptance.objects.filter(assignment__in=honest).count() == 3 * factories.pair_count(unproven)


def test_a_proven_test_pair_that_careful_workers_fail_is_set_aside_and_what_it_alone_decided_is_taken_back(
    unproven: Campaign, client: Client, rita: User
) -> None:
    wrong, right, third = unproven.test_pairs.order_by("id")
    unproven.test_pairs.update(proven_at=timezone.now(), proven_by=rita)
    honest = [work(unproven, name, fails=[wrong]) for name in ("Ann", "Bob")]
    careless = work(unproven, "Eve", fails=[wrong, right])
    settle(unproven)
    assert {verdict(done) for done in [*honest, careless]} == {Verdict.EXCLUDED}, "two may have slipped"
    assert alarm_checks.campaign_check(campaign=unproven, at=timezone.now()) == []
    honest.append(work(unproven, "Carol", fails=[wrong]))
    review_jobs.watch()
    review_jobs.decide()

    assert {verdict(done) for done in honest} == {Verdict.ACCEPTED}
    assert not any(is_barred(done) for done in honest)
    assert (verdict(careless), is_barred(careless)) == (Verdict.EXCLUDED, True), "she failed another one too"
    restored = Decision.objects.filter(kind=Decision.Kind.RESTORED)
    assert {(decision.by, decision.assignment) for decision in restored} == {(None, done) for done in honest}
    assert "3 of 3 workers who passed all their other test pairs failed it." in restored[0].why
    assert {bulk.action for bulk in unproven.bulk_decisions.all()} == {
        BulkDecision.Action.RESTORE,
        BulkDecision.Action.UNBAR,
    }
    alarm = unproven.alarms.get(kind="tests", settled_at=None)
    assert wrong.question in alarm.text and "3 of 3 workers" in alarm.text
    client.force_login(rita)
    tests = client.get(reverse("tasks:tests", args=[unproven.pk])).content.decode()
    assert "Set aside" in tests and "by the rule" in tests and "3 of 3 workers" in tests
    for bulk in unproven.bulk_decisions.all():
        assert "the rule" in client.get(reverse("review:bulk", args=[unproven.pk, bulk.pk])).content.decode()
    assert work(unproven, "Fay", fails=[third]).verdict == Verdict.EXCLUDED, "the others still decide"


def test_work_that_a_person_excluded_neither_proves_nor_sets_aside_anything(unproven: Campaign, rita: User) -> None:
    wrong, *_others = unproven.test_pairs.order_by("id")
    for name in ("Ann", "Bob", "Carol"):
        done = work(unproven, name, fails=[wrong])
        quality.assignment_exclude(assignment=done, why="A bot.", by=rita, at=timezone.now())
    settle(unproven)
    assert set(unproven.test_pairs.values_list("state", "proven_at")) == {("confirmed", None)}


def test_work_that_reports_too_much_waits_on_for_a_person(unproven: Campaign) -> None:
    done = work(unproven, "Ann")
    Assignment.objects.filter(pk=done.pk).update(verdict=Verdict.HELD)
    Campaign.objects.filter(pk=unproven.pk).update(report_share="0")
    open_ = factories.take(factories.worker(unproven, "Bob"), unproven)
    factories.judge(open_)
    for item in open_.items.filter(test=None)[:2]:
        worker_reports.pair_report(
            assignment_id=open_.pk, position=item.position, reason="broken", note="", at=timezone.now()
        )
    work_done = judgment_services.assignment_finish(assignment=open_, at=timezone.now())
    assert work_done.verdict == Verdict.HELD
    settle(unproven)
    assert (verdict(work_done), verdict(done)) == (Verdict.HELD, Verdict.ACCEPTED)


def visit(campaign: Campaign, client: Client, *, fails: Iterable[int] = (), leaves: bool = False) -> list[int]:
    """Walk through a trial, and fail these test pairs. Returns the keys of those that it showed."""
    trial = trials.visit_begin(trials.trial_link(campaign), timezone.now())
    for position, item in enumerate(trial.items, start=1):
        wants_a = item.test is None or item.test not in fails
        side = "left" if wants_a == item.a_left else "right"
        trials.visit_choose(trial=trial, position=position, preferred=side)
    client.post(reverse("judging:leave" if leaves else "judging:finish", args=[trial.token]))
    return [item.test for item in trial.items if item.test]


def test_test_pairs_that_a_researcher_passes_in_a_finished_trial_are_proven_and_others_come_next(
    collection: Collection, client: Client, rita: User
) -> None:
    draft = factories.campaign(collection, tests=5, start=False, tests_per_hit=2)
    draft.test_pairs.update(proven_at=None)

    def proven() -> set[int]:
        return set(draft.test_pairs.filter(proven_by=rita).values_list("pk", flat=True))

    visit(draft, Client())  # somebody with the link
    client.force_login(factories.member(draft.lab, "viewer"))
    visit(draft, client)  # who may not change it
    client.force_login(rita)
    visit(draft, client, leaves=True)
    assert not draft.test_pairs.filter(proven_at__isnull=False).exists()
    first = visit(draft, client)
    assert proven() == set(first) and len(first) == 2
    second = visit(draft, client, fails=[first[0]])
    assert not {*first} & {*second}, "those that are not proven come first"
    third = visit(draft, client, fails=[])
    assert len({*first, *second, *third}) == 5
    left = TestPair.objects.get(pk=(set(third) - {*first, *second}).pop())
    assert left.pk in proven()
    page = client.get(reverse("tasks:trial", args=[draft.pk])).content.decode()
    assert "Proven so far: 5 of 5." in page


def test_a_test_pair_that_the_researcher_fails_stays_unproven(
    collection: Collection, client: Client, rita: User
) -> None:
    draft = factories.campaign(collection, tests=2, start=False, tests_per_hit=2)
    draft.test_pairs.update(proven_at=None)
    wrong, right = draft.test_pairs.order_by("id")
    client.force_login(rita)
    visit(draft, client, fails=[wrong.pk])
    assert list(draft.test_pairs.filter(proven_at__isnull=False)) == [right]
    copy = factories.campaign(collection, "copy", tests=0, start=False, tests_per_hit=2)

    task_services.test_pairs_copy(campaign=copy, source=draft, by=rita, at=timezone.now())
    assert dict(copy.test_pairs.values_list("question", "proven_by")) == {wrong.question: None, right.question: rita.pk}

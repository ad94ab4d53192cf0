"""Reported pairs: answered and paid, judged by somebody else, never held against the worker, and never without end."""

import csv
import json
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import BadRequest, NotNow, NotYours
from core.models import User
from judgments import quality, worker_reports
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.models import Acceptance, Decision, Judgment, PairDecision, PairReport
from pools.models import Campaign, Pair
from review import deciding, reports
from review import jobs as review_jobs
from review.models import BulkDecision
from tasks.models import Assignment, Hit, Item, TestPair, Worker
from tests import factories
from tests.races import beside
from tests.rows import fresh


def report(assignment: Assignment, item: Item, reason: str = "broken", note: str = "") -> PairReport:
    return worker_reports.pair_report(
        assignment_id=assignment.pk, position=item.position, reason=reason, note=note, at=timezone.now()
    )


def items_of(assignment: Assignment, *, tests: bool = False) -> list[Item]:
    return list(assignment.items.filter(pair__isnull=tests).order_by("position"))


def finish(assignment: Assignment) -> Assignment:
    return judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


def do_reporting(worker: Worker, campaign: Campaign, pair: Pair | None = None) -> tuple[Assignment, Pair]:
    """Take a HIT, report one pair (the first, unless told which), judge the rest, and finish."""
    assignment = factories.take(worker, campaign)
    items = items_of(assignment)
    item = items[0] if pair is None else next(item for item in items if item.pair_id == pair.pk)
    report(assignment, item)
    factories.judge(assignment, only={each.position for each in assignment.items} - {item.position})
    assert item.pair is not None
    return finish(assignment), item.pair


def test_a_reported_pair_is_paid_is_no_judgment_and_goes_to_another_worker(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    done, pair = do_reporting(alice, campaign)
    assert (done.verdict, done.judged, done.owed) == (Assignment.Verdict.ACCEPTED, 5, campaign.reward)
    assert fresh(alice).barred_at is None and not Decision.objects.exists()
    assert Acceptance.objects.count() == 2 and not Judgment.objects.filter(item__pair=pair).exists()
    assert Hit.objects.get(pk=done.hit_id).needed == 1
    redone = factories.do(bob, campaign)
    assert redone.hit_id == done.hit_id
    assert list(Acceptance.objects.filter(pair=pair).values_list("worker", flat=True)) == [bob.pk]
    assert Hit.objects.get(pk=done.hit_id).needed == 0
    assert factories.overfull_pairs(campaign) == 0


@pytest.mark.parametrize("judged_first", [True, False])
def test_what_was_said_last_of_judging_and_reporting_counts(
    campaign: Campaign, alice: Worker, judged_first: bool
) -> None:
    assignment = factories.take(alice, campaign)
    item = items_of(assignment)[0]
    if not judged_first:
        report(assignment, item)
    factories.judge(assignment)
    if judged_first:
        report(assignment, item)
        screen = judgment_selectors.shown_item(
            assignment_id=assignment.pk, worker_id=alice.pk, hit_id=assignment.hit_id, position=item.position
        )
        assert screen is not None and screen.reported and screen.preferred is None and screen.answered == 5
    done = finish(assignment)
    assert done.judged == 5
    assert Acceptance.objects.filter(pair=item.pair).exists() is not judged_first
    (only,) = PairReport.objects.all()
    assert (only.withdrawn_at is None) is judged_first
    exported = factories.exported(campaign)
    superseded = {
        row["position"]: row["superseded"] for row in map(json.loads, exported["judgments.jsonl"].splitlines())
    }
    assert superseded[item.position] is judged_first


def test_choosing_the_same_side_after_a_report_withdraws_it_and_adds_no_judgment(
    campaign: Campaign, alice: Worker
) -> None:
    assignment = factories.take(alice, campaign)
    item = items_of(assignment)[0]
    for _turn in range(2):
        factories.judge(assignment, only=[item.position])
        assert judgment_selectors.answered_count(assignment) == 1
        report(assignment, item)
    factories.judge(assignment)
    assert Judgment.objects.filter(item=item).count() == 1
    assert not judgment_selectors.standing_reports(assignment).exists()
    finish(assignment)
    assert Acceptance.objects.filter(pair=item.pair).exists()


def test_a_reported_test_pair_is_neither_passed_nor_failed(campaign: Campaign, alice: Worker) -> None:
    Campaign.objects.update(report_share="0.4")
    assignment = factories.take(alice, campaign)
    first, _second = items_of(assignment, tests=True)
    factories.judge(assignment, only=[first.position], fail_tests=True)  # wrong, and then seen to be broken
    report(assignment, first)
    factories.judge(assignment, only={item.position for item in assignment.items} - {first.position})
    assert finish(assignment).verdict == Assignment.Verdict.ACCEPTED
    assert fresh(alice).barred_at is None
    assert Acceptance.objects.count() == 3


def test_as_many_reports_as_the_share_allows_hold_up_nothing(campaign: Campaign, alice: Worker) -> None:
    Campaign.objects.update(report_share="0.4")  # two of five items
    assignment = factories.take(alice, campaign)
    reported = items_of(assignment)[:2]
    for item in reported:
        report(assignment, item)
    factories.judge(assignment, only={i.position for i in assignment.items} - {i.position for i in reported})
    assert finish(assignment).verdict == Assignment.Verdict.ACCEPTED


@pytest.mark.parametrize("what", ["more than the share", "every test pair"])
def test_work_that_reports_too_much_is_paid_and_waits_for_a_person(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User, what: str
) -> None:
    Campaign.objects.update(report_share="0.4" if what == "every test pair" else "0.25")
    assignment = factories.take(alice, campaign)
    reported = items_of(assignment, tests=what == "every test pair")[:2]
    for item in reported:
        report(assignment, item)
    factories.judge(assignment, only={i.position for i in assignment.items} - {i.position for i in reported})
    work = finish(assignment)
    assert (work.verdict, work.owed) == (Assignment.Verdict.HELD, campaign.reward)
    assert not Acceptance.objects.exists() and not Decision.objects.exists()
    assert quality.confirmed_check_all(at=timezone.now()) == 0  # no job decides in a person's place
    assert Hit.objects.get(pk=work.hit_id).needed == 0
    assert factories.take(bob, campaign).hit_id != work.hit_id  # it might be paid twice before a person decides
    quality.assignment_restore(assignment=work, why="They are broken.", by=rita, at=timezone.now())
    assert Acceptance.objects.filter(worker=alice).count() == (3 if what == "every test pair" else 1)
    assert Hit.objects.get(pk=work.hit_id).needed == (0 if what == "every test pair" else 1)
    quality.assignment_exclude(assignment=work, why="They are fine.", by=rita, at=timezone.now())
    assert Hit.objects.get(pk=work.hit_id).needed == 1


def test_a_pair_that_enough_workers_report_is_set_aside_and_the_campaign_ends(
    campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, rita: User
) -> None:
    first, pair = do_reporting(alice, campaign)
    second, _pair = do_reporting(bob, campaign, pair)
    assert second.hit_id == first.hit_id
    pair.refresh_from_db()
    assert pair.is_set_aside
    assert Hit.objects.get(pk=first.hit_id).needed == 0
    while Hit.objects.filter(campaign=campaign, needed__gt=0).exists():
        factories.do(carol, campaign)
    query = pair.pool.query.qid
    assert query in Evidence(campaign).derived.incomplete  # it has no result, and no wrong one
    now = timezone.now()
    ask = {"campaign": campaign, "pair": pair, "by": rita, "at": now}
    reports.pair_decide(kind="asked", why="It reads well.", **ask)  # type: ignore[arg-type]
    assert not fresh(pair).is_set_aside and Hit.objects.get(pk=first.hit_id).needed == 1
    factories.do(carol, campaign)
    assert query not in Evidence(campaign).derived.incomplete
    reports.pair_decide(kind="set_aside", why="It does not, after all.", **(ask | {"at": now + timedelta(hours=1)}))  # type: ignore[arg-type]
    assert fresh(pair).is_set_aside
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        PairDecision.objects.update(why="")


def test_reports_of_a_worker_whose_work_is_excluded_set_nothing_aside(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User
) -> None:
    first, pair = do_reporting(alice, campaign)
    do_reporting(bob, campaign, pair)
    quality.assignment_exclude(assignment=first, why="Reports what is fine.", by=rita, at=timezone.now())
    assert not fresh(pair).is_set_aside
    assert Hit.objects.get(pk=first.hit_id).needed == 1


def test_reports_are_exported_without_names_and_without_the_workers_own_words(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    assignment = factories.take(alice, campaign)
    pair, test = items_of(assignment)[0], items_of(assignment, tests=True)[0]
    Campaign.objects.update(report_share="0.4")
    report(assignment, pair, "other", "Ask me: alice@example.org")
    report(assignment, test, "language")
    factories.judge(assignment, only={i.position for i in assignment.items} - {pair.position, test.position})
    finish(assignment)
    report(factories.take(bob, campaign), items_of(factories.take(bob, campaign))[0])  # of work that goes on
    exported = factories.exported(campaign)
    rows = list(csv.DictReader(exported["pair-reports.tsv"].decode().splitlines(), delimiter="\t"))
    assert [(row["kind"], row["reason"], row["set_aside"]) for row in rows] == [
        ("pair", "other", "false"),
        ("test", "language", "false"),
    ]
    assert len(exported["pair-reports.jsonl"].splitlines()) == 2
    assert not any(b"alice" in content.lower() for content in exported.values())


def test_what_cannot_be_a_report_is_refused_and_stores_nothing(campaign: Campaign, alice: Worker, rita: User) -> None:
    assignment = factories.take(alice, campaign)
    item = items_of(assignment)[0]
    with pytest.raises(BadRequest, match="choose what is wrong"):
        report(assignment, item, "boring")
    with pytest.raises(BadRequest, match="too long"):
        report(assignment, item, note="x" * 2001)
    with pytest.raises(NotYours, match="no question 99"):
        worker_reports.pair_report(assignment_id=assignment.pk, position=99, reason="other", note="", at=timezone.now())
    factories.judge(assignment)
    finish(assignment)
    with pytest.raises(NotNow, match="already finished"):
        report(assignment, item)
    assert item.pair is not None
    decide = {"campaign": campaign, "pair": item.pair, "by": rita, "at": timezone.now()}
    with pytest.raises(BadRequest, match="reason"):
        reports.pair_decide(kind="set_aside", why=" ", **decide)  # type: ignore[arg-type]
    with pytest.raises(NotYours, match="Nobody has reported this pair"):
        reports.pair_decide(kind="set_aside", why="It is cut off.", **decide)  # type: ignore[arg-type]
    assert not PairReport.objects.exists() and not PairDecision.objects.exists()


# --- test pairs that are dropped


def drop(test: TestPair | None, by: User) -> None:
    """Drop a test pair, and carry out what follows."""
    assert test is not None
    reports.test_drop(campaign=test.campaign, test=test, why="Both answer it.", by=by, at=timezone.now())
    review_jobs.decide()


@pytest.mark.parametrize(
    ("partial", "done", "becomes"), [("checked", 5, "accepted"), ("checked", 4, "unchecked"), ("never", 5, "unchecked")]
)
def test_who_failed_a_dropped_test_pair_and_left_is_welcome_again_and_the_work_is_what_it_would_have_been(
    campaign: Campaign, bob: Worker, rita: User, partial: str, done: int, becomes: str
) -> None:
    Campaign.objects.update(partial=partial)
    assignment = factories.take(bob, campaign)
    failed, passed = items_of(assignment, tests=True)
    others = [item for item in assignment.items.order_by("position") if item not in (failed, passed)]
    for item in [failed, *others, passed][:done]:
        factories.judge(assignment, only=[item.position], fail_tests=item == failed)
    left = judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
    bob.refresh_from_db()
    assert (left.state, left.verdict) == (Assignment.State.LEFT, Assignment.Verdict.EXCLUDED)
    assert bob.barred_at is not None
    drop(failed.test, rita)
    for row in (left, bob):
        row.refresh_from_db()
    assert (left.verdict, bob.barred_at) == (becomes, None)
    assert Acceptance.objects.filter(assignment=left).exists() is (becomes == "accepted")
    restoring = campaign.bulk_decisions.get(action=BulkDecision.Action.RESTORE)
    deciding.bulk_undo(bulk=restoring, by=rita, at=timezone.now())
    review_jobs.decide()
    assert fresh(left).verdict == Assignment.Verdict.EXCLUDED and not Acceptance.objects.exists()


def test_who_failed_a_dropped_test_pair_is_welcome_again_where_a_person_has_long_used_the_work(
    campaign: Campaign, bob: Worker, carol: Worker, rita: User
) -> None:
    works = [factories.do(worker, campaign, fail_tests=True) for worker in (bob, carol)]
    first, second = items_of(works[0], tests=True)
    assert {item.test for item in items_of(works[1], tests=True)} == {first.test, second.test}
    at = timezone.now()
    for work in works:
        quality.assignment_restore(assignment=work, why="I read it.", by=rita, at=at)
    quality.worker_unbar(worker=carol, campaign=campaign, why="So far.", by=rita, at=at)
    quality.worker_bar(worker=carol, campaign=campaign, why="She asked for it.", by=rita, at=at)
    drop(first.test, rita)
    bob.refresh_from_db()
    assert bob.barred_at is not None  # he failed another
    drop(second.test, rita)
    for row in (bob, carol, works[0]):
        row.refresh_from_db()
    assert bob.barred_at is None and carol.barred_at is not None
    assert works[0].verdict == Assignment.Verdict.ACCEPTED


def test_work_that_waited_for_a_person_waits_again_when_the_test_pair_that_excluded_it_is_dropped(
    campaign: Campaign, bob: Worker, rita: User
) -> None:
    Campaign.objects.update(exclusion="worker", report_share="0.25")
    first = factories.take(bob, campaign)
    reported = items_of(first)[:2]
    for item in reported:
        report(first, item)
    factories.judge(first, only={i.position for i in first.items} - {i.position for i in reported})
    assert finish(first).verdict == Assignment.Verdict.HELD
    second = factories.take(bob, campaign)
    failed, _passed = items_of(second, tests=True)
    factories.judge(second)
    factories.judge(second, only=[failed.position], fail_tests=True)
    assert finish(second).verdict == Assignment.Verdict.EXCLUDED
    first.refresh_from_db()
    assert first.verdict == Assignment.Verdict.EXCLUDED
    drop(failed.test, rita)
    for row in (first, second):
        row.refresh_from_db()
    assert (first.verdict, second.verdict) == (Assignment.Verdict.HELD, Assignment.Verdict.ACCEPTED)
    assert set(Acceptance.objects.values_list("assignment", flat=True)) == {second.pk}


def test_what_a_person_decides_before_a_drop_is_carried_out_stands(campaign: Campaign, bob: Worker, rita: User) -> None:
    Campaign.objects.update(report_share="0.25")
    work = factories.take(bob, campaign)
    failed, passed = items_of(work, tests=True)
    factories.judge(work)
    factories.judge(work, only=[failed.position], fail_tests=True)
    report(work, passed)
    assert finish(work).verdict == Assignment.Verdict.EXCLUDED
    assert failed.test is not None
    at = timezone.now()
    reports.test_drop(campaign=campaign, test=failed.test, why="Both answer it.", by=rita, at=at)
    quality.assignment_restore(assignment=work, why="I read it.", by=rita, at=at)
    review_jobs.decide()
    assert fresh(work).verdict == Assignment.Verdict.ACCEPTED  # the rule alone would have it wait for a person
    restoring = campaign.bulk_decisions.get(action=BulkDecision.Action.RESTORE)
    assert deciding.row_counts([restoring])[restoring.pk] == {"unchanged": 1}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("checks_first", [True, False])
def test_a_check_and_a_drop_at_once_leave_nobody_barred(
    campaign: Campaign, bob: Worker, rita: User, checks_first: bool
) -> None:
    assignment = factories.take(bob, campaign)
    failed, _passed = items_of(assignment, tests=True)
    factories.judge(assignment)
    factories.judge(assignment, only=[failed.position], fail_tests=True)
    test, at = failed.test, timezone.now()
    assert test is not None

    def check() -> None:
        """Finish the work, but for the last step, which no other transaction can take meanwhile."""
        judgment_services._end(quality.assignment_lock(assignment), left=False, at=at)

    def drop_it() -> None:
        reports.test_drop(campaign=campaign, test=test, why="Both answer it.", by=rita, at=at)

    first, second = (check, drop_it) if checks_first else (drop_it, check)
    with beside(transaction.atomic(second)) as meanwhile:
        first()
    meanwhile[0].result()
    review_jobs.decide()
    for row in (assignment, bob):
        row.refresh_from_db()
    assert (assignment.verdict, bob.barred_at) == (Assignment.Verdict.ACCEPTED, None)
    assert Acceptance.objects.filter(assignment=assignment).count() == 3

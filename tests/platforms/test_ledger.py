"""Who is paid what, once, and that the platform's ledger says the same: against a real marketplace."""

import csv
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from core.errors import BadRequest, NotNow
from core.models import User
from judgments import quality
from judgments.models import Acceptance
from platforms.ledger_comparison import (
    comparison_begin,
    comparison_continue,
    comparison_last,
    comparison_make,
    left_to_compare,
)
from platforms.models import LedgerComparison, Operation, Payment, Publication, Submission
from platforms.money.ledger import ledger_lines, totals
from platforms.mturk import operations
from platforms.outbox import operations_run
from platforms.publishing.publications import publication_publish, publication_resume, publication_stop
from platforms.reviewing.compensations import compensation_offer
from platforms.reviewing.deciding import submission_approve, submission_reject
from platforms.reviewing.requeuing import publication_requeue
from platforms.syncing import publication_sync
from pools.models import Campaign
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Assignment, Hit
from tests import factories
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.platforms import Clock, arrive, decide, drain, finish, judge, published_hit_of, settle, work
from tests.platforms.publishing import published_once
from tests.rows import fresh
from tests.worlds import lay_out

Purpose = Payment.Purpose


def paid(publication: Publication) -> dict[str, Decimal]:
    return dict(publication.payments.filter(state="paid").values_list("purpose", "amount"))


def agree(publication: Publication, requester: Requester) -> None:
    """Both ledgers say the same, and the account is lighter by exactly that."""
    both = comparison_make(publication=publication, at=timezone.now())
    assert both.differences == []
    assert (both.ours_rewards, both.ours_bonuses) == (both.platform_rewards, both.platform_bonuses)
    available, on_hold = map(Decimal, requester.money())
    sums = totals(publication)
    assert available + on_hold == Decimal("1000.00") - sums.paid - sums.fees


@pytest.fixture
def thirteen(collection: Collection, requester: Requester, marketplace: Marketplace) -> Callable[..., Publication]:
    """A campaign of one HIT of 13 items, published with the given terms."""

    def made(**terms: object) -> Publication:
        name = f"a campaign of collection {collection.pk} with a HIT of 13 items"
        lay_out(name, lambda: factories.campaign(collection, name="thirteen", pairs_per_hit=7, tests_per_hit=6))
        campaign = Campaign.objects.get(collection=collection, name="thirteen")
        return published_once(campaign, marketplace, **{"pay": "base-and-bonus", "rate": 1000} | terms)

    return made


def test_finished_work_gets_the_base_and_the_rest_as_a_bonus(
    thirteen: Callable[..., Publication], requester: Requester, wanda: Worker
) -> None:
    publication = thirteen()
    work(publication, wanda)

    settle(publication)

    assert paid(publication) == {"reward": Decimal("0.10"), "bonus": Decimal("1.90")}
    assert totals(publication) == (Decimal(0), Decimal("2.00"), Decimal("0.40"), Decimal(0))
    assert wanda.look()["earnings"]["owed"] == "2.00"
    agree(publication, requester)


def test_rewards_and_bonuses_are_each_compared(thirteen: Callable[..., Publication], wanda: Worker) -> None:
    publication = thirteen()
    work(publication, wanda)
    settle(publication)
    for purpose, amount in (("reward", "0.20"), ("bonus", "1.80")):  # wrong, with the right sum
        publication.payments.filter(purpose=purpose).update(amount=Decimal(amount))
    assert len(comparison_make(publication=publication, at=timezone.now()).differences) == 1


def test_who_leaves_after_6_of_13_gets_92_cents(
    thirteen: Callable[..., Publication], requester: Requester, wanda: Worker
) -> None:
    publication = thirteen()
    work(publication, wanda, only=range(1, 7))

    settle(publication)

    assert paid(publication) == {"reward": Decimal("0.10"), "bonus": Decimal("0.82")}
    agree(publication, requester)


def test_with_full_pay_on_exit_who_leaves_gets_all(
    thirteen: Callable[..., Publication], requester: Requester, wanda: Worker
) -> None:
    publication = thirteen(pay="full-on-exit")
    work(publication, wanda, only=range(1, 3))

    settle(publication)

    assert paid(publication) == {"reward": Decimal("2.00")}
    agree(publication, requester)


def test_who_returns_the_hit_is_offered_a_compensation_that_only_they_can_take(
    thirteen: Callable[..., Publication], requester: Requester, wanda: Worker, will: Worker
) -> None:
    publication = thirteen(pay="return-and-compensate")
    assignment = judge(publication, wanda, only=range(1, 7))
    wanda.give_back(assignment.platform_assignment_id)
    clock = settle(publication)
    assert not publication.payments.exists()  # it may still come
    clock.sleep(3 * 3600)
    settle(publication, clock)
    owed = publication.payments.get()
    assert (owed.purpose, owed.amount, owed.state) == (Purpose.COMPENSATION, Decimal("0.92"), "owed")

    for _ in range(2):
        compensation_offer(payment=owed, at=clock())
    drain(publication, clock)
    offered = publication.published_hits.get(hit=None).platform_hit_id
    assert "do not have the qualifications" in will.cannot_accept(offered)
    wanda.do(offered, compensation="taken")
    settle(publication, clock)

    assert paid(publication) == {"compensation": Decimal("0.92")}
    agree(publication, requester)


def test_work_that_comes_late_after_all_is_paid_as_such_and_not_compensated(
    thirteen: Callable[..., Publication], requester: Requester, wanda: Worker
) -> None:
    publication = thirteen()
    assignment = judge(publication, wanda)
    clock = Clock()
    clock.sleep(3 * 3600)
    settle(publication, clock)
    owed = publication.payments.get()

    wanda.submit(assignment.platform_assignment_id, receipt=assignment.receipt)
    settle(publication, clock)

    assert not Payment.objects.filter(pk=owed.pk).exists()
    assert paid(publication) == {"reward": Decimal("0.10"), "bonus": Decimal("1.90")}
    agree(publication, requester)


def test_careless_work_is_paid_excluded_without_rejecting_and_asked_for_again(
    thirteen: Callable[..., Publication], requester: Requester, wanda: Worker, will: Worker
) -> None:
    publication = thirteen()
    assert work(publication, wanda, fail_tests=True).verdict == "pending"
    publication_sync(publication=publication, at=timezone.now(), everything=True)
    assert publication_requeue(publication=publication, at=timezone.now()) == 0  # it may yet turn out to be good
    clock = settle(publication)
    assert Assignment.objects.get().verdict == "excluded"
    assert published_hit_of(publication, 1).hit.needed == 1  # type: ignore[union-attr]

    for _ in range(2):
        publication_requeue(publication=publication, at=clock())
    drain(publication, clock)

    hit_id = published_hit_of(publication, 1).platform_hit_id
    assert requester.client.get_hit(HITId=hit_id)["HIT"]["MaxAssignments"] == 2
    good = work(publication, will)
    settle(publication, clock)
    assert fresh(good).verdict == "accepted"
    assert publication_requeue(publication=publication, at=clock()) == 0
    assert set(publication.submissions.values_list("status", flat=True)) == {"Approved"}
    assert totals(publication).paid == Decimal("4.00")
    assert wanda.look()["messages"] == []
    agree(publication, requester)


def test_an_excluded_worker_gets_no_hit_of_the_lab_until_welcomed_again(published: Publication, wanda: Worker) -> None:
    work(published, wanda, fail_tests=True)
    second = published_hit_of(published, 2).platform_hit_id

    clock = settle(published)
    assert "do not have the qualifications" in wanda.cannot_accept(second)
    settle(published, clock)
    assert Operation.objects.filter(kind="exclude").count() == 1
    assert wanda.look()["messages"] == []

    task_services.worker_unbar(worker=Assignment.objects.get().worker)
    settle(published, clock)
    assert wanda.accept(second)


def test_whose_id_somebody_typed_is_not_excluded_at_the_platform(published: Publication, wanda: Worker) -> None:
    forged = judge(published, wanda, fail_tests=True)

    settle(published)

    forged.refresh_from_db()
    assert (forged.state, forged.verdict, forged.worker.barred_at) == ("submitted", "pending", None)
    assert not Operation.objects.filter(kind="exclude").exists()


def test_judgments_count_once_the_platform_confirms_whose_they_are(published: Publication, wanda: Worker) -> None:
    mine = judge(published, wanda)
    settle(published)
    assert not Acceptance.objects.exists()
    assert Hit.objects.get(number=1).needed == 1

    mine.refresh_from_db()
    wanda.submit(mine.platform_assignment_id, receipt=mine.receipt)
    settle(published)

    assert set(Acceptance.objects.values_list("assignment", flat=True)) == {mine.pk}
    assert Hit.objects.get(number=1).needed == 0


@pytest.mark.parametrize(("rule", "second"), [("worker", "excluded"), ("assignment", "accepted")])
def test_work_that_was_taken_before_a_failure_came_to_light_follows_the_rule(
    published: Publication, wanda: Worker, rule: str, second: str
) -> None:
    type(published.campaign).objects.update(exclusion=rule)
    bad, good = arrive(published, wanda), arrive(published, wanda, 2)
    finish(bad, wanda, fail_tests=True)
    finish(good, wanda)

    settle(published)

    assert (fresh(bad).verdict, fresh(good).verdict) == ("excluded", second)


def test_a_compensation_that_was_taken_confirms_the_work(published: Publication, wanda: Worker) -> None:
    mine = judge(published, wanda)
    clock = Clock()
    clock.sleep(3 * 3600)
    settle(published, clock)
    offer = compensation_offer(payment=mine.payments.get(), at=clock())
    drain(published, clock)
    offer.refresh_from_db()
    assert offer.published_hit is not None
    wanda.do(offer.published_hit.platform_hit_id)
    for _ in range(3):
        settle(published, clock)

    assert fresh(mine).verdict == "accepted"
    assert Hit.objects.get(number=1).needed == 0


def bonuses_in_a_storm(
    publication: Publication, marketplace: Marketplace, requester: Requester, workers: list[Worker]
) -> list[str]:
    """Pay three workers while the first reply to each bonus is lost. The bonuses that the platform has paid."""
    assignments = [work(publication, worker, number) for number, worker in enumerate(workers, start=1)]
    script = [
        {"kind": "reply_dropped", "operation": "SendBonus", "times": 2},
        {"kind": "after_commit", "operation": "SendBonus"},
        {"kind": "reply_dropped", "operation": "ApproveAssignment"},
        {"kind": "not_ready", "operation": "ApproveAssignment"},
    ]
    marketplace.test("faults", script=script)
    settle(publication)
    assert sum(marketplace.test("faults")["met"].values()) == 5
    return [
        bonus["BonusAmount"]
        for assignment in assignments
        for bonus in requester.client.list_bonus_payments(AssignmentId=assignment.platform_assignment_id)[
            "BonusPayments"
        ]
    ]


def test_no_bonus_is_paid_twice_when_replies_are_lost(
    published: Publication, marketplace: Marketplace, requester: Requester, wanda: Worker, will: Worker
) -> None:
    workers = [wanda, will, marketplace.worker(vouched_approved=20_000)]

    assert bonuses_in_a_storm(published, marketplace, requester, workers) == ["1.90"] * 3
    agree(published, requester)


def test_without_the_token_the_same_storm_pays_twice(
    published: Publication,
    marketplace: Marketplace,
    requester: Requester,
    wanda: Worker,
    will: Worker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operations, "token_of", lambda operation: {})
    workers = [wanda, will, marketplace.worker(vouched_approved=20_000)]

    assert len(bonuses_in_a_storm(published, marketplace, requester, workers)) > 3
    assert comparison_make(publication=published, at=timezone.now()).differences
    assert published.alarms.filter(kind="ledger", settled_at=None).exists()


def compared_at(publication: Publication, number: int) -> object:
    """When the ledgers were last compared on a HIT."""
    return publication.published_hits.get(hit__number=number).compared_at


def compare(publication: Publication, at: datetime, *, full: bool) -> LedgerComparison:
    """Compare at once, in one part."""
    assert comparison_begin(publication=publication, at=at, full=full)
    comparison = comparison_continue(publication=publication, at=at, seconds=60)
    assert comparison is not None
    return comparison


def test_a_settled_hit_is_asked_about_again_only_by_a_full_comparison_or_if_something_happens_on_it(
    published: Publication, wanda: Worker
) -> None:
    work(published, wanda, 1)
    clock = settle(published)
    assert compare(published, clock(), full=False).differences == 0  # it is polled until its approval is known
    assert not published.published_hits.filter(settled_at__isnull=False).exists()
    settle(published, clock)
    first = clock()
    compare(published, first, full=False)
    assert published.published_hits.get(settled_at__isnull=False).hit.number == 1
    work(published, wanda, 2)
    settle(published, clock)
    settle(published, clock)

    published.published_hits.filter(hit__number=1).update(next_poll_at=None)  # as left, but by “everything” above
    second = clock()
    comparison = compare(published, second, full=False)

    assert (compared_at(published, 1), compared_at(published, 2)) == (first, second)
    assert (comparison.content["ours_bonuses"], comparison.content["platform_bonuses"]) == ("3.80", "3.80")  # of both
    third = clock()
    assert compare(published, third, full=True).is_full
    assert compared_at(published, 1) == compared_at(published, 2) == third
    bonus = published.operations.filter(kind="bonus", submission__published_hit__hit__number=1)
    assert bonus.update(ended_at=clock()) == 1
    fourth = clock()
    compare(published, fourth, full=False)
    assert (compared_at(published, 1), compared_at(published, 2)) == (fourth, third)
    assert compared_at(published, 3) is None  # nobody worked on it


def test_a_comparison_goes_on_in_parts_at_the_publications_rate(
    published: Publication, wanda: Worker, will: Worker
) -> None:
    for number, worker in ((1, wanda), (2, will), (3, wanda)):
        work(published, worker, number)
    clock, slept = settle(published), list[float]()
    assert left_to_compare(published) is None
    comparison_begin(publication=published, at=clock(), full=False)
    part = {"publication": published, "seconds": 0, "rate": 0.01, "sleep": slept.append}
    assert [comparison_continue(at=clock(), **part) for _hit in range(2)] == [None, None]  # type: ignore[arg-type]
    assert left_to_compare(published) == 1
    assert not comparison_begin(publication=published, at=clock(), full=False)  # the one that goes on
    assert comparison_continue(at=clock(), **part) is None  # type: ignore[arg-type]
    assert comparison_last(published) is None
    comparison = comparison_continue(at=clock(), **part)  # type: ignore[arg-type]
    assert comparison is not None and comparison.differences == 0 and comparison.content["ours_bonuses"] == "5.70"
    assert left_to_compare(published) is None
    assert len(slept) == 3 and min(slept) > 100  # two calls a HIT, one in 100 seconds


def test_after_a_day_a_lost_bonus_is_looked_for_first(
    published: Publication, marketplace: Marketplace, requester: Requester, wanda: Worker
) -> None:
    work(published, wanda)
    marketplace.test("faults", script=[{"kind": "reply_dropped", "operation": "SendBonus"}])
    clock = Clock()
    decide(published, clock)
    drain(published, clock, rounds=1)
    assert Operation.objects.filter(kind="bonus", state="unknown").exists()
    marketplace.advance(hours=25)
    clock.sleep(25 * 3600)

    drain(published, clock)

    assert Operation.objects.get(kind="bonus").result["found"] is True
    agree(published, requester)


def test_settling_again_and_again_pays_once(published: Publication, requester: Requester, wanda: Worker) -> None:
    work(published, wanda)

    clock = settle(published)
    settle(published, clock)
    settle(published, clock)

    assert published.payments.count() == 2
    agree(published, requester)


def test_nothing_is_paid_while_the_kill_switch_is_down(published: Publication, wanda: Worker) -> None:
    work(published, wanda)
    clock = Clock()
    publication_stop(publication=published, at=clock())

    decide(published, clock)
    drain(published, clock, rounds=5)

    assert totals(published).owed == Decimal("2.00")
    assert paid(published) == {}
    assert wanda.look()["earnings"]["owed"] == "0.00"


def test_a_bonus_that_is_planned_when_the_kill_switch_falls_is_not_paid_before_resuming(
    published: Publication, requester: Requester, wanda: Worker
) -> None:
    work(published, wanda)
    clock = Clock()
    decide(published, clock)
    assert operations_run(publication=published, limit=1, clock=clock, sleep=clock.sleep) == 1
    assert paid(published) == {Purpose.REWARD: Decimal("0.10")}
    publication_stop(publication=published, at=clock())
    drain(published, clock, rounds=5)
    assert paid(published) == {Purpose.REWARD: Decimal("0.10")}
    assert published.payments.get(purpose=Purpose.BONUS).state == "owed"

    publication_resume(publication=published, at=clock())
    drain(published, clock)
    assert paid(published) == {Purpose.REWARD: Decimal("0.10"), Purpose.BONUS: Decimal("1.90")}
    agree(published, requester)


def test_only_a_person_with_a_reason_rejects(
    published: Publication, requester: Requester, wanda: Worker, rita: User
) -> None:
    work(published, wanda)
    publication_sync(publication=published, at=timezone.now(), everything=True)
    submission = published.submissions.get()
    with pytest.raises(BadRequest, match="give a reason"):
        submission_reject(submission=submission, by=rita, why=" ", at=timezone.now())

    for _ in range(2):
        submission_reject(submission=submission, by=rita, why="The same answer every time.", at=timezone.now())
    settle(published)

    submission.refresh_from_db()
    assert (submission.status, submission.decided_by) == (Submission.Status.REJECTED, rita)
    assert not published.payments.exists()
    with pytest.raises(NotNow):
        submission_approve(submission=submission, by=rita, why="No", at=timezone.now())
    agree(published, requester)


def test_unknown_work_is_paid_only_when_a_person_says_so(
    published: Publication, requester: Requester, wanda: Worker, rita: User
) -> None:
    wanda.do(published_hit_of(published, 1).platform_hit_id)
    clock = settle(published)
    assert not published.payments.exists()

    submission_approve(submission=published.submissions.get(), by=rita, why="She wrote to us.", at=clock())
    drain(published, clock)

    assert paid(published) == {"reward": Decimal("0.10")}
    assert not published.alarms.filter(settled_at=None).exists()
    agree(published, requester)


def test_what_the_platforms_clock_approved_stands_in_the_ledger(
    published: Publication, marketplace: Marketplace, requester: Requester, wanda: Worker, will: Worker
) -> None:
    wanda.do(published_hit_of(published, 1).platform_hit_id)
    work(published, will, 2)
    marketplace.advance(days=8)

    settle(published)

    assert sorted(published.payments.values_list("purpose", "state")) == [
        ("bonus", "paid"),
        ("reward", "paid"),
        ("reward", "paid"),
    ]
    agree(published, requester)


def test_work_may_wait_for_a_person_before_it_is_approved(
    campaign: object, publication: Publication, wanda: Worker
) -> None:
    publication.approve_after = timedelta(hours=12)
    publication.save()
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    drain(publication, clock)
    work(publication, wanda)

    settle(publication, clock)
    assert not publication.payments.exists()
    clock.sleep(13 * 3600)
    settle(publication, clock)

    assert totals(publication).paid == Decimal("2.00")


def test_the_export_has_a_line_for_every_payment_with_token_and_evidence(published: Publication, wanda: Worker) -> None:
    assignment = work(published, wanda)
    settle(published)
    written = "".join(ledger_lines(published))
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [(row["purpose"], row["state"], row["amount"], row["fee"]) for row in rows] == [
        ("reward", "paid", "0.10", "0.02"),
        ("bonus", "paid", "1.90", "0.38"),
    ]
    operation = Operation.objects.get(kind="bonus")
    assert rows[1]["token"] == operation.token
    assert "request_id=" in rows[1]["evidence"]
    assert {row["platform_assignment"] for row in rows} == {assignment.platform_assignment_id}
    assert wanda.id not in written


def test_work_whose_submission_waits_for_a_person_is_not_compensated_beside_it(
    published: Publication, wanda: Worker
) -> None:
    mine = judge(published, wanda)
    wanda.submit(mine.platform_assignment_id, receipt="AAAA-AAAA-AAAA")
    clock = settle(published)
    clock.sleep(3 * 3600)
    settle(published, clock)
    assert not Payment.objects.exists()

    submission_reject(submission=Submission.objects.get(), by=published.campaign.lab.members.get(), why="a", at=clock())
    settle(published, clock)

    assert [payment.purpose for payment in Payment.objects.all()] == [Purpose.COMPENSATION]


@pytest.mark.parametrize("accepted", [False, True])
def test_work_that_arrives_after_a_compensation_was_offered_is_paid_once(
    published: Publication, requester: Requester, wanda: Worker, accepted: bool
) -> None:
    clock = Clock()
    mine = judge(published, wanda)
    clock.sleep(3 * 3600)
    settle(published, clock)
    offer = compensation_offer(payment=mine.payments.get(), at=clock())
    drain(published, clock)
    offer.refresh_from_db()
    assert offer.published_hit is not None
    if accepted:
        wanda.do(offer.published_hit.platform_hit_id)
    wanda.submit(mine.platform_assignment_id, receipt=mine.receipt)
    for _ in range(3):
        settle(published, clock)

    assert totals(published).paid == Decimal("2.00")
    waiting = published.alarms.filter(settled_at=None)
    assert list(waiting.values_list("kind", flat=True)) == (["twice"] if accepted else [])
    if accepted:
        assert "compensated with $2.00" in waiting.get().text and "pays another $0.10" in waiting.get().text
    else:
        assert "no longer available" in wanda.cannot_accept(offer.published_hit.platform_hit_id)
    agree(published, requester)


@pytest.mark.django_db(transaction=True)
def test_two_checks_at_once_exclude_all_of_a_worker_who_failed(published: Publication, wanda: Worker) -> None:
    bad, good = arrive(published, wanda), arrive(published, wanda, 2)
    finish(bad, wanda, fail_tests=True)
    finish(good, wanda)
    type(published.campaign).objects.update(exclusion="worker")
    publication_sync(publication=published, at=timezone.now(), everything=True)

    def check(work: Assignment) -> None:
        quality.confirmed_check(assignment_id=work.pk, at=timezone.now())
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check, [bad, good]))
    quality.confirmed_check_all(at=timezone.now())

    assert set(Assignment.objects.values_list("verdict", flat=True)) == {"excluded"}


def test_unmatched_work_that_was_rejected_at_the_platform_waits_for_nobody(
    published: Publication, requester: Requester, wanda: Worker
) -> None:
    assignment_id = wanda.do(published_hit_of(published, 1).platform_hit_id)
    clock = settle(published)
    assert published.alarms.filter(kind="unmatched", settled_at=None).count() == 1

    requester.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Nothing was judged.")
    settle(published, clock)

    assert Submission.objects.get().decision == "reject"
    assert not published.alarms.filter(settled_at=None).exists()

"""Decisions about submitted work, from stored rows alone: what is rejected, compensated, and with which fee."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from core.errors import NotNow
from core.models import User
from judgments import quality
from judgments import services as judgment_services
from platforms.models import Operation, Payment, Publication, PublishedHit, Submission
from platforms.money.pay_desk import sums_of
from platforms.reviewing.compensations import compensation_offer, compensations_find
from platforms.reviewing.deciding import bonus_grant, submission_approve, submission_reject
from platforms.reviewing.excluding import workers_exclude
from platforms.reviewing.payments import bonus_owed
from platforms.reviewing.protocol import Work
from platforms.reviewing.settling import publication_settle
from platforms.status import for_a_person
from platforms.submitted import submission_store, submissions_return
from platforms.terms import publication_unsaved
from pools.models import Campaign
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Assignment
from tests import factories
from tests.rows import fresh


def opened(campaign: Campaign, **terms: object) -> Publication:
    """The campaign, published as far as its rows say, with a posting for each HIT."""
    publication = publication_unsaved(campaign)
    for name, value in ({"state": "open"} | terms).items():
        setattr(publication, name, value)
    publication.save()
    for hit in campaign.hits.all():
        publication.published_hits.create(hit=hit, max_assignments=hit.needed, platform_hit_id=f"3HIT{hit.number}")
    return publication


def done(publication: Publication, name: str = "Alice", *, seconds: float = 9, fail_tests: bool = False) -> Assignment:
    """Work that was finished here in a frame, three days ago, in so many seconds a pair."""
    worker = factories.worker(publication.campaign, name)
    assignment = factories.take(worker, publication.campaign)
    worker.platform, worker.external_id = "marketplace", f"A{worker.pk}"
    worker.save()
    Assignment.objects.filter(pk=assignment.pk).update(platform_assignment_id=f"3A{assignment.pk}")
    assignment.refresh_from_db()
    factories.judge(assignment, seconds=seconds, fail_tests=fail_tests)
    ended = judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    Assignment.objects.filter(pk=ended.pk).update(finished_at=timezone.now() - timedelta(days=3))
    return ended


def submitted(publication: Publication, work: Assignment, **facts: object) -> Submission:
    """What the platform says of it."""
    fields = {
        "published_hit": publication.published_hits.get(hit=work.hit),
        "platform_assignment_id": work.platform_assignment_id,
        "platform_worker_id": work.worker.external_id,
        "status": "Submitted",
        "submitted_at": timezone.now() - timedelta(days=3),
    }
    return publication.submissions.create(**(fields | facts))


def check_and_settle(publication: Publication, at: datetime) -> None:
    quality.confirmed_check_all(at=at)
    publication_settle(publication=publication, at=at)


@pytest.fixture(autouse=True)
def address(settings: object) -> None:
    """Where the marketplace would be; nothing is asked of it here."""
    settings.MARKETPLACE_URL = "http://localhost:8100"  # type: ignore[attr-defined]


def test_what_was_approved_before_its_work_was_found_here_is_paid_once_when_it_comes_back(
    campaign: Campaign, rita: User
) -> None:
    publication, at = opened(campaign), timezone.now()
    work = done(publication)
    submission = submitted(publication, work)
    submission_approve(submission=submission, by=rita, why="They wrote to us.", at=at)
    reward = Payment.objects.get(purpose="reward")
    assert reward.assignment is None

    # Returned, so that the approval was void; then taken back and approved at the platform.
    Payment.objects.filter(pk=reward.pk).update(state="refused")
    publication.submissions.update(decision="", status="Approved", assignment=work)
    quality.confirmed_check_all(at=at)
    assert publication_settle(publication=publication, at=at) == 1

    paid = Payment.objects.get(purpose="reward")
    assert (paid.pk, paid.assignment, paid.state) == (reward.pk, work, "paid")
    assert not publication.alarms.filter(settled_at=None).exists()


def test_work_that_is_too_fast_to_be_read_waits_for_a_person_and_is_paid_once_they_approve(
    campaign: Campaign, rita: User
) -> None:
    publication, at = opened(campaign), timezone.now()
    works = [done(publication, "Alice", seconds=1), done(publication, "Bob")]
    fast, read = (submitted(publication, work, assignment=work) for work in works)
    quality.confirmed_check_all(at=at)
    for _round in range(2):
        publication_settle(publication=publication, at=at)
        assert [row.submission for row in publication.payments.all()] == [read]
        assert list(for_a_person(publication.submissions.all())) == [fast]
    alarm = publication.alarms.get()
    assert (alarm.kind, "faster than anybody can read" in alarm.text) == ("fast", True)

    submission_approve(submission=fast, by=rita, why="They know these passages by heart.", at=at)
    assert {row.submission for row in publication.payments.all()} == {fast, read}
    assert not for_a_person(publication.submissions.all()).exists()
    assert fresh(alarm).settled_at == at


def test_fast_work_that_the_platforms_clock_has_approved_is_written_down_as_paid(campaign: Campaign) -> None:
    publication, at = opened(campaign), timezone.now()
    work = done(publication, seconds=1)
    fast = submitted(publication, work, assignment=work)
    quality.confirmed_check_all(at=at)
    Submission.objects.update(status="Approved")
    publication_settle(publication=publication, at=at)
    assert (fresh(fast).decision, publication.payments.get().state) == ("approve", "paid")
    assert not publication.alarms.filter(settled_at=None).exists()


def test_work_that_waits_for_its_test_pairs_to_be_proven_is_paid_meanwhile(campaign: Campaign) -> None:
    campaign.test_pairs.update(proven_at=None)
    publication = opened(campaign)
    work = done(publication, fail_tests=True)
    submission = submitted(publication, work, assignment=work)
    check_and_settle(publication, timezone.now())
    for row in (work, work.worker, submission):
        row.refresh_from_db()
    assert (work.verdict, work.owed, submission.decision) == (Assignment.Verdict.HELD, campaign.reward, "approve")
    assert work.worker.barred_at is None


def test_what_the_platform_has_approved_cannot_be_rejected_any_more(campaign: Campaign, rita: User) -> None:
    publication = opened(campaign)
    row = submitted(publication, done(publication), status="Approved")
    with pytest.raises(NotNow, match="At the platform, this work is “approved”"):
        submission_reject(submission=row, by=rita, why="careless", at=timezone.now())
    assert fresh(row).decision == ""
    assert not publication.operations.exists()


def test_a_bonus_that_the_platform_refused_is_not_said_to_be_granted(campaign: Campaign, rita: User) -> None:
    publication = opened(campaign)
    row = submitted(publication, done(publication), decision="approve")
    for state in ("owed", "refused"):
        bonus_grant(submission=row, amount=Decimal("0.50"), by=rita, why="thorough", at=timezone.now())
        Payment.objects.update(state=state)
    with pytest.raises(NotNow, match="refused this bonus"):
        bonus_grant(submission=row, amount=Decimal("0.50"), by=rita, why="thorough", at=timezone.now())
    assert Operation.objects.count() == 1


def compensated(publication: Publication, state: str) -> Submission:
    """Work for which a compensation was found, and that was submitted after all; an offer is open, or was paid."""
    work = done(publication)
    assert compensations_find(publication=publication, at=timezone.now()) == 1
    payment = Payment.objects.get()
    compensation_offer(payment=payment, at=timezone.now())
    Payment.objects.update(state=state)
    return submitted(publication, work, assignment=work)


@pytest.mark.parametrize(("state", "paid"), [("paid", ["compensation", "reward"]), ("owed", ["bonus", "reward"])])
def test_a_person_who_approves_late_work_pays_it_once(
    campaign: Campaign, rita: User, state: str, paid: list[str]
) -> None:
    row = compensated(opened(campaign, pay="base-and-bonus"), state)
    assert bonus_owed(row) > 0
    if state == "paid":
        with pytest.raises(NotNow, match="was compensated with"):
            submission_approve(submission=row, by=rita, why="good", at=timezone.now())
        check_and_settle(row.publication, timezone.now())
    submission_approve(submission=row, by=rita, why="good", at=timezone.now())
    assert sorted(Payment.objects.exclude(state="refused").values_list("purpose", flat=True)) == paid
    assert Operation.objects.get(kind="compensate").state == ("planned" if state == "paid" else "refused")


def test_an_open_compensation_is_withdrawn_with_the_rejection_of_its_work(campaign: Campaign, rita: User) -> None:
    row = compensated(opened(campaign), "owed")
    submission_reject(submission=row, by=rita, why="careless", at=timezone.now())
    assert Payment.objects.get().state == "refused"
    assert Operation.objects.get(kind="compensate").state == "refused"


@pytest.mark.parametrize("decision", ["", "approve", "reject"])
def test_work_whose_unmatched_submission_was_not_rejected_is_not_compensated_beside_it(
    campaign: Campaign, decision: str
) -> None:
    publication = opened(campaign)
    submitted(publication, done(publication), decision=decision, platform_assignment_id="3ANOTHER")
    count = compensations_find(publication=publication, at=timezone.now())
    assert count == Payment.objects.count() == (1 if decision == "reject" else 0)


@pytest.mark.parametrize("decision", ["", "approve", "reject"])
def test_nor_is_a_compensation_offered_that_was_written_down_before_unmatched_work_of_the_hit_came(
    campaign: Campaign, decision: str
) -> None:
    publication, at = opened(campaign), timezone.now()
    work = done(publication)
    assert compensations_find(publication=publication, at=at) == 1
    submitted(publication, work, decision=decision, platform_assignment_id="3ANOTHER")
    payment = Payment.objects.get()
    if decision == "reject":
        assert compensation_offer(payment=payment, at=at).kind == "compensate"
        return
    with pytest.raises(NotNow, match="may be this work"):
        compensation_offer(payment=payment, at=at)
    assert not payment.operations.exists()


def again(publication: Publication, work: Assignment, answers: int) -> Assignment:
    """The same HIT in the same name once more, left after so many answers."""
    second = Assignment.objects.create(
        campaign=work.campaign,
        hit=work.hit,
        worker=work.worker,
        platform_assignment_id=f"3B{work.pk}",
        taken_at=timezone.now(),
        leased_until=timezone.now(),
    )
    factories.judge(second, only=range(1, answers + 1))
    second = judgment_services.assignment_leave(assignment=second, at=timezone.now())
    Assignment.objects.filter(pk=second.pk).update(finished_at=timezone.now() - timedelta(days=3))
    return second


@pytest.mark.parametrize(
    ("pay", "answers", "amount"),
    [
        ("base-and-bonus", 0, "1.90"),
        ("base-and-bonus", 2, "1.20"),
        ("full-on-exit", 0, None),
        ("full-on-exit", 2, None),
    ],
)
def test_who_did_a_hit_and_submitted_less_of_it_when_they_took_it_again_is_owed_the_rest(
    campaign: Campaign, rita: User, pay: str, answers: int, amount: str | None
) -> None:
    publication, at = opened(campaign, pay=pay), timezone.now()
    first = done(publication)
    second = again(publication, first, answers)
    row = submitted(publication, second, assignment=second)
    assert compensations_find(publication=publication, at=at) == 0, "a person or the jobs have yet to decide"
    submission_approve(submission=row, by=rita, why="They had done it before.", at=at)
    assert compensations_find(publication=publication, at=at) == (1 if amount else 0)
    assert compensations_find(publication=publication, at=at) == 0
    rest = first.payments.filter(purpose="compensation")
    assert list(rest.values_list("amount", flat=True)) == ([Decimal(amount)] if amount else [])
    assert sum(row.amount for row in Payment.objects.all()) == Decimal("2.00") == sums_of(campaign).owed


@pytest.mark.parametrize(("answers", "count"), [(0, 1), (2, 0)])
def test_who_submitted_nothing_and_was_rejected_is_owed_what_they_did_before(
    campaign: Campaign, rita: User, answers: int, count: int
) -> None:
    publication = opened(campaign)
    second = again(publication, done(publication), answers)
    row = submitted(publication, second, assignment=second)
    submission_reject(submission=row, by=rita, why="careless", at=timezone.now())
    assert compensations_find(publication=publication, at=timezone.now()) == count


@pytest.mark.parametrize("state", ["paid", "owed"])
def test_who_was_compensated_and_does_the_same_hit_again_is_paid_once(campaign: Campaign, state: str) -> None:
    publication, at = opened(campaign), timezone.now()
    first = done(publication)
    assert compensations_find(publication=publication, at=at) == 1
    Payment.objects.update(state=state)
    second = again(publication, first, first.items.count())
    submitted(publication, second, assignment=second)
    check_and_settle(publication, at)
    assert sum(row.amount for row in publication.payments.all()) == Decimal("2.00")
    assert publication.alarms.filter(kind="twice", settled_at=None).exists() == (state == "paid")


@pytest.mark.parametrize(("amount", "fate"), [("1.20", "approve"), ("2.00", "return")])
def test_a_compensation_that_was_withdrawn_is_owed_again_where_less_was_submitted_or_that_was_returned(
    campaign: Campaign, rita: User, amount: str, fate: str
) -> None:
    publication, at = opened(campaign, pay="base-and-bonus"), timezone.now()
    first = done(publication)
    compensations_find(publication=publication, at=at)
    payment = Payment.objects.get()
    offer = compensation_offer(payment=payment, at=at)
    offers = PublishedHit.objects.filter(hit=None)
    offers.update(platform_hit_id="3OFFER", expires_at=at)
    Payment.objects.update(state="sent")
    second = first if fate == "return" else again(publication, first, 2)
    row = submitted(publication, second, assignment=second)
    submission_approve(submission=row, by=rita, why="It is good.", at=at)
    payment.refresh_from_db()
    assert payment.state == "refused" and "withdrawn" in payment.evidence
    if fate == "return":
        submissions_return(publication=publication, assignment_ids=[row.platform_assignment_id], at=at)
    assert compensations_find(publication=publication, at=at) == 0, "the offer can still be taken"
    offers.update(expires_at=at - timedelta(hours=3))
    assert compensations_find(publication=publication, at=at) == 1
    assert compensations_find(publication=publication, at=at) == 0
    payment.refresh_from_db()
    assert (payment.state, payment.amount) == ("owed", Decimal(amount))
    assert compensation_offer(payment=payment, at=at).turn == offer.turn + 1


def test_what_was_returned_after_its_rejection_there_was_taken_back_is_owed(campaign: Campaign) -> None:
    publication, at = opened(campaign), timezone.now()
    work = done(publication)
    row = submitted(publication, work, assignment=work, status="Rejected")
    check_and_settle(publication, at)
    row.refresh_from_db()
    assert (row.decision, publication.payments.count()) == ("reject", 0)
    assert submissions_return(publication=publication, assignment_ids=[row.platform_assignment_id], at=at) == 1
    row.refresh_from_db()
    assert (row.decision, row.status) == ("return", "Returned")
    assert compensations_find(publication=publication, at=at) == 1


@pytest.mark.parametrize("withdrawn", [False, True])
def test_a_person_who_decides_on_a_compensation_that_was_taken_pays_that_and_nothing_else(
    campaign: Campaign, rita: User, withdrawn: bool
) -> None:
    publication, at = opened(campaign, pay="base-and-bonus"), timezone.now()
    works = [done(publication, "Alice"), done(publication, "Bob")]
    compensations_find(publication=publication, at=at)
    for payment in Payment.objects.all():
        compensation_offer(payment=payment, at=at)
    Payment.objects.update(state="refused" if withdrawn else "sent")
    offers = Operation.objects.filter(kind="compensate")
    rows = [
        submitted(publication, work, published_hit=offers.get(payment__assignment=work).published_hit,
                  platform_assignment_id=f"3TAKEN{work.pk}")
        for work in works
    ]  # fmt: skip
    submission_approve(submission=rows[0], by=rita, why="They did it.", at=at)
    submission_reject(submission=rows[1], by=rita, why="They did not.", at=at)
    assert set(Payment.objects.values_list("purpose", flat=True)) == {"compensation"}
    call = Operation.objects.get(kind="approve")
    assert call.payment is not None
    assert (call.submission, call.payment.assignment) == (rows[0], works[0]) and call.payment.state != "refused"
    other = Payment.objects.get(assignment=works[1])
    assert (other.state, other.evidence["declined"]) == ("refused", "They did not.")


@pytest.mark.parametrize("approved_before", [False, True])
def test_a_compensation_that_was_taken_and_rejected_at_the_platform_waits_for_nobody(
    campaign: Campaign, approved_before: bool
) -> None:
    publication, at = opened(campaign), timezone.now()
    work = done(publication)
    compensations_find(publication=publication, at=at)
    offer = compensation_offer(payment=Payment.objects.get(), at=at)
    Payment.objects.update(state="sent")
    facts = {"published_hit": offer.published_hit, "platform_assignment_id": "3TAKEN"}
    row = submitted(publication, work, **facts)
    if approved_before:
        publication_settle(publication=publication, at=at)
    for status, decision, state in (("Rejected", "reject", "refused"), ("Approved", "approve", "paid")):
        state_there = Work("3TAKEN", row.platform_worker_id, status, row.submitted_at, None, "", "")
        submission_store(published_hit=row.published_hit, work=state_there, at=at)
        publication_settle(publication=publication, at=at)
        row.refresh_from_db()
        assert (row.decision, Payment.objects.get().state) == (decision, state)


@pytest.mark.parametrize(("overlap", "fee"), [(9, "0.40"), (10, "0.80")])
def test_the_fee_that_is_kept_is_that_of_a_hit_of_so_many(collection: Collection, overlap: int, fee: str) -> None:
    campaign = factories.campaign(collection, overlap=overlap)
    publication = opened(campaign, pay="full-on-exit")
    work = done(publication)
    submitted(publication, work, assignment=work)
    check_and_settle(publication, timezone.now())
    payment = publication.payments.get()
    assert (payment.purpose, payment.amount, payment.fee) == ("reward", Decimal("2.00"), Decimal(fee))


def test_under_the_rule_for_all_data_work_that_was_left_unchecked_is_excluded_with_the_rest(campaign: Campaign) -> None:
    Campaign.objects.update(exclusion=Campaign.Exclusion.WORKER)
    campaign.refresh_from_db()
    alice = factories.worker(campaign, "Alice")
    left = factories.take(alice, campaign)
    factories.judge(left, only=[1])
    left = judgment_services.assignment_leave(assignment=left, at=timezone.now())
    assert left.verdict == Assignment.Verdict.UNCHECKED
    factories.do(alice, campaign, fail_tests=True)
    assert fresh(left).verdict == Assignment.Verdict.EXCLUDED


@pytest.mark.parametrize(
    ("state", "verdict"), [("owed", "pending"), ("sent", "pending"), ("refused", "pending"), ("paid", "accepted")]
)
def test_only_a_compensation_that_was_paid_confirms_whose_the_work_is(
    campaign: Campaign, state: str, verdict: str
) -> None:
    publication = opened(campaign)
    work = done(publication)
    Payment.objects.create(
        publication=publication,
        assignment=work,
        purpose="compensation",
        amount="1.00",
        fee="0.20",
        state=state,
        owed_at=timezone.now(),
    )
    quality.confirmed_check_all(at=timezone.now())
    work.refresh_from_db()
    assert work.verdict == verdict
    assert work.acceptances.exists() == (verdict == "accepted")


def test_a_barred_worker_is_excluded_at_the_platform_only_once_they_have_submitted_there(campaign: Campaign) -> None:
    publication = opened(campaign, exclusion_id="3EXCLUSION")
    work = done(publication)
    worker = work.worker
    task_services.worker_bar(worker=worker, at=timezone.now())
    assert workers_exclude(publication=publication, at=timezone.now()) == 0
    assert not Operation.objects.exists(), "somebody may have typed this id"

    submitted(publication, work, assignment=work)
    assert workers_exclude(publication=publication, at=timezone.now()) == 1
    assert workers_exclude(publication=publication, at=timezone.now()) == 0
    task_services.worker_unbar(worker=worker)
    assert workers_exclude(publication=publication, at=timezone.now()) == 1
    assert workers_exclude(publication=publication, at=timezone.now()) == 0
    worker.refresh_from_db()
    task_services.worker_bar(worker=worker, at=timezone.now())
    assert workers_exclude(publication=publication, at=timezone.now()) == 1
    assert list(Operation.objects.order_by("id").values_list("kind", "worker")) == [
        ("exclude", worker.pk),
        ("readmit", worker.pk),
        ("exclude", worker.pk),
    ]

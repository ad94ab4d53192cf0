"""Work that ends in an unusual order: after its time, after its compensation, after its return, or not at all."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client as Browser
from django.urls import reverse

from core.errors import NotNow
from core.models import Alarm, User
from judgments import services as judgment_services
from platforms.ledger_comparison import comparison_make
from platforms.models import Payment, Publication, Submission
from platforms.publishing.publications import publication_publish
from platforms.registry import adapter_of
from platforms.reviewing.compensations import compensation_offer
from platforms.reviewing.deciding import return_ask, submission_reject
from platforms.reviewing.protocol import Ending
from platforms.syncing import publication_sync
from tasks.models import Assignment
from tests import factories
from tests.platforms.platforms import Clock, decide, drain, settle
from tests.platforms.prolific.test_work import begin, work
from tests.simulation.prolific import Double

WHY = "You had been paid for this work already, as a bonus, when your time at Prolific was over, so return it, please."


def pass_time(published: Publication, clock: Clock, hours: int = 4) -> None:
    """The jobs after some hours, twice: what ended is then listed."""
    clock.ahead += timedelta(hours=hours)
    judgment_services.abandoned_end_all(at=clock())
    settle(published, clock)


@pytest.fixture
def compensated(published: Publication, prolific: Double) -> tuple[Clock, Assignment, Callable[[], str]]:
    """Work of which all was done in time here, and none there, and that was compensated; how it is completed late."""
    clock = Clock()
    place, assignment = begin(published, prolific)
    factories.judge(assignment)
    assignment = judgment_services.assignment_finish(assignment=assignment, at=clock())
    prolific.time_out(place.submission)
    pass_time(published, clock)
    compensation_offer(payment=Payment.objects.get(), at=clock())
    drain(published, clock)
    prolific.advance(3600)
    assert len(prolific.ledger("bonus")) == 1
    way_back = adapter_of(published).exit_of(published, "finished")  # type: ignore[arg-type]
    assert way_back is not None
    return clock, assignment, lambda: prolific.complete(place.submission, way_back.code)


def test_work_that_was_compensated_and_is_completed_late_is_not_paid_again_by_itself(
    published: Publication,
    prolific: Double,
    compensated: tuple[Clock, Assignment, Callable[[], str]],
    rita: User,
    client: Browser,
) -> None:
    clock, _assignment, complete = compensated
    assert complete() == "AWAITING REVIEW"
    for _again in range(2):
        settle(published, clock)
    assert prolific.ledger("reward") == []
    submission, alarm = Submission.objects.get(), Alarm.objects.get(settled_at=None)
    assert (submission.decision, alarm.kind, alarm.about_id) == ("", "twice", submission.pk)
    assert "compensated with $2.00" in alarm.text and "pays another $2.00" in alarm.text
    assert comparison_make(publication=published, at=clock()).agree
    client.force_login(rita)
    page = client.get(reverse("platforms:submission", args=[published.campaign_id, submission.pk])).content.decode()
    assert "Ask for a return" in page and "pays another $2.00" in page and "approved automatically" not in page

    return_ask(submission=submission, by=rita, why=WHY, at=clock())
    drain(published, clock)
    prolific.give_back(submission.platform_assignment_id)
    settle(published, clock)
    assert not Alarm.objects.filter(settled_at=None).exists()
    assert prolific.ledger("reward") == [] and Payment.objects.count() == 1
    assert comparison_make(publication=published, at=clock()).agree


def test_who_left_was_compensated_and_comes_back_weeks_later_is_not_paid_again_by_prolifics_clock(
    published: Publication, prolific: Double, rita: User
) -> None:
    clock = Clock()
    place, left = begin(published, prolific)
    factories.judge(left, only=range(1, 4))
    judgment_services.assignment_leave(assignment=left, at=clock())
    prolific.time_out(place.submission)
    pass_time(published, clock)
    payment = Payment.objects.get()
    compensation_offer(payment=payment, at=clock())
    drain(published, clock)
    prolific.advance(3600)
    way_back = adapter_of(published).exit_of(published, Ending.LEFT)
    assert way_back is not None
    assert prolific.complete(place.submission, way_back.code) == "AWAITING REVIEW"
    settle(published, clock)
    submission, alarms = Submission.objects.get(), Alarm.objects.filter(settled_at=None)
    assert submission.decision == "" and {alarm.kind for alarm in alarms} == {"unmatched", "twice"}
    assert {alarm.about_id for alarm in alarms} == {submission.pk}
    return_ask(submission=submission, by=rita, why=WHY, at=clock())
    drain(published, clock)
    prolific.give_back(place.submission)
    settle(published, clock)
    assert not Alarm.objects.filter(settled_at=None).exists()
    assert [row["amount"] for row in prolific.ledger("bonus")] == [int(payment.amount * 100)]
    assert prolific.ledger("reward") == []
    assert comparison_make(publication=published, at=clock()).agree


def test_what_prolific_approved_after_a_compensation_is_booked_by_a_person_who_is_named(
    published: Publication,
    prolific: Double,
    compensated: tuple[Clock, Assignment, Callable[[], str]],
    rita: User,
    page: Browser,
) -> None:
    clock, _assignment, complete = compensated
    complete()
    settle(published, clock)
    submission = Submission.objects.get()
    prolific.do("approve", submission=submission.platform_assignment_id)
    settle(published, clock)
    (difference,) = comparison_make(publication=published, at=clock()).differences
    assert "we have rewards of $0.00 and bonuses of $0.00, Prolific $2.00 and $0.00" in difference
    assert "approved at Prolific" in Alarm.objects.get(kind="twice", settled_at=None).text
    address = reverse("platforms:submission", args=[published.campaign_id, submission.pk])
    assert "Book the reward" in page.get(address).content.decode()
    fields = {"decision": "approve", "why": "It was approved at Prolific by mistake."}
    assert page.post(address, fields).status_code in (302, 303)
    reward = Payment.objects.get(purpose="reward")
    (row,) = prolific.ledger("reward")
    assert (reward.state, int(reward.fee * 100)) == ("paid", row["fee"] + row["vat"])
    assert Submission.objects.get().decided_by == rita
    settle(published, clock)
    assert comparison_make(publication=published, at=clock()).agree
    assert not Alarm.objects.filter(settled_at=None).exclude(kind="ledger").exists()


def reject(published: Publication, prolific: Double, by: User, clock: Clock) -> Submission:
    """Work that was rejected here, and so at Prolific."""
    work(published, prolific)
    Publication.objects.update(approve_after=timedelta(days=1))
    published.refresh_from_db()
    settle(published, clock)
    submission = submission_reject(submission=Submission.objects.get(), by=by, why=WHY, at=clock())
    drain(published, clock)
    return submission


def test_what_was_rejected_here_and_then_approved_at_prolific_is_booked_by_a_person(
    published: Publication, prolific: Double, rita: User, page: Browser
) -> None:
    clock = Clock()
    submission = reject(published, prolific, rita, clock)
    prolific.do("approve", submission=submission.platform_assignment_id)
    settle(published, clock)
    assert not comparison_make(publication=published, at=clock()).agree
    address = reverse("platforms:submission", args=[published.campaign_id, submission.pk])
    assert page.post(address, {"decision": "approve", "why": "Reversed after they wrote."}).status_code in (302, 303)
    submission.refresh_from_db()
    assert (submission.decision, submission.decided_by) == ("approve", rita)
    assert comparison_make(publication=published, at=clock()).agree


def test_a_rejection_that_is_taken_back_at_prolific_is_said_before_prolific_approves_it_by_itself(
    published: Publication, prolific: Double, rita: User
) -> None:
    clock = Clock()
    submission = reject(published, prolific, rita, clock)
    key = submission.platform_assignment_id
    raised = Alarm.objects.filter(kind="auto-approval", settled_at=None)

    prolific.do("reverse", submission=key)
    settle(published, clock)
    assert not raised.exists(), "this answer may be older than the rejection"
    pass_time(published, clock, hours=2)
    assert f"The rejection of submission {key} was taken back at Prolific" in raised.get().text
    submission.refresh_from_db()
    assert (submission.status, submission.decision) == ("Submitted", "reject")

    prolific.do("reject", submission=key)
    settle(published, clock)
    assert not raised.exists()


def test_what_was_returned_and_is_approved_by_hand_is_booked_and_its_compensation_withdrawn(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place, assignment = work(published, prolific)
    Publication.objects.update(approve_after=timedelta(days=30))
    published.refresh_from_db()
    settle(published, clock)
    prolific.give_back(place.submission)
    settle(published, clock)
    pass_time(published, clock)
    assert Payment.objects.get().purpose == "compensation"
    Publication.objects.update(approve_after=timedelta(0))
    prolific.do("approve", submission=place.submission)
    published.refresh_from_db()
    settle(published, clock)
    settle(published, clock)
    payment = Payment.objects.get()
    assert (payment.purpose, payment.state, Submission.objects.get().assignment) == ("reward", "paid", assignment)
    assert comparison_make(publication=published, at=clock()).agree
    assert not Alarm.objects.filter(settled_at=None).exists()


@pytest.mark.parametrize("how", ["time_out", "give_back", "complete", None])
def test_whoever_answers_some_and_goes_has_their_share_listed_however_they_went(
    how: str | None, published: Publication, prolific: Double, rita: User
) -> None:
    clock = Clock()
    place, assignment = begin(published, prolific)
    factories.judge(assignment, only=range(1, 4), at=clock())
    if how == "complete":  # and is asked to return it, as it was never finished
        prolific.complete(place.submission, None)
        settle(published, clock)
        return_ask(submission=Submission.objects.get(), by=rita, why=WHY, at=clock())
        drain(published, clock)
        how = "give_back"
    if how is not None:
        prolific.do(how, submission=place.submission)
    settle(published, clock)
    pass_time(published, clock)
    assignment.refresh_from_db()
    owed = assignment.owed
    assert (assignment.state, assignment.judged) == ("left", 3) and owed == Decimal("1.20")
    (payment,) = Payment.objects.all()
    assert (payment.purpose, payment.amount, payment.assignment) == ("compensation", owed, assignment)
    if how is not None:
        compensation_offer(payment=payment, at=clock())
        drain(published, clock)
        prolific.advance(3600)
        assert [row["amount"] for row in prolific.ledger("bonus")] == [120]
        assert comparison_make(publication=published, at=clock()).agree


def test_an_answer_of_the_last_hour_keeps_an_assignment_open(published: Publication, prolific: Double) -> None:
    clock = Clock()
    place, assignment = begin(published, prolific)
    prolific.time_out(place.submission)
    settle(published, clock)
    clock.ahead += timedelta(hours=2)
    factories.judge(assignment, only=[1], at=clock() - timedelta(minutes=30))
    assert judgment_services.abandoned_end_all(at=clock()) == 0
    assert judgment_services.abandoned_end_all(at=clock() + timedelta(minutes=31)) == 1


def test_a_compensation_is_not_offered_while_the_work_waits_for_a_decision(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place, assignment = begin(published, prolific)
    factories.judge(assignment, only=[1], at=clock())
    prolific.time_out(place.submission)
    settle(published, clock)
    pass_time(published, clock)
    prolific.complete(place.submission, "WRONG")
    settle(published, clock)
    with pytest.raises(NotNow, match="submitted in the meantime"):
        compensation_offer(payment=Payment.objects.get(), at=clock())
    assert prolific.ledger("bonus") == prolific.ledger("reward") == []


def test_approved_work_that_is_returned_before_the_call_is_owed_as_other_returned_work(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place, _ = work(published, prolific)
    decide(published, clock)
    prolific.give_back(place.submission)
    publication_sync(publication=published, at=clock(), everything=True)
    drain(published, clock)
    assert prolific.ledger("reward") == []
    pass_time(published, clock)
    assert Payment.objects.get(state="owed").purpose == "compensation"
    assert comparison_make(publication=published, at=clock()).agree


def test_a_comparison_knows_the_study_although_its_caller_read_the_publication_before(
    publication: Publication, prolific: Double
) -> None:
    before, clock = Publication.objects.select_related("campaign__lab").get(pk=publication.pk), Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    assert before.hit_type_id == ""
    assert comparison_make(publication=before, at=clock()).agree
    assert not Alarm.objects.exists()

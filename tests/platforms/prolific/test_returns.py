"""Asking a participant to return a submission, and submissions that were returned whoever asked."""

from datetime import timedelta

import pytest
from django.test import Client as Browser
from django.urls import reverse

from core.errors import NotNow
from core.models import Alarm, User
from judgments import services as judgment_services
from platforms.models import Operation, Payment, Publication, Submission
from platforms.registry import adapter_of
from platforms.reviewing.compensations import compensation_offer, compensations_find
from platforms.reviewing.deciding import return_ask, submission_approve
from platforms.reviewing.protocol import Ending
from platforms.syncing import publication_sync
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.platforms.platforms import Clock, drain, settle
from tests.platforms.prolific.test_work import begin, finish, work
from tests.simulation.prolific import Double

WHY = "You came back with a code of your own, and never opened the study."


@pytest.fixture
def stray(published: Publication, prolific: Double) -> Submission:
    """A submission of somebody who never came here."""
    place = prolific.take(published.hit_type_id, prolific.participant("Stray"))
    prolific.complete(place.submission, "WRONG")
    publication_sync(publication=published, at=Clock()())
    return Submission.objects.get()


def test_a_person_asks_for_a_return_from_the_page_once_and_it_is_over_when_it_was_returned(
    published: Publication, prolific: Double, stray: Submission, rita: User, client: Browser
) -> None:
    clock = Clock()
    client.force_login(rita)
    address = reverse("platforms:submission", args=[published.campaign_id, stray.pk])
    page = client.get(address).content.decode()
    assert "Ask for a return" in page and "This study takes about" in page
    assert '<option value="" selected>what is written above</option>' in page
    assert client.post(address, {"decision": "return", "why": ""}).status_code == 400
    wrong = {"decision": "return", "why": WHY, "return_reason": "Ugly"}
    assert client.post(address, wrong).status_code == 400
    for _again in range(2):
        assert client.post(address, {"decision": "return", "why": WHY}).status_code in (302, 303)
    prolific.fault("lost after", path="request-return")
    drain(published, clock)
    (request,) = prolific.requests("request-return")
    assert request["body"] == {"request_return_reasons": [WHY]}
    assert prolific.rows("submission")[0]["return_reasons"] == WHY
    stray.refresh_from_db()
    assert (stray.decision, stray.status) == ("", "Submitted")  # nothing is decided by asking
    assert stray.return_asked_by == rita
    assert WHY in client.get(address).content.decode()
    prolific.give_back(stray.platform_assignment_id)
    settle(published, clock)
    stray.refresh_from_db()
    assert (stray.decision, stray.status) == ("return", "Returned")
    assert prolific.ledger("reward") == [] and not Payment.objects.exists()
    assert not Alarm.objects.filter(settled_at=None).exists()
    page = client.get(address).content.decode()
    assert "has returned it, so there is nothing to decide" in page and "Approve and pay" not in page


def test_a_program_asks_for_a_return_with_one_of_prolifics_reasons(
    published: Publication, prolific: Double, stray: Submission, rita: User
) -> None:
    program = Program(rita)
    address = f"campaigns/{published.campaign_id}/publication/submissions/{stray.pk}/ask-return/"
    assert_problem(program.post(address, {"why": WHY, "return_reason": "Ugly"}), 400, says="not one of Prolific's")
    assert not Operation.objects.filter(kind="ask-return").exists()
    sent = {"why": WHY, "return_reason": "Withdrew consent"}
    assert program.post(address, sent).json()["decision"] == "" and program.post(address, sent).status_code == 200
    drain(published, Clock())
    (request,) = prolific.requests("request-return")
    assert request["body"] == {"request_return_reasons": ["Withdrew consent"]}
    stray.refresh_from_db()
    assert (stray.return_asked_by, stray.reason, stray.return_reason) == (rita, WHY, "Withdrew consent")


def test_work_with_answers_is_paid_and_its_worker_is_not_asked(
    published: Publication, prolific: Double, rita: User, page: Browser
) -> None:
    clock = Clock()
    finish(published, prolific, begin(published, prolific)[1])
    publication_sync(publication=published, at=clock())
    submission = Submission.objects.get()
    with pytest.raises(NotNow, match="is paid"):
        return_ask(submission=submission, by=rita, why=WHY, at=clock())
    address = reverse("platforms:submission", args=[published.campaign_id, submission.pk])
    assert "Ask for a return" not in page.get(address).content.decode()
    submission_approve(submission=submission, by=rita, why="Good", at=clock())
    with pytest.raises(NotNow):
        return_ask(submission=submission, by=rita, why=WHY, at=clock())
    assert not Operation.objects.filter(kind="ask-return").exists()


def test_finished_work_that_its_worker_returned_is_owed_and_asked_about_no_more(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place, assignment = work(published, prolific)
    publication_sync(publication=published, at=clock())
    prolific.give_back(place.submission)
    publication_sync(publication=published, at=clock())
    submission = Submission.objects.get()
    assert (submission.status, submission.assignment, submission.decision) == ("Returned", None, "return")
    looks = len(prolific.requests(f"submissions/{place.submission}/"))
    other = prolific.take(published.hit_type_id, prolific.participant("Other"))
    prolific.give_back(other.submission)
    publication_sync(publication=published, at=clock())
    assert len(prolific.requests(f"submissions/{place.submission}/")) == looks
    clock.ahead += 2 * published.longest_time
    clock.sleep(3 * 3600)
    settle(published, clock)
    compensations_find(publication=published, at=clock())
    owed = Payment.objects.get()
    assert (owed.purpose, owed.amount, owed.assignment) == ("compensation", published.listed, assignment)


@pytest.mark.parametrize(("minutes", "words"), [(4, "one failed check is a reason"), (13, "and one is not")])
def test_what_prolific_allows_is_said_for_this_study(
    minutes: int, words: str, published: Publication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platforms.prolific.adapter.minutes_of", lambda _publication: minutes)
    assert words in adapter_of(published).about_rejecting(published)


def test_who_finished_here_and_ran_out_of_time_there_is_owed_the_reward_and_gets_it_as_a_bonus(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place, assignment = begin(published, prolific)
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=clock())  # and never goes back
    prolific.time_out(place.submission)
    clock.ahead += published.longest_time + timedelta(hours=2)
    settle(published, clock)
    owed = Payment.objects.get()
    assert (owed.purpose, owed.amount) == ("compensation", published.listed)
    compensation_offer(payment=owed, at=clock())
    drain(published, clock)
    prolific.advance(3600)
    (bonus,) = prolific.ledger("bonus")
    assert (bonus["submission"], bonus["amount"]) == (place.submission, int(published.listed * 100))


def test_who_is_asked_to_return_and_does_not_is_approved_by_prolific_after_three_weeks(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place = prolific.take(published.hit_type_id, prolific.participant("Dan"))
    declined = adapter_of(published).exit_of(published, Ending.DECLINED)
    assert declined is not None
    prolific.complete(place.submission, declined.code)
    settle(published, clock)
    assert not Submission.objects.exists() and prolific.rows("submission")[0]["return_requested"]
    prolific.advance(20 * 86_400)
    assert prolific.ledger("reward") == []
    prolific.advance(2 * 86_400)
    settle(published, clock)
    (reward,) = prolific.ledger("reward")
    submission = Submission.objects.get()
    assert reward["submission"] == place.submission == submission.platform_assignment_id
    assert (submission.assignment, submission.status) == (None, "Approved")

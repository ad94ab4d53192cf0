"""Leaving early where the workspace pays a share of the reward: what the page says is what is paid, once."""

from datetime import timedelta
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from django.test import Client as Browser

from core.models import Alarm, User
from core.money import dollars
from judgments import services as judgment_services
from platforms.ledger_comparison import comparison_make
from platforms.models import LabAccount, Operation, Payment, Publication, Submission
from platforms.money.lab_accounts import lab_account_store
from platforms.prolific.endings import amount_of_share, percent_of, percent_paying
from platforms.publishing.publications import publication_publish
from platforms.reviewing.compensations import compensation_offer, compensations_find
from platforms.reviewing.requeuing import publication_requeue
from platforms.syncing import assignment_sync, publication_sync
from tasks.models import Assignment
from tests import factories
from tests.platforms.platforms import Clock, drain, settle
from tests.platforms.prolific.test_work import begin, finish, go_back, visit
from tests.simulation.prolific import Double, Place

EVERYTHING = ["secure url", "dynamic payment"]
pytestmark = pytest.mark.parametrize("features", [EVERYTHING])


def leave(published: Publication, prolific: Double, name: str = "Lea") -> tuple[Place, Assignment]:
    """Somebody answers two questions, leaves, and goes back with the code."""
    place, assignment = begin(published, prolific, name)
    factories.judge(assignment, only=range(1, 3))
    judgment_services.assignment_leave(assignment=assignment, at=Clock()())
    go_back(published, prolific, place.submission, "left")
    assignment.refresh_from_db()
    return place, assignment


@pytest.mark.parametrize("lost", ["", "lost before", "lost after", "broken after"])
def test_leaving_pays_a_share_once_and_the_ledgers_agree(lost: str, published: Publication, prolific: Double) -> None:
    clock = Clock()
    place, left = leave(published, prolific)
    assert prolific.rows("submission")[0]["return_requested"] is None  # nobody is asked to return it
    if lost:
        prolific.fault(lost, path="transition/$", body="COMPLETE")
    publication_sync(publication=published, at=clock())
    publication_sync(publication=published, at=clock())
    assignment_sync(publication=published, assignment_id=place.submission, at=clock())
    drain(published, clock)
    settle(published, clock)
    (share,) = prolific.ledger("partial")
    payment = Payment.objects.get()
    assert (payment.purpose, payment.state, int(payment.amount * 100)) == ("compensation", "paid", share["amount"])
    assert payment.amount >= left.owed and payment.amount < published.listed
    assert prolific.rows("submission")[0]["status"] == "PARTIALLY APPROVED"
    assert prolific.ledger("bonus") == prolific.ledger("reward") == [] and not Submission.objects.exists()
    assert comparison_make(publication=published, at=clock()).agree
    clock.ahead += published.longest_time + timedelta(hours=2)
    settle(published, clock)
    assert compensations_find(publication=published, at=clock()) == 0 and Payment.objects.count() == 1
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_the_page_says_what_will_be_paid_before_somebody_leaves(published: Publication, prolific: Double) -> None:
    clock = Clock()
    place = prolific.take(published.hit_type_id, prolific.participant("Lea"))
    address, browser = visit(place), Browser()
    assignment = Assignment.objects.get()
    factories.judge(assignment, only=range(1, 2))
    text = browser.get(f"{address}leave/").content.decode()
    page = browser.post(f"{address}leave/", follow=True).content.decode()
    assignment.refresh_from_db()
    percent = percent_of(published.listed, assignment.owed)
    paid = amount_of_share(published.listed, percent)
    assert f"You are paid {dollars(paid)} for them" in text
    assert "do not return the task" in page and f"owes you {dollars(paid)}" in page
    assert "paid as a bonus" not in page
    code = urlsplit(page.split("cc=")[1].split('"')[0]).path
    prolific.complete(place.submission, code)
    publication_sync(publication=published, at=clock())
    drain(published, clock)
    assert [row["amount"] for row in prolific.ledger("partial")] == [int(paid * 100)]


def test_who_returns_all_the_same_is_paid_as_much_by_a_bonus(published: Publication, prolific: Double) -> None:
    clock = Clock()
    place, _left = leave(published, prolific)
    prolific.give_back(place.submission)
    publication_sync(publication=published, at=clock())
    assert not Payment.objects.exists()
    clock.ahead += published.longest_time + timedelta(hours=2)
    settle(published, clock)
    owed = Payment.objects.get(purpose="compensation")
    compensation_offer(payment=owed, at=clock())
    drain(published, clock)
    prolific.advance(3600)
    (bonus,) = prolific.ledger("bonus")
    assert bonus["amount"] == int(owed.amount * 100) and prolific.ledger("partial") == []
    assert comparison_make(publication=published, at=clock()).agree


def test_who_returns_just_before_the_share_is_paid_gets_one_bonus(published: Publication, prolific: Double) -> None:
    clock = Clock()
    place, _left = leave(published, prolific)
    publication_sync(publication=published, at=clock())
    prolific.give_back(place.submission)
    drain(published, clock)
    prolific.advance(3600)
    assert len(prolific.ledger("bonus")) == 1 and prolific.ledger("partial") == []
    assert Payment.objects.get().state == "paid"


def test_a_place_that_a_share_took_is_asked_for_again_although_its_hit_was_done_with_anothers(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    _place, left = leave(published, prolific)
    publication_sync(publication=published, at=clock())
    _place, done = begin(published, prolific, "Pat")
    assert done.hit_id == left.hit_id
    finish(published, prolific, done)
    settle(published, clock)
    assert len(prolific.ledger("partial")) == 1
    assert publication_requeue(publication=published, at=clock()) == 1
    assert publication_requeue(publication=published, at=clock()) == 0
    drain(published, clock)
    for name in ("Second", "Third"):
        finish(published, prolific, begin(published, prolific, name)[1])
    settle(published, clock)
    assert not published.campaign.hits.filter(needed__gt=0).exists()
    assert publication_requeue(publication=published, at=clock()) == 0
    assert Operation.objects.get(kind="extend").result["total_available_places"] == 4


def test_a_place_that_a_share_took_is_asked_for_again(published: Publication, prolific: Double) -> None:
    clock = Clock()
    leave(published, prolific)
    publication_sync(publication=published, at=clock())
    drain(published, clock)
    assert publication_requeue(publication=published, at=clock()) == 1
    assert publication_requeue(publication=published, at=clock()) == 0
    drain(published, clock)
    assert Operation.objects.get(kind="extend").result["total_available_places"] == 4
    for number in range(3):
        finish(published, prolific, begin(published, prolific, f"Pat {number}")[1])
    settle(published, clock)
    assert len(prolific.ledger("reward")) == 3


def test_work_that_was_approved_at_prolific_after_all_is_not_paid_twice(
    published: Publication, prolific: Double, rita: User
) -> None:
    clock = Clock()
    place, _left = leave(published, prolific)
    publication_sync(publication=published, at=clock())
    prolific.do("approve", submission=place.submission)
    drain(published, clock)
    assert Payment.objects.get(purpose="compensation").state == "refused"
    settle(published, clock)
    assert len(prolific.ledger("reward")) == 1 and prolific.ledger("partial") == prolific.ledger("bonus") == []
    assert Payment.objects.get(purpose="reward").state == "paid"


def test_a_share_is_never_less_than_what_was_earned_and_is_found_again_by_its_amount(account: LabAccount) -> None:
    for cents in (7, 13, 20, 105, 130, 999):
        reward = Decimal(cents) / 100
        for earned in range(1, cents):
            percent = percent_of(reward, Decimal(earned) / 100)
            amount = amount_of_share(reward, percent)
            assert 8 <= percent <= 99 and amount_of_share(reward, percent_paying(reward, amount) or 0) == amount
            assert amount >= Decimal(earned) / 100 or percent == 99


@pytest.mark.parametrize("more", [[], ["dynamic payment"]])
def test_who_leaves_before_any_answer_is_asked_to_return_and_is_promised_nothing(
    more: list[str], publication: Publication, prolific: Double, account: LabAccount, rita: User
) -> None:
    clock = Clock()
    prolific.settings(features=["secure url", *more])
    fields = {"lab": account.lab, "platform": "prolific", "by": rita, "at": clock()}
    lab_account_store(token=prolific.token, workspace_id="", **fields)
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    publication.refresh_from_db()
    place = prolific.take(publication.hit_type_id, prolific.participant("Lea"))
    page = Browser().post(f"{visit(place)}leave/", follow=True).text
    assert "There is nothing to pay." in page and "Please return the task now" in page and "bonus" not in page
    prolific.complete(place.submission, urlsplit(page.split("cc=")[1].split('"')[0]).path)
    (row,) = prolific.rows("submission")
    assert "left before any answer" in row["return_reasons"]
    settle(publication, clock)
    assert not Submission.objects.exists() and not Payment.objects.exists()
    prolific.give_back(place.submission)
    settle(publication, clock)
    assert prolific.ledger("reward") == prolific.ledger("partial") == []

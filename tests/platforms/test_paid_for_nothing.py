"""Somebody who takes tasks and leaves at once, again and again: what it costs, and who is told."""

from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format
from selectolax.lexbor import LexborHTMLParser

from core.models import User
from platforms.models import Publication
from platforms.reviewing.deciding import submission_approve, submission_reject
from tasks.models import Assignment
from tests.marketplace.server import Requester, Worker
from tests.platforms.platforms import arrive, finish, published_hit_of, settle


def leave_at_once(publication: Publication, worker: Worker, number: int = 1) -> Assignment:
    """Accept, agree, leave without an answer, and hand in by hand what the page offers no form for."""
    return finish(arrive(publication, worker, number), worker, only=range(0))


@pytest.mark.parametrize("pay", list(Publication.Pay))
def test_who_leaves_without_an_answer_is_asked_to_return_the_task(
    published: Publication, wanda: Worker, pay: str
) -> None:
    Publication.objects.update(pay=pay)
    assignment = arrive(published, wanda)
    address = f"/m/{published.campaign.link}/1/?assignmentId={assignment.platform_assignment_id}&workerId={wanda.id}"
    client = Client()
    consent = LexborHTMLParser(client.get(address).content.decode()).css_first("input[name=version]")
    place = client.post(address, {"version": consent.attributes["value"]}).headers["Location"]

    before = LexborHTMLParser(client.get(f"{place}leave/").content.decode()).css_first("main").text()
    assert "there is nothing to pay" in before
    assert "submit what you have done" not in before
    client.post(f"{place}leave/")

    page = LexborHTMLParser(client.get(f"{place}done/").content.decode())
    assert page.css_first("#submit") is None
    assert "return the task" in page.css_first("main").text()
    assert "$0.10" not in page.css_first("main").text()


def test_work_without_an_answer_is_never_approved_by_itself(
    published: Publication, requester: Requester, wanda: Worker, will: Worker
) -> None:
    for worker, number in ((wanda, 1), (will, 1), (wanda, 2), (will, 2), (wanda, 3), (will, 3)):
        if published_hit_of(published, number).submissions.exists():
            assert worker.cannot_accept(published_hit_of(published, number).platform_hit_id)
            continue
        leave_at_once(published, worker, number)
        settle(published, requeue=True)

    assert not published.payments.exists()
    assert set(published.submissions.values_list("status", "decision")) == {("Submitted", "")}
    assert not published.operations.filter(kind__in=["approve", "bonus", "extend"]).exists()
    assert wanda.look()["earnings"]["owed"] == "0.00"
    alarms = published.alarms.filter(kind="no-answers", settled_at=None)
    assert alarms.count() == 3
    paid_at = published.submissions.earliest("id").auto_approval_at
    assert paid_at is not None
    assert date_format(paid_at, "j M Y, H:i") in alarms.earliest("id").text


def test_the_hit_is_asked_for_again_once_a_person_has_decided(
    published: Publication, wanda: Worker, rita: User
) -> None:
    leave_at_once(published, wanda)
    settle(published, requeue=True)
    submission_reject(submission=published.submissions.get(), by=rita, why="No work was done", at=timezone.now())
    settle(published, requeue=True)
    settle(published, requeue=True)

    assert published.operations.filter(kind="extend").count() == 1
    assert published.submissions.get().status == "Rejected"
    assert not published.payments.exists()
    assert not published.alarms.filter(kind="no-answers", settled_at=None).exists()


def test_a_person_may_pay_for_work_without_an_answer(published: Publication, wanda: Worker, rita: User) -> None:
    leave_at_once(published, wanda)
    settle(published, requeue=True)
    submission_approve(submission=published.submissions.get(), by=rita, why="The page was broken", at=timezone.now())
    settle(published, requeue=True)

    assert dict(published.payments.values_list("purpose", "amount")) == {"reward": Decimal("0.10")}
    assert published.submissions.get().status == "Approved"


def test_what_the_platforms_clock_paid_for_is_in_the_ledger(published: Publication, wanda: Worker) -> None:
    leave_at_once(published, wanda)
    settle(published, requeue=True)
    wanda.marketplace.advance(days=8)
    settle(published, requeue=True)

    submission = published.submissions.get()
    assert (submission.status, submission.decided_by) == ("Approved", None)
    assert published.payments.get().state == "paid"
    assert not published.alarms.filter(kind="no-answers", settled_at=None).exists()

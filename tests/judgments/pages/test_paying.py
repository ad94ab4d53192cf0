"""People whom no platform pays are told how before they begin, leave what is needed, and read what became of it."""

import csv
import io
import re
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from judgments import worker_reports
from judgments.models import WorkerNote
from platforms.money import pay_desk
from pools.models import Campaign
from protection.erasing import erasure_plan, personal_data, worker_erase
from runs.models import Collection
from tasks import links
from tasks.models import Assignment, PayDetail, Worker
from tasks.paying import pay_details, pay_words_write
from tests import factories

OURS = "How the research group can pay you"
HOW, ASKED, DETAIL = "By PayPal, on 1 December.", "Your PayPal address", "=ada@example.org"


@pytest.fixture
def paying(campaign: Campaign) -> Campaign:
    pay_words_write(campaign=campaign, how=HOW, asked=ASKED)
    return campaign


def shown(address: str) -> str:
    """What somebody without an account reads."""
    answer = Client().get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def join(campaign: Campaign, **typed: str) -> Worker:
    """Agree at the open link."""
    address = reverse("judging:join", args=[campaign.link])
    text = shown(address)
    action = re.search(r'method="post" action="([^"]+)"', text)
    version = re.search(r'name="version" value="(\d+)"', text)
    assert action and version
    assert Client().post(action[1].replace("&amp;", "&"), {"version": version[1]} | typed).status_code == 303
    return Worker.objects.latest("pk")


def test_before_anything_is_agreed_people_read_how_they_are_paid(paying: Campaign) -> None:
    for name in ("preview", "join"):
        assert HOW in shown(reverse(f"judging:{name}", args=[paying.link]))
    assert ASKED in shown(reverse("judging:join", args=[paying.link]))
    pay_words_write(campaign=paying, how="", asked="")
    text = shown(reverse("judging:preview", args=[paying.link]))
    assert "The research group pays you itself." in text and HOW not in text


def test_only_people_whom_nobody_could_pay_are_asked_how_where_the_campaign_says_nothing(
    campaign: Campaign, alice: Worker, page: Client
) -> None:
    assert OURS in shown(reverse("judging:join", args=[campaign.link]))
    assert OURS not in shown(reverse("judging:home", args=[links.home_token(alice, campaign)]))  # a personal link
    worker = join(campaign)
    home = reverse("judging:home", args=[links.home_token(worker, campaign)])
    assert OURS in shown(home) and "You have not said yet how you can be paid." in shown(home)
    Client().post(reverse("judging:pay_detail", args=[links.home_token(worker, campaign)]), {"pay_detail": DETAIL})
    assert "You have not said yet" not in shown(home)
    factories.judge(begun := Assignment.objects.get(worker=worker))
    Client().post(reverse("judging:finish", args=[links.assignment_token(begun)]))
    assert DETAIL in page.get(reverse("platforms:pay", args=[campaign.pk])).content.decode()
    pay_words_write(campaign=campaign, how=HOW, asked="")
    assert OURS not in shown(reverse("judging:join", args=[campaign.link]))


def test_people_read_that_work_is_unpaid_and_are_asked_for_nothing(collection: Collection) -> None:
    campaign = factories.campaign(collection, reward=Decimal(0))
    pay_words_write(campaign=campaign, how="", asked=ASKED)
    for name in ("preview", "join"):
        text = shown(reverse(f"judging:{name}", args=[campaign.link]))
        assert "This work is unpaid." in text and "You are paid for the answers" not in text
        assert ASKED not in text and "pays you itself" not in text


def test_what_is_left_for_being_paid_is_sealed_changed_and_read_by_those_who_pay(
    paying: Campaign, page: Client, collection: Collection
) -> None:
    worker = join(paying, pay_detail=DETAIL)
    assert DETAIL not in PayDetail.objects.get().sealed
    assert pay_details(paying, [worker.pk]) == {worker.pk: DETAIL}
    home = links.home_token(worker, paying)
    assert DETAIL in shown(reverse("judging:home", args=[home]))
    factories.judge(begun := Assignment.objects.get(worker=worker))
    token = links.assignment_token(begun)
    assert Client().post(reverse("judging:finish", args=[token])).status_code == 303
    assert DETAIL in shown(reverse("judging:done", args=[token]))

    desk = reverse("platforms:pay", args=[paying.pk])
    assert DETAIL in page.get(desk).content.decode()
    answer = page.get(desk, {"csv": "list"})
    (row,) = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))
    assert row["left_for_being_paid"] == f"'{DETAIL}"  # no spreadsheet takes it for a formula
    for role in ("viewer", "organizer"):
        browser = Client()
        browser.force_login(factories.member(collection.lab, role))
        for query in ({}, {"csv": "list"}):
            assert DETAIL not in browser.get(desk, query).content.decode()
    assert not any(DETAIL.encode() in content for content in factories.exported(paying).values())

    change = reverse("judging:pay_detail", args=[home])
    assert Client().post(change, {"pay_detail": "x" * 301}).status_code == 400
    assert Client().post(change, {"pay_detail": "by bank"})["Location"] == reverse("judging:home", args=[home])
    assert pay_details(paying, [worker.pk]) == {worker.pk: "by bank"}
    Client().post(change, {"pay_detail": ""})
    assert not PayDetail.objects.exists()


def test_what_was_left_is_told_to_its_worker_and_goes_when_the_worker_is_erased(paying: Campaign) -> None:
    worker = join(paying, pay_detail=DETAIL)
    (stored,) = personal_data(worker)["left_for_being_paid"]
    assert (stored["campaign"], stored["text"]) == (paying.name, DETAIL)
    Assignment.objects.filter(worker=worker).update(leased_until=timezone.now())
    assert ("pay_details", 1) in {(key, count) for key, _what, count in erasure_plan(worker, at=timezone.now()).goes}
    worker_erase(worker=worker, at=timezone.now())
    assert not PayDetail.objects.exists()


def test_a_receipt_says_whether_it_is_paid(campaign: Campaign, alice: Worker, rita: User) -> None:
    done = factories.do(alice, campaign)
    receipt = reverse("judging:done", args=[links.assignment_token(done)])
    home = reverse("judging:home", args=[links.home_token(alice, campaign)])
    assert "not yet" in shown(receipt) and "not yet" in shown(home) and "owes you" in shown(receipt)
    paid = {"campaign": campaign, "by": rita, "at": timezone.now()}
    pay_desk.payments_mark(chosen=[done.pk], expected=Decimal(0), paid_on=timezone.now().date(), **paid)
    assert "You have been paid $2.00" in shown(receipt) and "not yet" not in shown(home)
    pay_desk.payments_take_back(chosen=[done.pk], **paid)
    assert "owes you" in shown(receipt) and "not yet" in shown(receipt)


def test_whoever_has_a_receipt_code_can_say_that_they_were_not_paid_and_reads_the_answer(
    campaign: Campaign, alice: Worker, page: Client
) -> None:
    done = factories.do(alice, campaign)
    receipt = reverse("judging:done", args=[links.assignment_token(done)])
    ask = reverse("judging:ask_about_pay", args=[campaign.link])
    assert ask in shown(reverse("judging:preview", args=[campaign.link]))
    wrong = Client().post(ask, {"receipt": "0000-0000-0000", "text": "Where is my money?"})
    assert wrong.status_code == 400 and "Where is my money?" in wrong.content.decode()
    assert not WorkerNote.objects.exists()
    sent = {"receipt": f" {done.receipt.lower()} ", "text": "Where is my money?"}
    assert done.receipt in shown(Client().post(ask, sent)["Location"])
    note = WorkerNote.objects.get()
    assert (note.assignment_id, note.about_pay) == (done.pk, True)

    inbox = reverse("review:reports", args=[campaign.pk])
    text = page.get(inbox, {"notes-about": "pay"}).content.decode()
    assert "Where is my money?" in text and done.receipt in text
    for answer, status in (("", 400), ("On its way.", 303), ("On its way.", 303), ("Something else.", 409)):
        assert page.post(inbox, {"note": note.pk, "answer": answer}).status_code == status
    note.refresh_from_db()
    assert (note.answer, note.read_at is not None) == ("On its way.", True)
    assert "On its way." in shown(receipt)
    assert personal_data(alice)["notes"][0]["answer"] == "On its way."


def test_a_note_from_the_receipt_says_whether_it_is_about_pay(campaign: Campaign, alice: Worker) -> None:
    done = factories.do(alice, campaign)
    write = reverse("judging:note", args=[links.assignment_token(done)])
    Client().post(write, {"text": "Too little.", "about_pay": "yes"})
    Client().post(write, {"text": "Number 3 is in Dutch."})
    assert list(WorkerNote.objects.order_by("pk").values_list("about_pay", flat=True)) == [True, False]


def test_the_words_about_pay_are_written_on_the_page_of_the_wording_at_any_time(
    campaign: Campaign, page: Client
) -> None:
    wording = reverse("tasks:wording", args=[campaign.pk])
    assert page.post(wording, {"pay-how": HOW, "pay-asked": ASKED}).status_code == 303
    assert HOW in shown(reverse("judging:preview", args=[campaign.link]))
    assert page.post(wording, {"pay-how": "x" * 2001, "pay-asked": ASKED}).status_code == 400


def test_another_campaign_answers_no_note_of_this_one(
    campaign: Campaign, alice: Worker, collection: Collection, page: Client
) -> None:
    done = factories.do(alice, campaign)
    note = worker_reports.note_write(assignment_id=done.pk, text="Hello", at=timezone.now(), about_pay=True)
    other = factories.campaign(collection, "other")
    answer = page.post(reverse("review:reports", args=[other.pk]), {"note": note.pk, "answer": "No."})
    assert answer.status_code == 404
    note.refresh_from_db()
    assert (note.answer, note.read_at) == ("", None)

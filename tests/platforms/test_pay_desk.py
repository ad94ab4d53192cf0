"""Everybody who is owed is on one page, whatever they came by; whom no platform pays is marked as paid, once."""

import csv
import io
import json
import random
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import AuditEntry, User
from judgments import services as judgment_services
from judgments.watching import campaign_watch
from platforms.models import HandPayment, Payment, Publication, PublishedHit, Submission
from platforms.money import pay_desk
from platforms.publishing.costs import campaign_costs
from pools.models import Campaign
from protection.campaign_erasing import whole_plan
from protection.erasing import personal_data, worker_erase
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests import factories
from tests.worlds import lay_out


@pytest.fixture
def campaign(collection: Collection) -> Campaign:
    lay_out(
        f"an open campaign of collection {collection.pk} that asks two workers",
        lambda: factories.campaign(collection, pairs_per_hit=3, overlap=2, reward=Decimal("2.00")),
    )
    return Campaign.objects.get(collection=collection, name="pilot")


@pytest.fixture
def work(campaign: Campaign) -> list[Assignment]:
    """Ada finished two tasks, and Ben left one after two answers."""
    ada, ben = (factories.worker(campaign, name) for name in ("Ada", "Ben"))
    finished = [factories.do(ada, campaign) for _task in range(2)]
    left = factories.take(ben, campaign)
    factories.judge(left, only=[1, 2])
    return [*finished, judgment_services.assignment_leave(assignment=left, at=timezone.now())]


class Desk:
    """The page on which Rita pays for the campaign's work."""

    def __init__(self, page: Client, campaign: Campaign) -> None:
        self.page, self.campaign = page, campaign
        self.address = reverse("platforms:pay", args=[campaign.pk])

    def get(self, **filters: str) -> Any:
        return self.page.get(self.address, filters)

    def receipts(self, **filters: str) -> set[str]:
        return {row.receipt for row in self.get(**filters).context["listing"].page}

    def mark(self, act: str, *rows: Assignment, expected: str = "0") -> int:
        """Mark the work as paid, or not; the status of the answer."""
        sent = {"act": act, "row": [row.pk for row in rows], "expected": expected, "note": "transfer 17"}
        return self.page.post(self.address, sent).status_code

    def assert_sums(self, *, owed: Decimal, paid: Decimal) -> None:
        """Owed = paid + to be paid, and the same wherever it is shown."""
        cache.clear()  # the overview's count is some seconds old where only a platform has paid
        desk, overview = self.get(show="all"), reverse("campaigns:campaign", args=[self.campaign.pk])
        (cost,) = self.page.get(reverse("platforms:costs")).context["rows"]
        pages = (reverse("review:worker", args=[self.campaign.pk, worker.pk]) for worker in workers_of(self.campaign))
        assert_same(
            self.campaign,
            (owed, paid, owed - paid),
            desk=desk.context["desk"],
            rows=desk.context["listing"].rows,
            cost=cost,
            watched=self.page.get(overview).context["cost"],
            each=[self.page.get(address).context["pay"] for address in pages],
        )


@pytest.fixture
def desk(page: Client, campaign: Campaign) -> Desk:
    return Desk(page, campaign)


def assert_computed_sums(campaign: Campaign, *, owed: Decimal, paid: Decimal) -> None:
    """The same of what these pages ask for, without the pages."""
    campaign = Campaign.objects.get(pk=campaign.pk)
    cache.clear()
    (cost,) = campaign_costs([campaign])
    assert_same(
        campaign,
        (owed, paid, owed - paid),
        desk=pay_desk.desk_of(campaign),
        rows=pay_desk.assignments_owed(campaign),
        cost=cost,
        watched=campaign_watch(campaign, timezone.now()).cost,
        each=[pay_desk.sums_of_work(worker.assignments.filter(campaign=campaign)) for worker in workers_of(campaign)],
    )


def assert_same(
    campaign: Campaign, sums: tuple[Decimal, ...], *, desk: Any, rows: Any, cost: Any, watched: Any, each: list[Any]
) -> None:
    both = desk.by_hand.plus(desk.by_platform)
    assert (both.owed, both.paid, both.to_pay) == sums
    assert (sum(line.due for line in rows), sum(line.paid for line in rows)) == sums[:2]
    assert (cost.amounts.owed, cost.amounts.paid, cost.amounts.outstanding) == sums
    assert (watched.owed, watched.paid, watched.to_pay) == sums
    assert whole_plan(campaign, at=timezone.now()).owed == desk.by_hand.to_pay
    assert (sum(pay.owed for pay in each), sum(pay.paid for pay in each)) == sums[:2]


def workers_of(campaign: Campaign) -> QuerySet[Worker]:
    return Worker.objects.filter(assignments__campaign=campaign).distinct()


def test_everybody_whom_no_platform_pays_is_listed_with_receipt_and_sum(desk: Desk, work: list[Assignment]) -> None:
    owed = sum(row.owed for row in work)
    assert work[2].owed > 0
    assert desk.receipts() == {row.receipt for row in work}
    desk.assert_sums(owed=owed, paid=Decimal(0))


def test_whom_a_platform_pays_is_on_the_list_and_is_not_marked_by_hand(
    desk: Desk, campaign: Campaign, work: list[Assignment]
) -> None:
    Assignment.objects.filter(pk=work[0].pk).update(platform_assignment_id="3PLATFORM")
    publication = Publication.objects.create(campaign=campaign, platform="mturk", state="open", title="Compare")
    owed = sum(row.owed for row in work)
    assert desk.receipts(payer="platform") == {work[0].receipt}  # before anything is booked
    desk.assert_sums(owed=owed, paid=Decimal(0))
    desk.mark("pay", *work[:2])
    desk.assert_sums(owed=owed, paid=work[1].owed)
    booked = {"publication": publication, "assignment": work[0], "fee": 0, "owed_at": timezone.now()}
    Payment.objects.create(purpose="reward", amount=Decimal("0.10"), state="paid", paid_at=timezone.now(), **booked)
    Payment.objects.create(purpose="bonus", amount=Decimal("1.90"), state="sent", **booked)
    desk.assert_sums(owed=owed, paid=work[1].owed + Decimal("0.10"))
    assert desk.receipts(payer="lab") == {work[2].receipt}
    assert desk.mark("pay-all", expected=str(work[2].owed)) == 303
    desk.assert_sums(owed=owed, paid=owed - Decimal("1.90"))


def test_what_is_marked_as_paid_is_paid_once_however_often_it_is_marked(desk: Desk, work: list[Assignment]) -> None:
    owed = sum(row.owed for row in work)
    for _press in range(2):
        assert desk.mark("pay", work[0]) == 303
    desk.assert_sums(owed=owed, paid=work[0].owed)
    assert desk.receipts() == {work[1].receipt, work[2].receipt}

    rest = owed - work[0].owed
    for _press in range(2):
        assert desk.mark("pay-all", expected=str(rest)) == 303
    desk.assert_sums(owed=owed, paid=owed)
    assert HandPayment.objects.count() == 3
    assert desk.receipts() == set()
    assert desk.receipts(show="paid") == {row.receipt for row in work}


def test_all_are_marked_only_for_the_sum_that_was_shown(desk: Desk, work: list[Assignment]) -> None:
    assert desk.mark("pay-all", expected="1.00") == 409
    assert not HandPayment.objects.exists()


@pytest.mark.parametrize("wrong", [{"paid_on": "2999-01-01"}, {"paid_on": "soon"}, {"note": "x" * 201}, {"act": "x"}])
def test_a_payment_has_a_day_that_has_come_and_a_short_note(
    desk: Desk, work: list[Assignment], wrong: dict[str, str]
) -> None:
    sent = {"act": "pay", "row": work[0].pk, "expected": "0", "paid_on": "2026-11-02", "note": "transfer 17"}
    assert desk.page.post(desk.address, sent | wrong).status_code == 400
    assert not HandPayment.objects.exists()
    assert desk.page.post(desk.address, sent).status_code == 303
    row = HandPayment.objects.get()
    assert (row.paid_on, row.note, row.amount) == (date(2026, 11, 2), "transfer 17", work[0].owed)


def test_what_was_marked_by_mistake_is_to_be_paid_again_and_all_of_it_stays_on_record(
    desk: Desk, work: list[Assignment], rita: User
) -> None:
    owed = sum(row.owed for row in work)
    desk.mark("pay", *work)
    for _press in range(2):
        desk.mark("take-back", work[1])
    desk.assert_sums(owed=owed, paid=owed - work[1].owed)
    assert desk.receipts() == {work[1].receipt}
    desk.mark("pay", work[1])
    desk.assert_sums(owed=owed, paid=owed)
    rows = work[1].hand_payments.order_by("number")
    assert [(row.number, row.amount, row.by) for row in rows] == [
        (1, work[1].owed, rita), (2, -work[1].owed, rita), (3, work[1].owed, rita),
    ]  # fmt: skip
    entry = AuditEntry.objects.filter(subject="platforms_handpayment").latest("id")
    assert (entry.actor_id, entry.worker_id) == (rita.pk, work[1].worker_id)
    assert "transfer 17" not in str(entry.changes)
    for change in (lambda: rows.update(amount=1), lambda: rows.update(note="x"), lambda: rows.delete()):
        with pytest.raises(DatabaseError, match="never changed or deleted"), transaction.atomic():
            change()


def test_a_receipt_is_found_whether_it_is_paid_or_not(desk: Desk, work: list[Assignment]) -> None:
    desk.mark("pay", work[0])
    for row in work[:2]:
        assert desk.receipts(receipt=f" {row.receipt.lower()} ") == {row.receipt}
    assert desk.receipts(receipt="0000-0000-0000") == set()


def test_the_list_can_be_had_as_a_file_that_says_nobodys_name(desk: Desk, work: list[Assignment]) -> None:
    desk.mark("pay", work[0])
    answer = desk.get(csv="list", show="all")
    text = b"".join(answer.streaming_content).decode()
    rows = {row["receipt"]: row for row in csv.DictReader(io.StringIO(text))}
    assert (rows[work[0].receipt]["paid"], rows[work[0].receipt]["to_be_paid"]) == ("2.00", "0.00")
    assert (rows[work[1].receipt]["to_be_paid"], rows[work[1].receipt]["currency"]) == ("2.00", "USD")
    assert "Ada" not in text


def test_a_campaign_marks_only_its_own_work(page: Client, collection: Collection, work: list[Assignment]) -> None:
    other = factories.campaign(collection, "other")
    Desk(page, other).mark("pay", *work)
    assert not HandPayment.objects.exists()


def test_payments_stay_when_a_worker_is_erased_and_are_in_what_is_stored_of_them(
    desk: Desk, work: list[Assignment]
) -> None:
    desk.mark("pay", work[0])
    worker = Worker.objects.get(pk=work[0].worker_id)
    (stored,) = personal_data(worker)["payments_by_the_lab"]
    assert (stored["assignment_id"], stored["amount"]) == (work[0].pk, Decimal("2.00"))
    assert stored["note"] == "transfer 17"
    worker_erase(worker=worker, at=timezone.now(), write_off=True)
    left = HandPayment.objects.get()
    assert (left.amount, left.note) == (Decimal("2.00"), "")
    assert desk.get(show="all").status_code == 200


def test_what_is_written_off_with_its_worker_is_not_to_be_paid_any_more(desk: Desk, work: list[Assignment]) -> None:
    desk.mark("pay", work[0])
    worker_erase(worker=Worker.objects.get(pk=work[0].worker_id), at=timezone.now(), write_off=True)
    desk.assert_sums(owed=work[0].owed + work[2].owed, paid=work[0].owed)
    assert desk.receipts() == {work[2].receipt}
    everybody = desk.get(show="all")
    assert "$2.00 written off" in everybody.text
    assert {row.pk: row.written_off for row in everybody.context["listing"].page} == {
        work[0].pk: 0,
        work[1].pk: Decimal("2.00"),
        work[2].pk: 0,
    }
    expected = everybody.context["desk"].by_hand.to_pay
    desk.mark("pay-all", expected=str(expected))
    assert sum(HandPayment.objects.values_list("amount", flat=True)) == work[0].owed + work[2].owed


def test_a_campaign_whose_workers_were_paid_is_not_erased_whole(
    desk: Desk, campaign: Campaign, work: list[Assignment]
) -> None:
    def is_obstacle() -> bool:
        return any("Payments to its workers" in text for text in whole_plan(campaign, at=timezone.now()).obstacles)

    assert not is_obstacle()
    desk.mark("pay", work[0])
    assert is_obstacle()


def test_before_anybody_is_owed_anything_the_page_says_what_will_be_there(desk: Desk) -> None:
    assert "appears here as soon as" in desk.get().content.decode()


def test_the_list_of_work_says_what_became_of_the_pay_that_no_platform_pays(
    desk: Desk, page: Client, campaign: Campaign, work: list[Assignment]
) -> None:
    work.append(factories.take(factories.worker(campaign, "Cara"), campaign))
    desk.mark("pay", work[0])

    def shown(**filters: str) -> dict[int, str]:
        rows = page.get(reverse("review:work", args=[campaign.pk]), filters).context["rows"]
        return {row.assignment.pk: row.pay for row in rows}

    unpaid = "to be paid"
    assert [shown()[row.pk] for row in work] == ["paid", unpaid, unpaid, ""]
    assert shown(pay="paid") == {work[0].pk: "paid"}
    assert set(shown(pay="lab")) == {work[1].pk, work[2].pk}
    assert shown(pay="none") == {}
    assert set(shown(sort="pay")) == {row.pk for row in work}
    desk.mark("take-back", work[0])
    assert shown()[work[0].pk] == unpaid


def test_what_it_takes_to_find_who_is_owed_grows_no_faster_than_the_work_of_one_worker_on_one_hit(
    campaign: Campaign,
) -> None:
    ada, hit = factories.worker(campaign, "Ada"), campaign.hits.order_by("number")[0]
    now = timezone.now()

    def rows_read(upto: int) -> int:
        have = Assignment.objects.count()
        Assignment.objects.bulk_create(
            Assignment(
                campaign=campaign, hit=hit, worker=ada, taken_at=now, leased_until=now, finished_at=now, state="left",
                platform_assignment_id=f"3{number}", owed=1, receipt=f"{number}", verdict="unchecked",
            )
            for number in range(have, upto)
        )  # fmt: skip
        factories.analyze()
        plan = pay_desk.assignments_owed(campaign).explain(format="json", analyze=True)
        return sum(map(read_in, (entry["Plan"] for entry in json.loads(plan))))

    def read_in(node: dict[str, Any]) -> int:
        removed = sum(count for name, count in node.items() if name.startswith("Rows Removed"))
        return int((node["Actual Rows"] + removed) * node["Actual Loops"]) + sum(map(read_in, node.get("Plans", [])))

    few, many = rows_read(100), rows_read(400)
    assert many < 6 * few


# --- whatever happens


class Books:
    """A campaign where people by a link and at a platform do what they please, and a count by hand of who is owed what:
    by assignment, what is due and what is paid.
    """

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.campaign, self.random = desk, desk.campaign, random.Random(seed)
        self.publication = Publication.objects.create(
            campaign=self.campaign, platform="mturk", state="open", title="Compare"
        )
        self.due: dict[int, Decimal] = {}
        self.paid: dict[int, Decimal] = {}
        self.there: set[int] = set()  # at the platform, and not decided on
        self.people = 0

    def one_of(self, keys: set[int]) -> Assignment | None:
        return Assignment.objects.get(pk=self.random.choice(sorted(keys))) if keys else None

    def work(self) -> None:
        """Somebody new finishes a task, or leaves it after some answers, by the link or at the platform."""
        self.people += 1
        try:
            work = factories.take(factories.worker(self.campaign, f"worker {self.people}"), self.campaign)
        except task_services.NoWork:
            return
        at_platform = self.random.random() < 0.5
        if at_platform:
            Assignment.objects.filter(pk=work.pk).update(platform_assignment_id=f"3{work.pk}")
        if self.random.random() < 0.6:
            factories.judge(work)
            ended = judgment_services.assignment_finish(assignment=work, at=timezone.now())
        else:
            factories.judge(work, only=range(1, self.random.randint(1, 3)))
            ended = judgment_services.assignment_leave(assignment=work, at=timezone.now())
        self.due[ended.pk], self.paid[ended.pk] = ended.owed, Decimal(0)
        self.there |= {ended.pk} if at_platform else set()

    def book(self) -> None:
        """The platform books a reward and perhaps a bonus, or the lab rejects."""
        if (row := self.one_of(self.there)) is None:
            return
        self.there.remove(row.pk)
        if self.random.random() < 0.3:
            hit = PublishedHit.objects.create(
                publication=self.publication, hit=row.hit, platform_hit_id=f"H{row.pk}", max_assignments=1
            )
            Submission.objects.create(
                publication=self.publication, published_hit=hit, assignment=row, submitted_at=timezone.now(),
                platform_assignment_id=f"3{row.pk}", status="Rejected", decision="reject",
            )  # fmt: skip
            self.due[row.pk] = Decimal(0)
            return
        self.due[row.pk] = Decimal(0)
        for purpose, amount in (("reward", Decimal("0.10")), ("bonus", row.owed)):
            if not amount:
                continue
            state = self.random.choice(["owed", "sent", "paid", "refused"])
            Payment.objects.create(
                publication=self.publication, assignment=row, purpose=purpose, amount=amount, fee=Decimal("0.02"),
                state=state, owed_at=timezone.now(), paid_at=timezone.now() if state == "paid" else None,
            )  # fmt: skip
            self.due[row.pk] += amount if state != "refused" else 0
            self.paid[row.pk] += amount if state == "paid" else 0

    def mark(self) -> None:
        """The lab marks some as paid, or says that they were not."""
        keys = self.random.sample(sorted(self.due), min(len(self.due), 3))
        act = self.random.choice(["pay", "take-back"])
        self.desk.mark(act, *Assignment.objects.filter(pk__in=keys))
        for row in Assignment.objects.filter(pk__in=keys, platform_assignment_id=""):
            self.paid[row.pk] = self.due[row.pk] if act == "pay" else Decimal(0)

    def mark_all(self) -> None:
        by_hand = Assignment.objects.filter(pk__in=self.due, platform_assignment_id="").values_list("pk", flat=True)
        rest = sum((self.due[key] - self.paid[key] for key in by_hand), Decimal(0))
        assert self.desk.mark("pay-all", expected=str(rest)) == 303
        self.paid |= {key: self.due[key] for key in by_hand}


@pytest.mark.parametrize("seed", [1, 9])  # payments that a platform refused, and work that the lab rejected, among them
def test_whatever_happens_owed_is_paid_and_to_be_paid_on_every_page(desk: Desk, campaign: Campaign, seed: int) -> None:
    books = Books(desk, seed)
    for _step in range(10):
        books.random.choice([books.work, books.work, books.work, books.book, books.mark, books.mark_all])()
        owed, paid = sum(books.due.values(), Decimal(0)), sum(books.paid.values(), Decimal(0))
        assert_computed_sums(campaign, owed=owed, paid=paid)
    desk.assert_sums(owed=owed, paid=paid)
    sums = {row.pk: (row.due, row.paid) for row in pay_desk.assignments_owed(campaign)}
    assert sums == {key: (due, books.paid[key]) for key, due in books.due.items() if due or books.paid[key]}


def test_work_is_booked_once_all_of_it_is_paid_and_not_once_that_is_taken_back(
    campaign: Campaign, work: list[Assignment], rita: User
) -> None:
    at = timezone.now()
    paying = {"campaign": campaign, "by": rita, "at": at}
    marked = pay_desk.payments_mark(chosen=[work[0].pk, work[2].pk], expected=Decimal(0), paid_on=at.date(), **paying)
    booked = set(Assignment.objects.filter(is_booked=True))
    pay_desk.payments_take_back(chosen=[work[2].pk], **paying)

    assert marked.assignments == 2
    assert booked == {work[0], work[2]}
    assert set(Assignment.objects.filter(is_booked=True)) == {work[0]}
    assert factories.wrongly_booked() == []
    assert pay_desk.desk_of(campaign).waiting == 2


def test_work_at_a_platform_is_booked_while_a_payment_for_it_is_stored(
    campaign: Campaign, work: list[Assignment]
) -> None:
    at = timezone.now()
    publication = Publication.objects.create(campaign=campaign, platform="marketplace", title="t", description="d")
    Assignment.objects.update(platform_assignment_id=F("receipt"))
    money = {"amount": Decimal("1.00"), "fee": Decimal(0), "owed_at": at}

    def booked() -> list[Assignment]:
        return list(Assignment.objects.filter(is_booked=True))

    payment = Payment.objects.create(publication=publication, assignment=work[0], purpose="reward", **money)
    Payment.objects.create(publication=publication, assignment=work[0], purpose="bonus", **money)
    assert booked() == [work[0]]
    payment.delete()
    assert booked() == [work[0]]
    Payment.objects.update(assignment=work[1])
    assert booked() == [work[1]]
    Payment.objects.all().delete()
    assert booked() == []
    assert pay_desk.sums_of(campaign).owed == sum(each.owed for each in work)

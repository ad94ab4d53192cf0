"""Money, to the cent: holds, fees, payments, bonuses, and a ledger that cannot be changed."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import psycopg2
import pytest

from marketplace.money import bonus_fee, reward_fee
from tests.marketplace.conftest import refusing
from tests.marketplace.server import HTML_QUESTION, Marketplace, Requester, Worker, hit_type_facts


@pytest.mark.parametrize(
    ("reward", "assignments", "fee"),
    [
        ("2.00", 1, "0.40"),
        ("2.00", 9, "0.40"),
        ("2.00", 10, "0.80"),
        ("0.01", 1, "0.01"),
        ("0.01", 10, "0.01"),
        ("0.12", 1, "0.02"),
        ("0.13", 1, "0.03"),  # 2.6 cents
        ("0.00", 1, "0.00"),
    ],
)
def test_the_fee_is_a_fifth_and_another_fifth_from_ten_assignments(reward: str, assignments: int, fee: str) -> None:
    assert reward_fee(Decimal(reward), assignments) == Decimal(fee)


def test_the_fee_of_a_bonus_is_a_fifth() -> None:
    assert [bonus_fee(Decimal(text)) for text in ("0.01", "0.92", "10.00")] == [
        Decimal("0.01"),
        Decimal("0.18"),
        Decimal("2.00"),
    ]


def test_what_a_hit_can_cost_is_held(rosa: Requester) -> None:
    rosa.hit(Reward="2.00", MaxAssignments=3)
    assert rosa.money() == ("992.80", "7.20")

    rosa.hit(Reward="2.00", MaxAssignments=10)
    assert rosa.money() == ("964.80", "35.20")


def test_a_hit_that_cannot_be_paid_is_not_made(marketplace: Marketplace) -> None:
    poor = marketplace.requester(deposit="2.39")

    with refusing("InsufficientFunds", "$2.40 needed, $2.39 available"):
        poor.hit(Reward="2.00")

    assert poor.client.list_hits()["NumResults"] == 0
    assert poor.money() == ("2.39", "0.00")


def test_of_many_hits_at_once_only_those_that_can_be_paid_are_made(marketplace: Marketplace) -> None:
    poor = marketplace.requester(deposit="3.60")

    def make(_: int) -> bool:
        client = marketplace.client(poor.key_id, poor.secret)
        try:
            poor_hit(client)
        except client.exceptions.RequestError:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        count = sum(pool.map(make, range(6)))

    assert count == 3
    assert poor.money() == ("0.00", "3.60")


def poor_hit(client: object) -> None:
    """A HIT of $1.20."""
    client.create_hit(LifetimeInSeconds=60, Question=HTML_QUESTION, **hit_type_facts())


def test_unused_places_give_their_money_back(
    marketplace: Marketplace, rosa: Requester, wanda: Worker, will: Worker
) -> None:
    hit_id = rosa.hit(MaxAssignments=4)["HITId"]
    approved, rejected = wanda.do(hit_id), will.do(hit_id)
    rosa.client.approve_assignment(AssignmentId=approved)
    assert rosa.money() == ("995.20", "3.60")
    rosa.client.reject_assignment(AssignmentId=rejected, RequesterFeedback="No")
    assert rosa.money() == ("996.40", "2.40")

    marketplace.advance(hours=2)

    assert rosa.money() == ("998.80", "0.00")


def test_a_bonus_without_a_reason_is_paid(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit()["HITId"])

    rosa.client.send_bonus(AssignmentId=assignment_id, WorkerId=wanda.id, BonusAmount="0.10", Reason="")

    (paid,) = rosa.client.list_bonus_payments(AssignmentId=assignment_id)["BonusPayments"]
    assert (paid["BonusAmount"], paid["Reason"]) == ("0.10", "")


def test_a_bonus_is_paid_with_its_fee_and_once_for_each_token(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    assignment_id = wanda.do(hit_id)
    bonus = {
        "WorkerId": wanda.id,
        "AssignmentId": assignment_id,
        "BonusAmount": "0.92",
        "Reason": "6 of 13 pairs",
        "UniqueRequestToken": "bonus 1",
    }

    first = rosa.client.send_bonus(**bonus)
    with refusing("DuplicateRequest", first["ResponseMetadata"]["RequestId"]):
        rosa.client.send_bonus(**bonus)

    assert rosa.money() == ("997.70", "1.20")
    (paid,) = rosa.client.list_bonus_payments(HITId=hit_id)["BonusPayments"]
    assert rosa.client.list_bonus_payments(AssignmentId=assignment_id)["BonusPayments"] == [paid]
    assert (paid["WorkerId"], paid["BonusAmount"], paid["Reason"]) == (wanda.id, "0.92", "6 of 13 pairs")
    assert wanda.look()["earnings"] == {
        "rewards": "0.00",
        "bonuses": "0.92",
        "paid_out": "0.00",
        "pending": "1.00",
        "pending_bonus": "0.00",
        "owed": "0.92",
    }


def test_two_requests_with_one_token_at_once_pay_once(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit()["HITId"])

    def send(_: int) -> str:
        client = marketplace.client(rosa.key_id, rosa.secret)
        try:
            client.send_bonus(
                WorkerId=wanda.id,
                AssignmentId=assignment_id,
                BonusAmount="1.00",
                Reason="Good",
                UniqueRequestToken="at once",
            )
        except client.exceptions.RequestError as error:
            return str(error.response["TurkErrorCode"])
        return "paid"

    with ThreadPoolExecutor(6) as pool:
        outcomes = sorted(pool.map(send, range(6)))

    assert outcomes == ["AWS.MechanicalTurk.DuplicateRequest"] * 5 + ["paid"]
    assert wanda.look()["earnings"]["bonuses"] == "1.00"


def test_a_bonus_needs_money_a_worker_and_an_amount(marketplace: Marketplace, wanda: Worker, will: Worker) -> None:
    poor = marketplace.requester(deposit="2.39")
    hit_id = poor.hit()["HITId"]
    assignment_id = wanda.do(hit_id)
    bonus = {"WorkerId": wanda.id, "AssignmentId": assignment_id, "BonusAmount": "1.00", "Reason": "Good"}

    with refusing("InsufficientFunds"):
        poor.client.send_bonus(**bonus)
    with refusing("InvalidParameterValue", "not the worker"):
        poor.client.send_bonus(**bonus | {"WorkerId": will.id})
    with refusing("InvalidParameterValue", "BonusAmount"):
        poor.client.send_bonus(**bonus | {"BonusAmount": "0"})
    with refusing("InvalidParameterValue", "Either the HITId"):
        poor.client.list_bonus_payments()

    assert poor.client.list_bonus_payments(HITId=hit_id)["NumResults"] == 0
    assert poor.money() == ("1.19", "1.20")


def test_overriding_a_rejection_needs_money_again(marketplace: Marketplace, wanda: Worker) -> None:
    poor = marketplace.requester(deposit="1.20")
    assignment_id = wanda.do(poor.hit()["HITId"])
    poor.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")
    poor.hit()

    with refusing("InsufficientFunds"):
        poor.client.approve_assignment(AssignmentId=assignment_id, OverrideRejection=True)

    assert poor.assignment(assignment_id)["AssignmentStatus"] == "Rejected"
    assert poor.money() == ("0.00", "1.20")


def test_work_for_nothing_costs_nothing(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit(Reward="0")["HITId"])

    rosa.client.approve_assignment(AssignmentId=assignment_id)

    assert rosa.money() == ("1000.00", "0.00")


def test_the_ledger_adds_up_and_cannot_be_changed(
    marketplace: Marketplace, rosa: Requester, wanda: Worker, will: Worker
) -> None:
    hit_id = rosa.hit(Reward="0.13", MaxAssignments=12)["HITId"]
    first, second = wanda.do(hit_id), will.do(hit_id)
    rosa.client.approve_assignment(AssignmentId=first)
    rosa.client.reject_assignment(AssignmentId=second, RequesterFeedback="No")
    rosa.client.approve_assignment(AssignmentId=second, OverrideRejection=True)
    rosa.client.send_bonus(WorkerId=wanda.id, AssignmentId=first, BonusAmount="0.07", Reason="Good")

    connection = psycopg2.connect(marketplace.database.replace("postgres://", "postgresql://", 1))
    with connection, connection.cursor() as cursor:
        mine = (
            "FROM marketplace_entry WHERE requester_id = (SELECT id FROM marketplace_requester WHERE account_id = %s)"
        )
        cursor.execute(f"SELECT sum(available), sum(on_hold), count(*), max(number) {mine}", [rosa.account_id])
        available, on_hold, rows, newest = cursor.fetchone()
        cursor.execute(f"SELECT sum(earned) {mine}", [rosa.account_id])
        earned = cursor.fetchone()[0]
        cursor.execute("SELECT held FROM marketplace_hit WHERE hit_id = %s", [hit_id])
        sum_held = cursor.fetchone()[0]
        cursor.execute(
            "SELECT count(*) FROM marketplace_hit h WHERE held <> "
            "(SELECT coalesce(sum(on_hold), 0) FROM marketplace_entry e WHERE e.hit_id = h.id)"
        )
        astray = cursor.fetchone()[0]

    assert (f"{available:.2f}", f"{on_hold:.2f}") == rosa.money()
    assert rows == newest
    assert sum_held == on_hold == Decimal("0.18") * 10
    assert earned == Decimal("0.13") * 2 + Decimal("0.07")
    assert 1000 - available - on_hold - earned == Decimal("0.05") * 2 + Decimal("0.01")
    assert astray == 0
    for statement in ("UPDATE marketplace_entry SET available = 5", "DELETE FROM marketplace_entry"):
        with pytest.raises(psycopg2.DatabaseError, match="never changed"), connection, connection.cursor() as cursor:
            cursor.execute(statement)
    connection.close()

"""What the clock does, when something is in its way: one HIT's trouble is nobody else's."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.marketplace.conftest import refusing
from tests.marketplace.server import Marketplace, Requester, Worker

Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def ask(marketplace: Marketplace) -> Ask:
    """Runs a statement in the marketplace's database, behind its back, and returns the rows that it gives."""
    return marketplace.sql


@pytest.fixture
def damaged(marketplace: Marketplace, ask: Ask) -> Iterator[str]:
    """A HIT of some requester whose row says that more is held than its ledger does: it cannot end. Mended after."""
    hit_id = str(marketplace.requester().hit(LifetimeInSeconds=60)["HITId"])
    ask("UPDATE marketplace_hit SET held = held + 5000 WHERE hit_id = %s", hit_id)
    yield hit_id
    ask("UPDATE marketplace_hit SET held = 1.20 WHERE hit_id = %s AND held > 5000", hit_id)
    marketplace.test("clock", advance=7200)
    marketplace.test("tick")


def failures(ask: Ask, hit_id: str) -> list[tuple[Any, ...]]:
    """What is recorded of a HIT's failures: the step, how often it was tried, and the error."""
    return ask(
        "SELECT step, tries, error FROM marketplace_duefailure f JOIN marketplace_hit h ON h.id = f.hit_id"
        " WHERE h.hit_id = %s",
        hit_id,
    )


def raised(rosa: Requester, hit_id: str, reward: str) -> None:
    """Give the HIT a type with another reward."""
    rosa.client.update_hit_type_of_hit(HITId=hit_id, HITTypeId=rosa.hit_type(Reward=reward))


def retype(ask: Ask, hit_id: str, type_id: str) -> None:
    """Give the HIT another type without holding what that costs, as an earlier version did."""
    type_of = "(SELECT id FROM marketplace_hittype WHERE type_id = %s)"
    ask(f"UPDATE marketplace_hit SET hit_type_id = {type_of} WHERE hit_id = %s", type_id, hit_id)


# --- a slot that becomes free needs no new money


def test_a_price_is_not_raised_beyond_what_the_account_holds(marketplace: Marketplace, wanda: Worker) -> None:
    poor = marketplace.requester(deposit="1.20")
    hit = poor.hit()
    wanda.accept(hit["HITId"])

    with refusing("InsufficientFunds", "$598.80 needed, $0.00 available"):
        raised(poor, hit["HITId"], "500.00")

    assert poor.client.get_hit(HITId=hit["HITId"])["HIT"]["HITTypeId"] == hit["HITTypeId"]
    assert poor.money() == ("0.00", "1.20")


def test_a_raised_price_is_held_for_slots_in_use_until_they_cannot_become_free(
    marketplace: Marketplace, rosa: Requester, wanda: Worker, will: Worker
) -> None:
    hit_id = rosa.hit(MaxAssignments=2)["HITId"]
    mine, other = wanda.accept(hit_id), will.accept(hit_id)

    raised(rosa, hit_id, "5.00")
    assert rosa.money() == ("988.00", "12.00")

    will.give_back(other)
    assert rosa.money() == ("988.00", "12.00")
    wanda.submit(mine)  # and is paid what was promised
    assert rosa.money() == ("992.80", "7.20")
    marketplace.advance(hours=2)
    assert rosa.money() == ("998.80", "1.20")


def test_a_lowered_price_keeps_what_was_promised(rosa: Requester, wanda: Worker, will: Worker) -> None:
    hit_id = rosa.hit(MaxAssignments=2, Reward="5.00")["HITId"]
    mine = wanda.accept(hit_id)

    raised(rosa, hit_id, "1.00")
    assert rosa.money() == ("992.80", "7.20")

    wanda.give_back(mine)
    assert rosa.money() == ("997.60", "2.40")
    will.do(hit_id)
    assert rosa.money() == ("997.60", "2.40")


def test_a_hit_that_is_extended_again_needs_the_raised_price(marketplace: Marketplace, wanda: Worker) -> None:
    poor = marketplace.requester(deposit="1.20")
    hit_id = poor.hit(LifetimeInSeconds=60)["HITId"]
    wanda.accept(hit_id)
    marketplace.advance(seconds=61)
    raised(poor, hit_id, "5.00")  # of a HIT that is over, and so holds what it promised
    now = marketplace.test("clock")["now"]

    with refusing("InsufficientFunds", "$4.80 needed"):
        poor.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=now[:10] + "T23:59:59Z")

    assert poor.status(hit_id) == "Unassignable"
    assert poor.money() == ("0.00", "1.20")


def test_a_hit_that_an_earlier_version_left_short_of_money_ends_and_stops_nobody(
    marketplace: Marketplace, ask: Ask, omar: Requester, wanda: Worker, will: Worker
) -> None:
    poor = marketplace.requester(deposit="1.20")
    hit_id, type_id = poor.hit()["HITId"], poor.hit_type(Reward="500.00")
    mine = wanda.accept(hit_id)
    retype(ask, hit_id, type_id)

    wanda.give_back(mine)

    assert poor.status(hit_id) == "Reviewable"
    assert poor.money() == ("1.20", "0.00")
    assert will.cannot_accept(hit_id) == "This HIT is no longer available."
    assert failures(ask, hit_id) == []
    assert omar.money() == ("1000.00", "0.00")


def test_a_hit_that_an_earlier_version_left_short_goes_on_where_the_money_is_there(
    marketplace: Marketplace, ask: Ask, rosa: Requester, wanda: Worker, will: Worker
) -> None:
    hit_id, type_id = rosa.hit()["HITId"], rosa.hit_type(Reward="5.00")
    wanda.accept(hit_id)
    retype(ask, hit_id, type_id)

    marketplace.advance(seconds=601)

    assert rosa.status(hit_id) == "Assignable"
    assert rosa.money() == ("994.00", "6.00")
    will.do(hit_id)


def test_a_hit_that_an_earlier_version_left_short_ends_if_its_requester_is_deactivated(
    marketplace: Marketplace, ask: Ask, wanda: Worker
) -> None:
    rich = marketplace.requester()
    hit_id, type_id = rich.hit()["HITId"], rich.hit_type(Reward="5.00")
    mine = wanda.accept(hit_id)
    retype(ask, hit_id, type_id)
    ask("UPDATE marketplace_requester SET is_active = false WHERE account_id = %s", rich.account_id)

    wanda.give_back(mine)  # though nothing may be held for a requester that is not active

    assert ask("SELECT status, held FROM marketplace_hit WHERE hit_id = %s", hit_id) == [("Reviewable", 0)]


def test_slots_of_a_deactivated_requester_become_free_without_trouble(
    marketplace: Marketplace, ask: Ask, wanda: Worker
) -> None:
    poor = marketplace.requester(deposit="12.00")
    hit_id = poor.hit()["HITId"]
    wanda.accept(hit_id)
    raised(poor, hit_id, "5.00")
    ask("UPDATE marketplace_requester SET is_active = false WHERE account_id = %s", poor.account_id)

    marketplace.advance(seconds=601)
    marketplace.test("tick")

    assert failures(ask, hit_id) == []
    assert ask("SELECT status, held FROM marketplace_hit WHERE hit_id = %s", hit_id)[0][0] == "Reviewable"


# --- one HIT's trouble is nobody else's


def test_a_hit_that_cannot_end_stops_neither_programs_nor_people(
    marketplace: Marketplace, ask: Ask, damaged: str, rosa: Requester, wanda: Worker
) -> None:
    ends_too = rosa.hit(LifetimeInSeconds=60)["HITId"]
    mine = wanda.accept(rosa.hit()["HITId"])
    marketplace.advance(seconds=61)

    assert rosa.money() == ("998.80", "1.20")
    assert rosa.status(ends_too) == "Reviewable"
    assert wanda.submit(mine).status_code == 200
    assert marketplace.http.get("/tasks").status_code == 302
    assert ask("SELECT expired FROM marketplace_hit WHERE hit_id = %s", damaged) == [(False,)]


def test_what_fails_is_recorded_logged_and_tried_again_later_and_less_often(
    marketplace: Marketplace, ask: Ask, damaged: str, rosa: Requester
) -> None:
    marketplace.advance(seconds=61)
    for _ in range(3):
        rosa.money()
    ((step, tries, error),) = failures(ask, damaged)
    assert (step, tries) == ("expire", 1)
    assert "entry_hold_covered" in error
    assert "What was due on HIT" in marketplace.log()

    marketplace.advance(seconds=61)
    rosa.money()
    assert failures(ask, damaged)[0][1] == 2
    marketplace.advance(seconds=61)
    rosa.money()
    assert failures(ask, damaged)[0][1] == 2

    ask("UPDATE marketplace_hit SET held = 1.20 WHERE hit_id = %s", damaged)
    marketplace.advance(seconds=61)
    rosa.money()
    assert failures(ask, damaged) == []
    assert ask("SELECT expired, status, held FROM marketplace_hit WHERE hit_id = %s", damaged)[0][:2] == (
        True,
        "Reviewable",
    )


def test_tick_survives_a_hit_that_cannot_end(marketplace: Marketplace, ask: Ask, damaged: str, rosa: Requester) -> None:
    ends_too = rosa.hit(LifetimeInSeconds=60)["HITId"]
    marketplace.advance(seconds=61)

    assert "due" in marketplace.run("tick")

    assert ask("SELECT status FROM marketplace_hit WHERE hit_id = %s", ends_too) == [("Reviewable",)]
    assert len(failures(ask, damaged)) == 1


def test_a_failure_is_forgotten_when_nothing_is_due_there_any_more(
    marketplace: Marketplace, ask: Ask, damaged: str, rosa: Requester
) -> None:
    marketplace.advance(seconds=61)
    rosa.money()
    assert len(failures(ask, damaged)) == 1
    ask("UPDATE marketplace_hit SET held = 1.20, expires_at = expires_at + interval '1 day' WHERE hit_id = %s", damaged)

    marketplace.advance(seconds=61)
    marketplace.test("tick")

    assert failures(ask, damaged) == []


def test_a_request_does_a_part_of_what_a_long_outage_left(marketplace: Marketplace, ask: Ask, rosa: Requester) -> None:
    hit_id = rosa.hit(LifetimeInSeconds=60, Reward="0")["HITId"]
    columns = (
        "requester_id, hit_type_id, question, annotation, max_assignments, created_at, expires_at, expired, status,"
        " n_accepted, n_submitted, n_approved, n_rejected, held"
    )
    ask(
        f"INSERT INTO marketplace_hit (hit_id, {columns}) SELECT hit_id || n, {columns} FROM marketplace_hit,"
        " generate_series(1, 250) n WHERE hit_id = %s",
        hit_id,
    )
    left = "SELECT count(*) FROM marketplace_hit WHERE NOT expired AND starts_with(hit_id, %s)"
    marketplace.advance(seconds=61)

    rosa.money()
    assert ask(left, hit_id) == [(151,)]
    marketplace.test("tick")
    assert ask(left, hit_id) == [(0,)]


def test_work_that_is_due_is_not_taken_though_its_turn_has_not_come(
    marketplace: Marketplace, ask: Ask, damaged: str, wanda: Worker
) -> None:
    marketplace.advance(seconds=61)

    assert wanda.cannot_accept(damaged) == "This HIT is no longer available."
    assert damaged not in wanda.finds()


# --- prices near the limits


def test_a_hit_beyond_any_account_is_refused_and_not_a_fault(rosa: Requester) -> None:
    with refusing("InsufficientFunds", "$13990000000.00 needed, $1000.00 available"):
        rosa.hit(Reward="9.99", MaxAssignments=1_000_000_000)
    with refusing("InsufficientFunds"):
        rosa.hit(Reward="99999.99", MaxAssignments=1_000_000_000)

    assert rosa.client.list_hits()["NumResults"] == 0
    assert rosa.money() == ("1000.00", "0.00")


def test_a_hit_is_not_changed_beyond_any_account(rosa: Requester) -> None:
    hit_id = rosa.hit(Reward="0", MaxAssignments=1_000_000_000)["HITId"]

    with refusing("InsufficientFunds"):
        raised(rosa, hit_id, "99999.99")
    cheap = rosa.hit(Reward="9.99", MaxAssignments=10)["HITId"]
    before = rosa.money()
    with refusing("InsufficientFunds"):
        rosa.client.create_additional_assignments_for_hit(HITId=cheap, NumberOfAdditionalAssignments=999_999_990)

    assert rosa.money() == before


def test_no_account_holds_more_than_a_row_of_the_ledger_takes(marketplace: Marketplace, rosa: Requester) -> None:
    for amount in ("9999999999.99", "99999999999", "1E+25"):
        answer: httpx.Response = marketplace.http.post(
            "/test/deposit", json={"account_id": rosa.account_id, "amount": amount}
        )
        assert answer.status_code == 400, answer.text

    assert rosa.money() == ("1000.00", "0.00")

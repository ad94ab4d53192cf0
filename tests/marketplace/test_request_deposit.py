"""A requester asks the operator for money with one press; the operator grants it with one, once and as it was shown."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.marketplace.people import OPERATOR, Person, market, people, rosa
from tests.marketplace.server import Marketplace, Requester
from tests.marketplace.test_list_messages import ask

__all__ = ["market", "people", "rosa"]

PATH, TARGET = "/extensions/request-deposit", "BestknownMarketplace.RequestDeposit"
ACTION = re.compile(r'action="(/operator/deposit-requests/\d+)".*?name="amount" value="([\d.]+)"')


@pytest.fixture
def olga(people: Marketplace) -> Iterator[Person]:
    person = Person(people, OPERATOR)
    yield person
    for path, _amount in ACTION.findall(person.get("/operator/").text):
        person.post(path, decision="decline")
    person.http.close()


def request_money(people: Marketplace, requester: Requester, amount: object, reason: object = "A") -> httpx.Response:
    return ask(people, requester, {"Amount": amount, "Reason": reason}, PATH, TARGET)


def test_what_a_requester_asks_for_is_booked_when_the_operator_grants_it_and_only_once(
    people: Marketplace, olga: Person
) -> None:
    rosa = people.requester("5.00")
    assert request_money(people, rosa, "20.12", "Best answers").json() == {"Amount": "20.12"}
    assert rosa.money()[0] == "5.00"
    text = olga.get("/operator/").text
    assert "Best answers" in text and rosa.name in text
    ((path, amount),) = ACTION.findall(text)

    assert olga.post(path, decision="grant", amount=amount).status_code == 303
    assert olga.post(path, decision="grant", amount=amount).status_code == 409

    assert rosa.money()[0] == "25.12"
    assert "Best answers" not in olga.get("/operator/").text.partition("Latest actions")[0]
    assert olga.get(f"/operator/audit?words={rosa.account_id}").text.count("deposit</th>") == 1


def test_asking_again_replaces_the_amount_and_what_was_not_shown_is_not_granted(
    people: Marketplace, olga: Person
) -> None:
    rosa = people.requester("5.00")
    request_money(people, rosa, "20.00")
    ((path, actions),) = ACTION.findall(olga.get("/operator/").text)
    request_money(people, rosa, "30.00")

    assert olga.post(path, decision="grant", amount=actions).status_code == 409
    assert rosa.money()[0] == "5.00"
    assert ACTION.findall(olga.get("/operator/").text) == [(path, "30.00")]


def test_what_is_declined_books_nothing(people: Marketplace, olga: Person) -> None:
    rosa = people.requester("5.00")
    request_money(people, rosa, "20.00")
    ((path, amount),) = ACTION.findall(olga.get("/operator/").text)

    assert olga.post(path, decision="decline").status_code == 303
    assert olga.post(path, decision="grant", amount=amount).status_code == 409

    assert rosa.money()[0] == "5.00"
    assert "decline deposit" in olga.get(f"/operator/audit?words={rosa.account_id}").text


@pytest.mark.parametrize("amount", ["0", "-1.00", "1.001", "NaN", "much", "999999999999.00", "1e2000000", 5, None])
def test_what_is_no_amount_is_refused(people: Marketplace, rosa: Requester, amount: object) -> None:
    assert request_money(people, rosa, amount).json()["__type"] == "RequestError"


@pytest.mark.parametrize("reason", ["", "x" * 201, None])
def test_a_request_says_what_the_money_is_for(people: Marketplace, rosa: Requester, reason: object) -> None:
    assert request_money(people, rosa, "1.00", reason).json()["__type"] == "RequestError"

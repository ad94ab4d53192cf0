"""How often something may be done: by address, by account and by key, counted by all web processes together."""

import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import psycopg2
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from tests.marketplace.conftest import refusing
from tests.marketplace.people import PASSWORD
from tests.marketplace.server import Marketplace, Requester

ADDRESS = "X-Real-IP"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace behind a proxy that names the client's address, with few API requests a second."""
    running = Marketplace(
        tmp_path_factory.mktemp("guarded"),
        MARKETPLACE_CLIENT_ADDRESS_HEADER="HTTP_X_REAL_IP",
        MARKETPLACE_API_RATE="2",
    )
    yield running
    running.stop()


def early_in(span: int) -> None:
    """Wait until no span of so many seconds ends soon."""
    if (left := span - time.time() % span) < 8:
        time.sleep(left + 0.1)


def tried(marketplace: Marketplace, path: str, address: str, **fields: str) -> int:
    """The answer's status of a form sent by a new visitor at that address, to whichever process takes it."""
    with httpx.Client(base_url=marketplace.url, headers={ADDRESS: address}, trust_env=False, verify=False) as client:
        client.get("/login")
        return client.post(path, data=fields, headers={"X-CSRFToken": client.cookies["marketplace_csrf"]}).status_code


def login(marketplace: Marketplace, address: str, email: str, password: str = "wrong") -> int:
    """The status of a try to log in."""
    return tried(marketplace, "/login", address, username=email, password=password)


def test_tries_for_one_account_are_limited_wherever_they_come_from(guarded: Marketplace) -> None:
    guarded.test("worker", email="target@example.org", password=PASSWORD)
    early_in(60)

    statuses = [login(guarded, f"192.0.2.{number}", "Target@example.org") for number in range(11)]

    assert statuses == [200] * 10 + [429]
    assert login(guarded, "192.0.2.99", "target@example.org", PASSWORD) == 429
    assert login(guarded, "192.0.2.99", "another@example.org") == 200


def test_the_owner_of_an_account_gets_in_from_their_own_browser_while_somebody_tries_passwords(
    guarded: Marketplace,
) -> None:
    guarded.test("worker", email="owner@example.org", password=PASSWORD)
    early_in(60)
    form = {"username": "owner@example.org", "password": PASSWORD}
    headers = {ADDRESS: "192.0.2.200"}
    with httpx.Client(base_url=guarded.url, headers=headers, trust_env=False) as browser:

        def enter() -> int:
            browser.get("/login")
            token = browser.cookies["marketplace_csrf"]
            return browser.post("/login", data=form, headers={"X-CSRFToken": token}).status_code

        assert enter() == 302
        statuses = [login(guarded, f"192.0.2.{number}", "owner@example.org") for number in range(12)]
        assert statuses[-1] == 429
        assert enter() == 302
        assert login(guarded, "192.0.2.201", "owner@example.org", PASSWORD) == 429


def test_tries_from_one_address_are_limited_and_others_are_not(guarded: Marketplace) -> None:
    early_in(60)

    statuses = [login(guarded, "198.51.100.7", f"nobody{number}@example.org") for number in range(21)]

    assert statuses == [200] * 20 + [429]
    assert login(guarded, "198.51.100.8", "nobody0@example.org") == 200


def test_what_a_client_claims_before_the_proxys_word_does_not_count(guarded: Marketplace) -> None:
    early_in(60)

    statuses = [login(guarded, f"10.0.0.{number}, 203.0.113.5", f"liar{number}@example.org") for number in range(21)]

    assert statuses[-1] == 429


def test_an_ipv6_network_is_one_client(guarded: Marketplace) -> None:
    early_in(60)

    statuses = [login(guarded, f"2001:db8:1:2::{number}", f"many{number}@example.org") for number in range(1, 22)]

    assert statuses[-1] == 429
    assert login(guarded, "2001:db8:1:3::1", "many1@example.org") == 200


def test_registrations_from_one_address_are_limited(guarded: Marketplace) -> None:
    early_in(60)
    form = {"email": "new@example.org", "password": PASSWORD, "country": "US"}

    statuses = [tried(guarded, "/register", "192.0.2.200", **form) for _ in range(11)]

    assert statuses == [403] * 10 + [429]


def test_requests_of_one_key_are_throttled_and_those_of_others_are_not(guarded: Marketplace) -> None:
    rosa, omar, answers = asking_in_one_span(guarded, 21)

    assert answers == [""] * 20 + ["ThrottlingException"]
    assert omar.money() == ("1000.00", "0.00")
    with refusing("ThrottlingException", "Rate exceeded") as refusal:
        rosa.client.get_account_balance()
    assert refusal.status == 400
    change_counts(guarded, "UPDATE marketplace_tries SET began_at = began_at - interval '10 seconds'")
    assert rosa.money() == ("1000.00", "0.00")


def asking_in_one_span(guarded: Marketplace, times: int) -> tuple[Requester, Requester, list[str]]:
    """Two requesters, and the errors that the first met when asking so often within one span of 10 seconds."""
    for _ in range(5):
        rosa, omar = guarded.requester(), guarded.requester()
        span = time.time() // 10
        answers = [error_of(rosa) for _ in range(times)]
        if time.time() // 10 == span:
            return rosa, omar, answers
    raise AssertionError("this machine is too slow to ask so often in 10 seconds")


def error_of(requester: Requester) -> str:
    """The error's code when asking for the balance, or nothing."""
    try:
        requester.client.get_account_balance()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return ""


def change_counts(marketplace: Marketplace, statement: str) -> None:
    """Change the counts of the marketplace's database."""
    with closing(psycopg2.connect(marketplace.database.replace("postgres://", "postgresql://", 1))) as connection:
        connection.autocommit = True
        connection.cursor().execute(statement)


def test_without_a_proxys_header_the_connection_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = Marketplace(tmp_path_factory.mktemp("direct"), workers=1, MARKETPLACE_API_RATE="0")
    try:
        early_in(60)
        statuses = [login(plain, f"192.0.2.{number}", f"nobody{number}@example.org") for number in range(21)]
        assert statuses == [200] * 20 + [429]
        rosa = plain.requester()
        assert {rosa.money() for _ in range(30)} == {("1000.00", "0.00")}
    finally:
        plain.stop()


def test_who_tried_is_not_kept_and_counts_are_forgotten(guarded: Marketplace) -> None:
    login(guarded, "192.0.2.77", "private@example.org")
    with (
        closing(psycopg2.connect(guarded.database.replace("postgres://", "postgresql://", 1))) as connection,
        connection.cursor() as cursor,
    ):
        connection.autocommit = True
        cursor.execute("SELECT string_agg(t::text, ' ') FROM marketplace_tries t")
        kept = cursor.fetchone()[0]
        cursor.execute("UPDATE marketplace_tries SET began_at = began_at - interval '25 hours'")
        guarded.test("tick")
        cursor.execute("SELECT count(*) FROM marketplace_tries")
        left = cursor.fetchone()[0]

    assert kept
    assert "192.0.2.77" not in kept
    assert "private" not in kept
    assert left == 0

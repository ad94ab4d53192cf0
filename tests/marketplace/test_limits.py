"""How often something may be done: by address, by account and by key, counted by all web processes together."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import psycopg2
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from tests.marketplace.people import PASSWORD
from tests.marketplace.server import Marketplace, Requester, cookie_of

ADDRESS = "X-Real-IP"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace behind a proxy that names the client's address, with few API requests a second."""
    running = Marketplace(
        tmp_path_factory.mktemp("guarded"), MARKETPLACE_CLIENT_ADDRESS_HEADER="HTTP_X_REAL_IP", MARKETPLACE_API_RATE="2"
    )
    yield running
    running.stop()


def tried(marketplace: Marketplace, path: str, address: str, **fields: str) -> int:
    """The answer's status of a form sent by a new visitor at that address, to whichever process takes it."""
    with httpx.Client(base_url=marketplace.url, headers={ADDRESS: address}, trust_env=False, verify=False) as client:
        client.get("/login")
        return client.post(path, data=fields, headers={"X-CSRFToken": cookie_of(client, "csrf")[1]}).status_code


def login(marketplace: Marketplace, address: str, email: str, password: str = "wrong") -> int:
    """The status of a try to log in."""
    return tried(marketplace, "/login", address, username=email, password=password)


def test_tries_for_one_account_are_limited_wherever_they_come_from(guarded: Marketplace) -> None:
    guarded.test("worker", email="target@example.org", password=PASSWORD)

    def tries() -> tuple[list[int], int, int]:
        return (
            [login(guarded, f"192.0.2.{number}", "Target@example.org") for number in range(11)],
            login(guarded, "192.0.2.99", "target@example.org", PASSWORD),
            login(guarded, "192.0.2.99", "another@example.org"),
        )

    assert guarded.in_one_span(tries) == ([200] * 10 + [429], 429, 200)


def test_the_owner_of_an_account_gets_in_from_their_own_browser_while_somebody_tries_passwords(
    guarded: Marketplace,
) -> None:
    guarded.test("worker", email="owner@example.org", password=PASSWORD)
    form = {"username": "owner@example.org", "password": PASSWORD}
    headers = {ADDRESS: "192.0.2.200"}
    with httpx.Client(base_url=guarded.url, headers=headers, trust_env=False, verify=False) as browser:

        def enter() -> int:
            browser.get("/login")
            token = cookie_of(browser, "csrf")[1]
            return browser.post("/login", data=form, headers={"X-CSRFToken": token}).status_code

        def tries() -> tuple[int, int, int, int]:
            return (
                enter(),
                [login(guarded, f"192.0.2.{number}", "owner@example.org") for number in range(12)][-1],
                enter(),
                login(guarded, "192.0.2.201", "owner@example.org", PASSWORD),
            )

        assert guarded.in_one_span(tries) == (302, 429, 302, 429)


def test_tries_from_one_address_are_limited_and_others_are_not(guarded: Marketplace) -> None:
    def tries() -> tuple[list[int], int]:
        return (
            [login(guarded, "198.51.100.7", f"nobody{number}@example.org") for number in range(21)],
            login(guarded, "198.51.100.8", "nobody0@example.org"),
        )

    assert guarded.in_one_span(tries) == ([200] * 20 + [429], 200)


def test_what_a_client_claims_before_the_proxys_word_does_not_count(guarded: Marketplace) -> None:
    def tries() -> list[int]:
        return [login(guarded, f"10.0.0.{number}, 203.0.113.5", f"liar{number}@example.org") for number in range(21)]

    assert guarded.in_one_span(tries)[-1] == 429


def test_an_ipv6_network_is_one_client(guarded: Marketplace) -> None:
    def tries() -> tuple[int, int]:
        return (
            [login(guarded, f"2001:db8:1:2::{number}", f"many{number}@example.org") for number in range(1, 22)][-1],
            login(guarded, "2001:db8:1:3::1", "many1@example.org"),
        )

    assert guarded.in_one_span(tries) == (429, 200)


def test_registrations_from_one_address_are_limited(guarded: Marketplace) -> None:
    form = {"email": "new@example.org", "password": PASSWORD, "country": "US"}

    def tries() -> list[int]:
        return [tried(guarded, "/register", "192.0.2.200", **form) for _ in range(11)]

    assert guarded.in_one_span(tries) == [403] * 10 + [429]


def test_requests_of_one_key_are_throttled_and_those_of_others_are_not(guarded: Marketplace) -> None:
    rosa, omar = guarded.requester(), guarded.requester()

    def tries() -> tuple[list[str], list[str]]:
        return [answer_to(rosa) for _ in range(22)], [answer_to(omar)]

    refused = "400 ThrottlingException: Rate exceeded"
    assert guarded.in_one_span(tries, 10) == (["$1000.00"] * 20 + [refused] * 2, ["$1000.00"])
    guarded.sql("UPDATE marketplace_tries SET began_at = began_at - interval '10 seconds'")
    assert answer_to(rosa) == "$1000.00"


def answer_to(requester: Requester) -> str:
    """The balance, or why it is not told."""
    try:
        return f"${requester.money()[0]}"
    except ClientError as refusal:
        error = refusal.response["Error"]
        return f"{refusal.response['ResponseMetadata']['HTTPStatusCode']} {error['Code']}: {error['Message']}"


def test_without_a_proxys_header_the_connection_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = Marketplace(tmp_path_factory.mktemp("direct"), workers=1, MARKETPLACE_API_RATE="0")
    try:

        def tries() -> list[int]:
            return [login(plain, f"192.0.2.{number}", f"nobody{number}@example.org") for number in range(21)]

        assert plain.in_one_span(tries) == [200] * 20 + [429]
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
        destination = cursor.fetchone()[0]
        cursor.execute("UPDATE marketplace_tries SET began_at = began_at - interval '25 hours'")
        guarded.test("tick")
        cursor.execute("SELECT count(*) FROM marketplace_tries")
        left = cursor.fetchone()[0]

    assert destination
    assert "192.0.2.77" not in destination
    assert "private" not in destination
    assert left == 0

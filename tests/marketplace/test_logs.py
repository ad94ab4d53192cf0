"""No log of the marketplace holds a secret that an address carries: the real log, after everything that can fail."""

import http.client
import re
import socket

import psycopg2
import pytest

from tests.marketplace.server import HTML_QUESTION, Marketplace

SECRETS = (
    "3SECRETASSIGNMENT",
    "A1SECRETWORKER",
    "secret-invitation",
    "secret-reset-token",
    "WzEsMl0:1abcDE:" + "s" * 43,
)


def ask(marketplace: Marketplace, method: str, path: str, **headers: str) -> int:
    """One request, as it stands."""
    client = http.client.HTTPConnection("127.0.0.1", marketplace.port, timeout=20)
    client.request(method, path, headers=headers)
    return client.getresponse().status


def test_the_log_of_a_running_marketplace_holds_no_secret(marketplace: Marketplace) -> None:
    requester = marketplace.requester()
    worker = marketplace.worker()
    assignment = worker.accept(requester.hit(Question=HTML_QUESTION)["HITId"])
    assignment_id, worker_id, invitation, reset, token = SECRETS
    addresses = [
        f"/work/{assignment}",
        f"/question/{token}?assignmentId={assignment_id}&workerId={worker_id}",
        f"/password/MQ/{reset}",
        f"/register?invitation={invitation}",
        f"/mturk/externalSubmit?assignmentId={assignment_id}",
    ]
    statuses = set()
    for address in addresses:
        statuses.add(ask(marketplace, "POST", address))
        statuses.add(ask(marketplace, "GET", address, Host="evil.example.com"))
        statuses.add(ask(marketplace, "GET", f"/nowhere{address}"))
        with socket.create_connection(("127.0.0.1", marketplace.port), timeout=20) as wire:
            wire.sendall(f"GET {address} HTTP/9.9\r\nHost: localhost\r\n\r\n".encode())
            wire.recv(1000)
    with psycopg2.connect(marketplace.database.replace("postgres://", "postgresql://", 1)) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            tables = [row[0] for row in cursor.fetchall()]
            for table in tables:
                cursor.execute(f'ALTER TABLE "{table}" RENAME TO "{table}_away"')
        connection.commit()
        try:
            for address in addresses:
                statuses.add(ask(marketplace, "GET", address))
                statuses.add(ask(marketplace, "POST", address))
        finally:
            with connection.cursor() as cursor:
                for table in tables:
                    cursor.execute(f'ALTER TABLE "{table}_away" RENAME TO "{table}"')

    assert {400, 404, 500} <= statuses
    log = marketplace.log()
    assert re.search(r"Internal Server Error: /.*…", log)
    assert "Traceback" in log
    for secret in (assignment, *SECRETS):
        assert secret not in log


@pytest.mark.parametrize("harmless", ["Not Found: /tasks/3HITID", "deadline: 10:00:00,123", "http://localhost:8100"])
def test_other_lines_stay_as_they_are(harmless: str) -> None:
    from marketplace.logs import hide_tokens

    assert hide_tokens(harmless) == harmless

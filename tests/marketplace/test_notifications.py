"""Notifications over HTTP: signed, of the events that were asked for, tried again."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.marketplace.conftest import refusing
from tests.marketplace.server import Marketplace, Requester, Worker


class Ear:
    """A requester's server, and what it heard."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        ear = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ear.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(ear.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self.server.server_port}/hear?us=1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self) -> list[str]:
        """The types of all events, in order."""
        return [
            event["EventType"] for _, body in self.heard for event in json.loads(json.loads(body)["Message"])["Events"]
        ]


@pytest.fixture
def ear() -> Iterator[Ear]:
    """Somebody who listens."""
    listening = Ear()
    yield listening
    listening.server.shutdown()


def specification(url: str, *events: str, **changes: Any) -> dict[str, Any]:
    """A notification specification."""
    return {"Destination": url, "Transport": "SNS", "Version": "2006-05-05", "EventTypes": list(events)} | changes


def test_a_test_notification_comes_at_once_and_is_signed(rosa: Requester, ear: Ear) -> None:
    rosa.client.send_test_event_notification(
        Notification=specification(ear.url, "HITCreated"), TestEventType="AssignmentSubmitted"
    )

    ((headers, body),) = ear.heard
    parts = dict(part.split("=", 1) for part in headers["x-marketplace-signature"].split(","))
    secret = hmac.digest(rosa.secret.encode(), b"notifications", "sha256")
    assert parts["key"] == rosa.key_id
    assert parts["v1"] == hmac.new(secret, parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    message = json.loads(json.loads(body)["Message"])
    assert message["CustomerId"] == rosa.account_id
    (event,) = message["Events"]
    assert event["EventType"] == "AssignmentSubmitted"
    assert event.keys() == {"EventType", "EventTimestamp", "HITTypeId", "HITId", "AssignmentId"}
    assert headers["host"].startswith("localhost:")


def test_events_of_a_hit_type_are_told_as_asked(
    marketplace: Marketplace, rosa: Requester, wanda: Worker, ear: Ear
) -> None:
    type_id = rosa.hit_type()
    rosa.client.update_notification_settings(
        HITTypeId=type_id,
        Notification=specification(
            ear.url, "HITCreated", "AssignmentSubmitted", "HITReviewable", "AssignmentAbandoned"
        ),
    )
    hit_id = rosa.hit()["HITId"]
    rosa.hit(Title="Of another type")
    wanda.do(hit_id)

    marketplace.test("tick")

    assert sorted(ear.events()) == ["AssignmentSubmitted", "HITCreated", "HITReviewable"]
    assert json.loads(json.loads(ear.heard[0][1])["Message"])["Events"][0]["HITId"] == hit_id

    rosa.client.update_notification_settings(HITTypeId=type_id, Active=False)
    rosa.hit()
    marketplace.test("tick")
    assert len(ear.heard) == 3


def test_what_was_not_heard_is_told_again(marketplace: Marketplace, rosa: Requester, ear: Ear) -> None:
    ear.status = 500
    rosa.client.send_test_event_notification(Notification=specification(ear.url, "Ping"), TestEventType="Ping")
    marketplace.test("tick")
    assert len(ear.heard) == 1

    ear.status = 200
    marketplace.advance(seconds=31)
    marketplace.test("tick")
    marketplace.advance(days=2)
    marketplace.test("tick")

    assert ear.events() == ["Ping", "Ping"]
    assert ear.heard[0][1] == ear.heard[1][1]


def test_notifications_can_be_lost_and_doubled_on_order(marketplace: Marketplace, rosa: Requester, ear: Ear) -> None:
    marketplace.test("faults", script=[{"kind": "notification_lost"}, {"kind": "notification_doubled"}])

    for _ in range(2):
        rosa.client.send_test_event_notification(Notification=specification(ear.url, "Ping"), TestEventType="Ping")

    assert len(ear.heard) == 2
    assert ear.heard[0][1] == ear.heard[1][1]


def test_what_cannot_be_delivered_is_refused(rosa: Requester) -> None:
    type_id = rosa.hit_type()

    def ask(**given: Any) -> None:
        rosa.client.update_notification_settings(HITTypeId=type_id, **given)

    url = "https://example.org/"
    with refusing("UnsupportedOperation", "topics"):
        ask(Notification=specification("arn:aws:sns:us-east-1:1:topic", "HITCreated"))
    with refusing("UnsupportedOperation", "SQS"):
        ask(Notification=specification(url, "HITCreated", Transport="SQS"))
    with refusing("InvalidParameterValue", "Version"):
        ask(Notification=specification(url, "HITCreated", Version="2099-01-01"))
    with refusing("InvalidParameterValue", "Ping"):
        ask(Notification=specification(url, "Ping"))
    with refusing("InvalidParameterValue", "Destination"):
        ask(Notification=specification("ftp://example.org", "HITCreated"))
    with refusing("InvalidParameterValue", "EventTypes"):
        ask(Notification=specification(url))
    with refusing("InvalidParameterValue", "Either the Notification"):
        ask()
    with refusing("InvalidParameterValue", "no notification specification"):
        ask(Active=True)

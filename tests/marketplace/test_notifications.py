"""Notifications over HTTP: signed, of the events that were asked for, tried again."""

import contextlib
import hashlib
import hmac
import ipaddress
import json
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from outbound import NotDelivered, Reach, destination_problem, may_call, post
from tests.marketplace.conftest import refusing
from tests.marketplace.production import Production
from tests.marketplace.server import REPOSITORY, Marketplace, Requester, Worker
from tests.tied import tied

# What a test may call.
NEAR = Reach(ports=None, networks=[ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")], insecure=True)


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
    return {"Destination": url, "Transport": "SNS", "Version": "2006-05-05", "EventTypes": list(events)} | changes


def deliver_until(marketplace: Marketplace, ear: Ear, count: int) -> None:
    """Deliver in as many rounds as it takes: on a busy machine, one may end, or an answer be too late, before that."""
    for _round in range(10):
        marketplace.test("deliver")
        if len(ear.heard) >= count:
            return
        marketplace.advance(seconds=31)


def test_a_test_notification_is_queued_delivered_and_signed(
    marketplace: Marketplace, rosa: Requester, ear: Ear
) -> None:
    rosa.client.send_test_event_notification(
        Notification=specification(ear.url, "HITCreated"), TestEventType="AssignmentSubmitted"
    )
    assert ear.heard == [], "no request waits for a receiver"

    assert marketplace.run("deliver") == "1 delivered, 0 failed"

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

    marketplace.test("deliver")

    assert sorted(ear.events()) == ["AssignmentSubmitted", "HITCreated", "HITReviewable"]
    assert json.loads(json.loads(ear.heard[0][1])["Message"])["Events"][0]["HITId"] == hit_id

    rosa.client.update_notification_settings(HITTypeId=type_id, Active=False)
    rosa.hit()
    marketplace.test("deliver")
    assert len(ear.heard) == 3


def test_what_was_not_heard_is_told_again(marketplace: Marketplace, rosa: Requester, ear: Ear) -> None:
    ear.status = 500
    ping(rosa, ear.url)
    marketplace.test("deliver")
    assert len(ear.heard) == 1

    ear.status = 200
    marketplace.advance(seconds=31)
    marketplace.test("deliver")
    marketplace.advance(days=2)
    marketplace.test("deliver")

    assert ear.events() == ["Ping", "Ping"]
    assert ear.heard[0][1] == ear.heard[1][1]


def test_a_damaged_notification_is_logged_rests_longer_each_time_and_stops_no_other(
    marketplace: Marketplace, rosa: Requester, omar: Requester, ear: Ear
) -> None:
    ping(rosa, ear.url)
    ((key, body),) = marketplace.sql("SELECT id, body FROM marketplace_notification ORDER BY id DESC LIMIT 1")
    marketplace.sql("UPDATE marketplace_notification SET body = '{}' WHERE id = %s", key)
    ping(omar, ear.url)
    marketplace.test("deliver")
    assert len(ear.heard) == 1
    assert f"Notification {key} could not be prepared" in marketplace.log()

    def waits() -> tuple[int, timedelta]:
        ((tries, pause),) = marketplace.sql(
            "SELECT tries, next_try_at - now() - (SELECT coalesce(max(ahead), '0') FROM testing_clock)"
            " FROM marketplace_notification WHERE id = %s",
            key,
        )
        return tries, pause

    pauses = []
    for tries in (1, 2, 3):
        waiting, pause = waits()
        assert waiting == tries
        pauses.append(pause)
        marketplace.advance(seconds=pause.total_seconds() + 1)
        marketplace.test("deliver")
    assert pauses[0] < pauses[1] < pauses[2]
    marketplace.sql("UPDATE marketplace_notification SET body = %s WHERE id = %s", json.dumps(body), key)
    marketplace.advance(hours=1)
    marketplace.test("deliver")
    assert len(ear.heard) == 2


def test_notifications_can_be_lost_and_doubled_on_order(marketplace: Marketplace, rosa: Requester, ear: Ear) -> None:
    marketplace.test("faults", script=[{"kind": "notification_lost"}, {"kind": "notification_doubled"}])

    for _ in range(2):
        ping(rosa, ear.url)
    deliver_until(marketplace, ear, 2)

    assert len(ear.heard) == 2
    assert ear.heard[0][1] == ear.heard[1][1]


def test_what_cannot_be_delivered_is_refused(rosa: Requester) -> None:
    type_id, url, inside = rosa.hit_type(), "https://example.org/", "not on the public internet"
    for code, words, notification in (
        ("UnsupportedOperation", "topics", specification("arn:aws:sns:us-east-1:1:topic", "HITCreated")),
        ("UnsupportedOperation", "SQS", specification(url, "HITCreated", Transport="SQS")),
        ("InvalidParameterValue", "Version", specification(url, "HITCreated", Version="2099-01-01")),
        ("InvalidParameterValue", "Ping", specification(url, "Ping")),
        ("InvalidParameterValue", "Destination", specification("ftp://example.org", "HITCreated")),
        ("InvalidParameterValue", inside, specification("http://[64:ff9b::7f00:1]/", "HITCreated")),
        ("InvalidParameterValue", inside, specification("http://224.0.0.1/", "HITCreated")),
        ("InvalidParameterValue", inside, specification("http://169.254.169.254/latest", "HITCreated")),
        ("InvalidParameterValue", "EventTypes", specification(url)),
    ):
        with refusing(code, words):
            rosa.client.update_notification_settings(HITTypeId=type_id, Notification=notification)
    with refusing("InvalidParameterValue", "Either the Notification"):
        rosa.client.update_notification_settings(HITTypeId=type_id)
    with refusing("InvalidParameterValue", "no notification specification"):
        rosa.client.update_notification_settings(HITTypeId=type_id, Active=True)


# --- receivers that do harm


class Bad:
    """A receiver that never finishes: it sends an answer's head byte by byte, or a body without end."""

    def __init__(self, kind: str) -> None:
        self.sent = self.connections = 0
        bad = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                bad.connections += 1
                self.request.recv(4096)
                with contextlib.suppress(OSError):
                    if kind == "flood":
                        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 419430400\r\n\r\n")
                    while bad.sent < 419_430_400:
                        part = b"x" * 1_048_576 if kind == "flood" else b"H"
                        self.request.sendall(part)
                        bad.sent += len(part)
                        time.sleep(0 if kind == "flood" else 0.3)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 100

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Callable[[str], Bad]]:
    """Makes receivers that do harm."""
    problems: list[Bad] = []

    def make(kind: str) -> Bad:
        problems.append(Bad(kind))
        return problems[-1]

    yield make
    for bad in problems:
        bad.server.shutdown()
        bad.server.server_close()


@pytest.fixture
def sender(marketplace: Marketplace) -> Iterator[int]:
    """The sender, running. Its process number."""
    command = tied([sys.executable, "-m", "marketplace", "deliver", "--every", "0.2"])
    with subprocess.Popen(command, cwd=REPOSITORY, env=marketplace.environment) as process:
        yield process.pid
        process.terminate()


def ping(requester: Requester, url: str) -> None:
    """Have a test event sent there."""
    requester.client.send_test_event_notification(Notification=specification(url, "Ping"), TestEventType="Ping")


def eventually(fact: Callable[[], bool], seconds: float = 20) -> float:
    """How long it took until this was so."""
    started = time.monotonic()
    while not fact():
        assert time.monotonic() - started < seconds
        time.sleep(0.05)
    return time.monotonic() - started


def peak_megabytes(pid: int) -> float:
    """The most memory that a process ever held."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def test_sixteen_slow_receivers_hold_up_neither_requests_nor_the_clock_nor_other_receivers(
    marketplace: Marketplace, rosa: Requester, ear: Ear, receiver: Callable[[str], Bad], sender: int
) -> None:
    ping(rosa, ear.url)
    eventually(lambda: len(ear.heard) == 1)
    slow = receiver("drip")
    subscribers = [marketplace.requester() for _ in range(16)]
    started = time.monotonic()
    for number, subscriber in enumerate(subscribers):
        for _ in range(3):
            ping(subscriber, f"{slow.url}{number}")
    assert time.monotonic() - started < 24, "48 requests, and none waits for a receiver"
    eventually(lambda: slow.connections >= 16)

    ping(rosa, ear.url)
    took = eventually(lambda: len(ear.heard) == 2)

    assert took < 8, "sooner than any of the slow ones is given up"
    assert marketplace.http.get("/healthz", timeout=5).status_code == 200
    assert marketplace.run("tick").endswith(" due")
    assert slow.connections <= 16 * 3, "none is tried twice at once"


def test_a_drip_and_a_flood_are_cut_short_and_take_no_memory(
    marketplace: Marketplace, rosa: Requester, ear: Ear, receiver: Callable[[str], Bad], sender: int
) -> None:
    ping(rosa, ear.url)
    eventually(lambda: len(ear.heard) == 1)
    before = peak_megabytes(sender)
    flood = receiver("flood")
    for _ in range(4):
        ping(marketplace.requester(), flood.url)
    eventually(lambda: flood.connections == 4)
    ping(rosa, ear.url)
    eventually(lambda: len(ear.heard) == 2)

    assert peak_megabytes(sender) - before < 20
    assert flood.sent < 100 * 1_048_576, "nobody reads it"

    started = time.monotonic()
    with pytest.raises(NotDelivered, match="too long"):
        post(receiver("drip").url, b"{}", {}, reach=NEAR, seconds=1)
    assert time.monotonic() - started < 3


def test_who_comes_behind_a_long_queue_of_another_is_served_in_between(
    marketplace: Marketplace, rosa: Requester, omar: Requester, ear: Ear
) -> None:
    for _ in range(30):
        ping(rosa, ear.url)
    ping(omar, ear.url)

    deliver_until(marketplace, ear, 31)

    customers = [json.loads(json.loads(body)["Message"])["CustomerId"] for _, body in ear.heard]
    assert len(customers) == 31
    assert customers.index(omar.account_id) < 4


def test_an_address_that_fails_rests_while_the_others_of_its_requester_are_served(
    marketplace: Marketplace, rosa: Requester, ear: Ear
) -> None:
    down = Ear()
    down.status = 503
    for _ in range(10):
        ping(rosa, down.url)
    ping(rosa, ear.url)

    marketplace.test("deliver")

    assert len(ear.heard) == 1
    assert len(down.heard) == 2, "the others wait with the two that were tried"
    marketplace.advance(seconds=31)
    down.status = 200
    deliver_until(marketplace, down, 12)
    assert len(down.heard) == 12
    down.server.shutdown()


def test_what_has_waited_for_a_week_is_given_up(marketplace: Marketplace, rosa: Requester, ear: Ear) -> None:
    ping(rosa, ear.url)
    marketplace.advance(days=8)

    marketplace.test("deliver")

    assert ear.heard == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", ""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n", "status 302"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Oh\r\n\r\n", "status 500"),
        (b"220 mail.example.org ESMTP\r\n", "not HTTP"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 2000, "no status"),
        (b"x" * 40_000, "no status"),
        (b"", "no status"),
    ],
    ids=["204", "100 then 200", "redirect", "100 then 500", "mail", "only 100", "no line", "nothing"],
)
def test_of_an_answer_only_its_final_status_counts(answer: bytes, says: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        if says:
            with pytest.raises(NotDelivered, match=says):
                post(url, b"{}", {}, reach=NEAR, seconds=5)
        else:
            post(url, b"{}", {}, reach=NEAR, seconds=5)


# --- whom we call


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 239.1.1.1 255.255.255.255 "
    "192.88.99.1 192.0.2.1 240.0.0.1 :: ::1 fe80::1 fd00::1 fec0::1 ff02::1 ff0e::1 ::ffff:8.8.8.8 ::ffff:127.0.0.1 "
    "::8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::a00:1 2002:808:808:: 2002:7f00:1:: "
    "2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2001:20::1 3fff::1 100::1 4000::1 5f00::1".split(),
)
def test_what_is_not_one_machine_on_the_public_internet_is_not_called(address: str) -> None:
    assert not may_call(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00::1"])
def test_machines_on_the_public_internet_are_called(address: str) -> None:
    assert may_call(ipaddress.ip_address(address))


def test_an_operator_can_allow_networks_and_nothing_beside_them() -> None:
    networks = [ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("64:ff9b::/96")]

    assert may_call(ipaddress.ip_address("10.1.2.3"), networks)
    assert may_call(ipaddress.ip_address("64:ff9b::808:808"), networks)
    assert not may_call(ipaddress.ip_address("10.2.0.1"), networks)
    assert not may_call(ipaddress.ip_address("::ffff:10.1.2.3"), networks)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://example.org/hear?us=1", ""),
        ("https://example.org:443", ""),
        ("https://8.8.8.8/", ""),
        ("https://[2001:4860:4860::8888]/", ""),
        ("http://example.org/", "starts with https://"),
        ("https://", "starts with https://"),
        ("https://example.org:8443/", "names port 8443, and only 443 may be called"),
        ("https://example.org:22/", "names port 22"),
        ("https://example.org:x/", "not an address"),
        ("https://me@example.org/", "user name"),
        ("https://127.0.0.1/", "not on the public internet"),
        ("https://[::ffff:8.8.8.8]/", "not on the public internet"),
        ("https://[fe80::1%25eth0]/", "not on the public internet"),
        ("https://exa mple.org/", "names no host"),
        ("https://example.org\x0b/", "names no host"),
    ],
)
def test_an_address_is_looked_at_before_it_is_stored(url: str, problem: str) -> None:
    sentence = destination_problem(url, Reach())

    assert problem in sentence
    assert bool(sentence) == bool(problem)


@pytest.mark.parametrize(
    "host",
    "2130706433 0x7f000001 0x7f.1 0177.0.0.1 127.1 0 127.0.0.1. 1２7.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1 localhost. [::1] "
    "[::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [0:0:0:0:0:ffff:a9fe:a9fe] [::1%25lo] 2852039166 "
    "me@127.0.0.1 8.8.8.8@127.0.0.1 8.8.8.8:443@[::1] 127.0.0.1#@8.8.8.8 127.0.0.1\\@8.8.8.8".split(),
)
def test_no_way_of_writing_an_address_reaches_a_machine_that_is_not_public(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    look_up, called = socket.getaddrinfo, []

    def here_or_nowhere(name: str, port: int, **host: Any) -> Any:
        flags = 0 if name.startswith("localhost") else socket.AI_NUMERICHOST  # nobody else is asked
        return look_up(name, port, flags=flags, **host)

    monkeypatch.setattr(socket, "getaddrinfo", here_or_nowhere)
    monkeypatch.setattr(socket, "create_connection", lambda to, **_: called.append(to))

    with pytest.raises(NotDelivered):
        post(f"https://{host}/", b"{}", {}, reach=Reach(), seconds=5)

    assert called == []


def test_a_host_is_looked_up_once_and_all_its_addresses_must_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts: list[str] = []
    answers = [["127.0.0.1", "10.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]]

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        named = host == "rebinding.example.org"
        hosts.extend([host] if named else [])
        addresses = answers[len(hosts) - 1] if named else [host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        port = server.getsockname()[1]
        url = f"http://rebinding.example.org:{port}/"
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        loopback = NEAR._replace(networks=[ipaddress.ip_network("127.0.0.0/8")])
        with pytest.raises(NotDelivered, match="public internet"):
            post(url, b"{}", {}, reach=loopback, seconds=2)
        calling = threading.Thread(target=post, args=(url, b"{}", {}), kwargs={"reach": loopback, "seconds": 5})
        calling.start()
        connection, _ = server.accept()
        with connection:
            assert f"Host: rebinding.example.org:{port}".encode() in connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        calling.join(5)

    assert len(hosts) == 2


# --- in production


@pytest.fixture(scope="module")
def secure_ear(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ear, Path]]:
    """Somebody who listens at https://localhost, and the certificate to trust."""
    certificate, key = (tmp_path_factory.mktemp("tls") / name for name in ("certificate.pem", "key.pem"))
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    options = (
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    )
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "2", *subject, *options], check=True, capture_output=True
    )
    listening = Ear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listening.server.socket = context.wrap_socket(listening.server.socket, server_side=True)
    listening.url = f"https://localhost:{listening.server.server_port}/hear"
    yield listening, certificate
    listening.server.shutdown()


def test_in_production_nothing_is_sent_to_a_machine_that_the_operator_did_not_allow(
    production: Production, secure_ear: tuple[Ear, Path]
) -> None:
    listening, certificate = secure_ear
    port = str(listening.server.server_port)
    client = production.requester_client()
    with refusing("InvalidParameterValue", "only 443 may be called"):
        client.send_test_event_notification(
            Notification=specification(listening.url, "HITCreated"), TestEventType="HITCreated"
        )
    with refusing("InvalidParameterValue", "not on the public internet"):
        client.send_test_event_notification(
            Notification=specification("https://127.0.0.1/", "HITCreated"), TestEventType="HITCreated"
        )
    client.send_test_event_notification(
        Notification=specification("https://localhost/hear", "HITCreated"), TestEventType="HITCreated"
    )
    connection = psycopg2.connect(production.database.replace("postgres://", "postgresql://", 1))
    with connection, connection.cursor() as cursor:  # as if the operator had allowed the port for a while
        cursor.execute("UPDATE marketplace_notification SET destination = %s", [listening.url])

    def deliver(**environment: str) -> str:
        with connection, connection.cursor() as cursor:
            cursor.execute("UPDATE marketplace_notification SET next_try_at = now() WHERE delivered_at IS NULL")
        return production.start("deliver", SSL_CERT_FILE=str(certificate), **environment)

    assert deliver() == "0 delivered, 1 failed"
    assert deliver(MARKETPLACE_NOTIFICATION_PORTS=port) == "0 delivered, 1 failed"
    assert deliver(MARKETPLACE_NOTIFICATION_NETWORKS="127.0.0.0/8,::1/128") == "0 delivered, 1 failed"
    allowed = {"MARKETPLACE_NOTIFICATION_PORTS": f"443,{port}", "MARKETPLACE_NOTIFICATION_NETWORKS": "127.0.0.0/8,::1"}
    assert deliver(**allowed) == "1 delivered, 0 failed"
    connection.close()

    ((headers, _),) = listening.heard
    assert headers["host"] == f"localhost:{port}"

"""Prolific's notifications: signed, doubled, late, out of order, forged, disabled for days. They are hints."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from config.celery import app
from core.models import User
from platforms import jobs
from platforms.hooks import hooks_keep, said_of
from platforms.models import AccountHook, LabAccount, Publication, Submission
from platforms.registry import adapter_named
from platforms.syncing import publication_sync
from pools.models import Campaign
from tasks.models import Assignment
from tests.platforms.platforms import Clock
from tests.platforms.prolific.test_work import begin, work
from tests.simulation.prolific import Double

Sent = tuple[dict[str, str], bytes]


class Site:
    """Where the double delivers to. What came is handed to the site by the test, when and how often it wants."""

    def __init__(self, url: str, queue: "Queue[Sent]", answers: list[int]) -> None:
        self.url, self.kept, self.answers = url, queue, answers

    def next(self, status: str, event: str = "submission.status.change") -> Sent:
        """The next delivery of this event with this status; those before it are lost."""
        while True:
            headers, body = self.kept.get(timeout=5)
            notice = json.loads(body)
            if (notice["event_type"], notice["status"]) == (event, status):
                return headers, body

    @staticmethod
    def hand_over(sent: Sent, **changed: str) -> int:
        """What the site answers to a delivery."""
        headers, body = sent
        names = ("X-Prolific-Request-Signature", "X-Prolific-Request-Timestamp", "X-Event-ID")
        few = {name: headers[name] for name in names if name in headers} | changed
        address = reverse("platforms:account_notifications", args=[AccountHook.objects.get().reference])
        return Browser().post(address, body, content_type="application/json", headers=few).status_code


@pytest.fixture
def site(published: Publication, settings: Any) -> Iterator[Site]:
    """A site that Prolific can reach, whose jobs run at once; subscribed."""
    queue: Queue[Sent] = Queue()
    answers: list[int] = []

    class Kept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answers[0] if answers else 200
            if status == 200:
                queue.put((dict(self.headers), body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    app.conf.task_always_eager = True
    cache.clear()
    with HTTPServer(("127.0.0.1", 0), Kept) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.SITE_URL = f"http://127.0.0.1:{server.server_address[1]}"
        assert hooks_keep(at=timezone.now()) == 1
        yield Site(settings.SITE_URL, queue, answers)
        server.shutdown()
    app.conf.task_always_eager = False


def wait_for(condition: Callable[[], object], seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def lists(prolific: Double) -> int:
    """How often a study's submissions were asked for."""
    return sum(request["path"].endswith("/v1/submissions/") for request in prolific.requests("submissions/"))


def is_free(assignment: Assignment) -> bool:
    """Whether its place can be taken by somebody else."""
    return Assignment.objects.get(pk=assignment.pk).leased_until <= timezone.now()


def test_a_returned_place_is_free_within_five_seconds_and_doubled_late_or_disordered_hints_change_nothing(
    published: Publication, prolific: Double, site: Site
) -> None:
    place, gone = begin(published, prolific, "Gone")
    assert "are on" in said_of(AccountHook.objects.get())
    began = time.monotonic()
    prolific.give_back(place.submission)
    returned = site.next("RETURNED")
    assert not is_free(gone) and site.hand_over(returned) == 204 and is_free(gone)
    assert time.monotonic() - began < 5
    assert "The last one came on" in said_of(AccountHook.objects.get())
    looks = len(prolific.requests(f"submissions/{place.submission}/"))
    assert [site.hand_over(returned) for _again in range(3)] == [204] * 3  # doubled
    assert len(prolific.requests(f"submissions/{place.submission}/")) == looks

    _place, works = work(published, prolific, "Works")
    submitted = site.next("AWAITING REVIEW")
    assert site.hand_over(submitted) == 204
    (stored,) = Submission.objects.all()
    assert (stored.assignment, stored.status, stored.platform_assignment_id) == (
        works, "Submitted", works.platform_assignment_id
    )  # fmt: skip
    late = json.dumps(json.loads(submitted[1]) | {"status": "RETURNED"}).encode()  # what it says is not believed
    assert site.hand_over(signed(late)) == 204
    publication_sync(publication=published, at=timezone.now(), everything=True)
    assert list(Submission.objects.values_list("pk", "status")) == [(stored.pk, "Submitted")]

    other, lost = begin(published, prolific, "Lost")
    prolific.give_back(other.submission)
    lists_before = lists(prolific)
    for number in range(3):  # many of a study make us ask for what was submitted once
        notice = {"event_type": "study.status.change", "resource_id": published.hit_type_id, "number": number}
        assert site.hand_over(signed(json.dumps(notice).encode())) == 204
    assert is_free(lost)
    assert lists(prolific) == lists_before + 1


def signed(body: bytes, *, secret: str = "", at: float | None = None) -> Sent:
    """A delivery of our own making, with the account's secret unless another is given."""
    named = secret or adapter_named("prolific").for_lab(LabAccount.objects.get().lab_id)
    key = named if isinstance(named, str) else named.hook_secret(named.client())
    stamp = str(int(time.time() if at is None else at))
    code = base64.b64encode(hmac.digest(key.encode(), stamp.encode() + body, hashlib.sha256)).decode()
    headers = {"X-Prolific-Request-Signature": code, "X-Prolific-Request-Timestamp": stamp, "X-Event-ID": code[:20]}
    return headers, body


def test_forged_old_large_and_senseless_notifications_do_nothing(
    published: Publication, prolific: Double, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, gone = begin(published, prolific, "Gone")
    prolific.give_back(place.submission)
    notice = {"event_type": "submission.status.change", "resource_id": place.submission, "status": "RETURNED"}
    body = json.dumps(notice).encode()
    good = signed(body)
    hook, looks = AccountHook.objects.get(), len(prolific.requests(f"submissions/{place.submission}/"))
    key = adapter_named("prolific").for_lab(hook.account.lab_id)
    assert key.hook_secret(key.client()) not in hook.sealed and hook.sealed
    day = 86_400
    refused = [
        signed(body, secret="guessed"),
        (good[0], body.replace(b"RETURNED", b"TIMED-OUT")),
        ({"X-Prolific-Request-Timestamp": good[0]["X-Prolific-Request-Timestamp"]}, body),
        (good[0] | {"X-Prolific-Request-Signature": "%%%"}, body),
        (good[0] | {"X-Prolific-Request-Timestamp": "soon"}, body),
        signed(body, at=time.time() - 2 * day),
        signed(body, at=time.time() + day),
        ({}, b""),
    ]
    assert {site.hand_over(sent) for sent in refused} == {403}
    for senseless in (b"[]", b"{", b"null", b'{"event_type": 1, "resource_id": []}', b"\xff", b"[" * 5000):
        assert site.hand_over(signed(senseless)) == 400, senseless
    assert site.hand_over(signed(b" " * 70_000)) == 413
    for other in ({"resource_id": "f" * 24}, {"event_type": "new.kind"}, {"status": "ACTIVE"}):
        assert site.hand_over(signed(json.dumps(notice | other).encode())) == 204
    assert Browser().post(reverse("platforms:account_notifications", args=["unknown"])).status_code == 404
    assert not is_free(gone)
    assert len(prolific.requests(f"submissions/{place.submission}/")) == looks

    def away(*_given: object) -> None:
        raise OperationalError("no broker")

    with monkeypatch.context() as without:
        without.setattr(jobs.hear, "delay", away)
        assert site.hand_over(good) == 503 and not is_free(gone)
    prolific.fault("lost before", path=f"submissions/{place.submission}/", times=None)
    assert site.hand_over(good) == 204 and not is_free(gone)  # heard, and not answered: the next sync finds out
    prolific.clear_faults()
    publication_sync(publication=published, at=timezone.now())
    assert is_free(gone)


def test_subscriptions_live_as_long_as_the_study_and_are_renewed_after_days_of_failures(
    published: Publication, prolific: Double, site: Site, rita: User, settings: Any
) -> None:
    clock = Clock()
    first = prolific.rows("subscription")
    path = reverse("platforms:account_notifications", args=[AccountHook.objects.get().reference])
    address = f"{site.url}{path}"
    assert {(row["event_type"], row["target_url"], row["is_enabled"]) for row in first} == {
        ("submission.status.change", address, 1),
        ("study.status.change", address, 1),
    }
    clock.sleep(7200)
    assert hooks_keep(at=clock()) == 1 and prolific.rows("subscription") == first  # all is well
    site.answers.append(500)
    place, gone = begin(published, prolific, "Gone")
    prolific.give_back(place.submission)
    for _day in range(7):
        prolific.advance(86_400)
        time.sleep(0.15)
    wait_for(lambda: not all(row["is_enabled"] for row in prolific.rows("subscription")))
    publication_sync(publication=published, at=clock())  # asked every minute
    assert Assignment.objects.get(pk=gone.pk).leased_until <= clock()
    assert settings.CELERY_BEAT_SCHEDULE["ask platforms what was submitted"]["schedule"] <= 600
    assert hooks_keep(at=clock()) == 1 and not all(row["is_enabled"] for row in prolific.rows("subscription"))
    clock.sleep(7200)
    prolific.fault("lost after", method="POST", path="hooks/subscriptions/$")
    assert hooks_keep(at=clock()) == 0 and AccountHook.objects.get().trouble  # an answer was lost
    clock.sleep(700)
    assert hooks_keep(at=clock()) == 1 and not AccountHook.objects.get().trouble
    rows = prolific.rows("subscription")
    assert sorted(row["event_type"] for row in rows) == ["study.status.change", "submission.status.change"]
    assert all(row["is_enabled"] for row in rows)
    Campaign.objects.filter(pk=published.campaign_id).update(state="closed")
    assert hooks_keep(at=clock()) == 0
    assert prolific.rows("subscription") == [] and AccountHook.objects.get().sealed == ""
    assert site.hand_over(({}, b"{}")) == 404


def test_sites_that_prolific_cannot_reach_are_not_subscribed(
    published: Publication, prolific: Double, settings: Any, ada: User, client: Browser
) -> None:
    adapter = adapter_named("prolific")
    settings.PROLIFIC_API_URL = "https://api.prolific.com/api/v1/"
    assert adapter.may_notify("https://judge.example.org")
    assert not any(map(adapter.may_notify, ("http://judge.example.org", "https://localhost", "https://127.0.0.1", "")))
    settings.SITE_URL = "http://localhost:8000"
    assert hooks_keep(at=timezone.now()) == 0 and not AccountHook.objects.exists()
    assert prolific.requests("hooks/") == []
    client.force_login(ada)
    page = client.get(reverse("platforms:lab_account", args=[published.campaign.lab_id, "prolific"]))
    assert "Notifications are off" in page.content.decode()


def test_a_secret_that_was_replaced_there_is_asked_for_within_the_hour(
    published: Publication, prolific: Double, site: Site
) -> None:
    clock = Clock()
    place, gone = begin(published, prolific, "Gone")
    adapter = adapter_named("prolific").for_lab(LabAccount.objects.get().lab_id)
    client, old = adapter.client(), adapter.hook_secret(adapter.client())
    client.post("hooks/secrets/", {"workspace_id": LabAccount.objects.get().workspace_id})
    assert adapter.hook_secret(client) != old
    prolific.give_back(place.submission)
    notice = {"event_type": "submission.status.change", "resource_id": place.submission, "status": "RETURNED"}
    body = json.dumps(notice).encode()
    assert site.hand_over(signed(body)) == 403 and not is_free(gone)
    clock.sleep(3700)
    assert hooks_keep(at=clock()) == 1
    assert site.hand_over(signed(body)) == 204 and is_free(gone)

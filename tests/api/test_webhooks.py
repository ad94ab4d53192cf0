"""Webhooks: told in the transaction in which it happens, signed, tried again, and only at addresses on the internet."""

import base64
import json
import re
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.utils import timezone

from api import delivering, jobs, webhooks
from api.models import Delivery, Event, StoredAnswer, Webhook
from core.jobs import send_mails
from core.models import AuditEntry, Lab, User
from judgments.models import AlarmEpisode
from judgments.services import assignment_leave
from platforms.models import Publication
from platforms.publishing.publications import campaign_move
from pools.models import Campaign, QrelsVersion
from results.models import Result
from runs.models import Collection, Job
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.judgments.judged import judge_all
from tests.races import beside

pytestmark = pytest.mark.django_db
DOCS = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


class Ear:
    """Somebody's server, and what it heard."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.status, self.waits, self.to = 204, 0.0, ""
        ear = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ear.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
                time.sleep(ear.waits)
                self.send_response(ear.status)
                if ear.to:
                    self.send_header("Location", ear.to)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self.server.server_port}/hear"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self) -> list[str]:
        """What it heard of, in order."""
        return [json.loads(body)["type"] for _headers, body in self.heard]


@pytest.fixture
def ear() -> Iterator[Ear]:
    """Somebody who listens."""
    listening = Ear()
    yield listening
    listening.server.shutdown()


@pytest.fixture
def admin(lab: Lab) -> User:
    """An admin of Rita's lab."""
    return factories.member(lab, "admin", "anna")


def hook(lab: Lab, url: str, *events: str) -> tuple[Webhook, str]:
    return webhooks.webhook_create(lab=lab, url=url, events=events or Event.values, by=None, at=timezone.now())


def send() -> int:
    """What a job does, with all that waits due. How many were taken."""
    Delivery.objects.filter(next_try_at__isnull=False).update(next_try_at=timezone.now())
    return delivering.deliveries_send(until=time.monotonic() + 20)


def pause(campaign: Campaign) -> None:
    campaign_move(campaign=campaign, to=Campaign.State.PAUSED, at=timezone.now())


def test_what_happens_arrives_signed_and_the_guides_code_says_so(campaign: Campaign, lab: Lab, ear: Ear) -> None:
    _webhook, secret = hook(lab, ear.url, Event.CAMPAIGN_PAUSED)
    verify = docs_verify()

    pause(campaign)
    campaign_move(campaign=campaign, to=Campaign.State.OPEN, at=timezone.now())  # nobody asked for this
    assert ear.heard == []
    assert jobs.deliver() == "deliveries taken: 1"

    headers, body = ear.heard[0]
    message = verify(headers, body, secret)
    assert message["type"] == "campaign.paused"
    assert message["lab"] == {"id": lab.pk, "name": lab.name}
    assert message["data"]["campaign"] == {"id": campaign.pk, "name": "pilot", "state": "paused"}
    assert headers["content-type"] == "application/json"
    for changed, pattern in (
        ((headers, body.replace(b"pilot", b"other"), secret), "signature"),
        ((headers, body, webhooks._new_secret()), "signature"),
        ((headers | {"webhook-timestamp": str(int(time.time()) - 3600)}, body, secret), "old"),
    ):
        with pytest.raises(ValueError, match=pattern):
            verify(*changed)
    assert send() == 0
    assert len(ear.heard) == 1


def docs_verify() -> Any:
    """The code that docs/api.md gives to those who write receivers."""
    code = next(code for code in re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL) if "def verify" in code)
    names: dict[str, Any] = {}
    exec(compile(code, "docs/api.md", "exec"), names)
    return names["verify"]


def test_every_event_is_told_and_what_is_taken_back_is_not(
    campaign: Campaign, collection: Collection, lab: Lab, rita: User
) -> None:
    hook(lab, "https://hooks.example.org/")
    other, _secret = hook(factories.lab("Another lab"), "https://hooks.example.org/")
    at = timezone.now()
    with pytest.raises(RuntimeError), transaction.atomic():
        pause(campaign)
        raise RuntimeError

    assert not Delivery.objects.exists()

    Campaign.objects.filter(pk=campaign.pk).update(state="draft")
    for state in ("packing", "open", "paused", "open", "closed"):
        Campaign.objects.filter(pk=campaign.pk).update(state=state)
    campaign.refresh_from_db()
    Campaign.objects.filter(pk=campaign.pk).update(finished_revision=campaign.revision)
    publication = Publication.objects.create(campaign=campaign)
    for state in ("open", "paused", "stopped"):
        Publication.objects.filter(pk=publication.pk).update(state=state)
    for state in ("done", "refused"):
        job = Job.objects.create(lab=lab, kind="run", name="a file", asked_at=at)
        Job.objects.filter(pk=job.pk).update(state=state)
    AlarmEpisode.objects.create(campaign=campaign, kind="funds", began_at=at)
    Result.objects.create(
        campaign=campaign, revision=1, computed_at=at, seconds=1, rests_until=at, data={}, figures={}, tops={}
    )
    numbers = dict.fromkeys(("revision", "added", "changed", "unchanged", "unsettled", "held_back", "qrels"), 1)
    QrelsVersion.objects.create(collection=collection, number=1, campaign=campaign, made_by=rita, made_at=at, **numbers)

    events = list(Delivery.objects.order_by("id").values_list("event", flat=True))
    assert events == [
        *("campaign.started", "campaign.paused", "campaign.resumed", "campaign.closed", "campaign.finished"),
        *("publication.opened", "publication.paused", "publication.stopped"),
        *("job.finished", "job.failed", "alarm.raised", "results.ready", "version.made"),
    ]
    assert set(events) | {"work.submitted"} == set(Event.values)
    assert not other.deliveries.exists()
    assert Delivery.objects.get(event="version.made").data["collection"]["name"] == "small"


def test_submitted_work_is_counted_once_for_each_campaign(campaign: Campaign, lab: Lab) -> None:
    judge_all(campaign, hits=1)
    webhook, _secret = hook(lab, "https://hooks.example.org/", Event.WORK_SUBMITTED)
    jobs.count_submitted()
    assert not webhook.deliveries.exists()  # that was before

    assignment_leave(assignment=factories.take(factories.worker(campaign, "leaver"), campaign), at=timezone.now())
    judge_all(campaign)
    submitted = campaign.assignments.filter(state="submitted").count()
    Campaign.objects.filter(pk=campaign.pk).update(finished_revision=F("revision"))  # it ends with its last work
    assert jobs.count_submitted() == "campaigns told of: 1"
    assert jobs.count_submitted() == "campaigns told of: 0"

    data = webhook.deliveries.get().data
    assert data["submitted_in_all"] == submitted
    assert 0 < data["submitted"] < submitted


@pytest.mark.parametrize("how", ["enabled again", "subscribed late"])
def test_work_from_before_a_webhook_listens_is_not_told(campaign: Campaign, lab: Lab, how: str) -> None:
    event = Event.CAMPAIGN_FINISHED if how == "subscribed late" else Event.WORK_SUBMITTED
    webhook, _secret = hook(lab, "https://hooks.example.org/", event)
    if how == "enabled again":
        webhooks.webhook_disable(webhook=webhook, at=timezone.now())
    judge_all(campaign, hits=1)

    if how == "enabled again":
        webhooks.webhook_enable(webhook=webhook, at=timezone.now())
    else:
        webhooks.webhook_change(webhook=webhook, url=webhook.url, events=[Event.WORK_SUBMITTED])

    assert jobs.count_submitted() == "campaigns told of: 0"
    judge_all(campaign)
    assert jobs.count_submitted() == "campaigns told of: 1"
    assert webhook.deliveries.get().data["submitted"] < webhook.deliveries.get().data["submitted_in_all"]


def test_a_webhook_is_disabled_after_more_than_a_day_and_no_earlier() -> None:
    pauses = [delivering.pause_after(number) for number in range(1, delivering.MOST_TRIES + 1)]
    assert pauses[-1] is None
    assert timedelta(days=1) < sum(filter(None, pauses), timedelta()) < timedelta(days=1, hours=6)


def test_what_fails_is_tried_again_with_growing_pauses_under_one_id(
    campaign: Campaign, lab: Lab, ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook, _secret = hook(lab, ear.url)
    pause(campaign)
    monkeypatch.setattr(delivering, "SECONDS", 0.3)
    pauses = []
    trap = Ear()
    ways = ({"status": 500}, {"status": 302, "to": trap.url}, {"waits": 1.0})
    for way, problem in zip(ways, ("status 500", "status 302", "too long"), strict=True):
        vars(ear).update({"status": 204, "waits": 0.0, "to": ""} | way)
        assert send() == 0
        delivery = webhook.deliveries.get()
        assert problem in delivery.problem
        assert delivery.next_try_at is not None and delivery.tried_at is not None
        pauses.append(delivery.next_try_at - delivery.tried_at)
    trap.server.shutdown()
    assert trap.heard == []  # nobody follows
    assert pauses == [timedelta(seconds=30), timedelta(minutes=1), timedelta(minutes=2)]
    webhook.refresh_from_db()
    assert webhook.failing_since is not None
    assert delivering.deliveries_send(until=time.monotonic() + 5) == 0
    assert len(ear.heard) == 3  # not before its time

    vars(ear).update(waits=0.0)
    assert send() == 1
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.deliveries.get().tries) == (None, 4)
    assert len({headers["webhook-id"] for headers, _body in ear.heard}) == 1


def test_a_silent_address_is_tried_once_at_a_time_and_told_everything_when_it_answers(
    campaign: Campaign, lab: Lab, ear: Ear
) -> None:
    ear.status = 503
    webhook, _secret = hook(lab, ear.url)
    for _time in range(30):
        webhooks.webhook_test(webhook=webhook, at=timezone.now())
    Delivery.objects.update(event=Event.JOB_FAILED)
    assert send() == 0
    assert len(ear.heard) <= delivering.MOST_OF_ONE
    assert not Delivery.objects.filter(next_try_at__lte=timezone.now()).exists()

    ear.status, ear.heard = 204, []
    Delivery.objects.filter(pk=Delivery.objects.earliest("next_try_at").pk).update(next_try_at=timezone.now())
    assert delivering.deliveries_send(until=time.monotonic() + 20) == 30
    assert len(ear.heard) == 30


def test_one_sender_works_at_a_time(campaign: Campaign, lab: Lab, ear: Ear) -> None:
    hook(lab, ear.url)
    pause(campaign)
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtextextended('deliveries_send', 0))")
        assert send() == 0
        assert ear.heard == []
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended('deliveries_send', 0))")
    other.close()
    assert send() == 1


@pytest.mark.django_db(transaction=True)
def test_who_deletes_a_webhook_waits_for_what_it_is_told_and_stops_nobody(campaign: Campaign, lab: Lab) -> None:
    webhook, _secret = hook(lab, "https://hooks.example.org/")
    with beside(lambda: webhooks.webhook_delete(webhook=webhook)) as deleted:
        pause(campaign)
    deleted[0].result()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.PAUSED
    assert not Webhook.objects.exists() and not Delivery.objects.exists()


def test_a_worker_that_dies_before_it_records_has_it_sent_again_with_the_same_id(
    campaign: Campaign, lab: Lab, ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook(lab, ear.url)
    pause(campaign)

    def die(*_arguments: object, **_named: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(delivering, "_record", die)
        with pytest.raises(SystemExit):
            send()
    delivery = Delivery.objects.get()
    assert delivery.next_try_at is not None and delivery.next_try_at > timezone.now()
    assert send() == 1

    assert [headers["webhook-id"] for headers, _body in ear.heard] == [str(delivery.message)] * 2
    assert ear.heard[0][1] == ear.heard[1][1]


def test_what_never_arrives_disables_its_webhook_tells_the_admins_and_stops_nobody_elses(
    campaign: Campaign, lab: Lab, admin: User, ear: Ear, settings: Any
) -> None:
    settings.HAS_MAIL = True
    User.objects.filter(pk=admin.pk).update(email="anna@example.org")
    silent, good = Ear(), ear
    silent.status = 503
    webhook, _secret = hook(lab, silent.url)
    hook(lab, good.url)
    pause(campaign)
    assert send() == 1

    Delivery.objects.filter(webhook=webhook).update(tries=delivering.MOST_TRIES - 1)
    send()

    webhook.refresh_from_db()
    assert webhook.disabled_at is not None
    assert "503" in webhook.disabled_why
    send_mails()
    assert [letter.to for letter in mail.outbox] == [["anna@example.org"]]
    assert f"/labs/{lab.pk}/webhooks/{webhook.pk}/" in mail.outbox[0].body
    assert webhooks.webhooks_disabled() == 1
    assert AuditEntry.objects.filter(subject="api_webhook", action="update", why=webhook.disabled_why).exists()
    campaign_move(campaign=campaign, to=Campaign.State.OPEN, at=timezone.now())
    assert webhook.deliveries.count() == 1  # disabled, it is told nothing
    assert send() == 1
    assert good.events() == ["campaign.paused", "campaign.resumed"]

    client = Client()
    client.force_login(admin)
    page = client.get(f"/labs/{lab.pk}/webhooks/{webhook.pk}/").text
    assert "Nothing arrived in more than a day" in page
    assert "given up" in page
    silent.status = 200
    client.post(f"/labs/{lab.pk}/webhooks/{webhook.pk}/enable/")
    client.post(f"/labs/{lab.pk}/webhooks/{webhook.pk}/deliveries/{webhook.deliveries.get().pk}/repeat/")
    assert send() == 1
    assert len({headers["webhook-id"] for headers, _body in silent.heard}) == 1
    silent.server.shutdown()


def test_the_pages_add_test_change_and_delete(lab: Lab, admin: User, ear: Ear, rita: User) -> None:
    client = Client()
    client.force_login(admin)
    address = f"/labs/{lab.pk}/webhooks/"

    page = client.post(address, {"url": ear.url, "events": ["job.failed"]})

    webhook, secret = Webhook.objects.get(), page.context["secret"]
    assert (page.status_code, webhook.created_by) == (201, admin)
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret in page.content.decode().replace("&#x2B;", "+")
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(w)::text FROM api_webhook w UNION ALL SELECT a::text FROM core_auditentry a")
        stored = " ".join(row for (row,) in cursor.fetchall())
    assert "api_webhook" in stored
    assert secret.removeprefix("whsec_")[:20] not in stored
    its_page = f"{address}{webhook.pk}/"
    assert "Nothing has been sent yet" in client.get(its_page).text
    client.post(f"{its_page}test/")
    assert send() == 1
    assert ear.events() == ["webhook.test"]
    assert "taken" in client.get(its_page).text
    client.post(its_page, {"url": ear.url, "events": ["job.finished", "job.failed"]})
    renewed = client.post(f"{its_page}secret/").context["secret"]
    assert renewed != secret
    client.post(f"{its_page}disable/")
    webhook.refresh_from_db()
    assert (webhook.events, webhook.disabled_why) == (["job.finished", "job.failed"], "")
    assert "enabled" not in client.get(address).text.partition("<tbody>")[2].partition("</tbody>")[0]
    assert client.post(f"{its_page}explode/").status_code == 404
    client.post(f"{its_page}delete/")
    assert not Webhook.objects.exists()
    client.force_login(rita)
    assert client.get(address).status_code == 403


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://hooks.example.org/", "https"),
        ("https://user:pass@hooks.example.org/", "password"),
        ("https://hooks.example.org:8443/", "443"),
        ("https://127.0.0.1/", "internet"),
        ("https://169.254.169.254/latest/", "internet"),
        ("https://[64:ff9b::7f00:1]/", "internet"),
        ("https://[2002:7f00:1::]/", "internet"),
        ("https://224.0.0.1/", "internet"),
    ],
)
def test_no_address_is_called_that_only_this_site_can_reach(
    lab: Lab, admin: User, settings: Any, url: str, message: str
) -> None:
    settings.DEVELOPMENT, settings.WEBHOOK_NETWORKS, settings.WEBHOOK_PORTS = False, [], frozenset({443})
    sent = {"url": url, "events": ["job.failed"]}
    assert_problem(Program(admin).post(f"labs/{lab.pk}/webhooks/", sent), 400, says=message)
    assert not Webhook.objects.exists()


def test_an_address_that_has_become_private_is_not_called(
    campaign: Campaign, lab: Lab, ear: Ear, settings: Any
) -> None:
    webhook, _secret = hook(lab, ear.url)
    settings.WEBHOOK_NETWORKS = []
    pause(campaign)
    assert send() == 0
    assert "internet" in webhook.deliveries.get().problem
    assert ear.heard == []


def test_a_program_manages_webhooks_and_no_stored_answer_has_a_secret(lab: Lab, admin: User, ear: Ear) -> None:
    program, address = Program(admin), f"labs/{lab.pk}/webhooks/"
    sent = {"url": ear.url, "events": ["job.failed", "job.finished"]}
    webhook = program.post(address, sent, Idempotency_Key="once").json()
    again = program.post(address, sent, Idempotency_Key="once").json()

    assert webhook["secret"].startswith("whsec_")
    assert again == webhook | {"secret": None}
    assert webhook["secret"] not in json.dumps(list(StoredAnswer.objects.values("content")))
    its_address = f"{address}{webhook['id']}/"
    assert program.get(its_address).json() == {name: value for name, value in webhook.items() if name != "secret"}
    assert program.patch(its_address, {"is_enabled": False}).json()["disabled_at"] is not None
    assert_problem(program.patch(its_address, {"events": []}), 400, field="events")
    assert_problem(program.patch(its_address, {"events": ["webhook.test"]}), 400, field="events")
    assert program.post(f"{its_address}test/").status_code == 202
    assert send() == 1  # tests reach disabled webhooks too
    tested = program.get(f"{its_address}deliveries/").json()["results"][0]
    assert (tested["event"], tested["tries"], tested["problem"]) == ("webhook.test", 1, "")
    assert program.post(f"{its_address}deliveries/{tested['id']}/repeat/").status_code == 202
    assert send() == 1
    assert [headers["webhook-id"] for headers, _body in ear.heard] == [tested["message"]] * 2
    assert program.patch(its_address, {"is_enabled": True, "events": ["job.failed"]}).json()["is_enabled"] is True
    assert program.post(f"{its_address}secret/").json()["secret"] != webhook["secret"]
    assert program.delete(its_address).status_code == 204
    assert_problem(program.get(its_address), 404)


def test_old_deliveries_are_forgotten(campaign: Campaign, lab: Lab) -> None:
    hook(lab, "https://hooks.example.org/")
    pause(campaign)
    campaign_move(campaign=campaign, to=Campaign.State.OPEN, at=timezone.now())
    Delivery.objects.filter(event="campaign.paused").update(made_at=timezone.now() - timedelta(days=31))
    jobs.clear()
    assert list(Delivery.objects.values_list("event", flat=True)) == ["campaign.resumed"]

"""Asking a machine at an endpoint: what it is told, what it costs at most, what is kept, and what stays apart."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import User
from judgments.models import Judgment
from machines import jobs as machine_jobs
from machines import machine_asking
from machines.answers import answers_of
from machines.endpoint import read_reply
from machines.models import MachineAsking, MachineJudge, MachineReply
from pools.models import Campaign, Pair
from pools.selectors import withheld_passages
from runs.models import Passage
from tests import factories
from tests.api.conftest import Program

pytestmark = pytest.mark.django_db
PROMPT = "Q {query} A {first} B {second} ?"


class Local:
    """An endpoint on this machine. `answer`: what it says to a prompt; `fails`: statuses that come first."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.headers: list[str] = []
        self.fails: list[int] = []
        self.answer = lambda prompt: "1"
        self.pause = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][0]["content"]
                outer.headers.append(self.headers.get("Authorization", ""))
                if outer.fails:
                    self._send(outer.fails.pop(0), {"error": {"message": "not now"}})
                    return
                outer.prompts.append(prompt)
                time.sleep(outer.pause)
                reply = outer.answer(prompt)
                answer = {"choices": [{"message": {"content": reply}}], "usage": {"total_tokens": 7}}
                assert self.path == "/v1/chat/completions" and body["model"] == "tiny-1" and body["temperature"] == 0
                self._send(200, answer)

            def _send(self, status: int, answer: Any) -> None:
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_words: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def local(settings: LazySettings) -> Iterator[Local]:
    endpoint = Local()
    settings.MACHINE_API_URL, settings.MACHINE_API_TOKEN = endpoint.url, "secret-token"
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()


def start(campaign: Campaign, name: str = "tiny", budget: int = 1_000, prompt: str = PROMPT) -> MachineAsking:
    return machine_asking.machine_asking_start(
        campaign=campaign, name=name, model="tiny-1", prompt=prompt, budget=budget, by=None, at=timezone.now()
    )


def questions(campaign: Campaign) -> int:
    return 2 * Pair.objects.filter(pool__campaign=campaign).count()


def test_each_pair_is_asked_in_both_orders_and_the_answers_become_a_judge(campaign: Campaign, local: Local) -> None:
    local.answer = lambda prompt: "Passage 2." if "q1" in prompt else "="
    asking = start(campaign)
    assert asking.questions == questions(campaign) > 2
    before = Judgment.objects.count()
    assert machine_jobs.ask_machines() == f"questions asked: {asking.questions}"
    asking.refresh_from_db()
    assert (asking.state, asking.sent, asking.tokens) == ("done", asking.questions, 7 * asking.questions)
    judge = asking.judge
    assert judge is not None and (judge.name, judge.model, judge.prompt) == ("tiny", "tiny-1", PROMPT)
    answers = list(answers_of(judge))
    assert len(answers) == asking.questions and judge.pair_count * 2 == asking.questions
    orders = {(row.query, row.a, row.b) for row in answers}
    assert {(query, b, a) for query, a, b in orders} == orders
    assert {row.preferred for row in answers} <= {"=", *(row.b for row in answers)}
    pair = Pair.objects.filter(pool__campaign=campaign).select_related("pool__query", "a", "b").earliest("id")
    assert f"Q {pair.pool.query.text} A {pair.a.text} B {pair.b.text} ?" in local.prompts
    assert set(local.headers) == {"Bearer secret-token"}
    assert Judgment.objects.count() == before
    assert machine_jobs.ask_machines() == "questions asked: 0"


def test_no_more_is_asked_than_the_budget_and_nothing_is_asked_twice(campaign: Campaign, local: Local) -> None:
    first = start(campaign, budget=3)
    machine_jobs.ask_machines()
    first.refresh_from_db()
    assert (first.state, first.sent, len(local.prompts)) == ("spent", 3, 3)
    assert first.judge is not None and first.judge.answer_count == 3
    second = start(campaign, "again")
    machine_jobs.ask_machines()
    second.refresh_from_db()
    assert (second.state, second.sent) == ("done", questions(campaign) - 3)
    assert len(local.prompts) == len(set(local.prompts)) == questions(campaign)
    third = start(campaign, "another prompt", prompt=PROMPT + "!")
    machine_jobs.ask_machines()
    third.refresh_from_db()
    assert third.sent == questions(campaign)


def test_an_endpoint_that_fails_is_asked_again_later_and_given_up_where_that_would_not_help(
    campaign: Campaign, local: Local
) -> None:
    asking = start(campaign)
    local.fails = [503]
    machine_jobs.ask_machines()
    asking.refresh_from_db()
    assert asking.state == "asking" and asking.error == "It answered 503: not now." and asking.retry_at is not None
    assert machine_jobs.ask_machines() == "questions asked: 0", "it rests"
    MachineAsking.objects.update(retry_at=timezone.now())
    machine_jobs.ask_machines()
    asking.refresh_from_db()
    assert (asking.state, asking.error, asking.sent) == ("done", "", questions(campaign) + 1)
    other = start(campaign, "other", prompt=PROMPT + "?")
    local.fails = [401]
    machine_jobs.ask_machines()
    other.refresh_from_db()
    assert (other.state, other.error) == ("failed", "It answered 401: not now.")


def test_an_endpoint_that_is_away_costs_nothing(campaign: Campaign, local: Local, settings: LazySettings) -> None:
    asking = start(campaign)
    settings.MACHINE_API_URL = "http://127.0.0.1:9/v1"
    machine_jobs.ask_machines()
    asking.refresh_from_db()
    assert (asking.state, asking.sent) == ("asking", 0) and "cannot be reached" in asking.error
    assert "secret" not in asking.error


def test_what_cannot_be_asked_is_refused(campaign: Campaign, local: Local, settings: LazySettings) -> None:
    with pytest.raises(Refused, match=re.escape("lacks {second}")):
        start(campaign, prompt="Q {query} A {first}")
    with pytest.raises(Refused, match="one question at least"):
        start(campaign, budget=0)
    start(campaign)
    with pytest.raises(Refused, match="already has a machine judge called tiny"):
        start(campaign)
    asking = MachineAsking.objects.get()
    machine_asking.machine_asking_stop(asking=asking, at=timezone.now())
    with pytest.raises(NotNow):
        machine_asking.machine_asking_stop(asking=asking, at=timezone.now())
    assert machine_jobs.ask_machines() == "questions asked: 0" and not local.prompts
    pair = Pair.objects.filter(pool__campaign=campaign).select_related("a").earliest("id")
    type(pair.a).objects.filter(pk=pair.a.pk).update(text="")
    with pytest.raises(Refused, match="no text"):
        start(campaign, "later")
    settings.MACHINE_API_URL = ""
    with pytest.raises(NotNow, match="MACHINE_API_URL"):
        start(campaign, "off")


def test_passages_that_may_not_leave_are_not_sent(campaign: Campaign, local: Local) -> None:
    run = campaign.runs.order_by("name").last()
    assert run is not None
    type(run).objects.filter(pk=run.pk).update(is_released=False)
    withheld = {pid for _query, pid in withheld_passages(campaign)}
    assert withheld
    asking = start(campaign, prompt="{query} <{first}> <{second}>")
    machine_jobs.ask_machines()
    assert len(local.prompts) == asking.questions < questions(campaign)
    texts = Passage.objects.filter(collection=campaign.collection, pid__in=withheld).values_list("text", flat=True)
    assert texts and not any(f"<{text}>" in prompt for text in texts for prompt in local.prompts)


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        ("1", "1"),
        (" 2.\n", "2"),
        ("Passage 1 is better", "1"),
        ("=", "="),
        ("1 or 2", "!"),
        ("", "!"),
        ("12", "!"),
        ("1.5", "!"),
    ],
)
def test_one_sign_is_an_answer(words: str, sign: str) -> None:
    assert read_reply(words) == sign


def test_the_page_asks_and_stops_and_is_off_without_an_endpoint(
    client: Client, campaign: Campaign, local: Local, settings: LazySettings, rita: User
) -> None:
    pk = campaign.collection_id
    machines, ask = reverse("machines:machines", args=[pk]), reverse("machines:machine_ask", args=[pk])
    client.force_login(rita)
    assert f'href="{ask}"' in client.get(machines).text
    page = client.get(ask).text
    assert "are sent to 127.0.0.1:" in page and f"({questions(campaign)} questions)" in page
    form = {"campaign": campaign.pk, "name": "tiny", "model": "tiny-1", "prompt": PROMPT, "budget": 5}
    wrong = client.post(ask, form | {"prompt": "Which?"})
    assert wrong.status_code == 400 and "lacks {query}, {first}, {second}" in wrong.text
    assert "is being asked" in client.post(ask, form, follow=True).text
    asking = MachineAsking.objects.get()
    assert asking.asked_by == rita and "Stop asking tiny" in client.get(machines).text
    stop = reverse("machines:machine_stop", args=[pk, asking.pk])
    client.force_login(factories.member(campaign.lab, "viewer"))
    assert client.post(stop).status_code == 403 and client.get(ask).status_code == 403
    client.force_login(rita)
    assert "is asked nothing more" in client.post(stop, follow=True).text
    settings.MACHINE_API_URL = ""
    assert ask not in client.get(machines).text and "no endpoint to ask" in client.get(ask).text


def test_of_many_machines_the_page_lists_a_few_and_first_those_that_can_be_stopped(
    campaign: Campaign, local: Local, rita: User, client: Client
) -> None:
    going_on = start(campaign, name="the oldest")
    MachineAsking.objects.bulk_create(
        MachineAsking(
            campaign=campaign, name=f"machine-{number:03}", model="tiny", prompt=PROMPT * 100, budget=10, questions=10,
            state="spent", asked_at=going_on.asked_at,
        )
        for number in range(300)
    )  # fmt: skip
    client.force_login(rita)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("machines:machines", args=[campaign.collection_id])).content.decode()
    assert page.index("the oldest") < page.index("machine-299") < page.index("machine-281")
    assert "machine-280" not in page and "281 older ones are not shown." in page
    assert len(queries) < 20 and len(page) < 40_000


def test_a_campaign_that_is_not_among_the_newest_is_named(
    client: Client, campaign: Campaign, local: Local, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = reverse("machines:machine_ask", args=[campaign.collection_id])
    client.force_login(rita)
    assert 'name="other"' not in client.get(ask).text
    monkeypatch.setattr("machines.forms.NEWEST", 1)
    newer = factories.campaign(campaign.collection, "newer", start=False)
    page = client.get(ask).text
    assert 'name="other"' in page and f'value="{newer.pk}"' in page and f'value="{campaign.pk}"' not in page
    form = {"campaign": newer.pk, "name": "tiny", "model": "tiny-1", "prompt": PROMPT, "budget": 5}
    wrong = client.post(ask, form | {"other": "nobody"})
    assert wrong.status_code == 400 and "no campaign of this name" in wrong.text
    assert "is being asked" in client.post(ask, form | {"other": campaign.name}, follow=True).text
    assert MachineAsking.objects.get().campaign == campaign


def test_the_api_asks_lists_and_stops(campaign: Campaign, local: Local, rita: User) -> None:
    program, address = Program(rita), f"/api/v1/campaigns/{campaign.pk}/machines/asked/"
    wish = {"name": "tiny", "model": "tiny-1", "prompt": PROMPT, "budget": 1_000}
    refused = program.post(address, wish | {"prompt": "Which?"})
    assert refused.status_code == 409 and "lacks {query}" in refused.text
    assert program.post(address, wish | {"budget": 0}).status_code == 400
    answer = program.post(address, wish)
    assert answer.status_code == 202 and answer.json()["asked_by"] == "rita" and answer.json()["state"] == "asking"
    machine_jobs.ask_machines()
    (row,) = program.get(address).json()["results"]
    assert (row["state"], row["asked"]) == ("done", questions(campaign)) and row["judge"] is not None
    assert program.post(f"{address}{row['id']}/stop/", {}).status_code == 409
    viewer = Program(factories.member(campaign.lab, "viewer"))
    assert viewer.post(address, wish | {"name": "other"}).status_code == 403
    assert viewer.get(address).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_loses_no_answer(campaign: Campaign, local: Local) -> None:
    from django.db import connection

    asking, local.pause = start(campaign), 0.2
    code = (
        "import django; django.setup()\nfrom django.conf import settings\n"
        f"settings.DATABASES['default']['NAME'] = {connection.settings_dict['NAME']!r}\n"
        "from machines import jobs\njobs.ask_machines()"
    )
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings", "MACHINE_API_URL": local.url}
    process = subprocess.Popen([sys.executable, "-c", code], env=env)
    ends = time.monotonic() + 60
    while MachineReply.objects.count() < 2 and time.monotonic() < ends:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    count = MachineReply.objects.count()
    assert 2 <= count < asking.questions
    local.pause = 0
    time.sleep(0.3)
    machine_jobs.ask_machines()
    asking.refresh_from_db()
    assert asking.state == "done" and asking.judge is not None
    assert MachineReply.objects.count() == asking.questions and asking.sent <= asking.questions + 1
    assert MachineJudge.objects.count() == 1

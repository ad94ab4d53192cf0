"""What Prometheus is told, by a site as production runs it."""

import http.client
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.test import Client
from django.utils import timezone

from config import health
from core import job_status
from core.alarms import alarm_raise
from local import embedded
from local.supervisor import Site
from platforms.models import Operation, PlatformAlarm, Publication
from pools.models import Campaign
from tests import factories
from tests.config.test_health import SCHEDULE, clean_slate, silent_server, wrote  # noqa: F401 - a fixture
from tests.config.test_kubernetes import of_kind
from tests.conftest import database_url
from tests.ports import free_port

OBSERVABILITY = Path(__file__).parents[2] / "deploy" / "observability"
TOKEN = "a token for tests, long enough"
Numbers = dict[str, float]


@contextmanager
def measured_site(patch: pytest.MonkeyPatch, database: str = "") -> Iterator[int]:
    """A site of two processes that measures, at a port of its own."""
    patch.setenv("METRICS_TOKEN", TOKEN)
    patch.setenv("DATABASE_URL", database or database_url())
    patch.setenv("RATE_LIMITS", "0")
    site = Site(free_port(), workers=2, with_jobs=False).start()
    try:
        site.wait_until_ready("/login/")
        yield site.port
    finally:
        site.stop()


@pytest.fixture(scope="module")
def measured(django_db_setup: None) -> Iterator[int]:
    """Such a site on the test database, for all tests of this file."""
    with pytest.MonkeyPatch.context() as patch, measured_site(patch) as port:
        yield port


def ask(port: int, path: str, **headers: str) -> tuple[int, str]:
    """One request on a connection of its own, so that any process may get it."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    client.request("GET", path, headers=headers)
    answer = client.getresponse()
    text = answer.read().decode()
    client.close()
    return answer.status, text


def scrape(port: int) -> tuple[Numbers, str]:
    """The metrics by name and labels, and as they came."""
    status, text = ask(port, "/metrics", Host="10.0.0.7:8000", Authorization=f"Bearer {TOKEN}")
    assert status == 200
    return numbers_in(text), text


def numbers_in(text: str) -> Numbers:
    """The metrics by name and labels."""
    return {name: float(value) for name, value in re.findall(r"(?m)^([a-z][^ ]*(?:\{[^}]*\})?) (\S+)$", text)}


def requests(view: str, status: int) -> str:
    return f'bestknown_request_seconds_count{{status="{status}",view="{view}"}}'


def test_without_a_token_in_the_settings_there_is_no_such_address(db: None) -> None:
    assert not settings.METRICS_TOKEN
    assert Client().get("/metrics").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_whichever_of_two_processes_is_asked_counts_for_both_and_names_nobody(
    campaign: Campaign, measured: int
) -> None:
    worker = factories.worker(campaign, "A1SECRETWORKER")
    before = Numbers()
    files = embedded.var_folder() / "metrics"
    ends = time.monotonic() + 60
    while len(list(files.glob("histogram_*.db"))) < 2:  # until each has answered somebody
        assert time.monotonic() < ends
        ask(measured, "/login/")
    before, _text = scrape(measured)
    for _again in range(30):
        assert ask(measured, "/login/")[0] == 200
    for secret in ("ImEtdG9rZW4i:1abcDE:a-signature-of-twenty-seven", campaign.link, worker.pk):
        ask(measured, f"/j/{secret}/")
        ask(measured, f"/nowhere/{secret}/")
    assert ask(measured, "/metrics") == (401, "Send METRICS_TOKEN as a bearer token.\n")
    assert ask(measured, "/metrics", Authorization=f"Bearer {TOKEN}x")[0] == 401
    scraped = [scrape(measured) for _again in range(12)]
    for after, text in scraped:
        assert after[requests("login", 200)] - before[requests("login", 200)] == 30
        assert after[requests("none", 404)] == 3
        assert "SECRET" not in text and campaign.link not in text and "1abcDE" not in text
    assert set(re.findall(r"(\w+)=\"", text)) <= {"view", "status", "le", "job", "outcome", "queue", "state", "part"}


def test_whoever_comes_through_a_proxy_reads_nothing(measured: int) -> None:
    status, text = ask(measured, "/metrics", **{"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": "203.0.113.9"})
    assert status == 404 and "bestknown_" not in text


def keep_busy(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock, a worker, jobs that ended well and failed, a call that is late, and an alarm."""
    now = timezone.now()
    publication = Publication.objects.create(campaign=campaign, title="Reading", state=Publication.State.OPEN)
    terms = publication.terms.create(version=1, values={}, at=now)
    calls = [(Operation.Kind.EXCLUSION_TYPE, None, "planned", 10), (Operation.Kind.HIT_TYPE, terms, "done", 60)]
    for kind, about, state, minutes in calls:
        due = now - timedelta(minutes=minutes)
        Operation.objects.create(publication=publication, kind=kind, terms=about, state=state, next_try=due)
    alarm_raise(of=publication, kind=PlatformAlarm.ACCOUNT, text="No keys.", at=now)
    wrote("beat_started", 3600, monkeypatch, SCHEDULE)
    wrote("beat", 5, monkeypatch)
    wrote("worker", 5, monkeypatch, job_status.QUEUES)
    wrote("job", 20, monkeypatch, "platforms.jobs.publish", "", 2.5)
    wrote("job", 10, monkeypatch, "platforms.jobs.publish", "", 0.5)
    wrote("job", 5, monkeypatch, "platforms.jobs.publish", "ValueError: no such thing", 1.0)


@pytest.mark.django_db(transaction=True)
def test_jobs_calls_that_wait_and_alarms_are_counted(
    campaign: Campaign, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_busy(campaign, monkeypatch)
    time.sleep(1.1)  # what an earlier test was answered is old by then
    numbers, _text = scrape(measured)
    publish = 'job="platforms.jobs.publish",outcome'
    assert numbers[f'bestknown_job_seconds_count{{{publish}="succeeded"}}'] == 2
    assert numbers[f'bestknown_job_seconds_sum{{{publish}="succeeded"}}'] == 3
    assert numbers[f'bestknown_job_seconds_count{{{publish}="failed"}}'] == 1
    assert numbers["bestknown_workers_alive"] == 1
    assert 5 <= numbers["bestknown_beat_age_seconds"] < 300
    assert numbers['bestknown_outbox_calls{state="planned"}'] == 1
    assert 600 <= numbers["bestknown_outbox_late_seconds"] < 900
    assert numbers['bestknown_alarms{about="publication",kind="account"}'] == 1


def labels_of(numbers: Numbers) -> dict[str, set[str]]:
    """The names of each metric's labels."""
    labels: dict[str, set[str]] = {}
    for name in numbers:
        labels.setdefault(name.partition("{")[0], set()).update(re.findall(r"(\w+)=\"", name))
    return labels


def alerts(name: str) -> list[str]:
    """The expressions of a group of alerts, each of which says what it means and for how long."""
    groups = yaml.safe_load((OBSERVABILITY / "alerts.yaml").read_text())["groups"]
    (rules,) = (group["rules"] for group in groups if group["name"] == name)
    assert all(rule["annotations"].keys() == {"summary"} and "for" in rule for rule in rules)
    return [rule["expr"] for rule in rules]


def reads_what_is_measured(text: str, labels: dict[str, set[str]]) -> None:
    """Raise AssertionError for an expression of metrics or labels that there are not."""
    metrics = re.findall(r"\b((?:bestknown|marketplace)_\w+)(?:\{([^}]*)\})?", text)
    assert metrics, text
    for metric, matchers in metrics:
        assert metric in labels, f"{metric} is not measured: {text}"
        assert set(re.findall(r"(\w+)=", matchers)) <= labels[metric], text
    named = {label for names in re.findall(r"\bby \(([^)]*)\)", text) for label in names.split(", ")}
    assert named <= set().union(*(labels[metric] for metric, _matchers in metrics)), text


@pytest.mark.django_db(transaction=True)
def test_dashboard_alerts_and_scaling_read_only_what_is_measured(
    campaign: Campaign, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_busy(campaign, monkeypatch)
    ask(measured, "/login/")
    time.sleep(1.1)  # what an earlier test was answered is old by then
    numbers, _text = scrape(measured)
    labels = labels_of(numbers)
    dashboard = json.loads((OBSERVABILITY / "dashboard.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    queues = of_kind("large", "ScaledObject").values()
    expressions = {
        "dashboard": [target["expr"] for panel in panels for target in panel["targets"]],
        "alerts": alerts("bestknown"),
        "scaling": [trigger["metadata"]["valueLocation"] for queue in queues for trigger in queue["spec"]["triggers"]],
    }
    for place, texts in expressions.items():
        assert texts, place
        for text in texts:
            reads_what_is_measured(text, labels)
    names = {name for name in labels if not name.endswith(("_sum", "_bucket", "_created"))}
    assert names <= set(re.findall(r"bestknown_\w+", " ".join(expressions["dashboard"]))), "all is shown"


@pytest.mark.django_db(transaction=True)
def test_a_database_that_hangs_is_said_to_be_down_within_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_server() as silent:
        hung = f"postgres://nobody@127.0.0.1:{silent}/nothing"
        with measured_site(monkeypatch, hung) as port:
            times: list[float] = []
            while min(times, default=2) >= 2 and len(times) < 6:  # again: the machine may do much else
                time.sleep(health.FRESH + 0.1)
                begun = time.monotonic()
                numbers, _text = scrape(port)
                times.append(time.monotonic() - begun)
            assert min(times) < 2
    assert (numbers['bestknown_up{part="database"}'], numbers['bestknown_up{part="redis"}']) == (0, 1)
    assert "bestknown_outbox_late_seconds" not in numbers
    assert 'bestknown_jobs_waiting{queue="money"}' in numbers

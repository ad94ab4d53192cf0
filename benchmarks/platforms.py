"""Judging beside Turkle, and publishing, syncing and paying at both platforms beside plain clients."""

import csv
import json
import os
import re
import sqlite3
import subprocess
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import httpx
import psycopg2
from django.conf import settings
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone
from psycopg2.extras import execute_values

from benchmarks.harness import (
    Bench,
    NotMeasured,
    Row,
    Server,
    Used,
    cost,
    in_new_process,
    measurement,
    peak_megabytes,
    postmaster,
)
from benchmarks.site import PASSAGE, browser, judging_campaign, visitor_of
from core.models import Lab, User
from judgments.quality import confirmed_check_all
from platforms.messages.conversations import messages_receive
from platforms.messages.protocol import Heard, Inbox
from platforms.models import Operation, Payment, Publication, PublishedHit, StudySync, Submission
from platforms.money.lab_accounts import lab_account_store
from platforms.mturk.client import client_for, external_question
from platforms.mturk.endpoints import endpoint_of
from platforms.outbox import operations_run
from platforms.prolific.client import submissions_of
from platforms.prolific.operations import Approve
from platforms.publishing.publications import publication_plan, publication_publish, unposted
from platforms.publishing.replacing_terms import publication_replace_terms
from platforms.registry import adapter_of
from platforms.reviewing.compensations import compensations_find
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.submitted import submission_store
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from runs.models import Collection
from tasks.links import home_token
from tasks.models import Assignment, Hit, Worker
from tasks.services import receipt_code
from tests import factories
from tests.marketplace.server import Marketplace
from tests.ports import free_port
from tests.simulation.prolific import Double

TURKLE = "turkle==3.1.0"
CLIENTS = 4
ITEMS = 13
SUBMISSIONS = 14_189  # of the largest design

TURKLE_SETTINGS = """
import json, os
SECRET_KEY, DEBUG, ALLOWED_HOSTS, USE_TZ = "benchmark", False, ["*"], True
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "turkle", "django.contrib.admin", "rest_framework", "rest_framework.authtoken",
    "turkle.api", "guardian", "djaa_list_filter2",
]
MIDDLEWARE = [
    "django.middleware.common.CommonMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware", "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.contrib.auth.context_processors.auth", "django.template.context_processors.request",
        "django.contrib.messages.context_processors.messages", "turkle.utils.turkle_vars",
    ]},
}]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend", "guardian.backends.ObjectPermissionBackend",
]
DATABASES = {"default": json.loads(os.environ["TURKLE_DATABASE"])}
ROOT_URLCONF = "site_urls"
STATIC_URL, X_FRAME_OPTIONS = "/static/", "SAMEORIGIN"
DEFAULT_AUTO_FIELD, LOGIN_URL = "django.db.models.AutoField", "login"
TURKLE_SITE_NAME, TURKLE_TEMPLATE_LIMIT, TURKLE_EMAIL_ENABLED, META_TAGS = "Turkle", 64, False, []
TURKLE_AUTO_ACCEPT_DEFAULT = True
"""
TURKLE_URLS = """
from django.contrib import admin
from django.urls import include, path
urlpatterns = [
    path("", include("turkle.urls")), path("admin/", admin.site.urls), path("", include("django.contrib.auth.urls")),
]
"""
# Workers who are logged in, and a published batch of the CSV file. Prints the cookies and the batch's key.
TURKLE_PREPARE = """
import json, sys, django
django.setup()
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from turkle.models import Batch, Project
call_command("migrate", verbosity=0)
sessions = []
for number in range(int(sys.argv[1])):
    client = Client()
    client.force_login(
        get_user_model().objects.create_user(f"worker{number}"), backend="django.contrib.auth.backends.ModelBackend"
    )
    sessions.append(client.cookies["sessionid"].value)
project = Project(name="pair", html_template=open("pair.html").read())
project.process_template()
project.save()
batch = Batch.objects.create(name="pair", project=project, filename="pair.csv")
with open("pair.csv") as rows:
    batch.create_tasks_from_csv(rows)
print(json.dumps([sessions, batch.pk]))
"""
TURKLE_PAGE = """
<h3>${query}</h3><p>${left}</p><p>${right}</p>
<label><input type="radio" name="preferred" value="left"> A is better</label>
<label><input type="radio" name="preferred" value="right"> B is better</label>
"""


# --- judging


@measurement
def turkle(bench: Bench) -> Iterator[Row]:
    """A pair shown and saved, beside Turkle, a self-hosted clone of Mechanical Turk's pages for workers.

    Both are asked for what browsers ask for, without static files. In Turkle, a pair is a task: it is accepted, its
    page and the frame in it are opened, and the answer leads on to the next.
    """
    people, tasks, rounds = (40, 200, 3) if bench.share <= 10 else (4, 8, 1)
    folder = bench.folder / "turkle-site"
    python, environment = _install(bench.folder / "turkle"), os.environ | _turkle_environment(folder)
    campaign = judging_campaign(bench)
    workers = [factories.worker(campaign, f"of Turkle {number}") for number in range(people * (rounds + 1))]
    homes = [f"/w/{home_token(worker, campaign)}/" for worker in workers]
    sessions, batch = _prepare_turkle(folder, python, environment, (rounds + 1) * tasks + CLIENTS)
    theirs = _serve_turkle(bench, python, environment, folder)
    turkle_workers = [_TurkleWorker(browser(theirs.port, sessionid=session), batch) for session in sessions]
    ours, peer = [], []
    for turn in range(rounds + 1):
        judges = [_Judge(bench.site.port, home) for home in homes[turn * people :][:people]]
        judging = partial(_all_at_once, _Judge.judge, judges)
        doing = partial(_all_at_once, partial(_TurkleWorker.judge, count=tasks // CLIENTS), turkle_workers)
        ours.append(cost(judging, bench.site.pid, postmaster(), here=False) * 1000 / (people * ITEMS))
        peer.append(cost(doing, theirs.pid, postmaster(), here=False) * 1000 / tasks)
    # The first turn opens connections and compiles templates.
    yield Row("a pair judged, beside Turkle", sum(ours[1:]) / rounds, sum(peer[1:]) / rounds, 1 / 3, "ms")


class _Judge:
    """Does one HIT as a browser with a script does: a page, and a request to save, for each item."""

    def __init__(self, port: int, home: str) -> None:
        self.port = port
        with browser(port) as client:
            self.task = client.post(f"{home}next/").headers["Location"]  # takes it, which leads to the instructions

    def judge(self) -> None:
        with browser(self.port) as client:
            for position in range(1, ITEMS + 1):
                page = client.get(f"{self.task}{position}/").text
                choice = {"preferred": "left", "shown": _match(r'name="shown" value="([^"]+)"', page)}
                client.post(f"{self.task}{position}/save/", json=choice).raise_for_status()


class _TurkleWorker:
    """Does tasks in Turkle, and keeps the page of the next one for the next turn."""

    def __init__(self, client: httpx.Client, batch: int) -> None:
        self.client = client
        client.follow_redirects = True
        self.page = client.get(f"/batch/{batch}/accept_next_task/").text

    def judge(self, count: int) -> None:
        for _task in range(count):
            frame = self.client.get(_match(r'<iframe[^>]* src="([^"?]+)', self.page)).text
            token = _match(r'name="csrfmiddlewaretoken" value="([^"]+)"', frame)
            answer = {"csrfmiddlewaretoken": token, "preferred": "left"}
            self.page = self.client.post(_match(r'action="([^"]+)"', frame), data=answer).text


def _match(pattern: str, page: str) -> str:
    match = re.search(pattern, page)
    assert match is not None, f"{pattern} is not in {page[:500]}"
    return match[1]


def _all_at_once(do: Callable[[Any], object], people: Sequence[Any]) -> None:
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(do, people))


def _install(folder: Path) -> Path:
    """Turkle in a fresh environment. The Python that runs it."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    packages = [TURKLE, "psycopg2-binary", f"gunicorn=={version('gunicorn')}"]
    command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages]
    if subprocess.run(command, check=False).returncode:
        raise NotMeasured(f"{TURKLE} could not be installed.")
    return python


def _turkle_environment(folder: Path) -> dict[str, str]:
    parameters = connection.get_connection_params()
    database = {key: str(parameters.get(key.lower(), "")) for key in ("HOST", "PORT", "USER", "PASSWORD")}
    database |= {"NAME": "turkle", "ENGINE": "django.db.backends.postgresql"}
    return {
        "TURKLE_DATABASE": json.dumps(database | {"CONN_MAX_AGE": 60}),
        "DJANGO_SETTINGS_MODULE": "site_settings",
        "PYTHONPATH": str(folder),
    }


def _prepare_turkle(site: Path, python: Path, environment: dict[str, str], tasks: int) -> tuple[list[str], int]:
    """Write its site, and fill its database. The cookies of workers, and the batch. It has no more tasks than are
    judged, because accepting one locks all that are left.
    """
    site.mkdir()
    files = {"site_settings.py": TURKLE_SETTINGS, "site_urls.py": TURKLE_URLS}
    for name, content in (files | {"pair.html": TURKLE_PAGE}).items():
        (site / name).write_text(content)
    with (site / "pair.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("query", "left", "right"))
        for number in range(tasks):
            rows.writerow((f"question {number}", *(PASSAGE.format(*[f"{number}-{side}"] * 4) for side in "ab")))
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE turkle")
    command = [str(python), "-c", TURKLE_PREPARE, str(CLIENTS)]
    printed = subprocess.run(command, cwd=site, env=environment, check=True, stdout=subprocess.PIPE).stdout
    sessions, batch = json.loads(printed)
    return sessions, batch


def _serve_turkle(bench: Bench, python: Path, environment: dict[str, str], folder: Path) -> Server:
    """With as many workers as our site has."""
    port = free_port()
    options = "--preload --workers 2 --worker-class gthread --threads 8 --keep-alive 60 --no-control-socket"
    served = ["django.core.wsgi:get_wsgi_application()", "--bind", f"127.0.0.1:{port}", "--log-level", "warning"]
    command = [str(python), "-m", "gunicorn", *served, *options.split()]
    process = subprocess.Popen(command, cwd=folder, env=environment)
    bench.stack.callback(process.wait)
    bench.stack.callback(process.terminate)
    for _ in range(600):
        with suppress(httpx.TransportError):
            browser(port).get("/login/")
            return Server(port, process.pid)
        time.sleep(0.2)
    raise NotMeasured("Turkle did not start.")


# --- Mechanical Turk's API


@measurement
def marketplace(bench: Bench) -> Iterator[Row]:
    """Publishing HITs at a marketplace and asking what was submitted, beside boto3 with nothing written down.

    The ratio is what the outbox, the ledger and the matching cost. Time is ours and PostgreSQL's, where the
    marketplace's rows are too.
    """
    hits = bench.pairs // 10
    server = start_marketplace(bench)
    publication = published(_campaign(factories.lab("marketplace"), hits))

    used: list[Used] = []
    database = cost(lambda: used.append(in_new_process(publish, publication.pk)), postmaster(), here=False)
    assert Operation.objects.filter(kind="create", state="done").count() == hits
    publication.refresh_from_db()
    seconds = {
        "publishing": (used[0].seconds + database) / hits,
        "publishing plainly": _each(lambda: _publish_plainly(publication.hit_type_id, hits // 4), hits // 4),
    }
    seconds["replacing the terms of"] = _each(lambda: _replace_terms(publication), hits)
    assert Operation.objects.filter(kind="retype", state="done").count() == hits
    seconds["replacing the terms of plainly"] = _each(lambda: _move_plainly(publication, hits // 4), hits // 4)
    _submit_at_marketplace(server.database, publication)
    factories.analyze()
    seconds["syncing"] = _each(lambda: _sync(publication), hits)
    assert Submission.objects.filter(publication=publication, assignment__isnull=False).count() == hits
    seconds["syncing plainly"] = _each(lambda: _ask_plainly(publication, hits // 4), hits // 4)
    for what, limit in (("publishing", 5), ("replacing the terms of", 5), ("syncing", 8)):
        yield Row(
            f"{what} a HIT at a marketplace", 1000 * seconds[what], 1000 * seconds[f"{what} plainly"], limit, "ms"
        )
    first, last = cast(tuple[float, float], used[0].result)
    yield Row("memory after 100 HITs, and all", last, first, 1.25, "MB")


def start_marketplace(bench: Bench) -> Marketplace:
    """Start a marketplace at which this site's requester has enough money."""
    server = Marketplace(bench.folder)
    bench.stack.callback(server.stop)
    requester = server.test("requester", name="bench", deposit="10000000.00")
    os.environ.update(
        AWS_ACCESS_KEY_ID=requester["key_id"], AWS_SECRET_ACCESS_KEY=requester["secret"], MARKETPLACE_URL=server.url
    )
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = server.url
    return server


def published(campaign: Campaign) -> Publication:
    """A campaign's publication at the marketplace, of which nothing is planned yet."""
    publication = publication_write(campaign=campaign, pay="base-and-bonus", rate=1000, requirements=[])
    return publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)


def _each(work: Callable[[], object], count: int) -> float:
    """Seconds for each of so many."""
    return cost(work, postmaster()) / count


def _campaign(lab: Lab, hits: int) -> Campaign:
    """An open campaign with so many HITs, in which nothing is."""
    collection = Collection.objects.create(lab=lab, name=lab.name)
    campaign = Campaign.objects.create(lab=lab, collection=collection, name=lab.name, state=Campaign.State.OPEN)
    Hit.objects.bulk_create(Hit(campaign=campaign, number=number, needed=1) for number in range(1, hits + 1))
    return campaign


def publish(publication_id: int, hits: float = inf) -> tuple[float, float]:
    """What the job does, until so many HITs are published, or all. Its memory in MB after the first calls and at the
    end.
    """
    publication = Publication.objects.get(pk=publication_id)
    published = Operation.objects.filter(publication=publication, kind="create", state="done")
    memory = []
    while True:
        publication_plan(publication_id=publication_id, at=timezone.now())
        calls = operations_run(publication=publication, limit=100)
        memory.append(peak_megabytes(os.getpid()))
        publication.refresh_from_db()
        if published.count() >= hits:
            return memory[0], memory[-1]
        if not calls and not Operation.objects.filter(ended_at=None).exists() and not unposted(publication).exists():
            return memory[0], memory[-1]


def _replace_terms(publication: Publication) -> None:
    """Other terms for every HIT that is out."""
    publication_replace_terms(
        publication=publication, terms={"title": "Another title"}, by=None, at=timezone.now(),
        although_nobody_qualifies=True,
    )  # fmt: skip
    publish(publication.pk)


def _move_plainly(publication: Publication, count: int) -> None:
    client = client_for(endpoint_of("marketplace"))
    publication.refresh_from_db()
    hits = PublishedHit.objects.filter(publication=publication).values_list("platform_hit_id", flat=True)
    for platform_hit_id in hits[:count]:
        client.update_hit_type_of_hit(HITId=platform_hit_id, HITTypeId=publication.hit_type_id)


def _publish_plainly(hit_type_id: str, count: int) -> None:
    client = client_for(endpoint_of("marketplace"))
    for number in range(count):
        client.create_hit_with_hit_type(
            HITTypeId=hit_type_id,
            LifetimeInSeconds=1_209_600,
            MaxAssignments=1,
            Question=external_question("http://localhost:8000/m/link/1/"),
            RequesterAnnotation=f"peer {number}",
            UniqueRequestToken=f"peer {number}",
        )


def _sync(publication: Publication) -> None:
    while publication_sync(publication=publication, at=timezone.now()).polled:
        pass


def _ask_plainly(publication: Publication, count: int) -> None:
    client = client_for(endpoint_of("marketplace"))
    hits = PublishedHit.objects.filter(publication=publication).values_list("platform_hit_id", flat=True)
    for platform_hit_id in hits[:count]:
        client.list_assignments_for_hit(HITId=platform_hit_id, MaxResults=100)


def _assignments(campaign: Campaign, platform: str, ids: Sequence[str], **fields: Any) -> list[Assignment]:
    """Every HIT done and submitted, by one of 200 workers."""
    at = timezone.now()
    workers = Worker.objects.bulk_create(
        Worker(lab=campaign.lab, platform=platform, external_id=f"ABENCH{number}") for number in range(200)
    )
    done = Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign, hit=hit, worker=workers[number % 200], state=Assignment.State.SUBMITTED, taken_at=at,
            leased_until=at + timedelta(hours=1), finished_at=at, judged=ITEMS, platform_assignment_id=ids[number],
            **fields,
        )
        for number, hit in enumerate(campaign.hits.order_by("number"))
    )  # fmt: skip
    for assignment in done:
        assignment.receipt = receipt_code(assignment)
    Assignment.objects.bulk_update(done, ["receipt"], batch_size=2000)
    return done


def _submit_at_marketplace(address: str, publication: Publication) -> None:
    """Every HIT done: rows here, and at the marketplace, as if they had come through its site."""
    published = dict(PublishedHit.objects.filter(publication=publication).values_list("hit_id", "platform_hit_id"))
    done = _assignments(publication.campaign, "marketplace", [f"3BENCH{number}" for number in range(len(published))])
    answer = (
        '<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/'
        'AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"><Answer><QuestionIdentifier>receipt'
        "</QuestionIdentifier><FreeText>{}</FreeText></Answer></QuestionFormAnswers>"
    )
    rows = [
        (published[row.hit_id], row.worker.external_id, row.platform_assignment_id, answer.format(row.receipt))
        for row in done
    ]
    with psycopg2.connect(address.replace("postgres://", "postgresql://", 1)) as database, database.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE done (hit_id text, worker_id text, assignment_id text, answer text)")
        execute_values(cursor, "INSERT INTO done VALUES %s", rows)
        cursor.execute(
            """
            INSERT INTO marketplace_account (password, email, is_operator, is_active, created_at)
            SELECT '!', lower(worker_id) || '@example.org', false, true, now()
            FROM (SELECT DISTINCT worker_id FROM done) workers;
            INSERT INTO marketplace_worker (account_id, worker_id, status, country, subdivision, adult_content,
              is_master, vouched_approved, vouched_rejected, registered_at)
            SELECT id, upper(split_part(email, '@', 1)), 'active', 'US', '', false, false, 0, 0, now()
            FROM marketplace_account WHERE email LIKE 'abench%';
            INSERT INTO marketplace_assignment (assignment_id, hit_id, worker_id, state, reward, fee,
              auto_approval_seconds, accepted_at, deadline, submitted_at, auto_approval_at, approved_by_clock, answer,
              feedback)
            SELECT done.assignment_id, hit.id, worker.id, 'Submitted', 0.10, 0.02, 604800, now(),
              now() + interval '1 hour', now(), now() + interval '7 days', false, done.answer, ''
            FROM done JOIN marketplace_hit hit ON hit.hit_id = done.hit_id
              JOIN marketplace_worker worker ON worker.worker_id = done.worker_id;
            UPDATE marketplace_hit SET n_submitted = 1, status = 'Reviewable', reviewable_at = now()
            WHERE hit_id IN (SELECT hit_id FROM done);
            ANALYZE;
            """
        )


# --- compensations, messages and terms


@measurement
def desk(bench: Bench) -> Iterator[Row]:
    """What people do by hand at a publication all of whose work is owed, beside one with a tenth of its submissions.

    Of the jobs, the time for each piece of work; of the pages, the time for one.
    """
    user, parts = factories.user("at the desk"), (10, 1)
    small, large = (_at_desk(bench, user, max(10, SUBMISSIONS // bench.share // part)) for part in parts)
    for what, limit in (("finding", 1.5), ("storing", 1.5)):
        yield Row(f"{what}, each of ten times as many", 1000 * large[what], 1000 * small[what], limit, "ms")
    for page in ("compensations", "messages", "terms"):
        yield Row(f"the page of {page} with ten times as many", 1000 * large[page], 1000 * small[page], 4, "ms")


def _at_desk(bench: Bench, user: User, count: int) -> dict[str, float]:
    """What each takes with so many submissions, in seconds."""
    at, lab = timezone.now(), factories.lab(f"desk of {count}")
    lab.members.add(user)
    campaign = _campaign(lab, count)
    publication = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, platform="marketplace", title="Mine", description="Mine",
        published_at=at, hit_type_id=f"T{count}",
    )  # fmt: skip
    PublishedHit.objects.bulk_create(
        PublishedHit(
            publication=publication, hit=hit, max_assignments=1, platform_hit_id=f"H{hit.pk}", posted_at=at,
            expires_at=at,
        )
        for hit in campaign.hits.all()
    )  # fmt: skip
    done = _assignments(campaign, "marketplace", [f"3D{count}N{number}" for number in range(count)])
    campaign.assignments.update(
        owed=campaign.reward, taken_at=at - timedelta(days=31), finished_at=at - timedelta(days=30)
    )
    heard = [
        Heard(f"M{row.pk}", row.worker.external_id, f"H{row.hit_id}", "Pay", "Why?", at, f"{count} {number}")
        for number, row in enumerate(done)
    ]
    factories.analyze()
    with patch("platforms.messages.conversations.adapter_named", return_value=_Mailbox(heard)):
        seconds = {
            "finding": _each(lambda: compensations_find(publication=publication, at=at), count),
            "storing": _each(lambda: messages_receive(platform="marketplace"), count),
        }
    assert publication.payments.filter(purpose=Payment.Purpose.COMPENSATION).count() == count
    assert publication.messages.count() == count
    factories.analyze()
    visitor = visitor_of(bench, user)
    for page in ("compensations", "messages", "terms"):
        address = reverse(f"platforms:{page}", args=[campaign.pk])
        visitor.ask(address)
        seconds[page] = visitor.cost(address, 5)
    return seconds


class _Mailbox(Inbox):
    """A platform's messages, so many at once."""

    def __init__(self, heard: Sequence[Heard]) -> None:
        self.heard = list(heard)

    def messages_after(self, _cursor: str) -> list[Heard]:
        messages, self.heard = self.heard[:1000], self.heard[1000:]
        return messages


# --- Prolific


@measurement
def prolific(bench: Bench) -> Iterator[Row]:
    """Keeping in step with a study at Prolific and approving it, beside doing so submission by submission.

    Prolific is its double, in a process of its own.
    """
    hits = bench.more_queries * 2
    fresh, plain, gone = max(1, hits // 500), min(1000, hits), min(1000, hits // 2)
    double = Double(bench.folder, free_port())
    double.start()
    bench.stack.callback(double.stop)
    double.reset(cents=100_000_000)
    settings.PROLIFIC_API_URL, settings.SITE_URL = f"{double.api}/", os.environ["SITE_URL"]
    publication = _published_study(double, hits)
    keys = _submit_at_prolific(publication, double.folder, hits, fresh)
    matched = Submission.objects.filter(publication=publication, assignment__isnull=False)

    def sync() -> float:
        return cost(lambda: publication_sync(publication=publication, at=timezone.now()), postmaster())

    def move(ids: Sequence[str], status: str) -> None:
        with sqlite3.connect(double.folder / "prolific.sqlite3") as database:
            database.executemany("UPDATE submission SET status = ? WHERE id = ?", [(status, key) for key in ids])

    factories.analyze()  # as PostgreSQL does by itself within a minute
    first = sync()
    factories.analyze()
    assert matched.count() == hits - fresh
    before = len(double.requests())
    sync()
    quiet = len(double.requests()) - before
    move(keys[-fresh:], "AWAITING REVIEW")
    sync()
    busy = len(double.requests()) - before - quiet
    assert matched.count() == hits
    StudySync.objects.update(full_at=timezone.now() - timedelta(hours=1))
    everything = sync()
    Hit.objects.filter(campaign=publication.campaign, number__gt=fresh).update(needed=0)
    places = cost(lambda: publication_requeue(publication=publication, at=timezone.now()), postmaster())
    storing = _each(lambda: _store_plainly(publication, plain), plain)
    move(keys[:gone], "RETURNED")
    returning = sync()
    assert matched.count() == hits - gone

    yield Row("Prolific: requests of a minute without news", quiet, 1, 1, "")
    yield Row(f"Prolific: requests for {fresh} new submissions", busy, fresh, 1 / 3, "")
    yield Row("Prolific: storing a submission", 1000 * first / (hits - fresh), 1000 * storing, 0.1, "ms")
    yield Row("Prolific: returning a submission", 1000 * returning / gone, 1000 * storing, 0.1, "ms")
    yield Row("Prolific: missing places, beside reading all", places, everything, 1)

    confirmed_check_all(at=timezone.now())
    publication_settle(publication=publication, at=timezone.now())
    single, due = plain // 5, hits - gone

    def approve(limit: int) -> None:
        operations_run(publication=publication, limit=limit, sleep=lambda _seconds: None)

    with patch.object(Approve, "at_once", 1):
        alone = _each(lambda: approve(single), single)
    together = _each(lambda: approve(hits * 2), due - single)
    paid = Payment.objects.filter(publication=publication, state="paid").count()
    assert paid == len(double.ledger("reward")) == due, f"{paid} of {due} were paid"
    yield Row("Prolific: approving a submission", 1000 * together, 1000 * alone, 0.1, "ms")


def _published_study(double: Double, hits: int) -> Publication:
    at, lab = timezone.now(), factories.lab("prolific")
    by = User.objects.create_user("of Prolific")
    lab_account_store(lab=lab, platform="prolific", token=double.token, workspace_id="", by=by, at=at)
    publication = publication_write(campaign=_campaign(lab, hits), platform="prolific", rate=1000)
    publication = publication_publish(
        publication=publication, at=at, although_nobody_qualifies=True, typed_name=lab.name
    )
    while publication_plan(publication_id=publication.pk, at=timezone.now()) or operations_run(publication=publication):
        pass
    publication.refresh_from_db()
    assert publication.published_hits.exclude(platform_hit_id="").count() == hits
    return publication


def _submit_at_prolific(publication: Publication, folder: Path, hits: int, active: int) -> list[str]:
    """Every HIT done here, and submitted there, but for the last few, whose workers are still at work there."""
    keys = [f"{number:024x}" for number in range(1_000_000, 1_000_000 + hits)]
    done = _assignments(publication.campaign, "prolific", keys, verdict=Assignment.Verdict.ACCEPTED)
    people, now = {row.worker.external_id for row in done}, time.time()
    states = ["AWAITING REVIEW"] * (hits - active) + ["ACTIVE"] * active
    with sqlite3.connect(folder / "prolific.sqlite3") as database:
        database.executemany(
            "INSERT INTO participant (id, name, attributes) VALUES (?, ?, '{}')", [(key, key) for key in people]
        )
        database.executemany(
            "INSERT INTO submission (id, number, study, participant, status, reserved_at, started_at, completed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (row.platform_assignment_id, number, publication.hit_type_id, row.worker.external_id, state,
                 now - 600, now - 600, now)
                for number, (row, state) in enumerate(zip(done, states, strict=True))
            ],
        )  # fmt: skip
    return keys


def _store_plainly(publication: Publication, count: int) -> None:
    """What is known already, as if it was not: the rows are taken back at the end."""
    adapter = adapter_of(publication)
    submissions = Submission.objects.filter(publication=publication).order_by("id")[:count]
    stored = {
        row.platform_assignment_id: row for row in submissions.select_related("published_hit__publication__campaign")
    }
    rows = [row for row in submissions_of(adapter.client(), publication.hit_type_id) if row["id"] in stored]
    with transaction.atomic():
        Submission.objects.filter(pk__in=[row.pk for row in stored.values()]).delete()
        for row in rows:
            work = adapter.work_of(row | {"receipt": stored[row["id"]].receipt})
            submission_store(published_hit=stored[row["id"]].published_hit, work=work, at=timezone.now())
        transaction.set_rollback(True)

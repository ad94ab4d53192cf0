"""What members ask for and takes a while: done by a job, all of it or nothing, whatever happens to its process."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from campaigns import draft_jobs
from campaigns.forms import CampaignForm
from core import progress
from core.models import User
from pools import preference_imports
from pools.models import Campaign
from runs import background, jobs, receiving
from runs import services as run_services
from runs.models import Collection, Job, PreferenceImport, Query, Run, Upload
from tests import factories
from tests.conftest import REPOSITORY, database_url

RUN = b"q1 Q0 p2 1 9.5 t\nq1 Q0 p1 2 9.0 t\nq2 Q0 p5 1 3.0 t\n"
BAD = RUN + b"q3 only three\nq3 Q0 p7 1 high t\n"


@pytest.fixture
def page(client: Client, rita: User, collection: Collection) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Everything is too large to be done at once. The keys of the jobs that workers were asked to do."""
    sent: list[int] = []
    monkeypatch.setattr(background, "is_small", lambda _job: False)
    monkeypatch.setattr(jobs.work, "delay", sent.append)
    return sent


def send(page: Client, collection: Collection, content: bytes = RUN, name: str = "orange.txt", **fields: str) -> Any:
    """Upload a run."""
    file = SimpleUploadedFile(name, content)
    return page.post(reverse("runs:run_upload"), {"collection": collection.pk, "file": file, **fields})


def stored_files() -> set[str]:
    root = Path(settings.MEDIA_ROOT)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_large_upload_is_stored_at_once_and_read_by_a_job(
    page: Client, collection: Collection, large: list[int]
) -> None:
    answer = send(page, collection, team="ours")
    job = Job.objects.get()
    assert answer.status_code == 303 and answer.url == reverse("runs:job", args=[job.pk]) + "?then"
    assert large == [job.pk] and job.state == Job.State.WAITING
    assert not Run.objects.filter(name="orange").exists()
    waiting = page.get(answer.url).content.decode()
    assert "Waiting to start." in waiting and 'data-refresh="2"' in waiting
    assert "orange" in page.get(reverse("runs:runs")).content.decode()

    assert jobs.work() == "jobs done: 1"
    run = Run.objects.get(name="orange")
    assert (run.team, run.census["hits"]) == ("ours", 3)
    with run.original.open("rb") as original:
        assert original.read() == RUN
    assert Upload.objects.get().file == "", "the run has taken the file over"
    assert page.get(answer.url).url == reverse("pools:run", args=[run.pk])
    assert jobs.work() == "jobs done: 0"


def test_errors_by_line_stay_with_the_upload_and_nothing_else_does(
    page: Client, collection: Collection, large: list[int]
) -> None:
    before = stored_files()
    answer = send(page, collection, BAD)
    jobs.work()
    text = page.get(answer.url).content.decode()
    assert "orange.txt has 2 errors and was not stored" in text
    assert '<td class="number">4</td><td>3 columns where a TREC run has 6' in text
    assert '<td class="number">5</td><td>score high' in text
    assert "data-refresh" not in text
    assert not Run.objects.filter(name="orange").exists()
    assert stored_files() == before
    with pytest.raises(run_services.BadRun) as command:
        run_services.run_import(collection=collection, name="orange", source=io.BytesIO(BAD), filename="orange.txt")
    assert Job.objects.get().complaints["errors"] == [list(line) for line in command.value.check.errors]


def test_the_same_upload_twice_is_stored_once(page: Client, collection: Collection, large: list[int]) -> None:
    answers = [send(page, collection), send(page, collection), send(page, collection, name="another.txt")]
    assert jobs.work() == "jobs done: 3"
    run = Run.objects.get(name="orange")
    assert Run.objects.filter(sha256=run.sha256).count() == 1
    assert [job.state for job in Job.objects.order_by("id")] == ["done", "refused", "refused"]
    for answer in answers[1:]:
        text = page.get(answer.url).content.decode()
        assert "already has a run called orange, and it is this very file" in text
        assert reverse("pools:run", args=[run.pk]) in text
    assert len([name for name in stored_files() if name.endswith(("orange.txt", "another.txt"))]) == 1


def test_another_lab_sees_neither_the_job_nor_its_collection(
    page: Client, collection: Collection, large: list[int]
) -> None:
    answer = send(page, collection)
    stranger = Client()
    other = factories.user("sam")
    factories.lab("Another lab", other)
    stranger.force_login(other)
    for address in (answer.url, reverse("runs:collection_add", args=[collection.pk])):
        assert stranger.get(address).status_code == 404
    assert "orange" not in stranger.get(reverse("runs:runs")).content.decode()
    again = reverse("runs:run_upload") + f"?again={Job.objects.get().pk}"
    assert "orange" not in stranger.get(again).content.decode()


def test_a_large_campaign_is_created_by_a_job(page: Client, collection: Collection, large: list[int]) -> None:
    answer = page.post(reverse("campaigns:campaign_new") + f"?collection={collection.pk}", settings_of(collection))
    assert answer.url == reverse("runs:job", args=[large[0]]) + "?then"
    assert not Campaign.objects.exists()
    jobs.work()
    campaign = Campaign.objects.get(name="autumn")
    assert page.get(answer.url).url == reverse("campaigns:campaign", args=[campaign.pk])
    assert (campaign.pair_count, campaign.created_by) == (7, User.objects.get(username="rita"))


def settings_of(collection: Collection) -> dict[str, object]:
    """What the form of a new campaign sends."""
    form = CampaignForm(collection=collection)
    sent = {name: form[name].value() for name in form.fields}
    sent |= {"name": "autumn", "runs": [run.pk for run in collection.runs.all()]}
    return {name: value for name, value in sent.items() if value is not None and value is not False}


def test_what_fails_is_tried_again_later_and_given_up_after_three_attempts(
    page: Client, collection: Collection, large: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored_files()
    answer = send(page, collection)
    send(page, collection, RUN.replace(b" t\n", b" u\n"), "other.txt")
    run_import = run_services.run_import

    def import_or_fail(**fields: Any) -> Run:
        if fields["name"] == "orange":
            raise OSError("the disk is on fire")
        return run_import(**fields)

    monkeypatch.setattr(run_services, "run_import", import_or_fail)
    now = timezone.now()
    for attempt, rest in ((1, 1), (2, 2), (3, 0)):
        monkeypatch.setattr(timezone, "now", lambda at=now: at)
        jobs.work()
        job = Job.objects.earliest("id")
        assert job.tries == attempt
        if rest:
            assert job.retry_at == now + timedelta(minutes=rest)
            text = page.get(answer.url).content.decode()
            assert "the disk is on fire" in text and "Nothing was stored." in text
            jobs.work()
            assert Job.objects.earliest("id").tries == attempt, "it rests"
            now += timedelta(minutes=rest)
    assert job.state == Job.State.FAILED
    assert "This could not be done, and nothing was stored." in page.get(answer.url).content.decode()
    assert Run.objects.filter(name="other").exists(), "it stopped nobody else"
    assert len(stored_files() - before) == 2, "the other run's"


def test_a_job_whose_process_is_killed_again_and_again_is_given_up(collection: Collection) -> None:
    job = Job.objects.create(
        lab=collection.lab,
        collection=collection,
        kind=Job.Kind.RUN,
        name="heavy",
        asked_at=timezone.now(),
        tries=background.ATTEMPTS,
    )
    assert not background.job_do(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.FAILED, "The work was interrupted 3 times.")


def test_files_that_cannot_be_stored_leave_nothing(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_named: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(default_storage), "save", full, raising=False)
    answer = send(page, collection)
    assert answer.status_code == 503 and "No space left on device" in answer.content.decode()
    assert not Job.objects.exists()


def test_what_was_never_received_to_its_end_is_deleted_after_a_day(collection: Collection) -> None:
    job = Job.objects.create(
        lab=collection.lab, kind=Job.Kind.RUN, name="half", state=Job.State.RECEIVING, asked_at=timezone.now()
    )
    name = default_storage.save("runs/half/half.txt", SimpleUploadedFile("half.txt", b"q1"))
    Upload.objects.create(job=job, part=Upload.Part.RUN, name="half.txt", size=9, file=name)
    jobs.work()
    assert default_storage.exists(name)
    background.jobs_clear(at=timezone.now() + timedelta(days=2))
    assert not default_storage.exists(name) and not Job.objects.exists()


def test_without_the_queue_the_clock_finds_the_job(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(_job_id: int) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(background, "is_small", lambda _job: False)
    monkeypatch.setattr(jobs.work, "delay", unreachable)
    assert send(page, collection).status_code == 303
    assert jobs.work() == "jobs done: 1"


def test_progress_is_told_step_by_step_and_forgotten_at_the_end(
    page: Client, collection: Collection, large: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = send(page, collection)
    job = Job.objects.get()
    steps: list[progress.Progress | None] = []
    check_run = run_services.check_run

    def check_and_look(*arguments: Any, **named: Any) -> Any:
        checked = check_run(*arguments, **named)
        state = progress.progress_of(background.progress_key(job))
        steps.append(state)
        assert state is not None
        text = page.get(answer.url).content.decode()
        assert "Checking orange.txt" in text and f'max="{len(RUN)}"' in text
        return checked

    monkeypatch.setattr(run_services, "check_run", check_and_look)
    jobs.work()
    assert [state.unit for state in steps if state] == ["bytes"]
    assert progress.progress_of(background.progress_key(job)) is None


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that happens in another process."""
    ends = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < ends, what
        time.sleep(0.05)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", list(Job.Kind))
def test_a_job_that_is_killed_half_way_leaves_nothing_and_is_taken_up_again(
    collection: Collection, rita: User, kind: str
) -> None:
    at, before = timezone.now(), stored_files()
    if kind == Job.Kind.RUN:
        file = SimpleUploadedFile("orange.txt", RUN)
        job = background.run_ask(collection=collection, file=file, name="orange", team="", notes="", by=rita, at=at)
        table, stored = "runs_run", Run.objects.filter(name="orange")
    elif kind == Job.Kind.COLLECTION:
        job = receiving.files_open(lab=collection.lab, name="birds", language="en", collection=None, by=rita, at=at)
        uploads = receiving.file_add(job=job, file=SimpleUploadedFile("q.tsv", b"b1\twhat do owls eat\n"))
        job = receiving.files_read(job=job, parts={uploads[0].pk: "queries"}, keep="all")
        table, stored = "runs_query", Query.objects.filter(qid="b1")
    elif kind == Job.Kind.PREFERENCES:
        file = SimpleUploadedFile("old.txt", b"q1 p1 p2 p1\n")
        job = preference_imports.preferences_ask(
            collection=collection, file=file, name="old", note="By hand.", by=rita, at=at
        )
        table, stored = "runs_importedpreference", PreferenceImport.objects.filter(name="old")
    else:
        job = draft_jobs.campaign_ask(
            collection=collection, runs=collection.runs.all(), name="autumn", settings={"depth": 1}, by=rita, at=at
        )
        table, stored = "pools_pair", Campaign.objects.filter(name="autumn")

    other = connection.copy()  # holds up the worker at what it writes
    other.set_autocommit(False)
    key = background.progress_key(job)
    worker = None
    try:
        with other.cursor() as cursor:
            cursor.execute(f'LOCK TABLE "{table}" IN SHARE MODE')
        worker = subprocess.Popen(
            [sys.executable, "-c", f"import django; django.setup(); from runs import jobs; jobs.work({job.pk})"],
            cwd=REPOSITORY,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "DEVELOPMENT": "1",
                "DATABASE_URL": database_url(),
                "MEDIA_ROOT": settings.MEDIA_ROOT,
            },
        )
        until(lambda: (state := progress.progress_of(key)) and state.step.startswith("Storing"), "the worker stores")
        until(lambda: is_held_up(table), "the worker waits for the table")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    finally:
        other.rollback()
        other.close()
        if worker is not None and worker.poll() is None:
            worker.kill()
            worker.wait()

    until(lambda: background.job_do(job_id=job.pk), "its lock ends with its connection")
    job.refresh_from_db()
    assert (job.state, job.tries, job.error) == (Job.State.DONE, 2, "")
    assert stored.count() == 1
    new = stored_files() - before
    assert len(new) == (2 if kind == Job.Kind.RUN else 0), "nothing that no row names"
    if kind == Job.Kind.RUN:
        run = stored.get()
        assert new == {run.original.name, run.artifact.name}
    assert not background.job_do(job_id=job.pk)
    cache.delete(key)


def is_held_up(table: str) -> bool:
    """Whether somebody waits for a lock on a table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE relation = %s::regclass AND NOT granted", [table])
        return cursor.fetchone() is not None

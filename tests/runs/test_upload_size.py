"""Much at once by browser: 60 runs and a folder of passages, at a site that runs as in production; and a large run.

BRING_MEGABYTES says how many megabytes of passages, or of the run: 60 unless it is set. By hand: BRING_MEGABYTES=1000.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.conf import settings as site_settings
from django.core.files.uploadedfile import UploadedFile
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser

from core.errors import FileAway
from core.models import Lab, User
from core.progress import progress_of
from runs import background, receiving, sending
from runs import services as run_services
from runs.models import Collection, Job, Passage, Query, Run, Upload
from runs.services import artifact_beside
from tests import browser
from tests.buckets import endpoint, put_files_in
from tests.conftest import REPOSITORY, RunningSite, database_url, running_site

__all__ = ["endpoint"]
MEGABYTES = int(os.environ.get("BRING_MEGABYTES", "60"))
PART = 200  # megabytes of a file of passages, at most
RUNS, QUERIES, RANKS = 60, 50, 20
PASSAGE = "Owls eat mice, voles and now and then a careless young rabbit. " * 16  # about 1 kB
WEB_GROWS, JOB_GROWS = 60, 150  # MB at most, however much is sent
BUCKET_GROWS = 100  # MB at most, more than from a folder: what fetches a file does so in several threads
MINUTES = 20  # at most for reading, at full size on a busy machine
JOB = """
import json, sys, django
django.setup()
from runs.background import job_do
def most():
    return next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = most()
job_do(job_id=int(sys.argv[1]))
print(json.dumps({"grown": most() - before}))
"""


def folder_of(at: Path) -> list[Path]:
    """Queries, qrels, runs, and passages of which one in a hundred is in a run."""
    queries = [f"q{number}" for number in range(QUERIES)]
    (at / "queries.tsv").write_text("".join(f"{query}\twhat do owls eat, {query}\n" for query in queries))
    (at / "qrels.txt").write_text("".join(f"{query} 0 p{number * 100} 1\n" for number, query in enumerate(queries)))
    for run in range(RUNS):
        lines = [
            f"{query} Q0 p{(number * 7 + rank + run) % 200 * 100} {rank + 1} {100 - rank} run{run}\n"
            for number, query in enumerate(queries)
            for rank in range(RANKS)
        ]
        (at / f"run{run:02}.txt").write_text("".join(lines))
    key = 0
    for part in range(-(-MEGABYTES // PART)):
        with (at / f"passages{part}.tsv").open("w") as out:
            size = min(PART, MEGABYTES - part * PART) * 1_000_000
            while size > 0:
                size -= out.write(f"p{key}\t{key}: {PASSAGE}\n")
                key += 1
    return sorted(at.iterdir())


def most_memory(pid: int) -> int:
    """The most that a process, or one below it, has had in memory, in MB."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    most = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return max([most, *(most_memory(int(child)) for child in below)])


def reading(job: Job, media: Path) -> subprocess.Popen[bytes]:
    """A process that does the job."""
    environment = os.environ | {
        "DATABASE_URL": database_url(), "MEDIA_ROOT": str(media), "DJANGO_SETTINGS_MODULE": "config.settings"
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", JOB, str(job.pk)], env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE
    )


def stored(media: Path) -> set[str]:
    """The files in storage."""
    return {str(path.relative_to(media)) for path in media.rglob("*") if path.is_file()}


@pytest.mark.timeout(240 + 90 * MINUTES * (MEGABYTES > 100))
@pytest.mark.django_db(transaction=True)
def test_sixty_runs_and_a_large_folder_come_in_little_memory_and_a_cut_leaves_nothing_half_written(
    lab: Lab, rita: User, tmp_path: Path, settings: Any, chromium: Browser
) -> None:
    media, folder = tmp_path / "media", tmp_path / "folder"
    media.mkdir()
    folder.mkdir()
    settings.MEDIA_ROOT = str(media)
    files = folder_of(folder)
    with running_site(str(media)) as site:
        web = site.process.pids()["web"]
        page = browser.sign_in(chromium.new_context(base_url=site.url), site.url, rita)
        complaints = browser.listen(page)
        page.goto("/collections/new/")
        before = most_memory(web)
        page.get_by_label("Name").fill("birds")
        page.get_by_label("Files", exact=True).set_input_files(files)
        page.locator("[data-chosen] li").nth(len(files) - 1).wait_for()
        page.get_by_role("button", name="Send and look at the files").click()
        page.get_by_role("heading", name="Files for birds").wait_for(timeout=MINUTES * 60_000)
        job = Job.objects.get()
        assert job.uploads.count() == len(stored(media)) == len(files)
        assert {path.name: path.stat().st_size for path in files} == dict(job.uploads.values_list("name", "size"))
        web_grown = most_memory(web) - before
        assert web_grown <= WEB_GROWS
        _cut_while_sending(site, rita, job, media)
        page.get_by_role("button", name="Check and store").click()
        page.wait_for_url(f"**/jobs/{job.pk}/?then")
        assert complaints == []
    _cut_while_reading(job, media)
    process = reading(job, media)
    out, _ = process.communicate(timeout=MINUTES * 60)
    assert process.returncode == 0
    job_grown = json.loads(out)["grown"]
    print(f"\n{MEGABYTES} MB: the web process grew by {web_grown} MB, the job by {job_grown} MB")
    assert job_grown <= JOB_GROWS
    job.refresh_from_db()
    assert (job.state, job.error, job.counts["runs"], job.counts["refused"]) == (Job.State.DONE, "", RUNS, 0)
    assert Run.objects.filter(collection=job.collection).count() == RUNS
    assert stored(media) == {name for run in Run.objects.all() for name in (run.original.name, run.artifact.name)}


def _cut_while_sending(site: RunningSite, user: User, job: Job, media: Path) -> None:
    """A whole file arrives; half of one leaves nothing when the connection breaks."""
    client = Client()
    client.force_login(user)
    session, token = client.cookies[site_settings.SESSION_COOKIE_NAME].value, "a" * 32
    parts = f"{_part('csrfmiddlewaretoken')}{token}\r\n{_part('files', 'sent.txt')}".encode()
    body = parts + b"q1 Q0 p1 1 9 sent\n" * 300_000 + b"\r\n--cut--\r\n"

    def send(content: bytes) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(urlsplit(site.url).netloc)
        connection.putrequest("POST", f"/jobs/{job.pk}/files/")
        for name, value in (
            ("Cookie", f"{site_settings.SESSION_COOKIE_NAME}={session}; {site_settings.CSRF_COOKIE_NAME}={token}"),
            ("Content-Type", "multipart/form-data; boundary=cut"),
            ("Content-Length", str(len(body))),
            ("Accept", "application/json"),
        ):
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(content)
        return connection

    connection = send(body)
    assert connection.getresponse().status == 201
    connection.close()
    receiving.file_remove(upload=job.uploads.get(name="sent.txt"))
    paths, rows = stored(media), job.uploads.count()
    send(body[: len(body) // 2]).close()
    time.sleep(1)
    assert (stored(media), job.uploads.count()) == (paths, rows)


def _part(name: str, filename: str = "") -> str:
    file = f'; filename="{filename}"' if filename else ""
    return f'--cut\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'


def _file_read(job: Job) -> int:
    """Which of its files the job is at, as its page says."""
    state = progress_of(background.progress_key(job))
    match = re.match(r"File (\d+)", state.step) if state else None
    return int(match[1]) if match else 0


def _cut_while_reading(job: Job, media: Path) -> None:
    """A process that is killed in the midst of the runs, and again in the midst of the passages."""
    before = stored(media)
    for number in (20, RUNS + 3):
        process = reading(job, media)
        ends = time.monotonic() + MINUTES * 60
        while _file_read(job) < number:
            assert process.poll() is None and time.monotonic() < ends
            time.sleep(0.02)
        process.kill()
        process.wait()
        assert not Collection.objects.exists() and not Run.objects.exists() and not Passage.objects.exists()
        beside = {artifact_beside(name) for name in before}  # made anew, or deleted, when the job is done again or ends
        assert before <= stored(media) <= before | beside
        assert Job.objects.get().state == Job.State.WAITING and Upload.objects.count() == len(before)


@pytest.mark.timeout(240 + 60 * MINUTES * (MEGABYTES > 100))
@pytest.mark.django_db(transaction=True)
def test_a_run_in_a_bucket_is_read_in_little_memory(
    collection: Collection, rita: User, tmp_path: Path, endpoint: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.UPLOAD_MEGABYTES = MEGABYTES + 1
    path = tmp_path / "large.txt"
    with path.open("w") as out:
        query = size = 0
        while size < MEGABYTES * 1_000_000:
            size += out.write(
                "".join(f"q{query} Q0 passage-{rank:07} {rank + 1} {1000 - rank}.5 t\n" for rank in range(1000))
            )
            query += 1
    Query.objects.filter(collection=collection).delete()
    grown = {}
    for where in ("folder", "bucket"):
        with path.open("rb") as opened:
            if where == "bucket":
                put_files_in(endpoint, settings, monkeypatch)
                file: UploadedFile = send(rita, opened, size)  # type: ignore[type-arg]  # generic in its stubs only
            else:
                file = UploadedFile(opened, "large.txt", size=size)
            about = {"collection": collection, "team": "", "notes": "", "by": rita, "at": timezone.now()}
            job = background.run_ask(name=where, file=file, **about)
        process = reading(job, Path(settings.MEDIA_ROOT))
        output, _ = process.communicate(timeout=MINUTES * 60)
        job.refresh_from_db()
        assert (job.state, job.error) == (Job.State.DONE, "") and job.run is not None
        grown[where] = json.loads(output)["grown"]
        run_services.run_delete(run=job.run)
    print(f"\n{MEGABYTES} MB: a job grew by {grown} MB")
    assert grown["bucket"] <= grown["folder"] + BUCKET_GROWS


def send(user: User, file: IO[bytes], size: int) -> sending.Received:
    """A file that was sent to the bucket."""
    state = sending.sending_begin(user=user, name="large.txt", size=size, at=timezone.now())
    while state.parts:
        for part in state.parts:
            file.seek(part.start)
            httpx.put(part.url, content=file.read(part.size), timeout=60, trust_env=False).raise_for_status()
        with suppress(FileAway):  # putting it together takes longer than anybody waits for an answer
            state = sending.sending_continue(token=state.token, user=user)
    return sending.file_received(token=state.token, user=user)

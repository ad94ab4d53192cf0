"""Large files go to the bucket itself, in parts: from scripts, with whatever somebody tries to get away with."""

import gzip
import os
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core import direct
from core.models import User
from runs import background, sending
from runs.models import Collection, DirectUpload, Job, Run, Upload
from tests import factories
from tests.buckets import Gate, endpoint, gate

__all__ = ["endpoint", "gate"]
RUN = b"".join(
    b"q%d Q0 p%d %d %d.5 sent\n" % (query, rank, rank + 1, 100 - rank) for query in range(4) for rank in range(9)
)


@pytest.fixture
def page(client: Client, rita: User, collection: Collection, gate: Gate) -> Client:
    client.force_login(rita)
    return client


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are as small as the protocol allows."""
    monkeypatch.setattr(direct, "PART_BYTES", 5 << 20)


def put(part: Any, content: bytes) -> httpx.Response:
    return httpx.put(part["url"], content=content[part["start"] :][: part["size"]], trust_env=False)


def begin(page: Client, content: bytes, name: str = "sent.txt") -> dict[str, Any]:
    answer = page.post(reverse("runs:sending_begin"), {"name": name, "size": len(content)})
    assert answer.status_code == 201
    return dict(answer.json())


def proceed(page: Client, token: str) -> Any:
    return page.post(reverse("runs:sending_continue", args=[token]))


def send(page: Client, content: bytes, name: str = "sent.txt") -> str:
    """Send a file whole. Its token."""
    state = begin(page, content, name)
    while state["parts"]:
        for part in state["parts"]:
            assert put(part, content).status_code == 200
        state = proceed(page, state["token"]).json()
    assert state["received"] == len(content)
    return str(state["token"])


def upload_run(page: Client, collection: Collection, token: str, name: str = "") -> Any:
    return page.post(reverse("runs:run_upload"), {"collection": collection.pk, "name": name, "file-token": token})


def test_a_run_that_was_sent_to_the_bucket_is_read_from_there_and_its_object_becomes_the_runs(
    page: Client, collection: Collection
) -> None:
    token = send(page, gzip.compress(RUN), "a run.txt.gz")
    answer = upload_run(page, collection, token)
    run = Run.objects.get(name="a run")
    assert answer.url == reverse("pools:run", args=[run.pk])
    assert run.original.name.startswith("uploads/") and gzip.decompress(run.original.read()) == RUN
    assert not DirectUpload.objects.exists() and not Upload.objects.exclude(file="").exists()

    again = upload_run(page, collection, token, "again")
    assert again.status_code == 404 and "used already" in again.content.decode()
    assert Run.objects.filter(name="again").count() == 0 and not Job.objects.filter(name="again").exists()
    assert default_storage.exists(run.original.name)


def test_what_broke_off_goes_on_with_the_parts_that_are_missing(page: Client, small_parts: None) -> None:
    content = os.urandom(12_000_000)
    state = begin(page, content)
    first, second, last = state["parts"]
    assert [part["size"] for part in (first, second, last)] == [5 << 20, 5 << 20, len(content) - (10 << 20)]
    put(last, content)
    put(first, content)
    state = proceed(page, state["token"]).json()
    assert [part["start"] for part in state["parts"]] == [second["start"]]
    assert state["received"] == len(content) - (5 << 20)
    early = page.post(reverse("runs:run_upload"), {"file-token": state["token"]})
    assert early.status_code == 409 and "has not arrived whole" in early.content.decode()
    put(state["parts"][0], content)
    assert proceed(page, state["token"]).json()["parts"] == []
    assert proceed(page, state["token"]).json()["parts"] == [], "asked again, as after an answer that was lost"
    assert default_storage.open(DirectUpload.objects.get().file.name).read() == content


def test_an_object_that_was_put_together_as_the_process_died_is_whole(page: Client, rita: User) -> None:
    token = send(page, RUN)
    DirectUpload.objects.update(is_whole=False)
    assert sending.sending_continue(token=token, user=rita).parts == []
    assert DirectUpload.objects.get().is_whole


def test_a_part_takes_as_many_bytes_as_were_said_and_goes_nowhere_else(page: Client) -> None:
    state = begin(page, RUN)
    (part,) = state["parts"]
    assert httpx.put(part["url"], content=RUN + b"more", trust_env=False).status_code == 403
    assert httpx.put(part["url"], content=RUN[:-1], trust_env=False).status_code == 403
    for name, other in (("uploads/", "runs/"), ("partNumber=1", "partNumber=2"), ("uploadId=", "uploadId=x")):
        moved = part["url"].replace(name, other, 1)
        assert httpx.put(moved, content=RUN, trust_env=False).status_code in (403, 404)
    assert len(proceed(page, state["token"]).json()["parts"]) == 1


def test_nobody_can_use_a_token_that_is_forged_old_or_somebody_elses(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = send(page, RUN)
    other = factories.user("sam")
    other_lab = factories.lab("Another lab", other)
    stranger = Client()
    stranger.force_login(other)
    theirs = Collection.objects.create(lab=other_lab, name="theirs")
    for who, where, what in (
        (stranger, theirs, token),
        (page, collection, token[:-1] + ("x" if token[-1] != "x" else "y")),
        (page, collection, "uploads/0123/sent.txt"),
        (page, collection, ""),
    ):
        assert upload_run(who, where, what).status_code == 404
        if what:
            answer = who.post(reverse("runs:sending_continue", args=[what.replace("/", "")]))
            assert answer.status_code == 404 and "parts" not in answer.json()
    monkeypatch.setattr(sending, "LONGEST", timedelta(seconds=-1))
    assert proceed(page, token).status_code == upload_run(page, collection, token).status_code == 404
    assert not Job.objects.exists() and not Run.objects.filter(name="sent").exists()
    viewer = factories.user("vera")
    collection.lab.memberships.create(user=viewer, role="viewer")
    stranger.force_login(viewer)
    assert stranger.post(reverse("runs:sending_begin"), {"name": "x", "size": 9}).status_code == 403
    assert Client().post(reverse("runs:sending_begin"), {"name": "x", "size": 9}).status_code == 302


def test_what_is_too_large_empty_or_too_much_is_refused_before_it_is_sent(page: Client, settings: Any) -> None:
    settings.UPLOAD_MEGABYTES, settings.DATA_UPLOAD_MAX_NUMBER_FILES = 1, 2
    for size, status in (
        (1_000_000, 201),
        (1_000_001, 409),
        (0, 409),
        ("many", 409),
        ("9" * 30, 409),
        (5, 201),
        (5, 409),
    ):
        answer = page.post(reverse("runs:sending_begin"), {"name": "../..\0/x", "size": size})
        assert (size, answer.status_code) == (size, status)
        assert (status == 201) == ("error" not in answer.json())
    assert all(
        upload.file.name.endswith("/x") and ".." not in upload.file.name for upload in DirectUpload.objects.all()
    )


def test_what_is_wrong_with_a_file_is_said_as_of_any_other_and_nothing_of_it_stays(
    page: Client, collection: Collection
) -> None:
    before = _objects("uploads")
    token = send(page, RUN + b"q1 only three\n")
    answer = upload_run(page, collection, token)
    text = page.get(answer.url).content.decode()
    assert "3 columns where a TREC run has 6" in text
    assert not Upload.objects.exclude(file="").exists() and not DirectUpload.objects.exists()
    assert _objects("uploads") == before


def _objects(folder: str) -> list[str]:
    folders, files = default_storage.listdir(folder)
    return [*files, *(name for inner in folders for name in _objects(f"{folder}/{inner}"))]


def test_what_is_handed_over_to_nobody_is_deleted_after_a_day(page: Client, rita: User) -> None:
    send(page, RUN, "whole.txt")
    begin(page, RUN, "begun.txt")
    background.jobs_clear(at=timezone.now() + timedelta(hours=23))
    assert DirectUpload.objects.count() == 2
    names = list(DirectUpload.objects.values_list("file", flat=True))
    background.jobs_clear(at=timezone.now() + timedelta(hours=25))
    assert not DirectUpload.objects.exists() and not any(default_storage.exists(name) for name in names)


def test_without_a_bucket_pages_send_as_before_and_nothing_can_be_begun(
    client: Client, rita: User, collection: Collection
) -> None:
    client.force_login(rita)
    answer = client.get(reverse("runs:run_upload"))
    assert "direct.js" not in answer.content.decode()
    assert client.post(reverse("runs:sending_begin"), {"name": "x", "size": 9}).status_code == 409


def test_only_pages_with_a_form_for_files_may_send_to_the_bucket(
    page: Client, collection: Collection, gate: Gate
) -> None:
    for name, arguments in (
        ("runs:run_upload", []),
        ("runs:collection_new", []),
        ("runs:collection_add", [collection.pk]),
        ("pools:preferences_import", [collection.pk]),
        ("judgments:judgments_import", [collection.pk]),
        ("machines:machine_import", [collection.pk]),
    ):
        answer = page.get(reverse(name, args=arguments))
        assert f"connect-src 'self' {gate.url};" in answer["Content-Security-Policy"] + ";"
        assert "js/direct.js" in answer.content.decode()
    assert gate.url not in page.get(reverse("runs:runs"))["Content-Security-Policy"]


def test_no_more_of_a_file_is_fetched_to_recognize_it_than_its_beginning(
    page: Client, collection: Collection, gate: Gate, small_parts: None
) -> None:
    page.post(reverse("runs:collection_add", args=[collection.pk]), {})
    job = Job.objects.latest("id")
    content = RUN + b"".join(b"q9 Q0 p%d %d %d.5 sent\n" % (rank, rank + 1, 10**7 - rank) for rank in range(1_200_000))
    token, before = send(page, content), gate.answered
    answer = page.post(
        reverse("runs:files", args=[job.pk]), {"files-token": token}, headers={"Accept": "application/json"}
    )
    assert answer.status_code == 201
    upload = job.uploads.get()
    assert (upload.part, upload.name, upload.size) == ("run", "sent.txt", len(content))
    assert gate.answered - before < 12_000_000 < len(content)
    used = page.post(
        reverse("runs:files", args=[job.pk]), {"files-token": token}, headers={"Accept": "application/json"}
    )
    assert used.status_code == 404 and job.uploads.count() == 1

"""Judgments that were made elsewhere come in as files: all of a file or nothing, once, with a word on their source."""

import gzip
import io
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import Refused
from core.models import Lab, User
from evaluation.errors import BadInput
from pools.preference_imports import preferences_import
from runs import background
from runs.models import Collection, ImportedPreference, Job, Passage, PreferenceImport
from tests import factories

GOOD = b"q1 p2 p1 p2\nq1 p1 p2 p1\nq2\tp5\tp6\tp6\n"


def store(collection: Collection, content: bytes = GOOD, name: str = "old") -> PreferenceImport:
    return preferences_import(
        collection=collection,
        name=name,
        source=io.BytesIO(content),
        filename=f"{name}.txt",
        note="Judged by hand in spring.",
        by=None,
        at=timezone.now(),
    )


def test_an_import_keeps_each_line_in_canonical_order(collection: Collection) -> None:
    imported = store(collection, gzip.compress(GOOD))
    assert (imported.judgment_count, imported.pair_count, len(imported.sha256)) == (3, 2, 64)
    rows = imported.preferences.order_by("line").values_list("line", "query__qid", "a__pid", "b__pid", "prefers_a")
    assert list(rows) == [(1, "q1", "p1", "p2", False), (2, "q1", "p1", "p2", True), (3, "q2", "p5", "p6", False)]


def test_a_tie_is_kept_as_one_and_makes_another_file(collection: Collection) -> None:
    tied = store(collection, GOOD + b"q1 p2 p1 =\n")
    assert (tied.judgment_count, tied.pair_count) == (4, 2)
    assert list(tied.preferences.order_by("line").values_list("prefers_a", flat=True)) == [False, True, False, None]
    with pytest.raises(Refused, match="already been imported, as old"):
        store(collection, GOOD + b"q1\tp1\tp2\t=\n", name="turned")
    store(collection, GOOD + b"q1 p2 p1 p1\n", name="decided")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"q1 p1\n", r"old\.txt, line 1: 2 columns"),
        (GOOD + b"q1 p1 p2\n", r"old\.txt, line 4: 3 columns"),
        (GOOD + b"q1 p1 p1 p1\n", r"old\.txt, line 4: passage .*p1.* against itself"),
        (GOOD + b"q1 = p2 =\n", r"old\.txt, line 4: a passage called =, which would be taken for an outcome"),
        (GOOD + b"q1 p1 p2 p3\n", r"old\.txt, line 4: .*p3.* is preferred, which is neither"),
        (GOOD + b"q7 p1 p2 p1\nq8 p1 p2 p1\n", r"old\.txt, line 4: query .*q7.* is not in the collection. 1 more"),
        (b"q1 p1 x p1\n" + GOOD + b"q1 y p2 p2\n", r"old\.txt, line 1: passage .*x.* is not in the .* 1 more"),
        (b"", r"old\.txt, line 1: the file is empty"),
        (gzip.compress(GOOD * 99)[:-9], r"old\.txt"),
    ],
)
def test_a_bad_file_is_named_by_line_and_nothing_of_it_is_stored(
    collection: Collection, content: bytes, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        store(collection, content)
    assert not PreferenceImport.objects.exists()
    assert not ImportedPreference.objects.exists()


def test_a_passage_that_only_a_run_has_becomes_known_without_a_text(lab: Lab, tmp_path: Path) -> None:
    bare = factories.collection(
        tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={"red": {"q1": ["p2", "p3"]}}, texts=False
    )
    assert not Passage.objects.filter(collection=bare, pid="p3").exists()
    store(bare, b"q1 p1 p3 p3\n")
    assert Passage.objects.get(collection=bare, pid="p3").text == ""


def test_the_same_file_is_refused_under_any_name_and_so_is_a_second_file_of_a_name(collection: Collection) -> None:
    store(collection)
    with pytest.raises(Refused, match="already been imported, as old"):
        store(collection, name="new")
    with pytest.raises(Refused, match="already has imported preferences called old"):
        store(collection, b"q1 p1 p2 p1\n")
    assert PreferenceImport.objects.count() == 1


@pytest.mark.parametrize(
    "content",
    [gzip.compress(GOOD), b"q1\tp1\tp2\tp2\r\nq1 p1 p2 p1\r\nq2 p6 p5 p6"],
    ids=["packed", "written otherwise"],
)
def test_the_same_judgments_in_another_file_are_refused(collection: Collection, content: bytes) -> None:
    store(collection)
    with pytest.raises(Refused, match="already been imported, as old"):
        store(collection, content, name="new")
    assert ImportedPreference.objects.count() == 3
    store(collection, GOOD + b"q1 p1 p2 p1\n", name="more")


# --- on the site


@pytest.fixture
def page(client: Client, rita: User, collection: Collection) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def send(page: Client, collection: Collection, content: bytes = GOOD, **fields: str) -> str:
    """Upload a file, and read the page that this leads to."""
    data = {"file": SimpleUploadedFile("spring.txt", content), "note": "Judged by hand.", **fields}
    answer = page.post(reverse("pools:preferences_import", args=[collection.pk]), data, follow=True)
    return answer.content.decode()


def test_a_file_is_uploaded_listed_and_deleted(page: Client, collection: Collection, rita: User) -> None:
    text = send(page, collection)
    imported = PreferenceImport.objects.get()
    assert (imported.name, imported.note, imported.imported_by) == ("spring", "Judged by hand.", rita)
    assert "Imported: 3 judgments on 2 pairs." in text
    assert "Judged by hand." in text and "spring" in text
    answer = page.post(reverse("pools:preferences_delete", args=[collection.pk, imported.pk]), follow=True)
    assert "The imported preferences “spring” have been deleted." in answer.content.decode()
    assert not ImportedPreference.objects.exists()


def test_a_large_upload_is_read_by_a_job_that_says_what_is_wrong(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "is_small", lambda _job: False)
    text = send(page, collection, GOOD + b"q1 p1 p2 p3\n")
    job = Job.objects.get()
    assert "Import of the preferences “spring”" in text and job.state == Job.State.WAITING
    assert background.job_do(job_id=job.pk)
    text = page.get(reverse("runs:job", args=[job.pk])).content.decode()
    assert "spring.txt, line 4" in text and "Nothing was stored." in text
    again = reverse("pools:preferences_import", args=[collection.pk]) + f"?again={job.pk}"
    assert again in text
    assert "Judged by hand." in page.get(again).content.decode()
    assert not PreferenceImport.objects.exists()


def test_a_file_without_a_word_on_its_source_is_not_taken(page: Client, collection: Collection) -> None:
    assert "This field is required." in send(page, collection, note="")
    assert not Job.objects.exists()


def test_another_labs_collection_takes_and_shows_nothing(client: Client, collection: Collection) -> None:
    imported = store(collection)
    client.force_login(factories.user("stranger"))
    assert client.get(reverse("pools:preferences_import", args=[collection.pk])).status_code == 404
    assert client.post(reverse("pools:preferences_delete", args=[collection.pk, imported.pk])).status_code == 404
    assert PreferenceImport.objects.exists()


# --- by command

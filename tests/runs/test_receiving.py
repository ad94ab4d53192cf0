"""Files that are sent for a collection: recognized, corrected by their sender, and read, each of them or none."""

import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.middleware import LargePieces
from core import progress
from core.models import Lab, User
from runs import background, jobs, receiving
from runs import services as run_services
from runs.models import Collection, Job, Passage, Query, Run, Upload
from tests import factories

QUERIES = b"b1\twhat do owls eat\nb2\twhere do owls sleep\n"
QRELS = b"b1 0 o1 1\n"
PASSAGES = b"o1\tOwls eat mice.\no2\tOwls eat voles.\no9\tNobody asks for this one.\n"
BAD = b"b1 Q0 o1 1 9.5 t\nb1 only three\n"

pytestmark = pytest.mark.django_db


def run(number: int) -> bytes:
    """A run, unlike any other."""
    return f"b1 Q0 o2 1 {number + 1}.5 t{number}\nb1 Q0 o1 2 0.5 t{number}\n".encode()


@pytest.fixture
def page(client: Client, rita: User, collection: Collection) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def files(**named: bytes) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name.replace("_", "."), content) for name, content in named.items()]


def begin(page: Client, sent: list[SimpleUploadedFile], **fields: str) -> Job:
    """Send the files of a new collection called birds."""
    lab = Lab.objects.get(name="Rita's lab")
    answer = page.post(
        reverse("runs:collection_new"), {"lab": lab.pk, "name": "birds", "language": "en", "files": sent, **fields}
    )
    assert answer.status_code == 303, answer.content.decode()
    job = Job.objects.latest("id")
    assert answer.url == reverse("runs:files", args=[job.pk])
    return job


def read(page: Client, job: Job, **changed: str) -> Any:
    """Say what the files are: as was guessed, but for what is said otherwise by a file's name."""
    parts = {f"part-{upload.pk}": changed.get(upload.name, upload.part) for upload in job.uploads.all()}
    return page.post(reverse("runs:files_read", args=[job.pk]), {"keep": "pooled", **parts}, follow=True)


def stored_files() -> set[str]:
    root = Path(settings.MEDIA_ROOT)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_folder_becomes_a_collection_and_nothing_is_stored_before_its_sender_says_so(page: Client) -> None:
    sent = files(q_tsv=QUERIES, r_txt=QRELS, p_tsv_gz=gzip.compress(PASSAGES), notes_md=b"# Notes\n")
    packers = [lambda data: data, gzip.compress, bz2.compress, zstandard.compress]
    sent += files(**{f"run{number}_txt": packers[number % 4](run(number)) for number in range(40)})
    sent += files(old_txt=b"b1 o1 o2 o1\n", more_txt=b"b2 0 o2 1\n")
    job = begin(page, sent)
    assert not Collection.objects.filter(name="birds").exists()
    guessed = {upload.name: upload.part for upload in job.uploads.all()}
    assert {name for name, part in guessed.items() if part == "run"} == {f"run{n}.txt" for n in range(40)}
    assert {name: part for name, part in guessed.items() if part != "run"} == {
        **{"q.tsv": "queries", "r.txt": "qrels", "p.tsv.gz": "queries"},
        **{"notes.md": "none", "old.txt": "none", "more.txt": "none"},
    }
    text = page.get(reverse("runs:files", args=[job.pk])).content.decode()
    assert "preferences: import them on a page of their own" in text and "further qrels" in text
    assert "begins with “# Notes”" in text

    led = read(page, job, **{"p.tsv.gz": "passages"})
    birds = Collection.objects.get(name="birds")
    assert led.redirect_chain[-1] == (reverse("pools:collection", args=[birds.pk]), 303)
    assert "Added: 2 queries, 1 qrel, 40 runs, 2 passages." in led.content.decode()
    texts = dict(birds.passages.values_list("pid", "text"))
    assert texts == {"o1": "Owls eat mice.", "o2": "Owls eat voles."}, "what no pool needs is not kept"
    assert birds.runs.get(name="run7").original.read() == zstandard.compress(run(7)), "as it came"
    assert not Upload.objects.exclude(file="").exists()


def test_a_bad_run_is_left_out_alone_and_a_bad_file_of_queries_or_qrels_keeps_out_all(page: Client) -> None:
    before = stored_files()
    job = begin(page, files(q_tsv=QUERIES, r_txt=QRELS + b"b1 0 o2 high\n", good_txt=run(1)))
    text = read(page, job).content.decode()
    assert "r.txt, line 2: grade high is not a whole number" in text and "Nothing was stored." in text
    assert not Collection.objects.filter(name="birds").exists() and not Query.objects.filter(qid="b1").exists()
    assert stored_files() == before
    assert 'value="birds"' in page.get(reverse("runs:collection_new") + f"?again={job.pk}").content.decode()

    job = begin(page, files(q_tsv=QUERIES, bad_txt=BAD, good_txt=run(1), twice_txt=run(1)))
    text = read(page, job).content.decode()
    assert "2 files were not stored." in text and "Added: 2 queries, 1 run." in text
    assert "line 2: 3 columns where a TREC run has 6" in text
    assert "already has a run called good, and it is this very file" in text
    job.refresh_from_db()
    assert (job.state, job.counts["refused"]) == ("done", 2)
    birds = Collection.objects.get(name="birds")
    assert [stored.name for stored in birds.runs.all()] == ["good"]
    assert len(stored_files() - before) == 2, "the good run's, and nothing of the others"

    job = begin(page, files(bad_txt=BAD), name="fish")
    assert "None of the files could be read." in read(page, job).content.decode()
    assert not Collection.objects.filter(name="fish").exists()


def test_an_archive_is_unpacked_within_bounds(page: Client, settings: Any) -> None:
    tarred, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        for number in range(3):
            info = tarfile.TarInfo(f"runs/run{number}.txt")
            info.size = len(run(number))
            archive.addfile(info, io.BytesIO(run(number)))
        archive.addfile(tarfile.TarInfo("runs/.DS_Store"))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("all/q.tsv", QUERIES)
        packed.writestr("all/__MACOSX/q.tsv", b"x")
    job = begin(page, files(runs_tar_gz=tarred.getvalue(), rest_zip=zipped.getvalue()))
    rows = sorted(job.uploads.values_list("name", "part"))
    assert rows == [("q.tsv", "queries"), *((f"run{number}.txt", "run") for number in range(3))]

    before = stored_files()
    settings.UPLOAD_MEGABYTES = 1
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("small.txt", run(1))
        packed.writestr("zeros.txt", b"0" * 3_000_000)
    answer = page.post(reverse("runs:files", args=[job.pk]), {"files": files(bomb_zip=bomb.getvalue())}, follow=True)
    assert "bomb.zip: unpacks to more than 1,000,000 bytes. Nothing of it was kept." in answer.content.decode()
    broken = page.post(
        reverse("runs:files", args=[job.pk]),
        {"files": files(cut_tgz=tarred.getvalue()[:100])},
        headers={"Accept": "application/json"},
    )
    assert job.uploads.count() == 4 or broken.status_code == 201
    assert len(stored_files() - before) <= 1


def test_what_was_received_can_be_corrected_removed_and_discarded(page: Client, collection: Collection) -> None:
    before = stored_files()
    answer = page.post(
        reverse("runs:collection_add", args=[collection.pk]), {"files": files(a_txt=run(1), b_txt=QRELS)}
    )
    job = Job.objects.latest("id")
    assert answer.url == reverse("runs:files", args=[job.pk])
    assert dict(job.uploads.values_list("name", "part")) == {"a.txt": "run", "b.txt": "none"}, "it has its qrels"
    assert page.get(reverse("runs:job", args=[job.pk])).url == answer.url
    text = read(page, job, **{"a.txt": "none", "b.txt": "qrels"}).content.decode()
    assert "already has its original qrels" in text
    assert "nothing to read" in read(page, job, **{"a.txt": "none", "b.txt": "none"}).content.decode()
    upload = job.uploads.get(name="b.txt")
    page.post(reverse("runs:files_read", args=[job.pk]), {"remove": upload.pk})
    assert [upload.name for upload in job.uploads.all()] == ["a.txt"]
    page.post(reverse("runs:files_discard", args=[job.pk]))
    assert not Job.objects.filter(pk=job.pk).exists() and stored_files() == before

    stranger = Client()
    other = factories.user("sam")
    factories.lab("Another lab", other)
    stranger.force_login(other)
    page.post(reverse("runs:collection_add", args=[collection.pk]), {"files": files(a_txt=run(1))})
    for name in ("files", "files_read", "files_discard", "job_cancel"):
        assert stranger.post(reverse(f"runs:{name}", args=[Job.objects.latest("id").pk])).status_code == 404


def test_a_job_can_be_cancelled_before_and_while_it_is_done(
    page: Client, rita: User, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "is_small", lambda _job: False)
    monkeypatch.setattr(jobs.work, "delay", lambda _job_id: None)
    before = stored_files()
    for while_done in (False, True):
        page.post(reverse("runs:collection_add", args=[collection.pk]), {"files": files(a_txt=run(1), b_txt=run(2))})
        job = Job.objects.latest("id")
        read(page, job)
        job.refresh_from_db()
        assert job.state == "waiting"
        if while_done:  # by somebody who looks on
            progress.cancel(background.progress_key(job), "rita cancelled it.")
            background.job_do(job_id=job.pk)
        else:
            page.post(reverse("runs:job_cancel", args=[job.pk]))
        text = page.get(reverse("runs:job", args=[job.pk])).content.decode()
        assert "rita cancelled it." in text and "Nothing was stored." in text
        assert stored_files() == before and not Run.objects.filter(name__in="ab").exists()


def test_texts_that_are_missing_are_counted_listed_and_downloaded(page: Client, collection: Collection) -> None:
    added = run(1).replace(b"b1", b"q1").replace(b"o2", b"new-one")
    run_services.run_import(collection=collection, name="new", source=io.BytesIO(added), filename="new.txt")
    assert Passage.objects.get(collection=collection, pid="new-one").text == ""
    address = reverse("runs:missing_texts", args=[collection.pk])
    assert address in page.get(reverse("pools:collection", args=[collection.pk])).content.decode()
    text = page.get(address).content.decode()
    assert "Passages without text" in text and "new-one" in text and "a run" in text
    download = page.get(reverse("runs:missing_ids", args=[collection.pk]))
    ids = b"".join(download.streaming_content).decode().split("\n")  # type: ignore[attr-defined]
    assert "new-one" in ids and "o1" not in ids

    Passage.objects.bulk_create(Passage(collection=collection, pid=f"{number:064}") for number in range(3000))
    pieces = list(page.get(reverse("runs:missing_ids", args=[collection.pk])).streaming_content)  # type: ignore[attr-defined]
    assert b"".join(pieces).count(b"\n") == collection.passages.filter(text="").count() > 3000
    assert [len(piece) >= LargePieces.BYTES for piece in pieces] == [True, True, False], "and not one a line"
    Passage.objects.filter(pid__startswith="0" * 60).delete()

    texts = "".join(f"{pid}\tText of {pid}\n" for pid in ids if pid) + "no-pool\tNot needed\n"
    page.post(reverse("runs:collection_add", args=[collection.pk]), {"files": files(passages_tsv=texts.encode())})
    read(page, Job.objects.latest("id"))
    assert not collection.passages.filter(pid="no-pool").exists()
    assert "has a text." in page.get(address).content.decode()


def test_an_upload_takes_no_more_files_than_a_page_can_show(rita: User, collection: Collection, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    job = receiving.files_open(
        lab=collection.lab, name="birds", language="", collection=None, by=rita, at=timezone.now()
    )
    receiving.file_add(job=job, file=files(a_txt=run(1))[0])
    receiving.file_add(job=job, file=files(b_txt=run(2))[0])
    with pytest.raises(Exception, match="at most 2 files"):
        receiving.file_add(job=job, file=files(c_txt=run(3))[0])
    assert job.uploads.count() == 2


def test_a_folder_sent_at_once_has_as_many_files_as_the_page_says_and_one_more_leaves_nothing(page: Client) -> None:
    before, most = stored_files(), settings.DATA_UPLOAD_MAX_NUMBER_FILES
    assert f"up to {most} files" in page.get(reverse("runs:collection_new")).content.decode()
    many = {f"run{number:03}_txt": run(number) for number in range(most)}
    refused = page.post(
        reverse("runs:collection_new"),
        {"lab": Lab.objects.get().pk, "name": "birds", "files": files(q_tsv=QUERIES, **many)},
    )
    assert refused.status_code == 400
    sentence = f"One upload takes at most {most} files. None of the files you sent was kept."
    assert sentence in refused.content.decode()
    assert not Job.objects.exists() and stored_files() == before

    job = begin(page, files(**many))
    assert job.uploads.count() == most
    for upload in job.uploads.order_by("name")[:50]:
        receiving.file_remove(upload=upload)
    paths = stored_files()
    address = reverse("runs:files", args=[job.pk])
    more = {f"more{number}_txt": run(most + number) for number in range(51)}
    text = page.post(address, {"files": files(**more)}, follow=True).content.decode()
    assert f"at most {most} files. So far it has {most - 50}. None of the files you sent was kept." in text
    refused = page.post(address, {"files": files(q_tsv=QUERIES, **many)})
    assert refused.status_code == 400 and sentence in refused.content.decode()
    assert job.uploads.count() == most - 50 and stored_files() == paths


BEIR = {
    "corpus.jsonl": b'{"_id":"o1","title":"Food","text":"See it.","metadata":{}}\n'
    b'{"_id":"o2","title":"Sleep","text":"See it.","metadata":{}}\n{"_id":"o3","title":"Alone","text":""}\n',
    "queries.jsonl": b'{"_id":"b1","text":"what do owls eat","metadata":{}}\n',
    "test.tsv": b"query-id\tcorpus-id\tscore\nb1\to1\t1\nb1\to3\t1\n",
}


def test_a_data_set_of_beir_is_recognized_and_its_titles_are_part_of_the_passages(page: Client) -> None:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in BEIR.items():
            packed.writestr(f"nfcorpus/{name}", content)
    job = begin(page, files(beir_zip=zipped.getvalue(), a_run=run(1)))
    guessed = {upload.name: (upload.part, upload.seen) for upload in job.uploads.all()}
    assert guessed == {
        "a.run": ("run", "TREC (query, Q0, passage, rank, score, tag)"),
        "corpus.jsonl": ("passages", "BEIR (_id, title, text, metadata); left out: metadata"),
        "queries.jsonl": ("queries", "BEIR (_id, text, metadata); left out: metadata"),
        "test.tsv": ("qrels", "BEIR (query-id, corpus-id, score)"),
    }
    assert "Added: 1 query, 2 qrels, 1 run, 3 passages." in read(page, job).content.decode()
    texts = Collection.objects.get(name="birds").passages.values_list("pid", "text", "text_key")
    assert {pid: text for pid, text, _key in texts} == {"o1": "Food See it.", "o2": "Sleep See it.", "o3": "Alone"}
    assert len({key for _pid, _text, key in texts}) == 3


def test_whatever_is_dropped_is_kept_and_said_and_never_an_error_of_the_site(page: Client) -> None:
    odd = {
        "nulls.jsonl": b'{"_id":"d1","title":null}\n{"_id":2,"title":"t"}\n',
        "list.json": b"[[[[{",
        "half.parquet": b"PAR1PAR1",
        "utf16.txt": "b1 0 o1 1\n".encode("utf-16"),
        "twice.gz": gzip.compress(gzip.compress(QUERIES)),
    }
    job = begin(page, [SimpleUploadedFile(name, content) for name, content in odd.items()])
    kinds = dict(job.uploads.values_list("name", "seen"))
    assert kinds.keys() == odd.keys() and all(kinds.values())
    assert "in UTF-16" in kinds["utf16.txt"] and "compressed twice" in kinds["twice.gz"]
    assert page.get(reverse("runs:files", args=[job.pk])).status_code == 200

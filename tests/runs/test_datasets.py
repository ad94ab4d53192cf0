"""Public collections by their ids in ir_datasets. Nothing here asks the network: the datasets are local ones."""

import io
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from hashlib import md5
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import ir_datasets  # type: ignore[import-untyped]
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from ir_datasets import util
from kombu.exceptions import OperationalError

from core.errors import FileAway, Refused
from core.models import Lab, User
from core.progress import Cancelled, Report, silent
from runs import background, catalogue, fetching
from runs import jobs as pool_jobs
from runs.models import Collection, Job, Passage
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db
DATASET = "bestknown-test/here"


class Quiet(SimpleHTTPRequestHandler):
    """A web server that keeps what it is asked to itself."""

    asked: list[str]

    def log_message(self, *_said: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The files of a dataset."""
    folder = tmp_path / "source"
    folder.mkdir()
    folder.joinpath("docs.tsv").write_text("".join(f"p{n}\tThe text of passage {n}.\n" for n in range(1, 10)))
    folder.joinpath("queries.tsv").write_text("q1\twhat is one\nq2\twhat is two\n")
    folder.joinpath("qrels.txt").write_text("q1 0 p1 1\nq2 0 p2 2\n")
    return folder


@pytest.fixture
def publisher(source: Path) -> Iterator[tuple[str, list[str]]]:
    """Where the files are published, and which were asked for."""
    paths: list[str] = []
    handler = type("Handler", (Quiet,), {"asked": paths})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(source)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def dataset(
    source: Path, publisher: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A dataset that ir_datasets knows, and that is to be downloaded."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IR_DATASETS_DL_DISABLE_PBAR", "true")
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    address, _asked = publisher

    def download(name: str) -> Any:
        content, path = source.joinpath(name).read_bytes(), tmp_path / "home" / name
        digest = md5(content).hexdigest() if name == "qrels.txt" else None
        mirrors = [util.RequestsDownload(f"{address}/{name}")]
        return util.Download(mirrors, str(path), digest, size_hint=len(content), dua="Be fair.")

    formats = ir_datasets.formats
    data = ir_datasets.Dataset(
        formats.TsvDocs(download("docs.tsv"), namespace="bestknown-test"),
        formats.TsvQueries(download("queries.tsv"), lang="en"),
        formats.TrecQrels(download("qrels.txt"), {}),
    )
    ir_datasets.registry.register(DATASET, data)
    yield DATASET
    del ir_datasets.registry._registered[DATASET]


@pytest.fixture
def page(client: Client, rita: User, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Rita's browser; what is asked of the background waits."""
    monkeypatch.setattr(pool_jobs.fetch_dataset, "delay", lambda _key: None)
    client.force_login(rita)
    return client


def test_a_collection_is_made_from_an_id_after_saying_what_it_takes_and_only_what_is_needed_is_kept(
    page: Client, lab: Lab, dataset: str, publisher: tuple[str, list[str]]
) -> None:
    _address, paths = publisher
    address, entered = reverse("runs:dataset_new"), {"lab": lab.pk, "dataset": dataset, "passages": "on"}
    answer = page.post(address, entered)
    offer = answer.context["offer"]
    assert (offer.size, offer.is_size_known, offer.is_huge) == (284, True, False)
    assert "284\xa0bytes are to be downloaded" in answer.text and "Be fair." in answer.text
    assert page.post(address, entered | {"seen": "yes"}).status_code == 303
    job = Job.objects.get()
    assert page.get(reverse("runs:job", args=[job.pk])).status_code == 200
    assert page.get(reverse("runs:files", args=[job.pk])).status_code == 303
    assert paths == []  # nothing is fetched while somebody waits for a page

    assert pool_jobs.fetch_dataset(job.pk) == "fetched"
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    collection = Collection.objects.get(name=dataset)
    assert (collection.dataset, collection.language) == (dataset, "en")
    assert dict(collection.queries.values_list("qid", "text")) == {"q1": "what is one", "q2": "what is two"}
    assert dict(collection.passages.values_list("pid", "text")) == {
        "p1": "The text of passage 1.",
        "p2": "The text of passage 2.",
    }
    assert list(collection.qrels.order_by("position").values_list("passage__pid", "grade")) == [("p1", 1), ("p2", 2)]

    factories.run(collection, "bm25", {"q1": ["p7", "p1"]})
    again = reverse("runs:dataset_texts", args=[collection.pk])
    assert "it is here already" in page.get(again).text
    assert page.post(again).status_code == 303
    count = len(paths)
    assert pool_jobs.fetch_dataset(Job.objects.latest("id").pk) == "fetched"
    assert len(paths) == count == 3
    assert Passage.objects.get(collection=collection, pid="p7").text == "The text of passage 7."
    assert not Passage.objects.filter(collection=collection, pid="p9").exists()


def test_a_typo_names_ids_that_are_like_it_and_what_has_no_queries_names_its_parts(page: Client, lab: Lab) -> None:
    entered = {"lab": lab.pk, "dataset": "beir/scifct/test"}
    answer = page.post(reverse("runs:dataset_new"), entered)
    assert answer.status_code == 409
    assert "no dataset “beir/scifct/test”. Did you mean beir/scifact/test" in answer.text
    with pytest.raises(Refused, match=r"“msmarco-passage” has no queries\. Choose .* msmarco-passage/dev"):
        catalogue.look("msmarco-passage", passages=False)
    assert not Job.objects.exists()


def test_what_needs_a_licence_is_refused_with_the_publishers_words(tmp_path: Path, dataset: str) -> None:
    gated = util.Download([util.LocalDownload(tmp_path / "none", "Ask the LDC for it.")], str(tmp_path / "x"))
    docs = ir_datasets.formats.TsvDocs(gated, namespace="gated")
    data = ir_datasets.Dataset(docs, ir_datasets.load(dataset).queries_handler())
    ir_datasets.registry.register("bestknown-test/gated", data)
    try:
        with pytest.raises(Refused, match=r"cannot be downloaded by everybody, so it is not fetched\. Ask the LDC"):
            catalogue.look("bestknown-test/gated", passages=True)
        assert not catalogue.look("bestknown-test/gated", passages=False).has_qrels
    finally:
        del ir_datasets.registry._registered["bestknown-test/gated"]


def test_looking_at_any_dataset_downloads_nothing_and_is_answered_or_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls: list[str] = []

    class Asked(BaseException):
        """A download has begun. ir_datasets takes an Exception for a mirror that fails."""

    def begin(download: Any) -> None:
        urls.append(str(download.url))
        raise Asked(download.url)

    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(util.RequestsDownload, "stream", begin)
    failed, offered = {}, set()
    for dataset_id in list(ir_datasets.registry):
        try:
            offered.add(catalogue.look_for_page(dataset_id, passages=True).id)
        except Refused as refused:
            assert str(refused)
        except BaseException as error:
            failed[dataset_id] = repr(error)
    assert (failed, urls) == ({}, [])
    assert "beir/scifact/test" in offered and "touche-image/2022-06-13/touche-2022-task-3" not in offered


@pytest.mark.parametrize("place", ["in the home", "with a temporary file"])
def test_passages_of_which_only_an_index_is_kept_count_once_and_again_when_it_is_gone(
    place: str, lab: Lab, dataset: str, source: Path, publisher: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, paths = publisher
    lines = source.joinpath("docs.tsv").read_text().replace("\t", ",")
    source.joinpath("docs.csv").write_text(f"doc_id,text\n{lines}")
    url = util.RequestsDownload(f"{address}/docs.csv")
    index = tmp_path / "home" / "streamed.pklz4" if place == "in the home" else util.tmp_path() / "streamed-x.pklz4"
    docs = ir_datasets.formats.CsvDocs(
        util.Download([url], size_hint=180, stream=True), namespace="streamed", docstore_path=index
    )
    of_all = ir_datasets.load(dataset)
    for name in ("streamed", "streamed/part"):
        data = ir_datasets.Dataset(docs, of_all.queries_handler(), of_all.qrels_handler())
        ir_datasets.registry.register(f"bestknown-test/{name}", data)
    try:
        streamed = "bestknown-test/streamed"
        assert catalogue.look(streamed, queries=False, passages=True).size == 180
        fetching.dataset_import(lab=lab, name="s", dataset=streamed, passages=True, report=silent())
        assert paths.count("/docs.csv") == 1 and Passage.objects.get(pid="p1").text == "The text of passage 1."
        for name in (streamed, f"{streamed}/part"):
            left = catalogue.look(name, queries=False, passages=True).size
            assert left == (0 if place == "in the home" else 180)
        shutil.rmtree(index)
        assert catalogue.look(streamed, queries=False, passages=True).size == 180
    finally:
        for name in ("streamed", "streamed/part"):
            del ir_datasets.registry._registered[f"bestknown-test/{name}"]
        shutil.rmtree(index, ignore_errors=True)


def test_a_disk_that_is_too_small_is_said_before_anything_begins(
    dataset: str, publisher: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    [corpus] = catalogue._files(ir_datasets.load(dataset), queries=False, passages=True)
    monkeypatch.setattr(corpus, "_size_hint", 10**18)
    with pytest.raises(Refused, match=r"downloads 888\.2\sPB.*Only .* are free at"):
        catalogue.look(dataset, passages=True)
    assert publisher[1] == []


def test_what_is_large_or_of_unknown_size_is_left_to_the_command(
    page: Client,
    lab: Lab,
    dataset: str,
    publisher: tuple[str, list[str]],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, entered = reverse("runs:dataset_new"), {"lab": lab.pk, "dataset": dataset, "passages": "on", "seen": "1"}
    settings.DATASET_DOWNLOAD_BYTES = 283
    answer = page.post(address, entered)
    assert answer.status_code == 409
    assert "284\xa0bytes have to be downloaded. From a page, 283\xa0bytes can" in answer.text
    assert f"manage.py import_dataset {dataset} --passages" in answer.text
    assert catalogue.look(dataset, passages=True).size == 284
    settings.DATASET_DOWNLOAD_BYTES = 284
    [corpus] = catalogue._files(ir_datasets.load(dataset), queries=False, passages=True)
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "_size_hint", None)
        assert "is not known in full" in page.post(address, entered).text
    assert not Job.objects.exists() and publisher[1] == []
    assert page.post(address, entered).status_code == 303


def test_what_a_licence_has_put_on_the_server_is_refused_on_pages_also_once_it_is_unpacked(
    page: Client, lab: Lab, dataset: str, source: Path, tmp_path: Path
) -> None:
    linked = util.LocalDownload(source / "docs.tsv", "Ask the LDC for it.")
    gated = util.Download([linked], str(tmp_path / "home" / "gated"), size_hint=10)
    docs = ir_datasets.formats.TsvDocs(util.Cache(gated, tmp_path / "home" / "unpacked"), namespace="linked")
    data = ir_datasets.Dataset(docs, ir_datasets.load(dataset).queries_handler())
    ir_datasets.registry.register("bestknown-test/linked", data)
    asking = {"lab": lab.pk, "dataset": "bestknown-test/linked", "passages": "on", "seen": "1"}
    try:
        for qid, pid in (("q1", "p7"), ("q2", "p8")):
            answer = page.post(reverse("runs:dataset_new"), asking)
            assert answer.status_code == 409 and "only to those who have a licence" in answer.text
            imported = fetching.dataset_import(
                lab=lab, name="l", dataset="bestknown-test/linked", passages=True, report=silent()
            )
            factories.run(imported.collection, f"run-{pid}", {qid: [pid]})
        assert Passage.objects.get(pid="p7").text == "The text of passage 7."
    finally:
        del ir_datasets.registry._registered["bestknown-test/linked"]
    assert not Job.objects.exists()


def test_a_file_that_can_be_linked_and_downloaded_is_not_licensed(dataset: str, tmp_path: Path) -> None:
    [corpus] = catalogue._files(ir_datasets.load(dataset), queries=False, passages=True)
    corpus.mirrors.insert(0, util.LocalDownload(tmp_path / "none", "If you have a copy, link it here."))
    assert not catalogue.look_for_page(dataset, passages=True).is_licensed


def test_some_of_the_disk_stays_free(dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue.shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**12, 0, 10**10 + 851))
    with pytest.raises(Refused, match="beside what is kept free"):
        catalogue.look(dataset, passages=True)
    monkeypatch.setattr(catalogue.shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**12, 0, 10**10 + 852))
    assert catalogue.look(dataset, passages=True).free == 852


def test_one_collection_is_fetched_at_a_time(page: Client, lab: Lab, rita: User, dataset: str) -> None:
    asking = {"lab": lab.pk, "dataset": dataset, "seen": "yes"}
    assert page.post(reverse("runs:dataset_new"), asking).status_code == 303
    answer = page.post(reverse("runs:dataset_new"), asking | {"name": "second"})
    assert answer.status_code == 409 and "there is one at a time" in answer.text
    background.job_cancel(job=Job.objects.get(), by=rita)
    assert page.post(reverse("runs:dataset_new"), asking | {"name": "second"}).status_code == 303


@pytest.mark.parametrize("over", ["cancelled", "time"])
def test_a_download_ends_in_its_midst_and_leaves_nothing_half_written(
    over: str, dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "EVERY", 0.05)
    begun, ended = threading.Event(), threading.Event()

    class Stalled(util.BaseDownload):  # type: ignore[misc]
        """A publisher that sends some, and then nothing for a minute."""

        def stream(self) -> Any:

            def sent() -> Iterator[bytes]:
                yield b"q1\twhat"
                begun.set()
                ended.wait(60)

            return io.BufferedReader(util.IterStream(sent()))

    [queries, _qrels] = sorted(
        catalogue._files(ir_datasets.load(dataset), queries=True, passages=False),
        key=lambda file: file._cache_path,
        reverse=True,
    )
    queries.mirrors = [Stalled(), Stalled()]

    def tell(_progress: Any) -> None:
        if over == "cancelled" and begun.is_set():
            raise Cancelled("rita cancelled it.")

    expected = (Cancelled, "rita cancelled") if over == "cancelled" else (FileAway, "longer than it may")
    started = time.monotonic()
    with pytest.raises(expected[0], match=expected[1]):
        catalogue.fetch(
            dataset,
            tmp_path,
            queries=True,
            passages=False,
            needed=(),
            report=Report(tell, 0),
            seconds=0.2 if over == "time" else None,
        )
    assert time.monotonic() - started < 30
    assert list(tmp_path.joinpath("home").glob("queries*")) == []


def test_a_download_that_fails_ends_the_job_with_words_and_nothing_is_stored(
    page: Client, lab: Lab, rita: User, dataset: str, source: Path
) -> None:
    entered = {"lab": lab.pk, "dataset": dataset, "name": "mine", "seen": "yes"}
    page.post(reverse("runs:dataset_new"), entered)
    source.joinpath("qrels.txt").unlink()
    job = Job.objects.get()
    assert pool_jobs.fetch_dataset(job.pk) == "nothing fetched"
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error.startswith(f"ir_datasets could not fetch “{dataset}”: Expected md5")
    assert not Collection.objects.exists() and not job.uploads.exists()
    text = page.get(reverse("runs:job", args=[job.pk])).text
    assert reverse("runs:dataset_new") + f"?again={job.pk}" in text
    with pytest.raises(FileAway):
        fetching.dataset_import(lab=lab, name="mine", dataset=dataset, passages=False, report=silent())


def test_a_line_that_cannot_be_is_refused_by_the_same_reader_and_a_cancelled_job_fetches_nothing(
    page: Client, lab: Lab, rita: User, dataset: str, source: Path, publisher: tuple[str, list[str]]
) -> None:
    source.joinpath("queries.tsv").write_text("q1\twhat is one\nq1\twhat is two\n")
    asking = {"lab": lab.pk, "dataset": dataset, "seen": "yes"}
    page.post(reverse("runs:dataset_new"), asking)
    job = Job.objects.get()
    background.job_cancel(job=job, by=rita)
    assert pool_jobs.fetch_dataset(job.pk) == "nothing fetched"
    job.refresh_from_db()
    assert (job.state, job.error, publisher[1]) == ("refused", "rita cancelled it.", [])

    page.post(reverse("runs:dataset_new"), asking)
    job = Job.objects.latest("id")
    pool_jobs.fetch_dataset(job.pk)
    job.refresh_from_db()
    assert job.state == "refused"
    assert "bestknown-test-here-queries.jsonl, line 2: query q1 a second time" in job.error
    assert not Collection.objects.exists()


def test_the_command_says_what_it_takes_and_imports(lab: Lab, dataset: str) -> None:
    out = StringIO()
    call_command("import_dataset", dataset, "--lab", lab.name, "--dry-run", stdout=out)
    assert "bytes to download" in out.getvalue() and not Collection.objects.exists()
    call_command("import_dataset", dataset, "--lab", lab.name, "--passages", stdout=out)
    assert f"{dataset}: 2 queries, 2 qrels and 2 passages imported." in out.getvalue()
    collection = Collection.objects.get()
    factories.run(collection, "bm25", {"q1": ["p7"]})
    call_command("import_dataset", dataset, "--lab", lab.name, "--passages", stdout=out)
    assert Passage.objects.get(collection=collection, pid="p7").text == "The text of passage 7."
    with pytest.raises(CommandError, match="it is not from this dataset"):
        call_command("import_dataset", "vaswani", "--lab", lab.name, "--name", dataset, stdout=out)


def test_without_the_package_the_page_says_how_to_get_it(
    page: Client, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    answer = page.post(reverse("runs:dataset_new"), {"lab": lab.pk, "dataset": "vaswani"})
    assert answer.status_code == 409
    assert "pip install -r requirements-ir-datasets.txt" in answer.text
    with pytest.raises(CommandError, match="which is not installed"):
        call_command("import_dataset", "vaswani", "--lab", lab.name)


def test_through_the_api_datasets_are_listed_looked_at_and_fetched(
    lab: Lab, rita: User, dataset: str, publisher: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, viewer = Program(rita), Program(factories.member(lab, "viewer"))
    handed: list[int] = []
    monkeypatch.setattr(pool_jobs.fetch_dataset, "delay", handed.append)
    assert program.get("datasets/?id=BESTKNOWN-").json() == [{"id": dataset, "has_qrels": True, "has_passages": True}]
    assert "beir/scifact/test" in [row["id"] for row in viewer.get("datasets/").json()]
    offer = viewer.get(f"datasets/offer/?id={dataset}&passages=true").json()
    assert (offer["size"], offer["language"], offer["agreement"]) == (284, "en", "Be fair.")
    assert viewer.get(f"datasets/offer/?id={dataset}").json()["size"] < 284
    assert_problem(viewer.get("datasets/offer/"), 400, field="id")
    assert_problem(viewer.get(f"datasets/offer/?id={dataset}&passages=perhaps"), 400, field="passages")
    assert_problem(viewer.get("datasets/offer/?id=beir/scifct/test"), 409, says="beir/scifact/test")

    sent = {"lab": lab.pk, "dataset": dataset, "passages": True}
    assert_problem(viewer.post("datasets/", sent), 403)
    assert_problem(program.post("datasets/", sent | {"lab": 2**62}), 400, field="lab")
    assert_problem(program.post("datasets/", sent | {"dataset": "none/such"}), 409, says="no dataset")
    assert not Job.objects.exists() and handed == []
    answer = program.post("datasets/", sent, Idempotency_Key="once")
    assert (answer.status_code, answer.json()["state"], answer.json()["name"]) == (202, "receiving", dataset)
    assert program.post("datasets/", sent, Idempotency_Key="once").json() == answer.json()
    assert_problem(program.post("datasets/", sent | {"name": "second"}), 409, says="one at a time")
    assert publisher[1] == []

    job = Job.objects.get()
    pool_jobs.fetch_dataset(job.pk)
    done = program.get(f"jobs/{job.pk}/").json()
    collection = Collection.objects.get(name=dataset)
    assert (done["state"], done["collection"]) == ("done", collection.pk)
    assert set(collection.passages.values_list("pid", flat=True)) == {"p1", "p2"}
    assert_problem(program.post("datasets/", sent), 400, field="name")

    factories.run(collection, "bm25", {"q1": ["p7", "p1"]})
    texts = f"collections/{collection.pk}/fetch-passages/"
    assert_problem(viewer.post(texts), 403)
    answer = program.post(texts)
    assert answer.status_code == 202
    pool_jobs.fetch_dataset(answer.json()["id"])
    assert Passage.objects.get(collection=collection, pid="p7").text == "The text of passage 7."
    other = Collection.objects.create(lab=lab, name="own")
    assert_problem(program.post(f"collections/{other.pk}/fetch-passages/"), 409, says="not from ir_datasets")


@pytest.mark.django_db(transaction=True)
def test_through_the_api_a_fetch_that_nobody_can_be_asked_for_leaves_nothing_waiting(
    lab: Lab, rita: User, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_key: int) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(pool_jobs.fetch_dataset, "delay", fail)
    program, sent = Program(rita), {"lab": lab.pk, "dataset": dataset}
    assert_problem(program.post("datasets/", sent, Idempotency_Key="once"), 503)
    assert [job.is_open for job in Job.objects.all()] == [False]
    monkeypatch.setattr(pool_jobs.fetch_dataset, "delay", lambda _key: None)
    assert program.post("datasets/", sent, Idempotency_Key="once").status_code == 202


def test_the_command_for_the_api_waits_for_a_fetch(lab: Lab, rita: User, dataset: str) -> None:
    out, sent = StringIO(), json.dumps({"lab": lab.pk, "dataset": dataset})
    call_command("call_api", "post", "datasets/", "--as", "rita", "--json", sent, "--wait", stdout=out)
    assert json.loads(out.getvalue())["state"] == "done"
    assert Collection.objects.get().dataset == dataset

"""Public collections by their ids in ir_datasets. Nothing here asks the network: the datasets are local ones."""

import sys
import threading
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

from core.errors import FileAway, Refused
from core.models import Lab, User
from core.progress import silent
from pools import background, catalogue, fetching
from pools import jobs as pool_jobs
from pools.models import Collection, Job, Passage
from tests import factories

pytestmark = pytest.mark.django_db
DATASET = "bestknown-test/here"


class Quiet(SimpleHTTPRequestHandler):
    """A web server that keeps what it is asked to itself."""

    asked: list[str]

    def log_message(self, *_said: object) -> None:
        """Count it."""
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
    asked: list[str] = []
    handler = type("Handler", (Quiet,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(source)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
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
    made = ir_datasets.Dataset(
        formats.TsvDocs(download("docs.tsv"), namespace="bestknown-test"),
        formats.TsvQueries(download("queries.tsv"), lang="en"),
        formats.TrecQrels(download("qrels.txt"), {}),
    )
    ir_datasets.registry.register(DATASET, made)
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
    _address, asked = publisher
    address, entered = reverse("pools:dataset_new"), {"lab": lab.pk, "dataset": dataset, "passages": "on"}
    shown = page.post(address, entered)
    offer = shown.context["offer"]
    assert (offer.size, offer.is_size_known, offer.is_huge) == (284, True, False)
    assert "284\xa0bytes are to be downloaded" in shown.text and "Be fair." in shown.text
    assert page.post(address, entered | {"seen": "yes"}).status_code == 303
    job = Job.objects.get()
    assert page.get(reverse("pools:job", args=[job.pk])).status_code == 200
    assert page.get(reverse("pools:files", args=[job.pk])).status_code == 303
    assert asked == []  # nothing is fetched while somebody waits for a page

    assert pool_jobs.fetch_dataset(job.pk) == "fetched"
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    made = Collection.objects.get(name=dataset)
    assert (made.dataset, made.language) == (dataset, "en")
    assert dict(made.queries.values_list("qid", "text")) == {"q1": "what is one", "q2": "what is two"}
    assert dict(made.passages.values_list("pid", "text")) == {
        "p1": "The text of passage 1.",
        "p2": "The text of passage 2.",
    }
    assert list(made.qrels.order_by("position").values_list("passage__pid", "grade")) == [("p1", 1), ("p2", 2)]

    factories.run(made, "bm25", {"q1": ["p7", "p1"]})
    again = reverse("pools:dataset_texts", args=[made.pk])
    assert "it is here already" in page.get(again).text
    assert page.post(again).status_code == 303
    count = len(asked)
    assert pool_jobs.fetch_dataset(Job.objects.latest("id").pk) == "fetched"
    assert len(asked) == count == 3
    assert Passage.objects.get(collection=made, pid="p7").text == "The text of passage 7."
    assert not Passage.objects.filter(collection=made, pid="p9").exists()


def test_a_typo_names_ids_that_are_like_it_and_what_has_no_queries_names_its_parts(page: Client, lab: Lab) -> None:
    entered = {"lab": lab.pk, "dataset": "beir/scifct/test"}
    answer = page.post(reverse("pools:dataset_new"), entered)
    assert answer.status_code == 409
    assert "no dataset “beir/scifct/test”. Did you mean beir/scifact/test" in answer.text
    with pytest.raises(Refused, match=r"“msmarco-passage” has no queries\. Choose .* msmarco-passage/dev"):
        catalogue.look("msmarco-passage", passages=False)
    assert not Job.objects.exists()


def test_what_needs_a_licence_is_refused_with_the_publishers_words(tmp_path: Path, dataset: str) -> None:
    gated = util.Download([util.LocalDownload(tmp_path / "none", "Ask the LDC for it.")], str(tmp_path / "x"))
    docs = ir_datasets.formats.TsvDocs(gated, namespace="gated")
    made = ir_datasets.Dataset(docs, ir_datasets.load(dataset).queries_handler())
    ir_datasets.registry.register("bestknown-test/gated", made)
    try:
        with pytest.raises(Refused, match=r"cannot be downloaded by everybody, so it is not fetched\. Ask the LDC"):
            catalogue.look("bestknown-test/gated", passages=True)
        assert not catalogue.look("bestknown-test/gated", passages=False).has_qrels
    finally:
        del ir_datasets.registry._registered["bestknown-test/gated"]


def test_a_disk_that_is_too_small_is_said_before_anything_begins(
    dataset: str, publisher: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    [corpus] = catalogue._files(ir_datasets.load(dataset), queries=False, passages=True)
    monkeypatch.setattr(corpus, "_size_hint", 10**18)
    with pytest.raises(Refused, match=r"downloads 888\.2\sPB.*Only .* are free at"):
        catalogue.look(dataset, passages=True)
    assert publisher[1] == []


def test_a_download_that_fails_ends_the_job_with_words_and_nothing_is_stored(
    page: Client, lab: Lab, rita: User, dataset: str, source: Path
) -> None:
    entered = {"lab": lab.pk, "dataset": dataset, "name": "mine", "seen": "yes"}
    page.post(reverse("pools:dataset_new"), entered)
    source.joinpath("qrels.txt").unlink()
    job = Job.objects.get()
    assert pool_jobs.fetch_dataset(job.pk) == "nothing fetched"
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error.startswith(f"ir_datasets could not fetch “{dataset}”: Expected md5")
    assert not Collection.objects.exists() and not job.uploads.exists()
    shown = page.get(reverse("pools:job", args=[job.pk])).text
    assert reverse("pools:dataset_new") + f"?again={job.pk}" in shown
    with pytest.raises(FileAway):
        fetching.dataset_import(lab=lab, name="mine", dataset=dataset, passages=False, report=silent())


def test_a_line_that_cannot_be_is_refused_by_the_same_reader_and_a_cancelled_job_fetches_nothing(
    page: Client, lab: Lab, rita: User, dataset: str, source: Path, publisher: tuple[str, list[str]]
) -> None:
    source.joinpath("queries.tsv").write_text("q1\twhat is one\nq1\twhat is two\n")
    asking = {"lab": lab.pk, "dataset": dataset, "seen": "yes"}
    page.post(reverse("pools:dataset_new"), asking)
    job = Job.objects.get()
    background.job_cancel(job=job, by=rita)
    assert pool_jobs.fetch_dataset(job.pk) == "nothing fetched"
    job.refresh_from_db()
    assert (job.state, job.error, publisher[1]) == ("refused", "rita cancelled it.", [])

    page.post(reverse("pools:dataset_new"), asking)
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
    made = Collection.objects.get()
    factories.run(made, "bm25", {"q1": ["p7"]})
    call_command("import_dataset", dataset, "--lab", lab.name, "--passages", stdout=out)
    assert Passage.objects.get(collection=made, pid="p7").text == "The text of passage 7."
    with pytest.raises(CommandError, match="it is not from this dataset"):
        call_command("import_dataset", "vaswani", "--lab", lab.name, "--name", dataset, stdout=out)


def test_without_the_package_the_page_says_how_to_get_it(
    page: Client, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    answer = page.post(reverse("pools:dataset_new"), {"lab": lab.pk, "dataset": "vaswani"})
    assert answer.status_code == 409
    assert "pip install -r requirements-ir-datasets.txt" in answer.text
    with pytest.raises(CommandError, match="which is not installed"):
        call_command("import_dataset", "vaswani", "--lab", lab.name)

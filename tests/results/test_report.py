"""The report: complete, self-contained, the same every time, and nobody's identity in it."""

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Entry, Qrels, read_qrels
from evaluation.statistics.leaderboards import pairings
from evaluation.statistics.ranks import Board
from evaluation.statistics.win_ratios import perfect_top, win_ratios
from judgments import exports
from judgments import selectors as judgment_selectors
from judgments.models import StoredFile
from pools.models import Campaign
from pools.selectors import twins_of
from results import figures, report
from results import selectors as result_selectors
from results.models import Result
from results.refreshing import result_refresh
from results.sections.whole import Results, read, tables
from runs.selectors import collection_qrels, load_artifact
from runs.services import run_release
from tasks.models import Worker
from tests import factories
from tests.conftest import REPOSITORY, database_url
from tests.results.sample_results import sample

Files = dict[str, bytes]
VOID = {"meta", "link", "br", "img", "hr"}


_reported: Files = {}


def report_files(campaign: Campaign) -> Files:
    """The report's files by name, written now from the results as they are stored."""
    data = result_selectors.whole_data(campaign)
    assert data is not None
    with TemporaryDirectory() as name:
        folder = Path(name)
        exported = exports.write_files(exports.Source(campaign), folder / report.DATA)
        results = read(data)
        paths = report.write_report(results, exported, report.write_result_files(results, folder)[0], folder)
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths.values()}


def stored_report(campaign: Campaign) -> bytes:
    """The archive that the job stored."""
    stored = judgment_selectors.stored_file(campaign, StoredFile.Kind.RESULT, report.ARCHIVE)
    assert stored is not None
    return bytes(stored.file.read())


@pytest.fixture(autouse=True)
def figures_once() -> None:
    """Here they are all drawn: what another test has drawn in this process must not be in a report."""


@pytest.fixture
def reported(judged: Campaign) -> Files:
    """The report's files, made once: the campaign is the same every time."""
    _reported.update({} if _reported else report_files(judged))
    return _reported


def unpacked(archive: bytes) -> Files:
    opened = zipfile.ZipFile(io.BytesIO(archive))
    return {name: opened.read(name) for name in opened.namelist()}


def differing(ours: Files, theirs: Files) -> list[str]:
    """The names of the files that two reports do not have alike: to compare megabytes line by line takes minutes."""
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes its time: these tests look at something else."""
    monkeypatch.setattr(figures, "drawable", lambda _data: [])


@pytest.fixture
def with_results(judged: Campaign) -> Callable[[dict[str, object]], Files]:
    """The report's files, had these results been computed."""

    def files(data: dict[str, object]) -> Files:
        Result.objects.filter(campaign=judged).update(data=data)
        return report_files(judged)

    return files


class Page(HTMLParser):
    """Which tags are open, which ids there are, where links lead, and what is loaded from elsewhere."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert name != "style" and not name.startswith("on")
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# --- what is in it


def test_it_has_every_figure_table_and_export_and_says_so_in_the_manifest(judged: Campaign, reported: Files) -> None:
    files, data = reported, judged.result.data
    for figure in figures.drawable(read(data)):
        assert {f"figures/{figure.name}.{form}" for form in ("svg", "pdf", "png")} <= set(files)
    for name in tables(read(data)):
        assert {f"tables/{name}.csv", f"tables/{name}.tex"} <= set(files)
    for name, content in factories.exported(judged).items():
        assert files[f"data/{name}"] == content
    assert json.loads(files["data/results.json"]) == result_selectors.whole_data(judged)
    manifest = json.loads(files["manifest.json"])
    assert set(manifest["files"]) == set(files) - {"manifest.json"}
    for name, entry in manifest["files"].items():
        assert entry == {"bytes": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    assert manifest["settings"]["overlap"] == judged.overlap
    assert manifest["software"].startswith("bestknown ")


def test_it_shows_three_judged_pairs_with_their_texts_drawn_by_the_seed(judged: Campaign, reported: Files) -> None:
    page, rows = reported["index.html"].decode(), reported["data/judged-pairs.jsonl"].splitlines()
    visible = [row for row in map(json.loads, rows) if f"(query {row['query']})" in page and row["a_text"] in page]
    assert page.count('<article class="example"') == 3
    drawn = [json.loads(rows[number]) for number in sorted(Random(judged.seed).sample(range(len(rows)), 3))]
    assert all(row in visible and f"<dt>{row['a']}" in page and row["b_text"] in page for row in drawn)


def test_the_page_needs_nothing_else_and_its_links_lead_to_its_own_files(reported: Files) -> None:
    page = Page(reported["index.html"])
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert not page.tags & {"script", "img", "link", "iframe"}
    files = {link for link in page.links if not link.startswith("#")}
    assert files <= set(reported) and set(reported) - files == {"index.html"}
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert page.tags >= {"svg", "table", "figure"}


def test_a_long_table_is_cut_on_the_page_and_whole_in_its_file(
    with_results: Callable[..., Files], without_figures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "LONGEST", 20)
    files = with_results(sample(7))
    html = files["index.html"].decode()
    assert "Here are the first 20 of 21 rows." in html
    assert len(list(csv.reader(io.StringIO(files["tables/pairs.csv"].decode())))) == 22


def test_names_are_text_on_the_page(with_results: Callable[..., Files], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "drawable", lambda _data: [figures.FIGURES["ranks"]])  # names are on it, as on all
    names = ["<b>bold</b>", "{{ campaign }}", "a&amp;b", "<script>alert(1)</script>"]
    files = with_results(sample(4, names=names))
    page = Page(files["index.html"])
    assert page.open == [] and not page.tags & {"b", "script"}
    assert b"&lt;b&gt;bold&lt;/b&gt;" in files["index.html"] and b"{{ campaign }}" in files["index.html"]


def test_no_identity_leaves(judged: Campaign, reported: Files) -> None:
    everything = b"".join(reported.values())
    labels = [worker.label.encode() for worker in Worker.objects.all()]
    assert labels and not any(label in everything for label in labels)
    assert judged.link.encode() not in everything


# --- the same every time


def test_the_same_inputs_give_the_same_bytes_and_the_figures_of_the_page(
    judged: Campaign, reported: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []  # both here: what the world brings was drawn with the figures of other tests
    draw, drawn = figures.draw, dict[tuple[str, ...], Files]()

    def once(name: str, data: Results, forms: Iterable[str] = figures.FORMS) -> Files:
        key = (name, *forms)
        return dict(drawn.get(key) or drawn.setdefault(key, draw(name, data, forms)))

    monkeypatch.setattr(figures, "draw", once)  # once for both, and once for what is reported
    for _ in range(2):
        Result.objects.all().delete()
        result_refresh(campaign=judged)
        reports.append(stored_report(judged))
    first, again = reports
    assert differing(unpacked(again), unpacked(first)) == []
    assert hashlib.sha256(again).digest() == hashlib.sha256(first).digest()
    assert differing(unpacked(first), reported) == []
    on_page = Result.objects.get().figures
    assert on_page and {name: reported[f"figures/{name}.svg"].decode() for name in on_page} == on_page
    archive = zipfile.ZipFile(io.BytesIO(first))
    assert archive.namelist()[0] == "index.html" and archive.namelist()[-1] == "manifest.json"


@pytest.mark.django_db(transaction=True)
def test_another_process_writes_the_same_bytes(
    judged: Campaign, without_figures: None, tmp_path: Path, settings: object
) -> None:
    """Of everything but figures, which have a test of their own."""
    result_refresh(campaign=judged, anew=True)
    ours = stored_report(judged)
    code = (
        "import sys, django; django.setup(); from pools.models import Campaign; "
        "from results import figures, refreshing; figures.drawable = lambda _data: []; "
        "refreshing.result_refresh(campaign=Campaign.objects.get(name=sys.argv[1]), anew=True)"
    )
    subprocess.run(
        [sys.executable, "-c", code, judged.name],
        cwd=REPOSITORY, check=True, capture_output=True,
        env=os.environ
        | {
            "DEVELOPMENT": "1", "DATABASE_URL": database_url(), "BESTKNOWN_VAR": str(tmp_path / "var"),
            "MEDIA_ROOT": settings.MEDIA_ROOT, "PYTHONHASHSEED": "7",  # type: ignore[attr-defined]
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
    )  # fmt: skip
    assert StoredFile.objects.filter(campaign=judged, name=report.ARCHIVE).count() > 1
    assert differing(unpacked(stored_report(judged)), unpacked(ours)) == []


def test_scores_of_a_report_are_those_of_its_own_qrels_whichever_run_is_held_back(
    judged: Campaign, tmp_path: Path, without_figures: None
) -> None:
    count = 0
    for run in judged.runs.all():
        run_release(run=run, is_released=False)
        result_refresh(campaign=judged)
        folder = tmp_path / run.name
        zipfile.ZipFile(io.BytesIO(stored_report(judged))).extractall(folder)
        results = json.loads((folder / "data/results.json").read_text())
        manifest = json.loads((folder / "data/manifest.json").read_text())
        qrels = read_qrels(str(folder / "data/preference-qrels.txt"))
        original = {query for query, _passage, _grade in collection_qrels(judged.collection)}
        artifacts = {run.name: load_artifact(run) for run in judged.collection.runs.all()}
        board = Board(artifacts, 10, "score").with_twins(twins_of(judged))
        queries = [query for query in qrels.queries if query in original]
        means = board.ranks(qrels).only(queries).means()
        assert {row["run"]: row["preference"]["mean"] for row in results["leaderboard"]} == pytest.approx(means)
        assert {row["qid"] for row in results["stability"]} <= set(qrels.queries)
        assert all(row["best"] for row in results["stability"])
        assert results["answered"] == len(qrels.queries)
        assert manifest["counts"]["qrels"]["single"] + sum(manifest["counts"]["qrels"]["deadlocks"].values()) == len(
            qrels.queries
        )
        lines = (folder / "data/preferences.txt").read_text().splitlines()
        leaving = [Preference(*line.split()) for line in lines]
        assert {row.query for row in leaving} <= set(qrels.queries)
        tops = {name: each.top("score") for name, each in artifacts.items() if name != run.name}
        perfect = perfect_top(Qrels.of(Entry(*row) for row in collection_qrels(judged.collection)))
        wins = win_ratios(tops | {"perfect": perfect}, qrels.queries, leaving)
        at = {name: number for number, name in enumerate(results["wins"]["names"])}
        assert set(at) == set(wins.runs)
        for meeting in wins.meetings:
            row, column = at[meeting.a], at[meeting.b]
            assert results["wins"]["won"][row][column] == meeting.a_wins
            assert results["wins"]["of"][row][column] == meeting.a_wins + meeting.b_wins
        assert results["pairings"]["preference"]["of"] == pairings(qrels.relevant(), leaving).pairings
        assert run.name not in {row["run"] for row in results["order_agreement"]}
        assert f"without {run.name}: not for release." in (folder / "index.html").read_text()
        inside = result_selectors.whole_data(judged)
        assert inside is not None and inside["answered"] == results["answered"] + results["held_back"]
        if results["held_back"]:
            count += 1
            assert manifest["queries held back"] == results["held_back"] == inside["held_back"]
            assert "not for release" in (folder / "index.html").read_text()
        run_release(run=run, is_released=True)
    assert count

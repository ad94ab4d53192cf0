"""Files in: all of a file or nothing, and a clear sentence with file and line where it is bad."""

import bz2
import gzip
import tarfile
import zipfile
from pathlib import Path
from typing import BinaryIO, cast

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.test import Client

from core.errors import Refused
from core.models import Lab, User
from evaluation.errors import BadInput
from runs import selectors as run_selectors
from runs.models import Collection, Passage, Qrel, Query, Run
from runs.services import BadRun, collection_import, run_import
from tests import factories

RUN = "q1 Q0 p2 1 9.5 red\nq1 Q0 p1 2 9.0 red\nq2 Q0 p5 1 3.5 red\n"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def bare(lab: Lab, tmp_path: Path) -> Collection:
    """A collection with three queries and qrels, without runs or texts of passages."""
    return collection_import(
        lab=lab,
        name="bare",
        queries=write(tmp_path / "q.tsv", "q1\tone\nq2\ttwo\nq3\tthree\n"),
        qrels=write(tmp_path / "r.txt", "q1 0 p1 1\nq2 0 p4 1\nq1 0 p9 0\n"),
    ).collection


def test_queries_and_qrels_are_stored_in_the_order_of_their_files(bare: Collection) -> None:
    assert sorted(Query.objects.values_list("qid", "text")) == [("q1", "one"), ("q2", "two"), ("q3", "three")]
    assert list(run_selectors.collection_qrels(bare)) == [("q1", "p1", 1), ("q1", "p9", 0), ("q2", "p4", 1)]


def test_importing_queries_again_changes_nothing_and_another_text_is_refused(bare: Collection, tmp_path: Path) -> None:
    collection_import(lab=bare.lab, name="bare", queries=write(tmp_path / "more.tsv", "q1\tone\nq4\tfour\n"))
    assert Query.objects.count() == 4
    with pytest.raises(BadInput, match=r"other\.tsv: query q1 already has a different text"):
        collection_import(lab=bare.lab, name="bare", queries=write(tmp_path / "other.tsv", "q5\tfive\nq1\tuno\n"))
    assert Query.objects.count() == 4


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("q1 one\n", r"bad\.tsv, line 1"),
        ("q1\tone\nq1\tone\n", r"bad\.tsv, line 2"),
        ("", r"bad\.tsv, line 1: the file is empty"),
        (b"q1\tone\nq2\t\xff\xfe\n", r"bad\.tsv, line 2: invalid UTF-8"),
        (b"q1\tone\nq2\ta\x00b\n", r"bad\.tsv, line 2: a NUL byte"),
    ],
)
def test_bad_queries_are_refused_by_line_and_nothing_is_stored(
    lab: Lab, tmp_path: Path, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        collection_import(lab=lab, name="new", queries=write(tmp_path / "bad.tsv", content))
    assert not Collection.objects.exists()


def test_bad_qrels_leave_no_queries_either(lab: Lab, tmp_path: Path) -> None:
    queries = write(tmp_path / "q.tsv", "q1\tone\n")
    with pytest.raises(BadInput, match=r"r\.txt, line 2: 3 columns where qrels have 4"):
        collection_import(lab=lab, name="new", queries=queries, qrels=write(tmp_path / "r.txt", "q1 0 p1 1\nq1 0 p2\n"))
    assert not Query.objects.exists()
    assert not Collection.objects.exists()


def test_only_passages_that_pools_can_need_are_kept(bare: Collection, tmp_path: Path) -> None:
    import_run(bare, tmp_path, RUN)
    lines = "".join(f"p{number}\ttext {number}\n" for number in range(2000))
    imported = collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "p.tsv", lines))
    assert sorted(Passage.objects.exclude(text="").values_list("pid", flat=True)) == ["p1", "p2", "p4", "p5", "p9"]
    assert imported.passages == 5
    assert imported.missing == []


def test_passages_without_a_text_are_named(bare: Collection, tmp_path: Path) -> None:
    imported = collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "p.tsv", "p1\ttext\n"))
    assert imported.missing == ["p4", "p9"]


def test_queries_qrels_and_corpus_are_counted_as_they_are_read(bare: Collection, tmp_path: Path) -> None:
    lines = "".join(f"p{number}\t{'word ' * number}\n" for number in (1, 2, 6, 9))
    collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "all.tsv", lines))
    more = write(tmp_path / "more.tsv", "q4\tfive words are in this\n")
    collection_import(lab=bare.lab, name="bare", queries=more)
    bare.refresh_from_db()
    assert bare.statistics == {
        "queries": {"count": 4, "mean_words": 2.0},
        "qrels": {"judgments": 3, "queries": 2, "relevant": 2},
        "corpus": {"file": "all.tsv", "passages": 4, "mean_words": 4.5, "median_words": 4.0},
    }
    assert (bare.judgments_per_query, bare.relevant_per_query) == (1.5, 1.0)


def test_a_collections_page_shows_what_was_counted(
    bare: Collection, client: Client, rita: User, tmp_path: Path
) -> None:
    lines = "".join(f"p{number}\t{'word ' * number}\n" for number in (1, 2, 6, 9))
    collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "all.tsv", lines))
    client.force_login(rita)
    text = " ".join(client.get(f"/collections/{bare.pk}/").content.decode().split())
    assert '<dd>4.5 <span class="quiet">median 4</span></dd>' in text
    assert "<dt>Judgments in a query with qrels</dt><dd>1.50</dd>" in text


def test_a_part_of_the_corpus_or_a_file_that_is_refused_changes_no_count_of_it(
    bare: Collection, tmp_path: Path
) -> None:
    whole = write(tmp_path / "all.tsv", "p1\ta\np2\tb c\np3\td e f\n")
    collection_import(lab=bare.lab, name="bare", passages=whole)
    bare.refresh_from_db()
    statistics = bare.statistics
    collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "part.tsv", "p1\ta\n"))
    fetched = write(tmp_path / "fetched.tsv", "".join(f"p{number}\tx\n" for number in range(10, 20)))
    collection_import(lab=bare.lab, name="bare", passages=fetched, is_corpus=False)
    with pytest.raises(BadInput, match=r"bad\.tsv, line 5"):
        collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "bad.tsv", "p\ta\n" * 4 + "no tab\n"))
    bare.refresh_from_db()
    assert bare.statistics == statistics
    assert statistics["corpus"]["passages"] == 3


def test_a_passage_that_comes_twice_with_different_texts_is_refused(bare: Collection, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="passage p1 appears twice"):
        collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "p.tsv", "p1\ta\np4\tb\np1\tanother\n"))
    assert not Passage.objects.exclude(text="").exists()


def test_a_line_that_is_repeated_in_a_passage_file_does_no_harm(bare: Collection, tmp_path: Path) -> None:
    imported = collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "p.tsv", "p1\ta\np4\tb\np1\ta\n"))
    assert imported.passages == 2
    assert Passage.objects.get(pid="p1").text == "a"


def test_texts_with_quotes_backslashes_and_commas_survive(bare: Collection, tmp_path: Path) -> None:
    text = 'He said "a, b" and \\N \\. then left; عربي'
    collection_import(lab=bare.lab, name="bare", passages=write(tmp_path / "p.tsv", f"p1\t{text}\n"))
    assert Passage.objects.get(pid="p1").text == text


def import_run(collection: Collection, tmp_path: Path, content: str | bytes, name: str = "red") -> Run:
    path = write(tmp_path / f"{name}.txt", content)
    with path.open("rb") as source:
        return run_import(collection=collection, name=name, source=source, filename=path.name)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, zstandard.compress])
def test_a_run_is_stored_as_it_came_with_artifact_and_census(bare: Collection, tmp_path: Path, pack: type) -> None:
    content = pack(RUN.encode())
    run = import_run(bare, tmp_path, content)
    with run.original.open("rb") as stored:
        assert stored.read() == content
    assert run_selectors.load_artifact(run).top("score", 2) == {"q1": ("p2", "p1"), "q2": ("p5",)}
    assert run.census["queries"] == 2
    assert run.census["missing_query_ids"] == ["q3"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("q1 Q0 p2 1 9.5\n", "line 1: 5 columns"),
        (RUN + "q1 Q0 p2 3 1.0 red\n", "line 4"),
        (RUN + "q2 Q0 p6 2 nan red\n", "line 4"),
        (RUN.encode() + b"q2 Q0 p\x00 2 1.0 red\n", "line 4: a NUL byte"),
        (b"", "line 1: the file is empty"),
        (gzip.compress(RUN.encode() * 50)[:-20], "red.txt, line"),
        (gzip.compress(b"q1 Q0 p1 1 1.0 red\n" + b"\n" * 300_000_000, compresslevel=9), "red.txt, line"),
    ],
    ids=["five columns", "a document twice", "not a number", "a NUL byte", "empty", "cut short", "a bomb"],
)
def test_a_bad_run_is_refused_by_line_and_leaves_no_row_and_no_file(
    bare: Collection, tmp_path: Path, settings: object, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(BadRun, match=complaint) as caught:
        import_run(bare, tmp_path, content)
    assert caught.value.check.errors
    assert not Run.objects.exists()
    stored = Path(settings.MEDIA_ROOT)  # type: ignore[attr-defined]
    assert not stored.exists() or not any(path.is_file() for path in stored.rglob("*"))


def test_a_second_run_of_the_same_name_is_refused(bare: Collection, tmp_path: Path) -> None:
    import_run(bare, tmp_path, RUN)
    with pytest.raises(Refused, match="already has a run called red"):
        import_run(bare, tmp_path, RUN)


def test_the_commands_import_and_complain_without_a_traceback(
    db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = write(tmp_path / "q.tsv", "q1\tone\n")
    qrels = write(tmp_path / "r.txt", "q1 0 p1 1\n")
    call_command("import_collection", "mine", lab="ours", queries=queries, qrels=qrels)
    assert "1 queries, 1 qrels" in capsys.readouterr().out
    good, bad = write(tmp_path / "good.txt", "q1 Q0 p2 1 1.0 g\n"), write(tmp_path / "bad.txt", "q1 Q0 p2 1 x g\n")
    with pytest.raises(CommandError, match="1 of 2 files refused"):
        call_command("import_run", "mine", str(bad), str(good))
    output = capsys.readouterr()
    assert "bad.txt, line 1:" in output.err
    assert "good: stored." in output.out
    with pytest.raises(CommandError, match="There is no collection called theirs"):
        call_command("import_run", "theirs", str(good))
    with pytest.raises(CommandError, match="nowhere"):
        call_command("import_collection", "mine", lab="ours", passages=tmp_path / "nowhere.tsv")


def test_the_command_takes_runs_from_archives_within_the_bounds_of_an_upload(
    bare: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "q1 Q0 p2 1 1.0 g\n"
    packed = tmp_path / "runs.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(60):
            archive.writestr(f"runs/r{number:02}.txt", line.replace("1.0", f"{number}.5"))
        archive.writestr("runs/broken.txt", line + "q1 Q0 p3 2 x g\n")
        archive.writestr("README.md", "About these runs.\n")
    with pytest.raises(CommandError, match="1 of 61 files refused"):
        call_command("import_run", bare.name, str(packed))
    output = capsys.readouterr()
    assert "r59: stored." in output.out and "runs.zip, README.md: left out" in output.out
    assert "broken.txt, line 2:" in output.err
    assert bare.runs.count() == 60
    with pytest.raises(CommandError, match=r"runs\.zip is an archive"):
        call_command("import_run", bare.name, str(packed), name="all")

    bomb = tmp_path / "bomb.tar.gz"
    with tarfile.open(bomb, "w:gz") as tar:
        head = tarfile.TarInfo("run.txt")
        head.size = 200 << 20
        tar.addfile(head, cast(BinaryIO, Zeros(head.size)))
    with pytest.raises(CommandError, match=r"bomb\.tar\.gz: .*times"):
        call_command("import_run", bare.name, str(bomb))
    assert bare.runs.count() == 60


class Zeros:
    """A file of nothing but noughts."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int) -> bytes:
        size = min(size, self.left)
        self.left -= size
        return bytes(size)


def test_another_labs_collection_may_have_the_same_name(lab: Lab, tmp_path: Path) -> None:
    other = factories.lab("Another lab")
    queries = write(tmp_path / "q.tsv", "q1\tone\n")
    for owner in (lab, other):
        collection_import(lab=owner, name="same", queries=queries)
    assert Collection.objects.filter(name="same").count() == 2
    assert Qrel.objects.count() == 0

"""One collection has one set of numbers, whichever tool wrote its files and in whatever form these came."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from . import writers
from .command import run_cli
from .command import try_cli as command
from .writers import Form, Judged, Made, collections

PLAIN = Form()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


class Files:
    """The files of a collection in a folder, each of which a test may write anew in another dialect."""

    def __init__(self, folder: Path, material: Made) -> None:
        self.folder, self.material = folder, material
        for kind, dialects in (("run", writers.RUNS), ("qrels", writers.QRELS), ("passages", writers.PASSAGES)):
            self.write(kind, next(iter(dialects.values())), PLAIN)

    def write(self, kind: str, writer: writers.Writer, form: Form) -> None:
        self.path(kind).write_bytes(form.dress(writer(self.material)))

    def path(self, kind: str) -> Path:
        return self.folder / f"{kind}.txt"

    def pools(self) -> dict[str, Any]:
        """Pools, pairs and equal texts, by the command; what it says where it refuses. What it warns of differs: not
        every dialect has scores, which may be equal.
        """
        members, pairs = self.folder / "members.tsv", self.folder / "pairs.tsv"
        written = ("--members", str(members), "--pairs", str(pairs), "--passages", str(self.path("passages")))
        pooled = command("pool", "--depth", "2", "--qrel", "all", *written, *self._runs())
        if pooled.code:
            return {"refused": pooled.err}
        pool = {name: value for name, value in json.loads(pooled.out).items() if name != "warnings"}
        return {"pool": pool, "members": members.read_text(), "pairs": pairs.read_text()}

    def scores(self) -> dict[str, Any]:
        """Scores of every query, by the command; what it says where it refuses."""
        measures = [part for name in ("RR@10", "nDCG", "AP", "Judged@3") for part in ("--measure", name)]
        scored = command("score", "--per-query", *measures, *self._runs())
        return {"refused": scored.err} if scored.code else dict(json.loads(scored.out)["runs"]["run"])

    def _runs(self) -> tuple[str, ...]:
        return ("--qrels", str(self.path("qrels")), str(self.path("run")))


def expected_reciprocal_ranks(material: Made) -> dict[str, float]:
    """By hand, in the order of the scores."""
    values = dict.fromkeys(material.qrels, 0.0)
    for query, graded in material.qrels.items():
        ranked = [passage for passage, _ in writers.in_score_order(dict(material.run.get(query, ())))]
        values[query] = next((1 / rank for rank, p in enumerate(ranked[:10], 1) if graded.get(p, 0) > 0), 0.0)
    return values


@settings(
    max_examples=int(os.environ.get("DIALECT_EXAMPLES", "6")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(collections(), st.data())
def test_runs_qrels_and_texts_of_every_dialect_give_the_same_pools_and_scores(
    folder: Path, material: Made, data: st.DataObject
) -> None:
    files = Files(folder, material)
    pools, scores = files.pools(), files.scores()
    assert "refused" not in pools
    assert scores["RR@10"]["queries"] == pytest.approx(expected_reciprocal_ranks(material))
    for kind, dialects in (("run", writers.RUNS), ("qrels", writers.QRELS), ("passages", writers.PASSAGES)):
        plain = files.path(kind).read_bytes()
        for dialect, writer in dialects.items():
            form = data.draw(writers.FORMS, label=f"form of {kind}")
            files.write(kind, writer, form)
            assert files.pools() == pools, (kind, dialect, form, files.path(kind).read_bytes())
            if kind != "passages":
                assert files.scores() == scores, (kind, dialect, form, files.path(kind).read_bytes())
        files.path(kind).write_bytes(plain)
    for dialect, writer in writers.QUERIES.items():
        files.write("queries", writer, data.draw(writers.FORMS, label="form of queries"))
        checked = command("check", "--json", "--queries", str(files.path("queries")), str(files.path("run")))
        assert checked.code == 0, (dialect, checked.err)
        census = json.loads(checked.out)["census"]
        assert (census["missing_queries"], census["unknown_queries"]) == (0, 0), dialect


def tell_workers(path: Path) -> list[str]:
    """What is said of the judgments of a file: of its workers, what counts if they weigh, and who wins."""
    workers = command("workers", "--json", "--judgments", path)
    if workers.code:
        return [workers.err]
    weighed = run_cli("workers", "--weigh", "dawid-skene", "--judgments", path)
    weights_file = path.with_name("counted.txt")
    weights_file.write_text(weighed.out)
    printed = json.loads(workers.out)
    return [
        json.dumps([printed["workers"], printed["judgments"]], sort_keys=True),
        weighed.out,
        run_cli("qrels", weights_file).out,
    ]


def judged_once(material: Made) -> Made:
    """Only the last judgment of a worker and a pair, at its own place."""
    last = {
        (judgment.query, judgment.a, judgment.b, judgment.worker): number
        for number, judgment in enumerate(material.judgments)
    }
    return material._replace(judgments=[material.judgments[number] for number in sorted(last.values())])


@settings(
    max_examples=int(os.environ.get("DIALECT_EXAMPLES", "6")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(collections(), st.data())
def test_judgments_of_every_dialect_count_the_same_each_once(folder: Path, material: Made, data: st.DataObject) -> None:
    path = folder / "judgments.txt"
    path.write_bytes(writers.JUDGMENTS["lines"](judged_once(material)))
    workers = tell_workers(path)
    assert len(workers) == 3, workers
    for dialect, writer in writers.JUDGMENTS.items():
        form = data.draw(writers.FORMS, label="form")
        path.write_bytes(form.dress(writer(material)))
        assert tell_workers(path) == workers, (dialect, form, path.read_bytes())


def test_who_is_not_known_is_a_worker_each(folder: Path) -> None:
    votes = [Judged("q1", "p1", "p2", "p1", ""), Judged("q1", "p1", "p2", "p1", ""), Judged("q1", "p1", "p2", "p2", "")]
    material = Made({}, {}, {}, {}, votes)
    path = folder / "judgments.txt"
    for dialect in ("lines", "Label Studio", "Label Studio, JSON-MIN", "Label Studio, CSV", "Potato", "Potato, CSV"):
        path.write_bytes(writers.JUDGMENTS[dialect](material))
        run_cli("workers", "--json", "--judgments", path, code=1)  # no known worker
        weighed = run_cli("workers", "--weigh", "mace", "--judgments", path)
        assert weighed.out.splitlines() == ["q1 p1 p2 p1"] * 3, dialect  # two of three


def test_preferences_are_the_same_with_and_without_the_column_of_who_is_preferred(folder: Path) -> None:
    votes = [Judged("q1", "p1", "p2", "p2", ""), Judged("q1", "p2", "p3", "p3", ""), Judged("q1", "p1", "p3", "p3", "")]
    material = Made({}, {}, {}, {}, votes)
    path = folder / "preferences.txt"
    outputs = []
    for content in (writers.lines(((j.query, j.a, j.b, j.preferred) for j in votes), " "), writers.prefj(material)):
        path.write_bytes(content)
        outputs.append(run_cli("qrels", path))
    assert outputs[0] == outputs[1] and outputs[0].out == "q1 0 p3 1\n"


REFUSALS: list[tuple[str, bytes, tuple[str, ...]]] = [
    ("run", b"qid,docno,score\n1,100.0,2.0\n2,7.0,1.0\n", ("run.txt", "docno", "100.0")),
    ("run", writers.columns(("qid", "docno", "score"), [("1", 100.5, 2.0)]), ("run.txt", "docno", "100.5")),
    ("run", b"qid,docno,score\n1,100,x\n", ("run.txt, line 2", "score", "x")),
    ("run", b"1 Q0 a 1 9 t\n1 Q0 b 2 nan t\n", ("run.txt, line 2", "score nan", "finite number")),
    (
        "qrels",
        b"query-id\tcorpus-id\tscore\n1\t2\thigh\n",
        ("qrels.txt, line 2", "score|grade", "high", "whole number"),
    ),
    ("qrels", b"1 0 2 1\n1 0 2 2\n", ("qrels.txt, line 2", "grade 2", "passage 2", "had 1 before")),
    ("passages", b'{"_id": "a", "text": "x"}\n{"_id": null, "text": "y"}\n', ("passages.txt, line 2", "id")),
    ("passages", b'{"_id": "a", "text": "x"}\n{"_id": 1.5, "text": "y"}\n', ("passages.txt, line 2", "id", "1.5")),
]


@pytest.mark.parametrize(("kind", "content", "texts"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_cannot_be_read_is_refused_by_file_line_column_and_value(
    folder: Path, kind: str, content: bytes, texts: tuple[str, ...]
) -> None:
    material = Made({"1": "one"}, {"2": ("", "two")}, {"1": {"2": 1}}, {"1": [("2", 1.0)]}, [])
    files = Files(folder, material)
    files.path(kind).write_bytes(content)
    refused = files.pools()["refused"]
    for words in texts:
        assert any(word in refused for word in words.split("|")), refused
    assert "Traceback" not in refused

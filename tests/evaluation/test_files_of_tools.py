"""Files that public tools wrote (tests/evaluation/tools) are read as what they are, with the numbers of ir_measures."""

import io
import json
from pathlib import Path

import pytest

from evaluation.errors import BadInput
from evaluation.files.judgments import read_judgments
from evaluation.files.qrels import read_qrels
from evaluation.files.texts import read_passages, read_queries

from .command import json_of, run_cli, try_cli

TOOLS = Path(__file__).parent / "tools"
QRELS, RUN = TOOLS / "ir_datasets-qrels.trec", TOOLS / "beir-run.txt"
RUNS = (
    *("beir-run.txt", "ir_datasets-scoreddocs.jsonl", "ir_datasets-scoreddocs.trec", "pyterrier-run.csv"),
    *("pyterrier-run.minimal", "pyterrier-run.parquet", "pyterrier-run.trec"),
    *("ranx-run.json", "ranx-run.parquet", "ranx-run.trec", "repro_eval-run.txt", "tevatron-run.trec"),
    *("trecrun-run.json", "trecrun-run.trec", "trectools-fused-run.txt", "trectools-run.txt"),
)


def scores(qrels: Path, run: Path) -> dict[str, float]:
    expected = json.loads((TOOLS / "ir_measures.json").read_text())
    measures = [part for name in expected for part in ("--measure", name)]
    [scored] = json_of("score", "--qrels", qrels, *measures, run)["runs"].values()
    return {name: scored[name]["mean"] for name in expected}


@pytest.mark.parametrize("run", RUNS)
def test_every_run_has_the_scores_of_ir_measures(run: str) -> None:
    assert scores(QRELS, TOOLS / run) == pytest.approx(json.loads((TOOLS / "ir_measures.json").read_text()))


def test_all_qrels_are_the_same() -> None:
    files = [path for path in TOOLS.glob("*-qrels.*") if path.name != "ir_datasets-qrels.tsv"]
    assert len(files) == 10
    for path in files:
        assert read_qrels(path).grades == {"0012": {"d1": 1, "d2": 0}, "12": {"caf\u00e9": 2, "007": 1}}, path


def test_all_texts_are_the_same() -> None:
    passages = [list(read_passages(path)) for path in (*TOOLS.glob("*-corpus.*"), *TOOLS.glob("ir_datasets-docs.*"))]
    assert len(passages) == 4
    for texts in passages:  # a tab between title and text is a space
        assert [(entry.id, " ".join(entry.text.split())) for entry in texts] == [
            ("d1", "Vaccines See the full report."),
            ("d2", "Recipes See the full report."),
            ("007", 'Owls, "mice"; and voles.'),
            ("caf\u00e9", "Vaccines See the full report."),
        ]
    queries = [list(read_queries(path)) for path in (*TOOLS.glob("*-queries.*"), TOOLS / "pyterrier-topics.csv")]
    assert len(queries) == 5
    for rows in queries:
        assert rows == [("0012", 'say "hoo", owl'), ("12", "where do owls sleep")]


def test_all_exports_of_label_studio_hold_the_same_judgments() -> None:
    files = sorted(TOOLS.glob("label-studio.*"))
    assert len(files) == 4
    for path in files:  # the converter writes the newest first, and nobody as None
        judgments = sorted(
            (judgment.query, judgment.a, judgment.b, judgment.preferred, judgment.worker)
            for judgment in read_judgments(path).made
        )
        assert judgments == [
            ("0012", "d1", "d2", "d1", "17"),
            ("0012", "d1", "d2", "d2", ""),
            ("0012", "d1", "d2", "d2", "23"),
            ("12", "007", "d1", "007", "5"),
        ], path


def test_turkle_and_all_exports_of_potato_hold_the_same_judgments() -> None:
    files = [*sorted(TOOLS.glob("potato.*")), TOOLS / "turkle.csv"]
    assert len(files) == 5
    for path in files:
        assert [
            (judgment.query, judgment.a, judgment.b, judgment.preferred, judgment.worker)
            for judgment in read_judgments(path).made
        ] == [("0012", "d1", "d2", "d1", "17"), ("0012", "d1", "d2", "d2", "23"), ("12", "007", "d1", "007", "5")], path


def test_what_potato_keeps_of_an_annotator_is_read() -> None:
    path = TOOLS / "potato-judgments.json"
    assert [
        (judgment.query, judgment.a, judgment.b, judgment.preferred, judgment.worker)
        for judgment in read_judgments(path).made
    ] == [("0012", "d1", "d2", "d1", "17"), ("12", "007", "d1", None, "17")]


@pytest.mark.parametrize("labels", ["A", [["preferred", "A"]], [[{"schema": "preferred", "name": 1}, "A"]], [1], None])
def test_what_potato_never_keeps_of_an_annotator_is_refused(labels: object) -> None:
    state = {"user_id": "17", "instance_id_to_label_to_value": {"0012|d1|d2": labels}}
    with pytest.raises(BadInput, match=r"^17\.json, (line|record) 1: the label .* where a schema, a name and a value"):
        list(read_judgments(io.BytesIO(json.dumps(state).encode()), name="17.json").made)


def test_the_votes_of_crowd_kit_are_read_and_most_of_them_win() -> None:
    votes: dict[str, list[str]] = {}
    for judgment in read_judgments(TOOLS / "crowd-kit.csv").made:
        assert judgment.preferred is not None and judgment.worker in ("5", "17", "23")
        votes.setdefault(f"{judgment.query}|{judgment.a}|{judgment.b}", []).append(judgment.preferred)
    majority = json.loads((TOOLS / "crowd-kit.json").read_text())["majority"]
    assert set(votes) == set(majority)
    for pair, votes_of_pair in votes.items():
        assert votes_of_pair.count(majority[pair]) * 2 >= len(votes_of_pair)


def test_what_has_no_names_and_columns_of_its_own_is_refused_or_told() -> None:
    err = run_cli("score", "--qrels", QRELS, TOOLS / "ir_datasets-scoreddocs.tsv", code=1).err
    assert "line 1: rank 3.5 is not a whole number" in err
    err = try_cli("score", "--qrels", TOOLS / "ir_datasets-qrels.tsv", RUN).err
    assert "qrels: no passage has a grade of 1 or more: are the columns query, 0, passage, grade?" in err.splitlines()


def test_every_file_is_recognized() -> None:
    kinds = {"run": "run", "scoreddocs": "run", "qrels": "qrels", "corpus": "passages", "queries": "queries"}
    kinds |= {"docs": "passages", "topics": "queries"}
    files = [path for path in TOOLS.iterdir() if path.suffix != ".md" and path.name not in UNNAMED]
    for file in json_of("recognize", "--json", *files)["files"]:
        what = Path(file["file"]).name.split(".")[0].rpartition("-")[2]
        assert file["kind"] == kinds.get(what, "judgments"), file


UNNAMED = ("crowd-kit.json", "ir_measures.json", "ir_datasets-qrels.tsv", "ir_datasets-scoreddocs.tsv")

"""The command `challenge`: what new runs bring against the best known answers, without the site."""

from pathlib import Path
from typing import Any

import pytest

from evaluation.files.preferences import Pair, read_pairs, read_preferences
from evaluation.files.qrels import read_qrels

from .command import json_of, run_cli

QRELS = "q1 0 p1 1\nq2 0 p4 1\nq3 0 p7 1\n"
CURRENT = "q1 0 p1 1\nq2 0 p4 1\nq3 0 p7 1\n"
POOLS = "q1 p1 p2\nq2 p4 p5\n"
JUDGED = "q1 p1 p2 p1\nq2 p4 p5 p4\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers, pools and judgments, and two new runs: two bring a passage to q1, one to q2, and none to q3."""
    monkeypatch.chdir(tmp_path)
    for name, content in (("current", CURRENT), ("qrels", QRELS), ("pools", POOLS), ("judged", JUDGED)):
        Path(f"{name}.txt").write_text(content)
    tops = {"old": ("p2", "p5", "p7"), "one": ("p0", "p3", "p7"), "two": ("p00", "p5", "p7")}
    for name, top in tops.items():
        lines = [f"q{number} Q0 {pid} 1 9 {name}\n" for number, pid in enumerate(top, start=1)]
        Path(f"{name}.txt").write_text("".join(lines))
    return tmp_path


def told(*arguments: str) -> dict[str, Any]:
    printed: dict[str, Any] = json_of("challenge", "--json", "--preference-qrels", "current.txt", *arguments)
    return printed


def test_challengers_are_told_and_their_pairs_written(folder: Path) -> None:
    printed = told("--pools", "pools.txt", "--pairs", "ask.tsv", "one.txt", "two.txt")
    assert (printed["queries"], printed["challenged"], printed["challengers"], printed["pairs"]) == (3, 2, 3, 3)
    assert printed["outcomes"] is printed["to_judge"] is printed["all_pairs"] is None
    assert Path("ask.tsv").read_text() == "q1\tp0\tp1\nq1\tp00\tp1\nq2\tp3\tp4\n"
    # Without the pools, p5 would be new as well.
    assert told("one.txt", "two.txt")["challengers"] == 4


def test_a_qrel_below_the_least_grade_was_not_pooled(folder: Path) -> None:
    Path("qrels.txt").write_text("q1 0 p0 1\nq1 0 p1 3\nq2 0 p4 3\nq3 0 p7 3\n")
    pooled = ("--qrels", "qrels.txt", "--pool-runs", "old", "old.txt", "one.txt")
    assert [told(*least, *pooled)["challengers"] for least in ((), ("--min-grade", "2"))] == [1, 2]


def test_judgments_make_new_qrels_and_say_what_is_still_missing(folder: Path) -> None:
    judged = JUDGED + "q1 p0 p1 p0\nq1 p00 p1 p00\nq2 p3 p4 p3\n"
    Path("all.txt").write_text(judged)
    files = ("--pools", "pools.txt", "--preferences", "all.txt", "--pairs", "next.tsv", "--new-qrels", "new.txt")
    printed = told(*files, "one.txt", "two.txt")
    assert printed["outcomes"] == {"won": 1, "tied": 0, "lost": 0, "open": 2}
    assert printed["changed"] == [{"query": "q2", "before": ["p4"], "after": ["p3"]}]
    assert (printed["to_judge"], Path("next.tsv").read_text()) == (1, "q1\tp0\tp00\n")
    assert Path("new.txt").read_text() == "q1 0 p1 1\nq2 0 p3 1\nq3 0 p7 1\n"

    Path("all.txt").write_text(judged + "q1 p0 p00 p00\n")
    output = run_cli("challenge", "--preference-qrels", "current.txt", *files, "one.txt", "two.txt").out
    assert "2 replaced a best known answer, 0 tied, 1 lost, 0 open." in output
    assert "Still to judge" not in output
    assert Path("new.txt").read_text() == "q1 0 p00 1\nq2 0 p3 1\nq3 0 p7 1\n"
    assert Path("next.tsv").read_text() == ""


def test_earlier_runs_make_the_pools_and_a_pool_of_one_has_its_answer(folder: Path) -> None:
    Path("current.txt").write_text("q1 0 p1 1\nq2 0 p4 1\n")
    printed = told("--qrels", "qrels.txt", "--pool-runs", "old", "old.txt", "one.txt", "two.txt")
    assert (printed["queries"], printed["challengers"], printed["pairs"]) == (3, 3, 3)
    # q1 has four passages, q2 three, q3 one.
    assert (printed["all_pairs"], printed["new_pairs"]) == (6 + 3, 5 + 2)


def test_a_run_that_brings_nothing_new_is_said_so(folder: Path) -> None:
    assert (
        run_cli("challenge", "--preference-qrels", "current.txt", "--pools", "pools.txt", "old.txt").out
        == "No run brings anything new to the 3 queries of the preference qrels.\n"
    )


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("judged.txt", "q1 p0 p1 p0\nq1 p0 p1 p2\n", "judged.txt, line 2: p2 is preferred, which is neither p0 nor p1"),
        ("pools.txt", "q1 p1\n", "pools.txt, line 1: 2 columns where pairs have 3"),
        ("current.txt", "q1 0 p1 1\nq2 0 p4 x\n", "current.txt, line 2:"),
        ("current.txt", "q1 0 p1 0\n", "no passage of grade 1 or more"),
        ("one.txt", "q1 Q0 p0\tx 9 one 1 1\n", "one.txt, line 1:"),
    ],
)
def test_bad_input_is_named_by_file_and_line_and_nothing_is_written(
    folder: Path, file: str, content: str, why: str
) -> None:
    Path(file).write_text(content)
    arguments = ["--preference-qrels", "current.txt", "--pools", "pools.txt", "--preferences", "judged.txt"]
    captured = run_cli("challenge", *arguments, "--pairs", "ask.tsv", "--new-qrels", "new.txt", "one.txt", code=1)
    assert why in captured.err
    assert captured.out == ""
    assert not Path("ask.tsv").exists()
    assert not Path("new.txt").exists()


def test_inputs_are_not_overwritten_and_odd_options_are_refused(folder: Path) -> None:
    first = ["challenge", "--preference-qrels", "current.txt"]
    run_cli(*first, "--pairs", "current.txt", "one.txt", code=1)
    assert Path("current.txt").read_text() == CURRENT
    for options in (["--qrels", "qrels.txt"], ["--new-qrels", "new.txt"], ["--pool-runs", "old"]):
        run_cli(*first, *options, "one.txt", code=2)
    run_cli(*first, "--qrels", "qrels.txt", "--pool-runs", "nobody", "one.txt", code=2)


def test_a_thirteenth_run_costs_all_pairs_new_ones_or_far_fewer_challenges(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {"made-up": (1091, 172, 29), "trec-dl-2021": (1514, 237, 32)}[data.name]
    monkeypatch.chdir(tmp_path)
    runs = [str(path) for path in sorted((data / "runs").glob("*.gz"))[:13]]
    qrels = str(data / "sparse-qrels.txt")
    oracle = data / "oracle-preferences.txt.gz"
    run_cli("pool", "--qrels", qrels, "--pairs", "pairs.tsv", *runs[:12])
    pooled = set(read_pairs("pairs.tsv"))
    judged = (row for row in read_preferences(oracle) if Pair(*row[:3]) in pooled)
    Path("judged.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in judged))
    Path("current.txt").write_text(run_cli("qrels", "--pools", "pairs.tsv", "judged.txt").out)
    names = ",".join(Path(run).name.removesuffix(".gz").removesuffix(".txt") for run in runs[:12])
    pool_words = ["--qrels", qrels, "--pool-runs", names]
    printed = told(*pool_words, "--pairs", "ask.tsv", *runs)
    assert (printed["all_pairs"], printed["new_pairs"], printed["pairs"]) == costs
    assert len(Path("ask.tsv").read_text().splitlines()) == costs[2]
    settled = told(*pool_words, "--preferences", str(oracle), "--new-qrels", "new.txt", *runs)
    assert (settled["to_judge"], sum(settled["outcomes"].values()), settled["outcomes"]["open"]) == (0, costs[2], 0)
    new = read_qrels("new.txt")
    changed = {challenge["query"]: challenge["after"] for challenge in settled["changed"]}
    for query, passages in read_qrels("current.txt").relevant("all").items():
        assert sorted(new.relevant("all")[query]) == sorted(changed.get(query, passages))

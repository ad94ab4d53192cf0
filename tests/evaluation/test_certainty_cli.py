"""certainty, run as users and programs run it."""

import json
from pathlib import Path

import pytest

from .command import json_of, run_cli
from .conftest import Write

ONCE = "q a b a\nq a c a\nq b c b\nr x y x\n"
TWICE = "p a b a\np a b a\n"


def test_without_repeated_judgments_it_is_told_that_certainty_is_assumed(write: Write) -> None:
    path = write("preferences.txt", ONCE)
    out, err = run_cli("certainty", "--judgments", path, "--json")
    assert err == (
        "Too few repeated judgments to say how often people err: it is assumed that they err as the model says.\n"
    )
    printed = json.loads(out)
    assert (printed["error_source"], printed["level"]) == ("assumed", 0.9) and 0 < printed["error_rate"] < 0.5
    (q, r) = printed["queries"]
    assert r["passages"] == [{"passage": "x", "p": r["share"]}, {"passage": "y", "p": pytest.approx(1 - r["share"])}]
    assert 0.6 < r["share"] < 0.95 and r["fragility"] == 1
    assert [passage["passage"] for passage in q["passages"]] == ["a", "b", "c"] and q["exact"] is True


def test_certainty_is_told_by_query_the_least_certain_first(write: Write) -> None:
    path = write("preferences.txt", TWICE + ONCE)
    run = write("run.txt", "q Q0 a 1 9 t\nr Q0 y 1 9 t\nr Q0 x 2 8 t\n")
    arguments = ["certainty", "--preferences", path, run, "--error-rate", "0.1", "--draws", "4000", "--seed", "3"]
    printed = json_of(*arguments, "--json")
    assert (printed["draws"], printed["seed"], printed["error_rate"], printed["error_source"]) == (
        4000,
        3,
        0.1,
        "given",
    )
    assert [(row["query"], row["best"]) for row in printed["queries"]] == [("p", ["a"]), ("q", ["a"]), ("r", ["x"])]
    # Two judgments that agree are both right, or both wrong.
    assert printed["queries"][0]["share"] == pytest.approx(0.81 / (0.81 + 0.01))
    assert printed["queries"][2]["share"] == pytest.approx(0.9)
    (run_row,) = printed["runs"]
    assert (run_row["mean"], run_row["first"]) == (0.5, 1.0) and run_row["interval"] == run_row["centred"]
    assert run_row["interval"][0] <= run_row["corrected"] <= run_row["interval"][1]
    lines = run_cli(*arguments).out.splitlines()
    assert lines[0] == "A judgment is wrong in 10.0% of the cases. The least certain come first."
    assert [line.split()[0] for line in lines[3:6]] == ["q", "r", "p"]
    assert lines[-3].startswith("run  0.5000")
    assert lines[-1].startswith("Note: run has at most 2 hits a query")


@pytest.mark.parametrize("value", ["0.6", "-1", "own", "nan"])
def test_an_impossible_error_rate_is_a_usage_error(value: str) -> None:
    err = run_cli("certainty", "--preferences", "preferences.txt", f"--error-rate={value}", code=2).err
    assert f"{value!r} where a number from 0 to 0.5 is needed" in err


def test_pools_are_lines_of_members_or_pairs_and_the_level_is_chosen(write: Write) -> None:
    judgments = write("preferences.txt", ONCE)
    members = write("members.txt", "q a\nq b\nq c\nr x\nr y\ns alone\n")
    pairs = write("pairs.tsv", "q\ta\tb\nq\tb\tc\nr\tx\ty\n")
    outputs = []
    for pools in (members, pairs):
        words = ["certainty", "--pools", pools, "--judgments", judgments, "--error-rate", "0.2", "--level", "0.6"]
        outputs.append(json_of(*words, "--json"))
    assert [row["query"] for row in outputs[0]["queries"]] == ["q", "r", "s"]
    assert outputs[0]["queries"][2] == {
        "query": "s", "best": ["alone"], "share": 1.0, "fragility": None, "exact": True, "set": ["alone"],
        "passages": [{"passage": "alone", "p": 1.0}],
    }  # fmt: skip
    assert [row["query"] for row in outputs[1]["queries"]] == ["q", "r"]
    assert [row["set"] for row in outputs[1]["queries"]] == [["a"], ["x"]]
    err = run_cli("certainty", "--pools", write("other.txt", "q a\nq b\n"), "--judgments", judgments, code=1).err
    assert "preferences.txt, line 2: passage c is not in the pool that" in err
    lines = run_cli(*words).out.splitlines()
    assert lines[2].split("  ")[-1].strip() == "60% set" and lines[3].endswith("1 passage")


def test_confidence_sets_are_written_as_qrels_and_over_no_input(write: Write, tmp_path: Path) -> None:
    judgments, out = write("preferences.txt", ONCE), tmp_path / "sets.txt"
    words = ["certainty", "--judgments", judgments, "--error-rate", "0.2"]
    run_cli(*words, "--sets", str(out), "--level", "0.85")
    assert out.read_text() == "q 0 a 1\nq 0 b 1\nr 0 x 1\nr 0 y 1\n"
    assert (
        "would be overwritten" in run_cli(*words, "--sets", judgments, code=1).err
        and Path(judgments).read_text() == ONCE
    )

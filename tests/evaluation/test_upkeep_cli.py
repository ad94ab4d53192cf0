"""The command `upkeep`: a leaderboard's submissions replayed, and a simulated year."""

import json
from pathlib import Path
from typing import Any

import pytest

from .command import json_of, run_cli

QRELS = "q1 0 p1 1\nq2 0 p4 1\n"
# In q1 the greater id wins; in q2 p5 beats p4 and p6 beats p5, but p4 beats p6.
JUDGED = (
    "q1 p1 p2 p2\nq1 p1 p3 p3\nq1 p2 p3 p3\n"
    "q2 p4 p5 p5\nq2 p5 p6 p6\nq2 p4 p6 p4\n"
)  # fmt: skip
FILES = ("--qrels", "qrels.txt", "--preferences", "oracle.txt", "old.txt", "same.txt", "new.txt")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("oracle.txt").write_text(JUDGED)
    for name, tops in {"old": ("p2", "p5"), "same": ("p2", "p4"), "new": ("p3", "p6")}.items():
        rows = (f"q{number} Q0 {pid} 1 9.0 {name}\n" for number, pid in enumerate(tops, 1))
        Path(f"{name}.txt").write_text("".join(rows))
    return tmp_path


def told(*arguments: str) -> dict[str, Any]:
    printed: dict[str, Any] = json_of("upkeep", "--json", *arguments, *FILES)
    return printed


def test_each_submission_is_told_with_what_it_took_and_whether_it_is_as_from_scratch(folder: Path) -> None:
    printed = told("--new-qrels", "new-qrels.txt")
    assert printed["start"] == {"runs": 1, "queries": 2, "pairs": 2}
    same, new = printed["steps"]
    assert (same["challengers"], same["pairs"], same["total"], same["share"]) == (0, 0, 2, 1.0)
    assert (new["challengers"], new["pairs"], new["total"], new["all_pairs"]) == (2, 2, 4, 6)
    assert new["outcomes"] == {"won": 2, "tied": 0, "lost": 0, "open": 0}
    # All three of q2 are a deadlock, held from scratch.
    assert (new["as_from_scratch"], new["queries"]) == (1, 2)
    assert Path("new-qrels.txt").read_text() == "q1 0 p3 1\nq2 0 p6 1\n"
    assert printed["year"] is None


def test_a_qrel_below_the_least_grade_starts_no_pool(folder: Path) -> None:
    Path("qrels.txt").write_text("q1 0 p1 1\nq1 0 p3 3\nq2 0 p4 1\nq2 0 p6 2\n")
    assert told("--new-qrels", "new-qrels.txt")["start"] == {"runs": 1, "queries": 2, "pairs": 2}
    printed = told("--min-grade", "2", "--new-qrels", "new-qrels.txt", "--year", "2")
    assert printed["start"] == {"runs": 1, "queries": 2, "pairs": 2}
    # p3 and p6 are judged from the start, so nothing challenges p3, and p4 loses to none.
    assert [step["challengers"] for step in printed["steps"]] == [1, 0]
    assert printed["year"]["pairs"]["mean"] > 0


def test_a_year_is_simulated_the_same_for_a_seed_and_dearer_for_more_judgments(folder: Path) -> None:
    once, again = (told("--year", "12", "--queries", "500", "--seed", "7")["year"] for _ in range(2))
    assert once == again
    assert once["dollars"]["low"] <= once["dollars"]["mean"] <= once["dollars"]["high"]
    thrice = told("--year", "12", "--queries", "500", "--seed", "7", "--overlap", "3")["year"]
    assert thrice["assignments"]["mean"] == pytest.approx(3 * once["assignments"]["mean"])
    command = ["upkeep", "--qrels", "qrels.txt", "--preferences", "oracle.txt", "--year", "12", "old.txt", "new.txt"]
    assert "A year with 12 submissions, in 12 campaigns" in run_cli(*command).out


def test_pairs_that_the_preferences_lack_are_told_and_stay_open(folder: Path) -> None:
    Path("oracle.txt").write_text(JUDGED.replace("q1 p2 p3 p3\n", ""))
    command = ["upkeep", "--json", "--qrels", "qrels.txt", "--preferences", "oracle.txt", "old.txt", "new.txt"]
    captured = run_cli(*command)
    assert captured.err == (
        "oracle.txt lacks 1 pair that would be judged, such as q1 p2 p3: their challengers stay open.\n"
    )
    (step,) = json.loads(captured.out)["steps"]
    assert (step["outcomes"]["open"], step["queries"]) == (1, 1)


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("qrels.txt", "q1 0 p1 x\n", "qrels.txt, line 1:"),
        ("oracle.txt", "q1 p1 p2 p2\nq1 p1 p2 p9\n", "oracle.txt, line 2: p9 is preferred, which is neither p1 nor p2"),
        ("new.txt", "q1 Q0 p3\tx 9 one 1 1\n", "new.txt, line 1:"),
    ],
)
def test_bad_input_is_named_by_file_and_line_and_nothing_is_written(
    folder: Path, file: str, content: str, why: str
) -> None:
    Path(file).write_text(content)
    command = ["upkeep", "--qrels", "qrels.txt", "--preferences", "oracle.txt", "--new-qrels", "out.txt"]
    captured = run_cli(*command, "old.txt", "new.txt", code=1)
    assert why in captured.err
    assert captured.out == ""
    assert not Path("out.txt").exists()


def test_odd_options_are_refused_and_inputs_are_not_overwritten(folder: Path) -> None:
    command = ["upkeep", "--qrels", "qrels.txt", "--preferences", "oracle.txt"]
    for options in (["--first", "2"], ["--year", "0"], ["--dollars", "cheap"], ["--redone", "1.5"]):
        run_cli(*command, *options, "old.txt", "new.txt", code=2)
    run_cli(*command, "--new-qrels", "oracle.txt", "old.txt", "new.txt", code=1)
    assert Path("oracle.txt").read_text() == JUDGED


def test_people_who_err_are_asked_again_before_a_challenger_replaces_an_answer(folder: Path) -> None:
    never, once, confirmed = (
        told("--error-rate", rate, "--most", most, "--seed", "1")["steps"][-1]
        for rate, most in (("0", "3"), ("0.1", "1"), ("0.1", "3"))
    )
    # p3 and p6 win their first comparisons, and are asked about a second time; then a third would change nothing.
    assert (once["pairs"], confirmed["pairs"], never["pairs"]) == (2, 4, 2), "who never errs is asked once"
    assert once["outcomes"] == confirmed["outcomes"] == {"won": 2, "tied": 0, "lost": 0, "open": 0}
    assert confirmed["expected_wrong"] < once["expected_wrong"]
    assert never["expected_wrong"] == pytest.approx(0, abs=1e-6)
    wrong = told("--error-rate", "0.4", "--seed", "3")["steps"][-1]
    assert wrong["expected_wrong"] <= 2 * wrong["outcomes"]["won"]
    assert told()["steps"][-1]["expected_wrong"] is None
    run_cli("upkeep", "--error-rate", "0.6", *FILES, code=2)

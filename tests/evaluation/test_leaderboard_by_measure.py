"""Leaderboards and certainty by measures other than RR@k: the numbers that `score` gives, and the queries of Compat."""

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.measures.named import per_query, read_measure
from evaluation.statistics.certainty import certainty
from evaluation.statistics.ranks import Board
from tests.evaluation.test_named_measures import artifact

from .command import json_of, run_cli

Json = dict[str, Any]
MEASURES = ("nDCG@3", "P@2", "R@3", "AP", "Success@1", "Judged@3", "Compat", "Compat(p=0.8)@3", "nDCG")
QUERIES = ("q1", "q2", "q3", "q4")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Two qrels, two runs of which one lacks q3, and judgments in which q4 ends in a deadlock."""
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 3\nq2 0 c 1\nq3 0 a 2\nq4 0 d 1\nq5 0 a 1\n")
    runs = {
        "red": {"q1": "abcd", "q2": "cab", "q3": "bda", "q4": "dcb", "q5": "ab"},
        "blue": {"q1": "cbda", "q2": "abdc", "q4": "bcd", "q5": "ba"},
    }
    for name, lists in runs.items():
        lines = (
            f"{query} Q0 {pid} {at} {9 - at} {name}"
            for query, passages in lists.items()
            for at, pid in enumerate(passages)
        )
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    beats = ["q1 a b a", "q1 a c c", "q1 b c c", "q2 c a a", "q3 a d d", "q4 b c b", "q4 c d c", "q4 b d d"]
    (tmp_path / "preferences.txt").write_text("".join(f"{line}\n" for line in beats))
    (tmp_path / "winners.txt").write_text("q1 0 c 1\nq2 0 a 1\nq3 0 d 1\nq4 0 b 1\nq4 0 c 1\nq4 0 d 1\n")
    return {path.stem: str(path) for path in tmp_path.glob("*.txt")}


@pytest.mark.parametrize("name", MEASURES)
def test_means_are_those_of_score_over_the_common_queries(files: dict[str, str], name: str) -> None:
    words = ["leaderboard", "--measure", name, "--qrels", files["qrels"], "--preference-qrels", files["winners"]]
    printed = json_of(*words, "--preferences", files["preferences"], "--json", files["red"], files["blue"])
    assert (printed["measure"], printed["queries"]) == (str(read_measure(name)), 4)
    for side, qrels in (("original", files["qrels"]), ("preference", files["winners"])):
        scores = json_of("score", "--qrels", qrels, "--measure", name, "--per-query", files["red"], files["blue"])[
            "runs"
        ]
        for run, means in scores.items():
            values = [value for query, value in means["queries"].items() if query in QUERIES]
            assert printed["runs"][run][side]["mean"] == pytest.approx(sum(values) / len(values), abs=1e-9), (side, run)
            assert len(values) == 4
            if name.startswith("Compat"):
                assert printed["shared"][run][side] == (4 if run == "red" else 3)
    everywhere = json_of("score", "--qrels", files["qrels"], "--measure", name, files["red"], files["blue"])["runs"]
    assert printed["all_queries"]["means"] == pytest.approx({run: row["mean"] for run, row in everywhere.items()})
    means = {row["run"]: row["mean"] for row in printed["own"]}
    assert means == pytest.approx({run: printed["runs"][run]["preference"]["mean"] for run in means})
    assert ("shared" in printed) is name.startswith("Compat")


def test_rr_by_its_name_is_what_k_says(files: dict[str, str]) -> None:
    words = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["winners"], "--json"]
    by_name = json_of(*words, "--measure", "RR@3", files["red"], files["blue"])
    assert by_name == json_of(*words, "--k", "3", files["red"], files["blue"])
    assert (by_name["measure"], by_name["k"]) == ("RR@3", 3)
    graded = json_of(*words, "--measure", "RR(rel=2)@3", files["red"], files["blue"])
    assert graded == json_of(*words, "--k", "3", "--min-grade", "2", files["red"], files["blue"])


@pytest.mark.parametrize(
    ("name", "original", "preference"),
    [
        ("nDCG@3", 1.0, (0 + 0 + 0 + 1 / (1 + 1 / 1.5849625007 + 0.5)) / 4),  # d alone, of three, for q4
        ("P@2", (1 + 0.5 + 0.5 + 0.5) / 4, 0.5 / 4),
        ("Judged@3", 1.0, (0 / 2 + 0 + 0 + 1) / 4),
    ],
)
def test_the_perfect_ranking_returns_all_original_qrels(
    files: dict[str, str], name: str, original: float, preference: float
) -> None:
    words = ["leaderboard", "--measure", name, "--qrels", files["qrels"], "--preference-qrels", files["winners"]]
    printed = json_of(*words, "--json", files["red"], files["blue"])
    assert printed["perfect_ranking"]["original"]["mean"] == pytest.approx(original)
    assert printed["perfect"] == printed["perfect_ranking"]["preference"]["mean"] == pytest.approx(preference)


def test_the_order_of_judged_pairs_is_read_further_down_than_the_measure(files: dict[str, str]) -> None:
    words = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["winners"], "--json"]
    words += ["--preferences", files["preferences"], files["red"], files["blue"]]
    short, long = json_of(*words, "--k", "1"), json_of(*words, "--k", "10")
    assert short["order_agreement"] == long["order_agreement"]
    assert sum(row["both"] for row in short["order_agreement"]) > 0


def test_a_least_grade_is_of_the_original_qrels(files: dict[str, str]) -> None:
    words = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["winners"], "--json"]
    graded, plain = (json_of(*words, "--measure", name, files["red"], files["blue"]) for name in ("P(rel=2)@3", "P@3"))
    for run in ("red", "blue"):
        assert graded["runs"][run]["preference"] == plain["runs"][run]["preference"]
        assert graded["runs"][run]["original"]["mean"] < plain["runs"][run]["original"]["mean"]
    assert graded["measure"] == "P(rel=2)@3"


def test_comparing_by_compat_is_over_all_queries_of_the_qrels(files: dict[str, str]) -> None:
    words = ["--qrels", files["qrels"], "--measure", "Compat", files["red"], files["blue"]]
    printed, scores = json_of("compare", "--json", *words), json_of("score", "--per-query", *words)["runs"]
    assert printed["means"] == pytest.approx({run: row["mean"] for run, row in scores.items()})
    assert printed["shared"] == {"red": 5, "blue": 4}
    (test,) = printed["pairs"]
    assert test["higher"] + test["lower"] + test["equal"] == len(scores["blue"]["queries"])
    assert test["delta"] == pytest.approx(printed["means"]["blue"] - printed["means"]["red"])


def test_neighbours_by_compat_are_compared_as_compare_does(files: dict[str, str]) -> None:
    """Blue lacks q3, where red is at its worst: it counts 0 there."""
    words = ["--measure", "Compat", "--json", files["red"], files["blue"]]
    board = json_of("leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["winners"], *words)
    (neighbours,) = board["neighbours"]
    means = {run: row["preference"]["mean"] for run, row in board["runs"].items()}
    (test,) = json_of("compare", "--qrels", files["winners"], *words)["pairs"]
    sign = 1 if neighbours["upper"] == test["b"] else -1
    assert neighbours["preference_delta"] == pytest.approx(sign * test["delta"])
    assert neighbours["preference_delta"] == pytest.approx(means[neighbours["upper"]] - means[neighbours["lower"]])
    assert neighbours["preference_p"] == test["wsr"]


def test_a_run_that_leaves_out_its_worst_queries_gains_nothing_by_it(files: dict[str, str], tmp_path: Path) -> None:
    lines = Path(files["red"]).read_text().splitlines(keepends=True)
    easy = str(tmp_path / "easy.txt")
    Path(easy).write_text("".join(line for line in lines if line.startswith("q1 ")))
    words = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["winners"], "--measure", "Compat"]
    runs = (files["red"], files["blue"], easy)
    runs_printed = json_of(*words, "--json", *runs)["runs"]
    assert all(
        runs_printed["easy"][side]["mean"] <= runs_printed["red"][side]["mean"] for side in ("original", "preference")
    )
    assert runs_printed["easy"]["preference"]["place"] >= runs_printed["red"]["preference"]["place"]
    text = run_cli(*words, *runs).out
    assert "has queries" in text and "Note: easy lacks 4 queries of the qrels." in text
    assert "easy lacks 4 queries of the qrels." in json_of(*words, "--json", *runs)["warnings"]


# --- certainty


@pytest.mark.parametrize("name", ["RR@10", "nDCG@3", "P@2", "R@3", "Success@1", "nDCG(dcg='exp-log2')@2"])
def test_without_error_means_are_those_of_the_winners_deadlocks_included(files: dict[str, str], name: str) -> None:
    words = ["certainty", "--measure", name, "--error-rate", "0", "--judgments", files["preferences"], "--draws", "50"]
    printed = json_of(*words, "--json", files["red"], files["blue"])
    scores = json_of("score", "--qrels", files["winners"], "--measure", name, files["red"], files["blue"])["runs"]
    assert printed["measure"] == str(read_measure(name))
    assert {run["run"]: run["mean"] for run in printed["runs"]} == pytest.approx(
        {run: row["mean"] for run, row in scores.items()}
    )


@pytest.mark.parametrize("name", ["nDCG@4", "R@2", "P@3", "RR@5"])
def test_resamples_are_worth_what_the_measure_says_of_their_winners(name: str) -> None:
    chance, measure = random.Random(4), read_measure(name)
    pools = {f"q{number}": set("abcde"[: 3 + number % 3]) for number in range(12)}
    judged = [
        Preference(query, a, b, chance.choice((a, b, None)))
        for query, pool in pools.items()
        for a, b in combinations(sorted(pool), 2)
    ]
    lists = {query: chance.sample("abcdefgh", 6) for query in pools}
    run = artifact({query: {pid: 9.0 - at for at, pid in enumerate(passages)} for query, passages in lists.items()})
    assert measure.cutoff is not None
    board = Board({"run": run}, measure.cutoff, "score")
    (run_order,) = certainty(pools, judged, board=board, measure=measure, error_rate=0, draws=200, seed=1).runs
    answers = certainty(pools, judged, error_rate=0, draws=2, seed=1).answers
    winners = Qrels({query: dict.fromkeys(best, 1) for query, best in answers.items()})
    assert max(map(len, winners.grades.values())) > 1
    values = per_query(run, winners, measure, "score")
    assert run_order.mean == pytest.approx(values.mean())
    assert run_order.interval.low < values.mean() < run_order.interval.high


@pytest.mark.parametrize("name", ["Compat", "AP@10", "nDCG", "P(rel=2)@3", "Judged@10"])
def test_measures_that_answers_do_not_add_up_to_are_refused(files: dict[str, str], name: str) -> None:
    err = run_cli("certainty", "--measure", name, "--judgments", files["preferences"], files["red"], code=2).err
    assert "RR, Success, P, R or nDCG is needed, with a cutoff up to 1,000" in err

"""How the level is shared by many tests: Holm and Benjamini-Hochberg by definition and by scipy, and in commands."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.statistics.comparing import compare
from evaluation.statistics.ranks import Ranks
from evaluation.statistics.significance import CORRECTIONS, significance_threshold

from .command import json_of, run_cli

Json = dict[str, Any]
families = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(families)
def test_bh_finds_what_scipys_adjusted_p_values_find(p: list[float]) -> None:
    adjusted = stats.false_discovery_control(p)
    significant = np.array(p) < significance_threshold(p, 0.05, "bh")
    assert significant[adjusted < 0.05 - 1e-12].all() and not significant[adjusted > 0.05 + 1e-12].any()


@given(families)
def test_holm_steps_down_until_a_test_is_not_significant(p: list[float]) -> None:
    significant, left = set[int](), sorted(range(len(p)), key=p.__getitem__)
    while left and p[left[0]] < 0.05 / len(left):
        significant.add(left.pop(0))
    threshold = significance_threshold(p, 0.05, "holm")
    assert {at for at, value in enumerate(p) if value < threshold} == significant


@given(families)
def test_each_correction_finds_no_more_than_the_next(p: list[float]) -> None:
    thresholds = [significance_threshold(p, 0.05, correction) for correction in CORRECTIONS]
    counts = [sum(value < threshold for value in p) for threshold in thresholds]
    assert counts == sorted(counts)
    assert thresholds[0] == 0.05 / len(p) and thresholds[-1] == 0.05


def test_what_cannot_be_tested_counts_in_its_family_and_is_not_found() -> None:
    assert significance_threshold([0.03, float("nan")], 0.05) == 0.025
    assert significance_threshold([0.03, float("nan")], 0.05, "bh") == 0.025
    assert significance_threshold([], 0.05, "holm") == 0.05
    with pytest.raises(ValueError, match="correction 'max-t' where there are bonferroni, holm, bh, none"):
        significance_threshold([0.5], 0.05, "max-t")  # type: ignore[arg-type]


# --- comparisons


def ranks_of(k: int = 10, **runs: list[int]) -> Ranks:
    return Ranks.of({run: {f"q{at}": rank for at, rank in enumerate(row)} for run, row in runs.items()}, k)


def test_each_test_says_who_is_better_and_the_difference_has_its_interval() -> None:
    ranks = ranks_of(good=[1] * 30 + [2] * 10, bad=[3] * 20 + [0] * 10 + [2] * 10)
    pair = compare(ranks).pairs[0]
    apart = ranks.reciprocals()[1] - ranks.reciprocals()[0]
    expected = stats.ttest_1samp(apart, 0).confidence_interval(0.95)
    assert pair.delta_interval == (pytest.approx(expected.low), pytest.approx(expected.high))
    values = pair.as_dict()
    assert values["significant"] == {"wrs": "a", "wsr": "a", "t": "a", "outcomes": "a", "esl": "a"}
    assert set(values["significant"]) == {*(set(values["p"]) - {"wrs_tie_corrected"}), "outcomes", "esl"}
    (deep,) = compare(ranks_of(k=1000, good=[1, 900, 7], bad=[5, 0, 8])).pairs
    apart = np.array([1 / 5 - 1, -1 / 900, 1 / 8 - 1 / 7])
    expected = stats.ttest_1samp(apart, 0).confidence_interval(0.95)
    assert deep.delta_interval == (-1.0, pytest.approx(expected.high)), "never beyond the scale"
    assert compare(ranks_of(one=[1], other=[2])).pairs[0].delta_interval is None


def test_by_bh_more_pairs_differ_than_by_bonferroni() -> None:
    runs = {f"run{at}": [1] * (40 - 2 * at) + [0] * (2 * at) for at in range(7)}
    counts = {
        correction: sum(
            bool(pair.significant.outcomes) for pair in compare(ranks_of(**runs), correction=correction).pairs
        )
        for correction in CORRECTIONS
    }
    assert counts["bonferroni"] < counts["bh"] <= counts["none"]
    assert counts["bonferroni"] <= counts["holm"] <= counts["bh"]
    comparison = compare(ranks_of(**runs), correction="holm")
    assert comparison.as_dict()["thresholds"].keys() == {"wrs", "wsr", "t", "outcomes", "esl"}


def test_with_a_margin_no_harm_is_shown_and_not_only_unrefuted() -> None:
    """b finds more. Where both find, it is neither significantly later nor shown to be no later by much."""
    few = ranks_of(a=[1, 2, 1, 2, 1, 2] + [0] * 12, b=[2, 1, 2, 1, 2, 2] + [1] * 12)
    assert compare(few).pairs[0].verdict.do_no_harm == "b"
    assert compare(few, margin=0.1).pairs[0].verdict.do_no_harm is None
    many = ranks_of(a=[1, 2] * 100 + [0] * 12, b=[1, 2] * 99 + [2, 1] + [1] * 12)
    assert compare(many).pairs[0].verdict.do_no_harm == compare(many, margin=0.1).pairs[0].verdict.do_no_harm == "b"
    # The other way round: b ranks better, and finds nothing in one query of 200 more.
    many = ranks_of(a=[3] * 199 + [1], b=[1] * 199 + [0])
    assert compare(many, margin=0.05).pairs[0].verdict.do_no_harm == "b"
    assert compare(many, margin=0.001).pairs[0].verdict.do_no_harm is None
    # What is strictly better does no harm.
    strict = ranks_of(a=[3] * 20 + [0] * 20, b=[1] * 40)
    assert compare(strict, margin=0.001).pairs[0].verdict.do_no_harm == "b"


# --- commands


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Three runs over twelve queries; two made the pools, and `late` puts passages first that nobody judged."""
    queries = [f"q{at}" for at in range(12)]
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 a 1\n" for query in queries))
    tops = {"one": "a" * 12, "two": "b" * 12, "late": "b" * 4 + "z" * 8}
    for name, passages in tops.items():
        lines = [f"{query} Q0 {pid} 1 9 {name}\n" for query, pid in zip(queries, passages, strict=True)]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    (tmp_path / "preferences.txt").write_text("".join(f"{query} a b b\n" for query in queries))
    (tmp_path / "winners.txt").write_text("".join(f"{query} 0 b 1\n" for query in queries))
    return {path.stem: str(path) for path in tmp_path.glob("*.txt")}


def test_wins_of_pooled_runs_have_their_counts_and_the_others_stand_apart(files: dict[str, str]) -> None:
    words = ["wins", "--qrels", files["qrels"], "--preferences", files["preferences"]]
    words += [files[name] for name in ("one", "two", "late")]
    printed = json_of(*words, "--json")
    warning = next(
        warning
        for warning in printed["warnings"]
        if warning.startswith("Put passages first that no pair has: late (8 q")
    )
    assert f"Note: {warning}" in run_cli(*words).out
    printed = json_of(*words, "--json", "--pool-runs", "one,two", "--correction", "holm")
    assert printed["runs"] == ["perfect ranking", "one", "two"] and warning not in printed["warnings"]
    assert (printed["family"], printed["correction"], printed["threshold"]) == (3, "holm", 0.05)
    (apart,) = printed["apart"]
    assert (apart["run"], apart["differ"], apart["judged"], apart["won"]) == ("late", 32, 8, 8)
    assert (apart["share"], apart["low"], apart["high"]) == (1.0, 0.25, 1.0)
    text = run_cli(*words, "--pool-runs", "one,two").out
    assert "100.0%* (12)" in text and "Not pooled" in text and "25.0%" in text
    head, *lines = csv.reader(run_cli(*words, "--pool-runs", "one,two", "--csv").out.splitlines())
    assert head[8:10] == ["interval_low", "interval_high"] and len(lines) == 3
    assert {len(line) for line in lines} == {len(head)}


def test_the_leaderboard_warns_of_passages_that_no_pool_has_and_sets_other_runs_apart(files: dict[str, str]) -> None:
    words = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["winners"]]
    words += ["--preferences", files["preferences"], *(files[name] for name in ("one", "two", "late"))]
    printed = json_of(*words, "--json", "--correction", "bh")
    assert any(warning.startswith("Put passages first that no pair has: late (8 q") for warning in printed["warnings"])
    assert printed["correction"] == "bh"
    assert all(len(pair["preference_interval"]) == 2 for pair in printed["neighbours"])
    printed = json_of(*words, "--json", "--pool-runs", "one,two")
    assert {row["run"]: row["pooled"] for row in printed["order_agreement"]} == {
        "one": True,
        "two": True,
        "late": False,
    }
    assert not any("no pair has" in warning for warning in printed.get("warnings", []))
    assert "Not pooled: only passages that others brought were judged" in run_cli(*words, "--pool-runs", "one,two").out


def test_compare_takes_a_correction_and_a_margin(files: dict[str, str]) -> None:
    words = ["compare", "--qrels", files["winners"], "--k", "10", files["one"], files["two"]]
    printed = json_of(*words, "--json", "--correction", "bh", "--margin", "0.05")
    assert (printed["correction"], printed["margin"]) == ("bh", 0.05)
    assert printed["pairs"][0]["significant"]["outcomes"] == "b" and printed["pairs"][0]["delta_interval"] == [1.0, 1.0]
    text = run_cli(*words, "--correction", "bh", "--margin", "0.05").out
    assert "(Benjamini-Hochberg)" in text and "shows that any harm is below 0.05" in text
    assert "+1.0000 to +1.0000" in text
    assert "delta_interval_low,delta_interval_high" in run_cli(*words, "--csv").out
    printed = json_of(*words, "--json", "--measure", "nDCG@10", "--correction", "none")
    assert printed["pairs"][0]["significant"] == {"sign": "b", "wsr": "b", "t": "b"}
    assert (printed["thresholds"], printed["pairs"][0]["delta_interval"]) == (
        {"sign": 0.05, "wsr": 0.05, "t": 0.05},
        [1.0, 1.0],
    )

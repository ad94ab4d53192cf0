"""compare, wins and leaderboard, run as users and programs run them."""

import csv
import io
import random
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from .command import json_of, run_cli
from .conftest import Write

QRELS = "".join(f"q{number} 0 p{number} 1\n" for number in range(30))


def run_text(rank_of: Any, without: range = range(0)) -> str:
    """A run that has the relevant passage of query n at rank_of(n), 0 for nowhere."""
    lines = []
    for number in range(30):
        if number in without:
            continue
        passages = [f"x{number}-{place}" for place in range(5)]
        if rank := rank_of(number):
            passages.insert(rank - 1, f"p{number}")
        lines += [f"q{number} Q0 {passage} {at} {50 - at} t\n" for at, passage in enumerate(passages, 1)]
    return "".join(lines)


@pytest.fixture
def files(write: Write) -> dict[str, str]:
    sure = [
        f"q{number} {a} {b} {a}\n" for number in range(30) for a, b in combinations((f"x{number}-0", f"p{number}"), 2)
    ]
    return {
        "qrels": write("qrels.txt", QRELS),
        "good": write("good.txt", run_text(lambda number: 1 + number % 2)),
        "fair": write("fair.txt", run_text(lambda number: (3 + number % 2) if number < 20 else 0)),
        "short": write("short.txt", run_text(lambda number: 1, without=range(25, 30))),
        "preferences": write("preferences.txt", "".join(sure)),
        "new": write("new-qrels.txt", "".join(f"q{number} 0 x{number}-0 1\n" for number in range(28))),
    }


def test_compare_prints_all_that_it_promises(files: dict[str, str]) -> None:
    printed = json_of("compare", "--json", "--qrels", files["qrels"], "--k", "10", files["good"], files["fair"])
    (pair,) = printed["pairs"]
    assert (printed["k"], printed["queries"], printed["family"], printed["threshold"]) == (10, 30, 1, 0.05)
    assert (pair["a"], pair["b"]) == ("good", "fair")
    assert pair["delta"] == pytest.approx((10 / 3 + 10 / 4) / 30 - 0.75)
    assert set(pair["p"]) == {"wrs", "wrs_tie_corrected", "wsr", "t"}
    assert pair["outcomes"] == {"neither": 0, "a_only": 10, "b_only": 0, "both": 20, "p": 2 / 2**10}
    assert (pair["both"]["esl_a"], pair["both"]["esl_b"]) == (1.5, 3.5)
    assert set(pair["both"]["p"]) == {"esl_wsr", "esl_t", "rr_wsr", "rr_t"}
    assert pair["verdict"] == {"strict": "a", "do_no_harm": "a", "trade_off": False, "better": "a"}
    assert pair["shares"] == {"neither": 0, "a_only": 1 / 3, "b_only": 0, "both": 2 / 3}
    assert (printed["rank_by"], printed["lists"], printed["order_by_verdicts"]) == (
        "esl-wsr",
        {"good": 6, "fair": 6},
        ["good", "fair"],
    )


def test_compare_says_the_verdicts_in_words(files: dict[str, str]) -> None:
    out, err = run_cli("compare", "--qrels", files["qrels"], files["good"], files["fair"], files["short"])
    assert "RR@100 over 30 queries: 3 runs, 3 pairs." in out
    assert "p < 0.0167 as significant: 0.05 over 3 pairs (Bonferroni)" in out
    assert "good is better than fair, strictly: it finds significantly more, and significantly sooner." in out
    assert "short is better than good by doing no harm: where both find, it is significantly sooner" in out
    assert "short lacks 5 queries of the qrels." in err


def test_compare_joins_by_query_whatever_the_order_of_the_lines(files: dict[str, str], write: Write) -> None:
    lines = Path(files["fair"]).read_text().splitlines(keepends=True)
    random.Random(4).shuffle(lines)
    (Path(files["fair"]).parent / "shuffled").mkdir()
    shuffled = write("shuffled/fair.txt", "".join(lines))
    arguments = ["compare", "--json", "--qrels", files["qrels"], files["good"]]
    assert json_of(*arguments, files["fair"]) == json_of(*arguments, shuffled)


def test_compare_counts_a_query_that_a_run_lacks_as_missed(files: dict[str, str]) -> None:
    printed = json_of("compare", "--json", "--qrels", files["qrels"], files["short"], files["good"])
    assert printed["queries"] == 30
    assert printed["pairs"][0]["outcomes"]["b_only"] == 5


def test_compare_of_many_pairs_tells_only_those_with_a_verdict(files: dict[str, str], write: Write) -> None:
    more = [write(f"same{number}.txt", Path(files["good"]).read_text()) for number in range(5)]
    out = run_cli("compare", "--qrels", files["qrels"], files["good"], files["fair"], *more).out
    assert out.count("is better than fair, strictly") == 6
    assert "15 more pairs: neither run is better by either standard." in out
    assert "Of 21 pairs, 6 have a strict verdict, 6 one by doing no harm (these included), and 0 are trade-offs." in out


@pytest.fixture
def later(write: Write) -> str:
    """It finds everything, and in 20 queries later than `early`, which misses 10."""
    return write("later.txt", run_text(lambda number: 3))


@pytest.fixture
def early(write: Write) -> str:
    return write("early.txt", run_text(lambda number: 1 if number < 20 else 0))


def test_a_trade_off_is_told_as_one(files: dict[str, str], early: str, later: str) -> None:
    arguments = ["compare", "--qrels", files["qrels"], "--k", "5", early, later]
    out, err = run_cli(*arguments)
    assert err == ""
    assert (
        "early and later: a trade-off, so neither is better. later finds significantly more (10 to 0), but where both "
        "find, it is significantly later (ESL 3.00 to 1.00).\n"
    ) in out
    assert "significantly later (RR@5 0.3333 to 1.0000)." in run_cli(*arguments, "--rank-by", "rr-t").out
    printed = json_of(*arguments, "--json")
    assert printed["pairs"][0]["verdict"] == {"strict": None, "do_no_harm": None, "trade_off": True, "better": None}


def test_lists_that_end_above_k_are_told(files: dict[str, str], write: Write) -> None:
    cut = write("cut.txt", "".join(f"q{number} Q0 p{number} 1 1 t\n" for number in range(30)))
    assert run_cli("compare", "--qrels", files["qrels"], "--k", "6", files["good"], cut).err == (
        "cut has at most 1 hit a query: with k = 6, what is below counts as missed.\n"
        "The runs' lists differ in depth, so they are not judged alike. k = 1 would be fair.\n"
    )
    for command in (["score"], ["leaderboard", "--preference-qrels", files["new"]]):
        err = run_cli(*command, "--qrels", files["qrels"], files["good"], cut).err
        assert "cut has at most 1 hit a query: with k = 10" in err


def test_compare_prints_csv_and_latex(files: dict[str, str]) -> None:
    arguments = ["compare", "--qrels", files["qrels"], "--k", "6", files["good"], files["fair"]]
    pair = json_of(*arguments, "--json")["pairs"][0]
    (row,) = csv.DictReader(io.StringIO(run_cli(*arguments, "--csv").out))
    assert float(row["delta"]) == pair["delta"]
    assert float(row["both_p_esl_t"]) == pair["both"]["p"]["esl_t"]
    assert float(row["shares_a_only"]) == 1 / 3
    assert (row["verdict_strict"], row["verdict_trade_off"]) == ("a", "False")
    lines = run_cli(*arguments, "--latex").out.splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrrrrrrrrrr}"
    cells = lines[5].removesuffix(r" \\").split(" & ")
    assert len(cells) == 2 + 13
    assert cells[:9] == ["good", "fair", "-0.5556", r"0\%", r"33\%", r"0\%", r"67\%", "1.50", "3.50"]


def test_compare_writes_the_ranks_of_every_query(files: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "queries.tsv"
    arguments = ["compare", "--qrels", files["qrels"], "--k", "6", files["good"], files["fair"]]
    run_cli(*arguments, "--per-query", str(target))
    lines = target.read_text().splitlines()
    assert lines[:2] == ["query\ta\tb\trank_a\trank_b\tfound", "q0\tgood\tfair\t1\t3\tboth"]
    assert lines[-1] == "q29\tgood\tfair\t2\t0\ta"
    assert len(lines) == 31
    before = Path(files["fair"]).read_text()
    err = run_cli(*arguments, "--per-query", files["fair"], code=1).err
    assert "is one of the input files, and would be overwritten." in err
    assert Path(files["fair"]).read_text() == before


def test_compare_takes_chosen_pairs_only(files: dict[str, str], write: Write) -> None:
    runs = [files["good"], files["fair"], files["short"]]
    arguments = ["compare", "--json", "--qrels", files["qrels"], "--k", "6"]

    def compared(*more: str) -> list[tuple[str, str]]:
        printed = json_of(*arguments, *more, *runs)
        assert printed["family"] == len(printed["pairs"])
        return [(pair["a"], pair["b"]) for pair in printed["pairs"]]

    assert compared("--baseline", "fair") == [("fair", "good"), ("fair", "short")]
    assert compared("--chain") == [("good", "fair"), ("good", "short")]
    assert compared("--pairs", write("pairs.txt", "short fair\n")) == [("short", "fair")]
    groups = write("groups.txt", "good team1\nshort team1\n")
    assert compared("--groups", groups) == [("good", "fair"), ("fair", "short")]
    assert compared("--groups", groups, "--baseline", "good") == [("good", "fair")]


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--pairs", "good bad\n", "line 1: bad is none of the runs: good, fair."),
        ("--pairs", "good good\n", "line 1: run good against itself."),
        ("--pairs", "good fair\nfair good\n", "line 2: fair and good a second time (first on line 1)."),
        ("--pairs", "good\n", "line 1: 1 column where pairs of runs have 2 (a b)."),
        ("--groups", "good x\ngood y\n", "line 2: run good in group y, which had x before."),
    ],
)
def test_compare_tells_what_is_wrong_with_chosen_pairs(
    files: dict[str, str], write: Write, option: str, text: str, message: str
) -> None:
    path = write("chosen.txt", text)
    out, err = run_cli("compare", "--qrels", files["qrels"], option, path, files["good"], files["fair"], code=1)
    assert (out, err) == ("", f"{path}, {message}\n")


def test_a_baseline_that_is_no_run_is_a_usage_error(files: dict[str, str]) -> None:
    err = run_cli("compare", "--qrels", files["qrels"], "--baseline", "bad", files["good"], files["fair"], code=2).err
    assert "--baseline names 'bad', which is not one of the runs: good, fair" in err


def test_queries_with_several_relevant_passages_are_told(files: dict[str, str], write: Write) -> None:
    several = write("several.txt", QRELS + "q0 0 other 1\n")
    assert "1 query of" in run_cli("compare", "--qrels", several, "--k", "5", files["good"], files["fair"]).err


def test_identical_runs_are_told(files: dict[str, str], write: Write) -> None:
    twin = write("twin.txt", Path(files["good"]).read_text())
    out = run_cli("compare", "--qrels", files["qrels"], files["good"], twin).out
    assert "good and twin are identical in RR@100 in every query." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good"], "one run where at least two are needed"),
        (["--k", "0", "good", "fair"], "'0' where a whole number from 1 to 1,000 is needed"),
        (["--k", "1001", "good", "fair"], "'1001' where a whole number from 1 to 1,000 is needed"),
        (["--k", "x", "good", "fair"], "'x' where a whole number from 1 to 1,000 is needed"),
        (["--alpha", "1", "good", "fair"], "'1' where a number between 0 and 1 is needed"),
        (["--alpha", "nan", "good", "fair"], "'nan' where a number between 0 and 1 is needed"),
    ],
)
def test_a_wrong_compare_command_leaves_with_2(files: dict[str, str], arguments: list[str], message: str) -> None:
    err = run_cli("compare", "--qrels", files["qrels"], *(files.get(word, word) for word in arguments), code=2).err
    assert message in err


def test_bad_input_leaves_with_1_and_prints_nothing(files: dict[str, str], write: Write) -> None:
    (Path(files["good"]).parent / "again").mkdir()
    twice = write("again/good.txt.gz", Path(files["good"]).read_text())
    broken = write("broken.txt", "q1 Q0 p1 1\n")
    graded = write("graded.txt", "q1 0 p1 0\n")
    foreign = write("foreign.txt", "other 0 p1 1\n")
    vote = write("votes.txt", "q1 a b c\n")
    both = [files["good"], files["fair"]]
    cases = {
        f"{twice}: a second run of the name good": ["compare", "--qrels", files["qrels"], files["good"], twice],
        f"{broken}, line 1: 4 columns where": ["compare", "--qrels", files["qrels"], files["good"], broken],
        f"{graded}: no passage of grade 1 or more": ["compare", "--qrels", graded, *both],
        f"{files['qrels']}: no passage of grade 3 or more": [
            *("compare", "--min-grade", "3", "--qrels", files["qrels"]),
            *both,
        ],
        f"{broken}, line 1: 4 columns where a TREC run": [
            *("wins", "--qrels", files["qrels"], "--preferences", files["preferences"]),
            broken,
        ],
        f"{vote}, line 1: c is preferred, which is neither a nor b.": [
            *("wins", "--qrels", files["qrels"], "--preferences", vote),
            *both,
        ],
        f"{foreign}: names no query that": [
            *("leaderboard", "--qrels", files["qrels"], "--preference-qrels", foreign),
            *both,
        ],
    }
    for message, arguments in cases.items():
        out, err = run_cli(*arguments, code=1)
        assert message in err
        assert out == ""


def test_wins_are_a_matrix_with_the_perfect_ranking(files: dict[str, str]) -> None:
    arguments = ["wins", "--qrels", files["qrels"], "--preferences", files["preferences"], files["good"], files["fair"]]
    printed = json_of(*arguments, "--json")
    assert printed["runs"] == ["perfect ranking", "good", "fair"]
    assert (printed["family"], printed["queries"]) == (3, 30)
    # Everybody prefers x to p: the perfect ranking and good put p first, good only in every other query.
    assert printed["ratios"] == [[None, 1.0, 1.0], [0.0, None, 1.0], [0.0, 0.0, None]]
    assert printed["wins"] == {"perfect ranking": 0, "good": 1, "fair": 2}
    assert [(pair["a_wins"], pair["b_wins"]) for pair in printed["pairs"]] == [(0, 15), (0, 30), (0, 15)]
    out = run_cli(*arguments).out
    assert "fair was preferred to perfect ranking 30 times to 0 (p = 1.9e-09)." in out
    assert "   wins" in out


def test_a_run_may_not_take_the_name_of_the_perfect_ranking(files: dict[str, str], write: Write) -> None:
    copy = write("perfect ranking.txt", Path(files["good"]).read_text())
    err = run_cli("wins", "--qrels", files["qrels"], "--preferences", files["preferences"], copy, code=1).err
    assert "rename the file" in err


def test_leaderboard_compares_both_qrels_over_common_queries(files: dict[str, str]) -> None:
    arguments = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["new"]]
    arguments += ["--preferences", files["preferences"], files["good"], files["fair"]]
    printed = json_of(*arguments, "--json")
    assert (printed["k"], printed["queries"], printed["perfect"]) == (10, 28, 0.0)
    assert printed["runs"]["good"]["original"]["mean"] == 0.75
    assert printed["runs"]["good"]["preference"]["mean"] == 0.75
    assert printed["runs"]["fair"]["preference"] == {"mean": 1.0, "place": 1, "t": [1.0, 1.0], "bootstrap": [1.0, 1.0]}
    assert printed["tau"] == -1
    assert [pair["changed"] for pair in printed["neighbours"]] == [True]
    assert printed["pairings"]["preference"] == {"wins": 28, "pairings": 28, "share": 1.0}
    assert printed["pairings"]["original"] == {"wins": 0, "pairings": 30, "share": 0.0}
    assert [row["run"] for row in printed["own"]] == ["good", "fair"]
    out, err = run_cli(*arguments)
    assert "1 of 1 neighbouring pair changed ranks" in out
    assert re.search(r"fair is now above good, by 0\.2500, 95% 0\.\d{4} to 0\.\d{4} \(significantly", out)
    assert "2 queries of" in err


def test_leaderboard_tells_pooled_runs_from_those_that_are_only_scored(files: dict[str, str], write: Write) -> None:
    """`twin` has the top passages of `fair`: pooled, it would take all of fair's own passages away."""
    twin = write("twin.txt", Path(files["fair"]).read_text())
    arguments = ["leaderboard", "--json", "--qrels", files["qrels"], "--preference-qrels", files["new"]]
    arguments += ["--preferences", files["preferences"], files["good"], files["fair"], twin]
    assert [row["own"] for row in json_of(*arguments)["own"]] == [0, 0, 0]
    printed = json_of(*arguments, "--pool-runs", "fair,good")
    assert printed["pool_runs"] == ["good", "fair"]
    assert [(row["run"], row["own"] > 0) for row in printed["own"]] == [("good", False), ("fair", True)]
    err = run_cli(*arguments, "--pool-runs", "fair,bad", code=2).err
    assert "--pool-runs names 'bad', which is not one of the runs: good, fair, twin" in err


def test_leaderboard_scores_all_queries_beside_the_judged_ones(files: dict[str, str]) -> None:
    arguments = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["new"], files["good"]]
    printed = json_of(*arguments, files["fair"], "--json")
    assert printed["all_queries"]["queries"] == 30
    assert printed["all_queries"]["means"]["fair"] == pytest.approx((10 / 3 + 10 / 4) / 30)
    assert printed["all_queries"]["tau"] == 1.0
    assert printed["runs"]["fair"]["original"]["mean"] == pytest.approx((10 / 3 + 10 / 4) / 28)
    assert printed["perfect_ranking"]["preference"]["mean"] == printed["perfect"] == 0.0
    out = run_cli(*arguments, files["fair"]).out
    assert "orders over all 30 queries and over these 28 agree by Kendall's tau 1.000." in out
    assert "28 preference qrels for 28 queries: one for 28 queries.\n" in out


def test_leaderboard_takes_scores_from_elsewhere(files: dict[str, str], write: Write) -> None:
    outside = write("outside.txt", "fair 0.9 1\ngood .4\nother 0.1 7\n")
    arguments = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["new"], "--outside", outside]
    arguments += [files["good"], files["fair"], files["short"]]
    printed = json_of(*arguments, "--json")["outside"]
    assert printed["runs"] == {"fair": {"score": 0.9, "rank": 1}, "good": {"score": 0.4, "rank": None}}
    assert printed["tau"] == {"runs": 2, "all_queries": -1.0, "original": -1.0, "preference": 1.0}
    out, err = run_cli(*arguments)
    order = [line.split()[0] for line in out.splitlines()[4:8]]
    assert order == ["perfect", "fair", "good", "short"]
    assert f"1 run of {outside} left out: not given." in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\n", "line 1: 1 column where outside scores have 2 or 3 (run score rank)."),
        ("good high\n", "line 1: score high is not a number."),
        ("good 0.4 0\n", "line 1: rank 0 is not a whole number from 1 on."),
        ("good 0.4\ngood 0.5\n", "line 2: run good a second time."),
    ],
)
def test_leaderboard_tells_what_is_wrong_with_scores_from_elsewhere(
    files: dict[str, str], write: Write, text: str, message: str
) -> None:
    outside = write("outside.txt", text)
    arguments = ["leaderboard", "--qrels", files["qrels"], "--preference-qrels", files["new"], "--outside", outside]
    assert run_cli(*arguments, files["good"], code=1) == ("", f"{outside}, {message}\n")


def test_leaderboard_is_the_same_for_the_same_seed(files: dict[str, str]) -> None:
    arguments = ["leaderboard", "--json", "--qrels", files["qrels"], "--preference-qrels", files["new"]]
    arguments += [files["good"], files["fair"], "--draws", "200"]
    assert json_of(*arguments, "--seed", "1") == json_of(*arguments, "--seed", "1")
    assert json_of(*arguments, "--seed", "1") != json_of(*arguments, "--seed", "2")

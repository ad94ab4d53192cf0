"""Numbers that the papers print, recomputed."""

import csv
import io
from itertools import combinations
from pathlib import Path

import pytest

from evaluation.statistics.correlation import kendall_tau
from evaluation.statistics.significance import sign_test
from evaluation.statistics.win_ratios import PERFECT, Meeting, Wins

from .command import json_of, run_cli
from .conftest import Write

# Table 3: 16 runs on the original and on the preference qrels of the selected queries.
SELECTED = "4013 3953 3881 3863 3722 3697 3658 3606 3541 3442 2984 2779 2681 2550 1955 1536"
PREFERENCE = "5069 5638 5827 5036 4955 5703 5199 5617 5464 4985 3663 4666 3251 3257 2403 2033"

# Table 4, by column, from the first row on: how often the column's run was preferred to the row's.
RUNS = [PERFECT, *"ABCDEFGHIJL"]
COLUMNS = """
50.7 39.2 41.4 48.6 50.3 41.0 44.2 41.3 44.4 48.2 49.0
49.3 44.8 42.0 51.6 54.3 46.9 46.2 44.7 47.3 51.4 54.4
60.8 55.2 48.5 55.1 55.6 51.0 51.9 48.0 48.8 54.9 58.9
58.6 58.0 51.5 57.6 57.5 50.8 65.5 48.1 52.1 60.2 59.5
51.4 48.4 44.9 42.4 53.6 45.4 46.9 44.2 47.9 49.4 53.3
49.7 45.7 44.4 42.5 46.4 45.8 48.5 45.2 48.9 52.4 51.9
59.0 53.1 49.0 49.2 54.6 54.2 55.7 44.4 50.2 57.5 58.0
55.8 53.8 48.1 34.5 53.1 51.5 44.3 43.7 44.2 55.9 56.7
58.7 55.3 52.0 51.9 55.8 54.8 55.6 56.3 52.5 56.3 58.0
55.6 52.7 51.2 47.9 52.1 51.1 49.8 55.8 47.5 55.9 57.8
51.8 48.6 45.1 39.8 50.6 47.6 42.5 44.1 43.8 44.1 50.3
51.0 45.6 41.1 40.5 46.7 48.1 42.0 43.3 42.0 42.2 49.7
"""
WINS = [2, 4, 8, 10, 3, 2, 8, 6, 11, 8, 3, 1]


def test_the_two_orders_of_table_3_agree_by_tau_065() -> None:
    selected, preference = (list(map(float, text.split())) for text in (SELECTED, PREFERENCE))
    assert kendall_tau(selected, preference) == pytest.approx(0.65, abs=1e-9)


@pytest.fixture
def table_4() -> Wins:
    """As if every two runs had met in 300 queries."""
    ratios = [list(map(float, line.split())) for line in COLUMNS.split("\n") if line]
    meetings = []
    for a, b in combinations(range(12), 2):
        of_b = round(3 * ratios[b][a])  # the column's own row is left out, so the rows above it keep their places
        p = float(sign_test([300 - of_b], [of_b])[0])
        meetings.append(Meeting(RUNS[a], RUNS[b], 300, 300, 300 - of_b, of_b, 0, of_b / 300, None, p, p < 0.05 / 66))
    return Wins(tuple(RUNS), 500, "majority", 0.05, "bonferroni", 0.05 / 66, tuple(meetings))


def test_the_wins_of_table_4_are_counted_from_its_columns(table_4: Wins) -> None:
    assert list(table_4.wins().values()) == WINS
    ratios = table_4.ratios()
    for row, column in combinations(range(12), 2):
        printed = list(map(float, COLUMNS.strip().split("\n")[column].split()))[row]
        ratio, turned = ratios[row][column], ratios[column][row]
        assert ratio is not None
        assert turned is not None
        assert 100 * ratio == pytest.approx(printed, abs=0.2)
        assert ratio + turned == pytest.approx(1)


def test_who_significantly_beats_the_perfect_ranking_is_named(table_4: Wins) -> None:
    better = table_4.that_beat(PERFECT)
    assert better == ["B"]  # by 60.8% of 300; the paper's tests rest on other numbers of queries
    assert table_4.that_beat("H") == []


COUNTS = {("a", "qrel"): 1228, ("a", "other"): 640, ("b", "qrel"): 2116, ("b", "other"): 2996}


@pytest.fixture
def champion(write: Write) -> dict[str, str]:
    """A run, qrels and preferences with the counts of table 2."""
    run, qrels, preferences, number = [], [], [], 0
    for (category, won), count in COUNTS.items():
        for _ in range(count):
            query, number = f"q{number:04}", number + 1
            top, second, qrel = f"{query}t", f"{query}s", f"{query}t" if category == "a" else f"{query}x"
            other = second if category == "a" else top
            run.append(f"{query} Q0 {top} 1 9 t\n{query} Q0 {second} 2 8 t\n")
            qrels.append(f"{query} 0 {qrel} 1\n")
            preferences.append(f"{query} {other} {qrel} {qrel if won == 'qrel' else other}\n")
    return {
        "run": write("run.txt", "".join(run)),
        "qrels": write("qrels.txt", "".join(qrels)),
        "preferences": write("preferences.txt", "".join(preferences)),
    }


def test_the_champion_check_prints_tables_1_and_2_and_the_four_slices(champion: dict[str, str], tmp_path: Path) -> None:
    arguments = ["champion", "--qrels", champion["qrels"], champion["run"]]
    pairs = tmp_path / "pairs.tsv"
    out = run_cli(*arguments, "--pairs", str(pairs)).out
    rows = [line.split() for line in out.splitlines()]
    assert [row[-2:] for row in rows[3:6]] == [["1,868", "26.76%"], ["5,112", "73.24%"], ["6,980", "100.00%"]]
    assert "preferred" not in out
    assert len(pairs.read_text().splitlines()) == 6980
    out = run_cli(*arguments, "--preferences", champion["preferences"]).out
    rows = [line.split() for line in out.splitlines()]
    assert rows[8] == ["qrel", "1,228", "65.74%", "2,116", "41.39%"]
    assert rows[9] == ["compared", "passage", "640", "34.26%", "2,996", "58.61%"]
    assert rows[11] == ["total", "1,868", "100.00%", "5,112", "100.00%"]
    assert [row[-2:] for row in rows[14:18]] == [
        ["2,996", "42.92%"], ["2,116", "30.32%"], ["640", "9.17%"], ["1,228", "17.59%"],
    ]  # fmt: skip
    assert "people prefer the run's passage to the qrel in 58.6% (95% interval 57.2% to 60.0%; 2,996 of 5,112" in out
    assert "run is better than a perfect ranking by these qrels." in out
    printed = json_of(*arguments, "--preferences", champion["preferences"], "--json")
    assert (printed["split"], printed["slices"]) == ({"a": 1868, "b": 5112}, [2996, 2116, 640, 1228])
    assert printed["crowd_error"] == pytest.approx(0.343, abs=5e-4)


def test_500_queries_have_592_preference_qrels_one_for_454_and_three_for_46(write: Write) -> None:
    winners = {f"q{number}": "abc" if number < 46 else "a" for number in range(500)}
    new = write(
        "new.txt", "".join(f"{query} 0 {passage} 1\n" for query, passages in winners.items() for passage in passages)
    )
    old = write("old.txt", "".join(f"{query} 0 a 1\n" for query in winners))
    run = write("run.txt", "".join(f"{query} Q0 a 1 9 t\n" for query in winners))
    arguments = ["leaderboard", "--qrels", old, "--preference-qrels", new, run]
    assert (
        "\n592 preference qrels for 500 queries: one for 454 queries, three for 46, where a deadlock left several "
        "equally good.\n"
    ) in run_cli(*arguments).out
    printed = json_of(*arguments, "--json")["preference_qrels"]
    assert printed == {"qrels": 592, "by_size": {"1": 454, "3": 46}}


def test_each_qrel_or_the_highest_may_be_asked_about(write: Write, tmp_path: Path) -> None:
    run = write("run.txt", "".join(f"q Q0 {passage} {at} {9 - at} t\n" for at, passage in enumerate("tsz", 1)))
    qrels, pairs = write("qrels.txt", "q 0 x 1\nq 0 z 1\nq 0 t 1\n"), tmp_path / "pairs.tsv"
    pairs_by_query = {}
    for qrel in ("first", "highest", "each"):
        printed = json_of("champion", "--qrels", qrels, "--qrel", qrel, "--pairs", str(pairs), "--json", run)
        pairs_by_query[qrel] = (printed["split"]["a"], printed["split"]["b"], pairs.read_text().splitlines())
    assert pairs_by_query["first"] == (0, 1, ["q\tt\tx"])
    assert pairs_by_query["highest"] == (1, 0, ["q\ts\tt"])
    assert pairs_by_query["each"] == (1, 2, ["q\ts\tt", "q\tt\tx", "q\tt\tz"])


def test_wins_are_printed_as_csv_and_latex(write: Write) -> None:
    queries = [f"q{number}" for number in range(20)]
    run = write("run_1.txt", "".join(f"{query} Q0 new 1 9 t\n" for query in queries))
    qrels = write("qrels.txt", "".join(f"{query} 0 old 1\n" for query in queries))
    preferences = write("preferences.txt", "".join(f"{query} new old new\n" for query in queries))
    arguments = ["wins", "--qrels", qrels, "--preferences", preferences, run]
    (row,) = csv.DictReader(io.StringIO(run_cli(*arguments, "--csv").out))
    assert row["b_wins"] == "20"
    assert (row["a"], row["b"], row["significant"]) == (PERFECT, "run_1", "True")
    lines = run_cli(*arguments, "--latex").out.splitlines()
    assert lines[2] == r" & perfect ranking & run\_1 \\"
    assert lines[4] == r"perfect ranking &  & \textbf{100.0\%} \\"
    assert lines[6] == r"Wins & 0 & 1 \\"
    assert "\n1 run significantly beats the perfect ranking.\n" in run_cli(*arguments).out
    assert json_of(*arguments, "--json")["better_than_perfect"] == ["run_1"]

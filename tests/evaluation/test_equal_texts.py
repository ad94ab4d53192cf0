"""Passages with one text under several ids: one candidate, judged once, all ids exported and scored."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.files.preferences import Pair, Preference
from evaluation.files.qrels import read_qrels
from evaluation.files.runs import check_run
from evaluation.files.texts import read_passages
from evaluation.judging.equal_texts import answers_by_id, judge_merged, merge_equal, nearly_equal, with_equal_texts
from evaluation.judging.pooling import pool_queries, pool_sizes

from .command import json_of, run_cli
from .conftest import Write

TEXTS = {"p1": "One  answer.", "p2": "Another answer.", "p3": " One answer.\t", "p4": "Caf\u00e9", "p5": "Cafe\u0301"}


def test_equal_texts_are_one_candidate_by_the_smallest_id() -> None:
    merged = merge_equal({"q": ["p3", "p2", "p1"], "r": ["p4", "p5"], "s": ["p1", "p2"]}, TEXTS)
    assert merged.pools == {"q": ("p1", "p2"), "r": ("p4",), "s": ("p1", "p2")}
    assert merged.equal == {"q": [("p1", "p3")], "r": [("p4", "p5")]}
    assert merged.stands_for["q"] == {"p1": "p1", "p2": "p2", "p3": "p1"}


def test_a_passage_without_a_text_stands_for_itself() -> None:
    assert merge_equal({"q": ["x", "y", "p1"]}, TEXTS).pools == {"q": ("p1", "x", "y")}
    assert merge_equal({"q": ["x", "p1"]}, TEXTS | {"x": ""}).pools == {"q": ("p1", "x")}


def test_judgments_are_of_texts_and_one_against_itself_says_nothing() -> None:
    merged = merge_equal({"q": ["p1", "p2", "p3"]}, TEXTS)
    rows = [Preference("q", "p2", "p3", "p3"), Preference("q", "p1", "p3", "p1"), Preference("q", "p1", "p2", None)]
    assert judge_merged(merged, rows) == [Preference("q", "p2", "p1", "p1"), Preference("q", "p1", "p2", None)]


def test_all_ids_of_a_winner_are_exported() -> None:
    ids = {"One answer.": {"p1", "p3", "p9"}}
    assert with_equal_texts([("q", "p1"), ("q", "p2"), ("q", "x")], TEXTS, ids) == [
        ("q", "p1"), ("q", "p2"), ("q", "p3"), ("q", "p9"), ("q", "x"),
    ]  # fmt: skip


def test_nearly_equal_texts_are_listed_and_equal_ones_are_not() -> None:
    words = [f"word{number}" for number in range(40)]
    texts = {
        "a": " ".join(words), "b": " ".join([*words[:-1], "other"]), "c": " ".join(words[::-1]), "d": " ".join(words),
        "e": "Two words", "f": "two words!",
    }  # fmt: skip
    pairs = nearly_equal({"q": ["a", "b", "c"], "r": ["a", "d"], "s": ["e", "f"]}, texts)
    assert [alike.pair for alike in pairs] == [Pair("s", "e", "f"), Pair("q", "a", "b")]
    assert pairs[1].share == pytest.approx(37 / 39)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), st.sampled_from(["x", "y", "z"]), min_size=1))
def test_merging_keeps_every_text_once_and_merging_again_changes_nothing(texts: dict[str, str]) -> None:
    merged = merge_equal({"q": texts}, texts)
    assert sorted(texts[passage] for passage in merged.pools["q"]) == sorted(set(texts.values()))
    assert merge_equal(merged.pools, texts).pools == merged.pools


def test_pools_of_whole_runs_have_pairs_of_equal_and_nearly_equal_texts(data: Path) -> None:
    qrels = read_qrels(data / "sparse-qrels.txt")
    runs = [artifact for path in sorted((data / "runs").glob("*.gz")) if (artifact := check_run(path).artifact)]
    pools = pool_queries([run.top("score") for run in runs], qrels)
    texts = {passage.id: passage.text for passage in read_passages(data / "passages.tsv.gz")}
    merged = merge_equal(pools, texts)
    near = nearly_equal(merged.pools, texts)
    equal = [group for groups in merged.equal.values() for group in groups]
    pairs, alike, queries = {"made-up": ((1701, 1550), 25, 25), "trec-dl-2021": ((2012, 1932), 13, 11)}[data.name]
    assert (pool_sizes(pools).pairs, pool_sizes(merged.pools).pairs) == pairs
    assert sum(len(group) * (len(group) - 1) // 2 for group in equal) + len(near) == alike
    assert len({*merged.equal, *(texts_alike.pair.query for texts_alike in near)}) == queries


@pytest.fixture
def files(write: Write) -> dict[str, str]:
    return {
        "qrels": write("qrels.txt", "q 0 p1 1\n"),
        "one": write("one.txt", "q Q0 p3 1 9 t\n"),
        "two": write("two.txt", "q Q0 p2 1 9 t\n"),
        "passages": write("passages.tsv", "p1\tOne answer.\np2\tAnother answer.\np3\tOne  answer.\np8\tOne answer.\n"),
        "preferences": write("preferences.txt", "q p1 p2 p1\nq p2 p3 p2\nq p2 p3 p3\n"),
    }


def test_pool_merges_equal_texts(files: dict[str, str], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    arguments = ["pool", "--qrels", files["qrels"], "--pairs", str(pairs), files["one"], files["two"]]
    printed = json_of(*arguments)
    assert (printed["pairs"], "equal" in printed) == (3, False)
    printed = json_of(*arguments, "--passages", files["passages"])
    assert printed["pairs"] == 1
    assert printed["equal"] == [{"query": "q", "passages": ["p1", "p3"]}]
    assert printed["nearly_equal"] == []
    assert pairs.read_text() == "q\tp1\tp2\n"


def test_qrels_print_every_id_of_a_winning_text(files: dict[str, str]) -> None:
    out, err = run_cli("qrels", "--passages", files["passages"], files["preferences"])
    assert out == "q 0 p1 1\nq 0 p3 1\nq 0 p8 1\n"
    assert "2 more passages with the text of a winner.\n" in err


def test_texts_that_are_missing_or_contradict_each_other_are_told(files: dict[str, str], write: Write) -> None:
    some = write("some.tsv", "p1\tOne answer.\n")
    arguments = ["pool", "--qrels", files["qrels"], files["one"], files["two"], "--passages"]
    lines = run_cli(*arguments, some).err.splitlines()
    assert f"2 passages of the pools not in {some}: each counts as a text of its own." in lines
    twice = write("twice.tsv", "p1\tOne answer.\np1\tTwo.\n")
    assert run_cli(*arguments, twice, code=1).err.splitlines()[-1] == f"{twice}: passage p1 has two texts."


def test_answers_come_by_every_id_and_a_query_with_one_that_may_not_leave_is_left_out_as_a_whole() -> None:
    stands_for = {"q1": {"p3": "p1", "p4": "p1"}, "q2": {"p6": "p5"}}
    qrels = [("q1", "p1"), ("q2", "p5"), ("q2", "p7"), ("q2", "p8")]
    assert answers_by_id(qrels, stands_for) == {"q1": ("p1", "p3", "p4"), "q2": ("p5", "p6", "p7", "p8")}
    # Of a deadlock of three, two would be another outcome; another id of an answer that stays changes none.
    assert answers_by_id(qrels, stands_for, {("q2", "p7"), ("q1", "p4")}) == {"q1": ("p1", "p3")}

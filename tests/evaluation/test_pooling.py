"""Pools, pairs, and what they amount to."""

import io
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.files.preferences import Pair
from evaluation.files.qrels import Policy, Qrels, read_qrels
from evaluation.judging.pooling import all_pairs, canonical, champion_pairs, pool_queries, pool_sizes

QRELS = read_qrels(io.BytesIO(b"q1 0 p1 1\nq1 0 p2 2\nq2 0 p5 0\nq2 0 p6 1\nq3 0 p7 1\nq4 0 p8 0\n"))
RED = {"q1": ("p3", "p1"), "q2": ("p6", "p9"), "q9": ("p1", "p2")}
BLUE = {"q1": ("p1", "p4"), "q2": ("p6",), "q4": ("p8",)}


def test_a_pool_is_the_distinct_top_passages_and_the_first_qrel() -> None:
    tops = [{query: top[:1] for query, top in run.items()} for run in (RED, BLUE)]
    assert pool_queries(tops, QRELS) == {"q1": ("p1", "p3"), "q2": ("p6",), "q3": ("p7",), "q4": ("p8",)}


@pytest.mark.parametrize(
    ("policy", "pools"),
    [
        ("first", {"q1": ("p1", "p3", "p4"), "q2": ("p6", "p9"), "q3": ("p7",), "q4": ("p8",)}),
        ("all", {"q1": ("p1", "p2", "p3", "p4"), "q2": ("p6", "p9"), "q3": ("p7",), "q4": ("p8",)}),
        ("none", {"q1": ("p1", "p3", "p4"), "q2": ("p6", "p9"), "q4": ("p8",)}),
    ],
)
def test_the_policy_says_which_qrels_join_and_the_qrels_say_which_queries(
    policy: Policy, pools: dict[str, tuple[str, ...]]
) -> None:
    assert pool_queries([RED, BLUE], QRELS, policy) == pools


@pytest.mark.parametrize(("min_grade", "joining"), [(0, {"p1", "p5"}), (1, {"p1", "p6"}), (2, {"p2"}), (3, set())])
def test_only_passages_of_the_least_grade_join_a_pool(min_grade: int, joining: set[str]) -> None:
    assert QRELS.grades["q1"] == {"p1": 1, "p2": 2}
    pools = pool_queries([{"q1": ("p3",)}, {"q2": ("p9",)}], QRELS, min_grade=min_grade)
    assert set(pools["q1"] + pools["q2"]) == {"p3", "p9"} | joining


def test_all_pairs_are_in_canonical_order() -> None:
    assert list(all_pairs("q", ["b", "10", "9"])) == [Pair("q", "10", "9"), Pair("q", "10", "b"), Pair("q", "9", "b")]


@given(st.text(), st.text())
def test_canonical_order_is_that_of_the_bytes_and_forgets_the_sides(a: str, b: str) -> None:
    assert canonical(a, b) == canonical(b, a)
    first, other = (side.encode("utf-8", "surrogatepass") for side in canonical(a, b))
    assert first <= other


@given(
    st.lists(st.dictionaries(st.sampled_from("123"), st.lists(st.sampled_from("abcde"), unique=True, min_size=1))),
    st.dictionaries(st.sampled_from("1234"), st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), min_size=1)),
)
def test_sizes_agree_with_the_pairs_that_are_listed(
    tops: list[dict[str, list[str]]], grades: dict[str, dict[str, int]]
) -> None:
    pools = pool_queries(tops, Qrels(grades))
    sizes = pool_sizes(pools)
    pairs = [pair for query in pools for pair in all_pairs(query, pools[query])]
    assert sizes.pairs == len(pairs) == len(set(pairs))
    assert all(a < b for _, a, b in pairs)
    assert sizes.queries == len(pools) == sum(sizes.histogram.values())
    assert sum(size * count for size, count in sizes.histogram.items()) == pytest.approx(sizes.mean * len(pools))
    for query, pool in pools.items():
        first = [passage for passage, grade in grades[query].items() if grade > 0][:1]
        assert set(pool) == {passage for top in tops for passage in top.get(query, ())}.union(first)
        assert {frozenset(pair[1:]) for pair in pairs if pair[0] == query} == set(map(frozenset, combinations(pool, 2)))


def test_sizes_are_ready_for_json() -> None:
    assert pool_sizes({"a": "xy", "b": "x", "c": "xyz", "d": "xy"}).as_dict() == {
        "queries": 4,
        "pairs": 5,
        "sizes": {"mean": 2.0, "median": 2.0, "histogram": {"1": 1, "2": 2, "3": 1}},
    }
    assert pool_sizes({}).as_dict()["sizes"] == {"mean": 0.0, "median": 0.0, "histogram": {}}


def test_the_champion_check_is_top_against_qrel_or_where_they_agree_top_against_second() -> None:
    run = {
        "q1": ("p1", "p3"),  # the top is the qrel
        "q2": ("p9", "p3"),  # the top is not
        "q3": ("p7",),  # the top is the qrel, and there is no second
        "q4": ("p1", "p2"),  # no qrel of grade 1
        "q9": ("p1", "p2"),  # no qrels
    }
    assert [row.pair for row in champion_pairs(run, QRELS)] == [Pair("q1", "p1", "p3"), Pair("q2", "p6", "p9")]

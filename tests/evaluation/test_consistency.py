"""Intransitive triples, and how runs order judged passages."""

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.files.preferences import Preference, read_preferences
from evaluation.files.qrels import read_qrels
from evaluation.files.runs import check_run, run_name
from evaluation.judging.pooling import pool_queries
from evaluation.statistics.consistency import intransitive_triples, order_agreement

PAIRS = list(combinations("abcde", 2))


@given(st.lists(st.booleans(), min_size=len(PAIRS), max_size=len(PAIRS)))
def test_in_a_whole_pool_triples_are_counted_by_the_wins_of_its_passages(outcomes: list[bool]) -> None:
    rows = [Preference("q", a, b, a if won else b) for (a, b), won in zip(PAIRS, outcomes, strict=True)]
    wins = [sum(row.preferred == passage for row in rows) for passage in "abcde"]
    assert intransitive_triples(rows) == (10, 10 - sum(count * (count - 1) // 2 for count in wins))


def test_triples_need_three_decided_pairs_of_one_query() -> None:
    cycle = [Preference("q", "a", "b", "a"), Preference("q", "b", "c", "b"), Preference("q", "c", "a", "c")]
    assert intransitive_triples(cycle) == (1, 1)
    assert intransitive_triples(cycle[:2]) == (0, 0)
    assert intransitive_triples([*cycle[:2], Preference("r", "c", "a", "c")]) == (0, 0)
    assert intransitive_triples([*cycle, Preference("q", "a", "b", "b")]) == (0, 0)
    assert intransitive_triples([*cycle, *[Preference("q", "a", "b", "b")] * 2]) == (1, 0)


def test_a_run_agrees_where_it_has_the_preferred_passage_above_the_other() -> None:
    tops = {"run": {"q": ("a", "b", "c")}, "none": {}}
    rows = [
        Preference("q", "b", "a", "a"),
        Preference("q", "b", "c", "c"),
        Preference("q", "a", "x", "a"),
        Preference("q", "a", "c", None),
    ]
    run, none = order_agreement(tops, rows)
    low, high = stats.binomtest(1, 2).proportion_ci(0.95, "exact")
    assert run == ("run", 3, 2, 1, 0.5, (pytest.approx(low), pytest.approx(high)))
    assert none == ("none", 3, 0, 0, None, None)


def test_of_whole_runs_one_orders_as_people_do_most_often(data: Path) -> None:
    qrels = read_qrels(data / "sparse-qrels.txt")
    runs = {
        run_name(str(path)): run for path in sorted((data / "runs").glob("*.gz")) if (run := check_run(path).artifact)
    }
    pools = pool_queries([run.top("score") for run in runs.values()], qrels)
    oracle = read_preferences(data / "oracle-preferences.txt.gz")
    rows = [row for row in oracle if {row.a, row.b} <= set(pools.get(row.query, ()))]
    agreements = order_agreement({name: run.top("score", 10) for name, run in runs.items()}, rows)
    best = max(agreements, key=lambda agreement: agreement.share or 0)
    expected, triples = {
        "made-up": (("made-up-00", 1701, 618, 738), (3954, 0)),
        "trec-dl-2021": (("NLE_P_v1", 2012, 204, 346), (5585, 78)),
    }[data.name]
    assert (best.run, best.judged, best.alike, best.both) == expected
    assert best.share == pytest.approx(best.alike / best.both)
    assert intransitive_triples(rows) == triples

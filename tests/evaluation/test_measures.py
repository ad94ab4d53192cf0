"""Reciprocal rank."""

import io
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.measures.reciprocal_rank import mean_reciprocal, reciprocal_rank

RUN = check_run(
    io.BytesIO(b"q1 Q0 a 1 9 t\nq1 Q0 b 2 8 t\nq1 Q0 c 3 7 t\nq2 Q0 a 2 9 t\nq2 Q0 b 1 8 t\nq9 Q0 a 1 1 t\n")
).artifact
QRELS = read_qrels(io.BytesIO(b"q1 0 c 1\nq1 0 b 2\nq2 0 b 1\nq3 0 a 1\nq4 0 a 0\n"))


def test_all_queries_of_the_qrels_count_and_no_others() -> None:
    assert RUN is not None
    score = reciprocal_rank(RUN, QRELS)
    assert score.ranks == {"q1": 2, "q2": 2, "q3": 0, "q4": 0}
    assert score.as_dict() == {"mean": 0.25, "answered": 2}


def test_order_cut_and_least_grade_are_heeded() -> None:
    assert RUN is not None
    assert reciprocal_rank(RUN, QRELS, order="rank").mean == (1 / 2 + 1) / 4
    assert reciprocal_rank(RUN, QRELS, k=1).answered == 0
    assert reciprocal_rank(RUN, QRELS, min_grade=2).ranks == {"q1": 2, "q2": 0, "q3": 0, "q4": 0}
    assert reciprocal_rank(RUN, QRELS, min_grade=0).ranks["q4"] == 0


def test_a_mean_over_nothing_is_refused() -> None:
    assert RUN is not None
    with pytest.raises(ValueError, match="no queries"):
        reciprocal_rank(RUN, Qrels({}))


@given(st.lists(st.integers(0, 100), min_size=1, max_size=300), st.randoms())
def test_the_mean_is_exact_and_does_not_depend_on_the_order(ranks: list[int], draw: object) -> None:
    by_query = {str(number): rank for number, rank in enumerate(ranks)}
    exact = sum((Fraction(1, rank) for rank in ranks if rank), Fraction()) / len(ranks)
    assert mean_reciprocal(by_query) == float(exact)


@given(st.integers(1001, 3000))
def test_with_very_many_ranks_the_mean_is_still_right(count: int) -> None:
    ranks = {str(rank): rank for rank in range(1, count + 1)}
    assert mean_reciprocal(ranks) == pytest.approx(sum(1 / rank for rank in range(count, 0, -1)) / count, rel=1e-15)

"""Entries of a leaderboard: how scores are printed, their order, their trophies."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards.entries import Entry, bests, ordered, ranks, rounded, summarize, trophies
from evaluation.measures.means import exact_mean

DAY = date(2021, 3, 1)


def entry(key: str, score: str | None, day: int = 0, **fields: object) -> Entry:
    return replace(
        Entry(key, DAY + timedelta(day), eval=None if score is None else Decimal(score)),
        **fields,  # type: ignore[arg-type]
    )


scores = st.none() | st.integers(0, 12).map(lambda number: Decimal(number).scaleb(-3))
boards = st.lists(
    st.tuples(scores, st.integers(0, 5), st.sampled_from(["", "", "baseline"])), max_size=12
).map(
    lambda rows: [
        Entry(str(number), DAY + timedelta(day), mark, eval=score)  # type: ignore[arg-type]
        for number, (score, day, mark) in enumerate(rows)
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("score", "printed"),
    [
        (Fraction(1, 3), "0.333"),
        (Fraction(2, 3), "0.667"),
        (Fraction(1, 2000), "0.001"),  # half goes up, also where the last place is even: not to 0.000
        (Fraction(2469, 20000), "0.123"),
        (Fraction(247, 2000), "0.124"),
        (Decimal("0.4228"), "0.423"),
        (1, "1.000"),
    ],
)
def test_scores_are_rounded_half_up_to_three_places(score: Fraction, printed: str) -> None:
    assert str(rounded(score)) == printed


def test_a_mean_of_reciprocal_ranks_is_exact() -> None:
    assert exact_mean([1 / 3, 1 / 7, 0.0]) == Fraction(10, 63)
    # A sum of floats is 0.0005 less something, which would be printed as 0.000.
    assert rounded(exact_mean([1 / 200] * 3 + [0.0] * 27)) == Decimal("0.001")


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50))
def test_a_mean_does_not_depend_on_the_order_of_queries(places: list[int]) -> None:
    values = [1 / place if place else 0.0 for place in places]
    exact = sum((Fraction(1, place) for place in places if place), Fraction()) / len(places)
    assert exact_mean(values) == exact_mean(values[::-1]) == exact


@pytest.mark.parametrize("values", [[], [0.5, float("nan")], [float("inf")]])
def test_a_mean_of_nothing_and_of_no_numbers_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no queries|not a finite number"):
        exact_mean(np.array(values))


def test_a_trophy_needs_a_printed_score_above_all_before() -> None:
    board = [
        entry("first", "0.300", 0),
        entry("equal", "0.300", 1),
        entry("baseline", "0.400", 2, mark="baseline"),
        entry("below the baseline", "0.350", 3),
        entry("above", "0.401", 4),
        entry("unscored", None, 5),
    ]
    assert trophies(board) == {"first", "above"}


def test_trophies_go_by_date_and_within_a_day_by_the_order_given() -> None:
    late, early = entry("late", "0.500", 9), entry("early", "0.200", 1)
    assert trophies([late, early]) == {"early", "late"}
    assert trophies([entry("a", "0.2"), entry("b", "0.3")]) == {"a", "b"}
    assert trophies([entry("b", "0.3"), entry("a", "0.2")]) == {"b"}


@given(boards)
def test_the_bests_are_above_all_that_came_before_and_trophies_are_theirs_less_the_baselines(
    board: list[Entry],
) -> None:
    arrived = sorted(board, key=lambda entry: entry.date)
    above = [
        entry.key
        for number, entry in enumerate(arrived)
        if entry.eval is not None
        and all(entry.eval > other.eval for other in arrived[:number] if other.eval is not None)
    ]
    assert [entry.key for entry in bests(board)] == above
    assert trophies(board) == {entry.key for entry in bests(board) if entry.mark != "baseline"}


@given(boards)
def test_no_unscored_entry_is_above_a_scored_one_and_ties_keep_the_order_of_arrival(board: list[Entry]) -> None:
    in_order = ordered(board)
    assert sorted(entry.key for entry in in_order) == sorted(entry.key for entry in board)
    scored = [entry for entry in in_order if entry.eval is not None]
    assert in_order[: len(scored)] == scored
    arrival = {entry.key: (entry.date, number) for number, entry in enumerate(board)}
    keys = [(-(entry.eval or 0), arrival[entry.key]) for entry in scored]
    assert keys == sorted(keys)
    rest = [arrival[entry.key] for entry in in_order[len(scored) :]]
    assert rest == sorted(rest)


@given(boards)
def test_a_rank_is_one_more_than_there_are_better_entries(board: list[Entry]) -> None:
    scored = [entry for entry in board if entry.eval is not None]
    expected = {entry.key: 1 + sum(other.eval > entry.eval for other in scored) for entry in scored}  # type: ignore[operator]
    assert ranks(board) == expected


def test_an_entry_without_gain_comes_after_the_one_that_it_repeats() -> None:
    board = [
        entry("other", "0.310", 0),
        entry("ours", "0.350", 1),
        entry("no gain", None, 2, repeats="ours"),
        entry("lost", None, 3, repeats="not shown here"),
    ]
    assert [entry.key for entry in ordered(board)] == ["ours", "no gain", "other", "lost"]
    assert trophies(board) == {"other", "ours"}
    assert ranks(board) == {"ours": 1, "other": 2}


def test_a_summary_tells_wrong_trophies_and_correlates_entries_with_both_scores() -> None:
    board = [
        entry("a", "0.1", 0, dev=Decimal("0.2"), mark="trophy"),
        entry("b", "0.3", 1, dev=Decimal("0.3")),
        entry("c", "0.2", 2, dev=Decimal("0.4"), mark="trophy"),
        entry("d", "0.9", 3, mark="baseline"),
        entry("e", None, 4, dev=Decimal("0.5")),
    ]
    summary = summarize(board).as_dict()
    assert (summary["entries"], summary["baselines"], summary["trophies"], summary["both"]) == (5, 1, 2, 3)
    assert summary["disagreements"] == [
        {"key": "b", "marked": False, "earned": True},
        {"key": "c", "marked": True, "earned": False},
    ]
    assert summary["pearson"] == pytest.approx(0.5)
    assert summary["kendall"] == pytest.approx(1 / 3)
    assert (summary["mean_gap"], summary["positive_gaps"]) == (pytest.approx(-0.1), 0)


def test_an_empty_board_has_no_correlation() -> None:
    summary = summarize([])
    assert (summary.entries, summary.both, summary.pearson, summary.kendall, summary.mean_gap) == (
        0,
        0,
        None,
        None,
        None,
    )

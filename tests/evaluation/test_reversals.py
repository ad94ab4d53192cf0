"""What would survive if judgments were reversed: by counting all ways, and by what must hold."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from evaluation.files.preferences import Preference
from evaluation.judging.tournament import Judged, best_known
from evaluation.statistics.ranks import Board
from evaluation.statistics.reversals import reverse_judgments

from .test_board_alike import artifact

Rows = list[tuple[str, str, str]]


def judged(query: str, rows: Rows) -> list[Preference]:
    return [Preference(query, a, b, preferred) for a, b, preferred in rows]


def board(*runs: dict[str, list[str]]) -> Board:
    return Board({f"run{number}": artifact(ranked) for number, ranked in enumerate(runs)}, 10, "rank")


def exactly(pool: str, rows: Rows, share: float) -> float:
    """The chance that the winners stay, over all ways of reversing."""

    def outcome(turned: tuple[bool, ...]) -> frozenset[str]:
        wins = [
            Judged(*((preferred, b if preferred == a else a)[:: -1 if is_turned else 1]))
            for (a, b, preferred), is_turned in zip(rows, turned, strict=True)
        ]
        return best_known(pool, wins)

    before = outcome((False,) * len(rows))
    return sum(
        prod(share if turned else 1 - share for turned in way)
        for way in product([False, True], repeat=len(rows))
        if outcome(way) == before
    )


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_answers_survive_as_often_as_over_all_ways(share: float) -> None:
    ring = [("a", "b", "a"), ("b", "c", "b"), ("a", "c", "c")]
    order = [(a, b, a) for a, b in combinations("abcd", 2)]
    twice = [("a", "b", "a"), ("a", "b", "a"), ("a", "b", "b")]
    pools = {"order": "abcd", "ring": "abc", "twice": "ab", "alone": "a"}
    rows = [*judged("order", order), *judged("ring", ring), *judged("twice", twice)]
    reversal = reverse_judgments(pools, rows, board=board({"order": ["a"]}), queries=[], share=share, draws=20_000)
    assert list(reversal.answers) == sorted(pools) and reversal.means is None
    assert reversal.answers["alone"] == 1
    for query, preferences in (("order", order), ("ring", ring), ("twice", twice)):
        assert reversal.answers[query] == pytest.approx(exactly(pools[query], preferences, share), abs=0.015)


def test_nothing_changes_without_reversals_and_all_does_where_every_judgment_is_reversed() -> None:
    rows = [*judged("p", [("a", "b", "a")]), *judged("q", [("a", "b", "b")])]
    runs = board({"p": ["a", "b"], "q": ["b", "a"]}, {"p": ["b", "a"], "q": ["a", "b"]})
    pools = {"p": "ab", "q": "ab"}
    reversal, turned = (
        reverse_judgments(pools, rows, board=runs, queries=["p", "q"], share=share, draws=50) for share in (0, 1)
    )
    assert (set(reversal.answers.values()), set(turned.answers.values())) == ({1.0}, {0.0})
    assert reversal.means is not None and turned.means is not None
    assert (np.unique(reversal.means[0]), np.unique(reversal.means[1])) == ([1.0], [0.5])
    assert (np.unique(turned.means[0]), np.unique(turned.means[1])) == ([0.5], [1.0])
    assert (reversal.above(0, 1), reversal.above(1, 0), reversal.first(0), reversal.first(1)) == (1, 0, 1, 0)
    assert (turned.above(0, 1), turned.first(1)) == (0, 1)


def test_ties_are_never_reversed_and_runs_are_scored_on_the_queries_given() -> None:
    rows = [Preference("p", "a", "b", None), *judged("q", [("a", "b", "a")])]
    runs = board({"p": ["a", "b"], "q": ["b", "a"]}, {"p": ["b", "a"], "q": ["a", "b"]})
    reversal = reverse_judgments({"p": "ab", "q": "ab"}, rows, board=runs, queries=["q"], share=1, draws=10)
    assert reversal.answers == {"p": 1.0, "q": 0.0}
    assert reversal.means is not None
    assert reversal.means.tolist() == [[1.0] * 10, [0.5] * 10]


def test_the_order_of_judgments_does_not_matter_and_an_impossible_share_is_refused() -> None:
    rows = judged("q", [(a, b, b) for a, b in combinations("abcde", 2)])
    runs = board({"q": ["a", "e"]}, {"q": ["e"]})
    first, second = (
        reverse_judgments({"q": "abcde"}, rows_in_order, board=runs, queries=["q"], draws=200, seed=7)
        for rows_in_order in (rows, rows[::-1])
    )
    assert first.answers == second.answers
    assert first.means is not None and second.means is not None
    assert first.means.tolist() == second.means.tolist()
    with pytest.raises(ValueError, match=r"share 1\.5 where 0 to 1 is needed"):
        reverse_judgments({"q": "abcde"}, rows, board=runs, queries=["q"], share=1.5)

"""The tournament, its invariants, and the other methods."""

from collections import defaultdict
from itertools import combinations

import choix
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference
from evaluation.judging.tournament import (
    METHODS,
    Derived,
    Judged,
    Judgment,
    Method,
    Tied,
    best_known,
    bradley_terry,
    derive,
    most_wins,
)

ALL = {"tournament": best_known, "most-wins": most_wins, "bradley-terry": bradley_terry}
EACH = pytest.mark.parametrize("method", METHODS)
Game = tuple[list[str], list[Judgment]]


@st.composite
def games(draw: st.DrawFn, least: int = 1) -> Game:
    """A pool, and any judgments within it, ties and repeats among them."""
    pool = [f"p{number}" for number in range(draw(st.integers(least, 7)))]
    pairs = list(combinations(pool, 2))
    if not pairs:
        return pool, []
    sides = st.sampled_from([0, 1, 2])
    judged: list[Judgment] = []
    for (a, b), side in draw(st.lists(st.tuples(st.sampled_from(pairs), sides), max_size=40)):
        judged.append((Judged(a, b), Judged(b, a), Tied(a, b))[side])
    return pool, judged


@st.composite
def round_robins(draw: st.DrawFn) -> Game:
    """A pool with exactly one judgment of each pair, none of them a tie."""
    pool = [f"p{number}" for number in range(draw(st.integers(1, 8)))]
    return pool, [draw(st.sampled_from([Judged(a, b), Judged(b, a)])) for a, b in combinations(pool, 2)]


def plainly(pool: frozenset[str], judgments: list[Judgment]) -> frozenset[str]:
    """The tournament said again, in another way: by recursion, in fractions of wins."""
    wins: dict[str, float] = defaultdict(float)
    for judgment in judgments:
        if set(judgment) <= pool:
            for passage in judgment:
                wins[passage] += 0.5 if isinstance(judgment, Tied) else passage == judgment[0]
    leaders = frozenset(passage for passage in pool if wins[passage] == max(wins[other] for other in pool))
    return leaders if leaders == pool else plainly(leaders, judgments)


@given(games())
def test_the_tournament_is_what_its_words_say(game: Game) -> None:
    pool, judgments = game
    assert best_known(pool, judgments) == plainly(frozenset(pool), judgments)


@given(games())
def test_winners_are_among_the_first_rounds_leaders(game: Game) -> None:
    assert best_known(*game) <= most_wins(*game)


@given(round_robins())
def test_with_one_judgment_a_pair_the_winners_are_an_odd_number(game: Game) -> None:
    assert len(best_known(*game)) % 2 == 1


@EACH
@given(game=round_robins(), data=st.data())
def test_a_passage_that_beats_all_others_wins_alone(method: str, game: Game, data: st.DataObject) -> None:
    pool, judgments = game
    champion = data.draw(st.sampled_from(pool))
    beaten = [Judged(champion, other) for other in pool if other != champion]
    rest = [judgment for judgment in judgments if champion not in judgment]
    assert ALL[method](pool, [*rest, *beaten]) == {champion}


@EACH
@given(game=games(), data=st.data())
def test_order_and_names_do_not_matter(method: str, game: Game, data: st.DataObject) -> None:
    pool, judgments = game
    names = dict(zip(pool, data.draw(st.permutations(pool)), strict=True))
    moved = data.draw(st.permutations([type(row)(names[row[0]], names[row[1]]) for row in judgments]))
    winners = ALL[method](data.draw(st.permutations(pool)), moved)
    assert winners == {names[passage] for passage in ALL[method](pool, judgments)}


@given(games())
def test_a_passage_that_loses_every_pair_changes_nothing(game: Game) -> None:
    pool, judgments = game
    assert best_known([*pool, "loser"], [*judgments, *(Judged(other, "loser") for other in pool)]) == best_known(
        pool, judgments
    )


@given(games())
def test_a_tie_is_half_a_win_for_both(game: Game) -> None:
    pool, judgments = game
    halves: list[Judgment] = []
    for judgment in judgments:
        a, b = judgment
        halves += [Judged(a, b), Judged(b, a)] if isinstance(judgment, Tied) else [judgment, judgment]
    for method in ("tournament", "most-wins"):
        assert ALL[method](pool, halves) == ALL[method](pool, judgments)


def test_a_cycle_is_a_deadlock_of_three() -> None:
    assert best_known("abc", [Judged("a", "b"), Judged("b", "c"), Judged("c", "a")]) == {"a", "b", "c"}


def test_deadlocks_of_five_exist() -> None:
    wins = [Judged("abcde"[at], "abcde"[(at + step) % 5]) for at in range(5) for step in (1, 2)]
    assert best_known("abcde", wins) == set("abcde")


def test_those_who_tie_for_first_play_again_among_themselves() -> None:
    judgments = [Judged("a", "b"), Judged("a", "c"), Judged("b", "c"), Judged("b", "d"), Judged("d", "a")]
    judgments += [Judged("c", "d")]
    assert most_wins("abcd", judgments) == {"a", "b"}
    assert best_known("abcd", judgments) == {"a"}


def test_every_repeat_counts() -> None:
    judgments = [Judged("a", "b"), Judged("b", "a"), Judged("b", "a")]
    assert best_known("ab", judgments) == {"b"}


def test_a_pool_of_one_needs_no_judgment() -> None:
    for method in ALL.values():
        assert method(["a"], []) == {"a"}


@EACH
def test_a_passage_outside_the_pool_is_refused(method: str) -> None:
    with pytest.raises(UnknownPassage, match="passage c is not in the pool"):
        ALL[method]("ab", [Judged("a", "c")])


def test_bradley_terry_believes_wins_over_the_strong_more_than_counts() -> None:
    # b has as many wins as a, but b's are over the weak.
    judgments = [Judged("a", "s"), Judged("a", "s"), Judged("b", "w"), Judged("b", "w"), *[Judged("s", "w")] * 5]
    assert most_wins("abw", [row for row in judgments if "s" not in row]) == {"b"}
    assert bradley_terry("abws", judgments) == {"a"}


def test_bradley_terry_agrees_with_choix_on_whole_wins() -> None:
    wins = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "b"), ("a", "d")]
    strengths = choix.ilsr_pairwise(4, [("abcd".index(first), "abcd".index(other)) for first, other in wins], alpha=0.1)
    assert bradley_terry("abcd", [Judged(*win) for win in wins]) == {"abcd"[max(range(4), key=strengths.__getitem__)]}


def prefer(text: str) -> list[Preference]:
    return [Preference(*line.split()) for line in text.splitlines()]


POOLS = {"q1": ("a", "b"), "q2": ("a", "b", "c"), "q3": ("a", "b", "c"), "q4": ("z",), "q10": ("a", "b")}
PREFERENCES = prefer("q1 a b b\nq2 a b a\nq2 b c b\nq2 a c c\nq3 a b a\nq3 a c a")


def test_deriving_tells_winners_deadlocks_and_what_was_refused() -> None:
    assert derive(POOLS, PREFERENCES) == Derived(
        qrels=(("q1", "b"), ("q2", "a"), ("q2", "b"), ("q2", "c"), ("q4", "z")),
        single=2,
        deadlocks={3: 1},
        incomplete=("q10", "q3"),
    )


def test_incomplete_pools_are_played_if_told_so_but_not_on_no_judgment_at_all() -> None:
    derived = derive(POOLS, PREFERENCES, allow_incomplete=True)
    assert ("q3", "a") in derived.qrels
    assert derived.incomplete == ("q10",)


@EACH
@given(data=st.data())
def test_the_order_of_preferences_does_not_matter(method: Method, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(PREFERENCES))
    assert derive(POOLS, shuffled, method) == derive(POOLS, PREFERENCES, method)


def test_a_preference_outside_its_pool_is_refused_even_where_the_pool_is_incomplete() -> None:
    for preference in ("q3 a z a", "q5 a b a"):
        with pytest.raises(UnknownPassage):
            derive(POOLS, [*PREFERENCES, *prefer(preference)])


def test_a_preference_outside_its_pool_is_refused_before_the_pool_is_found_incomplete() -> None:
    with pytest.raises(UnknownPassage):
        derive({"q": "abc"}, prefer("q a z a"))


def test_a_tie_is_a_preference_for_none() -> None:
    assert derive({"q": "ab"}, [Preference("q", "a", "b", None)]).deadlocks == {2: 1}

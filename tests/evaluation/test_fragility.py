"""The fewest judgments whose reversal changes the winners, against trying all."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import by_size
from evaluation.judging.tournament import Judged, Tied, best_known, most_wins
from evaluation.statistics import fragility
from evaluation.statistics.fragility import Fragility, fragilities

Rows = list[tuple[str, str, str | None]]


def of(pool: str, rows: Rows, again: bool = True) -> Fragility:
    preferences = [Preference("q", *row) for row in rows]
    (fragility,) = (fragilities(group)["q"] for group in by_size({"q": list(pool)}, preferences, again=again))
    return fragility


def winners_of(pool: str, rows: Rows, again: bool = True) -> frozenset[str]:
    play = best_known if again else most_wins
    return play(pool, [Tied(a, b) if p is None else Judged(p, b if p == a else a) for a, b, p in rows])


def by_trying_all(pool: str, rows: Rows, again: bool = True) -> int | None:
    before = winners_of(pool, rows, again)
    decided = [at for at, (_, _, preferred) in enumerate(rows) if preferred is not None]
    for count in range(1, len(decided) + 1):
        for chosen in combinations(decided, count):
            turned = [(a, b, (b if p == a else a) if at in chosen else p) for at, (a, b, p) in enumerate(rows)]
            if winners_of(pool, turned, again) != before:
                return count
    return None


@st.composite
def judged_pools(draw: st.DrawFn) -> tuple[str, Rows]:
    pool = "abcdef"[: draw(st.integers(1, 5))]
    times = st.sampled_from([0, 1, 1, 1, 2, 3] if draw(st.booleans()) else [1])
    rows: Rows = []
    for a, b in combinations(pool, 2):
        rows += [(a, b, draw(st.sampled_from([a, b, a, b, None]))) for _ in range(draw(times))]
    return pool, rows[:13]


@settings(max_examples=600)
@given(judged_pools())
def test_no_fewer_reversals_change_the_winners_and_so_many_do(judged: tuple[str, Rows]) -> None:
    pool, rows = judged
    assert of(pool, rows) == (by_trying_all(pool, rows), True)


@settings(max_examples=300)
@given(judged_pools())
def test_the_same_holds_where_all_with_the_most_wins_are_winners(judged: tuple[str, Rows]) -> None:
    pool, rows = judged
    assert of(pool, rows, again=False) == (by_trying_all(pool, rows, again=False), True)


@settings(max_examples=40)
@given(st.data())
def test_a_tournament_of_six_judged_once_is_as_fragile_as_trying_all_says(data: st.DataObject) -> None:
    rows: Rows = [(a, b, data.draw(st.sampled_from([a, b]))) for a, b in combinations("abcdef", 2)]
    assert of("abcdef", rows) == (by_trying_all("abcdef", rows), True)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "b", "a")], 1),
        ([("a", "b", None)], None),
        ([("a", "b", "a")] * 3, 2),
        ([("a", "b", "a")] * 4, 2),  # two each: both are winners
        ([("a", "b", "a"), ("a", "c", "a"), ("b", "c", "b")], 1),
        ([("a", "b", "a"), ("b", "c", "b"), ("c", "a", "c")], 1),
    ],
)
def test_small_cases(rows: Rows, expected: int | None) -> None:
    pool = "".join(sorted({passage for a, b, _ in rows for passage in (a, b)}))
    assert of(pool, rows) == (expected, True)


def test_an_order_without_upsets_falls_with_the_judgment_of_its_first_two() -> None:
    pool = "abcdefghijklmnop"
    assert of(pool, [(a, b, a) for a, b in combinations(pool, 2)]) == (1, True)


def test_too_many_ways_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragility, "_MOST", 3)
    monkeypatch.setattr(fragility, "_BATCH_CELLS", 2 * 28)
    # a beats everybody; among the others everybody wins as often as he loses.
    pool = "abcdefgh"
    ring = "bcdefgh"
    rows: Rows = [("a", other, "a") for other in ring]
    rows += [(x, ring[(at + step) % 7], x) for at, x in enumerate(ring) for step in (1, 2, 3)]
    fragile = of(pool, rows)
    monkeypatch.undo()
    exactly = of(pool, rows)
    assert exactly.exact and exactly.judgments is not None
    assert fragile == (exactly.judgments, True) or (
        fragile.judgments in (exactly.judgments, exactly.judgments + 1) and not fragile.exact
    )

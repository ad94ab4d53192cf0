"""The release rule: what is shown of a hidden score."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards.ladder import LEVEL, RULES, Rule, chance_bound, look_level, release

REFERENCE = np.array([1.0, 0.5, 0.0, 0.25] * 25)
reciprocal = st.sampled_from([0.0, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0])


def gaining(queries: int) -> np.ndarray:  # type: ignore[type-arg]
    """As the reference, but better by 0.25 on so many of the 75 queries that leave room."""
    candidate = REFERENCE.copy()
    candidate[np.flatnonzero(REFERENCE < 1)[:queries]] += 0.25
    return candidate


@pytest.mark.parametrize("rule", RULES)
def test_a_first_score_is_shown_exactly(rule: Rule) -> None:
    outcome = release(rule, None, [1 / 3, 0.0, 1.0])
    assert (outcome.shown, outcome.score) == (True, Fraction(4, 9))


def test_plain_shows_what_is_worse_and_the_others_do_not() -> None:
    worse = REFERENCE / 2
    assert release("plain", REFERENCE, worse).score == Fraction(7, 32)
    for rule in RULES[1:]:
        outcome = release(rule, REFERENCE, worse)
        assert (outcome.shown, outcome.score) == (False, None)


@pytest.mark.parametrize("rule", RULES[1:])
def test_a_gain_on_every_query_is_shown_and_the_same_again_is_not(rule: Rule) -> None:
    assert release(rule, REFERENCE, gaining(75)).score == Fraction(7, 16) + Fraction(3, 16)
    assert not release(rule, REFERENCE, REFERENCE).shown


def test_the_ladder_asks_for_its_step_or_for_one_standard_error() -> None:
    # 4 of 100 queries by 0.25: a gain of exactly 0.01, and a standard error of 0.0049.
    assert release("ladder", REFERENCE, gaining(4), step=0.009).shown
    assert not release("ladder", REFERENCE, gaining(4), step=0.01).shown
    assert release("ladder", REFERENCE, gaining(4)).shown
    mixed = gaining(4)
    mixed[np.flatnonzero(REFERENCE == 1)[:3]] -= 0.25  # gains 4, loses 3
    assert mixed.mean() > REFERENCE.mean()
    assert not release("ladder", REFERENCE, mixed).shown


def test_the_bootstrap_asks_for_a_gain_in_most_samples() -> None:
    assert release("bootstrap", REFERENCE, gaining(4)).shown  # without it in 1 of 60
    assert not release("bootstrap", REFERENCE, gaining(2)).shown  # in 1 of 7
    assert not release("bootstrap", REFERENCE, gaining(4), step=0.01).shown


def test_the_tested_rule_asks_more_of_every_further_look() -> None:
    looks_allowed = [max(looks for looks in range(2000) if release("tested", REFERENCE, gaining(n), looks=looks).shown)
             for n in (12, 16, 20)]  # fmt: skip
    assert looks_allowed == sorted(set(looks_allowed))
    assert not release("tested", REFERENCE, gaining(12), looks=looks_allowed[0] + 1).shown
    assert not release("tested", REFERENCE, gaining(4)).shown
    assert not release("tested", REFERENCE, gaining(12), step=0.03).shown


def test_the_levels_of_all_looks_add_up_to_five_percent() -> None:
    total = sum(look_level(looks) for looks in range(100_000))
    assert LEVEL - 1e-6 < total < LEVEL


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=10))
def test_the_bound_holds_for_every_set_of_differences(values: list[int]) -> None:
    """Against all signs, counted one by one."""
    size = sum(map(abs, values))
    sums = [sum(sign * value for sign, value in zip(signs, values, strict=True))
            for signs in itertools.product((-1, 1), repeat=len(values))]  # fmt: skip
    total = sum(values)
    exact = sum(total_of_signs >= total for total_of_signs in sums) / len(sums)
    assert chance_bound(np.array(values) / max(size, 1)) >= exact * (1 - 1e-9)


def test_the_bound_is_known_where_all_differences_are_alike() -> None:
    # z = sqrt(n): 3.178 times the upper tail of a normal variable at 4.
    assert chance_bound(np.ones(16)) == pytest.approx(3.178656 * 3.167124e-05, rel=1e-5)
    assert chance_bound(np.zeros(16)) == chance_bound(-np.ones(16)) == 1


@given(st.lists(st.tuples(reciprocal, reciprocal), min_size=1, max_size=30), st.randoms(), st.sampled_from(RULES))
def test_what_is_shown_does_not_depend_on_the_order_of_the_queries(pairs, random, rule) -> None:  # type: ignore[no-untyped-def]
    mixed = random.sample(pairs, len(pairs))
    first, second = (release(rule, [score for score, _ in some], [two for _, two in some]) for some in (pairs, mixed))
    assert first == second
    if rule != "plain" and first.shown:
        assert first.score > Fraction(sum(Fraction(score).limit_denominator(100) for score, _ in pairs)) / len(pairs)


def test_what_is_not_shown_leaves_no_number_behind() -> None:
    """Whoever is refused reads the same, however near the gain was."""
    for rule in RULES[1:]:
        assert release(rule, REFERENCE, REFERENCE / 2) == release(rule, REFERENCE, gaining(1) - 0.001)


@pytest.mark.parametrize(
    ("arguments", "options", "why"),
    [
        (("fair", None, [1.0]), {}, "release rule 'fair' where there are plain, ladder, bootstrap, tested"),
        (("tested", [1.0], [1.0, 0.0]), {}, "1 reference scores and 2 of the candidate"),
        (("tested", None, []), {}, "no queries"),
        (("ladder", [1.0], [float("nan")]), {}, "not a finite number"),
        (("ladder", [1.0], [1.0]), {"step": -0.1}, "a step of -0.1"),
        (("tested", [1.0], [1.0]), {"looks": -1}, "-1 looks"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple, options: dict, why: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=why):
        release(*arguments, **options)

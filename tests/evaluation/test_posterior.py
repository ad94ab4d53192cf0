"""P(best) beside sums over all orders, integrals, and simulated people: those that the model knows, and others."""

import math
import os
from collections import defaultdict
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.files.preferences import Preference, read_preferences
from evaluation.judging import posterior
from evaluation.judging.batch_tournaments import SizedPools, by_size
from evaluation.judging.pooling import canonical
from evaluation.judging.posterior import Judging, Strengths, best_chances, better_chances, given, learn

# Simulated pools of each kind; more of them are told apart better.
POOLS = int(os.environ.get("POSTERIOR_POOLS", "150"))


def simulate(
    size: int, pools: int, times: int, seed: int, *, rate: float | None = None, spread: float = 1.4, guesses: float = 0
) -> tuple[SizedPools, NDArray[Any]]:
    """Pools judged by simulated people, and the strengths of their passages. With a rate, people err that often however
    close two are; else by Bradley and Terry, and some guess.
    """
    random = np.random.default_rng(seed)
    strengths = random.normal(0, spread, (pools, size))
    first, second = np.triu_indices(size, 1)
    apart = strengths[:, first] - strengths[:, second]
    right = guesses / 2 + (1 - guesses) / (1 + np.exp(-apart))
    wins = random.binomial(times, right if rate is None else np.where(apart > 0, 1 - rate, rate))
    counts = np.stack([wins, times - wins, np.zeros_like(wins)], axis=-1)
    names = tuple(f"p{at:02}" for at in range(size))
    return SizedPools(size, {f"q{at:05}": names for at in range(pools)}, counts), strengths


def hold(chances: NDArray[Any], best: NDArray[Any], level: float = 0.9) -> tuple[float, float]:
    """How often the smallest sets of a level hold the best, and how many passages they have."""
    order = np.argsort(-chances, axis=1)
    sizes = 1 + (np.cumsum(np.take_along_axis(chances, order, 1), axis=1) < level - 1e-9).sum(axis=1)
    ranks = (order == best[:, None]).argmax(axis=1)
    return float((ranks < sizes).mean()), float(sizes.mean())


def test_an_order_is_exactly_the_sum_over_all_orders() -> None:
    random = np.random.default_rng(3)
    counts = random.integers(0, 3, (6, 6, 3))
    group = SizedPools(4, {str(at): tuple("abcd") for at in range(6)}, counts)
    rivals = np.array([[0, 1], [1, 0], [2, 3], [3, 0], [0, 3], [1, 2]])
    chances_of_best, better = best_chances(group, given(0.2)), better_chances(group, rivals, given(0.2))
    for row, chances, (first, other), above in zip(counts, chances_of_best, rivals, better, strict=True):
        total, best, over = 0.0, np.zeros(4), 0.0
        for order in permutations(range(4)):
            log = 0.0
            for (a, b), (for_a, for_b, ties) in zip(combinations(range(4), 2), row.tolist(), strict=True):
                right, wrong = (for_a, for_b) if order.index(a) < order.index(b) else (for_b, for_a)
                log += (right + ties / 2) * math.log(0.8) + (wrong + ties / 2) * math.log(0.2)
            total += math.exp(log)
            best[order[0]] += math.exp(log)
            over += math.exp(log) * (order.index(first) < order.index(other))
        assert chances == pytest.approx(best / total)
        assert above == pytest.approx(over / total)


@pytest.mark.parametrize("guesses", [0.0, 0.3])
def test_strengths_are_as_drawing_them_from_the_prior_has_it(guesses: float) -> None:
    (group,) = by_size({"q": "abc"}, [Preference("q", "a", "b", "a")] * 3 + [Preference("q", "b", "c", "b")])
    judging = Judging({Strengths(1.5, guesses): 1.0})
    drawn = np.random.default_rng(1).normal(0, 1.5, (400_000, 3))
    above, below = (guesses / 2 + (1 - guesses) / (1 + np.exp(-(drawn[:, at] - drawn[:, at + 1]))) for at in (0, 1))
    weights = above**3 * below
    best = [(weights * (drawn.argmax(axis=1) == at)).sum() / weights.sum() for at in range(3)]
    chances = [best_chances(group, judging, seed=seed)[0] for seed in range(8)]
    assert np.mean(chances, axis=0) == pytest.approx(best, abs=0.02)
    better = [better_chances(group, np.array([[0, 2]]), judging, seed=seed)[0] for seed in range(8)]
    assert np.mean(better) == pytest.approx((weights * (drawn[:, 0] > drawn[:, 2])).sum() / weights.sum(), abs=0.02)


@pytest.mark.parametrize(
    ("size", "times", "people"),
    [
        (5, 1, {"rate": 0.1}),
        (5, 3, {"rate": 0.3}),
        (8, 1, {"rate": 0.3}),
        (5, 1, {"spread": 1.4}),
        (8, 1, {"spread": 0.9}),
        (5, 3, {"spread": 2.5}),
        (8, 1, {"spread": 1.4, "guesses": 0.3}),
        (16, 1, {"spread": 1.4, "guesses": 0.15}),
    ],
)
def test_sets_of_nine_in_ten_hold_the_best_about_so_often(size: int, times: int, people: dict[str, float]) -> None:
    """Whatever the people are like. Where few passages are in question, a set of whole passages holds more."""
    group, strengths = simulate(size, POOLS, times, 11, **people)
    chances, best = best_chances(group, learn([group])), strengths.argmax(axis=1)
    holding, passages = hold(chances, best)
    slack = 2 * math.sqrt(0.09 / POOLS)
    assert 0.88 - slack <= holding <= (0.95 if passages > 3 else 0.98) + slack
    # P of so much is right so often.
    assert chances.max(axis=1).mean() == pytest.approx((chances.argmax(axis=1) == best).mean(), abs=0.04 + slack)


def test_how_people_judge_is_learned_from_what_they_judged_twice() -> None:
    for rate in (0.1, 0.3):
        group, _ = simulate(4, 120, 2, 5, rate=rate)
        assert learn([group]).error_rate == pytest.approx(rate, abs=0.04)
    sharp, _ = simulate(4, 120, 2, 5, spread=4.0)
    vague, _ = simulate(4, 120, 2, 5, spread=0.4)
    assert learn([sharp]).error_rate + 0.15 < learn([vague]).error_rate


def test_pools_of_one_and_two_and_pools_without_judgments() -> None:
    groups = by_size({"p": "a", "q": "ab", "r": "ab"}, [Preference("q", "a", "b", "a")])
    judging = learn(groups)
    assert best_chances(groups[0], judging).tolist() == [[1.0]]
    chances_again, open_ = best_chances(groups[1], judging)
    assert 0.55 < chances_again[0] < 0.95 and chances_again.sum() == pytest.approx(1)
    assert open_.tolist() == [0.5, 0.5]
    assert sum(learn([]).weights.values()) == pytest.approx(1)


def test_pairs_that_nobody_judged_leave_their_passages_open() -> None:
    rows = [Preference("q", "a", "b", "a"), Preference("q", "a", "c", "a"), Preference("q", "b", "c", "b")]
    (group,) = by_size({"q": "abcd"}, rows)
    a, b, c, d = best_chances(group, given(0.2))[0]
    assert a > d > b > c


def test_many_judgments_of_a_pair_decide_and_ties_are_half_for_each() -> None:
    many = [Preference("q", "a", "b", "a" if at % 3 else "b") for at in range(600)]
    tied = [Preference("r", "a", "b", None)] * 3
    (group,) = by_size({"q": "ab", "r": "ab"}, many + tied)
    for judging in (given(0.3), learn([group]), Judging({Strengths(1.6, 0.1): 1.0})):
        sure, even = best_chances(group, judging)
        assert sure[0] > 0.99 and even[0] == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(("share", "people"), [(0.3, {"rate": 0.2}), (0.3, {"spread": 1.4})])
def test_sets_of_large_pools_hold_the_best_though_few_pairs_were_judged(share: float, people: dict[str, float]) -> None:
    group, strengths = simulate(40, 40, 1, 2, **people)
    judged = np.random.default_rng(1).random(group.counts.shape[:2]) < share
    sparse = SizedPools(40, group.pools, group.counts * judged[..., None])
    judging = learn([sparse])
    chances, best = best_chances(sparse, judging), strengths.argmax(axis=1)
    assert chances.sum(axis=1) == pytest.approx(1)
    holding, passages = hold(chances, best)
    assert holding >= 0.85 and passages < 10
    rivals = np.stack([best, (best + 1) % 40], axis=1)
    better = better_chances(sparse, rivals, judging)
    few = SizedPools(40, dict(list(sparse.pools.items())[:2]), sparse.counts[:2])
    assert better_chances(few, rivals[:2], judging) == pytest.approx(better[:2], abs=0.01)
    assert better.mean() > 0.8


def test_orders_that_are_drawn_are_as_probable_as_the_sum_says(monkeypatch: pytest.MonkeyPatch) -> None:
    group, _ = simulate(7, 40, 1, 4, rate=0.25)
    rivals = np.tile([0, 3], (40, 1))
    summed = best_chances(group, given(0.25)), better_chances(group, rivals, given(0.25))
    monkeypatch.setattr(posterior, "_ORDERED", 6)
    posterior._best_chances.cache_clear()
    drawn = best_chances(group, given(0.25)), better_chances(group, rivals, given(0.25))
    posterior._best_chances.cache_clear()
    assert not (drawn[0] == summed[0]).all()
    for sums, draws in zip(summed, drawn, strict=True):
        assert draws == pytest.approx(sums, abs=0.1)
        assert np.abs(draws - sums).mean() < 0.02


def test_the_same_seed_gives_the_same_and_error_rates_have_limits() -> None:
    group, _ = simulate(4, 20, 1, 8)
    judging = learn([group], seed=4)
    assert judging == learn([group], seed=4)
    assert (best_chances(group, judging, seed=4) == best_chances(group, judging, seed=4)).all()
    assert best_chances(group, given(0.5)) == pytest.approx(0.25)
    (certain,) = by_size({"q": "abc"}, [Preference("q", a, b, a) for a, b in combinations("abc", 2)])
    assert best_chances(certain, given(0))[0] == pytest.approx([1, 0, 0], abs=1e-6)


def test_held_out_judgments_of_people_are_told_better_than_by_drawing_again(data: Path) -> None:
    """Of pairs that people judged again and again, what others said is told by what one of them said, and all else."""
    random = np.random.default_rng(20211117)
    votes: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for query, a, b, preferred in read_preferences(data / "preferences.txt.gz"):
        votes[query][canonical(a, b)].append(str(preferred))
    votes = {query: votes[query] for query in list(votes)[::2]}  # every second, or it takes twice as long
    judged, requested = [], []
    for query, pairs in votes.items():
        often = {pair: outcomes for pair, outcomes in pairs.items() if len(outcomes) > 1}
        for pair in sorted(often, key=lambda pair: -len(often[pair]))[:12]:
            outcomes = random.permutation(often[pair]).tolist()
            judged.append(Preference(query, *pair, outcomes[0]))
            requested.append((query, pair, outcomes[0], outcomes[1:]))
    pools = {query: {passage for row in judged if row.query == query for passage in (row.a, row.b)} for query in votes}
    groups = by_size({query: pool for query, pool in pools.items() if pool}, judged)
    judging = learn(groups)
    probabilities: dict[tuple[str, tuple[str, str]], float] = {}
    for group in groups:
        for query, pool in group.pools.items():
            alone = SizedPools(group.size, {query: pool}, group.counts[[list(group.pools).index(query)]])
            own_pairs = [pair for other, pair, _, _ in requested if other == query]
            for a, b in own_pairs:
                rivals = np.array([[pool.index(a), pool.index(b)]])
                probabilities[query, (a, b)] = float(better_chances(alone, rivals, judging)[0])
    logs: dict[str, list[float]] = {"posterior": [], "again": []}
    rate = judging.error_rate
    for query, (a, b), first, others in requested:
        for preferred in others:
            better = probabilities[query, (a, b)]
            chance = better * (1 - rate) + (1 - better) * rate
            logs["posterior"].append(-math.log(chance if preferred == a else 1 - chance))
            logs["again"].append(-math.log(1 - 0.3 if preferred == first else 0.3))
    assert np.mean(logs["posterior"]) < np.mean(logs["again"])

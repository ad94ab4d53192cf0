"""What more judgments would settle: by what must hold, and by asking simulated people."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import by_size
from evaluation.judging.posterior import Judging, Strengths, best_chances, given
from evaluation.judging.rounds import Settings, replay_all
from evaluation.statistics.asking import JUDGMENTS, settling_prospects
from evaluation.statistics.confidence_sets import confidence_set


def judged(query: str, order: str, times: int = 1) -> list[Preference]:
    return [Preference(query, a, b, a) for a, b in combinations(order, 2) for _ in range(times)]


def test_only_pairs_of_the_set_are_asked_and_only_of_queries_that_are_open() -> None:
    pools = {"p": "abcd", "q": "ab", "r": "ab"}
    rows = [*judged("p", "abcd"), *judged("p", "ab"), *judged("q", "ab", 5), *judged("r", "ab")]
    sets = {"p": ["a", "b", "c"], "q": ["a"], "r": ["a", "b"]}
    prospects = settling_prospects(pools, rows, sets, judging=given(0.2))
    assert list(prospects) == ["p", "r"] and list(prospects["p"]) == list(JUDGMENTS)
    # a against b has two judgments, the other pairs of the set one, and those of d are not asked about.
    lacking = {count: prospect.lacking for count, prospect in prospects["p"].items()}
    assert lacking == {3: {1: 1, 2: 2}, 5: {3: 1, 4: 2}, 7: {5: 1, 6: 2}}
    for prospect in prospects["p"].values():
        assert prospect.chances == sorted(prospect.chances) and 0 <= prospect.chances[0] <= prospect.chances[-1] <= 1


def test_more_judgments_settle_more_where_people_are_right_and_nothing_where_they_guess() -> None:
    pools = {f"q{number:02}": "ab" for number in range(60)}
    rows = [row for query in pools for row in judged(query, "ab")]
    sets = dict.fromkeys(pools, "ab")

    def settled(rate: float) -> list[float]:
        prospects = settling_prospects(pools, rows, sets, judging=given(rate))
        return [float(np.mean([prospects[query][count].chances[0] for query in pools])) for count in JUDGMENTS]

    right = settled(0.2)
    assert settled(0.1)[0] > right[0] > settled(0.35)[0] and min(right) > 0.4
    assert max(settled(0.5)) < 0.05
    assert settled(0.2) == right  # seeded


@pytest.mark.parametrize(
    ("in_rounds", "is_order", "size", "count"),
    [
        pytest.param(False, True, 3, 7, id="all pairs, an order"),
        pytest.param(True, True, 8, 5, id="rounds, an order"),
        pytest.param(True, False, 9, 5, id="rounds, strengths"),
    ],
)
def test_as_many_queries_are_settled_as_was_expected(in_rounds: bool, is_order: bool, size: int, count: int) -> None:
    """Simulated people judge once, or as rounds ask them; then the pairs of the sets, or of the finals, are asked."""
    judging = given(0.2) if is_order else Judging({Strengths(1.4, 0.1): 1.0})
    expected = settled = 0.0
    for seed in range(50):
        random = np.random.default_rng(seed)
        strengths = random.normal(0, 1.4, (10, size))
        pools = {f"q{number:02}": tuple(f"p{place:02}" for place in range(size)) for number in range(10)}

        def ask(query: str, a: str, b: str, random: Any = random, strengths: Any = strengths) -> Preference:
            apart = np.subtract(*(strengths[int(query[1:]), int(passage[1:])] for passage in (a, b)))
            chance = (0.8 if apart > 0 else 0.2) if is_order else 0.05 + 0.9 / (1 + np.exp(-apart))
            return Preference(query, a, b, a if random.random() < chance else b)

        rows, finals = list[Preference](), None
        if in_rounds:
            outcomes = replay_all(pools, rows, Settings(3, 5))
            while requests := [(query, *pair) for query in outcomes for pair in outcomes[query].requests]:
                rows += [ask(*request) for request in requests]
                outcomes = replay_all(pools, rows, Settings(3, 5))
            finals = {query: outcome.playing for query, outcome in outcomes.items()}
        else:
            rows += [ask(query, *pair) for query, pool in pools.items() for pair in combinations(pool, 2)]

        def sets_of(rows: list[Preference], pools: Any = pools) -> dict[str, list[str]]:
            (group,) = by_size(pools, rows)
            rows_of_pools = zip(group.pools.items(), best_chances(group, judging).tolist(), strict=True)
            return {query: confidence_set(dict(zip(pool, row, strict=True))) for (query, pool), row in rows_of_pools}

        sets = sets_of(rows)
        prospects = settling_prospects(pools, rows, sets, judging=judging, judgments=(count,), finals=finals, seed=seed)
        expected += sum(by_count[count].chances[0] for by_count in prospects.values())
        times = Counter((row.query, *sorted((row.a, row.b))) for row in rows)
        for query in prospects:
            among = {*sets[query]} if finals is None else {*sets[query]} & {*finals[query]}
            pairs = [(query, *pair) for pair in combinations(sorted(among), 2)]
            assert sum(k * n for k, n in prospects[query][count].lacking.items()) == sum(
                count - times[pair] for pair in pairs
            )
            rows += [ask(*pair) for pair in pairs for _ in range(count - times[pair])]
        after = sets_of(rows)
        settled += sum(len(after[query]) == 1 for query in prospects)
    assert settled > 40 and 0.8 <= expected / settled <= 1.25

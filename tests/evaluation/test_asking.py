"""What more judgments would settle: by what must hold, and by asking simulated people."""

from itertools import combinations

import numpy as np
import pytest

from evaluation.files.preferences import Preference
from evaluation.judging.rounds import Settings, replay_all
from evaluation.statistics.asking import JUDGMENTS, settling_prospects
from evaluation.statistics.certainty import certainty, confidence_set


def judged(query: str, order: str, times: int = 1) -> list[Preference]:
    return [Preference(query, a, b, a) for a, b in combinations(order, 2) for _ in range(times)]


def test_only_pairs_of_the_set_are_asked_and_only_of_queries_that_are_open() -> None:
    pools = {"p": "abcd", "q": "ab", "r": "ab"}
    rows = [*judged("p", "abcd"), *judged("p", "ab"), *judged("q", "ab", 5), *judged("r", "ab")]
    chances = {query: dict.fromkeys(pool, 1 / len(pool)) for query, pool in pools.items()}
    prospects = settling_prospects(chances, rows, {"p": ["a", "b", "c"], "q": ["a"], "r": ["a", "b"]}, error_rate=0.2)
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
        chances = {query: {"a": 1 - rate, "b": rate} for query in pools}
        prospects = settling_prospects(chances, rows, sets, error_rate=rate)
        return [float(np.mean([prospects[query][count].chances[0] for query in pools])) for count in JUDGMENTS]

    right = settled(0.2)
    assert settled(0.1)[0] > right[0] > settled(0.35)[0] and min(right) > 0.4
    assert max(settled(0.5)) < 0.05
    assert settled(0.2) == right  # seeded


@pytest.mark.parametrize("count", [3, 7])
def test_as_many_queries_are_settled_as_was_expected(count: int) -> None:
    """Simulated people who err at a known rate judge once; then the pairs of the sets are asked again."""
    rate, random = 0.2, np.random.default_rng(5)
    pools = {f"q{number:03}": "abc" for number in range(400)}

    def ask(query: str, a: str, b: str) -> Preference:  # in the order of the alphabet, a is better
        return Preference(query, a, b, a if random.random() > rate else b)

    rows = [ask(query, a, b) for query, pool in pools.items() for a, b in combinations(pool, 2)]
    before = certainty(pools, rows, error_rate=rate).chances
    sets = {query: confidence_set(chances) for query, chances in before.items()}
    prospects = settling_prospects(before, rows, sets, error_rate=rate)
    assert len(prospects) > 200
    expected = sum(prospect[count].chances[0] for prospect in prospects.values())
    pairs = [(query, *pair) for query in prospects for pair in combinations(sorted(sets[query]), 2)]
    more = [ask(*pair) for pair in pairs for _ in range(count - 1)]
    after = certainty(pools, [*rows, *more], error_rate=rate).chances
    settled = sum(len(confidence_set(after[query])) == 1 for query in prospects)
    assert expected == pytest.approx(settled, abs=0.12 * len(prospects))


def test_in_rounds_only_pairs_of_finals_are_asked_about() -> None:
    rate, random, settings = 0.2, np.random.default_rng(5), Settings(3, 5)
    pools = {f"q{number:02}": [f"p{place:02}" for place in range(10)] for number in range(80)}

    def ask(query: str, a: str, b: str) -> Preference:  # in the order of the alphabet, a is better
        return Preference(query, a, b, min(a, b) if random.random() > rate else max(a, b))

    rows: list[Preference] = []
    while requests := [
        (query, *pair) for query, outcome in replay_all(pools, rows, settings).items() for pair in outcome.requests
    ]:
        rows += [ask(*request) for request in requests]
    ended = replay_all(pools, rows, settings)
    best = {query: status.winners for query, status in ended.items()}
    finals = {query: status.playing for query, status in ended.items()}
    before = certainty(pools, rows, error_rate=rate, best=best).chances
    sets = {query: confidence_set(chances) for query, chances in before.items()}
    prospects = settling_prospects(before, rows, sets, error_rate=rate, judgments=(5,), finals=finals)
    pairs = [
        (query, *pair) for query in prospects for pair in combinations(sorted({*sets[query]} & {*finals[query]}), 2)
    ]
    assert any(not {*passages} <= {*finals[query]} for query, passages in sets.items()), (
        "somebody who is out may be the best"
    )
    assert sum(sum(prospect[5].lacking.values()) for prospect in prospects.values()) == len(pairs)

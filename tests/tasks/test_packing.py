"""How pairs become HITs: every pair once, one query's pairs apart, test pairs dealt evenly, the same from a seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.packing import PackedItem, TooFewTests, hit_count, pack, pick_apart

SIZES = st.lists(st.integers(1, 15), min_size=1, max_size=40)


def groups(sizes: list[int]) -> list[list[int]]:
    """Queries with so many pairs each, numbered through."""
    start = 0
    ranges = []
    for size in sizes:
        ranges.append(list(range(start, start + size)))
        start += size
    return ranges


def pairs_in(hits: list[list[PackedItem]]) -> list[int]:
    return [item.pair for hit in hits for item in hit if item.pair is not None]


@given(SIZES, st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 4))
def test_every_pair_stands_in_exactly_one_hit(sizes: list[int], seed: int, pairs: int, tests: int) -> None:
    hits = pack(groups(sizes), range(1000, 1010), seed=seed, pairs_per_hit=pairs, tests_per_hit=tests)
    assert sorted(pairs_in(hits)) == list(range(sum(sizes)))
    assert len(hits) == hit_count(sum(sizes), pairs)
    for hit in hits[:-1]:
        assert sum(item.pair is not None for item in hit) == pairs


@given(SIZES, st.integers(0, 2**32))
def test_every_hit_has_different_test_pairs_and_all_are_used_alike(sizes: list[int], seed: int) -> None:
    hits = pack(groups(sizes), range(7), seed=seed, tests_per_hit=3)
    for hit in hits:
        tests = [item.test for item in hit if item.test is not None]
        assert len(tests) == len(set(tests)) == 3
    uses = Counter(item.test for hit in hits for item in hit if item.test is not None)
    assert max(uses.values()) - min(uses.get(test, 0) for test in range(7)) <= 1


@given(SIZES, st.integers(0, 2**32))
def test_pairs_of_one_query_are_spread_as_widely_as_there_are_hits(sizes: list[int], seed: int) -> None:
    queries = groups(sizes)
    hits = pack(queries, range(3), seed=seed)
    query_of = {pair: number for number, query in enumerate(queries) for pair in query}
    for hit in hits:
        together = Counter(query_of[item.pair] for item in hit if item.pair is not None)
        for query, count in together.items():
            # the last, short HIT is passed over once it is full, so neighbours may meet one HIT earlier
            assert count <= -(-sizes[query] // max(1, len(hits) - 1))


def test_the_same_seed_gives_the_same_hits_and_another_seed_others() -> None:
    queries = groups([10] * 20)
    assert pack(queries, range(9), seed=5) == pack(queries, range(9), seed=5)
    assert pack(queries, range(9), seed=5) != pack(queries, range(9), seed=6)


def test_sides_and_places_are_random() -> None:
    hits = pack(groups([10] * 200), range(9), seed=1)
    items = [item for hit in hits for item in hit]
    assert 0.45 < sum(item.a_left for item in items) / len(items) < 0.55
    for position in range(13):
        assert 0.12 < sum(hit[position].test is not None for hit in hits) / len(hits) < 0.36


def test_the_last_hit_is_short_unless_it_is_to_be_filled() -> None:
    short = pack(groups([23]), range(3), seed=1)
    assert [sum(item.pair is not None for item in hit) for hit in short] == [10, 10, 3]
    filled = pack(groups([23]), range(3), seed=1, fill_last=True)
    assert [sum(item.pair is not None for item in hit) for hit in filled] == [10, 10, 10]
    last = [item.pair for item in filled[-1] if item.pair is not None]
    assert len(set(last)) == 10


def test_fewer_test_pairs_than_a_hit_holds_are_refused() -> None:
    with pytest.raises(TooFewTests, match="2 test pairs without a common passage, where a HIT holds 3"):
        pack(groups([4]), range(2), seed=1)


def test_nothing_to_judge_makes_no_hits() -> None:
    assert pack([], range(3), seed=1) == []


def test_a_hit_never_shows_a_passage_in_two_test_pairs() -> None:
    passages = {test: {f"relevant {test}", f"off topic {test // 2}"} for test in range(12)}
    hits = pack(groups([10] * 40), range(12), seed=3, passages=passages)
    for hit in hits:
        ids = [passage for item in hit if item.test is not None for passage in passages[item.test]]
        assert len(ids) == len(set(ids)) == 6
    uses = Counter(item.test for hit in hits for item in hit if item.test is not None)
    assert max(uses.values()) - min(uses[test] for test in range(12)) <= 3


@given(st.lists(st.sets(st.integers(0, 6), min_size=2, max_size=2), min_size=3, max_size=9), st.integers(0, 2**32))
def test_test_pairs_that_share_passages_are_parted_or_refused(shared: list[set[int]], seed: int) -> None:
    passages = dict(enumerate(shared))
    tests = list(passages)
    if len(pick_apart(tests, passages)) < 3:
        with pytest.raises(TooFewTests):
            pack(groups([30]), tests, seed=seed, passages=passages)
        return
    for hit in pack(groups([30]), tests, seed=seed, passages=passages):
        ids = [passage for item in hit if item.test is not None for passage in passages[item.test]]
        assert len(ids) == len(set(ids))

"""How pairs and test pairs become HITs: a pure function of its inputs and a seed."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple


class PackedItem(NamedTuple):
    """One item of a HIT: the key of a pair or of a test pair, and whether its first passage stands on the left."""

    pair: int | None
    test: int | None
    a_left: bool


class TooFewTests(ValueError):
    """There are fewer test pairs than one HIT holds."""


def pack(
    pairs_by_query: Sequence[Sequence[int]],
    tests: Sequence[int],
    *,
    seed: int,
    pairs_per_hit: int = 10,
    tests_per_hit: int = 3,
    fill_last: bool = False,
) -> list[list[PackedItem]]:
    """HITs of `pairs_per_hit` pairs and `tests_per_hit` different test pairs, in random order with random sides.

    Every pair stands in exactly one HIT, and the pairs of one query are spread as widely as there are HITs. The last
    HIT may be short; with `fill_last` it is filled with pairs of other HITs. Test pairs are dealt from shuffled
    decks, so that each is used as often as the others, give or take one.

    The same arguments give the same HITs. Raises TooFewTests if there are fewer than `tests_per_hit` test pairs.
    """
    if len(tests) < tests_per_hit:
        raise TooFewTests(f"{len(tests)} test pairs, where a HIT holds {tests_per_hit} different ones")
    random = Random(seed)
    pairs = _shuffled_by_query(pairs_by_query, random)
    if not pairs:
        return []
    hits = _deal(pairs, pairs_per_hit)
    if fill_last and len(hits) > 1:
        elsewhere = [pair for hit in hits[:-1] for pair in hit]
        hits[-1] += random.sample(elsewhere, pairs_per_hit - len(hits[-1]))
    deck = _Deck(tests, random)
    packed = []
    for hit in hits:
        items = [PackedItem(pair, None, random.random() < 0.5) for pair in hit]
        items += [PackedItem(None, test, random.random() < 0.5) for test in deck.draw(tests_per_hit)]
        random.shuffle(items)
        packed.append(items)
    return packed


def hit_count(pairs: int, pairs_per_hit: int) -> int:
    """How many HITs `pack` makes of so many pairs."""
    return -(-pairs // pairs_per_hit)


def _shuffled_by_query(pairs_by_query: Sequence[Sequence[int]], random: Random) -> list[int]:
    groups = [list(group) for group in pairs_by_query]
    random.shuffle(groups)
    for group in groups:
        random.shuffle(group)
    return [pair for group in groups for pair in group]


def _deal(pairs: Sequence[int], pairs_per_hit: int) -> list[list[int]]:
    """Deal pairs as cards, one to each HIT in turn, so that neighbours (one query's pairs) part."""
    count = hit_count(len(pairs), pairs_per_hit)
    last = len(pairs) - (count - 1) * pairs_per_hit
    hits: list[list[int]] = [[] for _ in range(count)]
    cards = iter(pairs)
    for turn in range(pairs_per_hit):
        for hit in hits if turn < last else hits[:-1]:
            hit.append(next(cards))
    return hits


class _Deck:
    """Draws different cards from a shuffled deck, shuffled anew whenever it runs out."""

    def __init__(self, cards: Sequence[int], random: Random) -> None:
        self.cards = cards
        self.random = random
        self.left: list[int] = []

    def draw(self, count: int) -> list[int]:
        drawn = self.left[:count]
        self.left = self.left[count:]
        if len(drawn) < count:
            deck = list(self.cards)
            self.random.shuffle(deck)
            fresh = [card for card in deck if card not in drawn][: count - len(drawn)]
            self.left = [card for card in deck if card not in fresh]
            drawn += fresh
        return drawn

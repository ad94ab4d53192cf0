"""How pairs and test pairs become HITs: a pure function of its inputs and a seed."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from random import Random
from typing import NamedTuple

# In how many layouts a HIT is stored at the most. More would balance sides and order no better.
MOST_LAYOUTS = 4


class PackedItem(NamedTuple):
    """One item of a HIT: the key of a pair or of a test pair, and whether its first passage is shown on the left."""

    pair: int | None
    test: int | None
    a_left: bool


class TooFewTests(ValueError):
    """There are fewer test pairs without a passage in common than one HIT holds."""


# The passages of each test pair, by the test pair's key. One that is not there shares none with others.
Passages = Mapping[int, Collection[Hashable]]


def pack(
    pairs_by_query: Sequence[Sequence[int]],
    tests: Sequence[int],
    *,
    seed: int,
    pairs_per_hit: int = 10,
    tests_per_hit: int = 3,
    fill_last: bool = False,
    passages: Passages | None = None,
) -> list[list[PackedItem]]:
    """HITs of `pairs_per_hit` pairs and `tests_per_hit` different test pairs, in random order with random sides.

    Every pair is in exactly one HIT, and the pairs of one query are spread as widely as there are HITs. The last
    HIT may be short; with `fill_last` it is filled with pairs of other HITs. Test pairs are dealt from shuffled
    decks, so that each is used as often as the others, give or take one. A HIT never holds two test pairs that share
    one of their `passages`: where some do, a few may be used somewhat more often than others.

    The same arguments give the same HITs. Raises TooFewTests if there are fewer than `tests_per_hit` test pairs that
    share no passage.
    """
    apart = pick_apart(tests, passages or {})
    if len(apart) < tests_per_hit:
        raise TooFewTests(f"{len(apart)} test pairs without a common passage, where a HIT holds {tests_per_hit}")
    random = Random(seed)
    pairs = _shuffled_by_query(pairs_by_query, random)
    if not pairs:
        return []
    hits = _deal(pairs, pairs_per_hit)
    if fill_last and len(hits) > 1:
        elsewhere = [pair for hit in hits[:-1] for pair in hit]
        hits[-1] += random.sample(elsewhere, pairs_per_hit - len(hits[-1]))
    deck = _Deck(tests, passages or {}, apart, random)
    packed = []
    for hit in hits:
        items = [PackedItem(pair, None, random.random() < 0.5) for pair in hit]
        items += [PackedItem(None, test, random.random() < 0.5) for test in deck.draw(tests_per_hit)]
        random.shuffle(items)
        packed.append(items)
    return packed


def lay_out(hit: Sequence[PackedItem], layouts: int, *, seed: str) -> list[list[PackedItem]]:
    """A HIT as it is shown to several workers: as it was packed first, then each time in another random order.

    Every second layout mirrors the sides of the one before, so that a liking for one side speaks as often for a passage
    as against it; the others have fresh random sides. The same arguments give the same layouts.
    """
    random = Random(seed)
    orders = [list(hit)]
    for number in range(1, layouts):
        items = [item._replace(a_left=not item.a_left if number % 2 else random.random() < 0.5) for item in orders[-1]]
        random.shuffle(items)
        orders.append(items)
    return orders


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


def pick_apart(tests: Sequence[int], passages: Passages) -> list[int]:
    """Test pairs of which no two share a passage: as many as taking those with the fewest clashes first finds."""
    holders: dict[Hashable, list[int]] = {}
    for test in tests:
        for passage in passages.get(test, ()):
            holders.setdefault(passage, []).append(test)
    clashes = {test: {other for p in passages.get(test, ()) for other in holders[p]} - {test} for test in tests}
    apart: list[int] = []
    out: set[int] = set()
    for test in sorted(tests, key=lambda test: len(clashes[test])):
        if test not in out:
            apart.append(test)
            out |= clashes[test]
    return apart


class _Deck:
    """Draws cards that do not clash from a shuffled deck, shuffled anew whenever it runs out."""

    def __init__(self, cards: Sequence[int], passages: Passages, apart: Sequence[int], random: Random) -> None:
        self.cards = cards
        self.passages = passages
        self.apart = apart
        self.random = random
        self.left: list[int] = []

    def draw(self, count: int) -> list[int]:
        drawn: list[int] = []
        self.left = self._take(drawn, count, self.left)
        if len(drawn) < count:
            deck = list(self.cards)
            self.random.shuffle(deck)
            self.left += self._take(drawn, count, deck)
        if len(drawn) < count:  # what was drawn first leaves no room for enough others
            return self.random.sample(self.apart, count)
        return drawn

    def _take(self, drawn: list[int], count: int, cards: Sequence[int]) -> list[int]:
        """Move cards to `drawn` until it has `count`; gives the rest, in its order."""
        rest = []
        for card in cards:
            if len(drawn) < count and not self._clashes(card, drawn):
                drawn.append(card)
            else:
                rest.append(card)
        return rest

    def _clashes(self, card: int, drawn: Sequence[int]) -> bool:
        mine = set(self.passages.get(card, ()))
        return any(card == other or not mine.isdisjoint(self.passages.get(other, ())) for other in drawn)

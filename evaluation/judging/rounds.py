"""Staged elimination: a few partners for each passage, round after round, then a final of all pairs among the rest.

A tournament of n passages asks n(n-1)/2 pairs; rounds ask about n times K, so pools can be deep (Yan et al., SIGIR
2022; Clarke's prefj). Rounds are a function of the pool, the judgments in the order that they were made, and the
settings. Nothing else is remembered, so whoever derives them again gets the same requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference
from evaluation.judging.tournament import Judged, Judgment, Tied, most_wins

Request = tuple[str, str]
Ints = NDArray[np.int64]

_ROUNDING = 1e-9  # a difference of wins and losses that is only the rounding of thirds, fifths, ...


@dataclass(frozen=True)
class Settings:
    """`partners` (K): with how many others each passage is compared in a round. `finalists` (F): at most so many are
    compared pair by pair. `seed`: of the drawing of partners. Raises ValueError where one is below 1, the seed below 0.
    """

    partners: int = 7
    finalists: int = 9
    seed: int = 0

    def __post_init__(self) -> None:
        if self.partners < 1 or self.finalists < 1 or self.seed < 0:
            raise ValueError("partners and finalists from 1 on are needed, and a seed from 0 on")

    def is_full(self, size: int) -> bool:
        """Whether a pool of this size is a tournament from the start: rounds would ask about K pairs for each passage,
        and a tournament asks no more.
        """
        return size <= max(self.finalists, 2 * self.partners + 1)


# By name: the usual, and the cheaper one.
PRESETS = {"K7F9": Settings(7, 9), "K5F9": Settings(5, 9)}


@dataclass(frozen=True)
class Status:
    """How far the rounds of one pool have come.

    `round`: the open one, from 1, or the last; 0 where there is nothing to compare. `playing`: who is left, sorted.
    `requests`: pairs of the open round that nobody has judged, left and right as they are to be shown. `pairs_asked`:
    pairs of all rounds until now, these included, each counted once. `sizes`: how many played in each round.
    `unsettled`: whether a round kept everybody or nobody, so that its passages went to the final as they were.
    `winners`: empty while requests are open. `begun`: who played in each round, sorted.
    """

    round: int
    playing: tuple[str, ...]
    requests: tuple[Request, ...]
    pairs_asked: int
    sizes: tuple[int, ...]
    is_final: bool
    unsettled: bool
    winners: frozenset[str]
    begun: tuple[tuple[str, ...], ...] = ()

    @property
    def is_done(self) -> bool:
        return not self.requests


def replay(
    query: str,
    pool: Collection[str],
    preferences: Iterable[Preference],
    settings: Settings,
    begun: Sequence[Collection[str]] = (),
) -> Status:
    """Replay the rounds of a pool. The preferences are those of its query, the earliest first.

    A round is closed once each of its pairs has a judgment. Who won more than half against their partners stays; where
    a pair was judged several times, each judgment has an equal share in it. What comes in after that does not open the
    round again: it counts in later rounds, if both passages are left. A pair that was judged before, in whatever round
    or without having been asked for, is not asked for again. In the final, all judgments of its passages count, and all
    that have the most wins are the winners (`most_wins`), as in prefj: most of them were compared only once, so another
    tournament among them would decide by a judgment or two. Judgments may come in any order within a round; over the
    whole, order matters only for pairs that were judged more than once.

    `begun` is who played in the rounds that have begun, as a status said it: these stay as they are, whatever was
    judged or taken back since, and the last of them is closed with all judgments there are, in any order.

    Raises UnknownPassage if a judgment or a round names a passage outside the pool.
    """
    passages = tuple(sorted(set(pool)))
    judged = _Judged(passages, preferences)
    if len(passages) < 2:
        return Status(0, passages, (), 0, (), True, False, frozenset(passages))
    fixed = [_places(passages, names) for names in begun]
    playing = np.arange(len(passages))
    is_asked = np.zeros(len(passages) ** 2, dtype=bool)
    sizes: list[int] = []
    played: list[tuple[str, ...]] = []
    closed = judged.count if fixed else 0  # so many judgments had come when the latest round was closed
    unsettled = False
    is_final = settings.is_full(len(passages))
    while True:
        sizes.append(len(playing))
        names = [passages[at] for at in playing.tolist()]
        played.append(tuple(names))
        partners = len(names) - 1 if is_final else settings.partners
        left, right = playing[_drawn(query, len(sizes), names, partners, settings.seed)]
        pairs = np.minimum(left, right) * len(passages) + np.maximum(left, right)
        is_asked[pairs] = True
        come = judged.come[pairs]
        if len(sizes) < len(fixed):
            unsettled = len(fixed[len(sizes)]) == len(playing)
            playing = fixed[len(sizes)]
            is_final = unsettled or len(playing) <= settings.finalists
            continue
        is_open = come > judged.count
        requests: tuple[Request, ...] = ()
        if is_open.any():
            requests = _named(passages, left[is_open], right[is_open])
        winners: frozenset[str] = frozenset()
        if not requests and is_final:
            winners = most_wins(names, judged.among(names))
        elif not requests:
            closed = max(closed, int(come.max()))
            kept_passages = judged.kept(pairs, closed)
            unsettled = not 0 < len(kept_passages) < len(playing)
            playing = playing if unsettled else kept_passages
            is_final = unsettled or len(playing) <= settings.finalists
            if len(playing) > 1:
                continue
            names = [passages[at] for at in playing.tolist()]
            winners = frozenset(names)
        return Status(
            len(sizes), tuple(names), requests, int(is_asked.sum()), tuple(sizes), is_final, unsettled, winners,
            tuple(played),
        )  # fmt: skip


def _places(passages: Sequence[str], names: Iterable[str]) -> Ints:
    """Where these stand among the sorted passages."""
    index = {passage: at for at, passage in enumerate(passages)}
    try:
        return np.array(sorted(index[name] for name in names), dtype=np.int64)
    except KeyError as error:
        raise UnknownPassage(error.args[0]) from None


def replay_all(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    settings: Settings,
    begun: Mapping[str, Sequence[Collection[str]]] | None = None,
) -> dict[str, Status]:
    """How far each query has come, in the order of the pools. Raises UnknownPassage as `replay` does."""
    judged: dict[str, list[Preference]] = {query: [] for query in pools}
    for preference in preferences:
        try:
            judged[preference[0]].append(preference)
        except KeyError:
            raise UnknownPassage(preference.a) from None
    begun = begun or {}
    return {query: replay(query, pool, judged[query], settings, begun.get(query, ())) for query, pool in pools.items()}


def draw(query: str, number: int, playing: Collection[str], partners: int, seed: int) -> list[Request]:
    """The pairs of a round: each passage with so many others, or with all others where there are fewer.

    The passages are put on a circle in an order that follows from the seed, the query, the number of the round and
    themselves, and each is compared with its nearest neighbors on both sides. So all have equally many partners, but
    for one who has one more where the count would be odd, and stand about as often on the left as on the right.
    """
    names = sorted(playing)
    return list(_named(names, *_drawn(query, number, names, partners, seed)))


def _named(passages: Sequence[str], left: Ints, right: Ints) -> tuple[Request, ...]:
    names = np.array(passages, dtype=object)
    return tuple(zip(names[left].tolist(), names[right].tolist(), strict=True))


def _drawn(query: str, number: int, names: Sequence[str], partners: int, seed: int) -> Ints:
    """As `draw`: [2 x pairs], left and right, as indexes into the sorted names."""
    size = len(names)
    # Not by a generator of numpy, whose next version may draw otherwise while a round is open.
    mixed = shake_256("\t".join((str(seed), str(number), query, *names)).encode()).digest(8 * size)
    circle = np.frombuffer(mixed, dtype=">u8").argsort(kind="stable")
    drawn: Ints = circle[_pattern(size, min(partners, size - 1))]
    return drawn


@cache
def _pattern(size: int, partners: int) -> Ints:
    """As `draw`: [2 x pairs], left and right, as positions on the circle."""
    here, half = np.arange(size), size // 2
    left = [here] * (partners // 2)
    right = [(here + distance) % size for distance in range(1, partners // 2 + 1)]
    if partners % 2 and size % 2:  # every other step of a walk that meets everybody once, and the first of them again
        walk = np.arange(size + 1) * half % size
        left, right = [*left, walk[::2]], [*right, walk[1::2]]
    elif partners % 2:
        turned = here[:half] % 2 * half
        left, right = [*left, here[:half] + half - turned], [*right, here[:half] + turned]
    return np.array([np.concatenate(left), np.concatenate(right)]) if left else np.zeros((2, 0), dtype=np.int64)


class _Judged:
    """The judgments of a pool, by pairs of indexes into its sorted passages: the smaller index times their number, plus
    the greater.
    """

    def __init__(self, passages: Sequence[str], preferences: Iterable[Preference]) -> None:
        self._preferences = list(preferences)
        index = {passage: at for at, passage in enumerate(passages)}
        self.count, self._size = len(self._preferences), len(passages)
        columns: Sequence[tuple[Any, ...]] = list(zip(*self._preferences, strict=True)) or [()] * 4
        _, a, b, preferred = columns
        try:
            first = np.fromiter(map(index.__getitem__, a), np.int64, self.count)
            second = np.fromiter(map(index.__getitem__, b), np.int64, self.count)
        except KeyError as error:
            raise UnknownPassage(error.args[0]) from None
        # Of each judgment: 1 if the passage of the smaller index won, -1 if the other, 0 for a tie.
        best = np.fromiter(map(index.get, preferred, repeat(-1)), np.int64, self.count)
        low, high = np.minimum(first, second), np.maximum(first, second)
        self._pairs = low * self._size + high
        self._values = (best == low).astype(float) - (best == high)
        # By pair, how many judgments had come with the first of it; more than there are where there is none.
        self.come = np.full(self._size**2, self.count + 1)
        self.come[self._pairs[::-1]] = np.arange(self.count, 0, -1)

    def kept(self, pairs: Ints, closed: int) -> Ints:
        """Who won more than half against the partners of these pairs, by so many judgments: indexes, ascending."""
        judged, values = self._pairs[:closed], self._values[:closed]
        times = np.bincount(judged, minlength=self._size**2)[pairs]
        net = np.bincount(judged, weights=values, minlength=self._size**2)[pairs] / times
        balance = np.bincount(pairs // self._size, weights=net, minlength=self._size)
        balance -= np.bincount(pairs % self._size, weights=net, minlength=self._size)
        return np.flatnonzero(balance > _ROUNDING)

    def among(self, names: Collection[str]) -> list[Judgment]:
        """The judgments of two of these passages."""
        left = frozenset(names)
        return [
            Tied(a, b) if preferred is None else Judged(preferred, b if preferred == a else a)
            for _, a, b, preferred in self._preferences
            if a in left and b in left
        ]


def count_full_pairs(size: int) -> int:
    """The pairs of a tournament of so many passages."""
    return size * (size - 1) // 2


def estimate_pairs(size: int, settings: Settings) -> tuple[float, int]:
    """How many pairs the rounds of a pool ask, and in how many rounds, the final among them.

    Expected where passages differ and judgments are right: about half of them stay in each round. Judgments that are
    wrong, or ties, keep a few less or more.
    """
    if size < 2:
        return 0.0, 0
    # With an even number of partners, one in partners + 1 wins exactly half, and is out.
    staying = 0.5 if settings.partners % 2 else 0.5 * settings.partners / (settings.partners + 1)
    left, pairs, rounds = float(size), 0.0, 0
    unmet = 1.0  # the share of the pairs among who is left that no earlier round has asked
    while left > settings.finalists and not settings.is_full(size):
        partners = min(settings.partners, left - 1)
        pairs += unmet * left * partners / 2
        unmet *= 1 - partners / (left - 1)
        left *= staying
        rounds += 1
    if left > 1:
        pairs, rounds = pairs + unmet * left * (left - 1) / 2, rounds + 1
    return pairs, rounds

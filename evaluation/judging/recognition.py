"""How well a program that reads nothing could tell test pairs from other pairs.

Each feature is a number that a script can take from what is shown, for one item at a time. `auc` says how well it
separates test pairs from pairs: 0.5 is not at all, 1 is with certainty. Which way round does not matter to a program,
so it is never below 0.5, and with few items it lies a little above 0.5 by chance alone.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Letters and digits; scripts that write no spaces are taken sign by sign.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


LOOKED_AT = 300  # candidates with a fitting share of the question's words whose other features are compared too
COMMON_WEIGHT = 6.0  # what two passages have in common varies about a quarter as much as the share of words
LENGTH_WEIGHT = 0.15
SHINGLE = 3  # words
NEAR_COPY = 0.4  # of the shingles of the shorter passage: what two versions of a text share at least
FEW = 6  # shingles, below which a passage is too short for a share of them to say anything


class ShownItem(NamedTuple):
    """One item as workers see it, and how many HITs hold it."""

    question: str
    first: str
    second: str
    hits: int = 1


class Recognition(NamedTuple):
    """How well one feature tells test pairs from pairs, and the feature's median in both."""

    feature: str
    auc: float
    tests: float
    pairs: float


def split_words(text: str) -> list[str]:
    return _WORD.findall(text)


def words_of(text: str) -> frozenset[str]:
    """The distinct words of a text, without regard to case."""
    return frozenset(split_words(text.casefold()))


def shingles_of(text: str) -> frozenset[tuple[str, ...]]:
    """Every three words that follow each other in a text, without regard to case; of a shorter text, all its words."""
    words = split_words(text.casefold())
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)))


def is_near_copy(first: frozenset[tuple[str, ...]], second: frozenset[tuple[str, ...]]) -> bool:
    """Whether one passage, by its shingles, is another version of the other or largely in it (Broder 1997). A passage
    of fewer than FEW shingles is a copy of an equal one alone.
    """
    shorter = min(len(first), len(second))
    return first == second if shorter < FEW else len(first & second) >= NEAR_COPY * shorter


class Rarity:
    """Weighs words by how few of some passages hold them, as search engines do: common words count next to nothing."""

    def __init__(self, passages: Iterable[frozenset[str]]) -> None:
        count, holding = 0, Counter[str]()
        for words in passages:
            count += 1
            holding.update(words)
        self._weights = {word: max(0.0, math.log((count + 1) / (holders + 0.5))) for word, holders in holding.items()}
        self._unseen = max(0.0, math.log((count + 1) / 0.5))

    def weight(self, word: str) -> float:
        """From 0 (all passages hold it) up."""
        return self._weights.get(word, self._unseen)

    def weights(self, words: Iterable[str]) -> float:
        """The weights of several words, added."""
        weights, unseen = self._weights, self._unseen
        return math.fsum([weights.get(word, unseen) for word in words])  # the same in any order, which sets do not keep

    def share(self, question: frozenset[str], passage: frozenset[str]) -> float:
        """The share of the question's words that the passage holds, from 0 to 1, rare words counting more."""
        whole = self.weights(question)
        return self.weights(question & passage) / whole if whole else 0.0

    def common(self, first: frozenset[str], second: frozenset[str]) -> float:
        """What two passages have in common, from 0 to 1: shared words over all words, rare words counting more."""
        whole = self.weights(first | second)
        return self.weights(first & second) / whole if whole else 0.0


class Features(NamedTuple):
    """What a program can count in one item without understanding it."""

    question_words_worse: float
    question_words_better: float
    words_in_common: float
    length_shorter: float
    length_longer: float
    hits: float


def features_of(item: ShownItem, rarity: Rarity) -> Features:
    """The features of one item. Lengths are in characters."""
    question, first, second = words_of(item.question), words_of(item.first), words_of(item.second)
    shares = sorted((rarity.share(question, first), rarity.share(question, second)))
    lengths = sorted((len(item.first), len(item.second)))
    return Features(shares[0], shares[1], rarity.common(first, second), lengths[0], lengths[1], item.hits)


def recognition(tests: Sequence[ShownItem], pairs: Sequence[ShownItem]) -> list[Recognition]:
    """How well each feature tells `tests` from `pairs`; nothing if there are none of either.

    An item counts once for each HIT that holds it, as a program that opens HITs at random would meet it.
    """
    if not tests or not pairs:
        return []
    rarity = Rarity({words_of(text) for item in (*tests, *pairs) for text in (item.first, item.second)})
    columns = []
    for items in (tests, pairs):
        rows = np.array([features_of(item, rarity) for item in items], dtype=float)
        columns.append(np.repeat(rows, [max(item.hits, 1) for item in items], axis=0))
    return [
        Recognition(
            name,
            auc(columns[0][:, n], columns[1][:, n]),
            float(np.median(columns[0][:, n])),
            float(np.median(columns[1][:, n])),
        )
        for n, name in enumerate(Features._fields)
    ]


def auc(some: ArrayLike, others: ArrayLike) -> float:
    """How often the larger of one of `some` and one of `others` tells which is which; ties count half. 0.5 to 1."""
    first, other = np.asarray(some, float), np.asarray(others, float)
    _values, where, counts = np.unique(np.concatenate([first, other]), return_inverse=True, return_counts=True)
    together = (np.cumsum(counts) - (counts - 1) / 2)[where]  # equal values share their mean rank
    wins = together[: len(first)].sum() - len(first) * (len(first) + 1) / 2
    share = float(wins / (len(first) * len(other)))
    return max(share, 1 - share)


class Candidate(NamedTuple):
    """A passage that may become the off-topic one of a test pair: its key, its words and its length in characters."""

    key: int
    words: frozenset[str]
    length: int


def choose_off_topic(
    question: str, relevant: str, candidates: Sequence[Candidate], model: Features, rarity: Rarity
) -> Candidate | None:
    """The candidate that, beside the relevant passage, is counted most like `model`, a pair's features.

    Candidates that share as many words with the question as the pair's passage does are looked at more closely; None
    if there is no candidate.
    """
    question_words, relevant_words = words_of(question), words_of(relevant)
    whole = rarity.weights(question_words) or 1.0
    shares = {word: rarity.weight(word) / whole for word in question_words}
    target = model.question_words_worse
    if rarity.share(question_words, relevant_words) < (model.question_words_worse + model.question_words_better) / 2:
        target = model.question_words_better
    gaps = (
        (abs(sum([share for word, share in shares.items() if word in candidate.words]) - target), candidate)
        for candidate in candidates
    )
    closest = heapq.nsmallest(LOOKED_AT, gaps, key=lambda gap: (gap[0], gap[1].key))

    def distance(entry: tuple[float, Candidate]) -> tuple[float, int]:
        candidate = entry[1]
        shorter, longer = sorted((len(relevant), candidate.length))
        return (
            entry[0]
            + COMMON_WEIGHT * abs(rarity.common(relevant_words, candidate.words) - model.words_in_common)
            + LENGTH_WEIGHT * abs(math.log((shorter + 1) / (model.length_shorter + 1)))
            + LENGTH_WEIGHT * abs(math.log((longer + 1) / (model.length_longer + 1))),
            candidate.key,
        )

    return min(closest, key=distance)[1] if closest else None

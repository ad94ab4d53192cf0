"""Passages that have the same text under several ids are one candidate; nearly the same ones are worth a look.

Two texts are the same if they differ in nothing but white space and how Unicode writes a character.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from itertools import combinations
from typing import NamedTuple
from uuid import UUID

from evaluation.files.preferences import Pair, Preference
from evaluation.files.qrels import Qrels
from evaluation.judging.recognition import split_words

# Texts are nearly the same if they share this much of their sequences of three words.
NEARLY = 0.8


def normalize_text(text: str) -> str:
    """What equal texts have in common."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def text_key(text: str) -> UUID:
    """A short value that equal texts have in common, and that no two others ever have."""
    return UUID(bytes=blake2b(normalize_text(text).encode(), digest_size=16).digest())


# By query and id, the id that stands for its text. An id that is not there stands for itself.
StandsFor = Mapping[str, Mapping[str, str]]


class Merged(NamedTuple):
    """Pools in which equal texts are one candidate.

    `pools`: one id for each text, the smallest of its pool. `stands_for`: by query and id, the id of the pool that has
    its text. `equal`: by query, the ids of each text that has several, sorted.
    """

    pools: dict[str, tuple[str, ...]]
    stands_for: dict[str, dict[str, str]]
    equal: dict[str, list[tuple[str, ...]]]


def merge_equal(pools: Mapping[str, Collection[str]], texts: Mapping[str, str]) -> Merged:
    """Merge the passages of each pool that have equal texts. One whose text is not known stands for itself."""
    merged: dict[str, tuple[str, ...]] = {}
    stands_for: dict[str, dict[str, str]] = {}
    equal: dict[str, list[tuple[str, ...]]] = {}
    for query, pool in pools.items():
        ids: dict[tuple[bool, str], list[str]] = defaultdict(list)
        for passage in sorted(set(pool)):
            text = texts.get(passage)
            ids[(False, passage) if text is None else (True, normalize_text(text))].append(passage)
        merged[query] = tuple(same[0] for same in ids.values())
        stands_for[query] = {passage: same[0] for same in ids.values() for passage in same}
        if several := [tuple(same) for same in ids.values() if len(same) > 1]:
            equal[query] = several
    return Merged(merged, stands_for, equal)


def judge_merged(merged: Merged, preferences: Iterable[Preference]) -> list[Preference]:
    """Judgments by the ids that stand for their texts, without those of a text against itself."""
    renamed = []
    for row in preferences:
        twins = merged.stands_for.get(row.query, {})
        a, b = twins.get(row.a, row.a), twins.get(row.b, row.b)
        if a != b:
            renamed.append(
                Preference(row.query, a, b, None if row.preferred is None else twins.get(row.preferred, row.preferred))
            )
    return renamed


def name_once(stands_for: StandsFor, lists: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Ranked passages by query, each text once where it comes first, by the id that stands for it."""
    named = {}
    for query, passages in lists.items():
        twins = stands_for.get(query)
        named[query] = (
            tuple(dict.fromkeys(twins.get(passage, passage) for passage in passages)) if twins else (*passages,)
        )
    return named


def relevant_once(stands_for: StandsFor, qrels: Qrels, min_grade: int = 1) -> Qrels:
    """The relevant passages of qrels in the same order, each text once. Queries without any stay."""
    return Qrels(
        {
            query: dict.fromkeys(passages, min_grade)
            for query, passages in name_once(stands_for, qrels.relevant("all", min_grade)).items()
        }
    )


def with_equal_texts(
    qrels: Iterable[tuple[str, str]], texts: Mapping[str, str], ids: Mapping[str, Collection[str]]
) -> list[tuple[str, str]]:
    """Qrels with every id of their texts, sorted: `ids` by normalized text, over as much of a collection as counts."""
    pairs: set[tuple[str, str]] = set()
    for query, passage in qrels:
        text = texts.get(passage)
        pairs.update(
            (query, twin) for twin in {passage, *(ids.get(normalize_text(text), ()) if text is not None else ())}
        )
    return sorted(pairs)


def answers_by_id(
    qrels: Iterable[tuple[str, str]], stands_for: StandsFor, withheld: Collection[tuple[str, str]] = ()
) -> dict[str, tuple[str, ...]]:
    """Derived qrels as they are scored, exported and put into versions: by query, every id of the answers, sorted.

    `withheld`: `(query id, passage id)` of what may not leave. A query with an answer among these is left out as a
    whole, since the rest of its answers would be others.
    """
    answers: dict[str, set[str]] = {}
    held_back = set()
    for query, passage in qrels:
        if (query, passage) in withheld:
            held_back.add(query)
        twins = (twin for twin, candidate in stands_for.get(query, {}).items() if candidate == passage)
        answers.setdefault(query, {passage}).update(
            {passage, *(twin for twin in twins if (query, twin) not in withheld)}
        )
    return {query: tuple(sorted(ids)) for query, ids in answers.items() if query not in held_back}


class Alike(NamedTuple):
    """Two passages of a pool whose texts share so much of their sequences of three words, 1 where all."""

    pair: Pair
    share: float


def nearly_equal(pools: Mapping[str, Collection[str]], texts: Mapping[str, str]) -> list[Alike]:
    """The pairs of passages in a pool that are nearly, but not quite, equal: the most alike first."""
    near_equal = []
    for query, pool in pools.items():
        triples = {passage: _triples(texts[passage]) for passage in sorted(set(pool)) if passage in texts}
        for (a, of_a), (b, of_b) in combinations(triples.items(), 2):
            least, most = sorted((len(of_a), len(of_b)))
            if least < NEARLY * most:  # what they share cannot be enough
                continue
            shared = len(of_a & of_b)
            share = shared / (least + most - shared)
            if share >= NEARLY and normalize_text(texts[a]) != normalize_text(texts[b]):
                near_equal.append(Alike(Pair(query, a, b), share))
    return sorted(near_equal, key=lambda alike: (-alike.share, alike.pair))


def _triples(text: str) -> frozenset[tuple[str, ...]]:
    words = split_words(text.casefold())
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset({tuple(words)})

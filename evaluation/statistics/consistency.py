"""Whether preferences are consistent with each other, and how far runs order passages as people do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from evaluation.files.preferences import Preference
from evaluation.judging.pooling import Tops, canonical

TOP = 10  # of a run, in which both passages of a pair must be

# By query and pair in canonical order, the passage that most judgments prefer; None where as many prefer each.
Outcomes = Mapping[tuple[str, str, str], str | None]


def majorities(preferences: Iterable[Preference]) -> dict[tuple[str, str, str], str | None]:
    """The outcome of every pair that was judged."""
    lead: dict[tuple[str, str, str], int] = defaultdict(int)
    for query, a, b, preferred in preferences:
        pair = (query, *canonical(a, b))
        lead[pair] += 0 if preferred is None else 1 if preferred == pair[1] else -1
    return {pair: None if not own else pair[1] if own > 0 else pair[2] for pair, own in lead.items()}


class Triples(NamedTuple):
    """Three passages of a query of which all three pairs were judged, and decided: how many, and how many of these are
    cycles, a before b before c before a.
    """

    triples: int
    intransitive: int


def intransitive_triples(preferences: Iterable[Preference]) -> Triples:
    """Of the outcomes of pairs, by majority where there are several judgments."""
    beats: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (query, a, b), winner in majorities(preferences).items():
        if winner is not None:
            beats[query][winner].add(b if winner == a else a)
    total, cycles = 0, 0
    for won in beats.values():
        passages = sorted({*won, *(loser for losers in won.values() for loser in losers)})
        for one, two, three in combinations(passages, 3):
            wins = [sum(other in won.get(own, ()) for other in (one, two, three)) for own in (one, two, three)]
            if sum(wins) == 3:
                total += 1
                cycles += wins == [1, 1, 1]
    return Triples(total, cycles)


class OrderAgreement(NamedTuple):
    """How a run orders judged passages.

    `judged`: decided pairs. `both`: those with both passages in its top. `alike`: those of them that it orders as
    people did. `share`: of `both`; None without any.
    """

    run: str
    judged: int
    both: int
    alike: int
    share: float | None


def order_agreement(tops: Mapping[str, Tops], preferences: Iterable[Preference]) -> list[OrderAgreement]:
    """Of each run, given by its top passages. Several judgments of a pair count as their majority; ties do not."""
    decided = {pair: winner for pair, winner in majorities(preferences).items() if winner is not None}
    found = []
    for run, top in tops.items():
        ranks = {query: {passage: rank for rank, passage in enumerate(passages)} for query, passages in top.items()}
        both, alike = 0, 0
        for (query, a, b), winner in decided.items():
            own = ranks.get(query, {})
            if a in own and b in own:
                both += 1
                alike += (a if own[a] < own[b] else b) == winner
        found.append(OrderAgreement(run, len(decided), both, alike, alike / both if both else None))
    return found

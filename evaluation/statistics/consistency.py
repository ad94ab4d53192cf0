"""Whether preferences are consistent with each other, and how far runs order passages as people do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.judging.pooling import Tops, canonical
from evaluation.statistics.resampling import Interval, share_interval

TOP = 10  # of a run, in which both passages of a pair must be
_NOWHERE = -1  # instead of a rank

# By query and pair in canonical order, the passage that most judgments prefer; None where as many prefer each.
Outcomes = Mapping[tuple[str, str, str], str | None]


def majorities(preferences: Iterable[Preference]) -> dict[tuple[str, str, str], str | None]:
    """The outcome of every pair that was judged."""
    lead: dict[tuple[str, str, str], int] = defaultdict(int)
    for query, a, b, preferred in preferences:
        pair = (query, *canonical(a, b))
        lead[pair] += 0 if preferred is None else 1 if preferred == pair[1] else -1
    return {pair: None if not balance else pair[1] if balance > 0 else pair[2] for pair, balance in lead.items()}


class Triples(NamedTuple):
    """Three passages of a query of which all three pairs were judged, and decided: how many, and how many of these are
    cycles, a before b before c before a.
    """

    triples: int
    intransitive: int


def intransitive_triples(preferences: Iterable[Preference]) -> Triples:
    """Of the outcomes of pairs, by majority where there are several judgments."""
    total, cycles = 0.0, 0.0
    for outcomes in _decided(preferences).values():
        row = _numbered(outcomes)
        beats = np.zeros((len(row), len(row)))
        for winner, loser in outcomes:
            beats[row[winner], row[loser]] = 1
        # A closed walk of three steps along decided pairs is a triple, met six times; along wins a cycle, met thrice.
        total += _closed_walks(beats + beats.T) / 6
        cycles += _closed_walks(beats) / 3
    return Triples(round(total), round(cycles))


def _closed_walks(steps: NDArray[np.float64]) -> float:
    return float((steps @ steps * steps.T).sum())


def _numbered(outcomes: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The passages that some outcomes are of, each with a number from 0 on."""
    return {passage: number for number, passage in enumerate(dict.fromkeys(chain.from_iterable(outcomes)))}


def _decided(preferences: Iterable[Preference]) -> dict[str, list[tuple[str, str]]]:
    """By query, the winner and the loser of every pair that is decided."""
    outcomes_of: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (query, a, b), winner in majorities(preferences).items():
        if winner is not None:
            outcomes_of[query].append((winner, b if winner == a else a))
    return outcomes_of


class OrderAgreement(NamedTuple):
    """How a run orders judged passages.

    `judged`: decided pairs. `both`: those with both passages in its top. `alike`: those of them that it orders as
    people did. `share`: of `both`, with its exact 95% `interval`; None without any.
    """

    run: str
    judged: int
    both: int
    alike: int
    share: float | None
    interval: Interval | None


def order_agreement(tops: Mapping[str, Tops], preferences: Iterable[Preference]) -> list[OrderAgreement]:
    """Of each run, given by its top passages. Several judgments of a pair count as their majority; ties do not."""
    decided = _decided(preferences)
    judged = sum(map(len, decided.values()))
    both, alike = np.zeros(len(tops), np.int64), np.zeros(len(tops), np.int64)
    for query, outcomes in decided.items():
        column = _numbered(outcomes)
        ranks = np.full((len(tops), len(column)), _NOWHERE)
        for row, top in enumerate(tops.values()):
            for rank, passage in enumerate(top.get(query, ())):
                if passage in column:
                    ranks[row, column[passage]] = rank
        winners, losers = (ranks[:, [column[passage] for passage in side]] for side in zip(*outcomes, strict=True))
        in_top = (winners != _NOWHERE) & (losers != _NOWHERE)
        both += in_top.sum(axis=1)
        alike += (in_top & (winners < losers)).sum(axis=1)
    return [
        OrderAgreement(run, judged, count, same, same / count if count else None, share_interval(same, count - same))
        for run, count, same in zip(tops, both.tolist(), alike.tolist(), strict=True)
    ]

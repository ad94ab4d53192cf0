"""How far each worker can be relied on, told by where workers judged the same pairs: Dawid–Skene, and MACE.

Dawid and Skene (1979) with one number for each worker, how often they are right, whichever passage is better. MACE
(Hovy, Berg-Kirkpatrick, Vaswani and Hovy, NAACL 2013): a worker answers, or guesses with a habit of their own; here
the habit is a side. Both are fitted by expectation maximization, MACE's with its variational step and priors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.judging.pooling import canonical

# What is believed of a worker before anything is seen: so many right answers, and so many wrong ones.
BELIEVED = (2.0, 1.0)
_ANSWERS, _HABIT = 0.5, 10.0  # MACE's priors
_ROUNDS, _ENOUGH = 500, 1e-6
_BALANCED = 1e-9

Model = Literal["dawid-skene", "mace"]
MODELS: tuple[Model, ...] = ("dawid-skene", "mace")
UNKNOWN = ""  # the worker of a judgment of which nobody knows who made it

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Cast(NamedTuple):
    """A worker's judgment of a pair: `preferred` is a or b. `a` was shown left, as far as anybody knows."""

    query: str
    a: str
    b: str
    worker: str
    preferred: str


class Reliability(NamedTuple):
    """One worker, over the `pairs` that others judged, too; the models' numbers are None where there are none.

    `agreement`: the share of the others' judgments of these pairs that are the worker's. `correct`: how often they are
    right by Dawid–Skene, 0.5 for who answers by chance. `unguessed`: the share of their judgments that are no
    guesses, by MACE.
    """

    pairs: int
    agreement: float | None
    correct: float | None
    unguessed: float | None


class Weight(NamedTuple):
    """What a worker's judgment says for the passage that it prefers, in log odds: above 0 for it, below 0 against it.

    It depends on the side where that passage was shown where a worker's guesses favour a side.
    """

    left: float
    right: float


class _Answering(NamedTuple):
    """MACE's workers: which share of their judgments are no guesses, and the weights of those for left and right."""

    share: Floats
    weights: tuple[Floats, Floats]


class _Votes(NamedTuple):
    """One row for each judgment of a pair that several workers judged."""

    pair: Whole
    worker: Whole
    second: Whole  # 1 where the second passage in canonical order is preferred
    side: Whole  # 1 where it is the one shown right
    pairs: int
    workers: int


def reliabilities(judgments: Iterable[Cast], *, believed: tuple[float, float] = BELIEVED) -> dict[str, Reliability]:
    """By worker, sorted. Of a worker who judged a pair more than once, the last judgment counts.

    The order of workers and pairs does not matter. Numbers are rounded to six places.
    """
    names, votes = _shared(judgments)
    if not votes.pairs:
        return {name: Reliability(0, None, None, None) for name in names}
    judged = _sums(votes.worker, np.ones(len(votes.worker)), votes.workers)
    agreed, compared = _agreed(votes)
    right, answers = _dawid_skene(votes, believed), _mace(votes).share
    return {
        name: Reliability(
            int(judged[at]), *(round(float(value), 6) for value in (agreed[at] / compared[at], right[at], answers[at]))
        )
        if judged[at]
        else Reliability(0, None, None, None)
        for at, name in enumerate(names)
    }


def weights(judgments: Iterable[Cast], model: Model, *, believed: tuple[float, float] = BELIEVED) -> dict[str, Weight]:
    """By worker, sorted, and of `UNKNOWN`: what is believed of somebody who judged nothing that others judged.

    Judgments of unknown workers tell nothing of anybody. Of a worker who judged a pair more than once, the last
    judgment counts. Numbers are rounded to six places.
    """
    names, votes = _shared([cast for cast in judgments if cast.worker != UNKNOWN], UNKNOWN)
    if model == "dawid-skene":
        right = np.clip(_dawid_skene(votes, believed), 1e-12, 1 - 1e-12)
        left_odds = right_odds = np.log(right) - np.log1p(-right)
    else:
        left_odds, right_odds = _mace(votes).weights
    return {
        name: Weight(round(float(left_odds[at]), 6), round(float(right_odds[at]), 6)) for at, name in enumerate(names)
    }


def weigh(judgments: Iterable[Cast], by: Mapping[str, Weight]) -> dict[tuple[str, str, str], str]:
    """The passage for which the judgments weigh more, by `(query, a, b)` in canonical order, sorted: of the pairs on
    which judgments disagree. Pairs on which they weigh the same are left out.
    """
    weights_of_pair: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for query, a, b, worker, preferred in judgments:
        weight = by.get(worker, by[UNKNOWN])
        votes = weights_of_pair.setdefault((query, *canonical(a, b)), {})
        votes.setdefault(preferred, []).append(weight.left if preferred == a else weight.right)
    heavier = {}
    for pair, votes in sorted(weights_of_pair.items()):
        if len(votes) == 2:
            (first, for_one), (other, for_other) = votes.items()
            difference = math.fsum(for_one) - math.fsum(for_other)
            if abs(difference) > _BALANCED:
                heavier[pair] = first if difference > 0 else other
    return heavier


def _shared(judgments: Iterable[Cast], *more: str) -> tuple[list[str], _Votes]:
    """All workers, sorted, with `more`, and the votes on pairs that several of them judged."""
    newest: dict[tuple[str, str, str], dict[str, tuple[int, int]]] = {}
    workers = dict.fromkeys(more, 0)
    for query, a, b, worker, preferred in judgments:
        pair = canonical(a, b)
        newest.setdefault((query, *pair), {})[worker] = (pair.index(preferred), int(preferred == b))
        workers[worker] = 0
    names = sorted(workers)
    return names, _votes({pair: cast for pair, cast in newest.items() if len(cast) > 1}, names)


def _votes(cast: dict[tuple[str, str, str], dict[str, tuple[int, int]]], names: list[str]) -> _Votes:
    index = {name: at for at, name in enumerate(names)}
    rows = [
        (at, index[worker], *vote)
        for at, pair in enumerate(sorted(cast))
        for worker, vote in sorted(cast[pair].items())
    ]
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return _Votes(columns[0], columns[1], columns[2], columns[3], len(cast), len(names))


def _sums(keys: Whole, values: Floats, size: int) -> Floats:
    return np.bincount(keys, weights=values, minlength=size).astype(np.float64)


def _seconds(votes: _Votes) -> tuple[Floats, Floats]:
    """For each pair, how many of its judgments are for the second passage, and how many there are."""
    ones = np.ones(len(votes.pair))
    return _sums(votes.pair, votes.second * ones, votes.pairs), _sums(votes.pair, ones, votes.pairs)


def _agreed(votes: _Votes) -> tuple[Floats, Floats]:
    """For each worker, how many judgments of others on the same pairs are the same, and how many there are."""
    second, every = _seconds(votes)
    same = np.where(votes.second == 1, second[votes.pair], (every - second)[votes.pair]) - 1
    return _sums(votes.worker, same, votes.workers), _sums(votes.worker, every[votes.pair] - 1, votes.workers)


def _chances(votes: _Votes, if_second: Floats, if_first: Floats) -> Floats:
    """P(the second passage is the better one) of each pair, from the logarithms of how likely each judgment is if it
    is, and if it is not.
    """
    odds = _sums(votes.pair, if_second - if_first, votes.pairs)
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))


def _dawid_skene(votes: _Votes, believed: tuple[float, float]) -> Floats:
    """P(right) of each worker."""
    second, every = _seconds(votes)
    chance = second / every
    judged = _sums(votes.worker, np.ones(len(votes.worker)), votes.workers)
    right = np.full(votes.workers, 0.5)
    for _ in range(_ROUNDS):
        before = right
        likelihood = np.where(votes.second == 1, chance[votes.pair], 1 - chance[votes.pair])
        right = (_sums(votes.worker, likelihood, votes.workers) + believed[0]) / np.maximum(
            judged + sum(believed), 1e-12
        )
        sure = np.clip(right, 1e-12, 1 - 1e-12)[votes.worker]
        yes, no = np.log(sure), np.log1p(-sure)
        chance = _chances(votes, np.where(votes.second == 1, yes, no), np.where(votes.second == 1, no, yes))
        if np.abs(right - before).max() < _ENOUGH:
            break
    return right


def _mace(votes: _Votes) -> _Answering:
    """How each worker answers and guesses."""
    from scipy.special import digamma

    second, every = _seconds(votes)
    chance = second / every
    judged = _sums(votes.worker, np.ones(len(votes.worker)), votes.workers)
    answered = np.full(len(votes.worker), 0.5)  # P(no guess) of each judgment, were its passage the better one
    share = np.full(votes.workers, 0.5)
    for _ in range(_ROUNDS):
        before = share
        likelihood = np.where(votes.second == 1, chance[votes.pair], 1 - chance[votes.pair]) * answered
        answers = _sums(votes.worker, likelihood, votes.workers)
        right_side = _sums(votes.worker, (1 - likelihood) * votes.side, votes.workers)
        guesses = judged - answers
        share = (answers + _ANSWERS) / (judged + 2 * _ANSWERS)
        total = digamma(judged + 2 * _ANSWERS)
        knows, guessed = (np.exp(digamma(count + _ANSWERS) - total) for count in (answers, guesses))
        sides = np.stack([guesses - right_side, right_side])
        habit = np.exp(digamma(sides + _HABIT) - digamma(guesses + 2 * _HABIT))
        guess = guessed[votes.worker] * habit[votes.side, votes.worker]
        hit = knows[votes.worker] + guess
        answered = knows[votes.worker] / hit
        yes, no = np.log(hit), np.log(guess)
        chance = _chances(votes, np.where(votes.second == 1, yes, no), np.where(votes.second == 1, no, yes))
        if np.abs(share - before).max() < _ENOUGH:
            break
    left, right = (np.log1p(knows / (guessed * side)) for side in habit)
    return _Answering(share, (left, right))

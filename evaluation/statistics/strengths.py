"""Strengths of passages from judgments: the Bradley–Terry model with ties and a penalty, and 95% intervals.

The model is that of Gienapp et al., Efficient Pairwise Annotation of Argument Quality (ACL 2020), with the ties of
Rao and Kupper (1967). The intervals are those of the profile likelihood, each end as if the passage had one more win,
or loss: so they also hold the truth where there is a single judgment (as Clopper and Pearson's do, 1934).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference

TIE, PENALTY = 0.05, 0.2
_MIDDLE = 1.0  # the strength that the penalty draws towards
_DROP = 1.920729410347063  # half of what 95% of the chi-squared distribution, of one degree of freedom, lie below
_FAR = 50.0  # from the average of the others: an end beyond is none
_NEAR = 1e-5  # a step of Newton's method that is the last: what is left is about its square
_STEPS = 100
_CELLS = 1 << 18  # of the matrices that are solved at once

Floats = NDArray[np.float64]


class Strength(NamedTuple):
    """A passage's strength, on a scale of log odds, and its 95% interval. An end is None where nothing bounds it.

    Of two passages whose strengths differ by d, the first is preferred with about e^d to 1. Strengths of different
    queries cannot be compared, nor those of different groups: no chain of judgments links their passages. The interval
    is that of the distance from the average of the group.
    """

    passage: str
    strength: float
    low: float | None
    high: float | None
    group: int


def fit_strengths(
    preferences: Iterable[Preference], *, tie: float = TIE, penalty: float = PENALTY
) -> dict[str, list[Strength]]:
    """By query, sorted; within it by group, from 1 on, each with the strongest first, equal ones by id.

    With strengths i and j and t = `tie`, i is preferred with probability e^i / (e^i + e^(j + t)), and what is left is a
    tie. `penalty` times (log P(i over 1) + log P(1 over i)), with t = 0, is added to the log likelihood for each
    passage, as if each had so many wins and losses against one of strength 1: so strengths are finite, whoever won
    everything. The order of the judgments does not matter. Raises ValueError where the tie is below 0 or above 10,
    where the penalty is not above 0, and where the tie is 0 and there are ties.
    """
    if not 0 <= tie <= 10:
        raise ValueError(f"tie {tie} where 0 to 10 is needed")
    if not 0 < penalty < float("inf"):
        raise ValueError(f"penalty {penalty} where a number above 0 is needed")
    # By query, how often each passage was not worse than another: a tie has the likelihood of a win of each.
    judged: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for query, a, b, preferred in preferences:
        if preferred is None and not tie:
            raise ValueError("tie 0 where there are ties: the model would call them impossible")
        judged[query][a][b] += preferred in (a, None)
        judged[query][b][a] += preferred in (b, None)
    sized: dict[int, list[tuple[str, int, list[str]]]] = defaultdict(list)
    for query in sorted(judged):
        for number, group in enumerate(_groups(judged[query]), 1):
            sized[len(group)].append((query, number, group))
    strengths: dict[str, list[Strength]] = {query: [] for query in sorted(judged)}
    for size, groups in sized.items():
        at_once = max(1, _CELLS // size**2)
        for begin in range(0, len(groups), at_once):
            batch = groups[begin : begin + at_once]
            won = np.array(
                [[[judged[query][i].get(j, 0) for j in group] for i in group] for query, _, group in batch], float
            )
            for (query, number, group), merits, lows, highs in zip(batch, *_fit(won, tie, penalty), strict=True):
                for passage, merit, low, high in zip(
                    group, merits.tolist(), lows.tolist(), highs.tolist(), strict=True
                ):
                    strengths[query].append(Strength(passage, merit, _bounded(low), _bounded(high), number))
    for of_group in strengths.values():
        of_group.sort(key=lambda strength: (strength.group, -round(strength.strength, 9), strength.passage))
    return strengths


def _bounded(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _groups(judged: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """The passages that judgments link, each group sorted, by its first passage."""
    groups, reached = [], set[str]()
    for first in sorted(judged):
        if first in reached:
            continue
        group, ahead = {first}, [first]
        while ahead:
            new = judged[ahead.pop()].keys() - group
            group |= new
            ahead += new
        reached |= group
        groups.append(sorted(group))
    return groups


class _At(NamedTuple):
    """Of some strengths, the logarithm of the likelihood, its gradient, and its information: its negative curvature."""

    value: Floats
    gradient: Floats
    information: Floats


class _Likelihood:
    """The penalized likelihoods of groups of one size: `won[group, i, j]`, how often i was not worse than j.

    With `contrasts`, one a group, and a side, each group's contrast has one more win on that side.
    """

    def __init__(self, won: Floats, tie: float, penalty: float, contrasts: Floats | None = None, side: int = 0) -> None:
        self.won, self._tie, self._penalty, self._contrasts, self._side = won, tie, penalty, contrasts, side

    def take(self, groups: NDArray[Any]) -> _Likelihood:
        contrasts = self._contrasts[groups] if self._contrasts is not None else None
        return _Likelihood(self.won[groups], self._tie, self._penalty, contrasts, self._side)

    def at(self, merits: Floats) -> _At:
        better = _logistic(merits[:, :, None] - merits[:, None, :] - self._tie)
        above = _logistic(merits - _MIDDLE)
        slopes = self.won * (1 - better)
        value = (self.won * np.log(better)).sum(axis=(1, 2)) + self._penalty * (
            np.log(above) + np.log(_logistic(_MIDDLE - merits))
        ).sum(axis=1)
        gradient = slopes.sum(axis=2) - slopes.sum(axis=1) + self._penalty * (1 - 2 * above)
        bends = slopes * better
        information = -(bends + bends.swapaxes(1, 2))
        each = np.arange(merits.shape[1])
        information[:, each, each] -= information.sum(axis=2) - 2 * self._penalty * above * (1 - above)
        if self._contrasts is not None:
            won = _logistic(self._side * (self._contrasts * merits).sum(axis=1))
            value += np.log(won)
            gradient += (self._side * (1 - won))[:, None] * self._contrasts
            outer = self._contrasts[:, :, None] * self._contrasts[:, None, :]
            information += (won * (1 - won))[:, None, None] * outer
        return _At(value, gradient, information)


def _fit(won: Floats, tie: float, penalty: float) -> tuple[Floats, Floats, Floats]:
    """Strengths and the ends of their intervals, [groups x passages]; an end is infinite where there is none."""
    groups, size, _ = won.shape
    merits, _ = _climb(_Likelihood(won, tie, penalty), np.full((groups, size), _MIDDLE))
    # Of each passage, how far it is from the average of the others, which is less far from the average of all.
    contrasts, scale = np.eye(size) - (1 - np.eye(size)) / (size - 1), (size - 1) / size
    ends = np.empty((2, groups * size))
    for some in np.array_split(np.arange(groups * size), -(-groups * size**3 // _CELLS)):
        group, passage = np.divmod(some, size)
        best, contrast = merits[group], contrasts[passage]
        for row, side in enumerate((-1, 1)):
            moved = _end(_Likelihood(won[group], tie, penalty, contrast, side), best, contrast, side)
            ends[row, some] = best[np.arange(len(some)), passage] + scale * (moved - (contrast * best).sum(axis=1))
    low, high = ends.reshape(2, groups, size)
    return merits, low, high


def _end(likelihood: _Likelihood, merits: Floats, contrasts: Floats, side: int) -> Floats:
    """How far each contrast goes to that side until its profile likelihood has dropped; infinite where it does not.

    By Newton's method, which gets there from beyond, since the profile is concave.
    """
    merits, ending = _climb(likelihood, merits)
    _, tangent, _ = _moves(ending, contrasts)
    # To begin with, to where the end would be in a normal distribution.
    step = side * np.sqrt(2 * _DROP / np.einsum("gi,gij,gj->g", tangent, ending.information, tangent))
    step = np.clip(step, -_FAR / 5, _FAR / 5)
    least, at, left = ending.value - _DROP, (contrasts * merits).sum(axis=1), np.arange(len(merits))
    for _ in range(_STEPS):
        at[left] += step
        merits[left] += tangent * step[:, None]
        left = left[np.abs(step) > _NEAR]
        if not len(left):
            break
        merits[left], ending = _climb(likelihood.take(left), merits[left], contrasts[left])
        _, tangent, slope = _moves(ending, contrasts[left])
        step = np.clip((least[left] - ending.value) / slope, -_FAR - at[left], _FAR - at[left])
    return np.where(side * at > _FAR - 1, side * np.inf, at)


def _climb(likelihood: _Likelihood, merits: Floats, contrasts: Floats | None = None) -> tuple[Floats, _At]:
    """The likeliest strengths, of those with the same contrasts where these are given, and how it is there. By Newton's
    method, which ends, since the function is concave; a step that would lower it is halved.
    """
    merits, left, likelihood_left = merits.copy(), np.arange(len(merits)), likelihood
    before = now = likelihood.at(merits)
    for _ in range(_STEPS):
        step, _, _ = _moves(now, None if contrasts is None else contrasts[left])
        least = now.value - 1e-12 * (1 + np.abs(now.value))
        while len(worse := np.flatnonzero((now := likelihood_left.at(merits[left] + step)).value < least)):
            step[worse] /= 2
        merits[left] += step
        for old, new in zip(before, now, strict=True):
            old[left] = new
        going = np.abs(step).max(axis=1) > _NEAR
        left, likelihood_left, now = left[going], likelihood_left.take(going), _At(*(new[going] for new in now))
        if not len(left):
            break
    return merits, before


def _moves(start: _At, contrasts: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Newton's step; and with contrasts, which it leaves as they are, the likeliest way to move each by 1, and what the
    logarithm gains by that.
    """
    _, gradient, information = start
    if contrasts is None:
        step: Floats = np.asarray(np.linalg.solve(information, gradient[:, :, None])[:, :, 0], np.float64)
        return step, step, step
    groups, size = gradient.shape
    bordered = np.zeros((groups, size + 1, size + 1))
    bordered[:, :size, :size] = information
    bordered[:, :size, size] = bordered[:, size, :size] = contrasts
    sides = np.zeros((groups, size + 1, 2))
    sides[:, :size, 0], sides[:, size, 1] = gradient, 1
    solved: Floats = np.asarray(np.linalg.solve(bordered, sides), np.float64)
    return solved[:, :size, 0], solved[:, :size, 1], solved[:, size, 0]


def _logistic(x: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-np.clip(x, -500, 500)))
    return result

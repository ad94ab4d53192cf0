"""Strengths of passages from judgments: the Bradley–Terry model with ties and a penalty, and 95% intervals.

The model is that of Gienapp et al., Efficient Pairwise Annotation of Argument Quality (ACL 2020), with the ties of
Rao and Kupper (1967). The intervals are those of a sandwich estimate, which holds where the model does not fit (White
1982).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference

TIE, PENALTY = 0.05, 0.2
_MIDDLE = 1.0  # the strength that the penalty draws towards
_NORMAL = 1.959963984540054  # 97.5% of the normal distribution lie below
_STEPS = 200

Floats = NDArray[np.float64]


class Strength(NamedTuple):
    """A passage's strength, on a scale of log odds, and its 95% interval.

    Of two passages whose strengths differ by d, the first is preferred with about e^d to 1. Strengths of different
    queries cannot be compared.
    """

    passage: str
    strength: float
    low: float
    high: float


def fit_strengths(
    preferences: Iterable[Preference], *, tie: float = TIE, penalty: float = PENALTY
) -> dict[str, list[Strength]]:
    """By query, sorted; within it the strongest first, equal ones by id.

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
    judged: dict[str, list[Preference]] = {}
    for preference in preferences:
        if preference.preferred is None and not tie:
            raise ValueError("tie 0 where there are ties: the model would call them impossible")
        judged.setdefault(preference.query, []).append(preference)
    return {query: _fit(judged[query], tie, penalty) for query in sorted(judged)}


def _fit(preferences: Sequence[Preference], tie: float, penalty: float) -> list[Strength]:
    passages = sorted({passage for preference in preferences for passage in (preference.a, preference.b)})
    index = {passage: at for at, passage in enumerate(passages)}
    counts: dict[tuple[int, int, int], int] = {}  # (i, j, outcome for i: 1, or 0 for a tie)
    for _, first, second, preferred in preferences:
        a, b = index[first], index[second]
        winner, loser = (a, b) if preferred in (first, None) else (b, a)
        key = (winner, loser, 1) if preferred is not None else (min(a, b), max(a, b), 0)
        counts[key] = counts.get(key, 0) + 1
    rows = np.array([(*key, count) for key, count in sorted(counts.items())])
    model = _Model(len(passages), rows, tie, penalty)
    merits, variances = model.fit()
    half = _NORMAL * np.sqrt(variances)
    columns = (merits.tolist(), (merits - half).tolist(), (merits + half).tolist())
    strengths = (Strength(*row) for row in zip(passages, *columns, strict=True))
    return sorted(strengths, key=lambda strength: (-round(strength.strength, 9), strength.passage))


class _Model:
    """The penalized likelihood of one query's judgments. All of it depends on differences of two strengths."""

    def __init__(self, size: int, rows: NDArray[np.int64], tie: float, penalty: float) -> None:
        self._size, self._tie, self._penalty = size, tie, penalty
        self._first, self._second, won, times = rows.T
        self._won, self._times = won.astype(bool), times.astype(float)

    def fit(self) -> tuple[Floats, Floats]:
        """Strengths, and the variance of each: Newton's method, which ends, since the penalized likelihood is concave;
        a step that would lower it is halved.
        """
        merits = np.full(self._size, _MIDDLE)
        value = self._value(merits)
        for _ in range(_STEPS):
            step = np.linalg.solve(self._information(merits), self._gradient(merits))
            while (after := self._value(merits + step)) < value - 1e-12:
                step /= 2
            merits, value = merits + step, after
            if np.abs(step).max() < 1e-10:
                break
        bread = np.linalg.inv(self._information(merits))
        return merits, np.einsum("ij,jk,ki->i", bread, self._scatter(merits), bread)

    def _value(self, merits: Floats) -> float:
        d, t = merits[self._first] - merits[self._second], self._tie
        logs = -np.logaddexp(0, t - d)
        if not self._won.all():
            tied = logs - np.logaddexp(0, t + d) + np.log(np.expm1(2 * t))
            logs = np.where(self._won, logs, tied)
        above = merits - _MIDDLE
        drawn = -np.logaddexp(0, -above) - np.logaddexp(0, above)
        return float(self._times @ logs + self._penalty * drawn.sum())

    def _slopes(self, merits: Floats) -> Floats:
        """Of each row's log likelihood, by the difference of its strengths."""
        d = merits[self._first] - merits[self._second]
        return 1 - _logistic(d - self._tie) - np.where(self._won, 0, _logistic(d + self._tie))

    def _gradient(self, merits: Floats) -> Floats:
        slopes = self._times * self._slopes(merits)
        summed = np.bincount(self._first, slopes, self._size) - np.bincount(self._second, slopes, self._size)
        return summed + self._penalty * (1 - 2 * _logistic(merits - _MIDDLE))

    def _information(self, merits: Floats) -> Floats:
        d = merits[self._first] - merits[self._second]
        bends = _bend(d - self._tie) + np.where(self._won, 0, _bend(d + self._tie))
        matrix = self._laplacian(self._times * bends)
        matrix[np.diag_indices(self._size)] += 2 * self._penalty * _bend(merits - _MIDDLE)
        return matrix

    def _scatter(self, merits: Floats) -> Floats:
        return self._laplacian(self._times * self._slopes(merits) ** 2)

    def _laplacian(self, weights: Floats) -> Floats:
        """The sum of weight * (e_i - e_j)(e_i - e_j)' over the rows."""
        matrix = np.zeros((self._size, self._size))
        np.add.at(matrix, (self._first, self._first), weights)
        np.add.at(matrix, (self._second, self._second), weights)
        np.subtract.at(matrix, (self._first, self._second), weights)
        np.subtract.at(matrix, (self._second, self._first), weights)
        return matrix


def _logistic(x: Floats) -> Floats:
    result: Floats = np.exp(-np.logaddexp(0, -x))
    return result


def _bend(x: Floats) -> Floats:
    result: Floats = np.exp(-np.logaddexp(0, -x) - np.logaddexp(0, x))
    return result

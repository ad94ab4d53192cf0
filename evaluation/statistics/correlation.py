"""How far two orders of the same things agree. Scores may tie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ROWS = 256  # of a table of every two scores, at a time


def kendall_tau(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b of two lists of scores: pairs that either list ties do not count as agreeing or not.

    1 for the same order, -1 for the reverse; None where a list ties everything, or has less than two scores.
    """
    first, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    agreeing, untied, other_untied = 0.0, 0.0, 0.0  # whole numbers: over every two scores, each way round
    for start in range(0, len(first), _ROWS):
        here, second_signs = (
            np.sign(scores[start : start + _ROWS, None] - scores[None, :]) for scores in (first, other)
        )
        agreeing += float((here * second_signs).sum())
        untied += float((here != 0).sum())
        other_untied += float((second_signs != 0).sum())
    return agreeing / (untied * other_untied) ** 0.5 if untied and other_untied else None


def pearson(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pearson's r of two lists of scores; None where a list has only one value, or less than two scores."""
    first, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if len(first) < 2 or (first == first[0]).all() or (other == other[0]).all():
        return None
    first, other = first - first.mean(), other - other.mean()
    return float((first @ other) / ((first @ first) * (other @ other)) ** 0.5)


def tau_ap(reference: Sequence[float], scores: Sequence[float]) -> float | None:
    """AP correlation (Yilmaz et al. 2008) of the order that `scores` make with that of `reference`, best first.

    For each place but the first, the share of those above it that the reference has above it too; the mean of that,
    from -1 to 1. So errors at the top weigh more. It is not symmetric. Where `scores` tie, the mean over all orders of
    the tied; where the reference ties, a pair is half right. None for less than two scores.
    """
    total = len(scores)
    if total < 2:
        return None
    values, right = np.asarray(scores, np.float64), (_orders(reference) + 1) / 2  # [i, j]: 1 where i is to be above j
    correct_shares, above = 0.0, 0
    for value in np.unique(values)[::-1]:
        tied, better = values == value, values > value
        count = int(tied.sum())
        correct = float(right[np.ix_(better, tied)].sum()) / count  # above a member of the tie, on average
        # Of the tied, each place has on average half of those before it in the right order.
        correct_shares += sum((correct + place / 2) / (above + place) for place in range(count) if above + place)
        above += count
    return 2 * correct_shares / (total - 1) - 1


def _orders(scores: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(scores, np.float64)
    return np.sign(values[:, None] - values[None, :])

"""Means of scores by query, exact where they stand for fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

_SMALL = 1 << 16  # denominators up to this are recognized in floats
_CLOSE = 1e-15
# RR@1000 has so many different values, and a common denominator of 1,439 bits. Others, such as those of nDCG or AP, are
# no small fractions, or their common denominator has thousands of digits.
_DIFFERENT = 1001
_BITS = 2048


def exact_mean(values: ArrayLike) -> Fraction:
    """The mean of scores by query. Floats that stand for fractions of small denominators, such as reciprocal ranks,
    count as these; others as what they are. Of very many different values, or where no small denominator is common to
    the fractions, the sum is that of the floats, rounded once. The order of the values changes nothing.

    Raises ValueError if there are none, or one is not finite.
    """
    scores, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    if not len(scores):
        raise ValueError("a mean over no queries")
    if not np.isfinite(scores).all():
        raise ValueError("a score that is not a finite number")
    queries = int(counts.sum())
    if len(scores) <= _DIFFERENT:
        fractions = [_as_fraction(score) for score in scores.tolist()]
        if math.lcm(*(fraction.denominator for fraction in fractions)).bit_length() <= _BITS:
            pairs = zip(fractions, counts.tolist(), strict=True)
            return sum((fraction * count for fraction, count in pairs), Fraction()) / queries
    return Fraction(math.fsum(np.repeat(scores, counts).tolist())) / queries


def _as_fraction(value: float) -> Fraction:
    small = Fraction(value).limit_denominator(_SMALL)
    return small if abs(float(small) - value) <= _CLOSE * max(1.0, abs(value)) else Fraction(value)

"""Whether workers agree where they judged the same pair, and whether they lean to a side."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

import krippendorff
import numpy as np

from evaluation.files.preferences import Preference
from evaluation.judging.pooling import canonical
from evaluation.statistics.significance import sign_test

Side = Literal["left", "right"]


class Vote(NamedTuple):
    """What a worker preferred of two passages of a query; None for a tie."""

    query: str
    a: str
    b: str
    worker: str
    preferred: str | None


class Agreement(NamedTuple):
    """Over the pairs that at least two workers judged.

    `pairs`: how many these are. `compared`: two workers on the same pair, counted over all. `raw`: the share of these
    that agree; None without any. `alpha`: Krippendorff's, nominal; None without any, and where all say the same.
    """

    pairs: int
    compared: int
    raw: float | None
    alpha: float | None


def agreement(votes: Iterable[Vote]) -> Agreement:
    """How far workers agree. Of a worker who judged a pair more than once, the last vote counts.

    What they agree on is the first or the second passage of a pair in canonical order, or a tie.
    """
    table = _cast(votes)
    if not len(table):
        return Agreement(0, 0, None, None)
    compared, agreeing = _compared(table)
    alpha = None
    if (table.sum(axis=0) > 0).sum() > 1:
        alpha = float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))
    return Agreement(len(table), compared, agreeing / compared, alpha)


def compared_votes(votes: Iterable[Vote]) -> tuple[int, int]:
    """Two workers on the same pair, counted over all, and how many of these agree: as `agreement`, without alpha, which
    takes longest.
    """
    return _compared(_cast(votes))


def _cast(votes: Iterable[Vote]) -> np.ndarray:
    """A row for each pair that at least two workers judged: how many are for its first, its second passage, a tie."""
    cast: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for query, a, b, worker, preferred in votes:
        pair = canonical(a, b)
        cast[query, *pair][worker] = 2 if preferred is None else pair.index(preferred)
    counts = [Counter(votes.values()) for votes in cast.values() if len(votes) > 1]
    return np.array([[votes[value] for value in range(3)] for votes in counts]).reshape(-1, 3)


def _compared(table: np.ndarray) -> tuple[int, int]:
    voters = table.sum(axis=1)
    return int((voters * (voters - 1)).sum()) // 2, int((table * (table - 1)).sum()) // 2


def error_rate(raw: float) -> float | None:
    """How often one judgment is wrong, where two judgments of a pair agree in a share `raw` of the cases.

    Two who err independently with rate e agree in (1 - e)^2 + e^2 of the cases. None where they agree less often than
    by chance.
    """
    return (1 - math.sqrt(2 * raw - 1)) / 2 if raw >= 0.5 else None


def repeated_agreement(preferences: Iterable[Preference]) -> Agreement:
    """The agreement of the judgments of pairs that have several, where it is not known who judged."""
    rows = list(preferences)
    return agreement(Vote(row.query, row.a, row.b, str(at), row.preferred) for at, row in enumerate(rows))


Evidence = Literal["given", "repeated", "assumed"]
FEW = 30  # comparisons of repeated judgments that say too little of the error rate
ASSUMED = 0.3  # the error rate by which two people agree in 58% of the cases


def error_evidence(preferences: Iterable[Preference], *, is_given: bool) -> tuple[Evidence, int]:
    """How it is known how often one judgment is wrong, and how many repeated judgments can be compared.

    Somebody gave the rate; or judgments of one pair say it, where `FEW` or more can be compared; or else it is assumed
    that people who contradict themselves between pairs err as the model says.
    """
    compared = repeated_agreement(preferences).compared
    return ("given" if is_given else "repeated" if compared >= FEW else "assumed"), compared


class SideBias(NamedTuple):
    """How often each side was preferred, the share of the left (None without any), and the exact binomial p, raw."""

    left: int
    right: int
    left_share: float | None
    p: float


def side_bias(preferred: Iterable[Side]) -> SideBias:
    """Sides are random, so an unbiased worker prefers each about half of the time."""
    counts = Counter(preferred)
    left, right = counts["left"], counts["right"]
    share = left / (left + right) if left + right else None
    return SideBias(left, right, share, float(sign_test([left], [right])[0]))

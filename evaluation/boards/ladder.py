"""The release rule: what of a hidden score is shown, so that many submissions do not fit the hidden queries.

`plain` shows every score. The others show a score only where it improves on the reference, the team's own last
published best, and otherwise say that there is no gain:

- `ladder`: by more than a step; without one, by more than the standard error of the difference over queries (Blum and
  Hardt, ICML 2015).
- `bootstrap`: by more than the step in at least 95% of 1,000 samples of the queries (after Chaibub Neto et al., arXiv
  1607.00091).
- `tested`: by more than chance explains, whatever was submitted before. The difference D of the sums, against the
  square root of the sum of squared differences, is z; were the sign of each difference a coin's, z or more would come
  up with a probability of at most 3.178 times that of a normal variable (Bentkus and Dzindzalieta, Bernoulli 2015). The
  k-th look at the same reference must bring this below 0.05/(k(k+1)); over all k, these add up to 0.05. So whoever
  submits what has no connection with the hidden queries, however often and whatever the answers, is shown a gain with
  a probability of at most 5%.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.measures.means import exact_mean
from evaluation.statistics.resampling import query_weights

Rule = Literal["plain", "ladder", "bootstrap", "tested"]

RULES: tuple[Rule, ...] = get_args(Rule)
DEFAULT_RULE: Rule = "tested"
LEVEL = 0.05
DRAWS = 1000
# 1 / (4 P(N >= sqrt(2))): the least factor with which a normal tail bounds that of every weighted sum of signs.
_FACTOR = 1 / (2 * math.erfc(1))

Floats = NDArray[np.float64]


class Release(NamedTuple):
    """Whether a score is shown, the exact score if so, and why. `why` tells nothing of a score that is not shown."""

    shown: bool
    score: Fraction | None
    why: str


def release(
    rule: Rule,
    reference: ArrayLike | None,
    candidate: ArrayLike,
    *,
    step: float | None = None,
    looks: int = 0,
    seed: int = 0,
) -> Release:
    """What is shown of a candidate's score.

    `reference` and `candidate`: scores by query, of the same queries in the same order; the reference is the team's own
    last published best, None where it has none. `step`: the least gain (0 to 1) of all rules but `plain`. `looks`: how
    many candidates have been compared with this reference before, by whoever looked most of team, members and
    organization; only `tested` uses it. `seed`: of the bootstrap.

    A first score is shown under every rule: it was chosen without a look at the hidden queries.

    Raises ValueError where the rule is unknown, a score is not finite, or the two have different lengths.
    """
    if rule not in RULES:
        raise ValueError(f"release rule {rule!r} where there are {', '.join(RULES)}")
    if step is not None and not 0 <= step <= 1:
        raise ValueError(f"a step of {step} where one from 0 to 1 is needed")
    if looks < 0:
        raise ValueError(f"{looks} looks")
    score = exact_mean(candidate)
    if rule == "plain":
        return Release(True, score, "every score is shown")
    if reference is None:
        return Release(True, score, "the first score of the team")
    published = exact_mean(reference)
    scores, before = np.asarray(candidate, np.float64), np.asarray(reference, np.float64)
    if scores.shape != before.shape:
        raise ValueError(f"{before.size} reference scores and {scores.size} of the candidate")
    needed = _needed(rule, step, looks)
    if score - published > Fraction(repr(step or 0)) and gains(rule, scores - before, step, looks, seed):
        return Release(True, score, f"a gain over the last published best {needed}")
    return Release(False, None, f"no gain over the last published best {needed}")


def look_level(looks: int) -> float:
    """The level that `tested` asks of a candidate after so many looks at the same reference."""
    return LEVEL / ((looks + 1) * (looks + 2))


def chance_bound(differences: ArrayLike) -> float:
    """An upper bound, at most 1, of the probability that coins for signs make a sum of at least that of the
    differences. 1 where the sum is not above 0.
    """
    values = np.asarray(differences, np.float64)
    total, squares = math.fsum(values), math.fsum(values * values)
    if total <= 0:
        return 1.0
    return min(1.0, _FACTOR * math.erfc(total / math.sqrt(2 * squares)) / 2)


def _needed(rule: Rule, step: float | None, looks: int) -> str:
    """How large a gain has to be, as the end of a sentence. It depends on the policy and on the looks alone."""
    least = f"of more than {step:g}" if step else ""
    if rule == "ladder":
        return least or "of more than its standard error"
    if rule == "bootstrap":
        return f"{least or 'of any size'} in {1 - LEVEL:.0%} of {DRAWS:,} samples of the queries"
    return f"{least}{' ' if least else ''}at p < {look_level(looks):.2g}, as look {looks + 1:,} needs"


def gains(rule: Rule, differences: Floats, step: float | None = None, looks: int = 0, seed: int = 0) -> bool:
    """Whether differences by query, candidate less reference, are a gain under the rule. Their mean has to be above
    the step already; the order of the queries does not matter.
    """
    if rule == "plain":
        return True
    differences = np.sort(differences)
    count = len(differences)
    if rule == "ladder":
        if step is not None:
            return True  # the gain itself was compared, exactly
        error = float(differences.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
        return float(differences.mean()) > error
    if rule == "bootstrap":
        return _bootstrap_share(differences.tobytes(), step or 0.0, seed) >= 1 - LEVEL
    return _chance(differences.tobytes()) < look_level(looks)


@lru_cache(maxsize=4096)
def _chance(differences: bytes) -> float:
    return chance_bound(np.frombuffer(differences))


@lru_cache(maxsize=4096)
def _bootstrap_share(differences: bytes, step: float, seed: int) -> float:
    """The share of samples of the queries whose mean difference is above the step."""
    values = np.frombuffer(differences)
    batches = query_weights(len(values), DRAWS, np.random.default_rng(seed))
    above = sum(int(np.count_nonzero(weights @ values / len(values) > step)) for weights in batches)
    return above / DRAWS

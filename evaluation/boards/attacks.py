"""What submissions that know nothing can make of a leaderboard, under each release rule.

The hidden truth is a coin for each query, and a submission names a side for each; its score is the share that it has
right. As it knows nothing of the coins, it is right on half of all further queries, whatever the board shows.

- `vote`: random submissions, and at last the majority of those whose shown score is above 1/2 (Blum and Hardt 2015).
- `climb`: each submission is the best shown one with as many sides changed as the square root of the queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evaluation.boards.ladder import Rule, gains

Attack = Literal["vote", "climb"]

ATTACKS: tuple[Attack, ...] = get_args(Attack)
TRUTH = 0.5
SUBMISSIONS = 500
REPETITIONS = 200

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """Many repetitions of one attack on one board.

    `best`: the mean of the best published scores, where the truth is `truth`. `standard_error`: of a score over
    `queries` queries. `excess`: the mean of best less truth, in standard errors. `within`: the share of repetitions
    where the best published is at most one standard error above the truth. `shown`: how many scores were, on average.
    """

    rule: Rule
    attack: Attack
    queries: int
    submissions: int
    repetitions: int
    truth: float
    best: float
    standard_error: float
    excess: float
    within: float
    shown: float

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def simulate(
    rule: Rule,
    attack: Attack,
    queries: int,
    *,
    submissions: int = SUBMISSIONS,
    repetitions: int = REPETITIONS,
    step: float | None = None,
    seed: int = 0,
) -> Outcome:
    """Repeat an attack of so many submissions by one team. The same seed gives the same."""
    best, released = np.zeros(repetitions), 0
    for number in range(repetitions):
        random = np.random.default_rng([seed, queries, number])
        board = _Board(rule, random.random(queries) < 0.5, step, seed)
        _ATTACKS[attack](board, submissions, random)
        best[number] = board.best
        released += board.shown
    error = math.sqrt(TRUTH * (1 - TRUTH) / queries)
    # Scores are shares of the queries: 1e-9 is rounding.
    within = float(np.mean(best <= TRUTH + error + 1e-9))
    mean = float(best.mean())
    return Outcome(
        rule, attack, queries, submissions, repetitions, TRUTH, mean, error, (mean - TRUTH) / error, within,
        released / repetitions,
    )  # fmt: skip


class _Board:
    """A board with a release rule, and what one team has been shown of it."""

    def __init__(self, rule: Rule, labels: Bits, step: float | None, seed: int) -> None:
        self.rule = rule
        self.labels = labels
        self.step = step
        self.seed = seed
        self.best = -math.inf
        self.reference: Bits | None = None  # right or wrong, by query
        self.looks = 0
        self.shown = 0

    def submit(self, sides: Bits) -> float | None:
        """The score, if it is shown."""
        right = sides == self.labels
        score = float(np.mean(right))
        if not self._is_shown(right, score):
            self.looks += 1
            return None
        self.shown += 1
        if score > self.best:
            self.best, self.reference, self.looks = score, right, 0
        return score

    def _is_shown(self, right: Bits, score: float) -> bool:
        if self.reference is None or self.rule == "plain":
            return True
        differences = right.astype(np.float64) - self.reference
        if score - self.best <= (self.step or 0) + 1e-12:
            return False
        return gains(self.rule, differences, self.step, self.looks, self.seed)


def _vote(board: _Board, submissions: int, random: np.random.Generator) -> None:
    count = len(board.labels)
    votes, voters = np.zeros(count), 0
    for _ in range(submissions - 1):
        sides = random.random(count) < 0.5
        score = board.submit(sides)
        if score is not None and score > TRUTH:
            votes += sides
            voters += 1
    coins = random.random(count) < 0.5
    board.submit(np.where(2 * votes == voters, coins, 2 * votes > voters))


def _climb(board: _Board, submissions: int, random: np.random.Generator) -> None:
    count = len(board.labels)
    again = max(1, math.isqrt(count))
    best = random.random(count) < 0.5
    board.submit(best)
    before = board.best
    for _ in range(submissions - 1):
        sides = best.copy()
        sides[random.choice(count, again, replace=False)] ^= True
        board.submit(sides)
        if board.best > before:
            best, before = sides, board.best


_ATTACKS: dict[Attack, Callable[[_Board, int, np.random.Generator], None]] = {"vote": _vote, "climb": _climb}


def compare_rules(
    rules: tuple[Rule, ...],
    queries: tuple[int, ...],
    *,
    attacks: tuple[Attack, ...] = ATTACKS,
    submissions: int = SUBMISSIONS,
    repetitions: int = REPETITIONS,
    step: float | None = None,
    seed: int = 0,
) -> Iterator[Outcome]:
    """Every attack on every size of board under every rule, one after the other."""
    for attack in attacks:
        for size in queries:
            for rule in rules:
                yield simulate(
                    rule, attack, size, submissions=submissions, repetitions=repetitions, step=step, seed=seed
                )

"""Upkeep of a leaderboard's best known answers: each submission's new top passages challenge them.

Arabzadeh et al. 2022, section 6. Nothing here knows who judges: whatever answers pairs will do. The same steps,
replayed in random orders of the runs, say what a year of upkeep would cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Pair, Preference
from evaluation.files.qrels import Policy, Qrels
from evaluation.judging.challengers import OUTCOMES, Answers, Challenge, find_challengers, settle_challenges
from evaluation.judging.pooling import Tops, all_pairs, canonical, pool_queries
from evaluation.judging.posterior import Judging
from evaluation.judging.settling import LEVEL, assess_pairs, expected_wrong
from evaluation.judging.tournament import derive

# Given pairs, sorted, the judgments of them. It may leave some out, which are asked for again with the next submission.
Judge = Callable[[Sequence[Pair]], Iterable[Preference]]


class Step(NamedTuple):
    """What one submission led to.

    `challengers`: the passages that were compared, those that earlier submissions left open among them. `pairs`: how
    many were judged for them, in how many `rounds`. `outcomes`: of the challengers, by outcome. `changed`: queries with
    other best known answers than before. `total`: pairs judged so far, those of the start included. `all_pairs`: those
    of a tournament of every passage that has been considered or is open.
    """

    name: str
    challengers: int
    pairs: int
    rounds: int
    outcomes: Mapping[str, int]
    changed: tuple[Challenge, ...]
    total: int
    all_pairs: int

    @property
    def share(self) -> float:
        """Pairs judged so far, of those that a tournament of all passages takes."""
        return self.total / self.all_pairs if self.all_pairs else 0.0


class Upkeep:
    """Best known answers that are kept current. `answers`: by query, sorted. `considered`: by query, the passages that
    have been compared with the best known answers of their time. Answers stay, whoever brought them.
    """

    def __init__(
        self,
        answers: Answers,
        considered: Answers,
        judgments: Iterable[Preference] = (),
        *,
        most: int = 1,
        judging: Judging | None = None,
    ) -> None:
        """`considered` are the passages of the pools that the answers come from; `judgments` are all that there are.
        Pairs of challengers are judged up to so many times, or, where it is said how people judge, until it is probable
        enough which of the two is better (`LEVEL`), as `settle_challenges` has it.
        """
        self._most, self._judging, self._again = most, judging, 0
        self.answers: dict[str, tuple[str, ...]] = {
            query: tuple(sorted(passages)) for query, passages in answers.items() if passages
        }
        self.considered = {query: {*passages, *considered.get(query, ())} for query, passages in self.answers.items()}
        self._judgments: dict[str, list[Preference]] = defaultdict(list)
        self._judged: set[Pair] = set()
        self._open: dict[str, dict[str, set[str]]] = defaultdict(dict)  # names by challenger, by query
        self._learn(judgments)

    @classmethod
    def start(
        cls,
        tops: Iterable[Tops],
        qrels: Qrels,
        judge: Judge,
        policy: Policy = "first",
        *,
        min_grade: int = 1,
        most: int = 1,
        judging: Judging | None = None,
    ) -> Upkeep:
        """From the tournament of the first runs' top passages and the qrels. A query that `judge` leaves incomplete has
        no best known answer, so nothing challenges it.
        """
        pools = pool_queries(tops, qrels, policy, min_grade=min_grade)
        judgments = list(judge([pair for query, pool in sorted(pools.items()) for pair in all_pairs(query, pool)]))
        answers: dict[str, list[str]] = {}
        for query, passage in derive(pools, judgments).qrels:
            answers.setdefault(query, []).append(passage)
        return cls(answers, pools, judgments, most=most, judging=judging)

    @property
    def total(self) -> int:
        """How many pairs have been judged, each as often as it was asked again."""
        return len(self._judged) + self._again

    @property
    def all_pairs(self) -> int:
        """How many pairs a tournament of every passage takes that has been considered or is open."""
        sizes = (len(passages | self._open.get(query, {}).keys()) for query, passages in self.considered.items())
        return sum(size * (size - 1) // 2 for size in sizes)

    @property
    def open(self) -> dict[str, tuple[str, ...]]:
        """Challengers whose outcome is not known, sorted, by query."""
        return {query: tuple(sorted(rivals)) for query, rivals in sorted(self._open.items()) if rivals}

    def submit(self, name: str, tops: Tops, judge: Judge) -> Step:
        """Let what a submission newly puts first challenge the best known answers, and `judge` as far as it does."""
        for query, passages in find_challengers([tops], self.considered).items():
            for passage in passages:
                self._open[query].setdefault(passage, set()).add(name)
        challengers = self.open
        before, rounds = self.total, 0
        earlier, since = self._rows(challengers), list[Preference]()
        challenges = self._settle(challengers, earlier, since)
        while missing := sorted(pair for challenge in challenges for pair in challenge.missing):
            total, answered = self.total, list(judge(missing))
            self._again += len({Pair(row.query, *canonical(row.a, row.b)) for row in answered} & self._judged)
            self._learn(answered)
            since += answered
            if self.total == total:
                break
            rounds += 1
            challenges = self._settle(challengers, earlier, since)
        outcomes: Counter[str] = Counter()
        for challenge in challenges:
            outcomes.update(challenge.outcome(passage) for passage in challengers[challenge.query])
            if not challenge.missing:
                self.answers[challenge.query] = challenge.best
                self.considered[challenge.query].update(challengers[challenge.query])
                del self._open[challenge.query]
        return Step(
            name,
            sum(map(len, challengers.values())),
            self.total - before,
            rounds,
            {outcome: outcomes[outcome] for outcome in OUTCOMES},
            tuple(challenge for challenge in challenges if challenge.changed),
            self.total,
            self.all_pairs,
        )

    def expected_wrong(self, step: Step) -> float:
        """How many of a step's replacements are expected to be wrong, by all judgments until now."""
        replaced = [
            (challenge.query, new, old)
            for challenge in step.changed
            for new in challenge.best
            for old in challenge.before
            if new not in challenge.before and old not in challenge.best
        ]
        return expected_wrong(replaced, self.considered, self._rows(self._judgments), judging=self._judging)

    def withdraw(self, name: str) -> None:
        """Ask no more about what only this submission put first. What has become an answer stays one."""
        for query, rivals in list(self._open.items()):
            left = {passage: names - {name} for passage, names in rivals.items()}
            self._open[query] = {passage: names for passage, names in left.items() if names}

    def _settle(self, challengers: Answers, earlier: list[Preference], since: list[Preference]) -> list[Challenge]:
        rows, most = [*earlier, *since], self._most
        if self._judging is None:
            return settle_challenges(self.answers, challengers, rows, most=most)
        chance = assess_pairs(since, earlier, self._judging)
        return settle_challenges(self.answers, challengers, rows, most=most, level=LEVEL, chance=chance)

    def _rows(self, queries: Iterable[str]) -> list[Preference]:
        return [row for query in queries for row in self._judgments.get(query, ())]

    def _learn(self, judgments: Iterable[Preference]) -> None:
        for judgment in judgments:
            self._judgments[judgment.query].append(judgment)
            self._judged.add(Pair(judgment.query, *canonical(judgment.a, judgment.b)))


def judge_by(preferences: Iterable[Preference]) -> Judge:
    """A judge who knows some preferences, and of other pairs nothing."""
    by_pair: dict[Pair, list[Preference]] = defaultdict(list)
    for preference in preferences:
        by_pair[Pair(preference.query, *canonical(preference.a, preference.b))].append(preference)

    def judge(pairs: Sequence[Pair]) -> list[Preference]:
        return [preference for pair in pairs for preference in by_pair.get(pair, ())]

    return judge


def err(judge: Judge, error_rate: float, *, seed: int = 0) -> Judge:
    """A judge who says the opposite at a rate, anew each time, and judges a pair once where it is asked; ties stay."""
    random = np.random.default_rng(seed)

    def judge_wrongly(pairs: Sequence[Pair]) -> list[Preference]:
        by_pair = {Pair(row.query, *canonical(row.a, row.b)): row for row in judge(pairs)}
        return [
            row._replace(preferred=row.b if row.preferred == row.a else row.a)
            if row.preferred is not None and random.random() < error_rate
            else row
            for row in by_pair.values()
        ]

    return judge_wrongly


class Submitted(NamedTuple):
    """In one replay: how many runs came `before` a submission, and how many `pairs` it took."""

    before: int
    pairs: int


def replay(
    runs: Sequence[Tops],
    qrels: Qrels,
    judge: Judge,
    *,
    first: int,
    orders: int,
    seed: int,
    policy: Policy = "first",
    min_grade: int = 1,
) -> list[Submitted]:
    """Upkeep in random orders of the runs, the first `first` of which make the tournament that it starts from.

    The same seed gives the same. Raises ValueError where no run is left to be submitted, or none to start from.
    """
    if not 1 <= first < len(runs):
        raise ValueError(f"{first} runs to start from where there are {len(runs)}, and at least one is to be submitted")
    random = np.random.default_rng(seed)
    submitted = []
    for _ in range(orders):
        order = random.permutation(len(runs)).tolist()
        upkeep = Upkeep.start([runs[number] for number in order[:first]], qrels, judge, policy, min_grade=min_grade)
        for before, number in enumerate(order[first:], first):
            submitted.append(Submitted(before, upkeep.submit(str(number), runs[number], judge).pairs))
    return submitted


class Prices(NamedTuple):
    """What judging costs: `overlap` judgments a pair, `pairs_per_hit`, `dollars_per_assignment` with all fees, and the
    share of assignments that is done again.
    """

    overlap: int
    pairs_per_hit: int
    dollars_per_assignment: Decimal
    redone: float = 0.0


class Expected(NamedTuple):
    """A number over simulated years: its mean, and what 5% and 95% of the years stay below."""

    mean: float
    low: float
    high: float


class Year(NamedTuple):
    """A simulated year: pairs, assignments, and dollars, in all and for one submission.

    `a` and `b`: after so many runs, a submission takes a * runs**-b pairs a query on average.
    """

    pairs: Expected
    assignments: Expected
    dollars: Expected
    dollars_per_submission: Expected
    a: float
    b: float


def year_of(
    submitted: Sequence[Submitted],
    prices: Prices,
    *,
    replayed_queries: int,
    queries: int,
    entries: int,
    submissions: int,
    campaigns: int = 12,
    draws: int = 1000,
    seed: int = 0,
) -> Year:
    """What a year of upkeep costs a leaderboard of `queries` queries and `entries` entries that gets `submissions`.

    The mean number of pairs that replays took after so many runs falls like a power of their number; the power is
    fitted by least squares on logarithms, weighted by how many replays there are. A simulated submission takes what the
    fit says, times the ratio to the fit of one that was replayed, drawn at random. Submissions are spread evenly
    over the year, and what they bring is judged in so many `campaigns`, in whole HITs.

    Raises ValueError where there is nothing to fit, or a count is out of range.
    """
    if not submitted or min(queries, entries, replayed_queries, campaigns, draws) < 1 or submissions < 0:
        raise ValueError("a replay is needed, and counts from 1 on (submissions from 0)")
    a, b, ratios = _fit(submitted, replayed_queries)
    random = np.random.default_rng(seed)
    expected = a * queries * np.arange(entries, entries + submissions, dtype=np.float64) ** -b
    pairs = np.rint(expected * ratios[random.integers(len(ratios), size=(draws, submissions))]).astype(np.int64)
    in_campaign = np.zeros((draws, campaigns), np.int64)
    for number in range(submissions):
        in_campaign[:, number * campaigns // submissions] += pairs[:, number]
    hits = -(-in_campaign // prices.pairs_per_hit)
    assignments = hits.sum(axis=1) * prices.overlap * (1 + prices.redone)
    dollars = assignments * float(prices.dollars_per_assignment)
    return Year(
        _expected(pairs.sum(axis=1)),
        _expected(assignments),
        _expected(dollars),
        _expected(dollars / max(submissions, 1)),
        a,
        b,
    )


def _fit(submitted: Sequence[Submitted], queries: int) -> tuple[float, float, NDArray[np.float64]]:
    """`a` and `b` of the power, and each replayed submission's ratio to it."""
    before = np.array([submission.before for submission in submitted], np.float64)
    pairs = np.array([submission.pairs for submission in submitted], np.float64) / queries
    counts = np.unique(before)
    means = np.array([pairs[before == count].mean() for count in counts])
    weights = np.array([(before == count).sum() for count in counts], np.float64)
    is_positive = means > 0
    if not is_positive.any():
        return 0.0, 0.0, np.ones(1)
    x, y, w = np.log(counts[is_positive]), np.log(means[is_positive]), weights[is_positive]
    centered = x - np.average(x, weights=w)
    spread = float((w * centered**2).sum())
    # A submission never brings more for there being more before it: a fit that grows is noise.
    b = max(-float((w * centered * y).sum()) / spread, 0.0) if spread else 0.0
    a = float(np.exp(np.average(y + b * x, weights=w)))
    fitted = a * before**-b
    ratios = pairs / fitted
    return a, b, ratios / ratios.mean() if ratios.mean() else ratios


def _expected(values: NDArray[np.float64] | NDArray[np.int64]) -> Expected:
    low, high = np.quantile(values, [0.05, 0.95]).tolist()
    return Expected(float(values.mean()), low, high)

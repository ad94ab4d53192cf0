"""What preference qrels do to a leaderboard (Arabzadeh et al. 2022, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evaluation.files.about_runs import Outside
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.measures.named import Measure, Scorer
from evaluation.statistics.correlation import kendall_tau, tau_ap
from evaluation.statistics.joint_ranks import Differences, joint_histograms
from evaluation.statistics.measured import Measured, pair_tests
from evaluation.statistics.ranks import Ranks
from evaluation.statistics.resampling import CONFIDENCE, DRAWS, Interval, bootstrap_intervals_of, t_intervals_of
from evaluation.statistics.significance import Correction, signed_ranks, significance_threshold
from evaluation.statistics.win_ratios import PERFECT, perfect_top


class RunScore(NamedTuple):
    """A run on one set of qrels. `place`: from 1; runs of the same mean share it. `t` is None for a single query."""

    mean: float
    place: int
    t: Interval | None
    bootstrap: Interval


class Neighbours(NamedTuple):
    """Two runs that follow each other on the original qrels: `upper` before `lower`.

    The deltas are the mean of `upper` less that of `lower`, the p-values those of WSR, raw.
    `changed`: by the deltas, `upper` is above on the original and below on the preference qrels.
    `preference_interval`: the 95% t-interval of the preference delta; None for a single query. `significant`: the
    preference p is below the threshold, and for the run of the higher mean.
    """

    upper: str
    lower: str
    original_delta: float
    original_p: float
    preference_delta: float
    preference_interval: Interval | None
    preference_p: float
    changed: bool
    significant: bool


@dataclass(frozen=True)
class Leaderboard:
    """Runs on original and on preference qrels, over the queries that both name.

    `measure`: by its name, `k`: its cutoff, if any. `original` and `preference`: scores by run, in the order given.
    `perfect`: the mean, on the preference qrels, of the ranking that returns the original qrel first, which has
    `perfect_original` on these; `perfect_score`: with its intervals, and the place that it would have among the runs.
    By a measure other than RR@k, the perfect ranking returns all original qrels, higher grades first. `tau`, `tau_ap`:
    between the two orders, the original being the reference; None for less than two runs, `tau` also where all tie.
    `threshold`: what `correction` makes of alpha for the tests of all neighbours.
    """

    measure: str
    k: int | None
    queries: int
    original: dict[str, RunScore]
    preference: dict[str, RunScore]
    perfect: float
    perfect_original: float
    perfect_score: RunScore
    tau: float | None
    tau_ap: float | None
    alpha: float
    correction: Correction
    threshold: float
    neighbours: tuple[Neighbours, ...]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "measure": self.measure,
            "k": self.k,
            "queries": self.queries,
            "runs": {
                run: {"original": score._asdict(), "preference": self.preference[run]._asdict()}
                for run, score in self.original.items()
            },
            "perfect": self.perfect,
            "perfect_ranking": {
                "original": {"mean": self.perfect_original},
                "preference": self.perfect_score._asdict(),
            },
            "tau": self.tau,
            "tau_ap": self.tau_ap,
            "alpha": self.alpha,
            "correction": self.correction,
            "family": len(self.neighbours),
            "threshold": self.threshold,
            "neighbours": [neighbours._asdict() for neighbours in self.neighbours],
        }


def leaderboard(
    original: Ranks,
    preference: Ranks,
    perfect: Sequence[bool],
    *,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    seed: int = 0,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> Leaderboard:
    """From the ranks of the same runs on both qrels, over the same queries, and `perfect_finds` of these.

    Raises ValueError where there is no query, or runs or queries differ.
    """
    if original.runs != preference.runs or original.queries != preference.queries or original.k != preference.k:
        raise ValueError("two boards of other runs, queries or k")
    ideal = Ranks(original.k, (PERFECT,), original.queries, np.array([perfect], np.int64))
    named = f"RR@{original.k}", original.k, 1.0
    return _leaderboard(named, original, preference, ideal, (alpha, correction), (seed, draws, confidence))


def leaderboard_by(
    original: Measured,
    preference: Measured,
    perfect: tuple[Measured, Measured],
    *,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    seed: int = 0,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> Leaderboard:
    """By any measure: from the scores of the same runs on both qrels, over the same queries, and `perfect_by` of these.

    Raises ValueError where there is no query, or runs or queries differ.
    """
    if original.runs != preference.runs or original.queries != preference.queries:
        raise ValueError("two boards of other runs or queries")
    measure, (before, after) = original.measure, perfect
    named = str(measure), measure.cutoff, before.means()[PERFECT]
    return _leaderboard(named, original, preference, after, (alpha, correction), (seed, draws, confidence))


def _leaderboard(
    named: tuple[str, int | None, float],
    original: Ranks | Measured,
    preference: Ranks | Measured,
    perfect: Ranks | Measured,
    level: tuple[float, Correction],
    drawing: tuple[int, int, float],
) -> Leaderboard:
    boards = [_score_runs(scores, *drawing) for scores in (original, preference)]
    ((_, ideal),) = _score_runs(perfect, *drawing).items()
    ideal = ideal._replace(place=1 + sum(score.mean > ideal.mean for score in boards[1].values()))
    means = [[score.mean for score in board.values()] for board in boards]
    order = sorted(range(len(original.runs)), key=lambda run: -means[0][run])
    neighbours = list(pairwise(order))
    tests = [_tests(scores, neighbours) for scores in (original, preference)]
    threshold = significance_threshold([test.p for _delta, test in tests[1]], *level)
    values = preference.reciprocals() if isinstance(preference, Ranks) else preference.values
    apart = np.array([values[upper] - values[lower] for upper, lower in neighbours]).reshape(-1, values.shape[1])
    intervals = t_intervals_of(apart, low=-1)
    return Leaderboard(
        measure=named[0],
        k=named[1],
        queries=len(original.queries),
        original=boards[0],
        preference=boards[1],
        perfect=ideal.mean,
        perfect_original=named[2],
        perfect_score=ideal,
        tau=kendall_tau(*means),
        tau_ap=tau_ap(*means),
        alpha=level[0],
        correction=level[1],
        threshold=threshold,
        neighbours=tuple(
            Neighbours(
                upper=original.runs[upper],
                lower=original.runs[lower],
                original_delta=old,
                original_p=was.p,
                preference_delta=new,
                preference_interval=interval,
                preference_p=now.p,
                changed=old > 0 > new,
                significant=now.p < threshold and now.better * new > 0,
            )
            for (upper, lower), (old, was), (new, now), interval in zip(neighbours, *tests, intervals, strict=True)
        ),
    )


def perfect_finds(original: Qrels, preference: Qrels, queries: Collection[str], min_grade: int = 1) -> list[bool]:
    """Of each query, whether its first original qrel is a preference qrel: all that the perfect ranking finds."""
    best, top = preference.relevant("all"), perfect_top(original, min_grade)
    return [top.get(query, ("",))[0] in best.get(query, ()) for query in queries]


def perfect_by(
    original: Qrels, preference: Qrels, measures: tuple[Measure, Measure], queries: Sequence[str], min_grade: int = 1
) -> tuple[Measured, Measured]:
    """What the ranking of all original qrels, higher grades first and then in file order, scores on the original and on
    the preference qrels, by the measure that each is scored by.
    """
    lists = {
        query: sorted(passages, key=original.grades[query].__getitem__, reverse=True)
        for query, passages in original.relevant("all", min_grade).items()
    }
    perfect = []
    for qrels, measure in zip((original, preference), measures, strict=True):
        scorer = Scorer(qrels)
        scores = Measured(measure, (PERFECT,), scorer.queries, scorer.score_lists(lists, [measure]))
        perfect.append(scores.only(queries))
    return perfect[0], perfect[1]


class Agreement(NamedTuple):
    """Kendall's tau of an order of `runs` runs with that on the original qrels, over all of their queries and over the
    judged ones, and with that on the preference qrels.
    """

    runs: int
    all_queries: float | None
    original: float | None
    preference: float | None


def agree_outside(board: Leaderboard, everywhere: Mapping[str, float], outside: Mapping[str, Outside]) -> Agreement:
    """How far the runs' scores elsewhere order them as the board does: of the runs that have one.

    `everywhere`: the mean by run on the original qrels, over all of their queries.
    """
    runs = [run for run in board.original if run in outside]
    scores = [outside[run].score for run in runs]
    original, preference = ({run: scores[run].mean for run in runs} for scores in (board.original, board.preference))
    return Agreement(
        len(runs),
        *(
            kendall_tau(scores, [board_scores[run] for run in runs])
            for board_scores in (everywhere, original, preference)
        ),
    )


def common_queries(original: Qrels, preference: Qrels) -> tuple[str, ...]:
    """The queries that both name, in the order of the original."""
    return tuple(query for query in original.queries if query in preference.grades)


class Pairings(NamedTuple):
    """How many judgments the passages of some qrels were in, and how many they won; a tie is half a win.

    A judgment between two of them is a pairing of each, and a win of one.
    """

    wins: float
    pairings: int

    @property
    def share(self) -> float | None:
        """Wins over pairings; None without any."""
        return self.wins / self.pairings if self.pairings else None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**self._asdict(), "share": self.share}


def pairings(qrels: Mapping[str, Collection[str]], preferences: Iterable[Preference]) -> Pairings:
    """The pairings of qrels, given as passages by query."""
    wins, count = 0.0, 0
    for query, a, b, preferred in preferences:
        for passage in {a, b}.intersection(qrels.get(query, ())):
            count += 1
            wins += 0.5 if preferred is None else preferred == passage
    return Pairings(wins, count)


def places(means: Sequence[float]) -> list[int]:
    """From 1, the greatest first; those of the same mean share a place."""
    return [1 + sum(other > mean for other in means) for mean in means]


def _score_runs(scores: Ranks | Measured, seed: int, draws: int, confidence: float) -> dict[str, RunScore]:
    means = scores.means()
    values = scores.reciprocals() if isinstance(scores, Ranks) else scores.values
    by_t = t_intervals_of(values, confidence)
    by_bootstrap = bootstrap_intervals_of(values, seed=seed, draws=draws, confidence=confidence)
    rows = zip(means.items(), places(list(means.values())), by_t, by_bootstrap, strict=True)
    return {run: RunScore(mean, place, t, bootstrap) for (run, mean), place, t, bootstrap in rows}


class RankTest(NamedTuple):
    """The signed-rank test of two runs: `p`, and `better`, 1 where the first ranks higher, -1 where the second does.

    The test may favour the run that has the lower mean: then its p says nothing for the other.
    """

    p: float
    better: float


def _tests(scores: Ranks | Measured, pairs: list[tuple[int, int]]) -> list[tuple[float, RankTest]]:
    """Of each pair, the first run's mean less the second's, and the test."""
    if isinstance(scores, Ranks):
        means = list(scores.means().values())
        deltas = [means[upper] - means[lower] for upper, lower in pairs]
        return list(zip(deltas, signed_rank_tests(scores, pairs), strict=True))
    tests = pair_tests(scores, [(scores.runs[lower], scores.runs[upper]) for upper, lower in pairs])
    return [(test.delta, RankTest(1.0 if test.wsr is None else test.wsr, test.direction)) for test in tests]


def signed_rank_tests(ranks: Ranks, pairs: list[tuple[int, int]]) -> list[RankTest]:
    """Test pairs of rows of `ranks` on RR."""
    differences = Differences.of_reciprocal_ranks(ranks.k)
    tests = [signed_ranks(differences.tally(batch)) for batch in joint_histograms(ranks, pairs)]
    return [
        RankTest(p, -direction)
        for signed in tests
        for p, direction in zip(signed.p.tolist(), signed.direction.tolist(), strict=True)
    ]

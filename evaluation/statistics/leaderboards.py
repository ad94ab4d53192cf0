"""What preference qrels do to a leaderboard (Arabzadeh et al. 2022, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evaluation.files.about_runs import Outside
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.statistics.correlation import kendall_tau, tau_ap
from evaluation.statistics.joint_ranks import Differences, joint_histograms
from evaluation.statistics.ranks import Ranks
from evaluation.statistics.resampling import CONFIDENCE, DRAWS, Interval, bootstrap_intervals, t_intervals
from evaluation.statistics.significance import signed_ranks
from evaluation.statistics.winning import PERFECT, perfect_top


class RunScore(NamedTuple):
    """A run on one set of qrels. `place`: from 1; runs of the same mean share it. `t` is None for a single query."""

    mean: float
    place: int
    t: Interval | None
    bootstrap: Interval


class Neighbours(NamedTuple):
    """Two runs that follow each other on the original qrels: `upper` before `lower`.

    The deltas are the mean RR of `upper` less that of `lower`, the p-values those of WSR, raw. `changed`: `upper` is
    above on the original and below on the preference qrels. `significant`: the preference p is below the threshold.
    """

    upper: str
    lower: str
    original_delta: float
    original_p: float
    preference_delta: float
    preference_p: float
    changed: bool
    significant: bool


@dataclass(frozen=True)
class Leaderboard:
    """Runs on original and on preference qrels, over the queries that both name.

    `original` and `preference`: scores by run, in the order given. `perfect`: the mean RR, on the preference qrels,
    of the ranking that returns the original qrel first; `perfect_score`: with its intervals, and the place that it
    would have among the runs. `tau`, `tau_ap`: between the two orders, the original being the
    reference; None for less than two runs, `tau` also where all tie. `threshold`: alpha over the neighbours.
    """

    k: int
    queries: int
    original: dict[str, RunScore]
    preference: dict[str, RunScore]
    perfect: float
    perfect_score: RunScore
    tau: float | None
    tau_ap: float | None
    alpha: float
    threshold: float
    neighbours: tuple[Neighbours, ...]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "k": self.k,
            "queries": self.queries,
            "runs": {
                run: {"original": score._asdict(), "preference": self.preference[run]._asdict()}
                for run, score in self.original.items()
            },
            "perfect": self.perfect,
            "perfect_ranking": {"original": {"mean": 1.0}, "preference": self.perfect_score._asdict()},
            "tau": self.tau,
            "tau_ap": self.tau_ap,
            "alpha": self.alpha,
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
    seed: int = 0,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> Leaderboard:
    """From the ranks of the same runs on both qrels, over the same queries, and `perfect_finds` of these.

    Raises ValueError where there is no query, or runs or queries differ.
    """
    if original.runs != preference.runs or original.queries != preference.queries or original.k != preference.k:
        raise ValueError("two boards of other runs, queries or k")
    boards = [_score_runs(ranks, seed, draws, confidence) for ranks in (original, preference)]
    ranks = Ranks(original.k, (PERFECT,), original.queries, np.array([perfect], np.int64))
    ((_, ideal),) = _score_runs(ranks, seed, draws, confidence).items()
    ideal = ideal._replace(place=1 + sum(score.mean > ideal.mean for score in boards[1].values()))
    means = [[score.mean for score in board.values()] for board in boards]
    order = sorted(range(len(original.runs)), key=lambda run: -means[0][run])
    neighbours = list(pairwise(order))
    threshold = alpha / max(1, len(neighbours))
    return Leaderboard(
        k=original.k,
        queries=len(original.queries),
        original=boards[0],
        preference=boards[1],
        perfect=ideal.mean,
        perfect_score=ideal,
        tau=kendall_tau(*means),
        tau_ap=tau_ap(*means),
        alpha=alpha,
        threshold=threshold,
        neighbours=tuple(_neighbours(original, preference, means, neighbours, threshold)),
    )


def perfect_finds(original: Qrels, preference: Qrels, queries: Collection[str], min_grade: int = 1) -> list[bool]:
    """Of each query, whether its first original qrel is a preference qrel: all that the perfect ranking finds."""
    best, top = preference.relevant("all"), perfect_top(original, min_grade)
    return [top.get(query, ("",))[0] in best.get(query, ()) for query in queries]


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

    `everywhere`: mean RR by run on the original qrels, over all of their queries.
    """
    runs = [run for run in board.original if run in outside]
    scores = [outside[run].score for run in runs]
    original, preference = ({run: own[run].mean for run in runs} for own in (board.original, board.preference))
    return Agreement(
        len(runs), *(kendall_tau(scores, [own[run] for run in runs]) for own in (everywhere, original, preference))
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


def _score_runs(ranks: Ranks, seed: int, draws: int, confidence: float) -> dict[str, RunScore]:
    means = ranks.means()
    by_t = t_intervals(ranks, confidence)
    by_bootstrap = bootstrap_intervals(ranks, seed=seed, draws=draws, confidence=confidence)
    rows = zip(means.items(), places(list(means.values())), by_t, by_bootstrap, strict=True)
    return {run: RunScore(mean, place, t, bootstrap) for (run, mean), place, t, bootstrap in rows}


def _neighbours(
    original: Ranks, preference: Ranks, means: list[list[float]], pairs: list[tuple[int, int]], threshold: float
) -> Iterator[Neighbours]:
    before, after = (signed_rank_tests(ranks, pairs) for ranks in (original, preference))
    for (upper, lower), was, now in zip(pairs, before, after, strict=True):
        old, new = (own[upper] - own[lower] for own in means)
        yield Neighbours(
            upper=original.runs[upper],
            lower=original.runs[lower],
            original_delta=old,
            original_p=was.p,
            preference_delta=new,
            preference_p=now.p,
            changed=old > 0 > new,
            significant=now.p < threshold and now.better * new > 0,
        )


class RankTest(NamedTuple):
    """The signed-rank test of two runs: `p`, and `better`, 1 where the first ranks higher, -1 where the second does.

    The test may favour the run that has the lower mean: then its p says nothing for the other.
    """

    p: float
    better: float


def signed_rank_tests(ranks: Ranks, pairs: list[tuple[int, int]]) -> list[RankTest]:
    """Test pairs of rows of `ranks` on RR."""
    differences = Differences.of_reciprocal_ranks(ranks.k)
    tests = [signed_ranks(differences.tally(batch)) for batch in joint_histograms(ranks, pairs)]
    return [
        RankTest(p, -direction)
        for signed in tests
        for p, direction in zip(signed.p.tolist(), signed.direction.tolist(), strict=True)
    ]

"""Win ratios: whose top passage people preferred, run against run (Arabzadeh et al. 2022, section 4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.judging.pooling import Tops, canonical
from evaluation.statistics.resampling import Interval, share_interval
from evaluation.statistics.significance import Correction, sign_test, significance_threshold

# The name of a hypothetical run that returns the qrel first.
PERFECT = "perfect ranking"

# How several judgments of a pair count: as one outcome, that of the majority, or each by itself.
Counting = Literal["majority", "each"]

COUNTINGS: tuple[Counting, ...] = get_args(Counting)


class Meeting(NamedTuple):
    """Two runs, over the queries where their top passages differ.

    `differ`: queries where both have a top passage and the two are not the same. `judged`: those whose pair was judged.
    `a_wins`, `b_wins`: how often the top passage of each was preferred; `undecided`: as often one as the other, or a
    tie. `ratio`: b's share of the wins, with its exact 95% `interval`; None without any. `p`: exact two-sided binomial
    test of the wins, raw.
    """

    a: str
    b: str
    differ: int
    judged: int
    a_wins: int
    b_wins: int
    undecided: int
    ratio: float | None
    interval: Interval | None
    p: float
    significant: bool


class Apart(NamedTuple):
    """A run that was not pooled, against the pooled ones and the perfect ranking, summed over these.

    Nobody was asked about its top passages: they were judged where others brought them too, which is no fair sample.
    `differ`, `judged`, `undecided` as in `Meeting`; `won` and `lost` of its passages, `share` the won of both, None
    without any. `low` and `high` bound that share over all queries that differ, if it had lost or won all those that
    were not judged.
    """

    run: str
    differ: int
    judged: int
    won: int
    lost: int
    undecided: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Wins:
    """All meetings, in the order of the runs: (first, second), (first, third), ...

    `significant` in them is p < `threshold`, which `correction` makes of `alpha` for the family of all unordered pairs
    of runs. `apart`: the runs that were not pooled, which are in no meeting.
    """

    runs: tuple[str, ...]
    queries: int
    counting: Counting
    alpha: float
    correction: Correction
    threshold: float
    meetings: tuple[Meeting, ...]
    apart: tuple[Apart, ...] = ()

    def ratios(self) -> list[list[float | None]]:
        """[row][column]: how often the column's run was preferred to the row's; None where they never met."""
        size = len(self.runs)
        table: list[list[float | None]] = [[None] * size for _ in range(size)]
        for (a, b), meeting in zip(combinations(range(size), 2), self.meetings, strict=True):
            if meeting.ratio is not None:
                table[a][b] = meeting.ratio
                table[b][a] = meeting.a_wins / (meeting.a_wins + meeting.b_wins)
        return table

    def wins(self) -> dict[str, int]:
        """How many runs each run beats: in how many meetings it was preferred more often than not."""
        return self._beaten(significantly=False)

    def significant_wins(self) -> dict[str, int]:
        """How many runs each run beats significantly."""
        return self._beaten(significantly=True)

    def that_beat(self, run: str) -> list[str]:
        """The runs that significantly beat this one, in their order."""
        return [
            meeting.a if meeting.b == run else meeting.b
            for meeting in self.meetings
            if meeting.significant and run in (meeting.a, meeting.b) and self._winner(meeting) != run
        ]

    @staticmethod
    def _winner(meeting: Meeting) -> str:
        return meeting.a if meeting.a_wins > meeting.b_wins else meeting.b

    def _beaten(self, significantly: bool) -> dict[str, int]:
        beaten = dict.fromkeys(self.runs, 0)
        for meeting in self.meetings:
            if meeting.a_wins != meeting.b_wins and (meeting.significant or not significantly):
                beaten[self._winner(meeting)] += 1
        return beaten

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "runs": list(self.runs),
            "queries": self.queries,
            "counting": self.counting,
            "alpha": self.alpha,
            "correction": self.correction,
            "family": len(self.meetings),
            "threshold": self.threshold,
            "ratios": self.ratios(),
            "wins": self.wins(),
            "significant_wins": self.significant_wins(),
            "pairs": [meeting._asdict() for meeting in self.meetings],
            "apart": [run._asdict() for run in self.apart],
        }


def perfect_top(qrels: Qrels, min_grade: int = 1) -> dict[str, tuple[str, ...]]:
    """The top of the perfect ranking: the first relevant passage of each query in the file, as for pools."""
    return {query: passages for query, passages in qrels.relevant("first", min_grade).items() if passages}


def win_ratios(
    tops: Mapping[str, Tops],
    queries: Iterable[str],
    preferences: Iterable[Preference],
    *,
    counting: Counting = "majority",
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    pooled: Collection[str] | None = None,
) -> Wins:
    """Every two runs, given by name with their top passages, over the queries given. If not all were `pooled`, every
    two of those that were, and the others apart.

    By majority, a query is one win at most, so that the test's trials are queries. `each` counts every judgment.
    """
    if counting not in COUNTINGS:
        raise ValueError(f"counting {counting!r} where there is {' and '.join(COUNTINGS)}")
    names = tuple(tops)
    chosen = tuple(dict.fromkeys(queries))
    votes = _votes(preferences)
    differ, judged, won, undecided = (np.zeros((len(names), len(names)), np.int64) for _ in range(4))
    for query in chosen:
        holders: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(names):
            if top := tops[name].get(query):
                holders[top[0]].append(number)
        for first, other in combinations(sorted(holders), 2):
            meet = np.ix_(holders[first], holders[other])
            differ[meet] += 1
            cast = votes.get((query, first, other))
            if cast is None:
                continue
            judged[meet] += 1
            for_one, for_other, ties = _count(cast, counting)
            won[meet] += for_one
            won[np.ix_(holders[other], holders[first])] += for_other
            undecided[meet] += ties
    places = [number for number, name in enumerate(names) if pooled is None or name in pooled]
    pairs = list(combinations(places, 2))
    p = sign_test([won[a, b] for a, b in pairs], [won[b, a] for a, b in pairs])
    threshold = significance_threshold(p, alpha, correction)
    both = [_mirror(counts) for counts in (differ, judged, undecided)]
    meetings = []
    for (a, b), value in zip(pairs, p.tolist(), strict=True):
        of_a, of_b = int(won[a, b]), int(won[b, a])
        ratio, interval = of_b / (of_a + of_b) if of_a + of_b else None, share_interval(of_b, of_a)
        counts = [int(table[a, b]) for table in both]
        meetings.append(
            Meeting(
                *(names[a], names[b], counts[0], counts[1], of_a, of_b, counts[2]),
                *(ratio, interval, value, value < threshold),
            )
        )
    apart = [
        _apart(name, *(int(table[number, places].sum()) for table in (*both, won, won.T)))
        for number, name in enumerate(names)
        if number not in places
    ]
    runs = tuple(names[number] for number in places)
    return Wins(runs, len(chosen), counting, alpha, correction, threshold, tuple(meetings), tuple(apart))


def _apart(run: str, differ: int, judged: int, undecided: int, won: int, lost: int) -> Apart:
    decided, unjudged = won + lost, differ - judged
    share = won / decided if decided else None
    total = decided + unjudged
    bounds = (won / total, (won + unjudged) / total) if total else (None, None)
    return Apart(run, differ, judged, won, lost, undecided, share, *bounds)


# Judgments for the first passage of a pair in canonical order, for the second, and for neither.
Votes = tuple[int, int, int]


def _votes(preferences: Iterable[Preference]) -> dict[tuple[str, str, str], Votes]:
    votes: dict[tuple[str, str, str], Votes] = {}
    for query, a, b, preferred in preferences:
        pair = canonical(a, b)
        first, other, ties = votes.get((query, *pair), (0, 0, 0))
        votes[query, *pair] = (
            first + (preferred == pair[0]),
            other + (preferred == pair[1]),
            ties + (preferred is None),
        )
    return votes


def _count(cast: Votes, counting: Counting) -> Votes:
    if counting == "each":
        return cast
    first, other, _ = cast
    return int(first > other), int(other > first), int(first == other)


def _mirror(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    mirrored: NDArray[np.int64] = counts + counts.T
    return mirrored

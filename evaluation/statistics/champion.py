"""The champion check: is the qrel beaten by what a good run puts first? (Arabzadeh et al. 2022, section 3)"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.judging.pooling import ChampionQrel, Tops, canonical, champion_pairs
from evaluation.statistics.resampling import CONFIDENCE, Interval, share_interval
from evaluation.statistics.significance import sign_test


class Category(NamedTuple):
    """Queries by what people preferred: the qrel, the passage compared with it, or as often one as the other."""

    qrel: int
    other: int
    undecided: int

    @property
    def queries(self) -> int:
        """How many were judged."""
        return sum(self)

    @property
    def other_share(self) -> float | None:
        """How often the other passage was preferred, of the decided; None without any."""
        return self.other / (self.qrel + self.other) if self.qrel + self.other else None

    def interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """The exact interval (Clopper and Pearson) of `other_share`; None without any decided."""
        return share_interval(self.other, self.qrel, confidence)

    @property
    def p(self) -> float:
        """The exact two-sided binomial test of the decided, raw."""
        return float(sign_test([self.qrel], [self.other])[0])


@dataclass(frozen=True)
class ChampionCheck:
    """`a`: queries whose top passage is the qrel, which was compared with the second. `b`: where it is not, and was
    compared with the qrel. `unjudged`: queries that have a pair but no judgment of it. Where each qrel of a query is
    asked about, these are comparisons instead of queries.
    """

    a: Category
    b: Category
    unjudged: int

    @property
    def crowd_error(self) -> float | None:
        """How often people err, if the qrel is the best passage wherever the run agrees with it: the share in A."""
        return self.a.other_share

    def slices(self) -> tuple[int, int, int, int]:
        """Queries in the four slices of the paper's figure 2, in its order, without the undecided.

        The two disagree and the run's passage is preferred; they disagree and the qrel is; they agree and the second
        passage is preferred; they agree and the top passage is.
        """
        return self.b.other, self.b.qrel, self.a.other, self.a.qrel

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        categories = {
            name: {
                **part._asdict(),
                "queries": part.queries,
                "other_share": part.other_share,
                "interval": part.interval(),
                "p": part.p,
            }
            for name, part in (("a", self.a), ("b", self.b))
        }
        return {**categories, "unjudged": self.unjudged, "slices": list(self.slices()), "crowd_error": self.crowd_error}


def champion_outcomes(
    tops: Tops, qrels: Qrels, preferences: Iterable[Preference], *, min_grade: int = 1, choice: ChampionQrel = "first"
) -> ChampionCheck:
    """What the judgments say about the pairs of `champion_pairs`; the majority decides where there are several."""
    votes: dict[tuple[str, str, str], dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
    for query, first, other, preferred in preferences:
        votes[query, *canonical(first, other)][preferred] += 1
    counts = {"a": [0, 0, 0], "b": [0, 0, 0]}
    unjudged = 0
    for pair in champion_pairs(tops, qrels, min_grade=min_grade, choice=choice):
        cast = votes.get(pair.pair)
        if cast is None:
            unjudged += 1
            continue
        for_qrel, for_other = cast[pair.qrel], cast[pair.other]
        kind = 0 if for_qrel > for_other else 1 if for_other > for_qrel else 2
        counts[pair.category][kind] += 1
    return ChampionCheck(Category(*counts["a"]), Category(*counts["b"]), unjudged)

"""What more judgments would settle: for open queries, by drawing what people would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evaluation.files.preferences import Pair, Preference
from evaluation.judging.batch_tournaments import by_size
from evaluation.judging.pooling import canonical
from evaluation.judging.posterior import Judging, play_forward
from evaluation.statistics.certainty import certainty
from evaluation.statistics.confidence_sets import SURE, confidence_set

_DRAWS, _FEWEST, _ENOUGH = 1 << 20, 150, 1_500  # of what is true: of all queries together, and of each
_FUTURES, _EACH = 25, 15  # the fewest; and one for so many draws
WANTED = (1, 2, 3)  # sizes of a confidence set that somebody may want
JUDGMENTS = (3, 5, 7)  # of a pair, that somebody may want


class Prospect(NamedTuple):
    """What a query needs, and gains, until each pair of its confidence set has a number of judgments.

    `lacking`: how many pairs lack so many judgments, by that number. `chances`: that its set then has 1, 2 or 3
    passages (`WANTED`) or fewer. In rounds, it is each pair of the set that was in the final.
    """

    lacking: dict[int, int]
    chances: list[float]


def settling_prospects(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    sets: Mapping[str, Collection[str]],
    *,
    judging: Judging,
    judgments: Sequence[int] = JUDGMENTS,
    level: float = SURE,
    seed: int = 0,
    finals: Mapping[str, Collection[str]] | None = None,
) -> dict[str, dict[int, Prospect]]:
    """By query, sorted, and number of judgments of a pair; `sets` are the confidence sets. Queries whose set has one
    passage are left out.

    `finals` are who played in the finals, where rounds found the answers: only their pairs are asked about, as no
    judgment brings back a passage that is out. What people will say is drawn 25 times or more, from what is probable by
    all judgments and by how people judge. Where there are thousands of queries, draws are few, and the chances up to
    two times too high. The same seed gives the same.
    """
    open_ = {query: {*likely} for query, likely in sets.items() if len(likely) > 1}
    rows = [row for row in preferences if row.query in open_]
    draws = min(max(_DRAWS // max(1, len(open_) * len(judging.weights)), _FEWEST), _ENOUGH)
    prospects: dict[str, dict[int, Prospect]] = {}
    for group in by_size({query: pools[query] for query in open_}, rows):
        first, second = np.triu_indices(group.size, 1)
        is_asked = np.zeros((len(group.pools), group.size), np.bool_)
        for at, (query, pool) in enumerate(group.pools.items()):
            among = open_[query] if finals is None else open_[query].intersection(finals[query])
            is_asked[at] = [passage in among for passage in pool]
        pairs = is_asked[:, first] & is_asked[:, second]
        lacking = [np.where(pairs, np.maximum(0, number - group.counts.sum(axis=2)), 0) for number in judgments]
        after = play_forward(group, judging, lacking, max(_FUTURES, draws // _EACH), draws, seed=seed)
        for number, times, best in zip(judgments, lacking, after, strict=True):
            likeliest = np.sort(best, axis=2)[..., ::-1]
            sizes = 1 + (np.cumsum(likeliest, axis=2)[..., :-1] < level - 1e-9).sum(axis=2)
            for query, lacks, futures in zip(group.pools, times, sizes, strict=True):
                prospects.setdefault(query, {})[number] = Prospect(
                    dict(sorted(Counter(lacks[lacks > 0].tolist()).items())),
                    [float((futures <= size).mean()) for size in WANTED],
                )
    return dict(sorted(prospects.items()))


class Worth(NamedTuple):
    """A query that may be asked about again: sorts by its `chance` of being settled for each judgment, then by id.

    `lacking`: how many pairs lack so many judgments, by that number.
    """

    rank: float
    query: str
    chance: float
    lacking: dict[int, int]

    @property
    def judgments(self) -> int:
        """How many it takes."""
        return sum(needed * pairs for needed, pairs in self.lacking.items())


def rank_by_worth(prospects: Mapping[str, Prospect], size: int) -> list[Worth]:
    """The queries that may come to a set of `size` passages, those first where a judgment settles the most."""
    rows = (
        Worth(0.0, query, prospect.chances[WANTED.index(size)], prospect.lacking)
        for query, prospect in prospects.items()
    )
    return sorted(row._replace(rank=-row.chance / row.judgments) for row in rows if row.lacking and row.chance)


def choose_again(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    judgments: int,
    size: int = 1,
    budget: int | None = None,
    seed: int = 0,
) -> list[Pair]:
    """The pairs of whole tournaments to ask again, sorted, each as often as it lacks one of so many judgments: those of
    confidence sets with more than `size` passages, as `rank_by_worth` has them, within a budget of judgments.
    """
    rows = list(preferences)
    certain = certainty(pools, rows, seed=seed)
    sets = {query: confidence_set(chances) for query, chances in certain.chances.items()}
    # As results have them, of all that may be asked, so that the same is drawn.
    prospects = settling_prospects(pools, rows, sets, judging=certain.judging, seed=seed)
    times = Counter(Pair(row.query, *canonical(row.a, row.b)) for row in rows)
    pairs: list[Pair] = []
    larger = {query: by_number[judgments] for query, by_number in prospects.items() if len(sets[query]) > size}
    for worth in rank_by_worth(larger, size):
        if budget is not None and len(pairs) + worth.judgments > budget:
            break
        among = (Pair(worth.query, *pair) for pair in combinations(sorted(sets[worth.query]), 2))
        pairs += [pair for pair in among for _ in range(judgments - times[pair])]
    return sorted(pairs)

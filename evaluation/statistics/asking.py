"""What more judgments would settle: for open queries, by drawing what people would say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evaluation.files.preferences import Preference
from evaluation.judging.pooling import canonical
from evaluation.statistics.certainty import SURE

FUTURES = 25
WANTED = (1, 2, 3)  # sizes of a confidence set that somebody may want
JUDGMENTS = (3, 5, 7)  # of a pair, that somebody may want
_RARE = 0.01  # a judgment is never surer than that


class Prospect(NamedTuple):
    """What a query needs, and gains, until each pair of its confidence set has a number of judgments.

    `lacking`: how many pairs lack so many judgments, by that number. `chances`: that its set then has 1, 2 or 3
    passages (`WANTED`) or fewer. In rounds, it is each pair of the set that was in the final.
    """

    lacking: dict[int, int]
    chances: list[float]


def settling_prospects(
    chances: Mapping[str, Mapping[str, float]],
    preferences: Iterable[Preference],
    sets: Mapping[str, Collection[str]],
    *,
    error_rate: float,
    judgments: Sequence[int] = JUDGMENTS,
    level: float = SURE,
    seed: int = 0,
    finals: Mapping[str, Collection[str]] | None = None,
) -> dict[str, dict[int, Prospect]]:
    """By query, sorted, and number of judgments of a pair; `chances` are P(best) of its passages, and `sets` the
    confidence sets. Queries whose set has one passage are left out.

    `finals` are who played in the finals, where rounds found the answers: only their pairs are asked about, as no
    judgment brings back a passage that is out.

    What people will say is drawn `FUTURES` times: which passage is the best, by P(best); then judgments of its pairs,
    wrong by the error rate, 0 to 0.5, and of other pairs, which may go either way. P(best) follows from these as if
    judgments said of a passage only whether it is the best. The same seed gives the same.
    """
    judged: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for query, a, b, _ in preferences:
        judged[query][canonical(a, b)] += 1
    random, rate = np.random.default_rng(seed), min(max(error_rate, _RARE), 0.5)
    # What a judgment for a passage, and one against it, say of its being the best.
    right, wrong = np.log(2 * (1 - rate)), np.log(2 * rate)
    prospects: dict[str, dict[int, Prospect]] = {}
    for query in sorted(query for query, likely in sets.items() if len(likely) > 1):
        passages = {*sets[query]} if finals is None else {*sets[query]}.intersection(finals[query])
        names = sorted(chances[query])
        before = np.array([chances[query][passage] for passage in names])
        inside = [at for at, passage in enumerate(names) if passage in passages]
        pairs = list(combinations(inside, 2))
        has = np.array([judged[query][names[first], names[other]] for first, other in pairs], np.int64)
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        best = random.choice(len(names), FUTURES, p=before / before.sum())[:, None]
        first = np.where(best == ends[:, 0], 1 - rate, np.where(best == ends[:, 1], rate, 0.5))
        prospects[query] = {}
        for target in judgments:
            lacking = np.maximum(0, target - has)
            won = random.binomial(lacking, first)  # [futures x pairs], by the first
            logs = np.zeros((FUTURES, len(names)))
            for at, (place, other) in enumerate(pairs):
                lost = lacking[at] - won[:, at]
                logs[:, place] += won[:, at] * right + lost * wrong
                logs[:, other] += lost * right + won[:, at] * wrong
            after = before * np.exp(logs - logs.max(axis=1, keepdims=True))
            after /= after.sum(axis=1, keepdims=True)
            likeliest = np.sort(after, axis=1)[:, ::-1]
            sizes = 1 + (np.cumsum(likeliest, axis=1)[:, :-1] < level - 1e-9).sum(axis=1)
            prospects[query][target] = Prospect(
                dict(sorted(Counter(lacking[lacking > 0].tolist()).items())),
                [float((sizes <= size).mean()) for size in WANTED],
            )
    return prospects

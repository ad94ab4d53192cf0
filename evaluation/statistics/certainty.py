"""How sure the best known answers and the order of runs are: by all judgments, and with queries drawn again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import by_size
from evaluation.judging.posterior import Judging, best_chances, given, judge_again, learn
from evaluation.judging.tournament import derive
from evaluation.measures.named import Measure
from evaluation.statistics.bootstrap import RunOrder, Scores
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE, DRAWS

_AGAIN, _FEW = 3, 200  # more times that truths are judged again, for so many queries


class Certainty(NamedTuple):
    """`answers`: by query, how probable it is of each best known answer that it is the best passage. `runs`: their
    ranks. `chances`: by query and passage of the pool, P(best), which add up to 1; the likeliest comes first, equal
    ones by id. `error_rate`: how often a judgment is wrong, as given or learned; `judging`: how people judge.
    """

    answers: dict[str, dict[str, float]]
    runs: list[RunOrder]
    chances: dict[str, dict[str, float]]
    error_rate: float
    judging: Judging


def certainty(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    *,
    board: Board | None = None,
    measure: Measure | None = None,
    error_rate: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    allow_incomplete: bool = False,
    counted: Iterable[Preference] | None = None,
    best: Mapping[str, Collection[str]] | None = None,
) -> Certainty:
    """P(best) from all judgments, by the model of `posterior`; and where the runs of a board stand, with queries drawn
    again. Runs are scored by RR@k of the board, or by another measure of `bootstrap.KINDS` with its cutoff.

    The answers are those of the judgments, or of `counted`: the same with what was decided on adjudicated pairs; or
    those of `best`, by query, where other rules found them, as rounds do: then other pools are left out.

    How people err is learned from all judgments, those of incomplete pools too, unless an error rate is given.

    As judgments may be wrong, what runs score on the answers lies too near to what any run would score; and so does
    what they are expected to score by P(best). By how much, two steps tell. Of pools of a size, P(best) of the best
    passage is on average the mean of the sum of all squared P(best): gains over any passage are divided by what that
    leaves of them. But passages that are nearly the best are taken for it more often than others, and good runs rank
    them high, too. So truths are drawn that the judgments make probable, they are judged again, and what that leaves of
    the gains is compared with what the first step says. Corrected scores vary from query to query by errors of
    judgments too, so queries drawn again vary by both. How probable it is that a run is first takes account of how far
    runs lie apart: the less, the more of what lies between them is chance.

    Pools that `derive` refuses are left out. The same seed gives the same, whatever the order of the input, and
    the same answers with a board and without. Raises ValueError where there is a board and no pool gives qrels, or
    where the error rate is not 0 to 1/2, or where the measure is another or has another cutoff.
    """
    if board is not None and measure is not None and measure.cutoff != board.k:
        raise ValueError(f"measure {measure} where the board has k {board.k}")
    if error_rate is not None and not 0 <= error_rate <= 0.5:
        raise ValueError(f"error rate {error_rate} where 0 to 0.5 is needed")
    judgments = list(preferences)
    if best is None:
        best = _answers(pools, judgments if counted is None else counted, allow_incomplete)
    if board is not None and not best:
        raise ValueError("no pool gives qrels")
    groups = by_size(pools, judgments)
    judging = learn(groups, seed=seed) if error_rate is None else given(error_rate)
    scores = None if board is None else Scores(board, measure)
    chances_by_query: dict[str, dict[str, float]] = {}
    for group in groups:
        places = [at for at, query in enumerate(group.pools) if query in best]
        if not places:
            continue
        chances = best_chances(group, judging, seed=seed)[places]
        names = list(group.pools.items())
        pools_of_best = {names[at][0]: names[at][1] for at in places}
        for (query, pool), row in zip(pools_of_best.items(), chances.tolist(), strict=True):
            chances_by_query[query] = dict(sorted(zip(pool, row, strict=True), key=lambda pair: (-pair[1], pair[0])))
        if scores is not None:
            random = np.random.default_rng([seed, group.size])
            again = [
                best_chances(judge_again(group, judging, random), judging, seed=seed)[places]
                for _ in range(1 + min(_AGAIN, _FEW // len(best)))
            ]
            scores.add(pools_of_best, best, chances, np.mean(again, axis=0))
    return Certainty(
        {
            query: {passage: chances_by_query[query][passage] for passage in sorted(best[query])}
            for query in sorted(chances_by_query)
        },
        [] if scores is None else scores.orders(draws, confidence, np.random.default_rng(seed)),
        {query: chances_by_query[query] for query in sorted(chances_by_query)},
        error_rate if error_rate is not None else judging.error_rate,
        judging,
    )


def _answers(
    pools: Mapping[str, Collection[str]], judgments: Iterable[Preference], allow_incomplete: bool
) -> dict[str, set[str]]:
    """The best known answers of the pools that give qrels."""
    best: dict[str, set[str]] = {}
    for query, passage in derive(pools, judgments, allow_incomplete=allow_incomplete).qrels:
        best.setdefault(query, set()).add(passage)
    return best

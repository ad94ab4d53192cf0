"""How fast runs are compared and scored again, at the scale of a leaderboard.

All pairs of 120 generated runs over 6,980 queries, with every statistic, against scipy called pair by pair for the
same p-values. scipy is timed on a sample of pairs, by turns with ours, and scaled to all. Then 160 runs are scored on
new qrels from their stored artifacts' passages, held as numbers, against pytrec_eval, called for a few runs that are
there as it wants them, and scaled to all. Times are of CPU.

    python -m benchmarks.comparing            judged: exits with 1 if a limit is broken
    python -m benchmarks.comparing --small    a quick look at whether all of it still runs; times are not judged
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytrec_eval
from numpy.typing import NDArray
from scipy import stats

from evaluation.files.artifact import RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.statistics.comparing import compare
from evaluation.statistics.ranks import Board, Ranks, ranks_of, reciprocals

RATIOS = {10: 1 / 100, 100: 1 / 30}
RESCORE_RATIO = 1 / 2
DEPTH = 10
CANDIDATES = 200
DISTINCT = 8  # generated runs to score; the others are the same under other names, which costs the same


class Scale(NamedTuple):
    queries: int
    runs: int
    scored: int
    sample: int
    rounds: int


FULL = Scale(queries=6_980, runs=120, scored=160, sample=12, rounds=3)
SMALL = Scale(queries=200, runs=6, scored=4, sample=2, rounds=1)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.comparing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="few runs and queries, no limits")
    options = parser.parse_args()
    scale = SMALL if options.small else FULL
    verdicts = [*(_comparing(scale, k) for k in RATIOS), _scoring(scale)]
    good = True
    for name, value, limit in verdicts:
        verdict = "not judged" if options.small else "PASS" if value <= limit else "FAIL"
        good = good and verdict != "FAIL"
        print(f"{verdict:<10}  {name}: {value:.4f} (limit {limit:.4f})")
    return 0 if good else 1


def _comparing(scale: Scale, k: int) -> tuple[str, float, float]:
    ranks = _generated_ranks(scale, k)
    pairs = list(combinations(range(scale.runs), 2))
    sample = [pairs[at] for at in np.random.default_rng(1).choice(len(pairs), scale.sample, replace=False)]
    ours, theirs = [], []
    for _ in range(scale.rounds):
        ours.append(_seconds(lambda: compare(ranks)))
        theirs.append(_seconds(lambda: [_by_scipy(ranks, *pair) for pair in sample]) * len(pairs) / len(sample))
    print(f"{len(pairs):,} pairs at k = {k}: {min(ours):.2f} s; scipy pair by pair {min(theirs):.1f} s")
    return f"comparing at k = {k}, time against scipy's", min(ours) / min(theirs), RATIOS[k]


def _generated_ranks(scale: Scale, k: int) -> Ranks:
    """Queries differ in how hard they are, runs in how good: like real runs, these agree and differ."""
    random = np.random.default_rng(k)
    hard, good = random.gamma(1, 1, scale.queries), random.uniform(0.5, 1.5, (scale.runs, 1))
    places = random.geometric(np.clip(0.4 * np.exp(-hard * good), 0.002, 1)).astype(np.int64)
    places[places > k] = 0
    queries = tuple(map(str, range(scale.queries)))
    return Ranks(k, tuple(f"run{number}" for number in range(scale.runs)), queries, places)


def _by_scipy(ranks: Ranks, first: int, second: int) -> list[float]:
    a, b = ranks.places[first], ranks.places[second]
    x, y = reciprocals(ranks.k)[a], reciprocals(ranks.k)[b]
    both = (a > 0) & (b > 0)
    only = int((a > 0).sum() - both.sum()), int((b > 0).sum() - both.sum())
    answers = [
        stats.ranksums(x, y).pvalue,
        stats.mannwhitneyu(x, y, use_continuity=False).pvalue,
        _signed_ranks(x, y),
        stats.ttest_rel(x, y).pvalue,
        stats.binomtest(only[0], sum(only)).pvalue,
    ]
    for left, right in ((a[both], b[both]), (x[both], y[both])):
        answers += [_signed_ranks(left, right), stats.ttest_rel(left, right).pvalue]
    return answers


def _signed_ranks(x: NDArray[Any], y: NDArray[Any]) -> float:
    outcome = stats.wilcoxon(x, y, zero_method="wilcox", correction=False, method="asymptotic")
    return float(outcome.pvalue)


def _scoring(scale: Scale) -> tuple[str, float, float]:
    random = np.random.default_rng(0)
    candidates = random.integers(0, 8_800_000, (scale.queries, CANDIDATES))
    runs_ = [_generated_run(candidates, random) for _ in range(min(DISTINCT, scale.scored))]
    runs = {f"run{number}": runs_[number % len(runs_)] for number in range(scale.scored)}
    boards: list[Board] = []
    took = _seconds(lambda: boards.append(Board(runs, DEPTH, "score")))
    qrels = [
        Qrels({str(query): {str(ids[place]): 1} for query, ids in enumerate(candidates)})
        for place in range(scale.rounds)
    ]
    again = min(_seconds(partial(_score, boards[0], new)) for new in qrels)
    seconds = min(_seconds(partial(_score_once, runs, new)) for new in qrels)
    theirs = min(_by_trec_eval(candidates, len(runs_), place) for place in range(scale.rounds))
    theirs *= scale.scored / len(runs_)
    print(
        f"{scale.scored} runs on new qrels: {seconds:.2f} s from their artifacts; pytrec_eval {theirs:.1f} s; "
        f"{took:.2f} s to bring their passages together, and {again:.2f} s each time then"
    )
    return f"scoring {scale.scored} runs on new qrels, time against pytrec_eval's", seconds / theirs, RESCORE_RATIO


def _by_trec_eval(candidates: NDArray[np.int64], count: int, place: int) -> float:
    """Seconds of CPU for the reciprocal ranks of so many runs."""
    qrels = {str(query): {str(ids[place]): 1} for query, ids in enumerate(candidates)}
    run = {
        str(query): {str(one): float(-rank) for rank, one in enumerate(ids[:DEPTH])}
        for query, ids in enumerate(candidates)
    }
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"})
    return _seconds(lambda: [evaluator.evaluate(run) for _ in range(count)])


def _score(board: Board, qrels: Qrels) -> dict[str, float]:
    return board.ranks(qrels).means()


def _score_once(runs: dict[str, RunArtifact], qrels: Qrels) -> dict[str, float]:
    return ranks_of(runs, qrels, DEPTH, "score").means()


def _generated_run(candidates: NDArray[np.int64], random: np.random.Generator) -> RunArtifact:
    queries = len(candidates)
    ranked = random.permuted(candidates, axis=1)[:, :DEPTH]
    passages, codes = np.unique(ranked.ravel(), return_inverse=True)
    places = codes.astype(np.int32)
    ids = pa.array(passages).cast(pa.string())
    starts, hits = np.arange(0, queries * DEPTH + 1, DEPTH), np.full(queries, DEPTH)
    return RunArtifact(DEPTH, tuple(map(str, range(queries))), ids, starts, places, places, hits)


def _seconds(work: Callable[[], object]) -> float:
    """Of CPU: how busy the machine is otherwise does not count."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())

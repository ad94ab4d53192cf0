"""What the certainty of answers and ranks costs: all resamples at once, against one multinomial draw after the other.

A campaign of the largest design's pools, a tenth of its queries, 16 runs, three judgments a pair. Both ways tell the
same: shares of resamples in which each best known answer stays, and where the runs stand. The peer draws answers and
ranks one after the other, a multinomial for every pair and resample, and plays every tournament as a square table.
Times are of CPU. What `python -m evaluation certainty` does for a query, by an error rate and with fragility, is judged
against the same peer. So is what results do for all queries of the design, each pair judged once: certainty, fragility,
reversals, and what more judgments would settle; there the peer's time is taken times ten.

    python -m benchmarks.certainty            judged: exits with 1 if the limit is broken
    python -m benchmarks.certainty --small    a quick look at whether it still runs; times are not judged
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.packing import PAIRS, QUERIES, sizes
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference
from evaluation.judging.batch_tournaments import SizedPools, by_size
from evaluation.statistics.asking import settling_prospects
from evaluation.statistics.certainty import certainty, confidence_set
from evaluation.statistics.fragility import fragilities
from evaluation.statistics.ranks import Board, reciprocals
from evaluation.statistics.resampling import DRAWS, query_weights
from evaluation.statistics.reversals import reverse_judgments

RATIO = 1 / 3
ALL_RATIO = 0.4  # of all queries; about 19 s on a busy machine, where the peer takes 63 for them
RUNS = 16
DEPTH = 10
OVERLAP = 3
RIGHT = 0.75  # of the judgments
BATCH = 1 << 21

Shares = dict[str, dict[str, float]]


def main() -> int:
    """Measure, print, and return 1 if the limit is broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.certainty",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="few queries, no limit")
    small = parser.parse_args().small
    share = 200 if small else 10
    random = np.random.default_rng(0)
    pools = {
        f"q{query:04}": tuple(f"p{query:04}-{place:02}" for place in range(size))
        for query, size in enumerate(sizes(QUERIES // share, PAIRS // share))
    }
    board = Board({f"run{number}": _run(pools, random) for number in range(RUNS)}, DEPTH, "score")
    judgments = [
        Preference(query, a, b, a if random.random() < RIGHT else b)
        for query, pool in pools.items()
        for a, b in combinations(pool, 2)
        for _ in range(OVERLAP)
    ]
    started = time.process_time()
    ours = certainty(pools, judgments, board=board)
    at_once = time.process_time() - started
    by_rate = time.process_time()
    certainty(pools, judgments, error_rate=1 - RIGHT)
    fragile = [found for group in by_size(pools, judgments) for found in fragilities(group).values()]
    by_rate = time.process_time() - by_rate
    assert all(found.exact for found in fragile)
    whole = QUERIES // (share if small else 1)
    every = {f"q{query:04}": tuple(f"p{at:02}" for at in range(size)) for query, size in enumerate(_all_sizes(whole))}
    all_at_once = _results_of(every, random)
    started = time.process_time()
    answers, first = _answers_by_multinomials(pools, judgments), _first_by_multinomials(pools, judgments, board)
    one_by_one = time.process_time() - started
    # The same numbers, but for the draws.
    apart = [abs(share - answers[query][best]) for query, own in ours.answers.items() for best, share in own.items()]
    apart += [abs(run.first - share) for run, share in zip(ours.runs, first, strict=True)]
    assert max(apart) < 0.12, max(apart)
    ratios = {
        "certainty at once": (at_once / one_by_one, RATIO),
        "by an error rate, and fragility": (by_rate / one_by_one, RATIO),
        "of all queries, with reversals and what more judgments settle": (
            all_at_once / one_by_one * len(pools) / whole,
            ALL_RATIO,
        ),
    }
    print(
        f"{len(pools):,} pools, {len(judgments):,} judgments, {DRAWS:,} resamples: {at_once:.2f} s at once "
        f"({by_rate:.2f} s by an error rate, with fragility), {one_by_one:.2f} s by multinomials; "
        f"{all_at_once:.2f} s for the results of {whole:,} pools"
    )
    for what, (ratio, limit) in ratios.items():
        verdict = "not judged" if small else "PASS" if ratio <= limit else "FAIL"
        print(f"{verdict:<10}  {what}, time against multinomials: {ratio:.4f} (limit {limit:.4f})")
    return int(not small and any(ratio > limit for ratio, limit in ratios.values()))


def _all_sizes(queries: int) -> list[int]:
    return sizes(queries, PAIRS * queries // QUERIES)


def _results_of(pools: dict[str, tuple[str, ...]], random: np.random.Generator) -> float:
    """The time that results take for the certainty of these pools, each pair judged once."""
    judgments = [
        Preference(query, a, b, a if random.random() < RIGHT else b)
        for query, pool in pools.items()
        for a, b in combinations(pool, 2)
    ]
    board = Board({"run": _run(pools, random)}, DEPTH, "score")
    started = time.process_time()
    chances = certainty(pools, judgments, board=board, error_rate=1 - RIGHT).chances
    fragile = [found for group in by_size(pools, judgments) for found in fragilities(group).values()]
    turned = reverse_judgments(pools, judgments, board=board, queries=list(pools))
    sets = {query: confidence_set(own) for query, own in chances.items()}
    prospects = settling_prospects(pools, judgments, sets, error_rate=1 - RIGHT)
    seconds = time.process_time() - started
    assert len(fragile) == len(turned.answers) == len(pools) >= len(prospects)
    return seconds


def _run(pools: dict[str, tuple[str, ...]], random: np.random.Generator) -> RunArtifact:
    """The passages of every pool in random order, and others below."""
    ranked = [
        [*(pool[place] for place in random.permutation(len(pool))), *(f"{query}-{at}" for at in range(DEPTH))][:DEPTH]
        for query, pool in pools.items()
    ]
    passages = pa.array([passage for own in ranked for passage in own], pa.string())
    encoded = passages.dictionary_encode()
    places = encoded.indices.to_numpy().astype(np.int32)
    starts, hits = np.arange(0, len(pools) * DEPTH + 1, DEPTH), np.full(len(pools), DEPTH)
    return RunArtifact(DEPTH, tuple(pools), encoded.dictionary, starts, places, places, hits)


# --- the peer


def _answers_by_multinomials(pools: dict[str, tuple[str, ...]], judgments: list[Preference]) -> Shares:
    random = np.random.default_rng(0)
    found = {}
    for group in by_size(pools, judgments):
        for start, won in _resampled(group, random):
            own = _winners(_halves(group.size, group.counts[start : start + len(won)]))
            for query, shares, best in zip(list(group.pools)[start:], won.mean(axis=1), own, strict=False):
                found[query] = {
                    passage: share
                    for passage, share, kept in zip(group.pools[query], shares.tolist(), best, strict=True)
                    if kept
                }
    return found


def _first_by_multinomials(pools: dict[str, tuple[str, ...]], judgments: list[Preference], board: Board) -> list[float]:
    random = np.random.default_rng(0)
    weights = np.concatenate(list(query_weights(len(pools), DRAWS, random)))
    column = {query: at for at, query in enumerate(sorted(pools))}
    means = np.zeros((RUNS, DRAWS))
    for group in by_size(pools, judgments):
        values = reciprocals(board.k)[board.places(group.pools)]
        columns = np.array([column[query] for query in group.pools])
        for start, won in _resampled(group, random):
            part = slice(start, start + len(won))
            for run in range(RUNS):
                reached = (values[run, part][:, None, :] * won).max(axis=2)
                means[run] += np.einsum("qd,dq->d", reached, weights[:, columns[part]])
    leads = means.round(9) == means.round(9).max(axis=0)
    return [float(share) for share in (leads / leads.sum(axis=0)).mean(axis=1)]


def _resampled(group: SizedPools, random: np.random.Generator) -> Any:
    if group.size == 1:
        yield 0, np.ones((len(group.pools), DRAWS, 1), np.bool_)
        return
    step = max(1, BATCH // (DRAWS * group.size**2))
    for start in range(0, len(group.pools), step):
        counts = group.counts[start : start + step]
        total = counts.sum(axis=-1)
        drawn = random.multinomial(total, counts / total[..., None], size=(DRAWS, *total.shape))
        yield start, _winners(_halves(group.size, drawn)).swapaxes(0, 1)


def _halves(size: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.zeros((*counts.shape[:-2], size, size), np.int64)
    for pair, (a, b) in enumerate(combinations(range(size), 2)):
        found[..., a, b] = 2 * counts[..., pair, 0] + counts[..., pair, 2]
        found[..., b, a] = 2 * counts[..., pair, 1] + counts[..., pair, 2]
    return found


def _winners(halves: NDArray[np.int64]) -> NDArray[np.bool_]:
    playing = np.ones(halves.shape[:-1], np.bool_)
    while True:
        scores = np.where(playing, (halves * playing[..., None, :]).sum(axis=-1), -1)
        leaders: NDArray[np.bool_] = scores == scores.max(axis=-1, keepdims=True)
        if np.array_equal(leaders, playing):
            return leaders
        playing = leaders


if __name__ == "__main__":
    sys.exit(main())

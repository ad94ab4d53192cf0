"""Submissions that are much like others: near-duplicates, and fusions of entries. Nothing is decided by this alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact

DEPTH = 10
PERSISTENCE = 0.9
# The two likest of 16 runs of the TREC 2021 Deep Learning track, by different teams or methods, are at 0.67.
THRESHOLD = 0.8
FUSION_THRESHOLD = 0.9
FUSION_DEPTH = 100
PARTS_MOST = 4
_GAIN = 0.01  # what another part of a fusion has to explain
_NEAREST = 20  # entries that are tried as parts
_SAMPLE = 500  # queries that fusions are tried on
_CONSTANT = 60  # of reciprocal rank fusion (Cormack et al. 2009)

Codes = NDArray[np.int64]


class Alike(NamedTuple):
    """An entry, and how much a run is like it: from 0 to 1, which is the same."""

    key: str
    similarity: float


class Fusion(NamedTuple):
    """Entries whose fusion a run is like, in the order in which they were found to explain it."""

    keys: tuple[str, ...]
    method: str
    similarity: float


def similarity(
    run: RunArtifact, other: RunArtifact, *, order: Order = "rank", depth: int = DEPTH, persistence: float = PERSISTENCE
) -> float:
    """Rank-biased overlap (Webber et al. 2010, extrapolated) of the first `depth` passages, as a mean over the queries
    that either run has. 1: the same passages in the same order; 0: none in common. Queries that one lacks count as 0.
    """
    lists = _Lists({"one": run, "other": other}, order, depth)
    return float(overlap(lists.codes["one"], lists.codes["other"], persistence).mean()) if lists.queries else 0.0


def near_duplicates(
    run: RunArtifact,
    others: Mapping[str, RunArtifact],
    *,
    threshold: float = THRESHOLD,
    order: Order = "rank",
    depth: int = DEPTH,
) -> list[Alike]:
    """The entries that a run is like by at least the threshold, the likest first, equals in the order given."""
    likenesses = [Alike(key, similarity(run, other, order=order, depth=depth)) for key, other in others.items()]
    return sorted(
        (likeness for likeness in likenesses if likeness.similarity >= threshold),
        key=lambda likeness: -likeness.similarity,
    )


def explaining_fusion(
    run: RunArtifact, others: Mapping[str, RunArtifact], *, threshold: float = FUSION_THRESHOLD, order: Order = "rank"
) -> Fusion | None:
    """A simple fusion of two to four entries that a run is like by at least the threshold, and more than each of them.

    By reciprocal rank (constant 60) and by Borda counts of the first 100. The parts are found one by one among the
    20 entries that the run is most like, over at most 500 of its queries. None where there is none.
    """
    sample = _sampled(run.queries)
    lists = _Lists({"": run, **others}, order, FUSION_DEPTH, sample)
    if not lists.queries:
        return None
    sought = lists.codes.pop("")[:, :DEPTH]
    near = {key: float(overlap(sought, codes[:, :DEPTH]).mean()) for key, codes in lists.codes.items()}
    nearest = sorted(near, key=lambda key: -near[key])[:_NEAREST]
    best: Fusion | None = None
    for method in ("reciprocal rank", "Borda"):
        parts, reached = nearest[:1], near[nearest[0]] if nearest else 0.0
        while len(parts) < PARTS_MOST:
            tried = {
                key: float(overlap(sought, fuse([lists.codes[part] for part in (*parts, key)], method)).mean())
                for key in nearest
                if key not in parts
            }
            key = max(tried, key=lambda key: tried[key], default=None)
            if key is None or tried[key] < reached + _GAIN:
                break
            parts, reached = [*parts, key], tried[key]
        if len(parts) > 1 and reached >= threshold and (best is None or reached > best.similarity):
            best = Fusion(tuple(parts), method, reached)
    return best


def overlap(first: Codes, other: Codes, persistence: float = PERSISTENCE) -> NDArray[np.float64]:
    """Rank-biased overlap of lists [queries x depth] of passages as numbers, best first, -1 where there are no more.

    Extrapolated by equation 32 of Webber et al. 2010: below its end, the shorter list is taken to agree with the longer
    one as it does down to there, so a list that was cut short is the same as the whole. 0 where a list is empty.
    """
    depth = first.shape[1]
    same = (first[:, :, None] == other[:, None, :]) & (first >= 0)[:, :, None]
    at = np.arange(depth)
    # In common to a depth: the pairs whose later rank is within it.
    later = np.maximum(at[:, None], at[None, :])
    common = np.stack([(same & (later <= place)).sum(axis=(1, 2)) for place in range(depth)], axis=1)
    lengths = np.sort([(first >= 0).sum(axis=1), (other >= 0).sum(axis=1)], axis=0)[:, :, None]
    shorter, longer = np.maximum(lengths, 1)
    shared = np.take_along_axis(common, shorter - 1, axis=1)
    agreement = (common + shared * np.maximum(at + 1 - shorter, 0) / shorter) / (at + 1)
    last = np.take_along_axis(agreement, longer - 1, axis=1)[:, 0]
    weights = np.where(at < longer, persistence ** (at + 1), 0)
    result: NDArray[np.float64] = last * persistence ** longer[:, 0]
    result += (1 - persistence) / persistence * (agreement * weights).sum(axis=1)
    return result


def fuse(lists: Sequence[Codes], method: str) -> Codes:
    """The first ten of the fused lists, each [queries x depth]: by the sum of 1/(60 + rank), or of Borda counts. Ties
    go to the passage with the best rank in any list, then to the one that the first of these lists has.
    """
    depth = lists[0].shape[1]
    ranks = np.arange(depth)
    points = 1 / (_CONSTANT + 1 + ranks) if method == "reciprocal rank" else (depth - ranks).astype(np.float64)
    codes = np.concatenate(lists, axis=1)
    weights = np.where(codes >= 0, np.tile(points, len(lists)), 0)
    # Hits of one passage side by side, the best first; their points are summed up on the first.
    tie = np.tile(ranks, len(lists)) * len(lists) + np.repeat(np.arange(len(lists)), depth)
    arranged = np.lexsort((np.broadcast_to(tie, codes.shape), codes), axis=1)
    codes, weights = (np.take_along_axis(values, arranged, axis=1) for values in (codes, weights))
    ties = tie[arranged]
    begins = np.ones(codes.shape, bool)
    begins[:, 1:] = codes[:, 1:] != codes[:, :-1]
    flat = np.flatnonzero(begins.ravel())
    sums = np.zeros(codes.size)
    sums[flat] = np.add.reduceat(weights.ravel(), flat)
    summed = np.where(begins & (codes >= 0), sums.reshape(codes.shape), -1.0)
    top = np.lexsort((ties, -summed), axis=1)[:, :DEPTH]
    fused: Codes = np.where(
        np.take_along_axis(summed, top, axis=1) > 0, np.take_along_axis(codes, top, axis=1), np.int64(-1)
    )
    return fused


def _sampled(queries: Collection[str]) -> list[str]:
    """At most so many, spread evenly over the run."""
    every = -(-len(queries) // _SAMPLE) if queries else 1
    return list(queries)[::every]


class _Lists:
    """The runs' top passages as numbers that all of them share: by run, [queries x depth]."""

    def __init__(
        self, runs: Mapping[str, RunArtifact], order: Order, depth: int, queries: Sequence[str] | None = None
    ) -> None:
        if queries is None:
            queries = list(dict.fromkeys(query for run in runs.values() for query in run.queries))
        self.queries = queries
        rows = dict(zip(queries, count()))
        tops: dict[str, tuple[Any, Codes, Codes]] = {}
        for key, run in runs.items():
            rows_of_run = np.array([rows.get(query, -1) for query in run.queries], np.int64)
            present = np.flatnonzero(rows_of_run >= 0)
            # A run may keep less than is asked for: then what it keeps.
            within = min(depth, run.depth) if (run.hits > run.depth).any() else depth
            top = run.matrix(order, within)[present].astype(np.int64)
            used = np.unique(top[top >= 0])
            places = np.full(len(run.passages), -1, np.int64)
            places[used] = np.arange(len(used))
            tops[key] = run.passages.take(pa.array(used)), rows_of_run[present], np.where(top >= 0, places[top], -1)
        every = [ids for ids, _, _ in tops.values()]
        shared = arrow_compute.unique(pa.chunked_array(every)) if every else pa.array([], pa.string())
        self.codes: dict[str, Codes] = {}
        for key, (ids, at, top) in tops.items():
            numbers = np.append(arrow_compute.index_in(ids, value_set=shared).to_numpy(zero_copy_only=False), -1)
            codes = np.full((len(queries), depth), -1, np.int64)
            codes[at, : top.shape[1]] = numbers[top]
            self.codes[key] = codes

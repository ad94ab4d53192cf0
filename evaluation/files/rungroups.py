"""Whole queries of a run, many at a time: their duplicates, their two orders, and what the census counts of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.files.runlines import TREC, Format, Rows
from evaluation.files.textfiles import NAMED_LINES, quote_value

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_MIX = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xFF51AFD7ED558CCD))


@dataclass(slots=True)
class Ranked:
    """Queries in the order of their rows. Flat arrays hold `lengths` entries for each query, best first.

    `passages`: ids in use (Arrow binary); `by_score`, `by_rank`, `by_score_up`: positions in it, the last with ties by
    id ascending. `first_ranks`: the lowest rank.
    `tied`, `top_tie`, `one_score`, `conflict`: by query, hits that share a score; whether the best two do; whether all
    of several do; whether the two orders put another passage first. `rank_ties`, `out_of_order`: hits with the rank of
    another; lines whose rank is lower than that of the query's line before. `duplicates`: (line, message) of the first
    of them, `duplicate_count` of all.
    `same_rank`, `same_score`: (line, message) of the first hits that share a rank, or a score, with one before.
    """

    sizes: Ints
    lengths: Ints
    passages: Any
    by_score: NDArray[np.int32]
    by_rank: NDArray[np.int32]
    by_score_up: NDArray[np.int32]
    first_ranks: Ints
    tied: Ints
    top_tie: Bools
    one_score: Bools
    conflict: Bools
    rank_ties: int
    out_of_order: int
    duplicates: list[tuple[int, str]]
    duplicate_count: int
    same_rank: list[tuple[int, str]]
    same_score: list[tuple[int, str]]


def starts_of(queries: Any) -> Ints:
    """Row numbers at which another query begins, the first row included."""
    changed = arrow_compute.not_equal(queries.slice(1), queries.slice(0, len(queries) - 1))
    return np.concatenate(([0], np.flatnonzero(changed.to_numpy(zero_copy_only=False)) + 1))


def ranks_by_score(rows: Rows, starts: Ints) -> Ints:
    """Ranks from 0 in each query, a stretch of rows, by score descending; equal scores in the order of the rows."""
    sizes = np.diff(np.append(starts, len(rows)))
    ranks = np.empty(len(rows), np.int64)
    best_first = np.lexsort((-rows.scores, np.repeat(np.arange(len(starts)), sizes)))
    ranks[best_first] = np.arange(len(rows)) - np.repeat(starts, sizes)
    return ranks


def rank_queries(rows: Rows, starts: Ints, form: Format, depth: int) -> Ranked:
    """Order the hits of whole queries, each a stretch of rows, and keep the first `depth` of both orders."""
    count = len(rows)
    sizes = np.diff(np.append(starts, count))
    query = np.repeat(np.arange(len(starts)), sizes)
    within = np.arange(count) - np.repeat(starts, sizes)
    same_query = query[1:] == query[:-1]

    kept_up = rows.ranks[1:] >= rows.ranks[:-1]
    by_rank = None if (kept_up | ~same_query).all() else np.lexsort((rows.ranks, query))
    ranks = rows.ranks if by_rank is None else rows.ranks[by_rank]
    same_rank = (ranks[1:] == ranks[:-1]) & same_query
    rank_ties = _in_ties(same_rank)
    told_scores: list[tuple[int, str]] = []

    if form is TREC:
        fallen = rows.scores[1:] <= rows.scores[:-1]
        by_score = None if (fallen | ~same_query).all() else np.lexsort((-rows.scores, query))
        scores = rows.scores if by_score is None else rows.scores[by_score]
        level = (scores[1:] == scores[:-1]) & same_query
        tied = _in_ties(level)
        told_scores = _told_ties(rows, by_score, level, "score")
        by_score_up = _ties_by_id(rows.passages, by_score, level, tied, within, depth, "ascending")
        by_score = _ties_by_id(rows.passages, by_score, level, tied, within, depth, "descending")
        top_tie = np.zeros(len(starts), bool)
        several = sizes > 1
        top_tie[several] = level[starts[several]]
        one_score = several & (scores[starts] == scores[starts + sizes - 1])
        tied_hits = np.add.reduceat(tied.astype(np.int64), starts)
    else:
        by_score = by_score_up = by_rank
        tied_hits = np.zeros(len(starts), np.int64)
        top_tie = one_score = np.zeros(len(starts), bool)

    cut = within < depth
    duplicates = _duplicates(rows, query)
    score_rows = np.flatnonzero(cut) if by_score is None else by_score[cut]
    rank_rows = np.flatnonzero(cut) if by_rank is None else by_rank[cut]
    up_rows = score_rows if by_score_up is None or by_score_up is by_score else by_score_up[cut]
    used = score_rows if by_score is None and by_rank is None else np.union1d(score_rows, rank_rows)
    if up_rows is not score_rows:
        used = np.union1d(used, up_rows)
    first_by_score = starts if by_score is None else by_score[starts]
    first_by_rank = starts if by_rank is None else by_rank[starts]
    return Ranked(
        sizes=sizes,
        lengths=np.minimum(sizes, depth),
        passages=rows.passages.take(pa.array(used)),
        by_score=np.searchsorted(used, score_rows).astype(np.int32),
        by_rank=np.searchsorted(used, rank_rows).astype(np.int32),
        by_score_up=np.searchsorted(used, up_rows).astype(np.int32),
        first_ranks=ranks[starts],
        tied=tied_hits,
        top_tie=top_tie,
        one_score=one_score,
        conflict=first_by_score != first_by_rank,
        rank_ties=int(np.count_nonzero(rank_ties)),
        out_of_order=int(np.count_nonzero((rows.ranks[1:] < rows.ranks[:-1]) & same_query)),
        duplicates=[_told(rows, row, first) for row, first in duplicates[:NAMED_LINES]],
        duplicate_count=len(duplicates),
        same_rank=_told_ties(rows, by_rank, same_rank, "rank"),
        same_score=told_scores,
    )


def _in_ties(level: Bools) -> Bools:
    """From "equal to the one before", for all but the first, to "equal to a neighbour", for all."""
    tied = np.zeros(len(level) + 1, bool)
    tied[1:] |= level
    tied[:-1] |= level
    return tied


def _ties_by_id(
    passages: Any, by_score: Ints | None, level: Bools, tied: Bools, within: Ints, depth: int, way: str
) -> Ints | None:
    """The order with hits of one score put by passage id, `way`: as far down as the first `depth` need it."""
    begins = np.append(True, ~level)
    begin_of = np.flatnonzero(begins)
    stretch = np.cumsum(begins) - 1  # hits of one query and one score
    places = np.flatnonzero(tied & (within[begin_of] < depth)[stretch])
    if not places.size:
        return by_score
    order = np.arange(len(tied)) if by_score is None else by_score.copy()
    table = pa.table({"stretch": stretch[places], "passage": passages.take(pa.array(order[places]))})
    sorting = arrow_compute.sort_indices(table, sort_keys=[("stretch", "ascending"), ("passage", way)])
    order[places] = order[places][sorting.to_numpy()]
    return order


def _duplicates(rows: Rows, query: Ints) -> list[tuple[int, int]]:
    """(row, line of the first) of every row that names a passage again for its query, in line order.

    Hashes find the queries that may have one, fast; in those the ids themselves decide.
    """
    hashes = _hashes(rows.passages)
    hashes ^= query.astype(np.uint64) * _MIX[3]
    arranged = np.sort(_sharing_a_slot(hashes))
    again = arranged[1:] == arranged[:-1]
    if not again.any():
        return []
    repeated = []
    suspects = np.unique(query[np.isin(hashes, arranged[1:][again])])
    bounds = np.searchsorted(query, suspects, "left"), np.searchsorted(query, suspects, "right")
    for start, stop in zip(*(bound.tolist() for bound in bounds), strict=True):
        first: dict[bytes, int] = {}
        ids = rows.passages.slice(start, stop - start).to_pylist()
        for row, (passage, line) in enumerate(zip(ids, rows.lines[start:stop].tolist(), strict=True), start):
            earlier = first.setdefault(passage, line)
            if earlier != line:
                repeated.append((row, earlier))
    repeated.sort(key=lambda row_and_first: rows.lines[row_and_first[0]])
    return repeated


def _told(rows: Rows, row: int, first: int) -> tuple[int, str]:
    passage, query = (quote_value(ids[row].as_py().decode()) for ids in (rows.passages, rows.queries))
    return int(rows.lines[row]), f"passage {passage} a second time for query {query} (first on line {first:,})."


def _told_ties(rows: Rows, order: Ints | None, level: Bools, what: str) -> list[tuple[int, str]]:
    """The first hits that are level with the one before them in this order, and with which line."""
    ties = []
    for place in np.flatnonzero(level)[:NAMED_LINES].tolist():
        upper, other = (place, place + 1) if order is None else (int(order[place]), int(order[place + 1]))
        first, line = sorted((int(rows.lines[upper]), int(rows.lines[other])))
        value = str(rows.ranks[upper]) if what == "rank" else f"{rows.scores[upper]:.10g}"
        query = quote_value(rows.queries[upper].as_py().decode())
        ties.append((line, f"{what} {value} a second time for query {query} (also on line {first:,})."))
    return ties


def _sharing_a_slot(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The few hashes that fall where another falls, equal ones among them: so that only these need sorting."""
    bits = max(4, int(len(hashes) - 1).bit_length() + 3)
    slots = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    numbers = np.arange(len(hashes), dtype=np.int32)
    last = np.empty(1 << bits, np.int32)  # only slots just written are read
    last[slots] = numbers
    shared = np.zeros(1 << bits, bool)
    shared[slots[last[slots] != numbers]] = True
    return hashes[shared[slots]]


def _hashes(ids: Any) -> NDArray[np.uint64]:
    """64 bits of each id, from its last 32 bytes and its length."""
    _, offsets, values = ids.buffers()
    bounds = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1].astype(np.int64)
    base = bounds[0]
    ends = bounds[1:] - base
    lengths = np.diff(bounds)
    # Room before the first id, so that reading back from its end stays inside.
    data = np.concatenate([np.zeros(32, np.uint8), np.frombuffer(values, np.uint8)[base : bounds[-1]]])
    words = np.ndarray((len(data) - 7,), "<u8", buffer=data, strides=(1,))  # eight bytes from any byte on
    result = lengths.astype(np.uint64) * _MIX[2]
    for back in range(0, min(32, int(lengths.max())), 8):
        word = words[ends + 24 - back]
        left = lengths - back  # bytes of the id up to here: shift out what belongs to its neighbour
        if left.min() < 8:
            word >>= (np.clip(8 - left, 0, 7) * 8).astype(np.uint64)
            word[left <= 0] = 0
        result = (result ^ word) * _MIX[0]
        result ^= result >> np.uint64(29)
    return result * _MIX[1]

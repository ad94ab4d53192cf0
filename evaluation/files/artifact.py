"""The part of a run that later work needs, as integers: its top passages in both orders."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.errors import BadInput
from evaluation.files.textfiles import Source, name_of

# `score`: score descending as float64, ties by passage id descending, as trec_eval. `rank`: rank ascending, ties as in
# the file. An MS MARCO run has no scores: there both are the rank order.
Order = Literal["score", "rank"]

ORDERS: tuple[Order, ...] = get_args(Order)
VERSION = 2
_FIRST_VERSION = 1  # without `by_score_up`


@dataclass(frozen=True, eq=False)
class RunArtifact:
    """A run's top passages by query, in both orders.

    `queries`: query ids in order of their first line. `passages`: Arrow string array, the distinct ids kept, exact.
    `starts` (int64, queries + 1): where each query's passages start in `by_score` and `by_rank` (int32, positions in
    `passages`, best first, at most `depth` a query). `hits` (int64): how many passages the run had for the query.
    `by_score_up`: as `by_score`, but for ties, which go by passage id ascending; None in artifacts of older versions.
    """

    depth: int
    queries: tuple[str, ...]
    passages: Any
    starts: NDArray[np.int64]
    by_score: NDArray[np.int32]
    by_rank: NDArray[np.int32]
    hits: NDArray[np.int64]
    by_score_up: NDArray[np.int32] | None = None

    @property
    def longest(self) -> int:
        """How many passages the run's longest list has."""
        return int(self.hits.max(initial=0))

    def top(self, order: Order, depth: int = 1) -> dict[str, tuple[str, ...]]:
        """The first `depth` passages of each query, best first (fewer where the run has fewer)."""
        flat = self._flat(order, depth)
        lengths = np.minimum(np.diff(self.starts), depth)
        ends = np.cumsum(lengths)
        # Position within the query, moved to where the query starts.
        places = np.arange(int(lengths.sum())) + np.repeat(self.starts[:-1] - (ends - lengths), lengths)
        ids = self.passages.take(pa.array(flat[places])).to_pylist()
        if depth == 1:
            filled = (query for query, length in zip(self.queries, lengths.tolist(), strict=True) if length)
            return {query: (passage,) for query, passage in zip(filled, ids, strict=True)}
        spans = zip(self.queries, (ends - lengths).tolist(), ends.tolist(), strict=True)
        return {query: tuple(ids[start:end]) for query, start, end in spans}

    def kept(self, queries: Iterable[str]) -> dict[str, list[str]]:
        """Every passage kept of each of these queries, whichever order it stands in; each once, in no order."""
        passages = {}
        for query in queries:
            if (row := self._rows.get(query)) is not None:
                span = slice(int(self.starts[row]), int(self.starts[row + 1]))
                places = np.union1d(self.by_score[span], self.by_rank[span])
                passages[query] = self.passages.take(pa.array(places)).to_pylist()
        return passages

    def holds(self, passages: Sequence[str]) -> NDArray[np.bool_]:
        """Which of these passages it has for any query, in their order."""
        is_held = arrow_compute.is_in(pa.array(passages, self.passages.type), value_set=self.passages)
        return np.asarray(is_held.to_numpy(zero_copy_only=False), dtype=bool)

    def cut(self, depth: int) -> RunArtifact:
        """The same with no more than the top `depth` of each query. Raises ValueError as `top` does."""
        by_score, by_rank = self._flat("score", depth), self._flat("rank", depth)
        lengths = np.minimum(np.diff(self.starts), depth)
        ends = np.cumsum(lengths)
        places = np.arange(int(lengths.sum())) + np.repeat(self.starts[:-1] - (ends - lengths), lengths)
        flats = [by_score, by_rank, *([] if self.by_score_up is None else [self.by_score_up])]
        numbers_kept, numbers = np.unique(np.concatenate([flat[places] for flat in flats]), return_inverse=True)
        score, rank, *up = np.split(numbers.astype(np.int32), len(flats))
        starts = np.concatenate([[0], ends]).astype(np.int64)
        passages = self.passages.take(pa.array(numbers_kept))
        return RunArtifact(min(depth, self.depth), self.queries, passages, starts, score, rank, self.hits, *up)

    def matrix(self, order: Order, depth: int, *, ties_up: bool = False) -> NDArray[np.int32]:
        """[queries x depth] positions in `passages`, best first, -1 where the run has no more.

        With `ties_up`, passages of one score go by id ascending; that changes nothing in the order `rank`. Raises
        ValueError as `top` does, and where the artifact does not say it.
        """
        flat = self._flat(order, depth)
        if ties_up and order == "score":
            if self.by_score_up is None:
                raise ValueError("an artifact that does not say how ties by ascending ids stand: check the run again")
            flat = self.by_score_up
        lengths = np.minimum(np.diff(self.starts), depth)
        filled = np.arange(depth) < lengths[:, None]
        result = np.full((len(self.queries), depth), -1, np.int32)
        result[filled] = flat[(self.starts[:-1, None] + np.arange(depth))[filled]]
        return result

    def ranks(self, order: Order, relevant: Mapping[str, Collection[str]], k: int) -> dict[str, int]:
        """For each query of `relevant`: where the first of its relevant passages stands, from 1; 0 if not within k."""
        flat = self._flat(order, k)
        result = dict.fromkeys(relevant, 0)
        sought = [(query, passage) for query in relevant if query in self._rows for passage in relevant[query]]
        if not sought:
            return result
        positions = arrow_compute.index_in(pa.array([passage for _, passage in sought]), value_set=self.passages)
        for (query, _), position in zip(sought, positions.to_pylist(), strict=True):
            if position is None:
                continue
            row = self._rows[query]
            start, end = int(self.starts[row]), int(self.starts[row + 1])
            at = np.flatnonzero(flat[start : min(end, start + k)] == position)
            if at.size and (not result[query] or at[0] + 1 < result[query]):
                result[query] = int(at[0]) + 1
        return result

    def save(self, file: BinaryIO) -> None:
        """Write it as an uncompressed .npz, without pickles. The same run gives the same bytes."""
        queries = _pack(pa.array(self.queries, pa.string()))
        passages = _pack(self.passages)
        arrays = {
            "version": np.array([VERSION, self.depth], "<i8"),
            "query_bytes": queries[0],
            "query_ends": queries[1],
            "passage_bytes": passages[0],
            "passage_ends": passages[1],
            "starts": self.starts.astype("<i8"),
            "hits": self.hits.astype("<i8"),
            "by_score": self.by_score.astype("<i4"),
        }
        if not np.array_equal(self.by_score, self.by_rank):
            arrays["by_rank"] = self.by_rank.astype("<i4")
        if self.by_score_up is None:
            arrays["version"][0] = _FIRST_VERSION
        elif not np.array_equal(self.by_score, self.by_score_up):
            arrays["by_score_up"] = self.by_score_up.astype("<i4")
        np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, source: Source, *, name: str | None = None) -> RunArtifact:
        """Read what `save` wrote. Raises BadInput if it is anything else."""
        name = name_of(source) if name is None else name
        try:
            with np.load(source, allow_pickle=False) as stored:
                version, depth = stored["version"].tolist()
                if version not in (_FIRST_VERSION, VERSION):
                    message = f"an artifact of version {version}, where this software reads up to {VERSION}."
                    raise BadInput(name, None, message)
                by_score = stored["by_score"]
                artifact = cls(
                    depth=depth,
                    queries=tuple(_unpack(stored["query_bytes"], stored["query_ends"]).to_pylist()),
                    passages=_unpack(stored["passage_bytes"], stored["passage_ends"]),
                    starts=stored["starts"],
                    by_score=by_score,
                    by_rank=stored.get("by_rank", by_score),
                    hits=stored["hits"],
                    by_score_up=None if version == _FIRST_VERSION else stored.get("by_score_up", by_score),
                )
                if not artifact._coherent():
                    raise ValueError("its parts do not fit together")
        except BadInput:
            raise
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise BadInput(name, None, f"not a run artifact ({error}).") from None
        return artifact

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {query: row for row, query in enumerate(self.queries)}

    def _flat(self, order: Order, depth: int) -> NDArray[np.int32]:
        if order not in ORDERS:
            raise ValueError(f"order {order!r} where there are {' and '.join(ORDERS)}")
        if depth < 1:
            raise ValueError(f"depth {depth} where at least 1 is needed")
        if depth > self.depth and bool((self.hits > self.depth).any()):
            raise ValueError(f"depth {depth} of a run whose artifact keeps the top {self.depth}: check the run again")
        return self.by_score if order == "score" else self.by_rank

    def _coherent(self) -> bool:
        count = len(self.queries)
        if len(self.hits) != count or len(self.starts) != count + 1 or (count and self.starts[0] != 0):
            return False
        flats = [flat for flat in (self.by_score, self.by_rank, self.by_score_up) if flat is not None]
        fits = (np.diff(self.starts) >= 0).all() and all(len(flat) == self.starts[-1] for flat in flats)
        are_within = all(not len(flat) or 0 <= flat.min() <= flat.max() < len(self.passages) for flat in flats)
        return bool(fits) and are_within


def _pack(strings: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All strings in one array of bytes, and where each ends."""
    array = strings.cast(pa.large_binary())
    _, offsets, values = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(values, np.uint8)[bounds[0] : bounds[-1]] if values is not None else np.zeros(0, np.uint8)
    return data, (bounds[1:] - bounds[0]).astype("<i8")


def _unpack(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Any:
    """The strings that `_pack` packed. Raises ValueError where bytes and ends do not fit, or are not UTF-8."""
    if len(data) >= 1 << 31 or (ends[-1] if len(ends) else 0) != len(data) or (np.diff(ends, prepend=0) < 0).any():
        raise ValueError("its ids do not fit together")
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    array = pa.Array.from_buffers(pa.string(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    array.validate(full=True)
    return array

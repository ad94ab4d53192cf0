"""Where many runs put the first relevant passage of each query, as arrays joined by query id."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels

# The greatest k that runs are compared at. Up to there, the float nearest to a difference of two reciprocal ranks is
# its alone: two such differences are equal, or at least 1/k**4 apart.
K_MOST = 1000


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of the first relevant passage, from 1, or 0 if it is not within k: `places` [runs x queries], int64."""

    k: int
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, ranks: Mapping[str, Mapping[str, int]], k: int) -> Ranks:
        """From ranks by run and query. Raises ValueError if runs differ in their queries, or a rank is not 0 to k."""
        _check(k)
        queries = tuple(next(iter(ranks.values()), ()))
        places = np.zeros((len(ranks), len(queries)), np.int64)
        for row, (run, ranks_of_run) in enumerate(ranks.items()):
            if len(ranks_of_run) != len(queries) or not all(query in ranks_of_run for query in queries):
                raise ValueError(f"the ranks of {run} are of other queries than those of {next(iter(ranks))}")
            places[row] = [ranks_of_run[query] for query in queries]
        if places.size and not 0 <= places.min() <= places.max() <= k:
            raise ValueError(f"a rank from {places.min()} to {places.max()} where 0 to {k} is needed")
        return cls(k, tuple(ranks), queries, places)

    def only(self, queries: Sequence[str]) -> Ranks:
        """The same for some of the queries, in the order given."""
        at = {query: column for column, query in enumerate(self.queries)}
        return Ranks(self.k, self.runs, tuple(queries), self.places[:, [at[query] for query in queries]])

    def histograms(self) -> NDArray[np.int64]:
        """[runs x (k + 1)]: how many queries of the run have each rank."""
        width = self.k + 1
        rows = [np.bincount(places, minlength=width) for places in self.places]
        return np.array(rows, np.int64).reshape(len(self.runs), width)

    def reciprocals(self) -> NDArray[np.float64]:
        """[runs x queries]: RR@k."""
        return reciprocals(self.k)[self.places]

    def totals(self) -> tuple[list[int], int]:
        """The sum of RR@k of each run as whole numbers of 1/scale, exact, and the scale: lcm(1..k) where k is small."""
        ranks = [int(rank) for rank in np.unique(self.places) if rank]
        scale = math.lcm(*ranks)
        return [sum(int(histogram[rank]) * (scale // rank) for rank in ranks) for histogram in self.histograms()], scale

    def means(self) -> dict[str, float]:
        """Mean RR@k of each run, exact and rounded once. Raises ValueError if there are no queries."""
        if not self.queries:
            raise ValueError("a mean over no queries")
        totals, scale = self.totals()
        return {run: total / (scale * len(self.queries)) for run, total in zip(self.runs, totals, strict=True)}


def ranks_of(runs: Mapping[str, RunArtifact], qrels: Qrels, k: int, order: Order, min_grade: int = 1) -> Ranks:
    """Score runs once, straight from their artifacts: as `reciprocal_rank` finds them, a query that a run lacks has
    rank 0. To score the same runs with many qrels, make a `Board`.

    Raises ValueError if an artifact keeps less than the top k.
    """
    _check(k)
    relevant = qrels.relevant("all", min_grade)
    numbers: dict[str, int] = {}
    sought = [
        (column, numbers.setdefault(passage, len(numbers)))
        for column, passages in enumerate(relevant.values())
        for passage in passages
    ]
    passages, queries = pa.array(list(numbers), pa.string()), pa.array(list(relevant), pa.string())
    pairs = np.unique(np.array([column * len(numbers) + number for column, number in sought], np.int64))
    places = np.full((len(runs), len(relevant)), k + 1, np.int64)
    for places_of_run, run in zip(places, runs.values(), strict=True):
        top = run.matrix(order, k)
        columns = _found(pa.array(run.queries, pa.string()), queries)
        # One more at the end, for the -1 of a list that is shorter than k.
        number_at = np.append(_found(run.passages, passages), -1)[top]
        rows, at = np.nonzero((number_at >= 0) & (columns >= 0)[:, None])
        keys = columns[rows] * len(numbers) + number_at[rows, at]
        hit = np.isin(keys, pairs)
        np.minimum.at(places_of_run, columns[rows[hit]], at[hit] + 1)
    places[places > k] = 0
    return Ranks(k, tuple(runs), tuple(relevant), places)


def _found(ids: Any, among: Any) -> NDArray[np.int64]:
    """For each id, where it stands in `among`; -1 if it does not."""
    numbers = arrow_compute.index_in(ids, value_set=among)
    return np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def reciprocals(k: int) -> NDArray[np.float64]:
    """[k + 1]: 1/rank, and 0 for rank 0."""
    return np.concatenate([[0.0], 1 / np.arange(1, k + 1)])


class Board:
    """The top k passages of runs, as numbers over one vocabulary: made once, scored with any qrels at once."""

    def __init__(self, runs: Mapping[str, RunArtifact], k: int, order: Order) -> None:
        """Raises ValueError if an artifact keeps less than the top k."""
        _check(k)
        self.k = k
        self.runs = tuple(runs)
        self._rows: dict[str, int] = {}
        for run in runs.values():
            for query in run.queries:
                self._rows.setdefault(query, len(self._rows))
        self._passages = np.full((len(runs), len(self._rows), k), -1, np.int32)
        tops = [run.matrix(order, k) for run in runs.values()]
        filled = [top >= 0 for top in tops]
        ids = [run.passages.take(pa.array(top[has])) for run, top, has in zip(runs.values(), tops, filled, strict=True)]
        encoded = pa.chunked_array(ids, pa.string()).combine_chunks().dictionary_encode()
        self._vocabulary = encoded.dictionary
        numbers = encoded.indices.to_numpy()
        for rows_of_run, run, has in zip(self._passages, runs.values(), filled, strict=True):
            rows, places = np.nonzero(has)
            mine, numbers = np.split(numbers, [len(rows)])
            rows_of_run[np.array([self._rows[query] for query in run.queries], np.int64)[rows], places] = mine

    def ranks(self, qrels: Qrels, min_grade: int = 1) -> Ranks:
        """As `reciprocal_rank` finds them, for all runs: a query that a run lacks has rank 0."""
        relevant = qrels.relevant("all", min_grade)
        sought = [(column, passage) for column, passages in enumerate(relevant.values()) for passage in passages]
        columns = np.array([column for column, _ in sought], np.int64)
        positions = arrow_compute.index_in(pa.array([passage for _, passage in sought], pa.string()), self._vocabulary)
        numbers = positions.fill_null(-2).to_numpy()
        rows = np.array([self._rows.get(query, -1) for query in relevant], np.int64)[columns]
        is_kept = (numbers >= 0) & (rows >= 0)
        columns, numbers, rows = columns[is_kept], numbers[is_kept], rows[is_kept]
        places = np.full((len(self.runs), len(relevant)), self.k + 1, np.int64)
        for places_of_run, passages in zip(places, self._passages, strict=True):
            hits = passages[rows] == numbers[:, None]
            ranks = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, self.k + 1)
            np.minimum.at(places_of_run, columns, ranks)
        places[places > self.k] = 0
        return Ranks(self.k, self.runs, tuple(relevant), places)

    def means(self, qrels: Qrels) -> dict[str, float]:
        """Mean RR@k of each run, over all queries of the qrels."""
        return self.ranks(qrels).means()

    def with_twins(self, stands_for: Mapping[str, Mapping[str, str]]) -> Board:
        """The same where passages of a query count as others of it that stand for them, given by query and id."""
        board = copy(self)
        ids = dict.fromkeys(pid for twins in stands_for.values() for pair in twins.items() for pid in pair)
        numbers = dict(zip(ids, _found(pa.array(list(ids), pa.string()), self._vocabulary).tolist(), strict=True))
        new = [pid for pid, number in numbers.items() if number < 0]
        numbers |= {pid: number for number, pid in enumerate(new, len(self._vocabulary))}
        board._vocabulary = pa.concat_arrays([self._vocabulary, pa.array(new, pa.string())])
        board._passages = self._passages.copy()
        for query, twins in stands_for.items():
            row = self._rows.get(query)
            if row is not None:
                column = self._passages[:, row]
                for twin, passage in twins.items():
                    board._passages[:, row][column == numbers[twin]] = numbers[passage]
        return board

    def places(self, pools: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
        """[runs x queries x passages]: the rank of each passage of pools that are all of one size, 0 if below k."""
        size = len(next(iter(pools.values())))
        alone = [{query: {pool[place]: 1} for query, pool in pools.items()} for place in range(size)]
        return np.stack([self.ranks(Qrels(grades)).places for grades in alone], axis=-1)


def _check(k: int) -> None:
    if not 1 <= k <= K_MOST:
        raise ValueError(f"k {k} where 1 to {K_MOST} is needed")

"""Scoring stored runs on another version of the qrels: RR@k as array work, and exact."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.tops import RunTop


class Rescoring:
    """The relevant passages of each query, laid out to be looked for in the top k of many runs.

    `queries`: their ids, in the order of the answers given; a query without a relevant passage is among them, and no
    run finds anything there.
    """

    def __init__(self, answers: Mapping[str, Collection[str]], k: int) -> None:
        if k < 1:
            raise ValueError(f"k {k} where at least 1 is needed")
        self.k = k
        self.queries = tuple(answers)
        self._columns = np.repeat(np.arange(len(answers)), [len(passages) for passages in answers.values()])
        self._bytes = [passage.encode() for passages in answers.values() for passage in passages]
        self._rests: dict[bytes, NDArray[np.bytes_]] = {}
        sought = pa.array([passage for passages in answers.values() for passage in passages], pa.string())
        self._sought: Any = sought.take(pa.array(np.repeat(np.arange(len(sought)), k)))
        self._rows: dict[tuple[str, ...], NDArray[np.int64]] = {}

    def places(self, run: RunArtifact, order: Order) -> NDArray[np.int64]:
        """Where the run has the first relevant passage of each query, from 1; 0 if not within k, or without the query.

        Raises ValueError if the artifact keeps less than the top k.
        """
        top = run.matrix(order, self.k)
        rows = self._rows_of(run.queries)[self._columns]
        if not len(rows) or not len(run.passages):
            return np.zeros(len(self.queries), np.int64)
        top_passages = np.where(rows[:, None] >= 0, top[np.maximum(rows, 0)], -1)
        passages = run.passages.take(pa.array(np.maximum(top_passages, 0).ravel()))
        same = arrow_compute.equal(passages, self._sought).to_numpy(zero_copy_only=False).reshape(top_passages.shape)
        same &= top_passages >= 0
        return self._first(same)

    def places_in(self, top: RunTop) -> NDArray[np.int64]:
        """The same as `places`, of what is kept of a run's top. Raises ValueError if that is less than the top k."""
        if top.depth < self.k:
            raise ValueError(f"the top {top.depth} of a run where the top {self.k} is needed")
        rows = self._rows_of(top.queries)[self._columns]
        if not len(rows) or not len(top.passages):
            return np.zeros(len(self.queries), np.int64)
        same = top.passages[np.maximum(rows, 0), : self.k] == self._rests_of(top.prefix)[:, None]
        same[rows < 0] = False
        return self._first(same)

    def _first(self, same: NDArray[np.bool_]) -> NDArray[np.int64]:
        """By query the first place of `same` ([relevant passages x k]), from 1; 0 where there is none."""
        first_ranks = np.full(len(self.queries), self.k + 1, np.int64)
        np.minimum.at(first_ranks, self._columns, np.where(same.any(axis=1), same.argmax(axis=1) + 1, self.k + 1))
        first_ranks[first_ranks > self.k] = 0
        return first_ranks

    def _rests_of(self, prefix: bytes) -> NDArray[np.bytes_]:
        """The relevant passages without a prefix; a line's end, which no id has, for those that have none."""
        rests = self._rests.get(prefix)
        if rests is None:
            fitting = (
                passage.startswith(prefix) and len(passage) > len(prefix) and b"\0" not in passage
                for passage in self._bytes
            )
            endings = [
                passage[len(prefix) :] if fits else b"\n" for passage, fits in zip(self._bytes, fitting, strict=True)
            ]
            rests = self._rests[prefix] = np.array(endings, np.bytes_)
        return rests

    def _rows_of(self, queries: tuple[str, ...]) -> NDArray[np.int64]:
        """For each query, its row among a run's; -1 if the run lacks it. Runs mostly have the same queries."""
        rows = self._rows.get(queries)
        if rows is None:
            at = {query: row for row, query in enumerate(queries)}
            rows = self._rows[queries] = np.array([at.get(query, -1) for query in self.queries], np.int64)
        return rows


def mean_reciprocal(places: NDArray[np.int64]) -> Fraction:
    """The exact mean of 1/place, where 0 counts as 0; of no query at all, 0."""
    if not len(places):
        return Fraction(0)
    counts = np.bincount(places)
    return sum((Fraction(int(counts[at]), int(at)) for at in np.flatnonzero(counts) if at), Fraction(0)) / len(places)

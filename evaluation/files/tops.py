"""The first few passages of each query of a run, laid out to be looked through at once, in a few milliseconds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS, Order, RunArtifact

VERSION = 1
WIDEST = 64  # bytes of an id: all take as many as the longest


@dataclass(frozen=True, eq=False)
class RunTop:
    """The top `depth` of each query in one order; what `RunArtifact.matrix` has, without what a run needs besides.

    `query_ids`: ids of the queries in the order of the run, UTF-8, a line each. `prefix`: with what every passage id
    begins. `passages` (fixed-width bytes, [queries x depth], best first): the rest of each id, empty where the run has
    no more.
    """

    order: Order
    depth: int
    query_ids: bytes
    prefix: bytes
    passages: NDArray[np.bytes_]

    @property
    def queries(self) -> tuple[str, ...]:
        return _queries(self.query_ids)

    def first(self) -> dict[str, tuple[str, ...]]:
        """The first passage of each query that has one."""
        prefix = self.prefix.decode()
        rests = b"\n".join(self.passages[:, 0].tolist()).decode().split("\n") if len(self.passages) else []
        return {query: (prefix + rest,) for query, rest in zip(self.queries, rests, strict=True) if rest}

    def pack(self) -> bytes:
        """As a file: a line of JSON, the ids of the queries, the passages. The same top gives the same bytes."""
        head = {
            "version": VERSION,
            "order": self.order,
            "depth": self.depth,
            "shape": [len(self.passages), self.passages.dtype.itemsize],
            "query_bytes": len(self.query_ids),
            "prefix": self.prefix.decode(),
        }
        return json.dumps(head).encode() + b"\n" + self.query_ids + self.passages.tobytes()

    @classmethod
    def unpack(cls, content: bytes, *, name: str) -> RunTop:
        """Read what `pack` wrote. Raises BadInput if it is anything else."""
        try:
            line, _, body = content.partition(b"\n")
            head: dict[str, Any] = json.loads(line)
            if head["version"] != VERSION or head["order"] not in ORDERS:
                raise ValueError("its version or order is not known")
            (count, width), length = head["shape"], head["query_bytes"]
            passages = np.frombuffer(body, f"S{width}", offset=length).reshape(count, head["depth"])
            top = cls(cast(Order, head["order"]), head["depth"], body[:length], head["prefix"].encode(), passages)
            if len(top.queries) != count:
                raise ValueError("its parts do not fit together")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(name, None, f"not the top of a run ({error}).") from None
        return top


@lru_cache(maxsize=64)
def _queries(ids: bytes) -> tuple[str, ...]:
    """Runs mostly have the same queries."""
    return tuple(ids.decode().split("\n")) if ids else ()


def top_of(run: RunArtifact, order: Order, depth: int) -> RunTop | None:
    """The top of a run; None where its ids do not fit this form: a NUL or a line's end in one, or more than 64 bytes
    beside what all begin with.

    Raises ValueError if the artifact keeps less than the top `depth`.
    """
    matrix = run.matrix(order, depth)
    used, places = np.unique(matrix, return_inverse=True)
    named = [passage.encode() for passage in run.passages.take(pa.array(used[used >= 0])).to_pylist()]
    if any(b"\0" in passage or b"\n" in passage for passage in named) or any(
        "\n" in query or not query for query in run.queries
    ):
        return None
    shortest = min(map(len, named), default=1)
    prefix = _common_prefix(named)[: shortest - 1]  # no rest is empty: that says that there is no passage
    while prefix and prefix[-1] >= 0x80:  # whole characters
        prefix = prefix[:-1]
    rests = [passage[len(prefix) :] for passage in named]
    width = max([1, *map(len, rests)])
    if width > WIDEST:
        return None
    distinct = np.array([b""] * int((used < 0).sum()) + rests, f"S{width}")
    passages = distinct[places.reshape(matrix.shape)] if matrix.size else np.zeros(matrix.shape, "S1")
    return RunTop(order, depth, "\n".join(run.queries).encode(), prefix, passages)


def _common_prefix(named: list[bytes]) -> bytes:
    """With what all of them begin: what the first and the last of their order share."""
    if not named:
        return b""
    first, last = min(named), max(named)
    shared = (place for place, (letter, other) in enumerate(zip(first, last, strict=False)) if letter != other)
    return first[: next(shared, min(len(first), len(last)))]

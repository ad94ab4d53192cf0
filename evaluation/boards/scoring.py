"""Scores of a run by query, by the measures that a board may have."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import quote_value

KINDS = ("RR", "Success")
CUTOFF_MOST = 1000
_NAME = re.compile(r"([A-Za-z]+)@([1-9][0-9]{0,3})", re.ASCII)


class Measure(NamedTuple):
    """A measure as ir_measures writes it: `RR@10` is the reciprocal rank of the first relevant passage within the top
    10, `Success@10` whether there is one.
    """

    kind: str
    cutoff: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.cutoff}"


def read_measure(name: str) -> Measure:
    """A measure from its name. Raises ValueError, with what is wrong and what there is."""
    found = _NAME.fullmatch(name.strip())
    kind = {kind.casefold(): kind for kind in KINDS}.get(found[1].casefold(), "") if found else ""
    if not found or not kind:
        raise ValueError(f"measure {quote_value(name)} where there are {' and '.join(f'{kind}@k' for kind in KINDS)}")
    if int(found[2]) > CUTOFF_MOST:
        raise ValueError(f"measure {quote_value(name)} where the cutoff is at most {CUTOFF_MOST:,}")
    return Measure(kind, int(found[2]))


def per_query(run: RunArtifact, qrels: Qrels, measure: Measure, order: Order) -> NDArray[np.float64]:
    """A float64 for each query of the qrels, in their order; 0 where the run lacks the query."""
    ranks = run.ranks(order, qrels.relevant("all"), measure.cutoff)
    at = np.fromiter(ranks.values(), np.int64, len(ranks))
    scores = np.zeros(len(at))
    np.divide(1.0, at, out=scores, where=at > 0)
    return scores if measure.kind == "RR" else (at > 0).astype(np.float64)

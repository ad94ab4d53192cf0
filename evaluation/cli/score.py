"""`python -m evaluation score`: runs by the measures that are named."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    WHOLE,
    add_command,
    add_without_query,
    measure_name,
    print_json,
    read_runs,
    tell_left_out,
    tell_short_lists,
)
from evaluation.files.artifact import ORDERS
from evaluation.files.qrels import read_qrels
from evaluation.measures.means import exact_mean
from evaluation.measures.named import Measure, Scorer


def _score(options: argparse.Namespace) -> int:
    targets: list[Measure] = list(dict.fromkeys(options.measure or [Measure("RR", 10)]))
    # The name says what it was asked by; a least grade that it does not name is that of --min-grade.
    measures = [measure.with_grade(options.min_grade) for measure in targets]
    qrels = read_qrels(options.qrels, name=options.qrels)
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    depths = [measure.depth or WHOLE for measure in measures]
    runs = read_runs(options.files, max(depths), without_query=options.without_query)
    if runs is None:
        return BAD
    scorer = Scorer(qrels)
    scores: dict[str, Any] = {}
    for name, run in runs.items():
        shared = scorer.shared(run)
        values = scorer.score(run, measures, options.order)
        summaries = {
            str(measure): _summary(row, shared if measure.kind == "Compat" else None, scorer.queries, options.per_query)
            for measure, row in zip(targets, values, strict=True)
        }
        scores[name] = summaries if len(targets) > 1 else summaries[str(targets[0])]
    tell_left_out(runs, qrels)
    if cutoffs:
        tell_short_lists(runs, max(cutoffs))
    named = {"measures": list(map(str, targets))} if len(targets) > 1 else {"measure": str(targets[0])}
    print_json({**named, "queries": len(scorer.queries), "runs": scores})
    return OK


def _summary(
    values: NDArray[np.float64], shared: NDArray[np.bool_] | None, queries: Sequence[str], per_query: bool
) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "mean": float(exact_mean(values)) if len(values) else 0.0,
        "answered": int(np.count_nonzero(values)),
    }
    if shared is not None:
        summary["shared"] = int(np.count_nonzero(shared))
        summary["shared_mean"] = float(exact_mean(values[shared])) if shared.any() else 0.0
    if per_query:
        summary["queries"] = dict(zip(queries, values.tolist(), strict=True))
    return summary


def add_score(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "score",
        _score,
        "score runs with qrels",
        """Prints each run's mean by a measure as JSON:

  {"measure": "RR@10", "queries": ..., "runs": {"<run>": {"mean": ..., "answered": ...}}}

and by several:

  {"measures": ["nDCG@10", "Judged@10"], "queries": ..., "runs": {"<run>": {"nDCG@10": {"mean": ..., "answered": ...},
   "Judged@10": {...}}}}

Measures have the names that they have in ir_measures, and are computed as trec_eval does:

  RR, RR@k          1 over the rank of the first relevant passage, 0 if there is none within k
  nDCG, nDCG@k      gains are the grades; nDCG(dcg='exp-log2')@k takes 2**grade - 1
  Judged, Judged@k  the share of a run's passages within k that the qrels name, with any grade
  Success@k         1 if there is a relevant passage within k
  P@k, R@k          relevant passages within k, of k and of all relevant ones
  AP, AP@k          average precision
  Compat, Compat@k  rank-biased overlap of the run's first 1,000, or k, with the best ranking that the qrels allow,
                    divided by that ranking's own; Compat(p=0.9) has another persistence than 0.95

RR(rel=2)@10 takes grade 2 and more as relevant; Success, P, R and AP take `rel` too. The mean is over all queries that
the qrels name; one that a run lacks counts 0, and queries that only runs have are ignored. `answered` counts the
queries that do not score 0: by RR@k, those with a relevant passage within k. <run> is the file name without .txt,
.trec, .tsv, .gz, .bz2, .zst.

Compat is computed as its authors do: where scores tie, the lower passage id comes first, and the ideal ranking has
higher grades first, passages of one grade as the run has them. It is meant for graded levels, such as those of
preferences. Its authors' mean, `shared_mean`, is over the `shared` queries alone: those with a relevant passage that
the run has too. It does not compare runs that have other queries.

--per-query adds the value of each query: {"mean": ..., "answered": ..., "queries": {"<query>": value}}.""",
        [
            "python -m evaluation score --qrels qrels.txt --measure RR@10 bm25.txt.gz dense.txt.gz",
            "python -m evaluation score --qrels qrels.txt --measure nDCG@10 --measure Judged@10 bm25.txt.gz",
            'python -m evaluation score --qrels qrels.txt --measure "Compat(p=0.9)" --per-query bm25.txt.gz',
        ],
    )
    command.add_argument("files", metavar="RUN", nargs="+", help="the run files")
    command.add_argument("--qrels", metavar="FILE", required=True, help="qrels (query 0 passage grade)")
    command.add_argument(
        "--measure",
        metavar="NAME",
        type=measure_name,
        action="append",
        help="such as RR@10 or nDCG@10; may be given several times. Default: RR@10",
    )
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument(
        "--min-grade",
        metavar="N",
        type=int,
        default=1,
        help="the least grade that is relevant, where the measure names none; default: 1",
    )
    command.add_argument("--per-query", action="store_true", help="print the value of each query, too")
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON, which this command always does")

"""`python -m evaluation score`: runs' RR@k."""

from __future__ import annotations

import argparse
import re
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    print_json,
    read_runs,
    tell_left_out,
    tell_short_lists,
)
from evaluation.files.artifact import ORDERS
from evaluation.files.qrels import read_qrels
from evaluation.measures.reciprocal_rank import reciprocal_rank

_MEASURE = re.compile(r"M?RR@([1-9][0-9]{0,8})", re.IGNORECASE | re.ASCII)


def _score(options: argparse.Namespace) -> int:
    k = options.measure
    qrels = read_qrels(options.qrels, name=options.qrels)
    runs = read_runs(options.files, k)
    if runs is None:
        return BAD
    scores = {
        name: reciprocal_rank(run, qrels, k, options.order, options.min_grade).as_dict() for name, run in runs.items()
    }
    tell_left_out(runs, qrels)
    tell_short_lists(runs, k)
    print_json({"measure": f"RR@{k}", "queries": len(qrels.queries), "runs": scores})
    return OK


def _measure(text: str) -> int:
    match = _MEASURE.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} where RR@k is needed, k a whole number from 1 on, as in RR@10")
    return int(match[1])


def add_score(commands: Any) -> None:
    command = add_command(
        commands,
        "score",
        _score,
        "score runs with qrels",
        """Prints the mean reciprocal rank of each run as JSON:

  {"measure": "RR@10", "queries": ..., "runs": {"<run>": {"mean": ..., "answered": ...}}}

The mean is over all queries that the qrels name; one that a run lacks counts 0, and queries that only runs have are
ignored. `answered` counts the queries with a relevant passage within k. <run> is the file name without .txt, .trec,
.tsv, .gz, .bz2, .zst.""",
        ["python -m evaluation score --qrels qrels.txt --measure RR@10 bm25.txt.gz dense.txt.gz"],
    )
    command.add_argument("files", metavar="RUN", nargs="+", help="the run files")
    command.add_argument("--qrels", metavar="FILE", required=True, help="qrels (query 0 passage grade)")
    command.add_argument("--measure", metavar="RR@k", type=_measure, default=10, help="for any k; default: RR@10")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument(
        "--min-grade", metavar="N", type=int, default=1, help="the least grade that is relevant; default: 1"
    )
    command.add_argument("--json", action="store_true", help="print JSON, which this command always does")

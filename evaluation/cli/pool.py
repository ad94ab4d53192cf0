"""`python -m evaluation pool`: runs' top passages and qrels, as pools and pairs."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    add_min_grade,
    add_without_query,
    is_same_file,
    positive,
    print_json,
    read_runs,
    read_texts,
    tell,
    tell_left_out,
    write_whole,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS
from evaluation.files.notes import SEEN
from evaluation.files.qrels import POLICIES, read_qrels
from evaluation.files.textfiles import counted
from evaluation.judging.equal_texts import Merged, merge_equal, nearly_equal
from evaluation.judging.pooling import all_pairs, pool_queries, pool_sizes


def _pool(options: argparse.Namespace) -> int:
    for path in (options.qrels, *options.files, *([options.passages] if options.passages else [])):
        for out in filter(None, (options.pairs, options.members)):
            if is_same_file(out, path):
                raise BadInput(out, None, "is one of the input files, and would be overwritten.")
    if options.pairs and options.pairs == options.members:
        options.command.error("--pairs and --members name the same file")
    qrels = read_qrels(options.qrels, name=options.qrels)
    runs = read_runs(options.files, max(options.depth, SEEN), without_query=options.without_query)
    if runs is None:
        return BAD
    tops = [run.top(options.order, options.depth) for run in runs.values()]
    pools: Mapping[str, Collection[str]] = pool_queries(tops, qrels, options.qrel, min_grade=options.min_grade)
    tell_left_out(runs, qrels)
    alike: dict[str, Any] = {}
    if options.passages:
        texts = read_texts(options.passages, {passage for pool in pools.values() for passage in pool})
        merged = merge_equal(pools, texts)
        pools, alike = merged.pools, _alike(merged, texts)
    empty = len(qrels.queries) - len(pools)
    if empty:
        tell(f"{counted(empty, 'query', 'queries')} of the qrels left out: no run has them, and no qrel was taken.")
    sizes = pool_sizes(pools).as_dict()
    if options.pairs:
        with write_whole(options.pairs) as out:
            for query in sorted(pools):
                out.writelines("\t".join(pair) + "\n" for pair in all_pairs(query, pools[query]))
    if options.members:
        with write_whole(options.members) as out:
            for query in sorted(pools):
                out.writelines(f"{query}\t{passage}\n" for passage in sorted(pools[query]))
    print_json({**sizes, **alike})
    return OK


def _alike(merged: Merged, texts: Mapping[str, str]) -> dict[str, Any]:
    near = nearly_equal(merged.pools, texts)
    return {
        "equal": [{"query": query, "passages": ids} for query, groups in merged.equal.items() for ids in groups],
        "nearly_equal": [{**alike.pair._asdict(), "share": round(alike.share, 4)} for alike in near],
    }


def add_pool(commands: Any) -> None:
    command = add_command(
        commands,
        "pool",
        _pool,
        "pool the top passages of runs with the qrels, and list the pairs to judge",
        """Pools, for each query, the distinct top passages of the runs and the judged passage, and prints as JSON how
many queries and pairs there are to judge and how large the pools are:

  {"queries": ..., "pairs": ..., "sizes": {"mean": ..., "median": ..., "histogram": {"1": ...}}}

The queries are those that the qrels name, as RR@k counts them, also with --qrel none. Queries that only runs have are
left out, and counted on standard error. A query that no run has keeps a pool of its qrel alone.""",
        ["python -m evaluation pool --qrels qrels.txt --pairs pairs.tsv bm25.txt.gz dense.txt.gz"],
    )
    command.add_argument("files", metavar="RUN", nargs="+", help="the run files")
    command.add_argument("--qrels", metavar="FILE", required=True, help="qrels (query 0 passage grade)")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument("--depth", metavar="N", type=positive, default=1, help="top passages of each run; default: 1")
    command.add_argument(
        "--qrel",
        choices=POLICIES,
        default="first",
        help="which relevant passages of the qrels join the pool: the first in the file (default), all, or none",
    )
    add_min_grade(command)
    command.add_argument(
        "--pairs",
        metavar="OUT.tsv",
        help="write all pairs there: query, a, b with tabs between, a before b as strings, lines sorted. Queries with "
        "a pool of one have no pair",
    )
    command.add_argument(
        "--members", metavar="OUT.tsv", help="write the pools there: query, passage, sorted, as `rounds` reads them"
    )
    command.add_argument(
        "--passages",
        metavar="FILE",
        help="the passages' texts (id TAB text, or JSON lines): passages of a pool that have the same text, but for "
        "white space, are one candidate, by the smallest of their ids, and are listed as `equal`; those that share "
        "80%% of their sequences of three words as `nearly_equal`",
    )
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON, which this command always does")

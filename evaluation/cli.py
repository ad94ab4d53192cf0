"""The command line: `python -m evaluation`.

File names in, results out; exit code 1 on bad input, with nothing written.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from evaluation.artifact import ORDERS
from evaluation.cli_compare import add_compare
from evaluation.cli_leaderboard import add_leaderboard
from evaluation.cli_wins import add_wins
from evaluation.clitools import (
    BAD,
    FILES,
    OK,
    ORDER_HELP,
    POOLS_HELP,
    add_command,
    positive,
    print_json,
    read_pools,
    read_runs,
    tell,
    tell_left_out,
    with_names,
)
from evaluation.errors import BadInput, UnknownPassage
from evaluation.measures import reciprocal_rank
from evaluation.metadata import flattened
from evaluation.pooling import all_pairs, pool_queries, pool_sizes
from evaluation.qrels import POLICIES, read_qrels
from evaluation.runs import Census, RunCheck, check_run
from evaluation.textfiles import counted, shown
from evaluation.texts import read_queries
from evaluation.tournament import METHODS, Derived, derive

_MEASURE = re.compile(r"M?RR@([1-9][0-9]{0,8})", re.IGNORECASE | re.ASCII)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code. Usage errors leave through argparse, as SystemExit(2)."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # ids are UTF-8 whatever the locale; file names may be anything
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        code = run(options)
        sys.stdout.flush()
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return 130
    return code


def _check(options: argparse.Namespace) -> int:
    queries = None
    if options.queries:
        queries = [query.id for query in read_queries(options.queries, name=options.queries)]
    check = check_run(options.file, name=options.file, queries=queries)
    if options.json:
        print_json(
            {
                "ok": check.ok,
                "errors": [error._asdict() for error in check.errors],
                "error_count": check.error_count,
                "stopped": check.stopped,
                "census": check.census.as_dict(),
                "metadata": check.metadata,
            }
        )
    else:
        print("\n".join(_report(check)))
    if not check.ok:
        print(check.complaint(), file=sys.stderr)
    return OK if check.ok else BAD


def _report(check: RunCheck) -> Iterator[str]:
    name = check.name
    if check.ok:
        yield f"{name}: no errors."
    else:
        yield f"{name}: {counted(check.error_count, 'error')}{' at least' if check.stopped else ''}."
        for line, message in check.errors:
            yield f"  {BadInput(name, line, message)}"
        if check.error_count > len(check.errors):
            yield f"  {counted(check.error_count - len(check.errors), 'more error')}."
        if check.stopped:
            yield "  The file was not read to its end."
    yield ""
    yield from _census(check.census)
    if check.metadata:
        yield ""
        yield "What the header says:"
        yield from (f"  {shown(name)}: {shown(value)}" for name, value in flattened(check.metadata))


def _census(census: Census) -> Iterator[str]:
    hits = f"{census.hits_min:,} / {census.hits_median:,g} / {census.hits_max:,}"
    rows: list[tuple[str, object]] = [
        ("format", census.format),
        ("lines", census.lines),
        ("queries", census.queries),
        ("hits", census.hits),
        ("hits of a query: least / median / most", hits),
        ("queries with fewer hits than the longest list", census.short_lists),
        ("ranks start at", "not the same for all queries" if census.rank_base is None else census.rank_base),
        ("hits that share their score with another", census.tied_hits),
        ("queries with such ties", census.queries_with_ties),
        ("queries with such a tie at the top", census.queries_with_top_tie),
        ("queries whose top passage differs between rank and score order", census.rank_score_conflicts),
        ("hits that share their rank with another", census.rank_ties),
        ("lines out of rank order", census.out_of_rank_order),
        ("queries whose lines stand apart", census.split_queries),
        ("lines with CRLF", census.crlf_lines),
        ("lines with tabs", census.tab_lines),
        ("lines with extra spaces", census.extra_space_lines),
        ("byte order mark", census.bom),
        ("last newline missing", census.missing_last_newline),
    ]
    if census.missing_queries is not None:
        rows.append(("queries that the run lacks", with_names(census.missing_queries, census.missing_query_ids)))
    if census.unknown_queries is not None:
        rows.append(("queries that only the run has", with_names(census.unknown_queries, census.unknown_query_ids)))
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        text = ("yes" if value else "no") if isinstance(value, bool) else value
        yield f"{label:<{width}}  {text:,}" if isinstance(text, int) else f"{label:<{width}}  {text}"


def _pool(options: argparse.Namespace) -> int:
    for path in (options.qrels, *options.files):
        if options.pairs and _same_file(options.pairs, path):
            raise BadInput(options.pairs, None, "is one of the input files, and would be overwritten.")
    qrels = read_qrels(options.qrels, name=options.qrels)
    runs = read_runs(options.files, options.depth)
    if runs is None:
        return BAD
    tops = [run.top(options.order, options.depth) for run in runs.values()]
    pools = pool_queries(tops, qrels, options.qrel)
    tell_left_out(runs, qrels)
    empty = len(qrels.queries) - len(pools)
    if empty:
        tell(f"{counted(empty, 'query', 'queries')} of the qrels left out: no run has them, and no qrel was taken.")
    sizes = pool_sizes(pools).as_dict()
    if options.pairs:
        with _written_whole(options.pairs) as out:
            for query in sorted(pools):
                out.writelines("\t".join(pair) + "\n" for pair in all_pairs(query, pools[query]))
    print_json(sizes)
    return OK


def _qrels(options: argparse.Namespace) -> int:
    pools, preferences = read_pools(options.pools, options.file)
    try:
        derived = derive(pools, preferences, options.method, options.allow_incomplete)
    except UnknownPassage as error:  # found above already; kept for the day the two disagree
        raise BadInput(options.file, None, f"{error}.") from None
    sys.stdout.writelines(f"{query} 0 {passage} 1\n" for query, passage in derived.qrels)
    sys.stdout.flush()
    _summarize(derived, options)
    return OK


def _summarize(derived: Derived, options: argparse.Namespace) -> None:
    if options.json:
        summary = {
            "method": options.method,
            "single": derived.single,
            "deadlocks": {str(size): count for size, count in derived.deadlocks.items()},
            "incomplete": len(derived.incomplete),
            "incomplete_queries": list(derived.incomplete),
        }
        tell(json.dumps(summary, ensure_ascii=False))
        return
    tell(f"{counted(derived.single, 'query', 'queries')} with a single winner.")
    for size, count in derived.deadlocks.items():
        tell(f"{counted(count, 'deadlock')} of {size}.")
    if not derived.deadlocks:
        tell("0 deadlocks.")
    names = with_names(len(derived.incomplete), list(derived.incomplete[:10]))
    tell(f"Pools refused as incomplete, with pairs that nobody judged: {names}.")


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
    print_json({"measure": f"RR@{k}", "queries": len(qrels.queries), "runs": scores})
    return OK


@contextmanager
def _written_whole(path: str) -> Iterator[TextIO]:
    """A file that is there whole when the block ends well, and else as it was before."""
    target = Path(path)
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a pipe or a device cannot be replaced
            with target.open("w", encoding="utf-8", newline="\n") as out:
                yield out
            return
        target = target.resolve()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
                yield out
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
            os.chmod(temporary, mode)  # noqa: PTH101
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadInput(path, None, f"cannot be written: {error.strerror or error}.") from None


def _same_file(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _measure(text: str) -> int:
    match = _MEASURE.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} where RR@k is needed, k a whole number from 1 on, as in RR@10")
    return int(match[1])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation",
        description="From run files to preference qrels: check runs, pool their top passages into pairs that people "
        "judge, turn the judgments into qrels, score runs with them, and test how the runs differ.",
        epilog="""A whole round, from runs to scores:

  python -m evaluation check bm25.txt.gz --queries queries.tsv
  python -m evaluation pool --qrels qrels.txt --pairs pairs.tsv bm25.txt.gz dense.txt.gz
  ... people judge pairs.tsv, which gives preferences.txt: query a b preferred ...
  python -m evaluation qrels --pools pairs.tsv preferences.txt > preference-qrels.txt
  python -m evaluation score --qrels preference-qrels.txt bm25.txt.gz dense.txt.gz
  python -m evaluation compare --qrels preference-qrels.txt --k 10 bm25.txt.gz dense.txt.gz
  python -m evaluation wins --qrels qrels.txt --preferences preferences.txt bm25.txt.gz dense.txt.gz
  python -m evaluation leaderboard --qrels qrels.txt --preference-qrels preference-qrels.txt bm25.txt.gz dense.txt.gz

`python -m evaluation COMMAND --help` tells more about each.
"""
        + FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_check(commands)
    _add_pool(commands)
    _add_qrels(commands)
    _add_score(commands)
    add_compare(commands)
    add_wins(commands)
    add_leaderboard(commands)
    return parser


def _add_check(commands: Any) -> None:
    command = add_command(
        commands,
        "check",
        _check,
        "find the errors of a run, and what about it may surprise",
        """Reads a run and reports its errors, the first 100 with their lines, and a census.

A run is TREC (query Q0 passage rank score tag) or MS MARCO (query passage rank). Errors: a line with another number
of columns, a rank that is no whole number, a score that is no finite number, a passage that comes twice for a query,
a NUL byte or another control character, invalid UTF-8, a compressed file cut short, an empty file.

The census counts what is no error but may move results: ties, ties at the top, queries whose top passage depends on
whether the rank or the score is believed, short lists, missing queries, and so on.""",
        ["python -m evaluation check bm25.txt.gz --queries queries.tsv"],
    )
    command.add_argument("file", metavar="RUN", help="the run file")
    command.add_argument(
        "--queries", metavar="FILE", help="the queries (id TAB text, or JSON lines): counts those the run lacks"
    )
    command.add_argument("--json", action="store_true", help="print JSON: ok, errors, error_count, stopped, census")


def _add_pool(commands: Any) -> None:
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
        help="which judged passages of grade 1 or more join the pool: the first in the file (default), all, or none",
    )
    command.add_argument(
        "--pairs",
        metavar="OUT.tsv",
        help="write all pairs there: query, a, b with tabs between, a before b as strings, lines sorted. Queries with "
        "a pool of one have no pair",
    )
    command.add_argument("--json", action="store_true", help="print JSON, which this command always does")


def _add_qrels(commands: Any) -> None:
    command = add_command(
        commands,
        "qrels",
        _qrels,
        "turn preference judgments into qrels",
        """Plays each query's judgments (lines `query a b preferred`) as a tournament, and prints the winners as TREC
qrels, `query 0 passage 1`, sorted. A line is a judgment and counts as one win, so repeated judgments each count. A
summary goes to standard error: queries with a single winner, deadlocks by size, pools refused.

Methods:
  tournament     most wins; while several tie for first and are fewer than before, again among those tied. More than
                 one winner is a deadlock, as when a beats b beats c beats a.
  most-wins      all passages with the most wins.
  bradley-terry  the passage of the greatest strength in a Bradley-Terry model (choix, alpha 0.1).

A pool with two passages that nobody compared is refused: it gives no qrels, and the summary says so.""",
        ["python -m evaluation qrels --pools pairs.tsv preferences.txt > preference-qrels.txt"],
    )
    command.add_argument("file", metavar="PREFERENCES", help="the judgments (query a b preferred)")
    command.add_argument("--method", choices=METHODS, default="tournament", help="default: tournament")
    command.add_argument(
        "--pools",
        metavar="PAIRS.tsv",
        help=POOLS_HELP,
    )
    command.add_argument(
        "--allow-incomplete",
        action="store_true",
        help="play pools with pairs that nobody judged, if anything in them was judged",
    )
    command.add_argument("--json", action="store_true", help="the summary on standard error as JSON")


def _add_score(commands: Any) -> None:
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

"""What the commands of `python -m evaluation` share: running one, options, reading runs, printing."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS, RunArtifact
from evaluation.files.notes import Note, judged_notes, qrels_notes, query_notes
from evaluation.files.preferences import Preference, numbered_preferences, read_any_pools
from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run, run_name
from evaluation.files.textfiles import counted, quote_value
from evaluation.files.texts import read_passages
from evaluation.measures.named import Measure, read_measure
from evaluation.statistics.ranks import K_MOST
from evaluation.statistics.significance import CORRECTIONS, Correction

OK, BAD, USAGE = 0, 1, 2
WHOLE = 1 << 31  # passages of a query: all that a run has

FILES = """
All files may be plain or compressed (gzip, bzip2, zstandard; told by their first bytes, not by their names).
Columns stand apart by spaces or tabs. CRLF line ends, a byte order mark and a missing last newline do no harm.
Errors go to standard error, with file and line. Exit code: 0 if all is well, 1 if input is bad (nothing is written
then), 2 if the command itself is wrong.
"""

ORDER_HELP = (
    "how the hits of a query are ordered. score: by score, descending, ties by passage id, descending, as trec_eval "
    "does. rank: by the rank column, ascending, ties as in the file. Many published runs differ between the two. "
    "An MS MARCO run has no scores: there both are the rank order. Default: score"
)


def run_command(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Run a command; gives the exit code. Usage errors leave through argparse, as SystemExit(2)."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # ids are UTF-8 whatever the locale; file names may be anything
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    take_warnings()  # of a command before, in this process
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


def add_without_query(command: argparse.ArgumentParser) -> None:
    """The option to leave out a passage whose id is that of its query."""
    command.add_argument(
        "--without-query",
        action="store_true",
        help="leave out a hit whose passage has the id of its query, as BEIR does",
    )


def with_names(count: int, names: list[str]) -> str:
    """A count and, in brackets, the names that are known of what was counted."""
    if not count:
        return "0"
    more = " …" if count > len(names) else ""
    return f"{count:,} ({', '.join(quote_value(name) for name in names)}{more})"


def read_runs(paths: Sequence[str], depth: int, *, without_query: bool = False) -> dict[str, RunArtifact] | None:
    """The runs by name, or None where one is bad: then all that are bad have been told on standard error, as is what
    makes the numbers of others suspicious. `without_query`: leave out passages with the id of their query.
    """
    names: dict[str, str] = {}
    for path in paths:
        earlier = names.setdefault(run_name(path), path)
        if earlier is not path:
            raise BadInput(path, None, f"a second run of the name {run_name(path)}, which {earlier} has already.")
    runs = {}
    good = True
    for name, path in names.items():
        check = check_run(path, name=path, depth=depth, without_query=without_query)
        if check.artifact is None:
            good = False
            tell(check.complaint())
        else:
            runs[name] = check.artifact
            tell_notes(name, check.notes())
    return runs if good else None


def read_texts(
    path: str, ids: Collection[str], missing_count_as: str = "each counts as a text of its own"
) -> dict[str, str]:
    """The texts of these passages, by id. Says how many the file lacks, and how these count. Raises BadInput where an
    id has two texts.
    """
    texts: dict[str, str] = {}
    for passage in read_passages(path, name=path):
        if passage.id in ids and texts.setdefault(passage.id, passage.text) != passage.text:
            raise BadInput(path, None, f"passage {quote_value(passage.id)} has two texts.")
    missing = len(set(ids).difference(texts))
    if missing:
        warn(f"{counted(missing, 'passage')} of the pools not in {path}: {missing_count_as}.")
    return texts


def read_pools(path: str | None, preferences: str) -> tuple[dict[str, set[str]], list[Preference]]:
    """Pools and judgments. The pools are those of the file that is given, or else the passages that judgments name.

    Raises BadInput where a judgment is outside of the pools that were given.
    """
    pools: dict[str, set[str]] = {}
    judgments = []
    if path:
        pools = read_any_pools(path, name=path)
    for line, preference in numbered_preferences(preferences, name=preferences, ties=True):
        query, a, b, _ = preference
        if path:
            check_in_pools(pools, path, preference, preferences, line)
        else:
            pools.setdefault(query, set()).update((a, b))
        judgments.append(preference)
    return pools, judgments


def check_in_pools(pools: Mapping[str, Collection[str]], of: str, preference: Preference, name: str, line: int) -> None:
    """Raises BadInput, with the judgment's file and line, where it is outside of the pools, which are those of `of`."""
    query, a, b, _ = preference
    if query not in pools:
        raise BadInput(name, line, f"query {quote_value(query)} is not in {of}.")
    for passage in (a, b):
        if passage not in pools[query]:
            message = f"passage {quote_value(passage)} is not in the pool that {of} has for query {quote_value(query)}."
            raise BadInput(name, line, message)


def tell_left_out(runs: dict[str, RunArtifact], qrels: Qrels) -> None:
    """Say which queries of the qrels and of the runs have no counterpart, and where ids make that suspicious."""
    tell_notes("qrels", qrels_notes(qrels))
    judged = set(qrels.queries)
    answered: set[str] = set()
    for name, run in runs.items():
        answered.update(run.queries)
        lacking = len(judged.difference(run.queries))
        if lacking:
            warn(f"{name} lacks {counted(lacking, 'query', 'queries')} of the qrels.")
        tell_notes(name, [*query_notes(run, qrels.queries), *judged_notes(run, qrels)])
    unjudged = len(answered - judged)
    if unjudged:
        warn(f"{counted(unjudged, 'query', 'queries')} of the runs left out: not in the qrels.")


def tell_short_lists(runs: dict[str, RunArtifact], k: int) -> None:
    """Say whose lists end above k, where what is below would count as missed."""
    short = {name: run.longest for name, run in runs.items() if run.longest < k}
    for name, longest in short.items():
        warn(f"{name} has at most {counted(longest, 'hit')} a query: with k = {k:,}, what is below counts as missed.")
    depths = {min(run.longest, k) for run in runs.values()}
    if len(depths) > 1:
        warn(f"The runs' lists differ in depth, so they are not judged alike. k = {min(depths):,} would be fair.")


def tell_notes(name: str, notes: Iterable[Note]) -> None:
    """Say what makes numbers suspicious, each after the name of its run or file."""
    for note in notes:
        warn(f"{name}: {note.sentence()}")


def tell(message: str) -> None:
    """On standard error."""
    print(message, file=sys.stderr)


_warnings: list[str] = []


def warn(message: str) -> None:
    """Say what changes the meaning of a number: at once on standard error, and with the numbers, which may be kept
    without it.
    """
    tell(message)
    _warnings.append(message)


def take_warnings() -> list[str]:
    """The warnings since they were last taken."""
    messages = list(_warnings)
    _warnings.clear()
    return messages


def print_json(value: Any) -> None:
    """On standard output, with the `warnings`, if there are any."""
    warnings = take_warnings()
    print(json.dumps({**value, "warnings": warnings} if warnings else value, indent=2, ensure_ascii=False))


def print_report(lines: Iterable[str]) -> None:
    """On standard output, with the warnings below."""
    warnings = [f"Note: {warning}" for warning in take_warnings()]
    print("\n".join([*lines, *([""] if warnings else []), *warnings]))


def print_csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """On standard output: what is nested is a column each, an interval two; if there are no rows, the names alone. If
    there are warnings, all of them are in a last column.
    """
    warnings = take_warnings()
    more = {"warnings": " ".join(warnings)} if warnings else {}
    flat = [_flat(row) | more for row in rows]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(flat[0] if flat else names)
    out.writerows(row.values() for row in flat)


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            flat |= _flat(inner, f"{prefix}{name}_")
        elif name.endswith("interval"):
            flat |= dict(zip((f"{prefix}{name}_low", f"{prefix}{name}_high"), inner or (None, None), strict=True))
        else:
            flat[prefix + name] = inner
    return flat


def print_latex(lines: Iterable[str]) -> None:
    """On standard output, with the warnings as comments below."""
    print("\n".join([*lines, *(f"% Note: {warning}" for warning in take_warnings())]))


def positive(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where a whole number from 1 on is needed")
    return int(text)


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, text: str, example: Iterable[str]
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=text,
        # As the program is called here: participants have these commands under a shorter name.
        epilog="Example:\n\n"
        + "".join(f"  {line}\n".replace(f"python -m evaluation {name} ", "%(prog)s ") for line in example)
        + FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run, command=command)
    return command


def add_steps(
    command: argparse.ArgumentParser, text: str, steps: Iterable[tuple[str, Callable[[argparse.Namespace], int], str]]
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The steps of a command, given as name, what it runs and a summary, each with the options of pools."""
    parsers = command.add_subparsers(title="steps", metavar="STEP", required=True)
    for name, run, summary in steps:
        step = parsers.add_parser(
            name, help=summary, description=text, epilog=FILES, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        step.set_defaults(run=run, command=step)
        step.add_argument("--pools", metavar="MEMBERS", required=True, help="the pools (query passage)")
        yield name, step


def table(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows as lines, in columns two spaces apart: the first `left` flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def p_shown(p: float | None) -> str:
    """A p-value in a few characters: 0.0312, 2.1e-05, 1, or - where there is none."""
    if p is None:
        return "-"
    return f"{p:.4f}" if 0.001 <= p < 0.99995 else f"{p:.2g}"


def alpha(text: str) -> float:
    """For argparse: a level of significance."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} where a number between 0 and 1 is needed, as in 0.05")
    return value


def margin(text: str) -> float:
    """For argparse: how much worse is no harm."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} where a number from 0 to below 1 is needed, as in 0.02")
    return value


def cutoff(text: str) -> int:
    """For argparse: the k that runs are compared at."""
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or not 1 <= int(text) <= K_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} where a whole number from 1 to {K_MOST:,} is needed")
    return int(text)


def measure_name(text: str) -> Measure:
    """For argparse: a measure by its name in ir_measures."""
    try:
        return read_measure(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def take_measure(options: argparse.Namespace) -> Measure | None:
    """The measure of --measure where it is not RR@k: that is what --k and --min-grade say, and becomes them."""
    measure: Measure | None = options.measure
    if measure is None or not measure.is_reciprocal:
        return measure
    assert measure.cutoff is not None
    options.measure = None
    options.k = measure.cutoff
    options.min_grade = measure.rel if measure.rel != 1 else options.min_grade
    if options.k > K_MOST:
        options.command.error(f"--measure {measure} where k is at most {K_MOST:,}")
    return None


POOLS_HELP = (
    "the pools: lines `query passage`, such as `pool --members` writes, or pairs (query a b), such as `pool --pairs` "
    "writes. By pairs, a query's pool is the passages that they name (a pool of one has no pair, so it is not there, "
    "and gets no line). Judgments outside these pools are bad input. Without this option, a query's pool is the "
    "passages that its judgments name"
)


def add_seed(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", metavar="N", type=_seed, default=0, help="of random draws; default: 0")


def _seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} where a whole number from 0 on is needed")
    return int(text)


def add_comparing_options(command: argparse.ArgumentParser, k: int | None) -> None:
    """The runs, the qrels and how they are read; with `k`, the default of --k."""
    command.add_argument("files", metavar="RUN", nargs="+", help="the run files")
    command.add_argument("--qrels", metavar="FILE", required=True, help="qrels (query 0 passage grade)")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    add_min_grade(command)
    command.add_argument(
        "--alpha", metavar="A", type=alpha, default=0.05, help="the level of significance; default: 0.05"
    )
    command.add_argument(
        "--correction",
        choices=CORRECTIONS,
        default="bonferroni",
        help="how alpha is shared by many tests. bonferroni, holm: any false finding is as rare as alpha; Holm finds "
        "no less. bh: that share of the findings is false. none: each test has all of it. Default: bonferroni",
    )
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")
    if k:
        command.add_argument(
            "--k",
            metavar="N",
            type=cutoff,
            default=k,
            help=f"how far down a run is read, up to {K_MOST:,}; default: {k}",
        )


# As in "0.05 over 6 pairs (Bonferroni)".
CORRECTED: dict[Correction, str] = {
    "bonferroni": "Bonferroni", "holm": "Holm", "bh": "Benjamini-Hochberg", "none": "not corrected",
}  # fmt: skip


def add_pool_runs(command: argparse.ArgumentParser, others: str) -> None:
    """The option that names the runs of which people judged the top passages; `others`: what becomes of the rest."""
    command.add_argument(
        "--pool-runs",
        metavar="RUN,RUN,...",
        help=f"the names of the runs whose top passages made the pools; the others {others}. Default: all",
    )


def pooled_runs(runs: Iterable[str], options: argparse.Namespace) -> list[str]:
    """The runs whose top passages made the pools: all, or those of --pool-runs."""
    names = list(runs)
    if options.pool_runs is None:
        return names
    pooled = options.pool_runs.split(",")
    unknown = [name for name in pooled if name not in names]
    if unknown:
        options.command.error(f"--pool-runs names {unknown[0]!r}, which is not one of the runs: {', '.join(names)}")
    return [name for name in names if name in pooled]


def warn_unpooled(unjudged: Mapping[str, int], options: argparse.Namespace) -> None:
    """Say that runs put passages first that nobody was asked about, unless the runs that made the pools are named."""
    names = [run for run, count in unjudged.items() if count]
    if names and options.pool_runs is None:
        counts = ", ".join(f"{run} ({counted(unjudged[run], 'query', 'queries')})" for run in names)
        warn(f"Put passages first that no pair has: {counts}. Name the runs that made the pools with --pool-runs.")


def add_min_grade(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--min-grade", metavar="N", type=int, default=1, help="the least grade that is relevant; default: 1"
    )


def needs_two_runs(options: argparse.Namespace) -> None:
    """Leaves with a usage error where there are no two runs to compare."""
    if len(options.files) < 2:
        options.command.error("one run where at least two are needed")


def read_judged(path: str, min_grade: int) -> Qrels:
    """The qrels. Raises BadInput where nothing in them is relevant: every run would score 0."""
    qrels = read_qrels(path, name=path)
    if not any(qrels.relevant("all", min_grade).values()):
        raise BadInput(path, None, f"no passage of grade {min_grade} or more, so there is nothing that a run can find.")
    return qrels


@contextmanager
def write_whole(path: str) -> Iterator[TextIO]:
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


def write_bytes(path: str, content: bytes, *, private: bool = False) -> None:
    """A file that is there whole, or else as it was before. `private`: only its owner may read it. Raises BadInput."""
    target = Path(path)
    try:
        target = target.resolve()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # for the owner alone
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
            if not private:
                os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(path, None, f"cannot be written: {error.strerror or error}.") from None


def read_bytes(path: str, most: int) -> bytes:
    """A file's content. Raises BadInput where it cannot be read, or has more than `most` bytes."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise BadInput(path, None, f"cannot be opened: {getattr(error, 'strerror', None) or error}.") from None
    if len(content) > most:
        raise BadInput(path, None, f"more than {most:,} bytes.")
    return content


def is_same_file(path: str, other: str) -> bool:
    try:
        return Path(path).samefile(other)
    except OSError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""`python -m evaluation check`: whether files are what they should be."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from evaluation.cli.common import BAD, OK, add_command, add_without_query, print_json, with_names
from evaluation.errors import BadInput
from evaluation.files.metadata import flatten
from evaluation.files.notes import Note
from evaluation.files.qrels import read_qrels
from evaluation.files.runs import Census, RunCheck, check_run
from evaluation.files.textfiles import counted, quote_value
from evaluation.files.texts import read_queries


def _check(options: argparse.Namespace) -> int:
    queries = None
    if options.queries:
        queries = [query.id for query in read_queries(options.queries, name=options.queries)]
    qrels = read_qrels(options.qrels, name=options.qrels) if options.qrels else None
    check = check_run(options.file, name=options.file, queries=queries, without_query=options.without_query)
    notes = check.notes(queries or (), qrels)
    if options.json:
        print_json(
            {
                "ok": check.ok,
                "errors": [error._asdict() for error in check.errors],
                "error_count": check.error_count,
                "stopped": check.stopped,
                "census": check.census.as_dict(),
                "metadata": check.metadata,
                "notes": [note.as_dict() for note in notes],
            }
        )
    else:
        print("\n".join(_report(check, notes)))
    if not check.ok:
        print(check.complaint(), file=sys.stderr)
    return OK if check.ok else BAD


def _report(check: RunCheck, notes: Iterable[Note]) -> Iterator[str]:
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
    yield from (f"  Note: {note.sentence()}" for note in notes)
    yield ""
    yield from _census(check.census)
    if check.metadata:
        yield ""
        yield "What the header says:"
        yield from (f"  {quote_value(name)}: {quote_value(value)}" for name, value in flatten(check.metadata))


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
        ("queries whose hits all have one score", census.queries_with_one_score),
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
    if census.own_query_hits:
        rows.append(("hits left out whose passage has the id of the query", census.own_query_hits))
    if census.missing_queries is not None:
        rows.append(("queries that the run lacks", with_names(census.missing_queries, census.missing_query_ids)))
    if census.unknown_queries is not None:
        rows.append(("queries that only the run has", with_names(census.unknown_queries, census.unknown_query_ids)))
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        text = ("yes" if value else "no") if isinstance(value, bool) else value
        yield f"{label:<{width}}  {text:,}" if isinstance(text, int) else f"{label:<{width}}  {text}"


def add_check(commands: Any) -> None:
    command = add_command(
        commands,
        "check",
        _check,
        "find the errors of a run, and what about it may surprise",
        """Reads a run and reports its errors, the first 100 with their lines, and a census.

A run is TREC (query Q0 passage rank score tag), MS MARCO (query passage rank) or a table (CSV, JSON
lines, Parquet). Errors: a line with another number of columns, a rank that is no whole number, a score that is no
finite number, a passage that comes twice for a query, a NUL byte or another control character, invalid UTF-8, a
compressed file cut short, an empty file.

The census counts what is no error but may move results: ties, ties at the top, queries whose top passage depends on
whether the rank or the score is believed, short lists, missing queries, and so on. Notes say what makes its
numbers suspicious: no query or no judged passage in common, ids that differ only in form, marks or invisible
characters in ids, the query itself among its results, scores that are all the same.""",
        ["python -m evaluation check bm25.txt.gz --queries queries.tsv"],
    )
    command.add_argument("file", metavar="RUN", help="the run file")
    command.add_argument(
        "--queries", metavar="FILE", help="the queries (id TAB text, or JSON lines): counts those the run lacks"
    )
    command.add_argument("--qrels", metavar="FILE", help="qrels: tells whether the run's passages are judged")
    add_without_query(command)
    command.add_argument(
        "--json", action="store_true", help="print JSON: ok, errors, error_count, stopped, census, metadata, notes"
    )

"""`python -m evaluation recognize`: what files hold."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evaluation.cli.common import OK, add_command, print_json, table
from evaluation.errors import BadInput
from evaluation.files.dialects import KINDS
from evaluation.files.recognizing import Recognized, recognize
from evaluation.files.runs import check_run
from evaluation.files.tables import open_table
from evaluation.files.textfiles import counted, quote_value


def _recognize(options: argparse.Namespace) -> int:
    files = [_describe(path) for path in options.files]
    if options.json:
        print_json({"files": files})
        return OK
    rows = [[quote_value(file["file"]), file["kind"], f"{file['rows']:,}", file["dialect"] or "-"] for file in files]
    for line, file in zip(table([["file", "kind", "rows", "dialect"], *rows], left=2), [None, *files], strict=True):
        print(line)
        for note in file["notes"] if file else ():
            print(f"  {note}")
    return OK


def _describe(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as source:
            recognized = recognize(source, Path(path).name)
    except (OSError, ValueError) as error:
        raise BadInput(path, None, f"cannot be opened: {getattr(error, 'strerror', None) or error}.") from None
    rows, faults = _count(path, recognized)
    return {
        "file": path,
        "kind": recognized.kind if recognized.kind != "archive" else "unknown",
        "dialect": recognized.dialect,
        "rows": rows,
        "columns": list(recognized.columns),
        "notes": list(dict.fromkeys([*recognized.notes, *faults])),
    }


def _count(path: str, recognized: Recognized) -> tuple[int, list[str]]:
    """How many rows a file of a kind has, up to what is wrong with it, and what that is."""
    if recognized.kind not in KINDS:
        return 0, []
    if recognized.kind == "run":
        check = check_run(path, name=path, depth=1)
        return check.census.hits, [check.complaint().removeprefix(f"{path}, ")] if check.errors else []
    rows = 0
    try:
        with open_table(path, recognized.kind, name=path) as read:
            by_roles = read.dialect is None or read.dialect.by_roles
            for at, record in read.records():
                if by_roles:
                    read.row(at, record)
                rows += 1
    except BadInput as error:
        place = "" if error.line is None else f"line {error.line:,}: "
        return rows, [f"{place}{error.message} Read up to there: {counted(rows, 'row')}."]
    return rows, []


def add_recognize(commands: Any) -> None:
    command = add_command(
        commands,
        "recognize",
        _recognize,
        "say what files hold",
        """Says of each file what it holds (a run, qrels, queries, passages, preferences, judgments, or unknown), in
whose format, with how many rows and which columns, and what is odd about it. Seen by its first rows; its name decides
between queries and passages where nothing else does.""",
        ["python -m evaluation recognize demo/qrels.txt demo/queries.tsv demo/runs/bm25.txt"],
    )
    command.add_argument("files", metavar="FILE", nargs="+", help="the files")
    command.add_argument(
        "--json", action="store_true", help="print JSON: files, each with file, kind, dialect, rows, columns, notes"
    )

"""`python -m evaluation workers`: how far each worker can be relied on."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.cli.common import OK, add_command, print_json, table, tell
from evaluation.errors import BadInput
from evaluation.files.judgments import read_judgments
from evaluation.files.textfiles import counted
from evaluation.statistics.reliability import Cast, reliabilities


def add_workers(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "workers",
        _workers,
        "tell how far each worker can be relied on",
        """Reads judgments with whoever made them: lines `query a b preferred worker`, the judgments.tsv of a campaign's
exports, or what other tools export. Of each worker it tells, over the pairs that others judged, too: the share of the
others' judgments that are the same; how often the worker is right, by the model of Dawid and Skene; and which share of
their judgments are no guesses, by MACE, to which somebody who always takes one side guesses. It needs no test pairs,
and says nothing of who judged alone. --json prints

  {"workers": {"<worker>": {"pairs", "agreement", "correct", "unguessed"}}, "judgments", "left_out": {"<why>": n}}""",
        ["python -m evaluation workers --judgments judgments.tsv"],
    )
    command.add_argument("--judgments", metavar="FILE", required=True, help="the judgments, with workers")
    command.add_argument("--json", action="store_true", help="print JSON")


def _workers(options: argparse.Namespace) -> int:
    judgments = read_judgments(options.judgments, name=options.judgments)
    cast = []
    for one in judgments.made:
        if one.worker:
            cast.append(Cast(one.query, one.a, one.b, one.worker, one.preferred))
        else:
            judgments.leave_out("without a worker")
    if not cast:
        why = "; ".join(f"{count:,} {reason}" for reason, count in judgments.left_out.items())
        raise BadInput(options.judgments, None, f"no judgment of a known worker{f' ({why} left out)' if why else ''}.")
    for reason, count in judgments.left_out.items():
        tell(f"{counted(count, 'judgment')} {reason} left out.")
    found = reliabilities(cast)
    if options.json:
        workers = {worker: told._asdict() for worker, told in found.items()}
        print_json({"workers": workers, "judgments": len(cast), "left_out": judgments.left_out})
        return OK
    rows: list[tuple[str, ...]] = [("worker", "pairs", "agreement", "correct", "unguessed")]
    for worker, told in sorted(found.items(), key=lambda row: (-(row[1].correct or 0), row[0])):
        shares = ("–" if share is None else f"{share:.3f}" for share in (told.agreement, told.correct, told.unguessed))
        rows.append((worker, f"{told.pairs:,}", *shares))
    print("\n".join(table(rows)))
    return OK

"""`python -m evaluation board`: a leaderboard's CSV file, recounted."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from evaluation.boards.csvfiles import BoardFile, read_board
from evaluation.boards.entries import Entry, Summary, ordered, ranks, summarize
from evaluation.boards.gaps import Trend, gap_trend
from evaluation.cli.common import OK, add_command, p_shown, positive, print_json, print_report, table, warn
from evaluation.errors import BadInput
from evaluation.files.textfiles import counted

_SHOWN = 10


def add_board(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "board",
        _board,
        "recount a leaderboard's CSV file: trophies, and how dev and eval agree",
        """Reads the CSV file of the MS MARCO document or passage leaderboard, told apart by the names of its columns,
and recomputes its trophies. A trophy goes to an entry whose printed eval score is strictly above all before it, by date
and then by row; an organizers' baseline sets the mark to beat, and gets none. Entries whose mark says otherwise are
listed.

Over the entries with both scores, it prints Pearson's r and Kendall's tau-b of dev and eval, and whether the gap
between them changes over time (least squares, with a 95% interval by t).

What was mended in the file is told on standard error.

--json prints one object; `both` is the number of entries with both scores:

  {"entries", "baselines", "trophies", "disagreements": [{"key", "line", "marked", "earned"}], "both", "pearson",
   "kendall"}""",
        ["python -m evaluation board leaderboard.csv", "python -m evaluation board leaderboard.csv --json"],
    )
    command.add_argument("file", metavar="CSV", help="the leaderboard")
    command.add_argument("--until", metavar="DATE", type=_date, help="leave out entries after this date (yyyy-mm-dd)")
    command.add_argument(
        "--top", metavar="N", type=positive, default=_SHOWN, help=f"how many entries to list; default: {_SHOWN}"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _date(text: str) -> date:
    match = re.fullmatch(r"([0-9]{4})[/-]([0-9]{2})[/-]([0-9]{2})", text, re.ASCII)
    try:
        return date(*map(int, match.groups())) if match else date(0, 0, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} where a date such as 2022-04-30 is needed") from None


def _board(options: argparse.Namespace) -> int:
    file = read_board(options.file, name=options.file)
    entries = [entry for entry in file.entries if options.until is None or entry.date <= options.until]
    for line, message in file.notes:
        warn(str(BadInput(options.file, line, message)))
    summary = summarize(entries)
    if options.json:
        wrong = [
            {"line": file.lines[disagreement.key], **disagreement._asdict()} for disagreement in summary.disagreements
        ]
        print_json(
            {
                "entries": summary.entries,
                "baselines": summary.baselines,
                "trophies": summary.trophies,
                "disagreements": wrong,
                "both": summary.both,
                "pearson": summary.pearson,
                "kendall": summary.kendall,
            }
        )
    else:
        print_report(_report(file, entries, summary, options))
    return OK


def _report(file: BoardFile, entries: list[Entry], summary: Summary, options: argparse.Namespace) -> Iterator[str]:
    yield (
        f"{counted(summary.entries, 'entry', 'entries')}, {counted(summary.baselines, 'baseline')} of the organizers, "
        f"{counted(summary.trophies, 'trophy', 'trophies')}{f', by {file.measure}' if file.measure else ''}."
    )
    if summary.disagreements:
        for disagreement in summary.disagreements:
            what = (
                "is not marked, and was the best when it came"
                if disagreement.earned
                else "is marked, and was not the best"
            )
            yield f"{options.file}, line {file.lines[disagreement.key]:,}: {disagreement.key} {what}."
    else:
        yield "All marks agree with scores and dates."
    if summary.both:
        yield (
            f"Dev and eval, over {counted(summary.both, 'entry', 'entries')} with both: Pearson's r "
            f"{_shown(summary.pearson)}, Kendall's tau-b {_shown(summary.kendall)}."
        )
        yield from _gap(summary, gap_trend(entries))
    top = [entry for entry in ordered(entries) if entry.eval is not None][: options.top]
    if top:
        yield ""
        places = ranks(entries)
        rows = [["rank", "date", "mark", "dev", "eval", "description", "team"]]
        for entry in top:
            scores = [str(score if score is not None else "-") for score in (entry.dev, entry.eval)]
            names = [_short(entry.description), _short(entry.team)]
            rows.append([str(places[entry.key]), f"{entry.date:%Y-%m-%d}", entry.mark, *scores, *names])
        yield from table(rows, left=len(rows[0]))


def _gap(summary: Summary, trend: Trend | None) -> Iterator[str]:
    yield f"Eval less dev: {summary.mean_gap:.4f} on average; above 0 for {summary.positive_gaps:,}."
    if trend:
        low, high = trend.interval
        trends = {
            "": "no trend beyond chance",
            "eval": "eval rises faster than dev, as it does where runs are fitted to the hidden queries",
            "dev": "dev rises faster than eval, as it does where runs are fitted to the public queries",
        }
        yield (
            f"It changes by {trend.slope:+.4f} a year ({low:+.4f} to {high:+.4f}, p = {p_shown(trend.p)}): "
            f"{trends[trend.alarm]}."
        )


def _shown(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"


def _short(text: str, width: int = 40) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

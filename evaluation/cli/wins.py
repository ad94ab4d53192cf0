"""`python -m evaluation wins`."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    add_command,
    add_comparing_options,
    p_shown,
    print_json,
    read_judged,
    read_runs,
    table,
    tell,
    tell_left_out,
)
from evaluation.cli.latex import escape, tabular
from evaluation.errors import BadInput
from evaluation.files.preferences import read_preferences
from evaluation.files.textfiles import counted
from evaluation.statistics.winning import COUNTINGS, PERFECT, Meeting, Wins, perfect_top, win_ratios


def add_wins(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "wins",
        _wins,
        "tell whose top passages people preferred, run against run",
        """Compares runs by their top passages alone: of the queries that the qrels name, where the top passages of two
runs differ and people judged the two, how often was the one preferred to the other? Beside the runs stands the perfect
ranking, which returns the qrel first: the first of the query in the file.

The table tells how often the run of the column was preferred to the run of the row, the last line how many runs that
run beats, that is, more than half of the time. A star marks p < alpha / pairs in the exact two-sided binomial test,
where the pairs are all unordered pairs of the runs shown, the perfect ranking among them (Bonferroni).

--json prints:

  {"order", "runs", "queries", "counting", "alpha", "family", "threshold", "ratios": [[null, 0.58, ...], ...],
   "wins": {"<run>": ...}, "significant_wins": {"<run>": ...}, "better_than_perfect": [...],
   "pairs": [{"a", "b", "differ", "judged", "a_wins", "b_wins", "undecided", "ratio", "p", "significant"}]}

`ratios` are by row and column, `ratio` is b's share of the wins. Both are null where nothing was won.""",
        ["python -m evaluation wins --qrels qrels.txt --preferences preferences.txt bm25.txt.gz dense.txt.gz"],
    )
    add_comparing_options(command, None)
    command.add_argument("--preferences", metavar="FILE", required=True, help="the judgments (query a b preferred)")
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print the pairs as CSV, a line a pair, in full precision")
    forms.add_argument(
        "--latex", action="store_true", help="print the table as a LaTeX tabular, what is significant in bold"
    )
    command.add_argument(
        "--count",
        choices=COUNTINGS,
        default="majority",
        help="how several judgments of a pair count. majority: as one win of the passage that most preferred, or as "
        "undecided. each: every judgment is a win. Default: majority",
    )


def _wins(options: argparse.Namespace) -> int:
    qrels = read_judged(options.qrels, options.min_grade)
    preferences = list(read_preferences(options.preferences, name=options.preferences, ties=True))
    runs = read_runs(options.files, 1, without_query=options.without_query)
    if runs is None:
        return BAD
    if PERFECT in runs:
        raise BadInput(PERFECT, None, "is what the ranking that returns the qrels is called; rename the file.")
    tops = {PERFECT: perfect_top(qrels, options.min_grade)}
    tops |= {name: run.top(options.order) for name, run in runs.items()}
    wins = win_ratios(tops, qrels.queries, preferences, counting=options.count, alpha=options.alpha)
    tell_left_out(runs, qrels)
    foreign = len({preference.query for preference in preferences}.difference(qrels.queries))
    if foreign:
        tell(f"{counted(foreign, 'query', 'queries')} of {options.preferences} left out: not in the qrels.")
    if options.json:
        print_json({"order": options.order, **wins.as_dict(), "better_than_perfect": wins.that_beat(PERFECT)})
    elif options.csv:
        _print_csv(wins)
    elif options.latex:
        print("\n".join(_latex(wins)))
    else:
        print("\n".join(_report(wins)))
    return OK


def _significant(wins: Wins) -> set[frozenset[int]]:
    """The pairs of runs that differ significantly, as positions."""
    pairs = zip(combinations(range(len(wins.runs)), 2), wins.meetings, strict=True)
    return {frozenset(pair) for pair, meeting in pairs if meeting.significant}


def _better_than_perfect(wins: Wins) -> str:
    better = wins.that_beat(PERFECT)
    count = counted(len(better), "run")
    return f"{count} significantly beat{'s' if len(better) == 1 else ''} the perfect ranking."


def _print_csv(wins: Wins) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(Meeting._fields)
    out.writerows(wins.meetings)


def _latex(wins: Wins) -> Iterator[str]:
    names = [escape(run) for run in wins.runs]
    significant = _significant(wins)
    rows = []
    for row, (name, ratios) in enumerate(zip(names, wins.ratios(), strict=True)):
        cells = ["" if ratio is None else rf"{100 * ratio:.1f}\%" for ratio in ratios]
        bold = [frozenset((row, column)) in significant for column in range(len(cells))]
        rows.append([name, *(rf"\textbf{{{cell}}}" if own else cell for cell, own in zip(cells, bold, strict=True))])
    rows.append(["Wins", *map(str, wins.wins().values())])
    return tabular("l" + "r" * len(names), [["", *names]], rows)


def _report(wins: Wins) -> Iterator[str]:
    numbers = [str(number) for number in range(1, len(wins.runs) + 1)]
    significant = _significant(wins)
    rows = [["", "", *numbers]]
    for row, (number, run, ratios) in enumerate(zip(numbers, wins.runs, wins.ratios(), strict=True)):
        cells = [
            "-" if ratio is None else f"{ratio:.1%}" + ("*" if frozenset((row, column)) in significant else " ")
            for column, ratio in enumerate(ratios)
        ]
        rows.append([number, run, *cells])
    rows.append(["", "wins", *map(str, wins.wins().values())])
    yield "How often the run of the column was preferred to the run of the row, by their top passages."
    yield ""
    yield from table(rows, left=2)
    yield ""
    yield (
        f"{counted(wins.queries, 'query', 'queries')}. * is p < {wins.threshold:.3g} in the exact binomial test: "
        f"{wins.alpha:g} over {counted(len(wins.meetings), 'pair')} (Bonferroni)."
    )
    judged = [meeting for meeting in wins.meetings if meeting.differ]
    if judged:
        differ, known = sum(meeting.differ for meeting in judged), sum(meeting.judged for meeting in judged)
        yield f"Over all pairs, top passages differ {differ:,} times; {known:,} of these were judged."
    yield _better_than_perfect(wins)
    for meeting in wins.meetings:
        if meeting.significant:
            better, worse = (meeting.a, meeting.b) if meeting.a_wins > meeting.b_wins else (meeting.b, meeting.a)
            yield (
                f"{better} was preferred to {worse} {max(meeting.a_wins, meeting.b_wins):,} times to "
                f"{min(meeting.a_wins, meeting.b_wins):,} (p = {p_shown(meeting.p)})."
            )

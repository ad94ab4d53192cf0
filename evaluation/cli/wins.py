"""`python -m evaluation wins`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from evaluation.cli.common import (
    BAD,
    CORRECTED,
    OK,
    add_command,
    add_comparing_options,
    add_pool_runs,
    p_shown,
    pooled_runs,
    print_csv,
    print_json,
    print_latex,
    print_report,
    read_judged,
    read_runs,
    table,
    tell_left_out,
    warn,
    warn_unpooled,
)
from evaluation.cli.latex import escape, tabular
from evaluation.errors import BadInput
from evaluation.files.preferences import Preference, read_preferences
from evaluation.files.textfiles import counted
from evaluation.judging.pooling import Tops
from evaluation.statistics.win_ratios import COUNTINGS, PERFECT, Meeting, Wins, perfect_top, win_ratios


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

The table tells how often the run of the column was preferred to the run of the row, and in brackets of how many
decided queries; the last line how many runs that run beats, that is, more than half of the time. A star marks what is
significant in the exact two-sided binomial test, among those of all unordered pairs of the runs shown, the perfect
ranking among them.

Runs that did not make the pools (--pool-runs) stand apart: their top passages were judged only where others brought
them, which is no fair sample. Their share has bounds, as if they had lost, or won, all that were not judged.

--json prints:

  {"order", "runs", "queries", "counting", "alpha", "correction", "family", "threshold",
   "ratios": [[null, 0.58, ...], ...], "wins": {"<run>": ...}, "significant_wins": {"<run>": ...},
   "better_than_perfect": [...], "pairs": [{"a", "b", "differ", "judged", "a_wins", "b_wins", "undecided", "ratio",
   "interval": [low, high], "p", "significant"}],
   "apart": [{"run", "differ", "judged", "won", "lost", "undecided", "share", "low", "high"}]}

`ratios` are by row and column, `ratio` is b's share of the wins, with its exact 95% interval. They are null where
nothing was won.""",
        ["python -m evaluation wins --qrels qrels.txt --preferences preferences.txt bm25.txt.gz dense.txt.gz"],
    )
    add_comparing_options(command, None)
    add_pool_runs(command, "stand apart")
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
    pooled = [PERFECT, *pooled_runs(runs, options)]
    wins = win_ratios(
        *(tops, qrels.queries, preferences),
        **{"counting": options.count, "alpha": options.alpha, "correction": options.correction, "pooled": pooled},
    )
    tell_left_out(runs, qrels)
    foreign = len({preference.query for preference in preferences}.difference(qrels.queries))
    if foreign:
        warn(f"{counted(foreign, 'query', 'queries')} of {options.preferences} left out: not in the qrels.")
    warn_unpooled(_unjudged(tops, qrels.queries, preferences), options)
    if options.json:
        print_json({"order": options.order, **wins.as_dict(), "better_than_perfect": wins.that_beat(PERFECT)})
    elif options.csv:
        print_csv([meeting._asdict() for meeting in wins.meetings], Meeting._fields)
    elif options.latex:
        print_latex(_latex(wins))
    else:
        print_report(_report(wins))
    return OK


def _unjudged(tops: Mapping[str, Tops], queries: Iterable[str], preferences: Iterable[Preference]) -> dict[str, int]:
    """By run, for how many of the queries nobody judged its top passage, though others of the query were."""
    judged_with: dict[str, set[str]] = {}
    for row in preferences:
        judged_with.setdefault(row.query, set()).update((row.a, row.b))
    judged = [query for query in queries if query in judged_with]
    return {
        run: sum(bool(top.get(query)) and top[query][0] not in judged_with[query] for query in judged)
        for run, top in tops.items()
        if run != PERFECT
    }


def _significant(wins: Wins) -> set[frozenset[int]]:
    """The pairs of runs that differ significantly, as positions."""
    pairs = zip(combinations(range(len(wins.runs)), 2), wins.meetings, strict=True)
    return {frozenset(pair) for pair, meeting in pairs if meeting.significant}


def _better_than_perfect(wins: Wins) -> str:
    better = wins.that_beat(PERFECT)
    count = counted(len(better), "run")
    return f"{count} significantly beat{'s' if len(better) == 1 else ''} the perfect ranking."


def _latex(wins: Wins) -> Iterator[str]:
    names = [escape(run) for run in wins.runs]
    significant = _significant(wins)
    rows = []
    for row, (name, ratios) in enumerate(zip(names, wins.ratios(), strict=True)):
        cells = ["" if ratio is None else rf"{100 * ratio:.1f}\%" for ratio in ratios]
        bold = [frozenset((row, column)) in significant for column in range(len(cells))]
        rows.append(
            [name, *(rf"\textbf{{{cell}}}" if is_bold else cell for cell, is_bold in zip(cells, bold, strict=True))]
        )
    rows.append(["Wins", *map(str, wins.wins().values())])
    return tabular("l" + "r" * len(names), [["", *names]], rows)


def _report(wins: Wins) -> Iterator[str]:
    numbers = [str(number) for number in range(1, len(wins.runs) + 1)]
    significant = _significant(wins)
    both = zip(combinations(range(len(wins.runs)), 2), wins.meetings, strict=True)
    decided = {frozenset(pair): meeting.a_wins + meeting.b_wins for pair, meeting in both}
    rows = [["", "", *numbers]]
    for row, (number, run, ratios) in enumerate(zip(numbers, wins.runs, wins.ratios(), strict=True)):
        pairs = [frozenset((row, column)) for column in range(len(ratios))]
        cells = [
            "-" if ratio is None else f"{ratio:.1%}{'*' if pair in significant else ''} ({decided[pair]:,})"
            for pair, ratio in zip(pairs, ratios, strict=True)
        ]
        rows.append([number, run, *cells])
    rows.append(["", "wins", *map(str, wins.wins().values())])
    yield "How often the run of the column was preferred to the run of the row, by their top passages (of how many)."
    yield ""
    yield from table(rows, left=2)
    yield ""
    yield (
        f"{counted(wins.queries, 'query', 'queries')}. * is p < {wins.threshold:.3g} in the exact binomial test: "
        f"{wins.alpha:g} over {counted(len(wins.meetings), 'pair')} ({CORRECTED[wins.correction]})."
    )
    judged = [meeting for meeting in wins.meetings if meeting.differ]
    if judged:
        differ, judged_pairs = sum(meeting.differ for meeting in judged), sum(meeting.judged for meeting in judged)
        yield f"Over all pairs, top passages differ {differ:,} times; {judged_pairs:,} of these were judged."
    if wins.apart:
        yield ""
        yield "Not pooled, against those above: judged only where others brought the passage, which is no fair sample."
        rows = [["run", "differ", "judged", "won", "lost", "share", "if all others lost", "if all others won"]]
        for apart in wins.apart:
            shares = ("-" if share is None else f"{share:.1%}" for share in (apart.share, apart.low, apart.high))
            rows.append([apart.run, *(f"{count:,}" for count in apart[1:5]), *shares])
        yield from table(rows)
        yield ""
    yield _better_than_perfect(wins)
    for meeting in wins.meetings:
        if meeting.significant:
            better, worse = (meeting.a, meeting.b) if meeting.a_wins > meeting.b_wins else (meeting.b, meeting.a)
            yield (
                f"{better} was preferred to {worse} {max(meeting.a_wins, meeting.b_wins):,} times to "
                f"{min(meeting.a_wins, meeting.b_wins):,} (p = {p_shown(meeting.p)})."
            )

"""`python -m evaluation champion`: do people prefer what a run puts first to the qrel?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    add_min_grade,
    add_without_query,
    alpha,
    is_same_file,
    p_shown,
    positive,
    print_json,
    print_report,
    read_judged,
    read_runs,
    table,
    tell_left_out,
    warn,
    write_whole,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS
from evaluation.files.preferences import read_preferences
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import counted
from evaluation.judging.pooling import CHAMPION_QRELS, ChampionPair, champion_pairs
from evaluation.statistics.champion import Category, ChampionCheck, champion_outcomes

_SLICES = (
    "they disagree, the run's passage is preferred",
    "they disagree, the qrel is preferred",
    "they agree, the second passage is preferred",
    "they agree, the top passage is preferred",
)


def add_champion(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "champion",
        _champion,
        "see whether people prefer what one run puts first to the qrel",
        """One comparison a query, about one run. In category A the run's top passage is the qrel, and is compared with
the run's second; in category B it is not, and is compared with the qrel. Without --preferences, this tells how many
queries are in each category, and --pairs writes the comparisons for people to judge. With --preferences, it tells what
they preferred, in both categories, with exact binomial tests and 95% intervals (Clopper and Pearson), and the four
slices of all decided queries.

If the qrel is the best passage wherever the run agrees with it, the share of A in which the other passage is preferred
is how often people err: `crowd_error`, for `certainty --error-rate`.

--json prints:

  {"run", "qrel", "queries", "split": {"a", "b"}, "unasked", "a": {"qrel", "other", "undecided", "queries",
   "other_share", "interval": [low, high], "p"}, "b": {...}, "unjudged", "slices": [...], "crowd_error"}

from "a" on only with --preferences. `unasked`: queries without a qrel or without a second passage.""",
        [
            "python -m evaluation champion --qrels qrels.txt --pairs pairs.tsv dense.txt.gz",
            "python -m evaluation champion --qrels qrels.txt --preferences preferences.txt dense.txt.gz",
        ],
    )
    command.add_argument("file", metavar="RUN", help="the run file")
    command.add_argument("--qrels", metavar="FILE", required=True, help="qrels (query 0 passage grade)")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    add_min_grade(command)
    command.add_argument(
        "--qrel",
        choices=CHAMPION_QRELS,
        default="first",
        help="the qrel of a query that has several: the first in the file (default), the one that the run ranks "
        "highest, or each, with a comparison for every one",
    )
    command.add_argument(
        "--depth",
        metavar="N",
        type=positive,
        default=1000,
        help="how far down --qrel highest looks in the run; default: 1,000",
    )
    command.add_argument("--pairs", metavar="OUT.tsv", help="write the comparisons there: query, a, b, sorted")
    command.add_argument("--preferences", metavar="FILE", help="the judgments (query a b preferred)")
    command.add_argument(
        "--alpha", metavar="A", type=alpha, default=0.05, help="the level of significance; default: 0.05"
    )
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _champion(options: argparse.Namespace) -> int:
    inputs = [options.qrels, options.file, *([options.preferences] if options.preferences else [])]
    if options.pairs and any(is_same_file(options.pairs, path) for path in inputs):
        raise BadInput(options.pairs, None, "is one of the input files, and would be overwritten.")
    qrels = read_judged(options.qrels, options.min_grade)
    preferences = (
        list(read_preferences(options.preferences, name=options.preferences, ties=True))
        if options.preferences
        else None
    )
    depth = max(2, options.depth) if options.qrel == "highest" else 2
    runs = read_runs([options.file], depth, without_query=options.without_query)
    if runs is None:
        return BAD
    ((name, run),) = runs.items()
    tops = run.top(options.order, depth)
    pairs = list(champion_pairs(tops, qrels, min_grade=options.min_grade, choice=options.qrel))
    unasked = len(qrels.queries) - len({pair.query for pair in pairs})
    outcomes = None
    if preferences is not None:
        outcomes = champion_outcomes(tops, qrels, preferences, min_grade=options.min_grade, choice=options.qrel)
    tell_left_out(runs, qrels)
    if outcomes is not None and options.qrel == "each":
        warn("Comparisons of one query are not independent: intervals are too narrow, and p-values too small.")
    if unasked:
        warn(f"{counted(unasked, 'query', 'queries')} without a qrel or without a second passage left out.")
    if options.pairs:
        with write_whole(options.pairs) as out:
            out.writelines("\t".join(pair.pair) + "\n" for pair in sorted(pairs, key=lambda pair: pair.pair))
    split = Counter(pair.category for pair in pairs)
    if options.json:
        print_json(
            {
                "run": name,
                "qrel": options.qrel,
                "queries": len(qrels.queries),
                "split": {"a": split["a"], "b": split["b"]},
                "unasked": unasked,
                **(outcomes.as_dict() if outcomes else {}),
            }
        )
    else:
        print_report(_report(name, pairs, outcomes, qrels, options))
    return OK


def _report(
    name: str, pairs: Sequence[ChampionPair], outcomes: ChampionCheck | None, qrels: Qrels, options: argparse.Namespace
) -> Iterator[str]:
    what = "comparisons" if options.qrel == "each" else "queries"
    split = Counter(pair.category for pair in pairs)
    queries = counted(len(qrels.queries), "query", "queries")
    yield f"The champion check of {name}: its top passages against the qrels of {queries}."
    yield ""
    rows = [
        ["category", what, "share"],
        ["A: the qrel is at the first rank", f"{split['a']:,}", _percent(split["a"], len(pairs))],
        ["B: another passage is at the first rank", f"{split['b']:,}", _percent(split["b"], len(pairs))],
        ["total", f"{len(pairs):,}", _percent(len(pairs), len(pairs))],
    ]
    yield from table(rows)
    if outcomes is None:
        return
    yield ""
    rows = [
        ["preferred", "A", "share", "B", "share"],
        ["qrel", *_counts(outcomes.a.qrel, outcomes.a), *_counts(outcomes.b.qrel, outcomes.b)],
        ["compared passage", *_counts(outcomes.a.other, outcomes.a), *_counts(outcomes.b.other, outcomes.b)],
        ["undecided", *_counts(outcomes.a.undecided, outcomes.a), *_counts(outcomes.b.undecided, outcomes.b)],
        ["total", *_counts(outcomes.a.queries, outcomes.a), *_counts(outcomes.b.queries, outcomes.b)],
    ]
    yield from table(rows)
    if outcomes.unjudged:
        yield f"{counted(outcomes.unjudged, 'comparison')} without a judgment."
    yield ""
    decided = sum(outcomes.slices())
    yield from table(
        [
            ["run and qrels", what, "share"],
            *(
                [label, f"{part:,}", _percent(part, decided)]
                for label, part in zip(_SLICES, outcomes.slices(), strict=True)
            ),
        ]
    )
    yield ""
    yield from _findings(name, outcomes, options.alpha)


def _findings(name: str, outcomes: ChampionCheck, level: float) -> Iterator[str]:
    if outcomes.b.other_share is not None:
        ahead, clear = outcomes.b.other > outcomes.b.qrel, outcomes.b.p < level
        verdict = (
            f"{name} is better than a perfect ranking by these qrels."
            if ahead and clear
            else "The qrels hold."
            if clear
            else f"Whether {name} is better than a perfect ranking by these qrels is open."
        )
        yield f"Where they disagree, people prefer the run's passage to the qrel in {_shown(outcomes.b)}. {verdict}"
    if outcomes.a.other_share is not None:
        yield (
            f"Where they agree, people prefer the second passage in {_shown(outcomes.a)}. If the top passage is the "
            f"best one there is, that is how often people err."
        )


def _shown(category: Category) -> str:
    interval = category.interval()
    assert category.other_share is not None
    assert interval is not None
    return (
        f"{category.other_share:.1%} (95% interval {interval.low:.1%} to {interval.high:.1%}; {category.other:,} of "
        f"{category.other + category.qrel:,}, p = {p_shown(category.p)})"
    )


def _counts(count: int, category: Category) -> list[str]:
    return [f"{count:,}", _percent(count, category.queries)]


def _percent(count: int, total: int) -> str:
    return f"{count / total:.2%}" if total else "-"

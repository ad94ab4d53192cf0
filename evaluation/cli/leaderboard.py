"""`python -m evaluation leaderboard`."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from evaluation.cli.common import (
    BAD,
    CORRECTED,
    OK,
    POOLS_HELP,
    WHOLE,
    add_command,
    add_comparing_options,
    add_pool_runs,
    add_seed,
    measure_name,
    p_shown,
    pooled_runs,
    positive,
    print_json,
    print_report,
    read_judged,
    read_pools,
    read_runs,
    table,
    take_measure,
    tell_left_out,
    tell_short_lists,
    warn,
    warn_unpooled,
)
from evaluation.errors import BadInput
from evaluation.files.about_runs import Outside, read_outside
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import counted
from evaluation.judging.pooling import Tops
from evaluation.judging.tournament import METHODS
from evaluation.measures.named import Measure
from evaluation.statistics.consistency import TOP, OrderAgreement, order_agreement
from evaluation.statistics.contributions import Contribution, Scoring, contributions
from evaluation.statistics.correlation import kendall_tau
from evaluation.statistics.leaderboards import (
    Agreement,
    Leaderboard,
    Neighbours,
    Pairings,
    RunScore,
    agree_outside,
    common_queries,
    leaderboard,
    leaderboard_by,
    pairings,
    perfect_by,
    perfect_finds,
)
from evaluation.statistics.measured import MeasuredBoard
from evaluation.statistics.ranks import Board, ranks_of
from evaluation.statistics.resampling import DRAWS
from evaluation.statistics.win_ratios import PERFECT


def add_leaderboard(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "leaderboard",
        _leaderboard,
        "tell what preference qrels do to the order of runs",
        """Scores runs on the original and on the preference qrels, over the queries that both name, and tells:

  runs         mean RR@k, or of --measure, and rank on both, with 95% intervals over queries: Student's t, and bootstrap
               percentiles
  perfect      what the ranking that returns the first original qrel of each query scores on the preference qrels; it is
               the first row of the table. By a measure other than RR@k, it returns all of them, higher grades first
  all queries  the mean on the original qrels over all their queries, and Kendall's tau of the two orders
  tau, tau_ap  how far the two orders agree: Kendall's tau-b, and AP correlation, where the top weighs more and the
               original order is the reference
  neighbours   runs that follow each other on the original qrels: did they change ranks, and is the difference on the
               preference qrels (with its 95% interval) significant by WSR, among all neighbouring pairs?

With --preferences also:

  pairings     how many of their judgments the preference qrels and the original qrels won, each judgment by itself
  order        how many of the judged pairs with both passages in its top 10 each run orders as people did; apart, runs
               that did not make the pools, of whose own passages none was judged
  own          for each pooled run, mean and rank with preference qrels derived without the passages that it alone put
               first (`mean_without`, `place_without`): is its rank owed to what it brought into the pools? `mean` and
               `place` are on qrels derived from the whole pools, so over the queries that have judgments

A measure's least grade, as in P(rel=2)@10, is of the original qrels: every preference qrel is relevant. By Compat,
`shared` counts the queries with a relevant passage that a run has; the others count 0.

--json prints all of this as one object.""",
        [
            "python -m evaluation leaderboard --qrels qrels.txt --preference-qrels preference-qrels.txt runs/*",
            "python -m evaluation leaderboard --measure P@10 --qrels qrels.txt --preference-qrels winners.txt runs/*",
        ],
    )
    add_comparing_options(command, 10)
    command.add_argument(
        "--measure", metavar="NAME", type=measure_name, help="as in `score`; RR@k is the same as --k. Default: RR@10"
    )
    command.add_argument("--preference-qrels", metavar="FILE", required=True, help="qrels that preferences gave")
    command.add_argument("--preferences", metavar="FILE", help="the judgments (query a b preferred)")
    command.add_argument("--pools", metavar="PAIRS.tsv", help=POOLS_HELP)
    command.add_argument("--method", choices=METHODS, default="tournament", help="as in `qrels`; default: tournament")
    command.add_argument(
        "--allow-incomplete", action="store_true", help="play pools with pairs that nobody judged, as in `qrels`"
    )
    add_pool_runs(command, "are only scored")
    command.add_argument(
        "--outside",
        metavar="FILE",
        help="scores of the runs from elsewhere, such as a public leaderboard (lines: run score, or run score rank); "
        "the runs are then listed by them",
    )
    add_seed(command)
    command.add_argument(
        "--draws", metavar="N", type=positive, default=DRAWS, help=f"of the bootstrap; default: {DRAWS:,}"
    )


def _leaderboard(options: argparse.Namespace) -> int:
    measure = take_measure(options)
    original = read_judged(options.qrels, options.min_grade)
    preference = read_judged(options.preference_qrels, 1)
    queries = common_queries(original, preference)
    if not queries:
        raise BadInput(options.preference_qrels, None, f"names no query that {options.qrels} names.")
    pools, preferences = read_pools(options.pools, options.preferences) if options.preferences else ({}, [])
    outside = read_outside(options.outside, name=options.outside) if options.outside else {}
    depth = options.k if measure is None else measure.depth or WHOLE
    runs = read_runs(
        options.files, max(depth, TOP) if options.preferences else depth, without_query=options.without_query
    )
    if runs is None:
        return BAD
    pooled = pooled_runs(runs, options)
    scored = _scored(runs, original, preference, queries, options)
    leaderboard, everything, board = scored.board, scored.everything, scored.scoring
    won, contributed, ordered = None, None, None
    if options.preferences:
        won = {
            "preference": pairings(preference.relevant(), preferences),
            "original": pairings(original.relevant("all", options.min_grade), preferences),
        }
        tops = {name: runs[name].top(options.order) for name in pooled}
        ordered = order_agreement({name: run.top(options.order, TOP) for name, run in runs.items()}, preferences)
        contributed = _contributions(board, tops, original, pools, preferences, options)
        warn_unpooled(_unpooled(tops, pools), options)
    tell_left_out(runs, original)
    if leaderboard.k is not None:
        tell_short_lists(runs, leaderboard.k)
    _tell_uncommon(original, preference, options)
    _tell_foreign(outside, runs, options)
    whole = Whole(
        len(original.queries), everything, kendall_tau(list(everything.values()), _means(leaderboard)),
        Counter(len(preference.relevant()[query]) for query in queries),
    )  # fmt: skip
    if options.json:
        print_json(
            {
                "order": options.order,
                "seed": options.seed,
                "draws": options.draws,
                **leaderboard.as_dict(),
                **({} if scored.shared is None else {"shared": scored.shared}),
                "pairings": won and {name: pairing.as_dict() for name, pairing in won.items()},
                "own": contributed and [contribution.as_dict() for contribution in contributed],
                "pool_runs": list(pooled),
                "order_agreement": ordered and [{**row._asdict(), "pooled": row.run in pooled} for row in ordered],
                "all_queries": {"queries": whole.queries, "means": whole.means, "tau": whole.tau},
                "preference_qrels": {
                    "qrels": sum(size * count for size, count in whole.sizes.items()),
                    "by_size": {str(size): count for size, count in sorted(whole.sizes.items())},
                },
                "outside": outside
                and {
                    "runs": {run: score._asdict() for run, score in outside.items() if run in runs},
                    "tau": agree_outside(leaderboard, everything, outside)._asdict(),
                },
            }
        )
    else:
        print_report(_report(leaderboard, won, contributed, ordered, whole, outside, scored.shared, pooled))
    return OK


class Scored(NamedTuple):
    """The board; the runs' means over `everything` that the original qrels ask; what scores them with other qrels; and
    by Compat how many of the common queries are `shared` by qrels and run, by run, on both qrels.
    """

    board: Leaderboard
    everything: dict[str, float]
    scoring: Scoring
    shared: dict[str, dict[str, int]] | None


def _scored(
    runs: dict[str, RunArtifact],
    original: Qrels,
    preference: Qrels,
    queries: tuple[str, ...],
    options: argparse.Namespace,
) -> Scored:
    least = options.min_grade
    drawing = {name: getattr(options, name) for name in ("alpha", "correction", "seed", "draws")}
    measure: Measure | None = options.measure
    if measure is None:
        everything = ranks_of(runs, original, options.k, options.order, least).means()
        board = Board(runs, options.k, options.order)
        ranks = board.ranks(original, least).only(queries), board.ranks(preference).only(queries)
        perfect = perfect_finds(original, preference, queries, least)
        return Scored(leaderboard(*ranks, perfect, **drawing), everything, board, None)
    graded = measure.with_grade(least)
    plain = MeasuredBoard(runs, measure._replace(rel=1), options.order)
    before = MeasuredBoard(runs, graded, options.order).scores(original)
    both = before.only(queries), plain.scores(preference).only(queries)
    ideal = perfect_by(original, preference, (graded, measure._replace(rel=1)), queries, graded.rel)
    result = replace(leaderboard_by(*both, ideal, **drawing), measure=str(measure))
    shared = None
    if both[0].shared is not None:
        counted_of = [scores.counted() for scores in both]
        shared = {run: {"original": counted_of[0][run], "preference": counted_of[1][run]} for run in runs}
    return Scored(result, before.means(), plain, shared)


class Whole(NamedTuple):
    """What is not of the judged queries alone: `means` of the runs over all `queries` of the original qrels, the `tau`
    of the two orders, and how many judged queries have so many preference qrels.
    """

    queries: int
    means: dict[str, float]
    tau: float | None
    sizes: Counter[int]


def _means(board: Leaderboard) -> list[float]:
    return [score.mean for score in board.original.values()]


def _unpooled(tops: Mapping[str, Tops], pools: Mapping[str, Collection[str]]) -> dict[str, int]:
    """By run, for how many queries with a pool its top passage is not in it."""
    return {
        run: sum(bool(top.get(query)) and top[query][0] not in pool for query, pool in pools.items())
        for run, top in tops.items()
    }


def _tell_foreign(outside: dict[str, Outside], runs: dict[str, RunArtifact], options: argparse.Namespace) -> None:
    foreign = len(set(outside).difference(runs))
    if foreign:
        warn(f"{counted(foreign, 'run')} of {options.outside} left out: not given.")


def _contributions(
    board: Scoring,
    tops: dict[str, Any],
    qrels: Qrels,
    pools: dict[str, set[str]],
    preferences: list[Preference],
    options: argparse.Namespace,
) -> tuple[Contribution, ...]:
    try:
        return contributions(
            board, tops, qrels, pools, preferences, method=options.method, allow_incomplete=options.allow_incomplete,
            min_grade=options.min_grade,
        )  # fmt: skip
    except ValueError:
        message = "every pool has pairs that nobody judged, so none gives qrels; --allow-incomplete would play them."
        raise BadInput(options.preferences, None, message) from None


def _tell_uncommon(original: Qrels, preference: Qrels, options: argparse.Namespace) -> None:
    for first, other, path in ((original, preference, options.qrels), (preference, original, options.preference_qrels)):
        missing = len(set(first.queries).difference(other.queries))
        if missing:
            warn(f"{counted(missing, 'query', 'queries')} of {path} left out: not in the other qrels.")


def _report(
    board: Leaderboard,
    won: dict[str, Pairings] | None,
    contributed: tuple[Contribution, ...] | None,
    ordered: list[OrderAgreement] | None,
    whole: Whole,
    outside: dict[str, Outside],
    shared: dict[str, dict[str, int]] | None,
    pooled: list[str],
) -> Iterator[str]:
    ordered_by = "outside" if outside else "original"
    queries = counted(board.queries, "query", "queries")
    yield f"{board.measure} over {queries}, by {ordered_by} score."
    qrels = sum(size * count for size, count in whole.sizes.items())
    yield f"{counted(qrels, 'preference qrel')} for {queries}: {_by_size(whole.sizes)}."
    yield ""
    order = sorted(board.original, key=lambda run: -board.original[run].mean)
    if outside:
        order.sort(key=lambda run: -outside[run].score if run in outside else math.inf)
    head = ["run", "original", "95% by t", "bootstrap", "rank", "preference", "95% by t", "bootstrap", "rank"]
    perfect = [PERFECT, f"{board.perfect_original:.4f}", "-", "-", "-", *_score_columns(board.perfect_score)[:-1], "-"]
    rows = [[run, *_score_columns(board.original[run]), *_score_columns(board.preference[run])] for run in order]
    rows = [head, perfect, *rows]
    if shared:
        has = ["has queries", "-", *(f"{shared[run]['preference']:,}" for run in order)]
        rows = [[*row, mark] for row, mark in zip(rows, has, strict=True)]
    if board.queries != whole.queries:
        rows = [[row[0], cell, *row[1:]] for row, cell in zip(rows, _whole_column(whole, order, board), strict=True)]
    if outside:
        rows = [[row[0], *cells, *row[1:]] for row, cells in zip(rows, _outside_columns(outside, order), strict=True)]
    yield from table(rows)
    yield ""
    if board.queries != whole.queries and whole.tau is not None:
        yield (
            f"On the original qrels, the orders over all {whole.queries:,} queries and over these {board.queries:,} "
            f"agree by Kendall's tau {whole.tau:.3f}."
        )
    if outside:
        yield from _outside_agreement(agree_outside(board, whole.means, outside))
    yield f"The perfect ranking under the original qrels scores {board.perfect:.4f} on the preference qrels."
    if board.tau_ap is not None:
        tau = "not defined" if board.tau is None else f"{board.tau:.3f}"
        yield f"The two orders agree by Kendall's tau {tau}, tau AP {board.tau_ap:.3f}."
    if board.neighbours:
        yield ""
        yield from _neighbours(board)
    for name, pairing in (won or {}).items():
        share = "-" if pairing.share is None else f"{pairing.share:.1%}"
        yield f"The {name} qrels won {pairing.wins:,g} of their {pairing.pairings:,} pairings ({share})."
    if contributed:
        yield ""
        yield "Without the passages that only the run itself put first:"
        head = ["run", "own passages", "of them qrels", "mean", "without", "rank", "without"]
        yield from table([head, *(_contribution(contribution) for contribution in contributed)])
    if ordered:
        yield ""
        yield f"The judged pairs with both passages in a run's top {TOP}, and how many it orders as people did:"
        for apart in (False, True):
            rows = [["run", "judged", "both", "alike", "share", "95%"]]
            for ordering in ordered:
                if (ordering.run in pooled) is apart:
                    continue
                share = "-" if ordering.share is None else f"{ordering.share:.1%}"
                interval = (
                    "-" if ordering.interval is None else f"{ordering.interval.low:.1%} to {ordering.interval.high:.1%}"
                )
                rows.append(
                    [ordering.run, f"{ordering.judged:,}", f"{ordering.both:,}", f"{ordering.alike:,}", share, interval]
                )
            if apart and len(rows) > 1:
                yield ""
                yield "Not pooled: only passages that others brought were judged, which is no fair sample."
            if len(rows) > 1:
                yield from table(rows)


_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _by_size(sizes: Counter[int]) -> str:
    """As in "one for 454 queries, three for 46, where a deadlock left several equally good"."""
    parts: list[str] = []
    for size, count in sorted(sizes.items()):
        queries = f"{count:,}" if parts else counted(count, "query", "queries")
        parts.append(f"{_NUMBERS[size] if size < len(_NUMBERS) else size} for {queries}")
    return ", ".join([*parts, "where a deadlock left several equally good"] if max(sizes) > 1 else parts)


def _whole_column(whole: Whole, order: list[str], board: Leaderboard) -> list[str]:
    perfect = "1.0000" if board.measure.startswith("RR@") else "-"
    return ["all queries", perfect, *(f"{whole.means[run]:.4f}" for run in order)]


def _outside_columns(outside: dict[str, Outside], order: list[str]) -> list[list[str]]:
    rows = []
    for run in order:
        score = outside.get(run)
        rows.append(
            ["-", "-"] if score is None else [f"{score.score:.4f}", "-" if score.rank is None else f"{score.rank:,}"]
        )
    return [["outside", "outside rank"], ["-", "-"], *rows]


def _outside_agreement(agreement: Agreement) -> Iterator[str]:
    taus = ["not defined" if tau is None else f"{tau:.3f}" for tau in agreement[1:]]
    yield (
        f"The outside scores of {counted(agreement.runs, 'run')} agree with the order on the original qrels by "
        f"Kendall's tau {taus[1]} ({taus[0]} over all queries), with that on the preference qrels by {taus[2]}."
    )


def _score_columns(score: RunScore) -> list[str]:
    intervals = ["-" if interval is None else f"{interval.low:.4f} to {interval.high:.4f}" for interval in score[2:]]
    return [f"{score.mean:.4f}", *intervals, str(score.place)]


def _neighbours(board: Leaderboard) -> Iterator[str]:
    changed = [pair for pair in board.neighbours if pair.changed]
    yield (
        f"{len(changed):,} of {counted(len(board.neighbours), 'neighbouring pair')} changed ranks; significant is "
        f"p < {board.threshold:.3g} (WSR; {board.alpha:g} over {len(board.neighbours):,}, "
        f"{CORRECTED[board.correction]})."
    )
    for pair in changed:
        yield (
            f"{pair.lower} is now above {pair.upper}, by {-pair.preference_delta:.4f}{_interval(pair)} "
            f"({'significantly' if pair.significant else 'not significantly'}: p = {p_shown(pair.preference_p)}); "
            f"it was below by {pair.original_delta:.4f} (p = {p_shown(pair.original_p)})."
        )


def _interval(pair: Neighbours) -> str:
    interval = pair.preference_interval
    return "" if interval is None else f", 95% {-interval.high:.4f} to {-interval.low:.4f}"


def _contribution(contribution: Contribution) -> list[str]:
    counts = f"{contribution.own:,}", f"{contribution.won:,}"
    return [
        contribution.run,
        *counts,
        f"{contribution.mean:.4f}",
        f"{contribution.mean_without:.4f}",
        *map(str, contribution[5:]),
    ]

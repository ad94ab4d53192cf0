"""`python -m evaluation leaderboard`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    POOLS_HELP,
    add_command,
    add_comparing_options,
    add_seed,
    p_shown,
    positive,
    print_json,
    read_judged,
    read_pools,
    read_runs,
    table,
    tell,
    tell_left_out,
    tell_short_lists,
)
from evaluation.errors import BadInput
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import counted
from evaluation.judging.tournament import METHODS
from evaluation.statistics.contributions import Contribution, contributions
from evaluation.statistics.leaderboards import (
    Leaderboard,
    Pairings,
    RunScore,
    common_queries,
    leaderboard,
    pairings,
    perfect_score,
)
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import DRAWS


def add_leaderboard(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "leaderboard",
        _leaderboard,
        "tell what preference qrels do to the order of runs",
        """Scores runs on the original and on the preference qrels, over the queries that both name, and tells:

  runs         mean RR@k and place on both, with 95% intervals over queries: Student's t, and bootstrap percentiles
  perfect      what the ranking that returns the first original qrel of each query scores on the preference qrels
  tau, tau_ap  how far the two orders agree: Kendall's tau-b, and AP correlation, where the top weighs more and the
               original order is the reference
  neighbours   runs that follow each other on the original qrels: did they change places, and is the difference on the
               preference qrels significant (WSR, p < alpha / neighbouring pairs)?

With --preferences also:

  pairings     how many of their judgments the preference qrels and the original qrels won, each judgment by itself
  own          for each run, mean and place with preference qrels derived without the passages that it alone put first
               (`mean_without`, `place_without`): is its place owed to what it brought into the pools? `mean` and
               `place` are on qrels derived from the whole pools, so over the queries that have judgments

--json prints all of this as one object.""",
        ["python -m evaluation leaderboard --qrels qrels.txt --preference-qrels preference-qrels.txt runs/*"],
    )
    add_comparing_options(command, 10)
    command.add_argument("--preference-qrels", metavar="FILE", required=True, help="qrels that preferences gave")
    command.add_argument("--preferences", metavar="FILE", help="the judgments (query a b preferred)")
    command.add_argument("--pools", metavar="PAIRS.tsv", help=POOLS_HELP)
    command.add_argument("--method", choices=METHODS, default="tournament", help="as in `qrels`; default: tournament")
    command.add_argument(
        "--allow-incomplete", action="store_true", help="play pools with pairs that nobody judged, as in `qrels`"
    )
    add_seed(command)
    command.add_argument(
        "--draws", metavar="N", type=positive, default=DRAWS, help=f"of the bootstrap; default: {DRAWS:,}"
    )


def _leaderboard(options: argparse.Namespace) -> int:
    original = read_judged(options.qrels, options.min_grade)
    preference = read_judged(options.preference_qrels, 1)
    queries = common_queries(original, preference)
    if not queries:
        raise BadInput(options.preference_qrels, None, f"names no query that {options.qrels} names.")
    pools, preferences = read_pools(options.pools, options.preferences) if options.preferences else ({}, [])
    runs = read_runs(options.files, options.k)
    if runs is None:
        return BAD
    board = Board(runs, options.k, options.order)
    found = leaderboard(
        board.ranks(original, options.min_grade).only(queries),
        board.ranks(preference).only(queries),
        perfect_score(original, preference, queries, options.min_grade),
        alpha=options.alpha,
        seed=options.seed,
        draws=options.draws,
    )
    won, own = None, None
    if options.preferences:
        won = {
            "preference": pairings(preference.relevant(), preferences),
            "original": pairings(original.relevant("all", options.min_grade), preferences),
        }
        tops = {name: run.top(options.order) for name, run in runs.items()}
        own = _contributions(board, tops, original, pools, preferences, options)
    tell_left_out(runs, original)
    tell_short_lists(runs, options.k)
    _tell_uncommon(original, preference, options)
    if options.json:
        print_json(
            {
                "order": options.order,
                "seed": options.seed,
                "draws": options.draws,
                **found.as_dict(),
                "pairings": won and {name: pairing.as_dict() for name, pairing in won.items()},
                "own": own and [contribution.as_dict() for contribution in own],
            }
        )
    else:
        print("\n".join(_report(found, won, own)))
    return OK


def _contributions(
    board: Board,
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
    for one, other, path in (
        (original, preference, options.qrels),
        (preference, original, options.preference_qrels),
    ):
        missing = len(set(one.queries).difference(other.queries))
        if missing:
            tell(f"{counted(missing, 'query', 'queries')} of {path} left out: not in the other qrels.")


def _report(board: Leaderboard, won: dict[str, Pairings] | None, own: tuple[Contribution, ...] | None) -> Iterator[str]:
    yield f"RR@{board.k} over {counted(board.queries, 'query', 'queries')}, by original score."
    yield ""
    order = sorted(board.original, key=lambda run: -board.original[run].mean)
    head = ["run", "original", "95% by t", "bootstrap", "place", "preference", "95% by t", "bootstrap", "place"]
    rows = [[run, *_score_columns(board.original[run]), *_score_columns(board.preference[run])] for run in order]
    yield from table([head, *rows])
    yield ""
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
    if own:
        yield ""
        yield "Without the passages that only the run itself put first:"
        head = ["run", "own passages", "of them qrels", "mean", "without", "place", "without"]
        yield from table([head, *(_contribution(contribution) for contribution in own)])


def _score_columns(score: RunScore) -> list[str]:
    intervals = ["-" if found is None else f"{found.low:.4f} to {found.high:.4f}" for found in score[2:]]
    return [f"{score.mean:.4f}", *intervals, str(score.place)]


def _neighbours(board: Leaderboard) -> Iterator[str]:
    changed = [pair for pair in board.neighbours if pair.changed]
    yield (
        f"{len(changed):,} of {counted(len(board.neighbours), 'neighbouring pair')} changed places; significant is "
        f"p < {board.threshold:.3g} (WSR; {board.alpha:g} over {len(board.neighbours):,}, Bonferroni)."
    )
    for pair in changed:
        yield (
            f"{pair.lower} is now above {pair.upper}, by {-pair.preference_delta:.4f} "
            f"({'significantly' if pair.significant else 'not significantly'}: p = {p_shown(pair.preference_p)}); "
            f"it was below by {pair.original_delta:.4f} (p = {p_shown(pair.original_p)})."
        )


def _contribution(found: Contribution) -> list[str]:
    counts = f"{found.own:,}", f"{found.won:,}"
    return [found.run, *counts, f"{found.mean:.4f}", f"{found.mean_without:.4f}", *map(str, found[5:])]

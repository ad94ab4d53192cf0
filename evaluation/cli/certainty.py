"""`python -m evaluation certainty`: how sure best known answers and the runs' ranks are."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    POOLS_HELP,
    add_command,
    add_seed,
    cutoff,
    positive,
    print_json,
    read_pools,
    read_runs,
    table,
    tell,
    tell_short_lists,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS
from evaluation.files.preferences import Preference
from evaluation.files.textfiles import counted
from evaluation.judging.pooling import canonical
from evaluation.statistics.agreement import error_rate, repeated_agreement
from evaluation.statistics.certainty import Certainty, certainty
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import DRAWS

REPEATED = "repeated"


def add_certainty(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "certainty",
        _certainty,
        "tell how sure the best known answers and the ranks of runs are",
        """Draws the judgments again, many times, plays every pool's tournament each time, and tells for each query in
what share of these resamples its best known answers stay the best: of several, the one that stays the least. With runs,
queries are drawn again too, and each run's rank on the preference qrels is told with its 95% interval.

Where pairs were judged several times, a pair's judgments are drawn from its own. One judgment, drawn from itself, is
always the same: it needs --error-rate, the chance by which a judgment is wrong. Each is turned round by that chance,
independently of the others. `champion` prints such a rate; `repeated` takes it from the pairs of this file that were
judged more than once, as the rate by which two people would agree just as often. No judgment is ever left out.

--json prints:

  {"draws", "seed", "error_rate", "queries": [{"query", "best": [...], "share"}],
   "runs": [{"run", "mean", "interval": [low, high], "first_place", "middle_place", "last_place", "first"}]}

`first` is the share of resamples in which the run is first.""",
        ["python -m evaluation certainty --error-rate 0.1 --preferences preferences.txt bm25.txt.gz dense.txt.gz"],
    )
    command.add_argument("--preferences", metavar="FILE", required=True, help="the judgments (query a b preferred)")
    command.add_argument("files", metavar="RUN", nargs="*", help="run files")
    command.add_argument("--pools", metavar="PAIRS.tsv", help=POOLS_HELP)
    command.add_argument(
        "--error-rate",
        metavar="RATE",
        type=_rate,
        help="how often a judgment is wrong, 0 to 0.5, or `repeated`; needed where every pair was judged once",
    )
    command.add_argument("--k", metavar="N", type=cutoff, default=10, help="of RR@k; default: 10")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument(
        "--allow-incomplete", action="store_true", help="play pools with pairs that nobody judged, as in `qrels`"
    )
    add_seed(command)
    command.add_argument("--draws", metavar="N", type=positive, default=DRAWS, help=f"resamples; default: {DRAWS:,}")
    command.add_argument("--json", action="store_true", help="print JSON")


def _certainty(options: argparse.Namespace) -> int:
    pools, preferences = read_pools(options.pools, options.preferences)
    rate = _rate_of(preferences, options)
    runs = read_runs(options.files, options.k)
    if runs is None:
        return BAD
    try:
        certain = certainty(
            pools, preferences, board=Board(runs, options.k, options.order) if runs else None, error_rate=rate,
            draws=options.draws, seed=options.seed, allow_incomplete=options.allow_incomplete,
        )  # fmt: skip
    except ValueError:
        message = "every pool has pairs that nobody judged, so none gives qrels; --allow-incomplete would play them."
        raise BadInput(options.preferences, None, message) from None
    tell_short_lists(runs, options.k)
    if options.json:
        print_json(
            {
                "draws": options.draws,
                "seed": options.seed,
                "error_rate": rate,
                "queries": [
                    {"query": query, "best": list(shares), "share": min(shares.values())}
                    for query, shares in certain.answers.items()
                ],
                "runs": [run._asdict() for run in certain.runs],
            }
        )
    else:
        print("\n".join(_report(certain, rate, options.draws)))
    return OK


def _rate_of(preferences: list[Preference], options: argparse.Namespace) -> float | None:
    if isinstance(options.error_rate, float):
        return options.error_rate
    times = Counter((row.query, *canonical(row.a, row.b)) for row in preferences)
    once = sum(count == 1 for count in times.values())
    if options.error_rate == REPEATED:
        agreed = repeated_agreement(preferences).raw
        rate = None if agreed is None else error_rate(agreed)
        if rate is None:
            reason = (
                "no pair was judged twice" if agreed is None else "repeated judgments agree less often than by chance"
            )
            raise BadInput(options.preferences, None, f"{reason}, so --error-rate needs a number.")
        return rate
    if once == len(times):
        message = "every pair was judged once, and such judgments vary only by an error rate: give --error-rate."
        raise BadInput(options.preferences, None, message)
    if once:
        tell(f"{once:,} of {counted(len(times), 'pair')} were judged once, and do not vary without --error-rate.")
    return None


def _report(certain: Certainty, rate: float | None, draws: int) -> Iterator[str]:
    how = "each pair's from its own" if rate is None else f"each wrong in {rate:.1%} of the cases"
    yield f"{counted(draws, 'resample')} of the judgments, {how}. The least certain come first."
    yield ""
    rows = sorted((min(shares.values()), query, ", ".join(shares)) for query, shares in certain.answers.items())
    yield from table(
        [["query", "best known answers", "stays"], *([q, best, f"{s:.1%}"] for s, q, best in rows)], left=2
    )
    if certain.runs:
        yield ""
        yield "With queries drawn again too: mean RR, and ranks with their 95% intervals."
        head = ["run", "mean", "95%", "best rank", "median", "worst rank", "first"]
        yield from table(
            [
                head,
                *(
                    [
                        *(run.run, f"{run.mean:.4f}", f"{run.interval.low:.4f} to {run.interval.high:.4f}"),
                        *map(str, run[3:6]),
                        f"{run.first:.1%}",
                    ]
                    for run in certain.runs
                ),
            ]
        )


def _rate(text: str) -> float | str:
    if text == REPEATED:
        return text
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} where a number from 0 to 0.5 is needed, or {REPEATED}")
    return rate

"""`python -m evaluation certainty`: how sure best known answers and the runs' ranks are."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    POOLS_HELP,
    add_command,
    add_seed,
    add_without_query,
    alpha,
    cutoff,
    is_same_file,
    measure_name,
    positive,
    print_json,
    read_pools,
    read_runs,
    table,
    tell,
    tell_short_lists,
    write_whole,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS
from evaluation.files.preferences import Preference
from evaluation.files.textfiles import counted
from evaluation.judging.batch_tournaments import by_size
from evaluation.judging.pooling import canonical
from evaluation.judging.rounds import Settings, Status, count_full_pairs, replay_all
from evaluation.measures.named import Measure
from evaluation.statistics.agreement import ASSUMED, FEW, JudgingError, error_rate, judging_error, repeated_agreement
from evaluation.statistics.certainty import KINDS, SURE, Certainty, certainty, confidence_set
from evaluation.statistics.fragility import Fragility, final_fragilities, fragilities
from evaluation.statistics.ranks import K_MOST, Board
from evaluation.statistics.resampling import DRAWS

REPEATED, OWN = "repeated", "own"


def add_certainty(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "certainty",
        _certainty,
        "tell how sure the best known answers and the ranks of runs are",
        f"""Draws the judgments again, many times, and plays every pool's tournament each time. Of each query it tells

  P(best)         of every passage: the share of resamples in which it is the best known answer, shared where several
                  are. Those of a query add up to 1
  confidence set  the fewest passages whose P(best) adds up to 0.9, or --level
  stays           the share of resamples in which the best known answers stay among the best: of several, the one that
                  stays the least
  fragility       the fewest judgments whose reversal changes the best known answers; `-` where no reversal does (ties
                  are not reversed), with a ~ where not all ways were tried: fewer might do

With runs, queries are drawn again too, and each run's rank on the preference qrels is told with its 95% interval: by
RR@k, or by another --measure of which each best known answer tells what it adds ({", ".join(KINDS[1:])}).

Judgments vary by --error-rate, the chance by which one judgment is wrong: a single judgment is turned round by that
chance; of several of a pair, as many are drawn again from their own, mixed with the opposite as far as the rate says.
Two judgments that agree are no proof. Without --error-rate, it is the rate by which two people would agree as often as
repeated judgments do in this file (`repeated`); where fewer than {FEW} can be compared, it is {ASSUMED}, by which two
people agree in 58% of the cases. `champion` prints such a rate, too. `own` draws each pair's judgments from its own, so
that a single one never varies. No judgment is ever left out.

In a pool with pairs that nobody judged, those are drawn by how strong the judgments say their passages are. So it does
not count against a passage that it was asked about less often, as passages that left early were in rounds. With
--partners and --finalists, those of `rounds`, the best known answers are the winners of rounds, and queries with open
requests are left out. Their fragility counts judgments of the final: a ~ says that fewer of earlier rounds might do.

--json prints:

  {{"measure", "draws", "seed", "error_rate", "error_source", "level", "queries": [{{"query", "best": [...], "share",
   "fragility", "exact", "set": [...], "passages": [{{"passage", "p"}}]}}],
   "runs": [{{"run", "mean", "interval": [low, high], "first_place", "middle_place", "last_place", "first",
   "centred": [low, high]}}]}}

`error_source` is `given`, `repeated`, `assumed` or `own`. `first` is the share of resamples in which the run is first.
`centred` is the interval moved so that its middle is the mean as judged: judgments drawn again are noisier, which pulls
all means one way. Passages are sorted by P(best).""",
        [
            "python -m evaluation certainty --pools members.txt --judgments preferences.txt",
            "python -m evaluation certainty --error-rate 0.1 --judgments preferences.txt bm25.txt.gz dense.txt.gz",
        ],
    )
    command.add_argument(
        "--judgments",
        "--preferences",
        dest="preferences",
        metavar="FILE",
        required=True,
        help="the judgments (query a b preferred, where = is a tie)",
    )
    command.add_argument("files", metavar="RUN", nargs="*", help="run files")
    command.add_argument("--pools", metavar="FILE", help=POOLS_HELP)
    command.add_argument(
        "--error-rate",
        metavar="RATE",
        type=_rate,
        help="how often a judgment is wrong, 0 to 0.5, or `repeated`, or `own`",
    )
    command.add_argument("--sets", metavar="FILE", help="write the confidence sets there as TREC qrels of grade 1")
    command.add_argument("--level", metavar="P", type=alpha, default=SURE, help=f"of the sets; default: {SURE}")
    command.add_argument("--k", metavar="N", type=cutoff, default=10, help="of RR@k; default: 10")
    command.add_argument(
        "--measure", metavar="NAME", type=measure_name, help="as in `score`; RR@k is the same as --k. Default: RR@10"
    )
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument("--partners", metavar="K", type=positive, help=f"of rounds; default: {Settings.partners}")
    command.add_argument("--finalists", metavar="F", type=positive, help=f"of rounds; default: {Settings.finalists}")
    command.add_argument("--complete", action="store_true", help="leave out pools with pairs that nobody judged")
    add_seed(command)
    command.add_argument("--draws", metavar="N", type=positive, default=DRAWS, help=f"resamples; default: {DRAWS:,}")
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _certainty(options: argparse.Namespace) -> int:
    measure = _measure(options)
    pools, preferences = read_pools(options.pools, options.preferences)
    error = _error_of(preferences, options)
    rate = None if error is None else error.rate
    runs = read_runs(options.files, options.k, without_query=options.without_query)
    if runs is None:
        return BAD
    done = _rounds(pools, preferences, options)
    _tell_unjudged(pools, preferences, options)
    try:
        certain = certainty(
            pools, preferences, board=Board(runs, options.k, options.order) if runs else None, measure=measure,
            error_rate=rate, draws=options.draws, seed=options.seed, allow_incomplete=not options.complete,
            best=None if done is None else {query: status.winners for query, status in done.items()},
        )  # fmt: skip
    except ValueError:
        why = "every query has open requests" if done is not None else "no pool has all its pairs judged"
        raise BadInput(options.preferences, None, f"{why}, so none has a best known answer.") from None
    tell_short_lists(runs, options.k)
    if done is None:
        own = [row for row in preferences if row.query in certain.answers]
        groups = by_size({query: pools[query] for query in certain.answers}, own)
        fragile = {query: found for group in groups for query, found in fragilities(group).items()}
    else:
        fragile = final_fragilities(done, preferences)
    if options.sets:
        inputs = [options.preferences, *options.files, *([options.pools] if options.pools else [])]
        if any(is_same_file(options.sets, path) for path in inputs):
            raise BadInput(options.sets, None, "is one of the input files, and would be overwritten.")
        with write_whole(options.sets) as out:
            for query, chances in certain.chances.items():
                out.writelines(f"{query} 0 {own} 1\n" for own in sorted(confidence_set(chances, options.level)))
    if options.json:
        print_json(
            {
                "measure": str(measure),
                "draws": options.draws,
                "seed": options.seed,
                "error_rate": rate,
                "error_source": OWN if error is None else error.source,
                "level": options.level,
                "queries": [
                    {
                        "query": query,
                        "best": list(shares),
                        "share": min(shares.values()),
                        "fragility": fragile[query].judgments,
                        "exact": fragile[query].exact,
                        "set": confidence_set(certain.chances[query], options.level),
                        "passages": [{"passage": passage, "p": p} for passage, p in certain.chances[query].items()],
                    }
                    for query, shares in certain.answers.items()
                ],
                "runs": [run._asdict() for run in certain.runs],
            }
        )
    else:
        print("\n".join(_report(certain, fragile, rate, measure, options)))
    return OK


def _rounds(
    pools: Mapping[str, Collection[str]], preferences: list[Preference], options: argparse.Namespace
) -> dict[str, Status] | None:
    """The pools whose rounds are over; None where there are none."""
    if options.partners is None and options.finalists is None:
        return None
    partners, finalists = options.partners or Settings.partners, options.finalists or Settings.finalists
    statuses = replay_all(pools, preferences, Settings(partners, finalists, options.seed))
    done = {query: status for query, status in statuses.items() if status.is_done}
    if len(done) < len(statuses):
        tell(f"{counted(len(statuses) - len(done), 'query', 'queries')} left out: with open requests.")
    return done


def _tell_unjudged(
    pools: Mapping[str, Collection[str]], preferences: list[Preference], options: argparse.Namespace
) -> None:
    """Say how many pools have pairs that nobody judged, and what becomes of them."""
    judged = Counter(query for query, _, _ in {(row.query, *canonical(row.a, row.b)) for row in preferences})
    lacking = sum(judged[query] < count_full_pairs(len(set(pool))) for query, pool in pools.items())
    if lacking:
        what = "left out" if options.complete else "these are drawn by the strengths of their passages"
        tell(f"{counted(lacking, 'pool')} with pairs that nobody judged: {what}.")


def _measure(options: argparse.Namespace) -> Measure:
    asked: Measure = options.measure or Measure("RR", options.k)
    if asked.kind not in KINDS or asked.cutoff is None or asked.cutoff > K_MOST or asked.rel != 1:
        options.command.error(
            f"--measure {asked} where {', '.join(KINDS[:-1])} or {KINDS[-1]} is needed, with a cutoff up to {K_MOST:,} "
            "and without rel: every best known answer is relevant, and adds its own share. By AP or Compat, what one "
            "of them adds depends on the others"
        )
    options.k = asked.cutoff
    return asked


def _error_of(preferences: list[Preference], options: argparse.Namespace) -> JudgingError | None:
    """None where each pair's judgments are drawn from its own."""
    if isinstance(options.error_rate, float):
        return judging_error(preferences, options.error_rate)
    if options.error_rate == OWN:
        times = Counter((row.query, *canonical(row.a, row.b)) for row in preferences)
        if once := sum(count == 1 for count in times.values()):
            tell(f"{once:,} of {counted(len(times), 'pair')} were judged once, and do not vary by their own.")
        return None
    if options.error_rate == REPEATED:
        repeated = repeated_agreement(preferences)
        rate = None if repeated.raw is None else error_rate(repeated.raw)
        if rate is None:
            reason = (
                "no pair was judged twice"
                if repeated.raw is None
                else "repeated judgments agree less often than by chance"
            )
            raise BadInput(options.preferences, None, f"{reason}, so --error-rate needs a number.")
        return JudgingError(rate, "repeated", repeated.compared)
    error = judging_error(preferences)
    if error.source == "assumed":
        why = "Too few repeated judgments" if error.compared < FEW else "Repeated judgments agree too seldom"
        tell(f"{why} to take the error rate from them: it is assumed to be {ASSUMED}.")
    return error


def _report(
    certain: Certainty,
    fragile: Mapping[str, Fragility],
    rate: float | None,
    measure: Measure,
    options: argparse.Namespace,
) -> Iterator[str]:
    how = "each pair's from its own" if rate is None else f"each wrong in {rate:.1%} of the cases"
    yield f"{counted(options.draws, 'resample')} of the judgments, {how}. The least certain come first."
    yield ""
    rows = [["query", "best known answers", "stays", "fragility", f"{options.level:.0%} set"]]
    for share, query in sorted((min(shares.values()), query) for query, shares in certain.answers.items()):
        judgments, exact = fragile[query]
        least = ("" if exact else "~") + ("-" if judgments is None else str(judgments))
        size = len(confidence_set(certain.chances[query], options.level))
        rows.append([query, ", ".join(certain.answers[query]), f"{share:.1%}", least, counted(size, "passage")])
    yield from table(rows, left=2)
    if certain.runs:
        yield ""
        yield f"With queries drawn again too: mean {measure}, and ranks with their 95% intervals."
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
    if text in (REPEATED, OWN):
        return text
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} where a number from 0 to 0.5 is needed, or {REPEATED} or {OWN}")
    return rate

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
    print_report,
    read_pools,
    read_runs,
    table,
    tell_short_lists,
    warn,
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
from evaluation.statistics.agreement import FEW, error_evidence
from evaluation.statistics.bootstrap import KINDS
from evaluation.statistics.certainty import Certainty, certainty
from evaluation.statistics.confidence_sets import SURE, confidence_set
from evaluation.statistics.fragility import Fragility, final_fragilities, fragilities
from evaluation.statistics.ranks import K_MOST, Board
from evaluation.statistics.resampling import DRAWS


def add_certainty(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "certainty",
        _certainty,
        "tell how sure the best known answers and the ranks of runs are",
        f"""Tells how probable it is of each passage that it is the best of its pool, from all judgments of all queries
together: two that agree, and pairs that were judged several times, say how often people err. Of each query it tells

  P(best)         of every passage; those of a query add up to 1
  confidence set  the fewest passages whose P(best) adds up to 0.9, or --level
  P(right)        of the best known answers: how probable it is that the best passage is one of them
  fragility       the fewest judgments whose reversal changes the best known answers; `-` where no reversal does (ties
                  are not reversed), with a ~ where not all ways were tried: fewer might do

With runs, their means are told as judged, and corrected for judging errors, which pull all runs together; with 95%
intervals of the corrected mean and of the rank over queries and judges, and the probability of being first: by RR@k, or
by another --measure of which each best known answer tells what it adds ({", ".join(KINDS[1:])}).

How people err is learned from the judgments. Where fewer than {FEW} repeated judgments can be compared, it rests on the
assumption that they err as the model says, and the command tells so: a campaign that asks some thirty pairs twice knows
more. With --error-rate, every judgment is wrong at that rate, however close two passages are.

Pairs that nobody judged say nothing for or against their passages. With --partners and --finalists, those of `rounds`,
the best known answers are the winners of rounds, and queries with open requests are left out. Their fragility counts
judgments of the final: a ~ says that fewer of earlier rounds might do.

--json prints:

  {{"measure", "draws", "seed", "error_rate", "error_source", "level", "queries": [{{"query", "best": [...], "share",
   "fragility", "exact", "set": [...], "passages": [{{"passage", "p"}}]}}],
   "runs": [{{"run", "mean", "interval": [low, high], "first_place", "middle_place", "last_place", "first",
   "centred": [low, high], "corrected"}}]}}

`share` is P(right). `error_source` is `given`, `repeated` or `assumed`. `first` is the probability of being first.
`interval`, and `centred`, which is the same, are those of the corrected mean. Passages are sorted by P(best).""",
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
        help="how often a judgment is wrong, 0 to 0.5; default: learned from the judgments",
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
    command.add_argument(
        "--draws", metavar="N", type=positive, default=DRAWS, help=f"of the queries; default: {DRAWS:,}"
    )
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _certainty(options: argparse.Namespace) -> int:
    measure = _measure(options)
    pools, preferences = read_pools(options.pools, options.preferences)
    source, _ = error_evidence(preferences, is_given=options.error_rate is not None)
    if source == "assumed":
        warn("Too few repeated judgments to say how often people err: it is assumed that they err as the model says.")
    runs = read_runs(options.files, options.k, without_query=options.without_query)
    if runs is None:
        return BAD
    done = _rounds(pools, preferences, options)
    _warn_unjudged(pools, preferences, options)
    try:
        certain = certainty(
            pools, preferences, board=Board(runs, options.k, options.order) if runs else None, measure=measure,
            error_rate=options.error_rate, draws=options.draws, seed=options.seed,
            allow_incomplete=not options.complete,
            best=None if done is None else {query: status.winners for query, status in done.items()},
        )  # fmt: skip
    except ValueError:
        why = "every query has open requests" if done is not None else "no pool has all its pairs judged"
        raise BadInput(options.preferences, None, f"{why}, so none has a best known answer.") from None
    tell_short_lists(runs, options.k)
    if done is None:
        rows_of_answers = [row for row in preferences if row.query in certain.answers]
        groups = by_size({query: pools[query] for query in certain.answers}, rows_of_answers)
        fragile = {
            query: query_fragilities for group in groups for query, query_fragilities in fragilities(group).items()
        }
    else:
        fragile = final_fragilities(done, preferences)
    if options.sets:
        inputs = [options.preferences, *options.files, *([options.pools] if options.pools else [])]
        if any(is_same_file(options.sets, path) for path in inputs):
            raise BadInput(options.sets, None, "is one of the input files, and would be overwritten.")
        with write_whole(options.sets) as out:
            for query, chances in certain.chances.items():
                out.writelines(f"{query} 0 {passage} 1\n" for passage in sorted(confidence_set(chances, options.level)))
    if options.json:
        print_json(
            {
                "measure": str(measure),
                "draws": options.draws,
                "seed": options.seed,
                "error_rate": certain.error_rate,
                "error_source": source,
                "level": options.level,
                "queries": [
                    {
                        "query": query,
                        "best": list(shares),
                        "share": sum(shares.values()),
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
        print_report(_report(certain, fragile, measure, options))
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
        warn(f"{counted(len(statuses) - len(done), 'query', 'queries')} left out: with open requests.")
    return done


def _warn_unjudged(
    pools: Mapping[str, Collection[str]], preferences: list[Preference], options: argparse.Namespace
) -> None:
    """Say how many pools have pairs that nobody judged, and what becomes of them."""
    judged = Counter(query for query, _, _ in {(row.query, *canonical(row.a, row.b)) for row in preferences})
    lacking = sum(judged[query] < count_full_pairs(len(set(pool))) for query, pool in pools.items())
    if lacking:
        what = "left out" if options.complete else "these pairs say nothing for or against their passages"
        warn(f"{counted(lacking, 'pool')} with pairs that nobody judged: {what}.")


def _measure(options: argparse.Namespace) -> Measure:
    wish: Measure = options.measure or Measure("RR", options.k)
    if wish.kind not in KINDS or wish.cutoff is None or wish.cutoff > K_MOST or wish.rel != 1:
        options.command.error(
            f"--measure {wish} where {', '.join(KINDS[:-1])} or {KINDS[-1]} is needed, with a cutoff up to {K_MOST:,} "
            "and without rel: every best known answer is relevant, and adds its own share. By AP or Compat, what one "
            "of them adds depends on the others"
        )
    options.k = wish.cutoff
    return wish


def _report(
    certain: Certainty, fragile: Mapping[str, Fragility], measure: Measure, options: argparse.Namespace
) -> Iterator[str]:
    how = "" if options.error_rate is not None else ", as the judgments say"
    yield f"A judgment is wrong in {certain.error_rate:.1%} of the cases{how}. The least certain come first."
    yield ""
    rows = [["query", "best known answers", "P(right)", "fragility", f"{options.level:.0%} set"]]
    for share, query in sorted((sum(shares.values()), query) for query, shares in certain.answers.items()):
        judgments, exact = fragile[query]
        least = ("" if exact else "~") + ("-" if judgments is None else str(judgments))
        size = len(confidence_set(certain.chances[query], options.level))
        rows.append([query, ", ".join(certain.answers[query]), f"{share:.1%}", least, counted(size, "passage")])
    yield from table(rows, left=2)
    if certain.runs:
        yield ""
        yield f"Mean {measure} as judged, and corrected for judging errors; with 95% intervals of that and of ranks."
        head = ["run", "mean", "corrected", "95%", "best rank", "median", "worst rank", "first"]
        yield from table(
            [
                head,
                *(
                    [
                        *(run.run, f"{run.mean:.4f}", f"{run.corrected:.4f}"),
                        f"{run.interval.low:.4f} to {run.interval.high:.4f}",
                        *map(str, (run.first_place, run.middle_place, run.last_place)),
                        f"{run.first:.1%}",
                    ]
                    for run in certain.runs
                ),
            ]
        )


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} where a number from 0 to 0.5 is needed")
    return rate

"""`python -m evaluation compare`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from evaluation.cli.common import (
    BAD,
    CORRECTED,
    OK,
    WHOLE,
    add_command,
    add_comparing_options,
    is_same_file,
    margin,
    measure_name,
    needs_two_runs,
    p_shown,
    print_csv,
    print_json,
    print_latex,
    print_report,
    read_judged,
    read_runs,
    table,
    take_measure,
    tell_left_out,
    tell_short_lists,
    warn,
    write_whole,
)
from evaluation.cli.latex import escape, tabular
from evaluation.errors import BadInput
from evaluation.files.about_runs import read_groups, read_run_pairs
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import counted
from evaluation.measures.named import Measure
from evaluation.statistics.comparing import RANK_BYS, Compared, Comparison, Match, choose_matches, compare
from evaluation.statistics.measured import Measured, PairTest, measured, pair_tests, significant_tests
from evaluation.statistics.ranks import Ranks, ranks_of
from evaluation.statistics.resampling import Interval

_TESTS = "a|b|delta|95%|WRS|WRS ties|WSR|t|correlation".split("|")
_OUTCOMES = "a|b|neither|only a|only b|p|both|ESL a|ESL b|WSR|t|{rr} a|{rr} b|WSR|t"
_SPOKEN = 10  # with no more pairs than that, a sentence for each; with more, for those with a verdict
_FEW = 200  # with fewer queries, differences of the usual size do not show


def add_compare(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "compare",
        _compare,
        "test whether runs differ, two by two",
        """Compares every two runs, a and b, in the order given, over all queries that the qrels name:

  delta     mean RR@k of b less that of a, with its 95% interval by t
  WRS       rank-sum test on RR@k, without and with correction for ties (WRS ties)
  WSR       signed-rank test on RR@k; t: paired t-test on RR@k
  outcomes  queries in which neither, only a, only b, or both find a relevant passage within k, and the exact binomial
            test of only a against only b
  both      where both find it: mean search length (ESL, the rank) and mean RR@k of each, with WSR and t for
            each

Differences are compared as exact fractions. p-values are raw. A test is significant at alpha among those of all pairs
compared (--correction):

  strict      better in outcomes and in ranking where both find (--rank-by), both significantly
  do no harm  strictly better; or better in one of the two, at half of alpha, as there are two tests to win by, without
              the other run being significantly better in the other; or, with --margin, shown to be no worse by more
  trade-off   one run finds significantly more, the other ranks significantly better
  better      finds more, and ranks better on average; maybe not significantly

--json prints:

  {"k", "queries", "alpha", "correction", "family", "threshold", "thresholds": {"<test>": ...}, "margin", "rank_by",
   "means": {"<run>": ...}, "lists": {"<run>": longest},
   "order_by_verdicts": [...], "order_by_means": [...], "pairs": [{"a", "b", "delta", "delta_interval": [low, high],
   "p": {"wrs", "wrs_tie_corrected", "wsr", "t"},
   "outcomes": {"neither", "a_only", "b_only", "both", "p"}, "shares": {"neither", "a_only", "b_only", "both"},
   "both": {"esl_a", "esl_b", "rr_a", "rr_b", "p": {"esl_wsr", "esl_t", "rr_wsr", "rr_t"}},
   "identical", "significant": {"wrs", "wsr", "t", "outcomes", "esl"}, "disagreement",
   "alignment": {"correlation", "joint_misses", "unrelated"},
   "verdict": {"strict", "do_no_harm", "trade_off", "better"}}]}

Means and p-values are null where there is nothing to take them from; a p-value of 1 may mean no difference at all.
`significant` is who is better by each test: "a", "b", or null; `esl` is the ranking, by --rank-by. `disagreement` is
about where both find: "means" if ESL and RR favour different runs, "significance" if only one is significant.""",
        [
            "python -m evaluation compare --qrels qrels.txt --k 10 bm25.txt.gz dense.txt.gz",
            "python -m evaluation compare --qrels qrels.txt --baseline bm25 --latex bm25.txt.gz dense.txt.gz",
            "python -m evaluation compare --qrels qrels.txt --measure nDCG@10 bm25.txt.gz dense.txt.gz",
        ],
    )
    add_comparing_options(command, 100)
    command.add_argument(
        "--measure",
        metavar="NAME",
        type=measure_name,
        help="RR@k is the same as --k. By any other, as in `score`, each pair gets the sign test, WSR and t on its "
        "values, without outcomes and verdicts",
    )
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print all numbers as CSV, a line a pair, in full precision")
    forms.add_argument(
        "--latex", action="store_true", help="print the 13 columns of the paper's table 2 as a LaTeX tabular"
    )
    command.add_argument(
        "--per-query",
        metavar="FILE",
        help="write there, with tabs between: query, a, b, rank in a, rank in b (0: not within k), and who finds it "
        "(neither, a, b, both)",
    )
    chosen = command.add_mutually_exclusive_group()
    chosen.add_argument("--baseline", metavar="RUN", help="compare each other run with this one only")
    chosen.add_argument("--pairs", metavar="FILE", help="compare only the runs that this file names (lines: a b)")
    chosen.add_argument(
        "--chain", action="store_true", help="compare each run with the best one before it, in the order given"
    )
    command.add_argument(
        "--groups", metavar="FILE", help="do not compare runs of the same group, such as a team (lines: run group)"
    )
    command.add_argument(
        "--margin",
        metavar="M",
        type=margin,
        default=0.0,
        help="how much worse a run that does no harm may be, from 0 to 1: in the share of queries found, and in mean "
        "RR@k where both find, as a one-sided t-test must show. 0 (the default): not significantly worse is enough",
    )
    command.add_argument(
        "--rank-by",
        choices=RANK_BYS,
        default="esl-wsr",
        help="what says which run ranks better where both find: mean ESL or mean RR@k, with WSR or t; default: esl-wsr",
    )


def _compare(options: argparse.Namespace) -> int:
    needs_two_runs(options)
    _keep_inputs(options)
    measure = take_measure(options)
    if measure is not None:
        return _compare_by(measure, options)
    qrels = read_judged(options.qrels, options.min_grade)
    runs = read_runs(options.files, options.k, without_query=options.without_query)
    if runs is None:
        return BAD
    ranks = ranks_of(runs, qrels, options.k, options.order, options.min_grade)
    lists = {name: run.longest for name, run in runs.items()}
    matches = _matches(ranks, options)
    comparison = compare(
        ranks, options.alpha, matches=matches, rank_by=options.rank_by, lists=lists,
        correction=options.correction, margin=options.margin,
    )  # fmt: skip
    tell_left_out(runs, qrels)
    tell_short_lists(runs, options.k)
    _tell_several(qrels, options)
    if options.per_query:
        _write_per_query(comparison, ranks, options.per_query)
    if options.json:
        print_json(comparison.as_dict())
    elif options.csv:
        print_csv([pair.as_dict() for pair in comparison.pairs], ())
    elif options.latex:
        print_latex(_latex(comparison))
    else:
        print_report(_report(comparison))
    return OK


def _compare_by(measure: Measure, options: argparse.Namespace) -> int:
    """By a measure other than RR@k: tests on its values by query, without outcomes and verdicts."""
    for is_given, option in (
        (options.latex, "--latex"), (options.per_query, "--per-query"), (options.rank_by != "esl-wsr", "--rank-by"),
    ):  # fmt: skip
        if is_given:
            options.command.error(f"{option} is for RR@k, and the measure is {measure}")
    qrels = read_judged(options.qrels, options.min_grade)
    runs = read_runs(options.files, measure.depth or WHOLE, without_query=options.without_query)
    if runs is None:
        return BAD
    target = measure.with_grade(options.min_grade)
    scores = measured(runs, qrels, [target], options.order)[target]
    chosen = _matches(scores, options)
    tests = pair_tests(scores, combinations(scores.runs, 2) if chosen is None else chosen)
    thresholds, winners = significant_tests(tests, options.alpha, options.correction)
    tell_left_out(runs, qrels)
    if measure.cutoff is not None:
        tell_short_lists(runs, measure.cutoff)
    means = scores.means()
    if options.json:
        print_json(
            {
                "measure": str(measure),
                "queries": len(scores.queries),
                "alpha": options.alpha,
                "correction": options.correction,
                "family": len(tests),
                "threshold": thresholds["wsr"],
                "thresholds": thresholds,
                "means": means,
                **({} if scores.shared is None else {"shared": scores.counted()}),
                "pairs": [
                    test._asdict() | {"significant": is_winner} for test, is_winner in zip(tests, winners, strict=True)
                ],
            }
        )
    elif options.csv:
        print_csv([test._asdict() for test in tests], PairTest._fields)
    else:
        print_report(_report_by(measure, scores, tests, thresholds["wsr"], CORRECTED[options.correction]))
    return OK


def _report_by(
    measure: Measure, scores: Measured, tests: list[PairTest], threshold: float, corrected: str
) -> Iterator[str]:
    means = scores.means()
    queries, pairs = counted(len(scores.queries), "query", "queries"), counted(len(tests), "pair")
    yield f"{measure} over {queries}: {counted(len(means), 'run')}, {pairs}."
    yield f"p-values are raw. A star marks signed ranks with p < {threshold:.3g}, over {pairs} ({corrected})."
    yield ""
    counted_of = scores.counted()
    more = [] if scores.shared is None else ["has queries"]
    rows = [[run, f"{mean:.4f}", *([f"{counted_of[run]:,}"] if more else [])] for run, mean in means.items()]
    yield from table([["run", f"mean {measure}", *more], *rows])
    if more:
        yield "A run has a query that the qrels answer if it returns anything for it; one that it lacks counts 0."
    if not tests:
        return
    yield ""
    yield "Query by query: on how many b is higher or lower, and the tests (delta is b less a)"
    rows = [["a", "b", "delta", "95%", "higher", "lower", "equal", "sign", "WSR", "t", ""]]
    for test in tests:
        star = "*" if test.wsr is not None and test.wsr < threshold else ""
        counts = [f"{count:,}" for count in (test.higher, test.lower, test.equal)]
        ps = [p_shown(p) for p in (test.sign, test.wsr, test.t)]
        rows.append([test.a, test.b, f"{test.delta:+.4f}", _ends(test.delta_interval), *counts, *ps, star])
    yield from table(rows, left=2)


def _keep_inputs(options: argparse.Namespace) -> None:
    inputs = [options.qrels, *options.files, *(path for path in (options.pairs, options.groups) if path)]
    if options.per_query and any(is_same_file(options.per_query, path) for path in inputs):
        raise BadInput(options.per_query, None, "is one of the input files, and would be overwritten.")


# --- which runs are compared


def _matches(ranks: Ranks | Measured, options: argparse.Namespace) -> list[Match] | None:
    groups = read_groups(options.groups, ranks.runs, name=options.groups) if options.groups else {}
    if options.baseline is not None and options.baseline not in ranks.runs:
        names = ", ".join(ranks.runs)
        options.command.error(f"--baseline names {options.baseline!r}, which is not one of the runs: {names}")
    pairs = read_run_pairs(options.pairs, ranks.runs, name=options.pairs) if options.pairs else None
    return choose_matches(ranks, baseline=options.baseline, pairs=pairs, chain=options.chain, groups=groups)


def _tell_several(qrels: Qrels, options: argparse.Namespace) -> None:
    several = sum(len(passages) > 1 for passages in qrels.relevant("all", options.min_grade).values())
    if several:
        warn(
            f"{counted(several, 'query', 'queries')} of {options.qrels} with several relevant passages: the first that "
            "a run has counts. Outcomes and ESL are meant for one relevant passage a query."
        )


# --- as text


def _report(comparison: Comparison) -> Iterator[str]:
    pairs = comparison.pairs
    yield (
        f"RR@{comparison.k} over {counted(comparison.queries, 'query', 'queries')}: "
        f"{counted(len(comparison.means), 'run')}, {counted(len(pairs), 'pair')}."
    )
    yield (
        f"p-values are raw. A verdict takes p < {comparison.threshold:.3g} as significant{_in_ranking(comparison)}: "
        f"{comparison.alpha:g} over {counted(len(pairs), 'pair')} ({CORRECTED[comparison.correction]}); doing no harm "
        f"takes half of {comparison.alpha:g}, for its two tests{_within(comparison)}."
    )
    if comparison.queries < _FEW:
        yield (
            "With so few queries, differences of the usual size do not show: that none is found is no proof that "
            "there is none."
        )
    yield ""
    rr = f"RR@{comparison.k}"
    yield from table([["run", f"mean {rr}"], *([run, f"{mean:.4f}"] for run, mean in comparison.means.items())])
    if not pairs:
        return
    yield ""
    yield f"Tests on {rr} (delta is b less a), and how the two runs' {rr} correlate"
    yield from table([_TESTS, *(_tests(pair) for pair in pairs)], left=2)
    yield ""
    yield f"Outcomes: who finds a relevant passage, and where both do, how far down (ESL) and with what {rr}"
    yield from table([_OUTCOMES.format(rr=rr).split("|"), *(_outcomes(pair) for pair in pairs)], left=2)
    yield ""
    yield "Outcomes, in percent of the queries"
    rows = [[pair.a, pair.b, *(f"{share:.1%}" for share in pair.shares.values())] for pair in pairs]
    yield from table([["a", "b", "neither", "only a", "only b", "both"], *rows], left=2)
    yield ""
    yield from _verdicts(comparison)
    yield from _disagreements(comparison)
    order = comparison.order_by_verdicts
    if order != comparison.order_by_means:
        yield ""
        yield f"In the order of the verdicts, runs that no other run beats first: {', '.join(order)}."
        yield f"In the order of their means: {', '.join(comparison.order_by_means)}."


def _in_ranking(comparison: Comparison) -> str:
    """By some corrections, each test has its own threshold."""
    threshold = comparison.thresholds["esl"]
    return "" if threshold == comparison.threshold else f" in outcomes, and p < {threshold:.3g} in ranking"


def _within(comparison: Comparison) -> str:
    return f", and shows that any harm is below {comparison.margin:g}" if comparison.margin else ""


def _tests(pair: Compared) -> list[str]:
    values = (pair.p.wrs, pair.p.wrs_tie_corrected, pair.p.wsr, pair.p.t)
    delta = f"{pair.delta:+.4f}", _ends(pair.delta_interval)
    return [pair.a, pair.b, *delta, *map(p_shown, values), _mean(pair.alignment.correlation, 2)]


def _ends(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.low:+.4f} to {interval.high:+.4f}"


def _outcomes(pair: Compared) -> list[str]:
    out, both = pair.outcomes, pair.both
    return [
        *(pair.a, pair.b, f"{out.neither:,}", f"{out.a_only:,}", f"{out.b_only:,}", p_shown(out.p), f"{out.both:,}"),
        *(_mean(both.esl_a, 2), _mean(both.esl_b, 2), p_shown(both.p.esl_wsr), p_shown(both.p.esl_t)),
        *(_mean(both.rr_a, 4), _mean(both.rr_b, 4), p_shown(both.p.rr_wsr), p_shown(both.p.rr_t)),
    ]


def _mean(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _verdicts(comparison: Comparison) -> Iterator[str]:
    untold = 0
    for pair in comparison.pairs:
        if pair.verdict.do_no_harm or pair.verdict.trade_off or len(comparison.pairs) <= _SPOKEN:
            yield _verdict(pair, comparison)
        else:
            untold += 1
    if untold:
        yield f"{counted(untold, 'more pair')}: neither run is better by either standard."
    if len(comparison.pairs) > 1:
        strict = sum(pair.verdict.strict is not None for pair in comparison.pairs)
        harmless = sum(pair.verdict.do_no_harm is not None for pair in comparison.pairs)
        yield (
            f"Of {len(comparison.pairs):,} pairs, {strict:,} have a strict verdict, {harmless:,} one by doing no harm "
            f"(these included), and {sum(pair.verdict.trade_off for pair in comparison.pairs):,} are trade-offs."
        )
    unrelated = [pair for pair in comparison.pairs if pair.alignment.unrelated]
    if unrelated:
        yield ""
        yield (
            "Queries that are hard for one run are commonly hard for another. The RRs of these runs look as if they "
            "had nothing to do with each other. See that their ids mean the same queries:"
        )
        yield from table([["a", "b", "correlation", "joint misses"], *(_alignment(pair) for pair in unrelated)], left=2)


def _verdict(pair: Compared, comparison: Comparison) -> str:
    if pair.verdict.trade_off:
        return _trade_off(pair, comparison)
    if pair.verdict.do_no_harm is None:
        if pair.identical:
            return f"{pair.a} and {pair.b} are identical in RR@{comparison.k} in every query."
        if pair.verdict.better:
            better, other = (pair.a, pair.b) if pair.verdict.better == "a" else (pair.b, pair.a)
            return f"{better} is better than {other}, but not significantly: it finds more, and sooner on average."
        return f"{pair.a} and {pair.b}: neither is better, by the strict or the do-no-harm standard."
    better, other = (pair.a, pair.b) if pair.verdict.do_no_harm == "a" else (pair.b, pair.a)
    if pair.verdict.strict:
        return f"{better} is better than {other}, strictly: it finds significantly more, and significantly sooner."
    if pair.significant.outcomes == pair.verdict.do_no_harm:
        return (
            f"{better} is better than {other} by doing no harm: it finds significantly more, and where both find, it "
            "is not significantly later. Strictly, neither is better."
        )
    return (
        f"{better} is better than {other} by doing no harm: where both find, it is significantly sooner, and it does "
        "not find significantly less. Strictly, neither is better."
    )


def _trade_off(pair: Compared, comparison: Comparison) -> str:
    out, both, esl = pair.outcomes, pair.both, comparison.rank_by.startswith("esl")
    values = (both.esl_a, both.esl_b) if esl else (both.rr_a, both.rr_b)
    cells = [_mean(value, 2 if esl else 4) for value in values]
    more, less = out.a_only, out.b_only
    if pair.significant.outcomes == "b":
        more, less, cells = less, more, cells[::-1]
    finder, measure = pair.a if pair.significant.outcomes == "a" else pair.b, "ESL" if esl else f"RR@{comparison.k}"
    return (
        f"{pair.a} and {pair.b}: a trade-off, so neither is better. {finder} finds significantly more ({more:,} to "
        f"{less:,}), but where both find, it is significantly later ({measure} {cells[0]} to {cells[1]})."
    )


def _disagreements(comparison: Comparison) -> Iterator[str]:
    opposed = [f"{pair.a} and {pair.b}" for pair in comparison.pairs if pair.disagreement == "means"]
    halves = [f"{pair.a} and {pair.b}" for pair in comparison.pairs if pair.disagreement == "significance"]
    if opposed or halves:
        yield ""
    if opposed:
        yield f"Where both find, mean ESL and mean RR@{comparison.k} favour different runs: {'; '.join(opposed)}."
    if halves:
        yield f"Where both find, only one of ESL and RR@{comparison.k} differs significantly: {'; '.join(halves)}."


def _alignment(pair: Compared) -> list[str]:
    alignment = pair.alignment
    return [pair.a, pair.b, _mean(alignment.correlation, 3), _mean(alignment.joint_misses, 2)]


# --- as files


def _latex(comparison: Comparison) -> Iterator[str]:
    numbers = ["$p$-value", "$p$-value"]
    heads = [
        [
            r"\multicolumn{2}{l}{Runs}", "", "(1)", r"\multicolumn{2}{c}{(2)}", "(3)",
            "", "", "WSR", "$t$-test", "", "", "WSR", "$t$-test",
        ],
        [
            "$A$", "$B$", r"$\Delta$", "All", "$A$ wins", "$B$ wins", "All",
            "$A$ ESL", "$B$ ESL", *numbers, "$A$ RR", "$B$ RR", *numbers,
        ],
    ]  # fmt: skip
    rows = []
    for pair in comparison.pairs:
        both = pair.both
        rows.append(
            [
                *(escape(pair.a), escape(pair.b), f"{pair.delta:.4f}"),
                *(rf"{100 * share:.0f}\%" for share in pair.shares.values()),
                *(_mean(both.esl_a, 2), _mean(both.esl_b, 2), p_shown(both.p.esl_wsr), p_shown(both.p.esl_t)),
                *(_mean(both.rr_a, 4), _mean(both.rr_b, 4), p_shown(both.p.rr_wsr), p_shown(both.p.rr_t)),
            ]
        )
    return tabular("ll" + 13 * "r", heads, rows)


def _write_per_query(comparison: Comparison, ranks: Ranks, path: str) -> None:
    row = {run: at for at, run in enumerate(ranks.runs)}
    places = ranks.places.tolist()
    with write_whole(path) as out:
        out.write("query\ta\tb\trank_a\trank_b\tfound\n")
        for pair in comparison.pairs:
            for query, a, b in zip(ranks.queries, places[row[pair.a]], places[row[pair.b]], strict=True):
                winner = ("both" if b else "a") if a else "b" if b else "neither"
                out.write(f"{query}\t{pair.a}\t{pair.b}\t{a}\t{b}\t{winner}\n")

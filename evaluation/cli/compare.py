"""`python -m evaluation compare`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from evaluation.cli.common import (
    BAD,
    OK,
    add_command,
    add_comparing_options,
    needs_two_runs,
    p_shown,
    print_json,
    read_judged,
    read_runs,
    table,
    tell_left_out,
)
from evaluation.files.textfiles import counted
from evaluation.statistics.comparing import Compared, Comparison, compare
from evaluation.statistics.ranks import ranks_of

_TESTS = "a|b|delta|WRS|WRS ties|WSR|t|correlation".split("|")
_OUTCOMES = "a|b|neither|only a|only b|p|both|ESL a|ESL b|WSR|t|RR a|RR b|WSR|t".split("|")
_SPOKEN = 10  # with no more pairs than that, a sentence for each; with more, for those with a verdict


def add_compare(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "compare",
        _compare,
        "test whether runs differ, two by two",
        """Compares every two runs, a and b, in the order given, over all queries that the qrels name:

  delta     mean RR@k of b less that of a
  WRS       rank-sum test on RR, without and with correction for ties (WRS ties)
  WSR       signed-rank test on RR; t: paired t-test on RR
  outcomes  queries in which neither, only a, only b, or both find a relevant passage within k, and the exact binomial
            test of only a against only b
  both      where both find it: mean search length (ESL, the rank) and mean RR of each, with WSR and t for each

Differences are compared as exact fractions. p-values are raw. A verdict takes p < alpha / pairs as significant
(Bonferroni): strict says who is better in outcomes and in ESL (WSR), both significantly; "do no harm" who is
significantly better in one of them without being significantly worse in the other.

--json prints:

  {"k", "queries", "alpha", "family", "threshold", "means": {"<run>": ...}, "pairs": [{"a", "b", "delta",
   "p": {"wrs", "wrs_tie_corrected", "wsr", "t"},
   "outcomes": {"neither", "a_only", "b_only", "both", "p"},
   "both": {"esl_a", "esl_b", "rr_a", "rr_b", "p": {"esl_wsr", "esl_t", "rr_wsr", "rr_t"}},
   "identical", "significant": {"outcomes", "esl"}, "alignment": {"correlation", "joint_misses", "unrelated"},
   "verdict": {"strict", "do_no_harm"}}]}

Means and p-values are null where there is nothing to take them from; a p-value of 1 may mean no difference at all.""",
        ["python -m evaluation compare --qrels qrels.txt --k 10 bm25.txt.gz dense.txt.gz"],
    )
    add_comparing_options(command, 100)


def _compare(options: argparse.Namespace) -> int:
    needs_two_runs(options)
    qrels = read_judged(options.qrels, options.min_grade)
    runs = read_runs(options.files, options.k)
    if runs is None:
        return BAD
    ranks = ranks_of(runs, qrels, options.k, options.order, options.min_grade)
    comparison = compare(ranks, options.alpha)
    tell_left_out(runs, qrels)
    if options.json:
        print_json(comparison.as_dict())
    else:
        print("\n".join(_report(comparison)))
    return OK


def _report(comparison: Comparison) -> Iterator[str]:
    pairs = comparison.pairs
    yield (
        f"RR@{comparison.k} over {counted(comparison.queries, 'query', 'queries')}: "
        f"{counted(len(comparison.means), 'run')}, {counted(len(pairs), 'pair')}."
    )
    yield (
        f"p-values are raw. A verdict takes p < {comparison.threshold:.3g} as significant: "
        f"{comparison.alpha:g} over {counted(len(pairs), 'pair')} (Bonferroni)."
    )
    yield ""
    yield from table([["run", "mean RR"], *([run, f"{mean:.4f}"] for run, mean in comparison.means.items())])
    yield ""
    yield "Tests on RR (delta is b less a), and how the two RRs correlate"
    yield from table(
        [_TESTS, *(_tests(pair) for pair in pairs)],
        left=2,
    )
    yield ""
    yield "Outcomes: who finds a relevant passage, and where both do, how far down (ESL) and with what RR"
    yield from table(
        [
            _OUTCOMES,
            *(_outcomes(pair) for pair in pairs),
        ],
        left=2,
    )
    yield ""
    yield from _verdicts(comparison)


def _tests(pair: Compared) -> list[str]:
    values = (pair.wrs, pair.wrs_tie_corrected, pair.wsr, pair.t)
    return [pair.a, pair.b, f"{pair.delta:+.4f}", *map(p_shown, values), _mean(pair.alignment.correlation, 2)]


def _outcomes(pair: Compared) -> list[str]:
    out, both = pair.outcomes, pair.both
    return [
        *(pair.a, pair.b, f"{out.neither:,}", f"{out.a_only:,}", f"{out.b_only:,}", p_shown(out.p), f"{out.both:,}"),
        *(_mean(both.esl_a, 2), _mean(both.esl_b, 2), p_shown(both.esl_wsr), p_shown(both.esl_t)),
        *(_mean(both.rr_a, 4), _mean(both.rr_b, 4), p_shown(both.rr_wsr), p_shown(both.rr_t)),
    ]


def _mean(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _verdicts(comparison: Comparison) -> Iterator[str]:
    untold = 0
    for pair in comparison.pairs:
        if pair.strict or pair.do_no_harm or len(comparison.pairs) <= _SPOKEN:
            yield _verdict(pair)
        else:
            untold += 1
    if untold:
        yield f"{counted(untold, 'more pair')}: neither run is better by either standard."
    unrelated = [pair for pair in comparison.pairs if pair.alignment.unrelated]
    if unrelated:
        yield ""
        yield (
            "Queries that are hard for one run are commonly hard for another. The RRs of these runs look as if they "
            "had nothing to do with each other. See that their ids mean the same queries:"
        )
        yield from table([["a", "b", "correlation", "joint misses"], *(_alignment(pair) for pair in unrelated)], left=2)


def _verdict(pair: Compared) -> str:
    if pair.do_no_harm is None:
        if pair.identical:
            return f"{pair.a} and {pair.b} are identical in RR in every query."
        return f"{pair.a} and {pair.b}: neither is better, by the strict or the do-no-harm standard."
    better, other = (pair.a, pair.b) if pair.do_no_harm == "a" else (pair.b, pair.a)
    if pair.strict:
        return f"{better} is better than {other}, strictly: it finds significantly more, and significantly sooner."
    if pair.found:
        return (
            f"{better} is better than {other} by doing no harm: it finds significantly more, and where both find, it "
            "is not significantly later. Strictly, neither is better."
        )
    return (
        f"{better} is better than {other} by doing no harm: where both find, it is significantly sooner, and it does "
        "not find significantly less. Strictly, neither is better."
    )


def _alignment(pair: Compared) -> list[str]:
    found = pair.alignment
    return [pair.a, pair.b, _mean(found.correlation, 3), _mean(found.joint_misses, 2)]

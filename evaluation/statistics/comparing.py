"""Comparing runs, two by two (Lin et al. 2021): tests on RR, a breakdown by outcome, and what they come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.joint_ranks import Differences, joint_histograms
from evaluation.statistics.measured import Measured
from evaluation.statistics.ranks import Ranks, reciprocals
from evaluation.statistics.resampling import Interval
from evaluation.statistics.significance import (
    Correction,
    Spread,
    mean_differences,
    paired_t,
    rank_sums,
    sign_test,
    signed_ranks,
    significance_threshold,
)

Floats = NDArray[np.float64]
Winner = Literal["a", "b"] | None

# Which ranks better where both find: by search lengths or by RR, in the signed-rank test or in the t-test.
RankBy = Literal["esl-wsr", "esl-t", "rr-wsr", "rr-t"]
RANK_BYS: tuple[RankBy, ...] = get_args(RankBy)

# How search lengths and RR may differ about who ranks better: their means point to different runs, or only one of the
# two is significant.
Disagreement = Literal["means", "significance"] | None
ALPHA = 0.05
_UNRELATED = 2.0  # standard errors: a correlation below is what runs without anything in common may have
_TELLING = 100  # with fewer queries, related runs may have such a correlation too


class Outcomes(NamedTuple):
    """Queries by who found the relevant passage within k, and the exact binomial test of `a_only` against `b_only`."""

    neither: int
    a_only: int
    b_only: int
    both: int
    p: float

    def shares(self) -> dict[str, float]:
        """The four, as shares of all queries."""
        total = sum(self[:4])
        return {name: count / total for name, count in zip(self._fields[:4], self[:4], strict=True)}


class BothTests(NamedTuple):
    """Raw p-values of where both found it."""

    esl_wsr: float | None
    esl_t: float | None
    rr_wsr: float | None
    rr_t: float | None


class Both(NamedTuple):
    """Where both found it: mean search lengths (ranks) and RR, and their tests. None where no query is such."""

    esl_a: float | None
    esl_b: float | None
    rr_a: float | None
    rr_b: float | None
    p: BothTests


class Tests(NamedTuple):
    """Raw p-values of RR over all queries; `t` may be None (one query)."""

    wrs: float
    wrs_tie_corrected: float
    wsr: float
    t: float | None


class Significant(NamedTuple):
    """Who is significantly better: by `wrs`, `wsr` and `t` where the test points the same way as delta, in `outcomes`,
    and in ranking where both find (`esl`), which takes a better mean, a significant test, and that both point the same
    way. None: neither run.
    """

    wrs: Winner
    wsr: Winner
    t: Winner
    outcomes: Winner
    esl: Winner


class Verdict(NamedTuple):
    """`strict`: who is significantly better in outcomes and in ranking. `trade_off`: one run is the one, and the other
    run the other. `do_no_harm`: who is strictly better, or better in one of them at half the level, as it has two tests
    to win by, without the other run being better in the other; with a margin, that is to be shown. `better`: who finds
    more queries and has the better mean where both find, whether significantly or not. None: neither run.
    """

    strict: Winner
    do_no_harm: Winner
    trade_off: bool
    better: Winner


class Alignment(NamedTuple):
    """Whether the runs look as if they had been joined by query.

    `correlation`: Pearson's, of the two RRs; None where one does not vary. `joint_misses`: queries that both miss, over
    how many these would be if the misses had nothing to do with each other; None where one misses none. `unrelated`:
    there are 100 queries or more, and the correlation is within two standard errors of 0, or below.
    """

    correlation: float | None
    joint_misses: float | None
    unrelated: bool


class Compared(NamedTuple):
    """Run b against run a. `delta`: mean RR@k of b less that of a, with its 95% t-interval, None for one query.
    `shares`: the outcomes as shares of all queries. `identical`: the same RR in every query.
    """

    a: str
    b: str
    delta: float
    delta_interval: Interval | None
    p: Tests
    outcomes: Outcomes
    shares: dict[str, float]
    both: Both
    identical: bool
    significant: Significant
    disagreement: Disagreement
    alignment: Alignment
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        parts = {name: value._asdict() for name, value in self._asdict().items() if hasattr(value, "_asdict")}
        if self.delta_interval is not None:
            parts["delta_interval"] = self.delta_interval
        return {**self._asdict(), **parts, "both": {**parts["both"], "p": self.both.p._asdict()}}


@dataclass(frozen=True)
class Comparison:
    """Pairs of runs, and what they are compared by.

    Significant is a p below the test's own one of `thresholds`, which `correction` makes of `alpha` for that test of
    all pairs, the `family`; below `threshold` in outcomes, by Bonferroni and without a correction by every test. Doing
    no harm takes half of alpha, and any harm below the `margin`. `lists`: how many passages the longest list of each
    run has, where that is known. `order_by_means`: the runs by their mean, the greatest first; of equals, the first.
    """

    k: int
    queries: int
    alpha: float
    family: int
    correction: Correction
    threshold: float
    thresholds: dict[str, float]
    margin: float
    rank_by: RankBy
    means: dict[str, float]
    lists: dict[str, int]
    order_by_verdicts: list[str]
    order_by_means: list[str]
    pairs: list[Compared]

    @property
    def is_reordered(self) -> bool:
        """Whether the order by verdicts differs from that by means."""
        return self.order_by_verdicts != self.order_by_means

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**vars(self), "pairs": [pair.as_dict() for pair in self.pairs]}


def _order(by_means: Sequence[str], pairs: Iterable[Compared]) -> list[str]:
    """The runs by verdicts: of those left, always one that none of them beats by doing no harm.

    Of several such, and where each is beaten by another, the one of the greatest mean; of equals, the first.
    """
    beats: dict[str, set[str]] = {run: set() for run in by_means}
    for pair in pairs:
        if pair.verdict.do_no_harm:
            better, other = (pair.a, pair.b) if pair.verdict.do_no_harm == "a" else (pair.b, pair.a)
            beats[better].add(other)
    beaten_by = Counter(other for others in beats.values() for other in others)
    left, order = list(by_means), []
    while left:
        order.append(next((run for run in left if not beaten_by[run]), left[0]))
        left.remove(order[-1])
        beaten_by.subtract(beats[order[-1]])
    return order


# Two runs to compare, a and b, by name.
Match = tuple[str, str]


def compare(
    ranks: Ranks,
    alpha: float = ALPHA,
    *,
    matches: Sequence[Match] | None = None,
    rank_by: RankBy = "esl-wsr",
    lists: Mapping[str, int] | None = None,
    correction: Correction = "bonferroni",
    margin: float = 0,
) -> Comparison:
    """The matches, or every two runs in the order given, over all queries of `ranks`.

    With a `margin`, doing no harm is shown, and not just unrefuted: where a run wins by outcomes alone, a one-sided
    t-test must show that its mean RR where both find is worse by less than the margin; where by ranking alone, that the
    share of queries in which it finds something is. 0: that the other run is not significantly better is enough.

    Raises ValueError where there is no query.
    """
    if not ranks.queries:
        raise ValueError("a comparison over no queries")
    row = {run: at for at, run in enumerate(ranks.runs)}
    rows = [(row[a], row[b]) for a, b in (combinations(ranks.runs, 2) if matches is None else matches)]
    kinds = _Kinds(ranks.k)
    parts = [kinds.statistics(histograms) for histograms in joint_histograms(ranks, rows)] or [kinds.none()]
    whole = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    thresholds, verdicts = _verdicts(whole, rank_by, (alpha, correction), margin)
    pairs, means = list(_compare(ranks, rows, whole | verdicts)), ranks.means()
    by_means = sorted(means, key=lambda run: -means[run])
    return Comparison(
        *(ranks.k, len(ranks.queries), alpha, len(pairs), correction, thresholds["outcomes"], thresholds, margin),
        *(rank_by, means, dict(lists or {}), _order(by_means, pairs), by_means, pairs),
    )


def choose_matches(
    ranks: Ranks | Measured,
    *,
    baseline: str | None = None,
    pairs: Collection[Match] | None = None,
    chain: bool = False,
    groups: Mapping[str, str],
) -> list[Match] | None:
    """The comparisons to make: those with a baseline, those given, or those along a chain, but for runs of one group.

    None, which is every two runs, where nothing is chosen.
    """
    if chain:
        return matches_along(ranks.means(), groups)
    if baseline is not None:
        matches = matches_against(ranks.runs, baseline)
    elif pairs is not None:
        matches = list(pairs)
    elif groups:
        matches = list(combinations(ranks.runs, 2))
    else:
        return None
    return matches_between(matches, groups)


def matches_against(runs: Collection[str], baseline: str) -> list[Match]:
    return [(baseline, run) for run in runs if run != baseline]


def matches_along(means: Mapping[str, float], groups: Mapping[str, str]) -> list[Match]:
    """Each run against the best one before it, that is of the greatest mean, the earliest of equals.

    Of runs of one group, only the others count. A run without another one before it has no match.
    """
    runs, matches = list(means), []
    for at, run in enumerate(runs):
        before = [other for other in runs[:at] if not _in_one_group(run, other, groups)]
        if before:
            matches.append((max(before, key=means.__getitem__), run))
    return matches


def matches_between(matches: Collection[Match], groups: Mapping[str, str]) -> list[Match]:
    """Those of runs that are not of one group. A run without a group is in none."""
    return [(a, b) for a, b in matches if not _in_one_group(a, b, groups)]


def _in_one_group(a: str, b: str, groups: Mapping[str, str]) -> bool:
    return a in groups and groups[a] == groups.get(b)


Columns = dict[str, NDArray[Any]]


def _compare(ranks: Ranks, rows: list[tuple[int, int]], columns: Columns) -> Iterator[Compared]:
    totals, scale = ranks.totals()
    fields = [name for name in columns if name not in _HIDDEN]
    for (a, b), *values in zip(rows, *(columns[name].T.tolist() for name in fields), strict=True):
        row = dict(zip(fields, values, strict=True))
        outcomes = Outcomes._make([*map(int, row["outcomes"]), row["answered"]])
        esl_a, esl_b, rr_a, rr_b, *both = map(_known, row["both"])
        won = {name: _WINNERS[row[name]] for name in _WON}
        yield Compared(
            a=ranks.runs[a],
            b=ranks.runs[b],
            delta=(totals[b] - totals[a]) / (scale * len(ranks.queries)),
            delta_interval=None if math.isnan(row["interval"][0]) else Interval(*row["interval"]),
            p=Tests(row["wrs"], row["wrs_tie_corrected"], row["wsr"], _known(row["t"])),
            outcomes=outcomes,
            shares=outcomes.shares(),
            both=Both(esl_a, esl_b, rr_a, rr_b, BothTests(*both)),
            identical=row["identical"],
            significant=Significant(*(won[name] for name in _WON[:5])),
            disagreement="means" if row["opposed"] else "significance" if row["half_significant"] else None,
            alignment=Alignment(_known(row["correlation"]), _known(row["joint_misses"]), row["unrelated"]),
            verdict=Verdict(won["strict"], won["do_no_harm"], row["trade_off"], won["better"]),
        )


_WINNERS: dict[float, Winner] = {-1.0: "a", 0.0: None, 1.0: "b"}
_WON = ("by_wrs", "by_wsr", "by_t", "found", "ranked", "strict", "do_no_harm", "better")
# Of columns, those that only lead to the verdicts. Sides are 1 for b, -1 for a, 0 for neither.
_HIDDEN = ("more", "sooner_esl", "sooner_rr", "by_esl", "by_rr", "sign", "sign_wrs", "sign_wsr", "both_spread")


class _Kinds:
    """What is the same for all pairs."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.rr = Differences.of_reciprocal_ranks(k)
        self.esl = Differences.of_search_lengths(k)

    def none(self) -> Columns:
        """Of no pair."""
        return self.statistics(np.zeros((0, (self.k + 1) ** 2)))

    def statistics(self, histograms: Floats) -> Columns:
        """Of every pair of the batch, [... x pairs], NaN where there is none: `outcomes` and `both` in the order of
        their types.
        """
        width = self.k + 1
        cube = histograms.reshape(-1, width, width)
        worst_first = [0, *range(self.k, 0, -1)]
        all_a, all_b = cube.sum(axis=2), cube.sum(axis=1)
        wrs = rank_sums(all_a[:, worst_first], all_b[:, worst_first])
        rr = self.rr.tally(histograms)
        neither, a_only = cube[:, 0, 0], cube[:, 1:, 0].sum(axis=1)
        b_only, both = cube[:, 0, 1:].sum(axis=1), all_a[:, 1:].sum(axis=1) - a_only
        esl, rr_both = self.esl.tally(histograms), self.rr.where_both_found(rr, histograms)
        wsr, esl_wsr, rr_wsr = signed_ranks(rr), signed_ranks(esl), signed_ranks(rr_both)
        of_a, of_b = all_a[:, 1:] - cube[:, 1:, 0], all_b[:, 1:] - cube[:, 0, 1:]
        rank, value = np.arange(1, width), reciprocals(self.k)[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [side @ weights / both for weights in (rank, value) for side in (of_a, of_b)]
        spread = mean_differences(rr, self.rr.scale)
        both_spread = mean_differences(rr_both, self.rr.scale)
        correlation, joint_misses, unrelated = _alignment(cube, all_a, all_b)
        return {
            "wrs": wrs.plain,
            "wrs_tie_corrected": wrs.tie_corrected,
            "wsr": wsr.p,
            "t": paired_t(rr),
            "interval": spread.interval(),
            "outcomes": np.stack([neither, a_only, b_only, both]),
            "answered": sign_test(a_only, b_only),
            "both": np.stack([*means, esl_wsr.p, paired_t(esl), rr_wsr.p, paired_t(rr_both)]),
            "correlation": correlation,
            "joint_misses": joint_misses,
            "unrelated": unrelated,
            "identical": rr.none == rr.queries,
            "more": np.sign(b_only - a_only),
            "sooner_esl": np.sign(of_a @ rank - of_b @ rank),
            "sooner_rr": np.sign((rr_both.above - rr_both.below) @ rr.sizes),
            "by_esl": -esl_wsr.direction,
            "by_rr": rr_wsr.direction,
            "sign": np.sign((rr.above - rr.below) @ rr.sizes),
            "sign_wrs": wrs.direction,
            "sign_wsr": wsr.direction,
            "both_spread": np.stack(both_spread),
        }


def _verdicts(
    columns: Columns, rank_by: RankBy, level: tuple[float, Correction], margin: float
) -> tuple[dict[str, float], Columns]:
    """What is significant among all pairs, by test, and what that comes to."""
    measure, test = rank_by.split("-")
    both = dict(zip(("esl-wsr", "esl-t", "rr-wsr", "rr-t"), columns["both"][4:], strict=True))
    alpha, correction = level
    p = {
        "wrs": columns["wrs"],
        "wsr": columns["wsr"],
        "t": columns["t"],
        "outcomes": columns["answered"],
        "esl": both[rank_by],
    }
    thresholds = {name: significance_threshold(p_values, alpha, correction) for name, p_values in p.items()}

    def better_ranked(measure: str, share: float = 1) -> Floats:
        p_values = both[f"{measure}-{test}"]
        clear = p_values < significance_threshold(p_values, alpha * share, correction)
        sooner: Floats = columns[f"sooner_{measure}"]
        if test == "wsr":
            clear &= columns[f"by_{measure}"] == sooner
        return np.where(clear, sooner, 0)

    def finds_more(share: float = 1) -> Floats:
        threshold = significance_threshold(p["outcomes"], alpha * share, correction)
        return np.where(p["outcomes"] < threshold, columns["more"], 0)

    finds, ahead = finds_more(), better_ranked(measure)
    finds_clearly, ahead_clearly = finds_more(0.5), better_ranked(measure, 0.5)
    strict = np.where(finds == ahead, finds, 0)
    trade_off = finds * ahead < 0
    harmless = np.where(trade_off, 0, np.sign(finds_clearly + ahead_clearly))
    if margin:
        # Who wins by outcomes alone could do harm in ranking, and the other way round.
        in_outcomes, in_ranking = _outcome_spread(columns["outcomes"]), Spread(*columns["both_spread"])
        is_no_worse = (spread.no_worse(harmless, margin) for spread in (in_ranking, in_outcomes))
        harm = np.where(harmless == 0, np.nan, np.where(finds_clearly != 0, *is_no_worse))
        harmless = np.where(harm < significance_threshold(harm, alpha, correction), harmless, 0)
    signs = {"wrs": columns["sign_wrs"], "wsr": columns["sign_wsr"], "t": columns["sign"]}
    return thresholds, {
        **{
            f"by_{name}": np.where(
                (p[name] < thresholds[name]) & (signs_of_measure == columns["sign"]), signs_of_measure, 0
            )
            for name, signs_of_measure in signs.items()
        },
        "found": finds,
        "ranked": ahead,
        "strict": strict,
        "do_no_harm": np.where(strict != 0, strict, harmless),
        "trade_off": trade_off,
        "better": np.where(columns["more"] == columns[f"sooner_{measure}"], columns["more"], 0),
        "opposed": columns["sooner_esl"] * columns["sooner_rr"] < 0,
        "half_significant": (better_ranked("esl") != 0) != (better_ranked("rr") != 0),
    }


def _outcome_spread(outcomes: Floats) -> Spread:
    """Of whether b finds something less whether a does."""
    neither, a_only, b_only, both = outcomes
    n = neither + a_only + b_only + both
    mean = (b_only - a_only) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return Spread(mean, np.sqrt((a_only + b_only - n * mean**2) / (n - 1) / n), n)


def _alignment(cube: Floats, of_a: Floats, of_b: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Correlation, joint misses over the expected, and whether the runs look unrelated."""
    value = reciprocals(cube.shape[1] - 1)
    n = of_a.sum(axis=1)
    mean_a, mean_b = of_a @ value / n, of_b @ value / n
    spread_a, spread_b = of_a @ value**2 / n - mean_a**2, of_b @ value**2 / n - mean_b**2
    product = cube @ value @ value
    varies = (of_a.max(axis=1) < n) & (of_b.max(axis=1) < n)
    missed = of_a[:, 0] * of_b[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(varies, (product / n - mean_a * mean_b) / np.sqrt(spread_a * spread_b), np.nan)
        joint_misses = np.where(missed > 0, cube[:, 0, 0] * n / missed, np.nan)
        unrelated = varies & (n >= _TELLING) & (correlation * np.sqrt(n) < _UNRELATED)
    return np.clip(correlation, -1, 1), joint_misses, unrelated


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value

"""Runs compared two by two."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from evaluation.files.about_runs import read_run_pairs
from evaluation.statistics.comparing import Compared, Comparison, RankBy, choose_matches, compare
from evaluation.statistics.ranks import Board as Ranked
from evaluation.statistics.ranks import Ranks
from pools.models import Campaign
from results.inputs import ALPHA, Inputs, K
from results.sections.counts import Counts
from results.sections.scored import Scored

NAMED = 4  # pairs of runs


@dataclass(frozen=True)
class Chosen:
    """Which runs are compared. `missing`: those to be compared that are not scored."""

    comparisons: str
    baseline: str | None
    teams_apart: bool
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Names:
    """Two runs."""

    a: str
    b: str


@dataclass(frozen=True)
class Named:
    """How many pairs, and the first of them."""

    count: int
    first: list[Names]


@dataclass(frozen=True)
class Verdicts:
    """What the comparisons come to, all together."""

    pairs: int
    strict: int
    strict_before: int
    harmless: int
    only_better: int
    trade_offs: Named
    means_disagree: Named
    significance_disagrees: Named


@dataclass(frozen=True, kw_only=True)
class Comparisons(Counts):
    """On both qrels; None for designs without scores."""

    comparisons: Chosen | None = None
    compare: Comparison | None = None
    compare_original: Comparison | None = None
    verdicts: Verdicts | None = None


def compute(counts: Counts, scored: Scored) -> Comparisons:
    inputs, campaign = scored.inputs, scored.inputs.campaign
    choice, pairs, groups = _choose(inputs)
    in_order = inputs.imported if choice.comparisons == Campaign.Comparisons.CHAIN else scored.runs
    lists = {run: inputs.runs[run].longest for run in scored.runs}
    depth = campaign.compare_depth
    deep = scored.original if depth == K else Ranked(inputs.runs, depth, scored.order)
    compared = []
    for everywhere in (deep.ranks(scored.preference), deep.ranks(inputs.qrels, campaign.min_grade)):
        ranks = _in_order(everywhere.only(scored.queries), in_order)
        matches = choose_matches(
            ranks,
            baseline=None if choice.missing else choice.baseline,
            pairs=[] if choice.baseline is not None and choice.missing else pairs,
            chain=choice.comparisons == Campaign.Comparisons.CHAIN,
            groups=groups,
        )
        compared += [compare(
            ranks, ALPHA, matches=matches, rank_by=cast(RankBy, campaign.rank_by), lists=lists,
            correction=scored.correction, margin=float(campaign.margin),
        )]  # fmt: skip
    after, before = compared
    return Comparisons(
        **vars(counts),
        comparisons=choice,
        compare=after,
        compare_original=before,
        verdicts=sum_up(after.pairs, before.pairs),
    )


def _choose(inputs: Inputs) -> tuple[Chosen, list[tuple[str, str]] | None, dict[str, str]]:
    """By the campaign's settings, of the runs that are scored: which are compared, the pairs that are given, and the
    teams whose runs are not compared with each other.
    """
    campaign, runs = inputs.campaign, inputs.runs
    groups = {run: team for run, team in inputs.teams.items() if run in runs} if campaign.teams_apart else {}
    baseline, pairs, missing = None, None, []
    if campaign.comparisons == Campaign.Comparisons.BASELINE:
        baseline = campaign.baseline
        missing = [baseline] if baseline not in runs else []
    elif campaign.comparisons == Campaign.Comparisons.PAIRS:
        pairs = read_run_pairs(io.BytesIO(campaign.compared_pairs.encode()), None, name="pairs")
        missing = sorted({run for pair in pairs for run in pair if run not in runs})
        pairs = [pair for pair in pairs if not set(pair).intersection(missing)]
    return Chosen(campaign.comparisons, baseline, campaign.teams_apart, missing), pairs, groups


def sum_up(pairs: Sequence[Compared], before: Sequence[Compared]) -> Verdicts:
    """What the comparisons of two runs come to, all together; `before` are those on the original qrels.

    Of pairs that a sentence names, there is the number and the first few.
    """
    verdicts = [pair.verdict for pair in pairs]
    return Verdicts(
        pairs=len(pairs),
        strict=sum(verdict.strict is not None for verdict in verdicts),
        strict_before=sum(pair.verdict.strict is not None for pair in before),
        harmless=sum(verdict.do_no_harm is not None for verdict in verdicts),
        only_better=sum(
            bool(verdict.better and not verdict.do_no_harm and not verdict.trade_off) for verdict in verdicts
        ),
        trade_offs=_named([pair for pair in pairs if pair.verdict.trade_off]),
        means_disagree=_named([pair for pair in pairs if pair.disagreement == "means"]),
        significance_disagrees=_named([pair for pair in pairs if pair.disagreement == "significance"]),
    )


def _named(pairs: Sequence[Compared]) -> Named:
    return Named(len(pairs), [Names(pair.a, pair.b) for pair in pairs[:NAMED]])


def _in_order(ranks: Ranks, runs: Sequence[str]) -> Ranks:
    rows = [ranks.runs.index(run) for run in runs]
    return Ranks(ranks.k, tuple(runs), ranks.queries, ranks.places[rows])

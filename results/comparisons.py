"""Which runs the results compare two by two, as the campaign's settings say."""

import io
from typing import NamedTuple, cast

from evaluation.files.about_runs import read_run_pairs
from evaluation.statistics.comparing import Comparison, RankBy, choose_matches, compare
from evaluation.statistics.ranks import Ranks
from evaluation.statistics.significance import Correction
from pools.models import Campaign
from results.inputs import Inputs

Comparisons = Campaign.Comparisons


class Choice(NamedTuple):
    """The comparisons to make. `missing`: runs that are to be compared, but are not among those that are scored."""

    comparisons: str
    baseline: str | None
    pairs: list[tuple[str, str]] | None
    teams_apart: bool
    groups: dict[str, str]
    missing: list[str]


def choose_comparisons(inputs: Inputs) -> Choice:
    """By the campaign's settings, of the runs that are scored."""
    campaign, runs = inputs.campaign, inputs.runs
    groups = {run: team for run, team in inputs.teams.items() if run in runs} if campaign.teams_apart else {}
    baseline, pairs, missing = None, None, []
    if campaign.comparisons == Comparisons.BASELINE:
        baseline = campaign.baseline
        missing = [baseline] if baseline not in runs else []
    elif campaign.comparisons == Comparisons.PAIRS:
        pairs = read_run_pairs(io.BytesIO(campaign.compared_pairs.encode()), None, name="pairs")
        missing = sorted({run for pair in pairs for run in pair if run not in runs})
        pairs = [pair for pair in pairs if not set(pair).intersection(missing)]
    return Choice(campaign.comparisons, baseline, pairs, campaign.teams_apart, groups, missing)


def compare_runs(
    choice: Choice, ranks: Ranks, *, campaign: Campaign, alpha: float, lists: dict[str, int]
) -> Comparison:
    """Make the comparisons. Along a chain, each run follows those before it in `ranks`."""
    matches = choose_matches(
        ranks,
        baseline=None if choice.missing else choice.baseline,
        pairs=[] if choice.baseline is not None and choice.missing else choice.pairs,
        chain=choice.comparisons == Comparisons.CHAIN,
        groups=choice.groups,
    )
    return compare(
        ranks, alpha, matches=matches, rank_by=cast(RankBy, campaign.rank_by), lists=lists,
        correction=cast(Correction, campaign.correction), margin=float(campaign.margin),
    )  # fmt: skip

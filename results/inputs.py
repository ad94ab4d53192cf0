"""What results are computed from, as of one moment."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.errors import FileMissing
from core.version import VERSION
from evaluation.files.about_runs import Outside
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Entry, Qrels
from evaluation.judging.challengers import Challenge
from evaluation.judging.equal_texts import StandsFor
from evaluation.judging.rounds import Status
from evaluation.judging.tournament import Derived
from evaluation.statistics.agreement import Vote
from judgments.evidence import Evidence
from judgments.quality import Behaviour, behaviour, votes_of
from pools.models import Campaign
from runs import selectors as run_selectors

log = logging.getLogger(__name__)

# Of the stored data. A new one makes every stored result stale.
FORMAT = 19
# What computed results are: another version's are computed again.
SOFTWARE = f"{VERSION}/{FORMAT}"
K = 10


class Inputs(NamedTuple):
    """Everything that the results of a campaign depend on.

    `runs` are all runs of the collection, or those that were fixed when the campaign finished, by name: those that made
    the pools, whose names are `pooled`, and those that are only scored. `imported` are their names in the order of
    import, `teams` those of runs that have one. `outside` is how they score elsewhere, by the measure of
    `outside_source`. `held_back_runs` are the names of pooled ones that are not for release, `unreadable` those of
    others whose file is missing. `pools` are all pools by query. `waiting` are the queries that lack an accepted
    judgment.
    `preferences` is every accepted judgment, on waiting queries too, and `outcomes` the same as it counts: on
    `adjudicated` pairs as a person decided, and on `weighed` others as their judgments weigh; `derived`, the best known
    answers by these. `votes` are the same with who judged, sorted, where a pair is judged more than once. `pairs` are
    those that the design asks about.
    `stands_for`: by query and id, the candidate that has the text of a passage with another id. `challenged` are the
    best known answers that are challenged, by query; `challenges` those whose pairs have all their judgments. `rounds`:
    how far each query has come in a campaign in rounds, whose queries wait until their rounds are over. `withheld`:
    `(query id, passage id)` of the passages that may not leave.
    """

    campaign: Campaign
    k: int
    runs: Mapping[str, RunArtifact]
    imported: Sequence[str]
    teams: Mapping[str, str]
    outside: Mapping[str, Outside]
    outside_source: str
    pooled: frozenset[str]
    held_back_runs: Sequence[str]
    unreadable: Sequence[str]
    qrels: Qrels
    pools: Mapping[str, tuple[str, ...]]
    waiting: frozenset[str]
    pairs: int
    preferences: Sequence[Preference]
    outcomes: Sequence[Preference]
    derived: Derived
    adjudicated: int
    weighed: int
    votes: Sequence[Vote]
    behaviour: Behaviour
    stands_for: StandsFor
    challenged: Mapping[str, tuple[str, ...]]
    challenges: Sequence[Challenge]
    rounds: Mapping[str, Status]
    withheld: frozenset[tuple[str, str]]


def inputs_of(campaign: Campaign, evidence: Evidence | None = None) -> Inputs:
    """Read them, or take the evidence that was read. Called within one moment, so that they belong together.

    Raises FileAway while file storage does not answer, or if it does not have a run that made the pools.
    """
    evidence = evidence or Evidence(campaign)
    derived, rounds, challenges = evidence.outcome
    pooled = frozenset(campaign.runs.values_list("name", flat=True))
    runs, unreadable = _runs_of(campaign, pooled)
    outside = run_selectors.outside_scores_of(campaign.collection)
    unfinished = {query for query, status in rounds.items() if not status.is_done}
    by_import = campaign.collection.runs.order_by("imported_at", "id")
    return Inputs(
        campaign=campaign,
        k=K,
        runs=runs,
        imported=[name for name in by_import.values_list("name", flat=True) if name in runs],
        teams=dict(campaign.collection.runs.exclude(team="").values_list("name", "team")),
        outside={run: Outside(*score) for run, score in outside.scores.items() if run in runs} if outside else {},
        outside_source=outside.source if outside else "",
        pooled=pooled,
        held_back_runs=list(campaign.runs.filter(is_released=False).order_by("name").values_list("name", flat=True)),
        unreadable=unreadable,
        qrels=Qrels.of(Entry(*row) for row in run_selectors.collection_qrels(campaign.collection)),
        pools=evidence.pools,
        waiting=evidence.waiting | unfinished,
        pairs=campaign.pair_count,
        preferences=evidence.preferences,
        outcomes=evidence.counted,
        derived=derived,
        adjudicated=len(evidence.decided),
        weighed=len(evidence.weighed.keys() - evidence.decided.keys()),
        votes=votes_of(campaign),
        behaviour=behaviour(campaign),
        stands_for=evidence.stands_for,
        challenged=evidence.challenged,
        challenges=challenges,
        rounds=rounds,
        withheld=evidence.withheld,
    )


def _runs_of(campaign: Campaign, pooled: frozenset[str]) -> tuple[dict[str, RunArtifact], list[str]]:
    """The runs to score, and the names of those that were not pooled and whose file is missing."""
    chosen = (campaign.collection.runs if campaign.pairing.scores_runs else campaign.runs).order_by("name")
    if campaign.fixed_runs is not None:
        chosen = chosen.filter(pk__in=campaign.fixed_runs)
    runs, unreadable = {}, []
    for run in chosen:
        try:
            runs[run.name] = run_selectors.load_artifact(run)
        except FileMissing as error:
            if run.name in pooled:
                raise
            log.warning("The results of campaign %s leave out the run %s: %s", campaign.pk, run.pk, error)
            unreadable.append(run.name)
    return runs, unreadable

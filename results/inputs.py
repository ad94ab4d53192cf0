"""What results are computed from, as of one moment."""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, cast

from core.errors import FileMissing
from core.version import VERSION
from evaluation.files.about_runs import Outside
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Entry, Qrels
from evaluation.judging.equal_texts import name_once
from evaluation.judging.pooling import Tops
from evaluation.statistics.agreement import Vote
from judgments.behaviour import Behaviour, behaviour, votes_of
from judgments.evidence import Evidence
from pools.models import Campaign
from runs import selectors as run_selectors

log = logging.getLogger(__name__)

# Of the stored data. A new one makes every stored result stale.
FORMAT = 19
DRAWING = 2  # of the figures and their marks
# What computed results are: another version's are computed again.
SOFTWARE = f"{VERSION}/{FORMAT}/{DRAWING}"
K = 10
ALPHA = 0.05


class People(NamedTuple):
    """What people said: the pools and judgments of the queries that wait for nothing, and the winners by these."""

    pools: dict[str, tuple[str, ...]]
    judgments: list[Preference]
    qrels: Sequence[tuple[str, str]]


class Inputs(NamedTuple):
    """Everything that the results of a campaign depend on.

    `evidence` is whole. `runs` are all runs of the collection, or those that were fixed when the campaign finished, by
    name: those that made the pools, whose names are `pooled`, and those that are only scored. `imported` are their
    names in the order of import, `teams` those of runs that have one. `outside` is how they score elsewhere, by the
    measure of `outside_source`. `held_back_runs` are the names of pooled ones that are not for release, `unreadable`
    those of others whose file is missing. `waiting` are the queries that lack an accepted judgment, or whose rounds are
    not over. `votes` is every accepted judgment with who judged, sorted, where a pair is judged more than once.
    `withheld`: `(query id, passage id)` of the passages that may not leave.
    """

    campaign: Campaign
    evidence: Evidence
    runs: Mapping[str, RunArtifact]
    imported: Sequence[str]
    teams: Mapping[str, str]
    outside: Mapping[str, Outside]
    outside_source: str
    pooled: frozenset[str]
    held_back_runs: Sequence[str]
    unreadable: Sequence[str]
    qrels: Qrels
    waiting: frozenset[str]
    votes: Sequence[Vote]
    behaviour: Behaviour
    withheld: frozenset[tuple[str, str]]

    def people(self) -> People:
        """The best known answers, as the campaign's design and settings have it."""
        pools = {query: pool for query, pool in self.evidence.pools.items() if query not in self.waiting}
        judgments = [row for row in self.evidence.counted if row.query not in self.waiting]
        return People(pools, judgments, [row for row in self.evidence.derived.qrels if row[0] in pools])

    def judged(self) -> list[Preference]:
        """The judgments as they were made, without those of waiting queries."""
        return [row for row in self.evidence.preferences if row.query not in self.waiting]

    def held_back(self, withheld: Collection[tuple[str, str]]) -> frozenset[str]:
        """The queries with a best known answer that may not leave, given as `(query id, passage id)`."""
        if not self.campaign.pairing.scores_runs:
            return frozenset()
        return frozenset(query for query, passage in self.evidence.derived.qrels if (query, passage) in withheld)

    def top(self, run: str, depth: int = 1) -> Tops:
        """The first passages of a run by query, by the ids of candidates."""
        top = self.runs[run].top(cast(Order, self.campaign.order), depth)
        return name_once(self.evidence.stands_for, top)

    def tops(self) -> dict[str, dict[str, list[str]]]:
        """By query, the runs that put each passage of its pool first, by name."""
        pools = self.evidence.pools
        runs_of: dict[str, dict[str, list[str]]] = {query: {} for query in pools}
        for run in self.runs:
            for query, (passage,) in self.top(run).items():
                if passage in pools.get(query, ()):
                    runs_of[query].setdefault(passage, []).append(run)
        return runs_of


def inputs_of(campaign: Campaign, evidence: Evidence | None = None) -> Inputs:
    """Read them, or take the evidence that was read. Called within one moment, so that they belong together.

    Raises FileAway while file storage does not answer, or if it does not have a run that made the pools.
    """
    evidence = (evidence or Evidence(campaign)).read()
    pooled = frozenset(campaign.runs.values_list("name", flat=True))
    runs, unreadable = _runs_of(campaign, pooled)
    outside = run_selectors.outside_scores_of(campaign.collection)
    unfinished = {query for query, status in evidence.outcome.rounds.items() if not status.is_done}
    by_import = campaign.collection.runs.order_by("imported_at", "id")
    return Inputs(
        campaign=campaign,
        evidence=evidence,
        runs=runs,
        imported=[name for name in by_import.values_list("name", flat=True) if name in runs],
        teams=dict(campaign.collection.runs.exclude(team="").values_list("name", "team")),
        outside={run: Outside(*score) for run, score in outside.scores.items() if run in runs} if outside else {},
        outside_source=outside.source if outside else "",
        pooled=pooled,
        held_back_runs=list(campaign.runs.filter(is_released=False).order_by("name").values_list("name", flat=True)),
        unreadable=unreadable,
        qrels=Qrels.of(Entry(*row) for row in run_selectors.collection_qrels(campaign.collection)),
        waiting=evidence.waiting | unfinished,
        votes=votes_of(campaign),
        behaviour=behaviour(campaign),
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

"""What is read of campaigns, pools, pairs and versions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import NotYours
from core.models import User
from core.roles import Right, labs_of, require
from evaluation.files.artifact import Order
from evaluation.files.qrels import Entry, Qrels
from evaluation.judging.equal_texts import name_once, relevant_once
from evaluation.judging.pooling import ChampionPair, ChampionQrel, PoolSizes, champion_pairs, sizes_of
from pools.counting import totals_of
from pools.models import AlikePair, Campaign, Candidate, Pair, Pool, QrelsVersion, Twin, VersionQuery
from runs.models import Collection, Passage, Qrel, Query, Run
from runs.selectors import collection_qrels, enumerate_ids, load_artifact


def campaigns_of(user: User) -> QuerySet[Campaign]:
    """The campaigns that a user may see, newest first."""
    return Campaign.objects.filter(lab__in=labs_of(user)).select_related("collection", "lab").order_by("-id")


def campaign_for(user: User, key: int, right: Right) -> Campaign:
    """A campaign of the user's labs, for what needs a right. Raises NotYours and NotAllowed."""
    campaign = campaigns_of(user).filter(pk=key).first()
    if campaign is None:
        raise NotYours(_("There is no such campaign, or it belongs to another lab."))
    require(user, campaign.lab, right)
    return campaign


class CampaignRow(NamedTuple):
    """One line of the list of campaigns. A HIT is done when it needs no more work."""

    campaign: Campaign
    pairs: int
    hits: int
    hits_done: int


def campaign_rows(campaigns: Iterable[Campaign]) -> list[CampaignRow]:
    """Lines for some campaigns, in their order."""
    campaigns = list(campaigns)
    hits = totals_of((campaign.pk for campaign in campaigns), "hits")
    rows = []
    for campaign in campaigns:
        totals = hits[campaign.pk]
        done = sum(
            total.rows for (_name, kind), total in totals.items() if kind.startswith("0/") and kind.endswith("/0")
        )
        rows.append(CampaignRow(campaign, campaign.pair_count, sum(total.rows for total in totals.values()), done))
    return rows


def newest_version(collection: Collection) -> QrelsVersion | None:
    """The newest version of a collection's preference qrels; None where there is none."""
    return collection.versions.order_by("-number").first()


def version_answers(version: QrelsVersion | None, query: Query | None = None) -> dict[str, tuple[str, ...]]:
    """The best known answers of a version, by query id (or to one query): both sorted. None without a version."""
    if version is None:
        return {}
    settled = VersionQuery.objects.filter(
        version__collection=version.collection_id, version__number__lte=version.number
    )
    if query is not None:
        settled = settled.filter(query=query)
    newest = settled.order_by("query", "-version__number").distinct("query")
    return {qid: tuple(pids) for qid, pids in sorted(newest.values_list("query__qid", "after"))}


def queries_settled_last(campaign: Campaign) -> set[str]:
    """Ids of the queries whose answers in the newest version come from this campaign."""
    settled = VersionQuery.objects.filter(version__collection=campaign.collection_id)
    newest = settled.order_by("query", "-version__number").distinct("query")
    return {qid for qid, source in newest.values_list("query__qid", "version__campaign") if source == campaign.pk}


def considered_passages(version: QrelsVersion) -> dict[str, set[str]]:
    """By query, the passages that people have considered: whatever was in the pools of this version's campaigns and
    those before, where they settled the query.
    """
    settled = VersionQuery.objects.filter(
        version__collection=version.collection_id,
        version__number__lte=version.number,
        version__campaign=OuterRef("pool__campaign"),
        query=OuterRef("pool__query"),
    )
    pooled = Candidate.objects.filter(Exists(settled), pool__campaign__collection=version.collection_id)
    considered: dict[str, set[str]] = {}
    for qid, pid in pooled.values_list("pool__query__qid", "passage__pid").iterator(chunk_size=20_000):
        considered.setdefault(qid, set()).add(pid)
    return considered


def base_answers(campaign: Campaign, query: Query | None = None) -> dict[str, tuple[str, ...]]:
    """The best known answers (or those to one query) that a campaign challenges, by query id; none without a base."""
    return version_answers(campaign.base_version, query)


def withheld_passages(campaign: Campaign) -> set[tuple[str, str]]:
    """`(query id, passage id)` of what only runs that are not for release brought into the campaign's pools."""
    confidential = list(campaign.runs.filter(is_released=False))
    if not confidential:
        return set()
    depth = campaign.pairing.run_depth
    public = {(query, pid) for query, pid, _grade in collection_qrels(campaign.collection)}
    public |= {(query, pid) for query, pids in base_answers(campaign).items() for pid in pids}
    public |= _brought(campaign.runs.filter(is_released=True), campaign, depth)
    withheld = _brought(confidential, campaign, depth) - public
    # What is held back does not leave under another id of its text, either.
    of_withheld = {
        (query, twin)
        for query, candidates in twins_of(campaign).items()
        for twin, candidate in candidates.items()
        if (query, candidate) in withheld
    }
    return withheld | (of_withheld - public)


def champion_asked(campaign: Campaign) -> list[ChampionPair]:
    """The comparisons of a champion check, of which each has its category."""
    top = load_artifact(campaign.runs.get()).top(cast(Order, campaign.order), campaign.pairing.run_depth)
    pooled = set(campaign.pools.values_list("query__qid", flat=True))
    qrels = Qrels.of(Entry(*row) for row in collection_qrels(campaign.collection) if row[0] in pooled)
    stands_for = twins_of(campaign)
    return list(
        champion_pairs(
            name_once(stands_for, top),
            relevant_once(stands_for, qrels, campaign.min_grade),
            min_grade=campaign.min_grade,
            choice=cast(ChampionQrel, campaign.champion_qrel),
        )
    )


def twins_of(campaign: Campaign, pool: Pool | None = None) -> dict[str, dict[str, str]]:
    """By query and id, the candidate that stands for a passage with its text, in all pools of a campaign or in one."""
    twins = Twin.objects.filter(candidate__pool__campaign=campaign)
    if pool is not None:
        twins = twins.filter(candidate__pool=pool)
    stands_for: dict[str, dict[str, str]] = {}
    rows = twins.values_list("candidate__pool__query__qid", "passage__pid", "candidate__passage__pid").order_by()
    for query, twin, candidate in rows.iterator(chunk_size=20_000):
        stands_for.setdefault(query, {})[twin] = candidate
    return stands_for


def alike_pairs(campaign: Campaign) -> QuerySet[AlikePair]:
    """The pairs of passages in a pool that have nearly the same text, the most alike first."""
    return AlikePair.objects.filter(campaign=campaign).select_related("pool__query", "a", "b").order_by("id")


def later_runs(campaign: Campaign) -> QuerySet[Run]:
    """The runs of its collection that the results of a campaign do not score, as they were fixed before, by name."""
    if campaign.fixed_runs is None or not campaign.pairing.scores_runs:
        return Run.objects.none()
    return campaign.collection.runs.exclude(pk__in=campaign.fixed_runs).order_by("name")


def _brought(runs: Iterable[Run], campaign: Campaign, depth: int) -> set[tuple[str, str]]:
    return {
        (query, pid)
        for run in runs
        for query, pids in load_artifact(run).top(cast(Order, campaign.order), depth).items()
        for pid in pids
    }


def related_passages(campaign: Campaign) -> Iterator[tuple[int, int]]:
    """`(query, passage)` keys of everything that is known to be about a query: its qrels and its pool."""
    yield from Qrel.objects.filter(collection=campaign.collection).values_list("query_id", "passage_id")
    yield from Candidate.objects.filter(pool__campaign=campaign).values_list("pool__query_id", "passage_id")
    twins = Twin.objects.filter(candidate__pool__campaign=campaign)
    yield from twins.values_list("candidate__pool__query_id", "passage_id")


class Missing(NamedTuple):
    """What a campaign's pages would have to show and has no text: up to `limit` ids of each, and the counts."""

    passages: int
    queries: int
    passage_ids: Sequence[str]
    query_ids: Sequence[str]

    def sentence(self) -> str:
        parts = []
        if self.passages:
            words = ngettext(
                "%(count)d pooled passage has no text", "%(count)d pooled passages have no text", self.passages
            ) % {"count": self.passages}
            parts.append(f"{words} ({enumerate_ids(self.passage_ids, self.passages)})")
        if self.queries:
            words = ngettext("%(count)d query has no text", "%(count)d queries have no text", self.queries) % {
                "count": self.queries
            }
            parts.append(f"{words} ({enumerate_ids(self.query_ids, self.queries)})")
        text = _("%(what)s. Add a file that has them, on the collection's page or with manage.py import_collection.")
        return text % {"what": "; ".join(parts)}


def missing_texts(campaign: Campaign, limit: int = 20) -> Missing:
    """Pooled passages, and queries of pools with pairs, that have no text yet."""
    has_pairs = Exists(Pair.objects.filter(pool=OuterRef("pk")))
    pools = Pool.objects.filter(has_pairs, campaign=campaign)
    pooled = Candidate.objects.filter(passage=OuterRef("pk"), pool__campaign=campaign)
    pooled = pooled.filter(Exists(Pair.objects.filter(pool=OuterRef("pool"))))
    without = {"collection": campaign.collection_id, "text": ""}
    passages = Passage.objects.filter(Exists(pooled), **without).order_by("pid")
    queries = Query.objects.filter(Exists(pools.filter(query=OuterRef("pk"))), **without).order_by("qid")
    pids, qids = (
        list(passages.values_list("pid", flat=True)[:limit]),
        list(queries.values_list("qid", flat=True)[:limit]),
    )
    return Missing(
        passages.count() if len(pids) == limit else len(pids),
        queries.count() if len(qids) == limit else len(qids),
        pids,
        qids,
    )


def pairs_by_query(campaign: Campaign) -> list[list[int]]:
    """Keys of the pairs that workers are asked about, one list a query, in the order of query and passage ids (by code
    point).
    """
    rows = Pair.objects.filter(pool__campaign=campaign, is_reused=False).values_list(
        "pool__query__qid", "a__pid", "b__pid", "id"
    )
    groups: dict[str, list[int]] = {}
    for qid, _a, _b, pk in sorted(rows):
        groups.setdefault(qid, []).append(pk)
    return list(groups.values())


def stored_sizes(campaign: Campaign) -> PoolSizes:
    return sizes_of({int(size): count for size, count in campaign.pool_histogram.items()})

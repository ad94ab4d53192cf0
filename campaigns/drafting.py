"""Changing a draft, and counting what settings lead to before anything is stored."""

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import Refused
from core.progress import Report, silent
from evaluation.files.preferences import Pair as IdPair
from pools import reuse
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign
from runs.models import Qrel, Run
from tasks.pair_upkeep import tests_drop_invalid

# The settings that pools and pairs follow from.
POOLED = (
    *("order", "depth", "min_grade", "qrel_policy", "design", "champion_qrel", "base_version_id"),
    *("selection", "query_list", "sample_size", "partners", "finalists"),
)
LOOKED_AT = 20_000  # tops of runs from which pools are counted exactly; of more, a part is counted
SHOWN = 1_000  # pairs that are named, for whoever estimates how long they take


@transaction.atomic
def campaign_change(
    *, campaign: Campaign, runs: Iterable[Run], name: str, report: Report | None = None, **settings: Any
) -> Campaign:
    """Change a draft's name, runs and settings (columns of Campaign, by name); the others stay.

    Its pools and pairs are made again where they follow from what has changed. Raises NotNow once the campaign has
    started, Refused if the settings do not fit each other; then nothing has changed.
    """
    draft = pool_services.draft_lock(campaign, _("The campaign has started, so its settings can no longer be changed."))
    runs, report = list(runs), report or silent()
    before = _pooled(draft, draft.runs.all())
    draft.name = name.strip()
    for setting, value in settings.items():
        setattr(draft, setting, value)
    pool_services.campaign_check(draft, runs)
    if Campaign.objects.filter(lab=draft.lab_id, name=draft.name).exclude(pk=draft.pk).exists():
        raise Refused(_("The lab already has a campaign with this name."))
    # What challengers are asked about follows from earlier judgments too, and those from the question.
    is_other = _pooled(draft, runs) != before or draft.pairing.challenges
    draft.save()
    draft.runs.set(runs)
    if is_other:
        plan = pool_services.campaign_plan(draft, runs, report)
        draft.sampled_from = plan.contested if draft.selection == Campaign.Selection.SAMPLE else None
        draft.save(update_fields=["sampled_from"])
        pool_services.pools_replace(campaign=draft, plan=plan, report=report)
        tests_drop_invalid(campaign=draft)
    pool_services.campaign_mark_changed(campaign_id=draft.pk)
    draft.refresh_from_db()
    return draft


def _pooled(campaign: Campaign, runs: Iterable[Run]) -> list[object]:
    """What a campaign's pools follow from."""
    is_drawn = campaign.selection == Campaign.Selection.SAMPLE or campaign.pairing.is_staged
    seed = campaign.seed if is_drawn else 0
    return [sorted(run.pk for run in runs), seed, *(getattr(campaign, name) for name in POOLED)]


class Preview(NamedTuple):
    """What settings lead to: queries with a pool, pools of several, pairs, and how many were judged before.

    Where `is_exact` is false, it was counted on a part of the queries, and no pair counts as judged before. `first` are
    the first pairs.
    """

    queries: int
    contested: int
    pairs: int
    reused: int
    is_exact: bool
    first: Sequence[IdPair]


def pools_preview(campaign: Campaign, runs: Sequence[Run]) -> Preview:
    """Count the pools and pairs of a campaign that is not stored, in bounded time: of large designs, from a part of the
    queries.

    Raises Refused if settings and runs do not fit each other.
    """
    pool_services.campaign_check(campaign, runs)
    queries = _queries(campaign)
    step = -(-len(queries) * len(runs) // LOOKED_AT)
    if step <= 1:
        plan = pool_services.pools_plan(campaign, runs, silent())
        pairs = [pair for of_query in plan.pairs.values() for pair in of_query]
        contested = sum(len(pool) > 1 for pool in plan.pools.values())
        reused, expected = reuse.reused_among(campaign, pairs), _expected(campaign, plan, len(pairs))
        return Preview(len(plan.pools), contested, expected, reused, True, pairs[:SHOWN])
    part, whole = queries[::step], copy(campaign)
    whole.selection = Campaign.Selection.ALL
    plan = pool_services.pools_plan(whole, runs, silent(), among=set(part))
    pairs = [pair for of_query in plan.pairs.values() for pair in of_query]
    share, pools = len(queries) / len(part), float(len(plan.pools))
    if campaign.selection == Campaign.Selection.SAMPLE:
        share, pools = (campaign.sample_size or 0) / (plan.contested or 1), float(plan.contested)
    return Preview(
        round(pools * share), round(plan.contested * share), round(_expected(campaign, plan, len(pairs)) * share), 0,
        False, pairs[:SHOWN],
    )  # fmt: skip


def _expected(campaign: Campaign, plan: pool_services.Plan, pairs: int) -> int:
    """How many pairs a plan comes to: more than its first ones in a campaign in rounds."""
    return campaign.pairing.estimate(Counter(map(len, plan.pools.values())), pairs).pairs


def _queries(campaign: Campaign) -> list[str]:
    """Ids of the queries that can have a pool, sorted."""
    if campaign.selection == Campaign.Selection.LIST:
        return sorted(set(campaign.query_list.split()))
    if campaign.base_version is not None:
        return sorted(pool_selectors.version_answers(campaign.base_version))
    qrels = Qrel.objects.filter(collection=campaign.collection, grade__gte=campaign.min_grade).order_by()
    return sorted(qrels.values_list("query__qid", flat=True).distinct())

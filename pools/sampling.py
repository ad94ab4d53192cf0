"""Which queries a campaign has judged."""

from collections.abc import Mapping
from random import Random

from django.utils.translation import gettext as _

from core.errors import Refused
from pools.models import Campaign


def queries_select(campaign: Campaign, pools: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Ids of the queries that the campaign's selection names (all, a list or a sample), sorted. Raises Refused."""
    everything = sorted(pools)
    if campaign.selection == Campaign.Selection.ALL:
        return everything
    if campaign.selection == Campaign.Selection.LIST:
        qids = campaign.query_list.split()
        unknown = [qid for qid in qids if qid not in pools]
        if unknown:
            raise Refused(
                _("%(count)d of the listed queries have no pool, or no qrel: %(ids)s.")
                % {"count": len(unknown), "ids": ", ".join(unknown[:10])}
            )
        if not qids:
            raise Refused(_("The list of queries is empty."))
        return sorted(set(qids))
    contested = [query for query in everything if len(pools[query]) > 1]
    size = campaign.sample_size or 0
    if not 1 <= size <= len(contested):
        raise Refused(
            _("The sample must have between 1 and %(most)d queries (those with a pool of two or more), not %(size)d.")
            % {"most": len(contested), "size": size}
        )
    return sorted(Random(campaign.seed).sample(contested, size))

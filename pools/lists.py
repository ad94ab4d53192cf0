"""How the lists of campaigns and versions can be narrowed and sorted."""

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from core.lists import Columns, ListFilter, Sort, choice_filter, search_filter
from pools.models import Campaign


class CampaignFilter(ListFilter):
    """Campaigns by name and state; without those in the archive, unless somebody asks for them."""

    defaults = {"archive": "without"}
    name = search_filter(gettext_lazy("Name"))
    state = choice_filter(gettext_lazy("State"), Campaign.State.choices)
    archive = choice_filter(
        gettext_lazy("Archive"),
        [("without", gettext_lazy("left out")), ("only", gettext_lazy("only"))],
        method="by_archive",
        empty_label=gettext_lazy("included"),
    )

    def by_archive(self, campaigns: QuerySet[Campaign], _name: str, which: str) -> QuerySet[Campaign]:
        return campaigns.filter(archived_at__isnull=which == "without")


CAMPAIGN_SORTS: dict[str, Sort] = {
    "name": "name",
    "state": "state",
    "pairs": "pair_count",
    "collection": "collection__name",
    "lab": "lab__name",
    "created": "created_at",
}


VERSION_SORTS: dict[str, Sort] = {
    "number": "number",
    "campaign": "campaign__name",
    "changed": "changed",
    "made": "made_at",
}

# What the lists' files hold.
CAMPAIGN_COLUMNS: Columns = {
    "campaign": "campaign.name",
    "state": "campaign.state",
    "hits": "hits",
    "hits_done": "hits_done",
    "pairs": "pairs",
    "collection": "campaign.collection.name",
    "lab": "campaign.lab.name",
    "created": "campaign.created_at",
}
VERSION_COLUMNS: Columns = {
    "version": "number",
    "campaign": "campaign.name",
    "changed": "changed",
    "made_by": lambda version: version.made_by or "",
    "made": "made_at",
}

"""What a setting of a campaign is unless somebody changes it."""

from typing import Any

from django.db.models import Field

from pools.models import Campaign


def usual_value(campaign: Campaign, field: "Field[Any, Any]") -> object:
    """Its default; of the language, that of the collection, where there is one."""
    if field.name == "language" and campaign.collection_id:
        return campaign.collection.language
    return field.get_default()


def is_changed(campaign: Campaign, field: "Field[Any, Any]") -> bool:
    """Whether a campaign differs in a setting from what is usual, or from its default, which is as usual."""
    return getattr(campaign, field.name) not in (usual_value(campaign, field), field.get_default())

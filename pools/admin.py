"""The admin site's view of campaigns: few fields can be changed."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from core.admin import Annotated
from pools import services as pool_services
from pools.models import Campaign


@admin.register(Campaign)
class CampaignAdmin(Annotated):
    """Campaigns: pools and pairs follow from the settings, so only the name can be changed. Drafts can be deleted."""

    changeable = ("name",)
    list_display = ["name", "state", "collection", "lab", "created_at"]
    list_filter = ["state"]
    search_fields = ["name", "lab__name"]
    list_select_related = ["collection", "lab"]
    actions = None

    def save_model(self, request: HttpRequest, obj: Campaign, form: Any, change: bool) -> None:
        """Its manifest names it, and so do those of campaigns that reuse its judgments."""
        super().save_model(request, obj, form, change)
        pool_services.campaigns_mark_changed(campaigns=obj.collection.campaigns.all())

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return isinstance(obj, Campaign) and obj.state == Campaign.State.DRAFT

    def delete_model(self, request: HttpRequest, obj: Campaign) -> None:
        """As on the campaign's own page."""
        pool_services.campaign_delete(campaign=obj)

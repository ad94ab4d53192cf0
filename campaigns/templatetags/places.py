"""The way between the pages of a campaign."""

from typing import Any

from django import template
from django.urls import reverse

from campaigns.places import PLACES, Page, page_at
from core.templatetags.workplace import allowed
from pools.models import Campaign

register = template.Library()


@register.inclusion_tag("campaigns/campaign_page.html#places", takes_context=True)
def places(context: template.Context, campaign: Campaign) -> dict[str, Any]:
    """The four places, and the pages of the one that is shown, without those that its reader may not see."""
    match = context["request"].resolver_match
    address = match.view_name if match else ""
    if address == "campaigns:campaign" and campaign.state == Campaign.State.DRAFT:
        address = "campaigns:plan"
    current = page_at(address)
    rows = []
    for place in PLACES:
        pages = [
            page
            for page in place.pages
            if (page.judging is False or not campaign.is_imported) and allowed(context, page.address, campaign.lab)
        ]
        entries = [(page.title, _address(page, campaign), _mark(page, current, address)) for page in pages]
        rows.append((place.title, entries, current in place.pages))
    return {"rows": rows, "current": next(entries for _title, entries, is_shown in rows if is_shown)}


def _address(page: Page, campaign: Campaign) -> str:
    if page.address == "audit:entries":
        return f"{reverse(page.address)}?campaign={campaign.pk}"
    return reverse(page.address, args=[campaign.pk])


def _mark(page: Page, current: Page, address: str) -> str:
    if page is not current:
        return ""
    return "page" if page.address == address else "true"

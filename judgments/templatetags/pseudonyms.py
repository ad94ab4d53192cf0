"""What workers are called on the researcher's pages: as in the exports."""

from django import template

from judgments import exports
from pools.models import Campaign

register = template.Library()


@register.simple_tag
def pseudonym(campaign: Campaign, worker_id: int) -> str:
    """The worker's pseudonym in this campaign."""
    return exports.pseudonym(campaign, worker_id)

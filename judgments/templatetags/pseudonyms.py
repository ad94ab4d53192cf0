"""What workers are called on the researcher's pages: as in the exports."""

from django import template

from judgments import exports
from pools.models import Campaign

register = template.Library()


@register.simple_tag
def pseudonym(campaign: Campaign, worker_id: int) -> str:
    return exports.pseudonym(campaign, worker_id)

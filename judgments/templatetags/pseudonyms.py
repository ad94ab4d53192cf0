"""What workers are called on the researcher's pages: as in the exports."""

from django import template

from pools.models import Campaign
from tasks import names
from tasks.models import Worker

register = template.Library()


@register.simple_tag
def pseudonym(campaign: Campaign, worker_id: int) -> str:
    return names.pseudonym(campaign, worker_id)


@register.filter
def name(worker: Worker) -> str:
    return names.name_of(worker)

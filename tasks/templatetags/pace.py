"""What workers earn in an hour: {% load pace %}{% pay_an_hour campaign %}."""

from typing import Any

from django import template

from pools.models import Campaign
from tasks.models import Publication
from tasks.selectors import expected_pace

register = template.Library()


@register.inclusion_tag("tasks/_pace.html")
def pay_an_hour(campaign: Campaign, publication: Publication | None = None) -> dict[str, Any]:
    """The expected time of a task and what it pays an hour, with a warning where that is little."""
    return {"pace": expected_pace(campaign, publication)}

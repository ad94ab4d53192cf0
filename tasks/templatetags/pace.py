"""What workers earn in an hour: {% load pace %}{% pay_an_hour campaign %}."""

from datetime import timedelta
from typing import Any

from django import template

from pools.models import Campaign
from tasks.selectors import expected_pace, floor_not_held

register = template.Library()


@register.inclusion_tag("tasks/parts.html#pace")
def pay_an_hour(campaign: Campaign, limit: timedelta | None = None) -> dict[str, Any]:
    """The expected time of a task and what it pays an hour, with a warning where that is little."""
    return {"pace": expected_pace(campaign, limit), "campaign": campaign, "floor_not_held": floor_not_held(campaign)}

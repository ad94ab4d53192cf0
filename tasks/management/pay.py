"""What commands say about pay an hour."""

from collections.abc import Iterator
from datetime import timedelta

from core.money import dollars
from pools.models import Campaign
from tasks.selectors import expected_pace, floor_not_held


def pay_lines(campaign: Campaign, limit: timedelta | None = None) -> Iterator[str]:
    """How long a HIT takes and what that pays an hour, with a warning where that is little; nothing without texts.
    And if the lab's pay floor does not hold.
    """
    floor = floor_not_held(campaign)
    if floor is not None:
        sentence = "The lab's pay floor of {} an hour does not hold here, as the campaign pays in {}."
        yield sentence.format(dollars(floor), campaign.get_currency_display())
    pace = expected_pace(campaign, limit)
    if pace is None:
        return
    money = campaign.money
    yield f"A HIT takes about {pace.minutes} min and pays {money(pace.reward)}: {money(pace.hourly)} an hour."
    if pace.practice:
        yield f"With {pace.practice} min of practice, the first one pays {money(pace.first_hourly)} an hour."
    if pace.is_low:
        yield f"That is less than {money(pace.floor)} an hour."

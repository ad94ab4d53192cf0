"""What workers read where the researcher has written nothing of their own."""

from django.utils.translation import gettext as _

from pools.models import Campaign
from tasks.money import dollars


def default_consent(campaign: Campaign) -> str:
    """A plain consent text, made from the campaign's settings."""
    return _(
        "You are invited to take part in a study by %(lab)s. You will read questions and passages and say which of "
        "two passages answers a question better. Each task has about %(items)d such comparisons.\n\n"
        "Taking part is your own free choice. You can leave at any time, and are paid for what you did until then, in "
        "proportion to %(reward)s for a whole task.\n\n"
        "We store your choices and when you made them. They may be published for research, without anything that "
        "names you. A few comparisons have a known answer; work that misses them is not used."
    ) % {"lab": campaign.lab.name, "items": campaign.items_per_hit, "reward": dollars(campaign.reward)}

"""The consent text of a campaign whose researcher has written none."""

from django.utils.translation import gettext as _
from django.utils.translation import override

from core.languages import language_of
from pools.models import Campaign


def default_consent(campaign: Campaign) -> str:
    """A plain consent text in the campaign's language, made from its settings."""
    with override(language_of(campaign.language)):
        return _consent(campaign)


def _consent(campaign: Campaign) -> str:
    person = campaign.created_by
    text = _(
        "You are invited to take part in a study by %(lab)s. You will read questions and passages and say which of "
        "two passages answers a question better. Each task has about %(items)d such comparisons.\n\n"
        "Taking part is voluntary. You can leave at any time: press “Leave”, and you are paid for what you have done "
        "by then, in proportion to %(reward)s for a whole task.\n\n"
        "We store your choices and when you made them. They may be published for research, without anything that "
        "identifies you. A few comparisons have a known answer; work that misses them is not used. It is paid all the "
        "same, unless a person who has looked at it decides otherwise."
    ) % {"lab": campaign.lab.name, "items": campaign.items_per_hit, "reward": campaign.local_money(campaign.reward)}
    if person is None or not person.email:
        contact = _("Responsible for the study: %(lab)s. You can write to them from the receipt of each task.")
        return text + "\n\n" + contact % {"lab": campaign.lab.name}
    contact = _(
        "Responsible for the study: %(name)s, %(lab)s. Questions? Write to %(email)s, or from the receipt of each task."
    )
    named = {"name": person.get_full_name() or person.get_username(), "lab": campaign.lab.name, "email": person.email}
    return text + "\n\n" + contact % named
